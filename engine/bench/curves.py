"""Curves of times over sizes: their slopes and final crossings."""

from __future__ import annotations

import math

import numpy as np

Curve = dict[int, float]


def slope(curve: Curve) -> float | None:
    """Return the exponent of the time over size, fitted to the larger half of the points; None for one point."""
    sizes = sorted(curve)[len(curve) // 2 :] if len(curve) > 3 else sorted(curve)
    if len(sizes) < 2:
        return None
    return float(np.polyfit(np.log(sizes), np.log([curve[size] for size in sizes]), 1)[0])


def crossing(one: Curve, other: Curve) -> tuple[float, bool] | None:
    """Return the size from which one curve stays below the other, and whether it is the first curve; None if neither.

    Between measured sizes both are straight in log-log scale.
    """
    sizes = sorted(one.keys() & other.keys())
    lead = [math.log(one[size] / other[size]) for size in sizes]
    for i in range(len(sizes) - 1, 0, -1):
        if (lead[i] < 0) != (lead[i - 1] < 0):
            part = lead[i - 1] / (lead[i - 1] - lead[i])
            return sizes[i - 1] * (sizes[i] / sizes[i - 1]) ** part, lead[i] < 0
    return None
