"""Robots put down on the ground."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.model import FREE, WORLD, Model
from engine.model.poses import body_poses
from engine.scene.points import Points, points
from engine.scene.scene import Scene


def put_down(model: Model, scene: Scene, q: NDArray[np.floating]) -> NDArray[np.floating]:
    """q (nq,) with the robot moved along the ground's normal so that its lowest point touches.

    Robots on a pedestal stay where they are, and so do those that have nothing to touch with.
    """
    roots = np.flatnonzero((model.kind == FREE) & (model.parent == WORLD))
    found = points(model, scene)
    if scene.ground is None or len(roots) == 0 or len(found.radius) == 0:
        return q
    n = np.array(scene.ground.normal)
    least = np.min(lowest(found, body_poses(model, q[None])[0], n))
    moved = q.copy()
    for root in roots:
        start = model.q_start[root]
        moved[start : start + 3] += model.home_rotation[root].T @ n * (scene.ground.offset - least)
    return moved


def lowest(found: Points, poses: NDArray[np.floating], n: NDArray[np.floating]) -> NDArray[np.floating]:
    """How far along n (3,) each of the points is at its lowest, (P,), with bodies at `poses` (n, 4, 4)."""
    at = poses[np.repeat(found.body, np.diff(found.first))]
    R, p = at[:, :3, :3], at[:, :3, 3]
    axis = np.einsum("kij,kj->ki", R, found.axis)
    below = found.radius + found.rim * np.sqrt(np.maximum(0.0, 1 - (axis @ n) ** 2))
    height: NDArray[np.floating] = (np.einsum("kij,kj->ki", R, found.position) + p) @ n - below
    return height
