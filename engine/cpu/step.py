"""Whole simulation steps for blocks of robots: forces, forward dynamics, limits, integration.

Friction and limits act on the velocity at the end of a step, v⁺. Coulomb friction of size f and the bounds
lo ≤ v⁺ ≤ hi that position and velocity limits give, lo ≤ 0 ≤ hi, hi = (upper − q)/dt at most, together ask of the
force r at a joint

    v⁺ > 0: r = −f     v⁺ < 0: r = f     v⁺ = 0: |r| ≤ f     v⁺ = hi: r ≤ −f (f if hi = 0)     v⁺ = lo: r ≥ f (−f)

a monotone law, which with the mass matrix has one solution: a linear complementarity problem, solved by block
principal pivoting (Júdice and Pires 1994) and, after BLOCK_PIVOTS rounds, by Murty's least index rule. v⁺ is the
proximal point, in the metric of the mass matrix, of a convex function that is least at rest: limits and friction
take energy and never give any.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.cpu import abia, jsiia, tree
from engine.cpu import layout as at
from engine.cpu.clock import now
from engine.cpu.compile import inline, kernel
from engine.cpu.layout import PackedCoupling
from engine.cpu.spatial import mul, quaternion_step, rotation_from_quaternion

ABIA, JSIIA = 0, 1
SEMI_IMPLICIT, RK4, IMPLICIT = 0, 1, 2
PHASES = ("kinematics", "bias", "inertia recursion", "acceleration", "integration")

LOW, BACKWARD, STUCK, FORWARD, HIGH = -2.0, -1.0, 0.0, 1.0, 2.0  # where a joint stands on that law
REST = 1e-12  # rad/s, m/s, rad or m: what counts as nothing when a step begins
BLOCK_PIVOTS = 8
DIVERGED = 1e12  # a velocity that no robot has


class Joints(NamedTuple):
    """What acts on the independent coordinates: arrays (nv,) but for `q_of_v`, see `Model`."""

    q_of_v: NDArray[np.int64]
    lower: NDArray[np.floating]
    upper: NDArray[np.floating]
    velocity_limit: NDArray[np.floating]
    effort_limit: NDArray[np.floating]
    damping: NDArray[np.floating]
    friction: NDArray[np.floating]


class System(NamedTuple):
    """What the kernels solve with: the model's arrays, the workspace and the lanes, see `layout`."""

    coupling: PackedCoupling
    topology: NDArray[np.int64]
    constants: NDArray[np.floating]
    w: NDArray[np.floating]
    lanes: tuple[int, ...]


class Method(NamedTuple):
    """How a step is made."""

    dt: float
    integrator: int
    algorithm: int
    limited: bool  # position and velocity limits act
    rough: bool  # they, or friction, do


class Block(NamedTuple):
    """The scratch of a block of L robots: vectors (L, nv), coordinates (L, nq), matrices of JSIIA."""

    force: NDArray[np.floating]
    extra: NDArray[np.floating]
    mode: NDArray[np.floating]
    locked: NDArray[np.floating]
    target: NDArray[np.floating]
    qdd: NDArray[np.floating]
    reaction: NDArray[np.floating]
    v_stage: NDArray[np.floating]
    v_sum: NDArray[np.floating]
    q_stage: NDArray[np.floating]
    q_sum: NDArray[np.floating]
    q_rate: NDArray[np.floating]
    tree_q: NDArray[np.floating]
    tree_v: NDArray[np.floating]
    M_tree: NDArray[np.floating]
    M: NDArray[np.floating]
    factor: NDArray[np.floating]


