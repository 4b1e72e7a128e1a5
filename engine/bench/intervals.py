"""Medians with intervals that a busy machine does not fool.

Within a process those of order statistics, which ask for no distribution. Of several processes, each with its median,
those by how far the processes differ: that is more than any one of them shows, since where code and data lie stays the
same for as long as a process lives.
"""

from __future__ import annotations

from math import exp, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from engine.validation import Array

CONFIDENCE = 0.999
FEWEST = 7
"""Samples below which nothing is claimed; the whole range of seven holds the median in 98 of 100 cases."""
RUNS_CONFIDENCE = 0.99
USUAL = 0.01
"""How far medians of an algorithm's time, taken beside another's, usually differ from process to process (relative
standard deviation; one algorithm beside itself: 0.007): less than this is chance, where only a few were measured."""
_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


class Interval(NamedTuple):
    """A median, `middle`, and the bounds `low` and `high` between which the true one lies."""

    low: float
    middle: float
    high: float


def of_median(samples: Array) -> Interval | None:
    """The sign test's interval of the median of samples (n,), with `CONFIDENCE`; None of fewer than `FEWEST`.

    The binomial distribution is taken as normal, which errs to the wide side; of ten or fewer it is their whole range.
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


def of_runs(medians: Array) -> Interval | None:
    """The middle of the medians (processes,), and the bounds within which another such comparison finds its own.

    That is Student's interval, with `RUNS_CONFIDENCE`, of the difference of two means of as many logarithms, and at
    least what `USUAL` gives; the middle is the geometric mean. None of none.
    """
    n = len(medians)
    if n == 0:
        return None
    logarithms = np.log(medians)
    middle = float(np.mean(logarithms))
    own = _student(n - 1) * float(np.std(logarithms, ddof=1)) if n > 1 else 0.0
    off = max(own, USUAL * NormalDist().inv_cdf((1 + RUNS_CONFIDENCE) / 2)) * sqrt(2 / n)
    return Interval(exp(middle - off), exp(middle), exp(middle + off))


def _student(freedom: float) -> float:
    """The quantile of Student's distribution for `RUNS_CONFIDENCE` on both sides (Abramowitz & Stegun 26.7.5)."""
    z = NormalDist().inv_cdf((1 + RUNS_CONFIDENCE) / 2)
    terms: tuple[float, ...] = (
        (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    )  # fmt: skip
    return z + sum(term * freedom**-power for power, term in enumerate(terms, 1))
