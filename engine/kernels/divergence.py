"""When a robot has diverged, in steps on a CPU or a GPU."""

from __future__ import annotations

from engine.compile import inline
from engine.divergence import DIVERGED


@inline
def is_bounded(v):
    """Whether every velocity of v (nv,) is a number below `DIVERGED`."""
    bounded = True
    for k in range(v.shape[0]):
        bounded = abs(v[k]) < DIVERGED and bounded
    return bounded
