"""The shapes of links: those to draw, and those that collide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Kind = Literal["box", "cylinder", "sphere", "capsule", "mesh"]
SIZES: dict[str, tuple[int, str]] = {
    "box": (3, "three edges"), "cylinder": (2, "radius and length"), "capsule": (2, "radius and length"),
    "sphere": (1, "a radius"), "mesh": (3, "three factors"),
}  # fmt: skip
"""Of each kind of shape how many numbers its size is, and which."""


def checked_size(shape: str, size: Any, of: str) -> tuple[float, ...]:
    """The size of a shape, m, of a mesh its factors. ValueError with one sentence that names whose, `of`."""
    count, which = SIZES[shape]
    try:
        given = np.atleast_1d(np.asarray(size, float))
    except (TypeError, ValueError):
        given = np.zeros(0)
    if given.shape != (count,) or not np.all(np.isfinite(given)) or not np.all(given > 0):
        expected = f"{which}, positive" + ("" if shape == "mesh" else " and in m")
        raise ValueError(f"the size of {of}, a {shape}, is {size!r}; expected {expected}")
    return tuple(map(float, given))


@dataclass(frozen=True)
class Shape:
    """A shape fixed to a link."""

    link: int
    shape: Kind
    size: tuple[float, ...]
    """box: x, y, z; cylinder and capsule: radius, length along z; sphere: radius; mesh: scale x, y, z. Metres."""
    pose: Array
    """(4, 4), the shape's frame in the link's."""


@dataclass(frozen=True)
class Visual(Shape):
    """A shape to draw on a link, by its index; `size` as `Obstacle` has it, `pose` (4, 4) in the link's frame."""

    color: tuple[float, float, float, float] | None = None
    """RGBA in 0…1; None where the file gives none (a mesh then keeps its own materials)."""
    mesh: str | None = None
    """The file of a mesh, absolute; it is not read with the robot. One that is missing stays named as the robot's file
    names it."""
    name: str = ""
    """What the robot's file calls it; empty where it gives no name."""


@dataclass(frozen=True)
class Collision(Shape):
    """A shape of a link that others may touch; `size`, `pose` (4, 4), `mesh` and `name` are as those of a `Visual`.

    `friction` (at least 0) and `restitution` (0 to 1) are the coefficients that the robot's file gives its link, None
    where it gives none.
    """

    mesh: str | None = None
    name: str = ""
    friction: float | None = None
    restitution: float | None = None