def block(nq: int, nv: int, tree_nq: int, tree_nv: int, lanes: tuple[int, ...], algorithm: int) -> Block:
    """Scratch for blocks of that many robots; the matrices only where the algorithm has them."""
    L, dense = len(lanes), (tree_nv, nv) if algorithm == JSIIA else (0, 0)
    vectors = [np.zeros((L, nv)) for _ in range(9)]
    coordinates = [np.zeros((L, nq)) for _ in range(3)]
    whole = [np.zeros((1, tree_nq)), np.zeros((1, tree_nv)), np.zeros((1, dense[0], dense[0]))]
    square = [np.zeros((dense[1], dense[1])) for _ in range(2)]
    return Block._make([*vectors, *coordinates, *whole, *square])


@inline
def _lap(phases, phase, clock, since):
    """Add the time since `since` to a phase; nothing where no phases are asked for."""
    if phases.size == 0:
        return since
    time = now(clock)
    phases[phase] += time - since
    return time


@inline
def _solve_abia(q, v, b, system, gravity, phases, clock):
    _, topology, constants, w, lanes = system
    time = _lap(phases, 4, clock, now(clock)) if phases.size else 0
    tree.scatter_q(q, 0, topology, constants, w, lanes)
    tree.scatter_v(v, 0, topology, w, lanes, at.QD, at.C)
    tree.scatter_v(b.force, 0, topology, w, lanes, at.TAU, at.U)
    tree.scatter_additions(b.extra, b.locked, b.target, topology, w, lanes)
    tree.poses(topology, constants, w, lanes)
    tree.velocities(topology, w, lanes)
    time = _lap(phases, 0, clock, time)
    tree.bias_forces(topology, constants, w, lanes)
    time = _lap(phases, 1, clock, time)
    tree.rigid_inertias(topology, constants, w, lanes)
    abia.inertia_recursion(topology, w, lanes)
    time = _lap(phases, 2, clock, time)
    abia.accelerations(topology, w, lanes, gravity)
    tree.gather_v(b.qdd, 0, topology, w, lanes, at.QDD, at.U)
    tree.gather_v(b.reaction, 0, topology, w, lanes, at.REACTION, at.U)
    _lap(phases, 3, clock, time)


@inline
def _solve_jsiia(q, v, b, system, gravity, phases, clock):
    coupling, topology, constants, w, lanes = system
    time = _lap(phases, 4, clock, now(clock)) if phases.size else 0
    jsiia.expand(q[0], coupling.q_index, coupling.q_factor, coupling.q_offset, b.tree_q[0])
    jsiia.expand(v[0], coupling.v_index, coupling.v_factor, coupling.v_offset, b.tree_v[0])
    tree.scatter_q(b.tree_q, 0, topology, constants, w, lanes)
    tree.scatter_v(b.tree_v, 0, topology, w, lanes, at.QD, at.C)
    tree.poses(topology, constants, w, lanes)
    tree.velocities(topology, w, lanes)
    time = _lap(phases, 0, clock, time)
    jsiia.bias(b.tree_v, topology, constants, w, lanes, gravity)
    time = _lap(phases, 1, clock, time)
    jsiia.composite_bodies(b.M_tree, topology, constants, w, lanes)
    time = _lap(phases, 2, clock, time)
    jsiia.accelerations(
        b.force[0], b.extra[0], b.locked[0], b.target[0], b.qdd[0], b.reaction[0],
        coupling.v_index, coupling.v_factor, b.tree_v[0], b.M_tree[0], b.M, b.factor,
    )  # fmt: skip
    _lap(phases, 3, clock, time)


@inline
def _solve(algorithm, q, v, b, system, gravity, phases, clock):
    """q̈ and reactions of a block at (q, v) into `b`, from its forces, additions and locks."""
    if algorithm == ABIA:
        _solve_abia(q, v, b, system, gravity, phases, clock)
    else:
        _solve_jsiia(q, v, b, system, gravity, phases, clock)


@inline
def _bounds(method, joints, j, q):
    """lo and hi of v⁺ from the limits, with lo ≤ 0 ≤ hi."""
    if not method.limited:
        return -np.inf, np.inf
    low, high = min(0.0, joints.lower[j] - q) / method.dt, max(0.0, joints.upper[j] - q) / method.dt
    return max(-joints.velocity_limit[j], low), min(joints.velocity_limit[j], high)


