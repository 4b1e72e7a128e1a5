"""Medians with intervals that a busy machine does not fool: order statistics, which ask for no distribution."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from engine.arguments import Array

CONFIDENCE = 0.999
FEWEST = 7
"""Samples below which nothing is claimed; the whole range of seven holds the median in 98 of 100 cases."""
_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


class Interval(NamedTuple):
    """A median, and the bounds between which the true one lies."""

    low: float
    middle: float
    high: float


def of_median(samples: Array) -> Interval | None:
    """The sign test's interval of the median of samples (n,), with `CONFIDENCE`; None of fewer than `FEWEST`.

    The binomial law is taken as normal, which errs to the wide side; below eleven samples it is their whole range.
    """
    n = len(samples)
    if n < FEWEST:
        return None
    ordered = np.sort(samples)
    outside = max(0, int((n - 1 - _Z * sqrt(n)) / 2))
    return Interval(float(ordered[outside]), float(np.median(ordered)), float(ordered[n - 1 - outside]))


def of_ratio(one: Array, other: Array) -> Interval | None:
    """The interval of one / other (rounds,), paired within rounds; what is NaN in either took no part."""
    ratios = one / other
    return of_median(ratios[np.isfinite(ratios)])
