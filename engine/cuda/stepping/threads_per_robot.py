"""How many threads work on a robot in a scene, by the size of its batch."""

from __future__ import annotations

from engine.compile.with_loops import WARP
from engine.cuda.runtime import device

WARPS = {"float32": 16, "float64": 8}
"""Warps per block, at most: they fill the registers of a multiprocessor, and run the same instructions together."""
_MANY, _LEAST = 40, 4
"""A robot of more than `_MANY` bodies has at least `_LEAST` threads."""


def robots_of_multiprocessor(batch: int) -> int:
    """Return the robots of a batch per multiprocessor."""
    return -(-batch // int(device.properties()["multiProcessorCount"]))


def threads_of_robot(robots: int, bodies: int, dtype: str) -> int:
    """Return the threads per robot, by the registers of a multiprocessor with that many robots.

    Small batches gain from more: a multiprocessor with a thread per robot waits for memory most of the time. The
    workspace of many bodies exceeds caches in any batch. No robot has limbs for more than eight. Results do not depend
    on it, bit for bit.
    """
    threads = 8
    while threads > (_LEAST if bodies > _MANY else 1) and threads * robots > WARP * WARPS[dtype]:
        threads //= 2
    return threads