@inline
def _set_mode(b, k, j, mode, friction, v, low, high, dt):
    """Put joint j of robot k into a mode, `b.force` and `b.target` with it."""
    before = b.mode[k, j]
    b.force[k, j] += friction * ((before if abs(before) == 1.0 else 0.0) - (mode if abs(mode) == 1.0 else 0.0))
    b.mode[k, j] = mode
    b.locked[k, j] = 0.0 if abs(mode) == 1.0 else 1.0
    b.target[k, j] = ((high if mode == HIGH else (low if mode == LOW else 0.0)) - v) / dt


@inline
def _guess(q, v, method, joints, b):
    """The mode of each joint as the step begins: sliding as it moves, held where it rests."""
    b.locked[:] = 0.0
    b.mode[:] = 0.0
    for k in range(q.shape[0]):
        for j in range(v.shape[1]):
            index = joints.q_of_v[j]
            if index < 0:
                continue
            low, high = _bounds(method, joints, j, q[k, index])
            mode = FORWARD if v[k, j] >= 0.0 else BACKWARD
            if abs(v[k, j]) <= REST:
                if high * method.dt <= REST:
                    mode = HIGH
                elif low * method.dt >= -REST:
                    mode = LOW
                elif joints.friction[j] > 0.0:
                    mode = STUCK
            _set_mode(b, k, j, mode, joints.friction[j], v[k, j], low, high, method.dt)


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
def _pivot(q, v, method, joints, b, single):
    """Move each joint to the mode its result asks for; `single`: only the last such joint of each robot."""
    changed = False
    for k in range(q.shape[0]):
        for j in range(v.shape[1] - 1, -1, -1):
            index = joints.q_of_v[j]
            if index < 0:
                continue
            low, high = _bounds(method, joints, j, q[k, index])
            after, slack = v[k, j] + method.dt * b.qdd[k, j], 1e-12 * (1.0 + abs(v[k, j]))
            f, slack_r = joints.friction[j], 1e-10 * (joints.friction[j] + abs(b.force[k, j]))
            mode = _next_mode(b.mode[k, j], after, b.reaction[k, j], f, low, high, slack, slack_r)
            if mode != b.mode[k, j]:
                changed = True
                _set_mode(b, k, j, mode, f, v[k, j], low, high, method.dt)
                if single:
                    break
    return changed


@inline
def _solve_rough(q, v, gap_q, ahead, method, joints, b, system, gravity, phases, clock):
    """`_solve`, with friction and limits acting on the velocity `ahead` + dt q̈ for the coordinates `gap_q`."""
    _guess(gap_q, ahead, method, joints, b)
    _solve(method.algorithm, q, v, b, system, gravity, phases, clock)
    for attempt in range(BLOCK_PIVOTS + 4 * v.shape[1]):
        if not _pivot(gap_q, ahead, method, joints, b, attempt >= BLOCK_PIVOTS):
            break
        _solve(method.algorithm, q, v, b, system, gravity, phases, clock)


@inline
def _smooth_forces(tau, v, joints, b, dt, implicit):
    """Clipped controls less damping into `force`; where damping is implicit its share of the matrix into `extra`."""
    for k in range(v.shape[0]):
        for j in range(v.shape[1]):
            limit = joints.effort_limit[j]
            b.force[k, j] = min(max(tau[k, j], -limit), limit) - joints.damping[j] * v[k, j]
            b.extra[k, j] = dt * joints.damping[j] if implicit and joints.q_of_v[j] >= 0 else 0.0


