"""Curves of times over sizes: how steep they are, and where two of them cross for good."""

from __future__ import annotations

import math

import numpy as np

Curve = dict[int, float]


def slope(curve: Curve) -> float | None:
    """The power of the size by which the time grows, fitted over the larger half of the points; None of one point."""
    sizes = sorted(curve)[len(curve) // 2 :] if len(curve) > 3 else sorted(curve)
    if len(sizes) < 2:
        return None
    return float(np.polyfit(np.log(sizes), np.log([curve[size] for size in sizes]), 1)[0])


def crossing(one: Curve, other: Curve) -> tuple[float, bool] | None:
    """The size from which on one curve lies below the other for good, and whether it is the first; None: it never is.

    Between two measured sizes both are straight lines from logarithm to logarithm.
    """
    sizes = sorted(one.keys() & other.keys())
    lead = [math.log(one[size] / other[size]) for size in sizes]
    for i in range(len(sizes) - 1, 0, -1):
        if (lead[i] < 0) != (lead[i - 1] < 0):
            part = lead[i - 1] / (lead[i - 1] - lead[i])
            return sizes[i - 1] * (sizes[i] / sizes[i - 1]) ** part, lead[i] < 0
    return None
