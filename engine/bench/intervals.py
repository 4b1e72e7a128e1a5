"""Medians with confidence intervals that are robust on a busy machine.

Within a process they come from order statistics, which need no distribution. For several processes they come from the
differences between the processes' medians, which exceed the variation within any one, since the placement of code and
data is fixed for the life of a process.
"""

from __future__ import annotations

from math import exp, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from engine.validation import Array

CONFIDENCE = 0.999
MIN_TURNS = 7
"""Minimum number of samples; the range of seven contains the median in 98 of 100 cases."""
RUNS_CONFIDENCE = 0.99
USUAL = 0.01
"""Usual relative standard deviation between processes of an algorithm's median relative to another's (0.007 relative to
itself): a smaller one, from few processes, is chance.
"""
_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


class Interval(NamedTuple):
    """A median, `middle`, and the bounds `low` and `high` between which the true one lies."""

    low: float
    middle: float
    high: float


def of_median(samples: Array) -> Interval | None:
    """Return the sign test's interval of the median of samples (n,), with `CONFIDENCE`; None below `MIN_TURNS`.

    The binomial distribution is approximated as normal, which widens the interval; for ten or fewer it is the range.
    """
    n = len(samples)
    if n < MIN_TURNS:
        return None
    ordered = np.sort(samples)
    outside = max(0, int((n - 1 - _Z * sqrt(n)) / 2))
    return Interval(float(ordered[outside]), float(np.median(ordered)), float(ordered[n - 1 - outside]))


def of_ratio(one: Array, other: Array) -> Interval | None:
    """Return the interval of one / other (rounds,), paired within rounds; NaN is ignored."""
    ratios = one / other
    return of_median(ratios[np.isfinite(ratios)])


def of_runs(medians: Array) -> Interval | None:
    """Return the mean of the medians (processes,), and the bounds that contain another such comparison's mean.

    The bounds are Student's interval, with `RUNS_CONFIDENCE`, of the difference of two means of as many logarithms, and
    at least that from `USUAL`; the mean is geometric. None for no medians.
    """
    n = len(medians)
    if n == 0:
        return None
    logarithms = np.log(medians)
    middle = float(np.mean(logarithms))
    student = student_quantile(n - 1) * float(np.std(logarithms, ddof=1)) if n > 1 else 0.0
    off = max(student, USUAL * NormalDist().inv_cdf((1 + RUNS_CONFIDENCE) / 2)) * sqrt(2 / n)
    return Interval(exp(middle - off), exp(middle), exp(middle + off))


def student_quantile(freedom: float) -> float:
    """Return the two-sided quantile of Student's distribution for `RUNS_CONFIDENCE` (Abramowitz & Stegun 26.7.5)."""
    z = NormalDist().inv_cdf((1 + RUNS_CONFIDENCE) / 2)
    terms: tuple[float, ...] = (
        (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    )  # fmt: skip
    return z + sum(term * freedom**-power for power, term in enumerate(terms, 1))