@inline
def _advance_free(x, at_q, u, at_v, dt):
    """A free joint's pose moved by its body twist u for dt, the position along the mean rotation."""
    quaternion = (x[at_q + 3], x[at_q + 4], x[at_q + 5], x[at_q + 6])
    omega = (u[at_v], u[at_v + 1], u[at_v + 2])
    half = quaternion_step(quaternion, omega, 0.5 * dt)
    after = quaternion_step(quaternion, omega, dt)
    shift = mul(rotation_from_quaternion(half[0], half[1], half[2], half[3]), (u[at_v + 3], u[at_v + 4], u[at_v + 5]))
    for r in range(3):
        x[at_q + r] += dt * shift[r]
    for r in range(4):
        x[at_q + 3 + r] = after[r]


@inline
def _advance(q, v, dt, joints, free):
    """q moved by v for dt, one robot: q (nq,), v (nv,)."""
    for j in range(v.size):
        if joints.q_of_v[j] >= 0:
            q[joints.q_of_v[j]] += dt * v[j]
    for f in range(free.shape[0]):
        _advance_free(q, free[f, 0], v, free[f, 1], dt)


@inline
def _rates(q, v, rate, joints, free):
    """q̇ of one robot: (nq,); a quaternion's is ½ x ∘ (ω, 0)."""
    for j in range(v.size):
        if joints.q_of_v[j] >= 0:
            rate[joints.q_of_v[j]] = v[j]
    for f in range(free.shape[0]):
        a, c = free[f, 0], free[f, 1]
        x, y, z, s = q[a + 3], q[a + 4], q[a + 5], q[a + 6]
        linear = mul(rotation_from_quaternion(x, y, z, s), (v[c + 3], v[c + 4], v[c + 5]))
        for r in range(3):
            rate[a + r] = linear[r]
        rate[a + 3] = 0.5 * (s * v[c] + y * v[c + 2] - z * v[c + 1])
        rate[a + 4] = 0.5 * (s * v[c + 1] + z * v[c] - x * v[c + 2])
        rate[a + 5] = 0.5 * (s * v[c + 2] + x * v[c + 1] - y * v[c])
        rate[a + 6] = -0.5 * (x * v[c] + y * v[c + 1] + z * v[c + 2])


@inline
def _euler_step(q, v, tau, method, joints, free, b, system, phases, clock):
    """Semi-implicit Euler: v⁺ = v + dt q̈(q, v), q⁺ = q ⊕ dt v⁺; `implicit` takes damping at v⁺."""
    dt, gravity = method.dt, system.constants[system.topology.shape[0]]
    _smooth_forces(tau, v, joints, b, dt, method.integrator == IMPLICIT)
    if method.rough:
        _solve_rough(q, v, q, v, method, joints, b, system, gravity, phases, clock)
    else:
        _solve(method.algorithm, q, v, b, system, gravity, phases, clock)
    for k in range(v.shape[0]):
        for j in range(v.shape[1]):
            v[k, j] += dt * b.qdd[k, j]
        _advance(q[k], v[k], dt, joints, free)


@inline
def _settle(q, after, v, mode, method, joints):
    """Take RK4's coordinates `after` for q, but q + dt v⁺ for a joint that was held or would pass its limit."""
    for j in range(v.size):
        index = joints.q_of_v[j]
        if index >= 0:
            held = method.rough and abs(mode[j]) != 1.0
            outside = method.limited and not (joints.lower[j] <= after[index] <= joints.upper[j])
            if held or outside:
                after[index] = q[index] + method.dt * v[j]
    q[:] = after


