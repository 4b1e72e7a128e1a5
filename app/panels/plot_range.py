"""The range of times that plots show while they follow the newest samples or a cursor."""

from __future__ import annotations

import math
from collections.abc import Iterable

from app.plotting.series import Series

_Span = tuple[float, float]


def latest_range(
    lines: Iterable[Series],
    seconds: float,
    cursor: float,
    run: tuple[float, float],
    visible: tuple[float, float] | None,
) -> tuple[float, float]:
    """Return the range, s, of that many `seconds`, infinite for all, up to the newest samples, or around the cursor.

    The cursor, NaN if there is none, is in a `run` from its first to its last time. A `visible` range stays while it
    has the cursor, and keeps its length when the cursor leaves it; None chooses the range again.
    """
    some = [line for line in lines if len(line)]
    begin = min((float(line.time[0]) for line in some), default=0.0)
    end = max((float(line.time[-1]) for line in some), default=0.0)
    if math.isfinite(cursor):
        begin, end = min(begin, run[0], cursor), max(end, run[1], cursor)
        if visible is not None:
            first, last = visible
            if first <= cursor <= last:
                return visible
            seconds = last - first
        end = min(max(cursor + seconds / 2, begin + seconds), end)
    start = begin if math.isinf(seconds) else max(begin, end - seconds)
    least = 1.0 if math.isinf(seconds) else seconds
    return start, max(end, start + least)
