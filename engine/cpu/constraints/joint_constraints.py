"""q̈ of a block of robots under its forces, friction and limits.

Friction and limits act on the velocity at the end of a step, v⁺. Coulomb friction of size f and the bounds
lo ≤ v⁺ ≤ hi that position and velocity limits give, lo ≤ 0 ≤ hi, hi = (upper − q)/dt at most, together ask of the
force r at a joint

    v⁺ > 0: r = −f     v⁺ < 0: r = f     v⁺ = 0: |r| ≤ f     v⁺ = hi: r ≤ −f (f if hi = 0)     v⁺ = lo: r ≥ f (−f)

a monotone law, which with the mass matrix has one solution: a linear complementarity problem, solved by block
principal pivoting (Júdice and Pires 1994), which as a rule takes one or two rounds and may go round in circles: then,
after BLOCK_PIVOTS rounds, by a primal active set method, which cannot. v⁺ is the
proximal point, in the metric of the mass matrix, of a convex function that is least at rest: limits and friction
take energy and never give any.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.cpu.chains import jsiia
from engine.cpu.chains.jsiia import Dense
from engine.cpu.rigid_body import aba, crba, tree_passes
from engine.cpu.rigid_body import workspace as at
from engine.cpu.runtime.arrays import fill
from engine.cpu.runtime.native import inline, kernel
from engine.cpu.runtime.native.operations import now
from engine.model.layout import PackedCoupling
from engine.step_settings import FRICTION, LOWER, UPPER, VELOCITY_LIMIT

LOW, BACKWARD, STUCK, FORWARD, HIGH = -2.0, -1.0, 0.0, 1.0, 2.0  # where a joint stands on that law
REST = 1e-12  # rad/s, m/s, rad or m: what counts as nothing, of a velocity and of the way to a limit
BLOCK_PIVOTS = 8  # rounds of moving all joints at once
DESCENT = 20  # steps of descent for each coordinate, at most: far more than it takes


# What is kept of a block of L robots, in b (12, L, nv) …
FORCE, EXTRA, MODE, LOCKED, TARGET, QDD, REACTION, V_STAGE, V_SUM, V_BLOCK, TAU_BLOCK, TARGET_BLOCK = range(12)
# … and, of their coordinates, in c (4, L, nq)
Q_STAGE, Q_SUM, Q_RATE, Q_BLOCK = range(4)


class System(NamedTuple):
    """What the kernels solve with: the model's arrays, the workspace and the lanes, see `layout`; three zeros.

    `dense` is for JSIIA, and empty for ABIA.
    """

    coupling: PackedCoupling
    topology: NDArray[np.int64]
    constants: NDArray[np.floating]
    w: NDArray[np.floating]
    lanes: tuple[int, ...]
    dense: Dense | tuple[()]
    weightless: NDArray[np.floating]


class Method(NamedTuple):
    """How a step is made."""

    dt: float
    integrator: str
    algorithm: str
    limited: bool  # position and velocity limits act
    rough: bool  # they, or friction, do


@inline
def _lap(phases, phase, since):
    """Add the time since `since` to a phase; nothing where no phases are asked for."""
    if phases.size == 0:
        return since
    time = now()
    phases[phase] += time - since
    return time


@kernel
def _solve_abia(q, v, force, extra, locked, target, qdd, reaction, topology, constants, w, lanes, gravity, phases):
    time = now() if phases.size else 0
    tree_passes.scatter_q(q, 0, topology, constants, w, lanes)
    tree_passes.scatter_v(v, 0, topology, w, lanes, at.QD, at.VXS)
    tree_passes.scatter_v(force, 0, topology, w, lanes, at.TAU, at.U)
    tree_passes.scatter_additions(extra, locked, target, topology, w, lanes)
    tree_passes.poses(topology, constants, w, lanes)
    tree_passes.velocities(topology, w, lanes)
    time = _lap(phases, 0, time)
    tree_passes.bias_forces(topology, constants, w, lanes)
    time = _lap(phases, 1, time)
    tree_passes.rigid_inertias(topology, constants, w, lanes)
    aba.inertia_recursion(topology, w, lanes)
    time = _lap(phases, 2, time)
    aba.accelerations(topology, w, lanes, gravity)
    tree_passes.gather_v(qdd, 0, topology, w, lanes, at.QDD, at.U)
    tree_passes.gather_v(reaction, 0, topology, w, lanes, at.REACTION, at.U)
    _lap(phases, 3, time)


@kernel
def _solve_jsiia(q, v, b, system, gravity, phases):
    coupling, topology, constants, w, lanes, dense, _ = system
    time = now() if phases.size else 0
    jsiia.expand(q[0], coupling.q_index, coupling.q_factor, coupling.q_offset, dense.tree_q[0])
    jsiia.expand(v[0], coupling.v_index, coupling.v_factor, coupling.v_offset, dense.tree_v[0])
    tree_passes.scatter_q(dense.tree_q, 0, topology, constants, w, lanes)
    tree_passes.scatter_v(dense.tree_v, 0, topology, w, lanes, at.QD, at.VXS)
    tree_passes.poses(topology, constants, w, lanes)
    tree_passes.velocities(topology, w, lanes)
    time = _lap(phases, 0, time)
    jsiia.bias(dense.tree_v, topology, constants, w, lanes, gravity)
    time = _lap(phases, 1, time)
    crba.composite_bodies(dense.M_tree, topology, constants, w, lanes)
    time = _lap(phases, 2, time)
    jsiia.accelerations(
        b[FORCE, 0], b[EXTRA, 0], b[LOCKED, 0], b[TARGET, 0], b[QDD, 0], b[REACTION, 0],
        coupling.v_index, coupling.v_factor, dense.tree_v[0], dense.M_tree[0], dense.M, dense.factor,
    )  # fmt: skip
    _lap(phases, 3, time)


@kernel
def solve(algorithm, q, v, b, system, gravity, phases):
    """q̈ and reactions of a block at (q, v) into `b`, from its forces, additions and locks."""
    if algorithm == "abia":
        _solve_abia(
            q, v, b[FORCE], b[EXTRA], b[LOCKED], b[TARGET], b[QDD], b[REACTION],
            system.topology, system.constants, system.w, system.lanes, gravity, phases,
        )  # fmt: skip
    else:
        _solve_jsiia(q, v, b, system, gravity, phases)


@inline
def _bounds(method, joints, j, q):
    """lo and hi of v⁺ from the limits, with lo ≤ 0 ≤ hi."""
    if not method.limited:
        return -np.inf, np.inf
    below, above = joints[LOWER, j] - q, joints[UPPER, j] - q
    low, high = (below if below < -REST else 0.0) / method.dt, (above if above > REST else 0.0) / method.dt
    return max(-joints[VELOCITY_LIMIT, j], low), min(joints[VELOCITY_LIMIT, j], high)


@inline
def _set_mode(b, k, j, mode, friction, v, low, high, dt):
    """Put joint j of robot k into a mode, `b[FORCE]` and `b[TARGET]` with it."""
    before = b[MODE, k, j]
    b[FORCE, k, j] += friction * ((before if abs(before) == 1.0 else 0.0) - (mode if abs(mode) == 1.0 else 0.0))
    b[MODE, k, j] = mode
    b[LOCKED, k, j] = 0.0 if abs(mode) == 1.0 else 1.0
    b[TARGET, k, j] = ((high if mode == HIGH else (low if mode == LOW else 0.0)) - v) / dt


@inline
def _guess(q, v, method, q_of_v, joints, b):
    """The mode of each joint as the step begins: held where it rests or is as fast as it may be, else sliding on."""
    fill(b[LOCKED], 0.0)
    fill(b[MODE], 0.0)
    for k in range(q.shape[0]):
        for j in range(v.shape[1]):
            index = q_of_v[j]
            if index < 0:
                continue
            low, high = _bounds(method, joints, j, q[k, index])
            mode, rests = FORWARD if v[k, j] >= 0.0 else BACKWARD, abs(v[k, j]) <= REST
            if (rests and high == 0.0) or (not rests and v[k, j] >= high - REST):
                mode = HIGH
            elif (rests and low == 0.0) or (not rests and v[k, j] <= low + REST):
                mode = LOW
            elif rests and joints[FRICTION, j] > 0.0:
                mode = STUCK
            _set_mode(b, k, j, mode, joints[FRICTION, j], v[k, j], low, high, method.dt)


@inline
def _next_mode(mode, after, r, f, low, high, slack, slack_r):
    """The mode that the law of the module asks for, given what came of the present one."""
    if mode == STUCK:
        return BACKWARD if r > f + slack_r else (FORWARD if r < -f - slack_r else mode)
    if mode == HIGH:
        if r <= (-f if high > 0.0 else f) + slack_r:
            return mode
        return FORWARD if high > 0.0 else BACKWARD
    if mode == LOW:
        if r >= (f if low < 0.0 else -f) - slack_r:
            return mode
        return BACKWARD if low < 0.0 else FORWARD
    if after > high + slack:
        return HIGH
    if after < low - slack:
        return LOW
    return STUCK if f > 0.0 and mode * after < -slack else mode


@inline
def _pivot(q, v, method, q_of_v, joints, b):
    """Move each joint to the mode its result asks for; answers whether any has to."""
    changed = False
    for k in range(q.shape[0]):
        for j in range(v.shape[1]):
            index = q_of_v[j]
            if index < 0:
                continue
            low, high = _bounds(method, joints, j, q[k, index])
            after, slack = v[k, j] + method.dt * b[QDD, k, j], 1e-12 * (1.0 + abs(v[k, j]))
            f, slack_r = joints[FRICTION, j], 1e-10 * (joints[FRICTION, j] + abs(b[FORCE, k, j]))
            mode = _next_mode(b[MODE, k, j], after, b[REACTION, k, j], f, low, high, slack, slack_r)
            if mode != b[MODE, k, j]:
                changed = True
                _set_mode(b, k, j, mode, f, v[k, j], low, high, method.dt)
    return changed


@inline
def _interval(b, k, j, low, high, f):
    """Where v⁺ may lie while joint j of robot k slides: on its own side of rest, where there is friction."""
    if f > 0.0:
        return (0.0, high) if b[MODE, k, j] == FORWARD else (low, 0.0)
    return low, high


@inline
def _enter(gap_q, ahead, method, q_of_v, joints, b):
    """A feasible velocity, kept in `v_stage`: the last one tried, brought into its bounds, and the modes it has."""
    for k in range(ahead.shape[0]):
        for j in range(ahead.shape[1]):
            after, index = ahead[k, j] + method.dt * b[QDD, k, j], q_of_v[j]
            if index >= 0:
                low, high = _bounds(method, joints, j, gap_q[k, index])
                after = min(max(after, low), high)
                f = joints[FRICTION, j]
                mode = FORWARD if after >= 0.0 else BACKWARD
                if after == high:
                    mode = HIGH
                elif after == low:
                    mode = LOW
                elif after == 0.0 and f > 0.0:
                    mode = STUCK
                _set_mode(b, k, j, mode, f, ahead[k, j], low, high, method.dt)
            b[V_STAGE, k, j] = after


@inline
def _blocked(k, gap_q, ahead, method, q_of_v, joints, b):
    """How far robot k gets towards the velocity of its modes, 1 at most, and which joint stops it, −1 for none."""
    share, blocking = 1.0, -1
    for j in range(ahead.shape[1]):
        index = q_of_v[j]
        if index < 0 or b[LOCKED, k, j] != 0.0:
            continue
        low, high = _bounds(method, joints, j, gap_q[k, index])
        low, high = _interval(b, k, j, low, high, joints[FRICTION, j])
        here, there = b[V_STAGE, k, j], ahead[k, j] + method.dt * b[QDD, k, j]
        slack = 1e-12 * (1.0 + abs(here))
        if there > high + slack and share * (there - here) > high - here:
            share, blocking = max(0.0, high - here) / (there - here), j
        elif there < low - slack and share * (there - here) < low - here:
            share, blocking = min(0.0, low - here) / (there - here), j
    return share, blocking


@inline
def _release(k, gap_q, ahead, method, q_of_v, joints, b):
    """Let go of the held joint of robot k that pulls the most; answers whether there was one."""
    worst, which, mode_of_worst = 0.0, -1, 0.0
    for j in range(ahead.shape[1]):
        index = q_of_v[j]
        if index < 0 or b[LOCKED, k, j] == 0.0:
            continue
        low, high = _bounds(method, joints, j, gap_q[k, index])
        f, r, mode = joints[FRICTION, j], b[REACTION, k, j], b[MODE, k, j]
        slack = 1e-10 * (f + abs(b[FORCE, k, j]))
        following = _next_mode(mode, 0.0, r, f, low, high, 0.0, slack)
        if following != mode and low < high:
            pull = abs(r) - f if mode == STUCK else abs(r - (f if (mode == LOW) == (low < 0.0) else -f))
            if pull > worst or which < 0:
                worst, which, mode_of_worst = pull, j, following
    if which < 0:
        return False
    low, high = _bounds(method, joints, which, gap_q[k, q_of_v[which]])
    _set_mode(b, k, which, mode_of_worst, joints[FRICTION, which], ahead[k, which], low, high, method.dt)
    return True


@inline
def _descend(gap_q, ahead, method, q_of_v, joints, b):
    """One step of every robot towards the least of the law's energy; answers whether any has still to go."""
    going = False
    for k in range(ahead.shape[0]):
        share, blocking = _blocked(k, gap_q, ahead, method, q_of_v, joints, b)
        for j in range(ahead.shape[1]):
            after = ahead[k, j] + method.dt * b[QDD, k, j]
            b[V_STAGE, k, j] += share * (after - b[V_STAGE, k, j])
        if blocking >= 0:
            going = True
            f, index = joints[FRICTION, blocking], q_of_v[blocking]
            low, high = _bounds(method, joints, blocking, gap_q[k, index])
            bottom, top = _interval(b, k, blocking, low, high, f)
            up = ahead[k, blocking] + method.dt * b[QDD, k, blocking] > b[V_STAGE, k, blocking]
            edge = top if up else bottom
            mode = (HIGH if edge == high else STUCK) if up else (LOW if edge == low else STUCK)
            b[V_STAGE, k, blocking] = edge
            _set_mode(b, k, blocking, mode, f, ahead[k, blocking], low, high, method.dt)
        elif _release(k, gap_q, ahead, method, q_of_v, joints, b):
            going = True
    return going


