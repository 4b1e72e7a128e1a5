"""Whole simulation steps for blocks of robots: forces, forward dynamics, limits, integration."""

from __future__ import annotations

import numpy as np

from engine.cpu.constraints.joint_constraints import (
    EXTRA,
    FORCE,
    LOCKED,
    MODE,
    Q_BLOCK,
    Q_RATE,
    Q_STAGE,
    Q_SUM,
    QDD,
    TARGET_BLOCK,
    TAU_BLOCK,
    V_BLOCK,
    V_STAGE,
    V_SUM,
    solve,
    solve_lawful,
)  # fmt: skip
from engine.cpu.rigid_body.spatial import mul, quaternion_step, rotation_from_quaternion
from engine.cpu.runtime.arrays import copy, copy_row, fill
from engine.cpu.runtime.native import inline, kernel
from engine.cpu.runtime.native.operations import now
from engine.step_settings import DAMPING, DIVERGED, EFFORT_LIMIT, KD, KP, LOWER, UPPER


@inline
def _smooth_forces(tau, target, q, v, q_of_v, joints, b, dt, implicit):
    """Controls and gains, clipped, less damping into `force`; the implicit part's share of the matrix into `extra`.

    With `implicit`, damping and gains are those at the step's end, v + dt q̈ and q + dt (v + dt q̈); a joint whose effort
    is clipped has no gains for this step.
    """
    for k in range(v.shape[0]):
        for j in range(v.shape[1]):
            drive, limit, index, share = tau[k, j], joints[EFFORT_LIMIT, j], q_of_v[j], 0.0
            if index >= 0:
                ahead = q[k, index] + dt * v[k, j] if implicit else q[k, index]
                drive += joints[KP, j] * (target[k, j] - ahead) - joints[KD, j] * v[k, j]
                if implicit:
                    gained = dt * (joints[KD, j] + dt * joints[KP, j]) if abs(drive) <= limit else 0.0
                    share = dt * joints[DAMPING, j] + gained
            b[FORCE, k, j] = min(max(drive, -limit), limit) - joints[DAMPING, j] * v[k, j]
            b[EXTRA, k, j] = share


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
def _advance(q, v, dt, q_of_v, free):
    """q moved by v for dt, one robot: q (nq,), v (nv,)."""
    for j in range(v.size):
        if q_of_v[j] >= 0:
            q[q_of_v[j]] += dt * v[j]
    for f in range(free.shape[0]):
        _advance_free(q, free[f, 0], v, free[f, 1], dt)


@inline
def _rates(q, v, rate, q_of_v, free):
    """q̇ of one robot: (nq,); a quaternion's is ½ x ∘ (ω, 0)."""
    for j in range(v.size):
        if q_of_v[j] >= 0:
            rate[q_of_v[j]] = v[j]
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
def _euler_step(q, v, tau, target, method, q_of_v, joints, free, b, system, phases):
    """Semi-implicit Euler: v⁺ = v + dt q̈(q, v), q⁺ = q ⊕ dt v⁺; `implicit` takes damping and gains there."""
    dt, gravity = method.dt, system.constants[system.topology.shape[0]]
    _smooth_forces(tau, target, q, v, q_of_v, joints, b, dt, method.integrator == "implicit")
    solve_lawful(q, v, q, v, method, q_of_v, joints, b, system, gravity, phases)
    for k in range(v.shape[0]):
        for j in range(v.shape[1]):
            v[k, j] += dt * b[QDD, k, j]
        _advance(q[k], v[k], dt, q_of_v, free)


@inline
def _settle(q, after, v, mode, method, q_of_v, joints):
    """Take RK4's coordinates `after` for q, but q + dt v⁺ for a joint that was held or would pass its limit."""
    for j in range(v.size):
        index = q_of_v[j]
        if index >= 0:
            held = method.rough and abs(mode[j]) != 1.0
            outside = method.limited and not (joints[LOWER, j] <= after[index] <= joints[UPPER, j])
            if held or outside:
                after[index] = q[index] + method.dt * v[j]
    copy_row(after, q)


