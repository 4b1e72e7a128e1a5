"""Columns of results brought together for pictures: means over cells, and shares with their intervals.

In come columns (N,) of samples that are drawn, out go what a heat map, a histogram and a line of shares are made of.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.study.shares import wilson
from engine.validation import Array

MOST_CELLS, BINS = 1000, 200
"""Values along a side of a heat map; a side with more has so many bins."""
MOST_LINES = 10
"""Values that are told apart by lines of their own."""
MOST_UNEVEN = 40
"""Values along a side that need not be a grid; more of them were drawn by chance, and are put into bins."""
_GLANCE = 5000
"""Samples that are enough to see that a column has too many values."""


class Side(NamedTuple):
    """Values along a side (m,), and which of them each sample has (N,); `exact` where they are the samples' own."""

    values: Array
    place: NDArray[np.int64]
    exact: bool


class Cells(NamedTuple):
    """A heat map: both sides, the mean of what is coloured (y, x), NaN in empty cells, and the samples in each."""

    x: Side
    y: Side
    mean: Array
    samples: NDArray[np.int64]


class Line(NamedTuple):
    """The share of a predicate over x (m,), with the bounds of its interval, and what it is of."""

    label: str
    x: Array
    low: Array
    share: Array
    high: Array


def numbers(column: NDArray[Any]) -> Array:
    """A column as numbers; words by their places in their order."""
    found = np.unique(column, return_inverse=True)[1] if column.dtype.kind == "U" else column
    return np.asarray(found, float)


def side(x: Array, most: int = MOST_CELLS, bins: int = BINS) -> Side:
    """The values of x (N,), or the middles of bins where it has more than `most`."""
    if len(np.unique(x[:_GLANCE])) <= most:
        values, place = np.unique(x, return_inverse=True)
        if len(values) <= most and (len(values) <= MOST_UNEVEN or _even(values)):
            return Side(values, place, True)
    low, high = float(x.min()), float(x.max())
    place = np.minimum(((x - low) * (bins / (high - low))).astype(np.int64), bins - 1)
    return Side(low + (high - low) * (np.arange(bins) + 0.5) / bins, place, False)


def _even(values: Array) -> bool:
    """Whether sorted values are a grid of equal distances, as far as rounding lets them."""
    apart = np.diff(values)
    return bool(apart.max() - apart.min() <= 1e-6 * apart.max())


def cells(x: Array, y: Array, color: Array, most: int = MOST_CELLS, bins: int = BINS) -> Cells:
    """Samples (N,) by the cells of their x and y; there is at least one."""
    across, up = side(x, most, bins), side(y, most, bins)
    shape = len(up.values), len(across.values)
    flat, size = up.place * shape[1] + across.place, shape[0] * shape[1]
    count = np.bincount(flat, minlength=size)
    total = np.bincount(flat, color, size)
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return Cells(across, up, mean.reshape(shape), count.reshape(shape))


def shares(x: Array, hits: NDArray[np.bool_], by: NDArray[Any] | None, name: str, bins: int = BINS) -> list[Line]:
    """How often a predicate (N,) holds at each x (N,), for each value of `by` (N,), if these are few."""
    across = side(x, MOST_CELLS, bins)
    known, place = (np.zeros(1), np.zeros(len(x), np.int64)) if by is None else np.unique(by, return_inverse=True)
    if len(known) > MOST_LINES:
        known, place = np.zeros(1), np.zeros(len(x), np.int64)
    lines = []
    for k, value in enumerate(known):
        own = place == k
        count = np.bincount(across.place[own], minlength=len(across.values))
        held = np.bincount(across.place[own & hits], minlength=len(across.values))
        there = np.flatnonzero(count)
        bounds = [wilson(int(held[at]), int(count[at])) for at in there]
        low, share, high = np.array(bounds).reshape(-1, 3).T
        said = {"f": "{:g}", "i": "{:g}", "b": "{!s}"}.get(known.dtype.kind)
        label = "" if len(known) == 1 else f"{name} {said.format(value).lower()}" if said else f"{value}"
        lines.append(Line(label, across.values[there], low, share, high))
    return lines
