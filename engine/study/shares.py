"""The share of samples for which a predicate holds, with its confidence interval."""

from __future__ import annotations

import math
from typing import NamedTuple

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
