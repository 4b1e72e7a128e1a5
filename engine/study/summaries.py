"""Summaries of result columns for plots: means over cells, and shares with intervals.

Inputs are columns (N,) of the plotted samples; results are heat maps, histograms and share curves.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.validation import Array

MAX_CELLS, BINS = 1000, 200
"""Maximum number of values along a side of a heat map; a side with more is divided into `BINS` bins."""
MAX_LINES = 10
"""Maximum number of values with a line of their own."""
MAX_IRREGULAR_VALUES = 40
"""Maximum number of values along a side that is not a regular grid; with more it is considered random and binned."""
_PREVIEW_SAMPLES = 5000
"""Number of samples examined first to detect a column with too many values."""


CONFIDENCE = 1.96
"""Standard deviations of Wilson's interval, for 95 %."""


class Share(NamedTuple):
    """The number of samples for which a predicate holds, with Wilson's interval of its probability (Wilson 1927)."""

    low: float
    share: float
    high: float


def wilson(hits: int, count: int) -> Share:
    """Return the share, and Wilson's 95 % bounds of the probability."""
    if count == 0:
        return Share(0.0, math.nan, 1.0)
    z, p = CONFIDENCE, hits / count
    middle, half = p + z * z / (2 * count), z * math.sqrt(p * (1 - p) / count + z * z / (4 * count * count))
    scale = 1 + z * z / count
    return Share(max(0.0, (middle - half) / scale), p, min(1.0, (middle + half) / scale))


class Side(NamedTuple):
    """Values along a side (m,), and each sample's index into them (N,); `exact` if they are not bins."""

    values: Array
    place: NDArray[np.int64]
    exact: bool


class Cells(NamedTuple):
    """A heat map: both sides, the mean of the coloured column (y, x), NaN in empty cells, and the samples in each."""

    x: Side
    y: Side
    mean: Array
    samples: NDArray[np.int64]


class Line(NamedTuple):
    """A predicate's share over x (m,), with its interval's bounds, and a label."""

    label: str
    x: Array
    low: Array
    share: Array
    high: Array


def numbers(column: NDArray[Any]) -> Array:
    """Return a column as numbers; words by their order."""
    values = np.unique(column, return_inverse=True)[1] if column.dtype.kind == "U" else column
    return np.asarray(values, float)


def side(x: Array, most: int = MAX_CELLS, bins: int = BINS) -> Side:
    """Return the values of x (N,), or the centres of bins if it has more than `most`."""
    if len(np.unique(x[:_PREVIEW_SAMPLES])) <= most:
        values, place = np.unique(x, return_inverse=True)
        if len(values) <= most and (len(values) <= MAX_IRREGULAR_VALUES or _even(values)):
            return Side(values, place, True)
    low, high = float(x.min()), float(x.max())
    place = np.minimum(((x - low) * (bins / (high - low))).astype(np.int64), bins - 1)
    return Side(low + (high - low) * (np.arange(bins) + 0.5) / bins, place, False)


def _even(values: Array) -> bool:
    """Whether sorted values are equidistant, up to rounding."""
    gaps = np.diff(values)
    return bool(gaps.max() - gaps.min() <= 1e-6 * gaps.max())


def cells(x: Array, y: Array, color: Array, most: int = MAX_CELLS, bins: int = BINS) -> Cells:
    """Group samples (N,), at least one, by the cells of their x and y."""
    across, up = side(x, most, bins), side(y, most, bins)
    shape = len(up.values), len(across.values)
    flat, size = up.place * shape[1] + across.place, shape[0] * shape[1]
    count = np.bincount(flat, minlength=size)
    total = np.bincount(flat, color, size)
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return Cells(across, up, mean.reshape(shape), count.reshape(shape))


def shares(x: Array, hits: NDArray[np.bool_], by: NDArray[Any] | None, name: str, bins: int = BINS) -> list[Line]:
    """Return a predicate's share (N,) at each x (N,), for each value of `by` (N,) if these are few."""
    across = side(x, MAX_CELLS, bins)
    groups, place = (np.zeros(1), np.zeros(len(x), np.int64)) if by is None else np.unique(by, return_inverse=True)
    if len(groups) > MAX_LINES:
        groups, place = np.zeros(1), np.zeros(len(x), np.int64)
    lines = []
    for k, value in enumerate(groups):
        in_group = place == k
        count = np.bincount(across.place[in_group], minlength=len(across.values))
        held = np.bincount(across.place[in_group & hits], minlength=len(across.values))
        there = np.flatnonzero(count)
        bounds = [wilson(int(held[i]), int(count[i])) for i in there]
        low, share, high = np.array(bounds).reshape(-1, 3).T
        wording = {"f": "{:g}", "i": "{:g}", "b": "{!s}"}.get(groups.dtype.kind)
        label = "" if len(groups) == 1 else f"{name} {wording.format(value).lower()}" if wording else f"{value}"
        lines.append(Line(label, across.values[there], low, share, high))
    return lines
