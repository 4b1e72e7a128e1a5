"""A robot's momentum."""

from __future__ import annotations

import numpy as np

from engine.lie import Array
from engine.model import Model
from engine.model.poses import moving_bodies


def momentum(model: Model, q: Array, v: Array) -> Array:
    """Return the robot's momentum as a wrench (n, f) about the world's origin, (batch, 6), at q (batch, nq), v."""
    T, twist = moving_bodies(model, q, v)
    R, p = T[..., :3, :3], T[..., :3, 3]
    omega, velocity = twist[..., :3], twist[..., 3:]
    body_twist = np.concatenate([omega, velocity + np.cross(omega, p)], -1).reshape(*omega.shape[:-1], 2, 3)
    body_twist = (body_twist @ R).reshape(twist.shape)  # Rᵀ of both halves
    wrench = (model.J @ body_twist[..., None]).reshape(*omega.shape[:-1], 2, 3) @ np.swapaxes(R, -1, -2)
    n, f = wrench[..., 0, :], wrench[..., 1, :]
    return np.concatenate([(n + np.cross(p, f)).sum(1), f.sum(1)], -1)
