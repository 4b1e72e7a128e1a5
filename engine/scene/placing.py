"""Robots put down on the ground."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.model import FREE, WORLD, Model
from engine.model.poses import body_poses
from engine.scene.points import points
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
    poses = body_poses(model, q[None])[0, np.repeat(found.body, np.diff(found.first))]
    R, p = poses[:, :3, :3], poses[:, :3, 3]
    axis = np.einsum("kij,kj->ki", R, found.axis)
    below = found.radius + found.rim * np.sqrt(np.maximum(0.0, 1 - (axis @ n) ** 2)) * (found.rim > 0)
    lowest = np.min((np.einsum("kij,kj->ki", R, found.position) + p) @ n - below)
    moved = q.copy()
    for root in roots:
        start = model.q_start[root]
        moved[start : start + 3] += model.home_rotation[root].T @ n * (scene.ground.offset - lowest)
    return moved
