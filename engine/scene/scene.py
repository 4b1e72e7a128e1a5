"""`Scene`: the ground and the obstacles, with their coefficients of contact."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.scene.height_field import HeightField
from engine.scene.obstacle import Obstacle


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float | np.number) and bool(np.isfinite(x))


@dataclass(frozen=True)
class Plane:
    """Infinite ground: the plane n·x = offset (m), with the unit vector n pointing out of the ground.

    `normal` is n.
    """

    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    offset: float = 0.0

    def __post_init__(self) -> None:
        if np.shape(self.normal) != (3,) or not all(map(_is_number, self.normal)) or not np.any(self.normal):
            raise ValueError(f"a plane's normal is {self.normal!r}; expected three numbers, not all zero")
        if not _is_number(self.offset):
            raise ValueError(f"a plane's offset is {self.offset!r}; expected a number in m")
        normal = np.asarray(self.normal, float)
        unit = normal / np.linalg.norm(normal)
        object.__setattr__(self, "normal", (float(unit[0]), float(unit[1]), float(unit[2])))


@dataclass(frozen=True)
class Scene:
    """The ground under a robot, the obstacles around it, and the coefficients of friction and restitution.

    `friction` is Coulomb's coefficient μ ≥ 0, `restitution` the ratio 0 … 1 of the speeds after and before an impact.
    They apply to the ground, the obstacles, and links without coefficients in the robot's file. Of two surfaces the
    smaller value applies.

    With `self_collision` the robot's links also collide with each other, except links of one body (connected by fixed
    joints), neighbours (separated by one joint), shapes that touch in the neutral pose, and
    `Model.disabled_collisions`. Between links separated by a free joint, as between several robots in one file, only
    the last exception applies. The parts of a composed model (`engine.compose`) collide with each other in any scene.
    """

    ground: Plane | HeightField | None = Plane()
    friction: float = 0.8
    restitution: float = 0.0
    obstacles: tuple[Obstacle, ...] = ()
    self_collision: bool = False

    def __post_init__(self) -> None:
        if not (self.ground is None or isinstance(self.ground, Plane | HeightField)):
            came = type(self.ground).__name__
            raise TypeError(f"the scene's ground is a {came}; expected an engine.Plane, an engine.HeightField or None")
        if not (_is_number(self.friction) and self.friction >= 0):
            raise ValueError(f"the scene's friction is {self.friction!r}; expected a coefficient of at least 0")
        if not (_is_number(self.restitution) and 0 <= self.restitution <= 1):
            raise ValueError(f"the scene's restitution is {self.restitution!r}; expected 0 to 1")
        if isinstance(self.obstacles, Obstacle) or not isinstance(self.obstacles, Iterable):
            raise TypeError(f"the scene's obstacles are {self.obstacles!r}; expected a list of engine.Obstacle")
        object.__setattr__(self, "obstacles", tuple(self.obstacles))
        for k, obstacle in enumerate(self.obstacles):
            if not isinstance(obstacle, Obstacle):
                raise TypeError(
                    f"obstacle {k} of the scene is a {type(obstacle).__name__}; expected an engine.Obstacle"
                )
        if not isinstance(self.self_collision, bool):
            raise TypeError(f"the scene's self_collision is {self.self_collision!r}; expected True or False")


DESCRIBED: dict[str, Callable[..., Any]] = {each.__name__: each for each in (HeightField, Obstacle, Plane, Scene)}
"""The classes by which a scene is described, by name; a run's file may contain no others."""
