"""Place robots on the ground."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import validation
from engine.model import FREE, WORLD, Model
from engine.model.poses import body_poses
from engine.scene.height_field import HeightField
from engine.scene.points import Points, points
from engine.scene.scene import Scene

_RIM_POINTS = 64  # sampled points on a rim
_PENETRATION_TOLERANCE = 1e-6  # m, rounding tolerance for reaching below the ground


def stands(model: Model, q: ArrayLike | None = None) -> bool:
    """Whether a robot stands on the ground, level at z = 0, unless the user decides.

    It does if it has collision shapes and either a free base, or a fixed base and no moving part below the ground at
    q (nq,), by default the neutral pose, which rules out hanging robots. In a composed model this holds for every part.

    Raises ValueError, in one sentence, for a collision mesh that cannot be read.
    """
    shape_points = points(model, Scene())
    if len(shape_points.radius) == 0:
        return False
    part, free = model.part_of_body, (model.kind == FREE) & (model.parent == WORLD)
    fixed = ~np.isin(part, part[free])[_carrier(shape_points)]
    (rows,), _ = validation.states(model, q=model.neutral() if q is None else q)
    height = lowest(shape_points, body_poses(model, rows)[0], np.array([0.0, 0.0, 1.0]))
    return bool(np.all(height[fixed] >= -_PENETRATION_TOLERANCE))


def put_down(model: Model, scene: Scene, q: ArrayLike) -> NDArray[np.floating]:
    """Return q, (nq,) or (N, nq), with robots moved along a plane's normal, or vertically over a height field, until
    they touch.

    Fixed robots and robots without collision shapes stay in place. Each part of a composed model is moved separately; a
    single body only moves out of the ground, since it may be meant to fall or to lie on something. Obstacles are
    ignored. Raises ValueError for another shape, and for numbers that are not finite.
    """
    rows, single = validation.states(model, q=q)
    moved = np.stack([_down(model, scene, row) for row in rows[0]]) if len(rows[0]) else rows[0]
    return moved[0] if single else moved


def _down(model: Model, scene: Scene, q: NDArray[np.floating]) -> NDArray[np.floating]:
    roots = np.flatnonzero((model.kind == FREE) & (model.parent == WORLD))
    shape_points = points(model, scene)
    if scene.ground is None or len(roots) == 0 or len(shape_points.radius) == 0:
        return q
    poses, part = body_poses(model, q[None])[0], model.part_of_body
    if isinstance(scene.ground, HeightField):
        n = np.array([0.0, 0.0, 1.0])
        lift, body = _lifts(shape_points, poses, scene.ground)
    else:
        n = np.array(scene.ground.normal)
        lift, body = scene.ground.offset - lowest(shape_points, poses, n), _carrier(shape_points)
    moved = q.copy()
    for root in roots:
        on_part = part[body] == part[root]
        if not np.any(on_part):
            continue
        max_lift = np.max(lift[on_part])
        alone = len(model.parts) > 0 and np.count_nonzero(part == part[root]) == 1
        start = model.coupling.q_index[model.q_start[root]]  # earlier bodies may be mimic joints'
        moved[start : start + 3] += model.home_rotation[root].T @ (n * (max(max_lift, 0.0) if alone else max_lift))
    return moved


def _carrier(shape_points: Points) -> NDArray[np.int64]:
    """(P,): the body of each point."""
    return np.repeat(shape_points.body, np.diff(shape_points.first))


def lowest(shape_points: Points, poses: NDArray[np.floating], n: NDArray[np.floating]) -> NDArray[np.floating]:
    """(P,): the smallest coordinate along n (3,) of each point, with bodies at `poses` (n, 4, 4)."""
    pose = poses[_carrier(shape_points)]
    R, p = pose[:, :3, :3], pose[:, :3, 3]
    axis = np.einsum("kij,kj->ki", R, shape_points.axis)
    below = shape_points.radius + shape_points.rim * np.sqrt(np.maximum(0.0, 1 - (axis @ n) ** 2))
    height: NDArray[np.floating] = (np.einsum("kij,kj->ki", R, shape_points.position) + p) @ n - below
    return height


def _lifts(
    shape_points: Points, poses: NDArray[np.floating], ground: HeightField
) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
    """(…,): the upward displacement until each point touches the ground, and its owner; rims are sampled all around."""
    body = _carrier(shape_points)
    pose = poses[body]
    R, p = pose[:, :3, :3], pose[:, :3, 3]
    x, axis = np.einsum("kij,kj->ki", R, shape_points.position) + p, np.einsum("kij,kj->ki", R, shape_points.axis)
    rims = shape_points.rim > 0
    beside = np.cross(axis[rims], np.eye(3)[np.argmin(np.abs(axis[rims]), -1)])
    beside /= np.linalg.norm(beside, axis=-1, keepdims=True)
    angle = np.arange(_RIM_POINTS) * (2 * np.pi / _RIM_POINTS)
    circle = np.cos(angle)[:, None, None] * beside + np.sin(angle)[:, None, None] * np.cross(axis[rims], beside)
    around = (x[rims] + shape_points.rim[rims, None] * circle).reshape(-1, 3)
    lifts = ground.lift(x[~rims], shape_points.radius[~rims]), ground.lift(around, np.zeros(len(around)))
    return np.concatenate(lifts), np.concatenate([body[~rims], np.tile(body[rims], _RIM_POINTS)])