@kernel
def _rk4_step(q, v, tau, method, joints, free, b, system, phases, clock):
    """The classical Runge-Kutta step; quaternions by projection (Hairer, Lubich, Wanner 2006, IV.4).

    Friction and limits, where there are any, then correct the velocity at the step's end.
    """
    dt, gravity = method.dt, system.constants[system.topology.shape[0]]
    b.q_sum[:] = 0.0
    b.v_sum[:] = 0.0
    b.q_stage[:] = q
    b.v_stage[:] = v
    b.locked[:] = 0.0
    for stage in range(4):
        _smooth_forces(tau, b.v_stage, joints, b, dt, False)
        _solve(method.algorithm, b.q_stage, b.v_stage, b, system, gravity, phases, clock)
        weight, ahead = (
            (1.0, 0.5) if stage == 0 else ((2.0, 0.5) if stage == 1 else ((2.0, 1.0) if stage == 2 else (1.0, 0.0)))
        )
        for k in range(v.shape[0]):
            _rates(b.q_stage[k], b.v_stage[k], b.q_rate[k], joints, free)
            for j in range(q.shape[1]):
                b.q_sum[k, j] += weight * b.q_rate[k, j]
                b.q_stage[k, j] = q[k, j] + ahead * dt * b.q_rate[k, j]
            for j in range(v.shape[1]):
                b.v_sum[k, j] += weight * b.qdd[k, j]
                b.v_stage[k, j] = v[k, j] + ahead * dt * b.qdd[k, j]
    for k in range(v.shape[0]):
        for j in range(q.shape[1]):
            b.q_stage[k, j] = q[k, j] + dt / 6.0 * b.q_sum[k, j]
        for j in range(v.shape[1]):
            v[k, j] += dt / 6.0 * b.v_sum[k, j]
        for f in range(free.shape[0]):
            x = b.q_stage[k, free[f, 0] + 3 : free[f, 0] + 7]
            x /= np.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3])
    if method.rough:
        b.v_sum[:] = 0.0
        b.force[:] = 0.0
        _solve_rough(b.q_stage, b.v_sum, q, v, method, joints, b, system, np.zeros(3), phases, clock)
    for k in range(v.shape[0]):
        if method.rough:
            for j in range(v.shape[1]):
                v[k, j] += dt * b.qdd[k, j]
        _settle(q[k], b.q_stage[k], v[k], b.mode[k], method, joints)


@kernel
def run(q, v, tau, controls, record_q, record_v, every, steps, method, joints, free, b, system, phases, clock):
    """Advance q (batch, nq) and v (batch, nv) in place by `steps` steps; answers the first step that diverged, or −1.

    The controls are `tau` (batch, nv), or `controls` (batch, steps, nv) where it is not empty. Where `record_q`
    (batch, records, nq) and `record_v` are not empty, every `every`-th state is written there. The phases (5,) of
    the last step are timed in ns, unless `phases` is empty.
    """
    L, batch, diverged, untimed = len(system.lanes), q.shape[0], -1, phases[:0]
    block_q, block_v, block_tau = np.empty((L, q.shape[1])), np.empty((L, v.shape[1])), np.empty((L, v.shape[1]))
    for start in range(0, batch, L):
        for k in range(L):
            robot = min(start + k, batch - 1)
            block_q[k], block_v[k], block_tau[k] = q[robot], v[robot], tau[robot]
        for step in range(steps):
            timed = phases if step == steps - 1 and start == 0 else untimed
            began = now(clock) if timed.size else 0
            if controls.shape[1] > 0:
                for k in range(L):
                    block_tau[k] = controls[min(start + k, batch - 1), step]
            if method.integrator == RK4:
                _rk4_step(block_q, block_v, block_tau, method, joints, free, b, system, timed, clock)
            else:
                _euler_step(block_q, block_v, block_tau, method, joints, free, b, system, timed, clock)
            if timed.size:
                timed[4] = now(clock) - began - timed[0] - timed[1] - timed[2] - timed[3]
            sound = True
            for k in range(L):
                for j in range(block_v.shape[1]):
                    sound &= abs(block_v[k, j]) < DIVERGED
            if not sound:
                diverged = step if diverged < 0 else min(diverged, step)
                break
            if record_q.shape[1] > 0 and (step + 1) % every == 0:
                for k in range(min(L, batch - start)):
                    record_q[start + k, (step + 1) // every - 1] = block_q[k]
                    record_v[start + k, (step + 1) // every - 1] = block_v[k]
        for k in range(min(L, batch - start)):
            q[start + k], v[start + k] = block_q[k], block_v[k]
    return diverged
