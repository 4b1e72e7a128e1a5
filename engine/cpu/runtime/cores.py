"""The number of cores, and of threads that may take part."""

from __future__ import annotations

import os

import numpy as np


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_threads(threads: int | None) -> int:
    """Return the number of threads that may take part: the one given, or all cores for None. Raises ValueError."""
    if threads is None:
        return cores()
    if isinstance(threads, bool) or not (isinstance(threads, int | np.integer) and threads >= 1):
        raise ValueError(f"threads is {threads!r}; expected a whole number of 1 or more, or None for all cores")
    return int(threads)