@kernel
def _rk4_step(q, v, tau, target, method, q_of_v, joints, free, b, c, system, phases):
    """The classical Runge-Kutta step; quaternions by projection (Hairer, Lubich, Wanner 2006, IV.4).

    Friction and limits, where there are any, then correct the velocity at the step's end.
    """
    dt, gravity = method.dt, system.constants[system.topology.shape[0]]
    fill(c[Q_SUM], 0.0)
    fill(b[V_SUM], 0.0)
    copy(q, c[Q_STAGE])
    copy(v, b[V_STAGE])
    fill(b[LOCKED], 0.0)
    for stage in range(4):
        _smooth_forces(tau, target, c[Q_STAGE], b[V_STAGE], q_of_v, joints, b, dt, False)
        solve(method.algorithm, c[Q_STAGE], b[V_STAGE], b, system, gravity, phases)
        weight, ahead = (
            (1.0, 0.5) if stage == 0 else ((2.0, 0.5) if stage == 1 else ((2.0, 1.0) if stage == 2 else (1.0, 0.0)))
        )
        for k in range(v.shape[0]):
            _rates(c[Q_STAGE, k], b[V_STAGE, k], c[Q_RATE, k], q_of_v, free)
            for j in range(q.shape[1]):
                c[Q_SUM, k, j] += weight * c[Q_RATE, k, j]
                c[Q_STAGE, k, j] = q[k, j] + ahead * dt * c[Q_RATE, k, j]
            for j in range(v.shape[1]):
                b[V_SUM, k, j] += weight * b[QDD, k, j]
                b[V_STAGE, k, j] = v[k, j] + ahead * dt * b[QDD, k, j]
    for k in range(v.shape[0]):
        for j in range(q.shape[1]):
            c[Q_STAGE, k, j] = q[k, j] + dt / 6.0 * c[Q_SUM, k, j]
        for j in range(v.shape[1]):
            v[k, j] += dt / 6.0 * b[V_SUM, k, j]
        for f in range(free.shape[0]):
            x, a = c[Q_STAGE, k], free[f, 0] + 3
            n = np.sqrt(x[a] * x[a] + x[a + 1] * x[a + 1] + x[a + 2] * x[a + 2] + x[a + 3] * x[a + 3])
            for r in range(4):
                x[a + r] /= n
    if method.rough:
        fill(b[V_SUM], 0.0)
        fill(b[FORCE], 0.0)
        solve_lawful(c[Q_STAGE], b[V_SUM], q, v, method, q_of_v, joints, b, system, system.weightless, phases)
    for k in range(v.shape[0]):
        if method.rough:
            for j in range(v.shape[1]):
                v[k, j] += dt * b[QDD, k, j]
        _settle(q[k], c[Q_STAGE, k], v[k], b[MODE, k], method, q_of_v, joints)


@inline
def _record(block, record, start, sample):
    """What the robots of a block from `start` on are at, as their samples of that number, unless `record` is empty."""
    if record.shape[1] > 0:
        for k in range(min(block.shape[0], record.shape[0] - start)):
            copy_row(block[k], record[start + k, sample])


@kernel
def run(
    q, v, tau, target, controls, record_q, record_v, every, steps,
    method, q_of_v, joints, free, b, c, system, phases,
):  # fmt: skip
    """Advance q (batch, nq) and v (batch, nv) in place by `steps` steps; answers the first step that diverged, or −1.

    The controls are `tau` (batch, nv), or `controls` (1 or batch, steps, nv) where it is not empty; gains pull towards
    `target` (batch, nv). Where `record_q` (batch, samples, nq) or `record_v` is not empty, the present state and every
    `every`-th are written there. The phases (5,) of the last step are timed in ns, unless `phases` is empty.
    """
    L, batch, diverged, untimed = len(system.lanes), q.shape[0], -1, phases[:0]
    block_q, block_v, block_tau, block_target = c[Q_BLOCK], b[V_BLOCK], b[TAU_BLOCK], b[TARGET_BLOCK]
    for start in range(0, batch, L):
        for k in range(L):
            robot = min(start + k, batch - 1)
            copy_row(q[robot], block_q[k])
            copy_row(v[robot], block_v[k])
            copy_row(tau[robot], block_tau[k])
            copy_row(target[robot], block_target[k])
        _record(block_q, record_q, start, 0)
        _record(block_v, record_v, start, 0)
        for step in range(steps):
            timed = phases if step == steps - 1 and start == 0 else untimed
            began = now() if timed.size else 0
            if controls.shape[1] > 0:
                for k in range(L):
                    copy_row(controls[min(start + k, controls.shape[0] - 1), step], block_tau[k])
            if method.integrator == "rk4":
                _rk4_step(block_q, block_v, block_tau, block_target, method, q_of_v, joints, free, b, c, system, timed)
            else:
                _euler_step(block_q, block_v, block_tau, block_target, method, q_of_v, joints, free, b, system, timed)
            if timed.size:
                timed[4] = now() - began - timed[0] - timed[1] - timed[2] - timed[3]
            sound = True
            for k in range(L):
                for j in range(block_v.shape[1]):
                    sound &= abs(block_v[k, j]) < DIVERGED
            if not sound:
                diverged = step if diverged < 0 else min(diverged, step)
                break
            if (step + 1) % every == 0:
                _record(block_q, record_q, start, (step + 1) // every)
                _record(block_v, record_v, start, (step + 1) // every)
        for k in range(min(L, batch - start)):
            copy_row(block_q[k], q[start + k])
            copy_row(block_v[k], v[start + k])
    return diverged
