"""Quaternions (x, y, z, w): exponential, product, rotation and rate."""

from __future__ import annotations

import numpy as np

from engine.compile import inline
from engine.compile.operations import reciprocal
from engine.kernels.sines import sine_and_cosine
from engine.kernels.spatial import add, cross, dot, scale, sub


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
def rotation_from_quaternion(x, y, z, w):
    """The rotation matrix of a quaternion of any length."""
    n = 2.0 / (x * x + y * y + z * z + w * w)
    return (
        1.0 - n * (y * y + z * z), n * (x * y - w * z), n * (x * z + w * y),
        n * (x * y + w * z), 1.0 - n * (x * x + z * z), n * (y * z - w * x),
        n * (x * z - w * y), n * (y * z + w * x), 1.0 - n * (x * x + y * y),
    )  # fmt: skip


@inline
def rotated_back(rotation, x):
    """Rᵀ x of the unit quaternion `rotation`; an error in its length hardly changes that of x."""
    a = (rotation[0], rotation[1], rotation[2])
    t = scale(2.0, cross(a, x))
    return add(sub(x, scale(rotation[3], t)), cross(a, t))


@inline
def quaternion_rate(q, i, v, j, rate):
    """½ x ∘ (ω, 0) of the quaternion x at `i`."""
    x, y, z, s = q[i], q[i + 1], q[i + 2], q[i + 3]
    rate[i] = 0.5 * (s * v[j] + y * v[j + 2] - z * v[j + 1])
    rate[i + 1] = 0.5 * (s * v[j + 1] + z * v[j] - x * v[j + 2])
    rate[i + 2] = 0.5 * (s * v[j + 2] + x * v[j + 1] - y * v[j])
    rate[i + 3] = -0.5 * (x * v[j] + y * v[j + 1] + z * v[j + 2])


@inline
def normalise(x, i):
    """Normalise the quaternion at `i`."""
    n = np.sqrt(x[i] * x[i] + x[i + 1] * x[i + 1] + x[i + 2] * x[i + 2] + x[i + 3] * x[i + 3])
    for r in range(4):
        x[i + r] /= n
