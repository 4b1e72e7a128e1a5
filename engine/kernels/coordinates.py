"""Motion of one robot's joint coordinates with its velocities."""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.compile.operations import reciprocal, spread
from engine.kernels.robot import KIND, Q_START, V_START
from engine.kernels.sines import sine_and_cosine
from engine.kernels.spatial import add, cross, dot, load3, mul, rotation_from_quaternion, scale, turned_back
from engine.model import FREE, SPHERICAL
from engine.step_settings import DIVERGED


@kernel
def expand(q, q_index, q_factor, q_offset, out):
    """G q + g₀ of one robot: (nq,) -> (tree_nq,)."""
    for i in spread(out.size):
        out[i] = q_factor[i] * q[q_index[i]] + q_offset[i]


@inline
def exponential(w, dt):
    """exp(w dt) for a body angular velocity w, as a quaternion of unit length to rounding."""
    half = 0.5 * dt
    angle2 = half * half * dot(w, w)
    small, angle = angle2 < 1e-8, np.sqrt(angle2)
    s, c = sine_and_cosine(angle)
    k = half * (1.0 - angle2 * (1.0 / 6.0)) if small else half * s * reciprocal(angle)
    c = 1.0 - angle2 * (0.5 - angle2 * (1.0 / 24.0)) if small else c
    return k * w[0], k * w[1], k * w[2], c


@inline
def unit_product(x, y):
    """x ∘ y of two quaternions, normalised."""
    a, b, d, c = y
    p = x[0] * c + x[3] * a + x[1] * d - x[2] * b
    q = x[1] * c + x[3] * b + x[2] * a - x[0] * d
    r = x[2] * c + x[3] * d + x[0] * b - x[1] * a
    s = x[3] * c - x[0] * a - x[1] * b - x[2] * d
    n = 1.0 / np.sqrt(p * p + q * q + r * r + s * s)
    return p * n, q * n, r * n, s * n


@inline
def advance_joint(robot, i, q, v, after, dt):
    """Advance q (nq,) of a body's joint by v⁺, `after` (nv,), for dt, and store v⁺ in v (nv,).

    A free joint's v⁺ is v + dt v̇, where v̇ includes −ω × v, the rotation of its frame. Without that term it is a twist
    in the frame in which the step begins; it moves the pose and is then rotated into the frame in which the step ends.
    """
    kind, a, c = robot.tree[i, KIND], robot.tree[i, Q_START], robot.tree[i, V_START]
    if kind == FREE:
        w, turning = load3(after, c, 1), cross(load3(v, c, 1), load3(v, c + 3, 1))
        linear = add(load3(after, c + 3, 1), scale(dt, turning))
        x = q[a + 3], q[a + 4], q[a + 5], q[a + 6]
        turn, shift = exponential(w, dt), mul(rotation_from_quaternion(x[0], x[1], x[2], x[3]), linear)
        x, u = unit_product(x, turn), turned_back(turn, linear)
        for r in range(3):
            q[a + r] += dt * shift[r]
            v[c + r], v[c + 3 + r] = w[r], u[r]
        for r in range(4):
            q[a + 3 + r] = x[r]
    elif kind == SPHERICAL:
        w = load3(after, c, 1)
        x = unit_product((q[a], q[a + 1], q[a + 2], q[a + 3]), exponential(w, dt))
        for r in range(3):
            v[c + r] = w[r]
        for r in range(4):
            q[a + r] = x[r]
    else:
        v[c] = after[c]
        q[a] += dt * after[c]


@inline
def is_bounded(v):
    """Whether every velocity of v (nv,) is a number below `DIVERGED`."""
    bounded = True
    for k in range(v.shape[0]):
        bounded = abs(v[k]) < DIVERGED and bounded
    return bounded
