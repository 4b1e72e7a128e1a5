"""Picking of the link under the cursor, exact for the drawn triangles, without a GPU.

A ray from the eye is compared with the ball around each copy of a mesh, from near to far. Where it hits, the box around
each block of the mesh's triangles follows, and every triangle of the blocks that are hit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from app.gl.camera import Camera
from app.gl.mesh import BLOCK, Mesh
from app.gl.scene import Content

Vector = NDArray[np.float64]
TINY = 8.0  # px, below which a robot in the picture is taken for a mark, if it is seen at all


@dataclass(frozen=True, eq=False)
class Hit:
    """The first intersection of a ray with a robot: link, point (3,) in the world, m, distance from the eye, m."""

    link: int
    point: Vector
    distance: float


def ray(camera: Camera, size: tuple[float, float], place: tuple[float, float]) -> tuple[Vector, Vector]:
    """Return the eye (3,), m, and the unit direction (3,) to `place` in a picture of this width and height.

    `place` is in pixels from the upper left corner.
    """
    right, up, backward = camera.axes()
    across = 2 * np.tan(camera.angle / 2) / min(size)
    x, y = across * (place[0] - size[0] / 2), across * (size[1] / 2 - place[1])
    direction = x * right + y * up - backward
    return camera.eye, direction / np.linalg.norm(direction)


def seen_at(camera: Camera, size: tuple[float, float], points: ArrayLike) -> Vector:
    """(n, 2): the pixels of points (n, 3) in a picture of this width and height; nan for points behind the eye."""
    corners = np.asarray(points, float)
    clip = np.c_[corners, np.ones(len(corners))] @ (camera.projection(size[0] / size[1]) @ camera.view()).T
    w = np.where(clip[:, 3] > 0, clip[:, 3], np.nan)
    return np.c_[(0.5 + 0.5 * clip[:, 0] / w) * size[0], (0.5 - 0.5 * clip[:, 1] / w) * size[1]]


def corners_at(camera: Camera, size: tuple[float, float], lower: ArrayLike, upper: ArrayLike) -> Vector:
    """(8, 2): the pixels, as of `seen_at`, of the corners of a box between `lower` and `upper` (3,)."""
    ends = zip(np.asarray(lower, float), np.asarray(upper, float), strict=True)
    return seen_at(camera, size, np.array(np.meshgrid(*ends)).reshape(3, -1).T)


def way_to(camera: Camera, size: tuple[float, float], bodies: ArrayLike) -> Vector | None:
    """Return the direction to bodies, with corners (n, k, 3), all outside a picture of this size; else None.

    (2,): a unit vector from the picture's middle, x to the right and y down.
    """
    corners = np.asarray(bodies, float)
    ends = np.concatenate([corners, np.ones((*corners.shape[:2], 1))], 2)
    clip = ends @ (camera.projection(size[0] / size[1]) @ camera.view()).T
    x, y, w = (clip[..., k] for k in (0, 1, 3))
    if not np.all(np.any([np.all(beyond, 1) for beyond in (x > w, x < -w, y > w, y < -w, w < 0)], axis=0)):
        return None
    toward = clip[..., :2].mean((0, 1)) * [size[0], -size[1]]
    length = float(np.linalg.norm(toward))
    return toward / length if length > 0 else np.array([0.0, 1.0])


def way_to_tiny(camera: Camera, size: tuple[float, float], bodies: ArrayLike) -> Vector | None:
    """Return the direction, as of `way_to`, to bodies that are together less than `TINY` in a picture; else None.

    Also to bodies so far apart that they have less than `TINY` pixels.
    """
    points = np.asarray(bodies, float)
    corners = seen_at(camera, size, points.reshape(-1, 3)).reshape(*points.shape[:2], 2)
    outside = np.all(corners < 0, axis=1) | np.all(corners > size, axis=1) | np.all(np.isnan(corners), axis=1)
    areas = np.where(outside.any(1), 0.0, np.ptp(corners, axis=1).prod(1))
    tiny = np.ptp(corners, axis=(0, 1)).max() < TINY  # not if a corner is behind the eye, and so nan
    if not (tiny or (points.shape[1] > 1 and areas.sum() < TINY)):
        return None
    ahead = corners[np.isfinite(corners).all(2)]
    toward = ahead.mean(0) - np.array(size) / 2 if len(ahead) else np.array([0.0, 1.0])
    return toward / max(float(np.linalg.norm(toward)), 1e-9)


def fit_until_seen(camera: Camera, size: tuple[float, float], bodies: ArrayLike) -> None:
    """Show bodies, as of `way_to`, that are tiny: all of them, or else the nearest to their middle that can be seen."""
    points = np.asarray(bodies, float)
    aside = np.linalg.norm(points.mean(1) - np.median(points.mean(1), axis=0), axis=1)
    nearest, count = points[np.argsort(aside, kind="stable")], len(points)
    while count and way_to_tiny(camera, size, points) is not None:
        camera.fit(nearest[:count].min((0, 1)), nearest[:count].max((0, 1)))
        count //= 2


def pick(content: Content, link_poses: ArrayLike, eye: ArrayLike, direction: ArrayLike) -> Hit | None:
    """Return the first hit of a ray from `eye` (3,) along a unit vector (3,), with link poses (links, 4, 4).

    None if the ray hits nothing.
    """
    eye, direction = np.asarray(eye, float), np.asarray(direction, float)
    poses, instances = np.asarray(link_poses, float), content.instances
    if not len(instances.link):
        return None
    centers, radii = content.spheres
    stand = poses[instances.link]
    centers = (stand[:, :3, :3] @ centers[..., None])[..., 0] + stand[:, :3, 3] - eye
    along = centers @ direction
    aside = np.linalg.norm(centers - along[:, None] * direction, axis=1)
    reached = np.flatnonzero((aside <= radii) & (along > -radii))
    nearest, first = np.inf, -1
    for copy in reached[np.argsort((along - radii)[reached], kind="stable")]:
        if along[copy] - radii[copy] >= nearest:
            break
        made = content.meshes[instances.mesh[copy]]
        if not len(made.faces):
            continue
        distance = _distance(made, stand[copy] @ instances.local[copy], eye, direction)
        if distance < nearest:
            nearest, first = distance, int(copy)
    if first < 0:
        return None
    return Hit(int(instances.link[first]), eye + nearest * direction, float(nearest))


def pick_ground(plane: ArrayLike, terrain: tuple[Mesh, Mesh] | None, eye: Vector, direction: Vector) -> float:
    """Return the distance along a ray to the ground of a `World`, m; infinite if it does not meet it."""
    if terrain is not None:
        return _distance(terrain[0], np.eye(4), eye, direction)
    plane = np.asarray(plane, float)
    toward = float(plane[:3] @ direction)
    away = float(plane[3] - plane[:3] @ eye) / toward if toward else np.inf
    return away if away > 0 else np.inf


def _distance(mesh: Mesh, place: Vector, eye: Vector, direction: Vector) -> float:
    """Return the distance along the ray to a mesh at `place` (4, 4), including scale; infinite without a hit."""
    faces = mesh.faces[_near(mesh, place, eye, direction)]
    least = np.zeros(3)
    least[np.argmin(np.abs(direction))] = 1.0
    u = np.cross(direction, least)
    u /= np.linalg.norm(u)
    frame = np.stack([u, np.cross(direction, u), direction])  # rows: across, across, along
    corners = mesh.vertices[faces].astype(float) @ (frame @ place[:3, :3]).T + frame @ (place[:3, 3] - eye)
    x, y, z = np.moveaxis(corners, 2, 0)
    # Twice the areas of the triangles of the ray and each side: of one sign if it passes inside.
    areas = np.stack([x[:, b] * y[:, c] - x[:, c] * y[:, b] for b, c in ((1, 2), (2, 0), (0, 1))], 1)
    total = areas.sum(1)
    inside = (np.all(areas >= 0, 1) | np.all(areas <= 0, 1)) & (total != 0)
    depth = (areas[inside] * z[inside]).sum(1) / total[inside]
    return float(depth[depth > 0].min(initial=np.inf))


def _near(mesh: Mesh, place: Vector, eye: Vector, direction: Vector) -> NDArray[np.uint32]:
    """Return the faces of the blocks whose boxes the ray's line intersects."""
    order, lower, upper = mesh.blocks
    inverse = np.linalg.inv(place)
    start, ray = inverse[:3, :3] @ eye + inverse[:3, 3], inverse[:3, :3] @ direction
    slack = 1e-6 * (np.abs(upper).max(initial=0.0) + np.abs(lower).max(initial=0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack([(lower - slack - start) / ray, (upper + slack - start) / ray])
    enter, leave = np.fmin(ends[0], ends[1]).max(1), np.fmax(ends[0], ends[1]).min(1)
    blocks = np.flatnonzero(enter <= leave)
    places = (blocks[:, None] * BLOCK + np.arange(BLOCK)).ravel()
    return order[places[places < len(order)]]
