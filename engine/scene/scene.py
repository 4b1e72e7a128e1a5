"""`Scene`: what robots stand on, and by which laws they touch it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.scene.height_field import HeightField


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float | np.number) and bool(np.isfinite(x))


@dataclass(frozen=True)
class Plane:
    """Ground without end: the points x with n·x = offset (m), on the side to which the unit vector n points."""

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


def slope(angle: float) -> Plane:
    """A plane through the origin that rises towards −x by an angle in rad."""
    return Plane((float(np.sin(angle)), 0.0, float(np.cos(angle))))


@dataclass(frozen=True)
class Scene:
    """The ground under a robot, and friction and restitution of all that touches it.

    `friction` is Coulomb's coefficient μ ≥ 0, `restitution` the share 0 … 1 of an impact's speed that is given back.
    """

    ground: Plane | HeightField | None = Plane()
    friction: float = 0.8
    restitution: float = 0.0

    def __post_init__(self) -> None:
        if not (self.ground is None or isinstance(self.ground, Plane | HeightField)):
            came = type(self.ground).__name__
            raise TypeError(f"the scene's ground is a {came}; expected an engine.Plane, an engine.HeightField or None")
        if not (_is_number(self.friction) and self.friction >= 0):
            raise ValueError(f"the scene's friction is {self.friction!r}; expected a coefficient of at least 0")
        if not (_is_number(self.restitution) and 0 <= self.restitution <= 1):
            raise ValueError(f"the scene's restitution is {self.restitution!r}; expected 0 to 1")
