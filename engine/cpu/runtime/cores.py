"""How many cores there are, and how many threads may take part."""

from __future__ import annotations

import os

import numpy as np


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def checked(threads: int | None) -> int:
    """How many threads may take part: as many as asked for, or for None all cores. Raises ValueError."""
    if threads is None:
        return cores()
    if isinstance(threads, bool) or not (isinstance(threads, int | np.integer) and threads >= 1):
        raise ValueError(f"threads is {threads!r}; expected a whole number of 1 or more, or None for all cores")
    return int(threads)
