"""Where a new object of the scene is put: on the ground where the camera looks, clear of what is there. Free of Qt."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

import engine
from app.gl.camera import Camera

Box = tuple[NDArray[np.float64], NDArray[np.float64]]
GRAZING = 0.05  # the sine of the least angle between the line of sight and the ground at which they are intersected
FAR = 4.0  # times the camera's distance: an intersection farther away is not what the user looks at
STEP = 0.25  # of an object's size, by which it is moved aside until it is clear
MOST = 400  # steps


def ground_height(ground: engine.Plane | engine.HeightField | None, places: NDArray[np.float64]) -> float:
    """Return the highest ground, m, at the places (k, 2 or 3); 0 without ground, or with one upright."""
    if isinstance(ground, engine.HeightField):
        return float(ground.height(places).max())
    if ground is None or abs(ground.normal[2]) < GRAZING:
        return 0.0
    return float(((ground.offset - places[:, :2] @ ground.normal[:2]) / ground.normal[2]).max())


def point_in_view(camera: Camera, height: float) -> NDArray[np.float64]:
    """Return the place (2,) where the line of sight meets the level `height`, m, or else the camera's target."""
    sight, eye = -camera.axes()[2], camera.eye
    if sight[2] < -GRAZING and 0 < (way := (height - eye[2]) / sight[2]) < camera.away + FAR * camera.distance:
        return np.asarray((eye + way * sight)[:2])
    return camera.target[:2].copy()


def on_the_ground(
    box: Box, camera: Camera, ground: engine.Plane | engine.HeightField | None, others: Iterable[Box]
) -> NDArray[np.float64]:
    """Return the shift (3,) of a box (corners (3,)) that puts it there, aside of `others` to the camera's right."""
    half, middle, right = (box[1] - box[0])[:2] / 2, (box[0] + box[1])[:2] / 2, camera.axes()[0][:2]
    at = point_in_view(camera, ground_height(ground, camera.target[None]))
    taken = [((low + high)[:2] / 2, (high - low)[:2] / 2) for low, high in others]
    step = STEP * max(float(np.linalg.norm(half)), STEP * max((float(np.linalg.norm(r)) for _, r in taken), default=0))
    for _ in range(MOST):
        if not any(np.all(np.abs(at - place) < half + reach) for place, reach in taken):
            break
        at = at + step * right
    corners = at + half * np.array([[0, 0], [1, 1], [1, -1], [-1, 1], [-1, -1]])
    return np.append(at - middle, ground_height(ground, corners) - box[0][2])
