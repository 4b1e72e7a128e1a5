"""The timer: candidates take turns, so that the ratios of their times are reliable on a busy machine."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from engine.compile import finish_compiling

SLOT = 1e-3
"""Seconds of a turn: less than a scheduler's time slice, so that many turns are undisturbed."""

MAX_DISTURBED_RATIO = 20
"""Ratio of a call's duration to the preceding wait up to which the latter can disturb it by some percent."""


def repeater(function: Callable[[], Any]) -> Callable[[int], None]:
    """Wrap `function` as a candidate for `alternate`."""

    def repeat(times: int) -> None:
        for _ in range(times):
            function()

    return repeat


def run_for(seconds: float, repeat: Callable[[int], None]) -> None:
    """Run a candidate for this time, without timing."""
    end = perf_counter() + seconds
    while perf_counter() < end:
        repeat(1)


def alternate(
    candidates: list[tuple[Callable[[int], None], int]], seconds: float, rounds: int | None = None, before: float = 0.0
) -> np.ndarray:
    """Return seconds per robot of each candidate in each round, (candidates, rounds); they take turns within a round.

    By default there are as many rounds as turns of `SLOT` fit, and at least 25. A turn begins with `before` untimed
    seconds if they could matter: the previous candidate's threads may still spin for its next call.
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
        disturbed.append(elapsed / count < MAX_DISTURBED_RATIO * before)
    samples = np.empty((len(candidates), rounds))
    for turn in range(rounds):
        for index, (repeat, robots) in enumerate(candidates):
            if disturbed[index]:
                run_for(before, repeat)
            start = perf_counter()
            repeat(times[index])
            samples[index, turn] = (perf_counter() - start) / (times[index] * robots)
    return samples
