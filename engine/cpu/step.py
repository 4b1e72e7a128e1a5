"""Whole simulation steps for blocks of robots: forces, forward dynamics, limits, integration.

Friction and limits act on the velocity at the end of a step. Coulomb friction is taken implicitly, as a
damping f/max(|v|, STICK) that the solution itself divides by, so it brakes to rest and never reverses.
A position or velocity limit is a bound lo ≤ v⁺ ≤ hi with lo ≤ 0 ≤ hi, hi = (upper − q)/dt at most; the
bounded velocity is the closest to the free one in the metric of the mass matrix (a linear complementarity
problem, solved by block principal pivoting, Júdice and Pires 1994, with Murty's least index rule after
BLOCK_PIVOTS rounds). A projection onto a convex set that holds 0 never lengthens a vector: limits take
energy and never give any.
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

STICK = 1e-4  # rad/s or m/s: below this speed friction is viscous
BLOCK_PIVOTS = 8
DIVERGED = 1e12  # a velocity that no robot has


class Joints(NamedTuple):
    """What acts on the independent coordinates: arrays (nv,) but for `q_of_v`, see `Model`."""

    q_of_v: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    velocity_limit: NDArray[np.float64]
    effort_limit: NDArray[np.float64]
    damping: NDArray[np.float64]
    friction: NDArray[np.float64]


class System(NamedTuple):
    """What the kernels solve with: the model's arrays, the workspace and the lanes, see `layout`."""

    coupling: PackedCoupling
    topology: NDArray[np.int64]
    constants: NDArray[np.float64]
    w: NDArray[np.float64]
    lanes: tuple[int, ...]


class Method(NamedTuple):
    """How a step is made."""

    dt: float
    integrator: int
    algorithm: int
    limited: bool


class Block(NamedTuple):
    """The scratch of a block of L robots: vectors (L, nv), coordinates (L, nq), matrices of JSIIA."""

    force: NDArray[np.float64]
    extra: NDArray[np.float64]
    locked: NDArray[np.float64]
    target: NDArray[np.float64]
    qdd: NDArray[np.float64]
    reaction: NDArray[np.float64]
    v_stage: NDArray[np.float64]
    v_sum: NDArray[np.float64]
    q_stage: NDArray[np.float64]
    q_sum: NDArray[np.float64]
    q_rate: NDArray[np.float64]
    tree_q: NDArray[np.float64]
    tree_v: NDArray[np.float64]
    M_tree: NDArray[np.float64]
    M: NDArray[np.float64]
    factor: NDArray[np.float64]


def block(nq: int, nv: int, tree_nq: int, tree_nv: int, lanes: tuple[int, ...], algorithm: int) -> Block:
    """Scratch for blocks of that many robots; the matrices only where the algorithm has them."""
    L, dense = len(lanes), (tree_nv, nv) if algorithm == JSIIA else (0, 0)
    vectors = [np.zeros((L, nv)) for _ in range(8)]
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


@kernel
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


@kernel
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


@kernel
def _solve(algorithm, q, v, b, system, gravity, phases, clock):
    """q̈ and reactions of a block at (q, v) into `b`, from its forces, additions and locks."""
    if algorithm == ABIA:
        _solve_abia(q, v, b, system, gravity, phases, clock)
    else:
        _solve_jsiia(q, v, b, system, gravity, phases, clock)


@inline
def _bounds(joints, j, q, dt):
    """lo and hi of v⁺ from the limits, with lo ≤ 0 ≤ hi."""
    gap_low, gap_high = min(0.0, joints.lower[j] - q), max(0.0, joints.upper[j] - q)
    return max(-joints.velocity_limit[j], gap_low / dt), min(joints.velocity_limit[j], gap_high / dt)


@kernel
def _pivot(q, v, dt, joints, b, single):
    """Lock what breaks a bound, release what pulls; `single`: only the last such coordinate of each robot."""
    changed = False
    for k in range(q.shape[0]):
        for j in range(v.shape[1] - 1, -1, -1):
            index = joints.q_of_v[j]
            if index < 0:
                continue
            side = b.locked[k, j]
            low, high = _bounds(joints, j, q[k, index], dt)
            after = v[k, j] + dt * b.qdd[k, j]
            slack = 1e-10 * (1.0 + abs(v[k, j]))
            if side != 0.0:
                release = side * b.reaction[k, j] > 1e-10 * (1.0 + abs(b.force[k, j]))
                side = 0.0 if release else side
            elif after > high + slack:
                side = 1.0
            elif after < low - slack:
                side = -1.0
            if side != b.locked[k, j]:
                changed = True
                b.locked[k, j] = side
                b.target[k, j] = ((high if side > 0.0 else low) - v[k, j]) / dt
                if single:
                    break
    return changed


