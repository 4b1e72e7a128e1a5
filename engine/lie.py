"""SE(3) and se(3), batched over leading axes.

The twist order of all of Catena is stated here: a twist is ``V = (ω, v)`` and a wrench is
``F = (n, f)``, angular part first, both in the frame of the body they belong to. A pose is a pair
``(R, p)``; a unit quaternion is ``(x, y, z, w)``.

Sources: R. Murray, Z. Li, S. Sastry, "A Mathematical Introduction to Robotic Manipulation" (1994),
chapter 2; J. Solà, J. Deray, D. Atchuthan, "A micro Lie theory" (2018).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.floating]
Rows = tuple[tuple[Any, Any, Any], tuple[Any, Any, Any], tuple[Any, Any, Any]]
_STRAIGHT = 1e-6  # tolerance of RᵀR − 1


def skew(w: Array) -> Array:
    """The matrix ``[w]`` with ``[w] x = w × x``: (..., 3) -> (..., 3, 3)."""
    matrix = np.zeros_like(w, shape=(*w.shape, 3))
    matrix[..., 2, 1], matrix[..., 0, 2], matrix[..., 1, 0] = w[..., 0], w[..., 1], w[..., 2]
    return matrix - np.swapaxes(matrix, -1, -2)


def Ad(R: Array, p: Array) -> Array:
    """The adjoint of a pose, (..., 3, 3) and (..., 3) -> (..., 6, 6).

    ``Ad(T_i)`` maps a twist of frame i to its parent; ``X_i = Ad(T_i⁻¹)`` is the inverse.
    """
    matrix = np.zeros_like(p, shape=(*p.shape[:-1], 6, 6))
    matrix[..., :3, :3] = matrix[..., 3:, 3:] = R
    matrix[..., 3:, :3] = skew(p) @ R
    return matrix


def ad(V: Array) -> Array:
    """The Lie bracket's matrix, ``ad_V W = [V, W]``: (..., 6) -> (..., 6, 6)."""
    matrix = np.zeros_like(V, shape=(*V.shape, 6))
    matrix[..., :3, :3] = matrix[..., 3:, 3:] = skew(V[..., :3])
    matrix[..., 3:, :3] = skew(V[..., 3:])
    return matrix


def inverse(R: Array, p: Array) -> tuple[Array, Array]:
    """The inverse pose ``(Rᵀ, −Rᵀ p)``."""
    Rt = np.swapaxes(R, -1, -2)
    return Rt, -(Rt @ p[..., None])[..., 0]


def pose(value: ArrayLike, of: str) -> Array:
    """Return a position (3,), m, or a pose (4, 4), as a read-only pose (4, 4).

    Raises ValueError with one sentence that names the argument, `of`, for anything else.
    """
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        array = np.zeros(0)
    made = np.eye(4)
    if array.shape == (3,):
        made[:3, 3] = array
    elif array.shape == (4, 4):
        made[:] = array
    R = made[:3, :3]
    straight = np.allclose(R.T @ R, np.eye(3), atol=_STRAIGHT) and np.linalg.det(R) > 0
    fits = array.shape in ((3,), (4, 4)) and np.all(np.isfinite(array))
    if not (fits and straight and np.array_equal(made[3], [0, 0, 0, 1])):
        raise ValueError(
            f"the pose of {of} is {value!r}; expected a position of three numbers in m, or a (4, 4) matrix of a "
            "rotation and a position"
        )
    made.flags.writeable = False
    return made


def sinc_terms(angle: Array) -> tuple[Array, Array, Array]:
    """sin θ / θ, (1 − cos θ) / θ², (θ − sin θ) / θ³, by series where θ is small."""
    small = angle < 1e-2
    t, t2 = np.where(small, 1.0, angle), angle * angle
    half = np.sin(t / 2)
    return (
        np.where(small, 1 - t2 / 6 * (1 - t2 / 20 * (1 - t2 / 42)), np.sin(t) / t),
        np.where(small, (1 - t2 / 12 * (1 - t2 / 30 * (1 - t2 / 56))) / 2, 2 * (half / t) ** 2),
        np.where(small, (1 - t2 / 20 * (1 - t2 / 42 * (1 - t2 / 72))) / 6, (t - np.sin(t)) / t**3),
    )


def exp(V: ArrayLike) -> tuple[Array, Array]:
    """The pose after moving with the twist V for unit time: (..., 6) -> (..., 3, 3), (..., 3).

    Rodrigues' formula for R; ``p = G(ω) v`` with the left Jacobian G of SO(3).
    """
    twist = np.asarray(V, float)
    w, v = skew(twist[..., :3]), twist[..., 3:]
    angle = np.linalg.norm(twist[..., :3], axis=-1)
    a, b, c = (term[..., None, None] for term in sinc_terms(angle))
    w2 = w @ w
    R = np.eye(3) + a * w + b * w2
    G = np.eye(3) + b * w + c * w2
    return R, (G @ v[..., None])[..., 0]


