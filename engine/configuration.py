"""The configuration space: integration of velocities to coordinates, and differences of coordinates.

Prismatic and revolute joints have scalar coordinates. The orientation of free and ball joints is a unit quaternion x,
y, z, w, rotated by the angular velocity in the joint's own frame. A free joint's linear velocity is along the axes at
the start of the motion, as in a step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from engine import lie, validation
from engine.lie import Array
from engine.model import Model


def integrate(model: Model, q: ArrayLike, v: ArrayLike, dt: float = 1.0) -> Array:
    """q ⊕ dt v: the coordinates (nq,) or (batch, nq) after velocities v (nv,) or (batch, nv) act on q for dt, s.

    Raises ValueError for arguments that do not fit the model, and where dt is not finite.
    """
    if not np.isfinite(dt):
        raise ValueError(f"dt is {dt!r}; expected a finite number of seconds")
    (q, v), single = validation.states(model, q=q, v=v)
    after, way = q.copy(), float(dt) * v
    scalar = model.q_of_v >= 0
    after[:, model.q_of_v[scalar]] += way[:, scalar]
    for x, position, omega, linear in _rotating(model):
        if position is not None:
            turned = lie.rotation_from_quaternion(q[:, x : x + 4])
            after[:, position : position + 3] += (turned @ way[:, linear : linear + 3, None])[..., 0]
        after[:, x : x + 4] = _product(q[:, x : x + 4], _exponential(way[:, omega : omega + 3]))
    return after[0] if single else after


def difference(model: Model, q: ArrayLike, other: ArrayLike) -> Array:
    """The velocities (nv,) or (batch, nv) that move q to `other`, (nq,) or (batch, nq), in 1 s, the shortest way.

    The inverse of `integrate`. Raises ValueError for arguments that do not fit the model.
    """
    (begin,), one = validation.states(model, q=q)
    (end,), same = validation.states(model, q=other)
    if len(begin) != len(end) and not (one or same):
        raise ValueError(
            f"the batch sizes differ (q {len(begin)}, other {len(end)}); give both the same number of rows"
        )
    begin, end = np.broadcast_arrays(begin, end)
    v, scalar = np.zeros((len(begin), model.nv)), model.q_of_v >= 0
    places = model.q_of_v[scalar]
    v[:, scalar] = end[:, places] - begin[:, places]
    for x, position, omega, linear in _rotating(model):
        before = begin[:, x : x + 4]
        if position is not None:
            shift = end[:, position : position + 3] - begin[:, position : position + 3]
            turned = lie.rotation_from_quaternion(before)
            v[:, linear : linear + 3] = (np.swapaxes(turned, 1, 2) @ shift[..., None])[..., 0]
        v[:, omega : omega + 3] = _logarithm(_product(before * [-1, -1, -1, 1], end[:, x : x + 4]))
    return v[0] if one and same else v


def _rotating(model: Model) -> list[tuple[int, int | None, int, int]]:
    """The indices of each free and ball joint's quaternion, position, and angular and linear velocity."""
    indices = []
    for joint in model.joints:
        if joint.type.quaternion is not None:
            x, v = joint.q.start + joint.type.quaternion, joint.v.start
            indices.append((x, joint.q.start if joint.type.quaternion else None, v, v + 3))
    return indices


def _product(a: Array, b: Array) -> Array:
    """a ∘ b of unit quaternions (…, 4), normalised."""
    u, s, w, t = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    product = np.concatenate([s * w + t * u + np.cross(u, w), s * t - np.sum(u * w, -1, keepdims=True)], -1)
    unit: Array = product / np.linalg.norm(product, axis=-1, keepdims=True)
    return unit


def _exponential(omega: Array) -> Array:
    """The unit quaternions (…, 4) of rotations by the vectors omega (…, 3), rad."""
    half = 0.5 * np.linalg.norm(omega, axis=-1, keepdims=True)
    return np.concatenate([0.5 * np.sinc(half / np.pi) * omega, np.cos(half)], -1)


def _logarithm(x: Array) -> Array:
    """The shortest rotation vectors (…, 3), rad, of unit quaternions x (…, 4)."""
    x = np.where(x[..., 3:] < 0.0, -x, x)
    sine = np.linalg.norm(x[..., :3], axis=-1, keepdims=True)
    half = np.arctan2(sine, x[..., 3:])
    turns: Array = 2.0 * x[..., :3] / np.maximum(np.sinc(half / np.pi), 1e-300)
    return turns
