"""Integration of coordinates: of prismatic and revolute joints, and of the quaternions of free and ball joints."""

from __future__ import annotations

from engine.compile import inline
from engine.compile.operations import parallel_range
from engine.kernels.quaternions import (
    exponential,
    quaternion_rate,
    rotated_back,
    rotation_from_quaternion,
    unit_product,
)
from engine.kernels.robot import KIND, Q_START, V_START
from engine.kernels.spatial import add, cross, load3, mul, scale, store3
from engine.model import FREE, SPHERICAL


@inline
def _advance_free(x, q_start, twist, v, v_start, dt):
    """Advance a free joint's pose by `twist` for dt, and rotate its linear velocity in v into the frame at the end.

    Both are twists in the frame at the beginning, so that momentum is conserved.
    """
    before = (x[q_start + 3], x[q_start + 4], x[q_start + 5], x[q_start + 6])
    R = rotation_from_quaternion(before[0], before[1], before[2], before[3])
    rotation = exponential(load3(twist, v_start), dt)
    displacement, rotated = mul(R, load3(twist, v_start + 3)), unit_product(before, rotation)
    for r in range(3):
        x[q_start + r] += dt * displacement[r]
    for r in range(4):
        x[q_start + 3 + r] = rotated[r]
    store3(v, rotated_back(rotation, load3(v, v_start + 3)), v_start + 3)


@inline
def advance_ball(x, q_start, u, v_start, dt):
    """Advance a ball joint's quaternion by ω for dt."""
    omega = (u[v_start], u[v_start + 1], u[v_start + 2])
    rotated = unit_product((x[q_start], x[q_start + 1], x[q_start + 2], x[q_start + 3]), exponential(omega, dt))
    for r in range(4):
        x[q_start + r] = rotated[r]


@inline
def advance(q, velocity, v, dt, q_of_v, rotations):
    """Advance q (nq,) by the velocities `velocity` (nv,) for dt, and rotate the free joints' velocities in v (nv,).

    Linear velocities of free joints are in the frame at the beginning of the step, on return, in v, in that at its end.
    v may be `velocity`.
    """
    for j in parallel_range(v.size):
        if q_of_v[j] >= 0:
            q[q_of_v[j]] += dt * velocity[j]
    free, balls = rotations
    for f in range(balls.shape[0]):
        advance_ball(q, balls[f, 0], velocity, balls[f, 1], dt)
    for f in range(free.shape[0]):
        _advance_free(q, free[f, 0], velocity, v, free[f, 1], dt)


@inline
def _in_start_frame(v_next, before, v_start, dt):
    """The linear velocity of a free joint in `v_next`, without the change by −ω × v of `before` in dt."""
    rotation_term = cross(load3(before, v_start), load3(before, v_start + 3))
    return add(load3(v_next, v_start + 3), scale(dt, rotation_term))


@inline
def to_start_frame(before, dt, v, rotations):
    """Put v + dt v̇ of one robot into the frames in which the step begins, where free joints' v̇ has no −ω × v.

    `before` is v (nv,) at the beginning of the step.
    """
    free = rotations.free
    for f in range(free.shape[0]):
        store3(v, _in_start_frame(v, before, free[f, 1], dt), free[f, 1] + 3)


@inline
def rates(q, v, rate, q_of_v, rotations):
    """Compute q̇ of one robot, (nq,); that of a quaternion is ½ x ∘ (ω, 0)."""
    for j in range(v.size):
        if q_of_v[j] >= 0:
            rate[q_of_v[j]] = v[j]
    free, balls = rotations
    for f in range(free.shape[0]):
        a, c = free[f, 0], free[f, 1]
        x, y, z, s = q[a + 3], q[a + 4], q[a + 5], q[a + 6]
        linear = mul(rotation_from_quaternion(x, y, z, s), (v[c + 3], v[c + 4], v[c + 5]))
        for r in range(3):
            rate[a + r] = linear[r]
        quaternion_rate(q, a + 3, v, c, rate)
    for f in range(balls.shape[0]):
        quaternion_rate(q, balls[f, 0], v, balls[f, 1], rate)


@inline
def advance_joint(robot, i, q, v, v_next, dt):
    """Advance q (nq,) of a body's joint by v⁺, `v_next` (nv,), for dt, and store v⁺ in v (nv,).

    A free joint's v⁺ is v + dt v̇, where v̇ includes −ω × v, the rotation of its frame. Without that term it is a twist
    in the frame in which the step begins; it moves the pose and is then rotated into the frame in which the step ends.
    """
    kind, a, c = robot.tree[i, KIND], robot.tree[i, Q_START], robot.tree[i, V_START]
    if kind == FREE:
        linear = _in_start_frame(v_next, v, c, dt)
        store3(v, load3(v_next, c), c)
        store3(v, linear, c + 3)
        _advance_free(q, a, v, v, c, dt)
    elif kind == SPHERICAL:
        store3(v, load3(v_next, c), c)
        advance_ball(q, a, v, c, dt)
    else:
        v[c] = v_next[c]
        q[a] += dt * v_next[c]