def log(R: ArrayLike, p: ArrayLike) -> Array:
    """The twist V of least angle with ``exp(V) = (R, p)``: (..., 3, 3), (..., 3) -> (..., 6)."""
    R, p = np.asarray(R, float), np.asarray(p, float)
    q = quaternion_from_rotation(R)
    q = np.where(q[..., 3:] < 0, -q, q)
    sine = np.linalg.norm(q[..., :3], axis=-1)
    angle = 2 * np.arctan2(sine, q[..., 3])
    scale = np.where(sine < 1e-9, 2.0, angle / np.where(sine < 1e-9, 1.0, sine))
    omega = scale[..., None] * q[..., :3]
    w = skew(omega)
    _, b, c = (term[..., None, None] for term in sinc_terms(angle))
    G = np.eye(3) + b * w + c * (w @ w)
    return np.concatenate([omega, np.linalg.solve(G, p[..., None])[..., 0]], -1)


def rotation_from_rpy(rpy: ArrayLike) -> Array:
    """R of URDF's roll, pitch, yaw, rpy, about fixed x, y, z axes, in radians: (..., 3) -> (..., 3, 3)."""
    angles = np.asarray(rpy, float)
    (cr, cp, cy), (sr, sp, sy) = np.moveaxis(np.cos(angles), -1, 0), np.moveaxis(np.sin(angles), -1, 0)
    rows = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def rpy_from_rotation(R: ArrayLike) -> Array:
    """The inverse of `rotation_from_rpy`, of R (..., 3, 3); roll is 0 where pitch is ±90° and the pair is free."""
    R = np.asarray(R, float)
    cp = np.hypot(R[..., 0, 0], R[..., 1, 0])
    pitch = np.arctan2(-R[..., 2, 0], cp)
    locked = cp < 1e-9
    roll = np.where(locked, 0.0, np.arctan2(R[..., 2, 1], R[..., 2, 2]))
    yaw = np.where(locked, np.arctan2(-R[..., 0, 1], R[..., 1, 1]), np.arctan2(R[..., 1, 0], R[..., 0, 0]))
    return np.stack([roll, pitch, yaw], -1)


def rotation_to(axis: ArrayLike) -> Array:
    """The rotation of least angle whose third column is the unit vector `axis`: (3,) -> (3, 3).

    An axis along z gives the identity.
    """
    x, y, z = np.asarray(axis, float)
    aside = x * x + y * y
    if z < 0 and aside < 1e-300:
        return np.diag([1.0, -1.0, -1.0])
    k = (1 - z) / aside if z < 0 else 1 / (1 + z)  # the same number; 1 + z loses its digits near −1
    return np.array([[1 - x * x * k, -x * y * k, x], [-x * y * k, 1 - y * y * k, y], [-x, -y, z]])


def rotation_from_quaternion(q: ArrayLike) -> Array:
    """R (..., 3, 3) of a unit quaternion q (..., 4), x, y, z, w."""
    rows = rows_from_quaternion(*np.moveaxis(np.asarray(q, float), -1, 0))
    return np.stack([np.stack(row, -1) for row in rows], -2)


def rows_from_quaternion(x: Any, y: Any, z: Any, w: Any) -> Rows:
    """The rows of R of a unit quaternion, by its components: arrays (...) of any library."""
    return (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def quaternion_from_rotation(R: ArrayLike) -> Array:
    """R (..., 3, 3) -> (..., 4) as x, y, z, w, by the largest of the four components (Shepperd 1978)."""
    R = np.asarray(R, float)
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    four = np.stack([1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz, 1 + xx + yy + zz], -1)
    sx, sy, sz = R[..., 2, 1] + R[..., 1, 2], R[..., 0, 2] + R[..., 2, 0], R[..., 1, 0] + R[..., 0, 1]
    dx, dy, dz = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    columns = [
        np.stack([four[..., 0], sz, sy, dx], -1),
        np.stack([sz, four[..., 1], sx, dy], -1),
        np.stack([sy, sx, four[..., 2], dz], -1),
        np.stack([dx, dy, dz, four[..., 3]], -1),
    ]
    best = np.argmax(four, -1)[..., None, None]
    q: Array = np.take_along_axis(np.stack(columns, -2), best, -2)[..., 0, :]
    unit: Array = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return unit
