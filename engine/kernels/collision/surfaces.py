"""Kinds of ground for kernels: a plane, or a height field with the nearest points on it."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.scene import HeightField, Plane

Kind = Literal["plane", "height field"]
NORMAL, PLACE, GAP, NEAREST = 0, 3, 6, 7
"""Columns of `Field.nearest`, and their number."""


class Flat(NamedTuple):
    """A plane (4,): its normal and its offset."""

    plane: NDArray[np.floating]


class Field(NamedTuple):
    """A height field: `heights` (rows, columns) in the world, m, and `grid` (3,): x, y of the first, and the cell, m.

    Kernels write each point's normal, place and gap to `nearest` (P, 7).
    """

    heights: NDArray[np.floating]
    grid: NDArray[np.floating]
    nearest: NDArray[np.floating]


Surface = Flat | Field


def kind(ground: Plane | HeightField) -> Kind:
    """Return the kind of a scene's ground; kernels are compiled for one."""
    return "plane" if isinstance(ground, Plane) else "height field"


def surface(ground: Plane | HeightField, points: int) -> Surface:
    """Return a scene's ground, with room for P points."""
    if isinstance(ground, Plane):
        return Flat(np.array([*ground.normal, ground.offset]))
    corner = ground.corner
    return Field(ground.heights + corner[2], np.array([*corner[:2], ground.cell]), np.zeros((max(points, 1), NEAREST)))


def example(kind: Kind) -> Surface:
    """Return arrays of the types that kernels are compiled for."""
    real = np.zeros(1)
    return Flat(real) if kind == "plane" else Field(real[None], real, real[None])
