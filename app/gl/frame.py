"""The uniform block of a frame: the camera, the key light's view and the ground's grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.gl.backdrop import Backdrop
from app.gl.batch import Box
from app.gl.camera import Camera
from app.gl.scene import Content

BEHIND = 1e-3
"""The distance of a ghost behind its place, relative to the camera's distance: about a pixel."""
GAP = 0.3
"""The gap between what casts shadows near the camera's target, relative to the camera's distance."""
KEY = np.array([0.75, -0.15, 1.0])
"""The direction to the key light; as in light.glsl."""

_NAMES = ("right", "up", "forward", "eye", "grid", "spacing", "shaded", "plane", "across", "along")
_COLORS = ("zenith", "horizon", "floor_light", "line", "glow", "soil")
FRAME = np.dtype(
    [("view_projection", "(4,4)f4"), ("light", "(4,4)f4")] + [(name, "4f4") for name in (*_NAMES, *_COLORS)]
)
"""The std140 layout, in the order of frame.glsl; matrices by columns."""


def casters(content: Content, link_poses: NDArray[np.float64], camera: Camera) -> Box:
    """Return the corners, (3,) each, of a box around what casts shadows near the camera's target.

    Near is what is no farther from the target than the camera, as all that `Camera.fit` shows, and what adjoins it with
    gaps of at most `GAP`. So a body far away takes no texels from the robot's shadow. If nothing is near, all is.
    """
    centers, radii = content.spheres
    poses = link_poses[content.instances.link]
    centers = np.einsum("nij,nj->ni", poses[:, :3, :3], centers) + poses[:, :3, 3]
    lower, upper, gap, near = camera.target, camera.target, camera.distance, np.zeros(len(radii), bool)
    while True:
        joined = np.all((centers + radii[:, None] > lower - gap) & (centers - radii[:, None] < upper + gap), axis=1)
        if not (joined & ~near).any():
            break
        near, gap = near | joined, GAP * camera.distance
        lower, upper = (centers - radii[:, None])[near].min(0), (centers + radii[:, None])[near].max(0)
    if not near.any():
        return content.bounds(link_poses)
    points = content.hulls[near] @ poses[near, :3, :3].transpose(0, 2, 1) + poses[near, None, :3, 3]
    return points.min((0, 1)), points.max((0, 1))


def light_view(lower: NDArray[np.float64], upper: NDArray[np.float64], size: int) -> tuple[NDArray[np.float64], float]:
    """Return the key light's clip matrix (4, 4) over a box, and the width, m, of one of its `size` texels.

    The width grows in steps and the position moves by whole texels, so that shadows do not swim as a robot moves.
    """
    z = KEY / np.linalg.norm(KEY)
    x = np.cross([0.0, 1.0, 0.0], z)
    x /= np.linalg.norm(x)
    axes = np.stack([x, np.cross(z, x), z])
    corners = np.array(np.meshgrid(*zip(lower, upper, strict=True))).reshape(3, -1).T @ axes.T
    low, high = corners.min(0), corners.max(0)
    step = 1.2
    half = step ** np.ceil(np.log(max((high - low)[:2].max() / 2, 1e-9) * 1.05) / np.log(step))
    texel = 2 * half / size
    center = np.append(np.round((low + high)[:2] / 2 / texel) * texel, (low + high)[2] / 2)
    depth = (high - low)[2] / 2 + half / 10
    matrix = np.eye(4)
    matrix[:3, :3] = axes / np.array([half, half, -depth])[:, None]
    matrix[:3, 3] = -center / np.array([half, half, -depth])
    return matrix, texel


def placed(content: Content, link_poses: NDArray[np.float64], camera: Camera) -> NDArray[np.float32]:
    """(I, 4, 4): the pose of each copy in the world, a ghost's a little farther from the eye.

    The ghost covers the same pixels; where it coincides with the robot, the robot is seen alone.
    """
    matrices = content.matrices(link_poses)
    first, end = content.parts or (0, 0)
    if first < end:
        ghost = (content.instances.link >= first) & (content.instances.link < end)
        farther = BEHIND * camera.distance / camera.away
        matrices[ghost, :3] *= 1 + farther
        matrices[ghost, :3, 3] -= farther * camera.eye.astype(np.float32)
    return matrices


def directions(plane: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return two unit vectors (3,) on a plane (4,), normal and offset: as near to x as possible, and across."""
    n = plane[:3]
    x = np.array([1.0, 0.0, 0.0] if abs(n[0]) < 0.99 else [0.0, 1.0, 0.0])
    u = x - (x @ n) * n
    u /= np.linalg.norm(u)
    return u, np.cross(n, u)


def shadow_region(
    lower: NDArray[np.float64], upper: NDArray[np.float64], plane: NDArray[np.float64], margin: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the corners, (2,) each, of the region of the plane that a box's shadow can reach, m on the plane."""
    corners = np.array(np.meshgrid(*zip(lower, upper, strict=True))).reshape(3, -1).T
    n = plane[:3]
    fallen = corners - KEY * ((corners @ n - plane[3]) / max(n @ KEY, 0.05))[:, None]
    places = fallen @ np.stack(directions(plane), 1)
    return places.min(0) - margin, places.max(0) + margin


def pack(
    camera: Camera,
    aspect: float,
    light: NDArray[np.float64],
    texel: float,
    size: int,
    plane: NDArray[np.float64],
    shade: tuple[NDArray[np.float64], NDArray[np.float64]],
    backdrop: Backdrop,
    divisor: float,
) -> NDArray[np.void]:
    """Return a `FRAME` record.

    `plane` (4,) is the ground's normal and offset, `shade` the `shadow_region`; `divisor` is of the resolution.
    """
    frame = np.zeros((), FRAME)
    frame["view_projection"] = (camera.projection(aspect) @ camera.view()).T
    to_texture = np.eye(4)
    to_texture[:3] = 0.5 * to_texture[:3]
    to_texture[:3, 3] = 0.5
    frame["light"] = (to_texture @ light).T
    right, up, backward = camera.axes()
    slope = np.tan(camera.angle / 2)
    frame["right"][:3] = right * slope * max(1.0, aspect)
    frame["up"][:3] = up * slope * max(1.0, 1 / aspect)
    frame["forward"] = *-backward, divisor
    frame["eye"][:3] = camera.eye
    reach = 9.0 * camera.distance
    across, along = directions(plane)
    center = np.array([across @ camera.target, along @ camera.target])
    frame["plane"], frame["across"][:3], frame["along"][:3] = plane, across, along
    frame["grid"] = *center, 3 * reach, reach
    decade, faded = divmod(np.log10(camera.distance / 2.5), 1)
    frame["spacing"] = 10.0 ** (decade - 1), faded, texel, 1 / size
    frame["shaded"] = np.clip(np.concatenate(shade), [*(center - 3 * reach)] * 2, [*(center + 3 * reach)] * 2)
    for name, color in zip(_COLORS, backdrop.colors, strict=True):
        frame[name] = color
    return frame