@kernel
def _solve_by_descent(q, v, gap_q, ahead, method, q_of_v, joints, b, system, gravity, phases):
    """The same solution, by a primal active set: feasible throughout, the law's energy falling, one joint at a time."""
    _enter(gap_q, ahead, method, q_of_v, joints, b)
    for _ in range(DESCENT * v.shape[1]):
        solve(method.algorithm, q, v, b, system, gravity, phases)
        if not _descend(gap_q, ahead, method, q_of_v, joints, b):
            break
    for k in range(v.shape[0]):
        for j in range(v.shape[1]):
            b[QDD, k, j] = (b[V_STAGE, k, j] - ahead[k, j]) / method.dt


@inline
def solve_lawful(q, v, gap_q, ahead, method, q_of_v, joints, b, system, gravity, phases):
    """`solve`, with friction and limits acting on the velocity `ahead` + dt q̈ for the coordinates `gap_q`."""
    fill(b[LOCKED], 0.0)
    if method.rough:
        _guess(gap_q, ahead, method, q_of_v, joints, b)
    for _ in range(1 + BLOCK_PIVOTS):
        solve(method.algorithm, q, v, b, system, gravity, phases)
        if not method.rough or not _pivot(gap_q, ahead, method, q_of_v, joints, b):
            return
    _solve_by_descent(q, v, gap_q, ahead, method, q_of_v, joints, b, system, gravity, phases)