@kernel
def _solve_bounded(q, v, gap_q, ahead, method, joints, b, system, gravity, phases, clock):
    """`_solve`, with the limits kept by the velocity `ahead` + dt q̈ for the coordinates `gap_q`."""
    b.locked[:] = 0.0
    _solve(method.algorithm, q, v, b, system, gravity, phases, clock)
    if method.limited:
        for attempt in range(BLOCK_PIVOTS + 4 * v.shape[1]):
            if not _pivot(gap_q, ahead, method.dt, joints, b, attempt >= BLOCK_PIVOTS):
                break
            _solve(method.algorithm, q, v, b, system, gravity, phases, clock)


@kernel
def _forces(tau, v, joints, b, dt, damping, friction, implicit):
    """Clipped controls, less damping and friction, into `force`; what is implicit into `extra`."""
    for k in range(v.shape[0]):
        for j in range(v.shape[1]):
            limit = joints.effort_limit[j]
            force, extra = min(max(tau[k, j], -limit), limit), 0.0
            if damping:
                force -= joints.damping[j] * v[k, j]
                extra += joints.damping[j] if implicit else 0.0
            if friction and joints.q_of_v[j] >= 0:
                brake = joints.friction[j] / max(abs(v[k, j]), STICK)
                force -= brake * v[k, j]
                extra += brake
            b.force[k, j] = force
            b.extra[k, j] = dt * extra if joints.q_of_v[j] >= 0 else 0.0


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


@kernel
def _advance(q, v, dt, joints, free):
    """q moved by v for dt, one robot: q (nq,), v (nv,)."""
    for j in range(v.size):
        if joints.q_of_v[j] >= 0:
            q[joints.q_of_v[j]] += dt * v[j]
    for f in range(free.shape[0]):
        _advance_free(q, free[f, 0], v, free[f, 1], dt)


@kernel
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


@kernel
def _euler_step(q, v, tau, method, joints, free, b, system, phases, clock):
    """Semi-implicit Euler: v⁺ = v + dt q̈(q, v), q⁺ = q ⊕ dt v⁺; `implicit` takes damping at v⁺."""
    dt, gravity = method.dt, system.constants[system.topology.shape[0]]
    _forces(tau, v, joints, b, dt, True, True, method.integrator == IMPLICIT)
    _solve_bounded(q, v, q, v, method, joints, b, system, gravity, phases, clock)
    for k in range(v.shape[0]):
        for j in range(v.shape[1]):
            v[k, j] += dt * b.qdd[k, j]
        _advance(q[k], v[k], dt, joints, free)


@kernel
def _within(q, joints):
    """Whether the coordinates (nq,) of a robot are inside the position limits."""
    for j in range(joints.q_of_v.size):
        index = joints.q_of_v[j]
        if index >= 0 and not (joints.lower[j] <= q[index] <= joints.upper[j]):
            return False
    return True


@kernel
def _rk4_step(q, v, tau, method, rough, joints, free, b, system, phases, clock):
    """The classical Runge-Kutta step; quaternions by projection (Hairer, Lubich, Wanner 2006, IV.4).

    Friction and limits, where there are any (`rough`), then correct the velocity at the step's end.
    """
    dt, gravity = method.dt, system.constants[system.topology.shape[0]]
    b.q_sum[:] = 0.0
    b.v_sum[:] = 0.0
    b.q_stage[:] = q
    b.v_stage[:] = v
    b.locked[:] = 0.0
    for stage in range(4):
        _forces(tau, b.v_stage, joints, b, dt, True, False, False)
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
    if rough:
        b.v_sum[:] = 0.0
        _forces(b.v_sum, v, joints, b, dt, False, True, False)
        _solve_bounded(b.q_stage, b.v_sum, q, v, method, joints, b, system, np.zeros(3), phases, clock)
    for k in range(v.shape[0]):
        if rough:
            for j in range(v.shape[1]):
                v[k, j] += dt * b.qdd[k, j]
        if method.limited and not _within(b.q_stage[k], joints):
            _advance(q[k], v[k], dt, joints, free)
        else:
            q[k, :] = b.q_stage[k]


@kernel
def run(q, v, tau, controls, record_q, record_v, every, steps, method, joints, free, b, system, phases, clock):
    """Advance q (batch, nq) and v (batch, nv) in place by `steps` steps; answers the first step that diverged, or −1.

    The controls are `tau` (batch, nv), or `controls` (batch, steps, nv) where it is not empty. Where `record_q`
    (batch, records, nq) and `record_v` are not empty, every `every`-th state is written there. The phases (5,) of
    the last step are timed in ns, unless `phases` is empty.
    """
    L, batch, diverged, untimed = len(system.lanes), q.shape[0], -1, phases[:0]
    block_q, block_v, block_tau = np.empty((L, q.shape[1])), np.empty((L, v.shape[1])), np.empty((L, v.shape[1]))
    rough = method.limited or np.any(joints.friction > 0.0)
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
                _rk4_step(block_q, block_v, block_tau, method, rough, joints, free, b, system, timed, clock)
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
