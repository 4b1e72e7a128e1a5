"""The timer: candidates take turns, so that the ratios of their times can be trusted on a busy machine."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from engine.compile import finish_compiling

SLOT = 1e-3
"""Seconds of a turn: less than a scheduler gives to others at once, so that many turns are undisturbed."""

MATTERS = 20
"""How many times as long a call may be as what comes before it, and still be disturbed by more than some percent."""


def repeated(function: Callable[[], Any]) -> Callable[[int], None]:
    """`function` as a candidate for `alternate`."""

    def repeat(times: int) -> None:
        for _ in range(times):
            function()

    return repeat


def run_for(seconds: float, repeat: Callable[[int], None]) -> None:
    """Have a candidate run for so long, untimed."""
    end = perf_counter() + seconds
    while perf_counter() < end:
        repeat(1)


def alternate(
    candidates: list[tuple[Callable[[int], None], int]],
    seconds: float,
    rounds: int | None = None,
    before: float = 0.0,
) -> np.ndarray:
    """Seconds per robot of each candidate in each round, (candidates, rounds); they take turns within a round.

    By default as many rounds as turns of `SLOT` make, and 25 at least. A turn begins with so many seconds `before`
    that are not timed, if they could matter to it: threads of the candidate before may still look on for its next call.
    """
    if rounds is None:
        rounds = max(25, int(seconds / SLOT / len(candidates)))
    share = seconds / rounds / len(candidates)
    times, disturbed = [], []
    for repeat, _ in candidates:
        repeat(1)
    finish_compiling()
    for repeat, _ in candidates:
        count = 1
        while True:
            start = perf_counter()
            repeat(count)
            elapsed = perf_counter() - start
            if elapsed > share / 2:
                break
            count *= 2
        times.append(max(1, int(count * share / elapsed)))
        disturbed.append(elapsed / count < MATTERS * before)
    samples = np.empty((len(candidates), rounds))
    for turn in range(rounds):
        for index, (repeat, robots) in enumerate(candidates):
            if disturbed[index]:
                run_for(before, repeat)
            start = perf_counter()
            repeat(times[index])
            samples[index, turn] = (perf_counter() - start) / (times[index] * robots)
    return samples
