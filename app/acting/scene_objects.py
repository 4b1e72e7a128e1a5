"""The objects around a robot, as the scene panel shows them: obstacles, free bodies, other robots. Free of Qt."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import engine

BODY = "body"
"""The link name of a free body made here."""
LABELS = {"box": "Box", "sphere": "Ball", "cylinder": "Cylinder", "capsule": "Capsule", "mesh": "Mesh"}
SIZES = {
    "box": ("Size x", "Size y", "Size z"), "sphere": ("Radius",), "cylinder": ("Radius", "Length"),
    "capsule": ("Radius", "Length"), "mesh": ("Scale x", "Scale y", "Scale z"), "": (),
}  # fmt: skip
Color = tuple[float, float, float, float]
DENSITY = 500.0  # kg/m³ of a new body: wood
_SHARES = {"box": (1.0, 1.0, 1.0), "sphere": (0.5,), "cylinder": (0.5, 1.0), "capsule": (0.4, 0.6)}


@dataclass(frozen=True, eq=False)
class SceneObject:
    """An object: its name, shape ("" for a robot from a file), and `size` as in `engine.Obstacle`.

    `pose` (4, 4), m; `mass` in kg, None for an obstacle; `friction`, None for the scene's, and `color`, RGBA in 0…1,
    None for the usual one, of obstacles and bodies made here. `file` is of a mesh or a robot. `placed` is whether it
    can be moved directly: all but robots on a fixed base, which need the model to be composed again.
    """

    name: str
    shape: str
    size: tuple[float, ...]
    pose: np.ndarray
    mass: float | None = None
    file: str = ""
    placed: bool = True
    friction: float | None = None
    color: Color | None = None

    @property
    def height(self) -> float:
        """The distance from the middle to the lowest point when upright, m; 0 if unknown."""
        if self.shape in ("", "mesh"):
            return 0.0
        if self.shape == "box":
            return self.size[2] / 2
        return self.size[0] if self.shape == "sphere" else self.size[1] / 2 + self.size[0] * (self.shape == "capsule")

    @property
    def volume(self) -> float:
        """Its volume, m³; 0 if unknown."""
        if self.shape in ("", "mesh"):
            return 0.0
        if self.shape == "box":
            return float(np.prod(self.size))
        radius = self.size[0]
        ball, disc = 4 / 3 * np.pi * radius**3, np.pi * radius**2
        return float({"sphere": ball}.get(self.shape, disc * self.size[-1]) + ball * (self.shape == "capsule"))

    @property
    def extent(self) -> np.ndarray:
        """Half the edges (3,) of the box around it along the world's axes, m; 0 if unknown."""
        along = np.abs(self.pose[:3, :3])
        if self.shape in ("", "mesh"):
            return np.zeros(3)
        if self.shape == "box":
            return np.asarray(along @ self.size) / 2
        aside = np.sqrt(np.maximum(1 - along[:, 2] ** 2, 0.0)) if self.shape == "cylinder" else np.ones(3)
        return np.asarray(self.size[0] * aside + (0.0 if self.shape == "sphere" else self.size[1] / 2) * along[:, 2])


def of_obstacle(obstacle: engine.Obstacle, number: int) -> SceneObject:
    """Return the object of an obstacle with that index."""
    name = f"{LABELS[obstacle.shape]} {number + 1}"
    pose, friction, color = np.asarray(obstacle.pose), obstacle.friction, obstacle.color
    return SceneObject(name, obstacle.shape, obstacle.size, pose, None, obstacle.mesh or "", True, friction, color)


def of_part(part: engine.Part, pose: np.ndarray, free: bool) -> SceneObject:
    """Return the object of a part beside the robot, with its root at `pose` (4, 4); `free`: on a free base."""
    model, name = part.model, (part.prefix or part.model.name).rstrip("/")
    if model.source is None and model.link_names == (BODY,):
        shape = model.collisions[0]
        color = model.visuals[0].color
        return SceneObject(name, shape.shape, shape.size, pose, float(model.mass[0]), "", True, shape.friction, color)
    return SceneObject(name, "", (), pose, float(model.mass.sum()), model.source or "", free)


def obstacle_of(item: SceneObject) -> engine.Obstacle:
    """Return the obstacle of an object. Raises ValueError, in one sentence, if it cannot be one."""
    shape: Any = item.shape
    return engine.Obstacle(shape, item.size, item.pose, item.file or None, item.friction, item.color)


def body_of(item: SceneObject, home: ArrayLike) -> engine.Part:
    """Return a free body with coordinates relative to `home` (4, 4). Raises ValueError as `engine.free_body` does."""
    shape: Any = item.shape
    color = {} if item.color is None else {"color": item.color}
    model = engine.free_body(shape, item.size, item.mass or 0.0, BODY, friction=item.friction, **color)
    return engine.Part(replace(model, name=item.name), home, f"{item.name}/")


def new_object(shape: str, edge: float, mass: bool, place: np.ndarray, taken: Collection[str]) -> SceneObject:
    """Return a new object, about `edge` m large, on the place (3,), with a unique name."""
    size = tuple(share * edge for share in _SHARES[shape])
    name = free_name("cube" if shape == "box" else LABELS[shape].lower(), taken)
    item = SceneObject(name, shape, size, np.eye(4), DENSITY * edge**3 if mass else None)
    pose = np.eye(4)
    pose[:3, 3] = place + np.array([0.0, 0.0, item.height])
    return replace(item, pose=pose)


def free_name(stem: str, taken: Collection[str]) -> str:
    """Return the stem, with a number if it is taken."""
    names = (stem if number == 1 else f"{stem} {number}" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def redefines(before: SceneObject, after: SceneObject) -> bool:
    """Whether more than the pose differs, which of a moving body is another by the time its edit comes."""
    own = ("size", "mass", "friction", "color")
    return any(getattr(before, name) != getattr(after, name) for name in own)


def change_text(before: SceneObject, after: SceneObject) -> str:
    """Describe a change of an object."""
    if before.friction != after.friction:
        return f"Friction of {before.name}: {after.friction:g}"
    if before.color != after.color:
        return f"Colour of {before.name}"
    sized, weighed = before.size != after.size, before.mass != after.mass
    return f"{'Resize' if sized else 'Change' if weighed else 'Move'} {before.name}"
