"""Where a new object of the scene is put: on the ground where the camera looks, clear of what is there. Free of Qt."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

import engine
from app.acting.scene_objects import SceneObject
from app.gl.camera import Camera
from app.gl.scene import Scene
from app.simulation.starting import first_pose

Box = tuple[NDArray[np.float64], NDArray[np.float64]]
GRAZING = 0.05  # the sine of the least angle between the line of sight and the ground at which they are intersected
MAX_DISTANCE = 4.0  # times the camera's distance: an intersection farther away is not what the user looks at
STEP = 0.25  # of an object's size, by which it is moved aside until it is clear
MAX_STEPS = 400  # steps
APART = 1.5  # of an object's size, between it and its copy
SLACK = 0.01  # of an object's size, by which boxes of objects that only touch overlap


def box_of(item: SceneObject, corners: NDArray[np.float64] | None) -> Box:
    """Return the corners (3,) of a box around an object, a mesh with these corners (2, 3); its origin if unknown."""
    if corners is None:
        return item.pose[:3, 3] - item.extent, item.pose[:3, 3] + item.extent
    grid = np.stack(np.meshgrid(*(corners * item.size).T), -1).reshape(-1, 3)
    turned = grid @ item.pose[:3, :3].T + item.pose[:3, 3]
    return turned.min(0), turned.max(0)


def box_of_robot(model: engine.Model) -> Box:
    """Return the corners (3,) of a box around a robot in its first pose, once its meshes are read or have failed."""
    scene, read = Scene(model), threading.Event()
    scene.load(read.set, apart=True)
    while not scene.ready:
        read.wait()
        read.clear()
        scene.update()
    return scene.content.bounds(engine.link_poses(model, first_pose(model)))


def box_of_mesh(path: str) -> NDArray[np.float64]:
    """Return the corners (2, 3) of a box around a mesh. Raises ValueError if it is empty, and as `engine.read_mesh`."""
    corners = np.concatenate([np.zeros((0, 3)), *(part.vertices for part in engine.read_mesh(path))])
    if not len(corners):
        raise ValueError("holds no triangles; select a mesh that has some")
    return np.array([corners.min(0), corners.max(0)])


def is_clear(at: NDArray[np.float64], half: NDArray[np.float64], others: Iterable[Box]) -> bool:
    """Whether a rectangle at (2,) with half the edges (2,) overlaps no box, seen from above."""
    return not any(np.all(np.abs(at - (low + high)[:2] / 2) < half + (high - low)[:2] / 2) for low, high in others)


def is_hidden(box: Box, eye: NDArray[np.float64], others: Iterable[Box]) -> bool:
    """Whether one of the `others` is before the middle half of a box's middle plane, seen from a point (3,)."""
    half = np.array([[0, 0, 0], [1, 1, 0], [1, -1, 0], [-1, 1, 0], [-1, -1, 0]]) * (box[1] - box[0]) / 4
    sight = (box[0] + box[1]) / 2 + half - eye
    sight = np.where(sight == 0, 1e-12, sight)
    for other in others:
        ways = (np.array(other)[:, None] - eye) / sight  # at which each line of sight crosses the planes of its faces
        enters, leaves = ways.min(0).max(1), ways.max(0).min(1)
        if np.any((enters < np.minimum(leaves, 1.0)) & (leaves > 0)):
            return True
    return False


def in_front(box: Box, robot: Box, others: Sequence[Box], eye: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the horizontal shift (3,) of a box that puts it beside a robot along x, and along y clear of `others`.

    Of the clear places, to both sides, it is the nearest where none hides another from an eye at (3,).
    """
    half, middle = (box[1] - box[0])[:2] / 2, (box[0] + box[1])[:2] / 2
    first = np.array([robot[1][0] + half[0], (robot[0][1] + robot[1][1]) / 2])
    nearest: NDArray[np.float64] | None = None
    for step in itertools.count():
        for side in (1, -1):
            at = first + np.array([0.0, side * step * half[1] / 2])
            if not is_clear(at, half, others):
                continue
            shift = np.append(at - middle, 0.0)
            placed = box[0] + shift, box[1] + shift
            if not (is_hidden(placed, eye, others) or any(is_hidden(each, eye, [placed]) for each in others)):
                return shift
            nearest = shift if nearest is None else nearest
        if nearest is not None and step > MAX_STEPS:
            break
    return nearest


def beside(box: Box, others: Sequence[Box], least: float) -> float:
    """Return how far along y, m, a copy of what is in a box has to be from it to overlap nothing.

    Steps are at least `least`. Boxes that overlap it already, such as that of a bowl that it lies in, do not count.
    """
    slack, step = SLACK * (box[1] - box[0]), max(APART * float(box[1][1] - box[0][1]), least)

    def overlaps(other: Box, shift: float) -> bool:
        low, high = (corner + np.array([0.0, shift, 0.0]) for corner in box)
        return bool(np.all(low + slack < other[1]) and np.all(other[0] < high - slack))

    others, shift = [other for other in others if not overlaps(other, 0.0)], step
    while (other := next((each for each in others if overlaps(each, shift)), None)) is not None:
        shift = step * max(np.ceil((other[1][1] - box[0][1]) / step), round(shift / step) + 1)
    return shift


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
    if sight[2] < -GRAZING and 0 < (way := (height - eye[2]) / sight[2]) < camera.away + MAX_DISTANCE * camera.distance:
        return np.asarray((eye + way * sight)[:2])
    return camera.target[:2].copy()


def on_the_ground(
    box: Box, camera: Camera, ground: engine.Plane | engine.HeightField | None, others: Iterable[Box]
) -> NDArray[np.float64]:
    """Return the shift (3,) of a box (corners (3,)) that puts it there, aside of `others` to the camera's right."""
    half, middle, right = (box[1] - box[0])[:2] / 2, (box[0] + box[1])[:2] / 2, camera.axes()[0][:2]
    at = point_in_view(camera, ground_height(ground, camera.target[None]))
    others = list(others)
    widest = max((float(np.linalg.norm((high - low)[:2] / 2)) for low, high in others), default=0.0)
    step = STEP * max(float(np.linalg.norm(half)), STEP * widest)
    for _ in range(MAX_STEPS):
        if is_clear(at, half, others):
            break
        at = at + step * right
    corners = at + half * np.array([[0, 0], [1, 1], [1, -1], [-1, 1], [-1, -1]])
    return np.append(at - middle, ground_height(ground, corners) - box[0][2])
