"""Shapes that a link has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


@dataclass(frozen=True)
class Visual:
    """A shape to draw, fixed to a link."""

    link: int
    shape: Literal["box", "cylinder", "sphere", "capsule", "mesh"]
    size: tuple[float, ...]
    """box: x, y, z; cylinder and capsule: radius, length along z; sphere: radius; mesh: scale x, y, z. Metres."""
    pose: Array
    """(4, 4), the shape's frame in the link's."""
    color: tuple[float, float, float, float] | None = None
    """RGBA in 0…1; None where the file gives none (a mesh then keeps its own materials)."""
    mesh: str | None = None
    """The file of a mesh, absolute. A file that is missing stays named, for the placeholder."""
