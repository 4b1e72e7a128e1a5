"""The shapes of links: visuals and collision shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Kind = Literal["box", "cylinder", "sphere", "capsule", "mesh"]
Color = tuple[float, float, float, float]
SIZES: dict[str, tuple[int, str]] = {
    "box": (3, "three edges"), "cylinder": (2, "radius and length"), "capsule": (2, "radius and length"),
    "sphere": (1, "a radius"), "mesh": (3, "three factors"),
}  # fmt: skip
"""The number of size parameters of each kind of shape, and their names."""


def checked_size(shape: str, size: Any, of: str) -> tuple[float, ...]:
    """Return a shape's size, m, or a mesh's scale factors. Raises ValueError with one sentence that names the owner,
    `of`.
    """
    count, which = SIZES[shape]
    try:
        values = np.atleast_1d(np.asarray(size, float))
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.shape != (count,) or not np.all(np.isfinite(values)) or not np.all(values > 0):
        expected = f"{which}, positive" + ("" if shape == "mesh" else " and in m")
        raise ValueError(f"the size of {of}, a {shape}, is {size!r}; expected {expected}")
    return tuple(map(float, values))


def checked_friction(friction: Any, of: str) -> float:
    """Return a coefficient of friction. Raises ValueError with one sentence that names the owner, `of`."""
    number = isinstance(friction, int | float | np.number) and not isinstance(friction, bool)
    if not (number and np.isfinite(friction) and friction >= 0):
        raise ValueError(f"the friction of {of} is {friction!r:.80}; expected a coefficient of at least 0")
    return float(friction)


def checked_color(color: Any, of: str) -> Color:
    """Return a colour, RGBA in 0…1. Raises ValueError with one sentence that names the owner, `of`."""
    try:
        rgba = np.asarray(color, float)
    except (TypeError, ValueError):
        rgba = np.zeros(0)
    if rgba.shape != (4,) or not np.all((rgba >= 0) & (rgba <= 1)):
        raise ValueError(f"the colour of {of} is {color!r:.80}; expected red, green, blue and opacity in 0…1")
    r, g, b, a = map(float, rgba)
    return r, g, b, a


@dataclass(frozen=True)
class Shape:
    """A shape fixed to a link."""

    link: int
    shape: Kind
    size: tuple[float, ...]
    """box: x, y, z; cylinder and capsule: radius, length along z; sphere: radius; mesh: scale x, y, z. Metres."""
    pose: Array
    """(4, 4): the shape's pose in its link's frame."""


@dataclass(frozen=True)
class Visual(Shape):
    """A shape to draw on a link, by its index; `size` as `Obstacle` has it, `pose` (4, 4) in the link's frame."""

    color: tuple[float, float, float, float] | None = None
    """RGBA in 0…1; None if the file gives none (a mesh then keeps its own materials)."""
    mesh: str | None = None
    """The absolute path of a mesh, which is not read with the robot. A missing mesh keeps the name from the robot's
    file.
    """
    name: str = ""
    """Its name in the robot's file; empty if unnamed."""


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
