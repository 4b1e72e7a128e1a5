"""Kinds of ground for kernels: a plane, or a height field."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.scene import HeightField, Plane

Kind = Literal["plane", "height field"]
X, Y, CELL, UPWARDS, HIGHEST = range(5)
"""Numbers of `Field.grid`: x, y of the first height and the cell, m; the least z of a normal, the largest height."""
BLOCK = 4
"""Cells of a block of `Field.tops`, along each side."""


class Flat(NamedTuple):
    """A plane (4,): its normal and its offset."""

    plane: NDArray[np.floating]


class Field(NamedTuple):
    """A height field: `heights` (rows, columns) in the world, m, `tops`, the largest of each block of cells, and
    `grid` (5,).
    """

    heights: NDArray[np.floating]
    tops: NDArray[np.floating]
    grid: NDArray[np.floating]


Surface = Flat | Field


def kind(ground: Plane | HeightField) -> Kind:
    """Return the kind of a scene's ground; kernels are compiled for one."""
    return "plane" if isinstance(ground, Plane) else "height field"


def surface(ground: Plane | HeightField) -> Surface:
    """Return a scene's ground."""
    if isinstance(ground, Plane):
        return Flat(np.array([*ground.normal, ground.offset]))
    heights, (x, y, z) = ground.heights, ground.corner
    steepest = [np.max(np.abs(np.diff(heights, axis=axis)), initial=0.0) / ground.cell for axis in (0, 1)]
    upwards = 1.0 / np.sqrt(1.0 + steepest[0] ** 2 + steepest[1] ** 2)
    tops = _tops(_tops(heights).T).T.copy()
    return Field(heights + z, tops + z, np.array([x, y, ground.cell, upwards, np.max(heights) + z]))


def _tops(heights: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the largest heights of blocks of rows, each with the first row of the next block."""
    first = np.arange(0, len(heights), BLOCK)
    tops = np.maximum.reduceat(heights, first, axis=0)
    tops[:-1] = np.maximum(tops[:-1], heights[first[1:]])
    return tops


def example(kind: Kind) -> Surface:
    """Return arrays of the types that kernels are compiled for."""
    real = np.zeros(1)
    return Flat(real) if kind == "plane" else Field(real[None], real[None], real)
