"""What is around a robot, as the scene's panel shows it: obstacles, free bodies, other robots. Free of Qt."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import engine

BODY = "body"
"""The link of a free body that was made here."""
LABELS = {"box": "Box", "sphere": "Ball", "cylinder": "Cylinder", "capsule": "Capsule", "mesh": "Mesh"}
SIZES = {
    "box": ("Size x", "Size y", "Size z"), "sphere": ("Radius",), "cylinder": ("Radius", "Length"),
    "capsule": ("Radius", "Length"), "mesh": ("Scale x", "Scale y", "Scale z"), "": (),
}  # fmt: skip
DENSITY = 500.0  # kg/m³ of a body that is added: wood's
_SHARES = {"box": (1.0, 1.0, 1.0), "sphere": (0.5,), "cylinder": (0.5, 1.0), "capsule": (0.4, 0.6)}


@dataclass(frozen=True, eq=False)
class Thing:
    """One of them: its name, its shape ("" for a robot from a file), its `size` as `engine.Obstacle` has it.

    `pose` (4, 4), m; `mass` in kg is None of an obstacle. `file` is that of a mesh, or of a robot. `placed` says
    whether it can be moved as it is: all but robots on a fixed base, with which another model is composed.
    """

    name: str
    shape: str
    size: tuple[float, ...]
    pose: np.ndarray
    mass: float | None = None
    file: str = ""
    placed: bool = True

    @property
    def height(self) -> float:
        """From its middle to its lowest point as it stands upright, m; 0 where that is not known."""
        if self.shape in ("", "mesh"):
            return 0.0
        if self.shape == "box":
            return self.size[2] / 2
        return self.size[0] if self.shape == "sphere" else self.size[1] / 2 + self.size[0] * (self.shape == "capsule")

    @property
    def reach(self) -> float:
        """From its middle to its farthest point, m; 0 where that is not known."""
        if self.shape in ("", "mesh"):
            return 0.0
        return float(np.linalg.norm(self.size)) / (2 if self.shape == "box" else 1)


def of_obstacle(obstacle: engine.Obstacle, number: int) -> Thing:
    """The obstacle of that number."""
    name = f"{LABELS[obstacle.shape]} {number + 1}"
    return Thing(name, obstacle.shape, obstacle.size, np.asarray(obstacle.pose), file=obstacle.mesh or "")


def of_part(part: engine.Part, pose: np.ndarray, free: bool) -> Thing:
    """What is beside the robot, whose root is at `pose` (4, 4), on a free base or a fixed one."""
    model, name = part.model, (part.prefix or part.model.name).rstrip("/")
    if model.source is None and model.link_names == (BODY,):
        shape = model.collisions[0]
        return Thing(name, shape.shape, shape.size, pose, float(model.mass[0]))
    return Thing(name, "", (), pose, float(model.mass.sum()), model.source or "", free)


def obstacle_of(thing: Thing) -> engine.Obstacle:
    """Raises ValueError, in one sentence, for what no obstacle can be."""
    shape: Any = thing.shape
    return engine.Obstacle(shape, thing.size, thing.pose, thing.file or None)


def body_of(thing: Thing, home: ArrayLike) -> engine.Part:
    """A free body whose coordinates count from `home` (4, 4). Raises ValueError as `engine.free_body` does."""
    shape: Any = thing.shape
    model = engine.free_body(shape, thing.size, thing.mass or 0.0, BODY)
    return engine.Part(replace(model, name=thing.name), home, f"{thing.name}/")


def new(shape: str, edge: float, mass: bool, place: np.ndarray, taken: Collection[str]) -> Thing:
    """A thing of that shape, about `edge` m large, that stands at `place` (3,), with a name of its own."""
    size = tuple(share * edge for share in _SHARES[shape])
    name = free_name("cube" if shape == "box" else LABELS[shape].lower(), taken)
    thing = Thing(name, shape, size, np.eye(4), DENSITY * edge**3 if mass else None)
    pose = np.eye(4)
    pose[:3, 3] = place + np.array([0.0, 0.0, thing.height])
    return replace(thing, pose=pose)


def free_name(stem: str, taken: Collection[str]) -> str:
    """The stem, with a number where it is taken."""
    names = (stem if number == 1 else f"{stem} {number}" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def from_file(path: str) -> str:
    """What a robot from a file is called."""
    return Path(path).stem
