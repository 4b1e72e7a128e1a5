"""The speed of a core of this machine, by a kernel that takes some milliseconds."""

from __future__ import annotations

from functools import lru_cache
from time import perf_counter

import numpy as np

from engine.compile import kernel

_ROUNDS, _TURNS = 7, 200_000


@kernel
def _work(x, turns):
    """Run chains of dependent products and sums, like a recursion along a robot."""
    for _ in range(turns):
        for k in range(1, x.size):
            x[k] = x[k] * 0.999 + x[k - 1] * 0.001 + 1e-3 / (1.0 + x[k] * x[k])


@lru_cache(maxsize=1)
def seconds() -> float:
    """The kernel's least run time here, s; measured once a process."""
    x, times = np.ones(16), []
    for _ in range(_ROUNDS):
        start = perf_counter()
        _work(x, _TURNS // _ROUNDS)
        times.append(perf_counter() - start)
    return min(times)
