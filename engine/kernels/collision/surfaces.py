"""Kinds of ground as kernels take them: a plane, or a height field and where points are nearest to it."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.scene import HeightField, Plane

Kind = Literal["plane", "height field"]
NORMAL, PLACE, GAP, NEAREST = 0, 3, 6, 7
"""Where the numbers of a point stand in a row of `Field.nearest`, and how many they are."""


class Flat(NamedTuple):
    """A plane (4,): its normal and its offset."""

    plane: NDArray[np.floating]


class Field(NamedTuple):
    """A height field: `heights` (rows, columns) in the world, m, and `grid` (3,): x, y of the first, and the cell, m.

    `nearest` (P, 7) is where kernels write of each point the ground's normal, the place and the gap.
    """

    heights: NDArray[np.floating]
    grid: NDArray[np.floating]
    nearest: NDArray[np.floating]


Surface = Flat | Field


def kind(ground: Plane | HeightField) -> Kind:
    """Which kind of ground it is; kernels are compiled for one."""
    return "plane" if isinstance(ground, Plane) else "height field"


def surface(ground: Plane | HeightField, points: int) -> Surface:
    """A scene's ground, with room for so many points."""
    if isinstance(ground, Plane):
        return Flat(np.array([*ground.normal, ground.offset]))
    corner = ground.corner
    return Field(ground.heights + corner[2], np.array([*corner[:2], ground.cell]), np.zeros((max(points, 1), NEAREST)))


def example(kind: Kind) -> Surface:
    """What kernels are compiled for."""
    real = np.zeros(1)
    return Flat(real) if kind == "plane" else Field(real[None], real, real[None])
