"""Robots put down on the ground."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.model import FREE, WORLD, Model
from engine.model.poses import body_poses
from engine.scene.height_field import HeightField
from engine.scene.points import Points, points
from engine.scene.scene import Scene

_AROUND = 64  # places on a rim


def put_down(model: Model, scene: Scene, q: NDArray[np.floating]) -> NDArray[np.floating]:
    """q (nq,) with the robot moved along a plane's normal, or up and down over a height field, until it just touches.

    Robots on a pedestal stay where they are, and so do those that have nothing to touch with. Obstacles are not looked
    at.
    """
    roots = np.flatnonzero((model.kind == FREE) & (model.parent == WORLD))
    found = points(model, scene)
    if scene.ground is None or len(roots) == 0 or len(found.radius) == 0:
        return q
    poses = body_poses(model, q[None])[0]
    if isinstance(scene.ground, HeightField):
        move = np.array([0.0, 0.0, np.max(_lifts(found, poses, scene.ground))])
    else:
        n = np.array(scene.ground.normal)
        move = n * (scene.ground.offset - np.min(lowest(found, poses, n)))
    moved = q.copy()
    for root in roots:
        start = model.coupling.q_index[model.q_start[root]]  # of bodies before it some may follow others
        moved[start : start + 3] += model.home_rotation[root].T @ move
    return moved


def lowest(found: Points, poses: NDArray[np.floating], n: NDArray[np.floating]) -> NDArray[np.floating]:
    """How far along n (3,) each of the points is at its lowest, (P,), with bodies at `poses` (n, 4, 4)."""
    at = poses[np.repeat(found.body, np.diff(found.first))]
    R, p = at[:, :3, :3], at[:, :3, 3]
    axis = np.einsum("kij,kj->ki", R, found.axis)
    below = found.radius + found.rim * np.sqrt(np.maximum(0.0, 1 - (axis @ n) ** 2))
    height: NDArray[np.floating] = (np.einsum("kij,kj->ki", R, found.position) + p) @ n - below
    return height


def _lifts(found: Points, poses: NDArray[np.floating], ground: HeightField) -> NDArray[np.floating]:
    """(…,): how far up each of the points must go to touch the ground; of rims, places all around."""
    at = poses[np.repeat(found.body, np.diff(found.first))]
    R, p = at[:, :3, :3], at[:, :3, 3]
    x, axis = np.einsum("kij,kj->ki", R, found.position) + p, np.einsum("kij,kj->ki", R, found.axis)
    rims = found.rim > 0
    beside = np.cross(axis[rims], np.eye(3)[np.argmin(np.abs(axis[rims]), -1)])
    beside /= np.linalg.norm(beside, axis=-1, keepdims=True)
    angle = np.arange(_AROUND) * (2 * np.pi / _AROUND)
    circle = np.cos(angle)[:, None, None] * beside + np.sin(angle)[:, None, None] * np.cross(axis[rims], beside)
    around = (x[rims] + found.rim[rims, None] * circle).reshape(-1, 3)
    lifts = ground.lift(x[~rims], found.radius[~rims]), ground.lift(around, np.zeros(len(around)))
    return np.concatenate(lifts)
