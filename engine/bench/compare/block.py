"""One process's part of a comparison: prepare the candidates, time them in turns, and check them again.

Turns are grouped into rounds with shuffled order, so that no candidate always follows the same one and finds its data
in the caches, and a busy machine slows all alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import NamedTuple

import numpy as np

from engine.bench.compare.candidate import Candidate, Verdict, sample_states
from engine.bench.timer import SLOT
from engine.validation import Array

MAX_ROUNDS = 2000
MIN_TURNS = 3
"""Minimum number of turns per process, however long a turn takes."""
PAUSE = 0.05
"""Minimum seconds of turns between two reports."""
PREPARATION_SHARE = 0.3
"""Share of the work attributed to preparation, since the amount of compilation is unknown."""


class State(NamedTuple):
    """The state of a candidate."""

    verdict: Verdict
    reason: str
    first: float | None
    residual: float | None


class Progress(NamedTuple):
    """The progress of a process, and the times of the rounds since its last report."""

    doing: str
    at: int | None
    """The index of the candidate being prepared; None while all take turns."""
    done: float
    """The share of the work, 0 to 1."""
    states: tuple[State, ...]
    host: Array
    """(candidates, rounds): seconds of a call on the host; NaN without a turn."""
    on_device: Array
    """(candidates, rounds): seconds of a call by the GPU's clock."""


def measure_block(group: Sequence[Candidate], seed: int, process: int, seconds: float) -> Iterator[Progress]:
    """Measure each candidate for about `seconds`. `seed` sets the states, and with `process` the order of the turns."""
    at = sample_states(group[0].model, group[0].batch, seed)
    for place, candidate in enumerate(group):
        where = f"{candidate.label} on {candidate.device} in {candidate.dtype}"
        doing = f"preparing {candidate.title}: {where} ({place + 1} of {len(group)})"
        yield _progress(group, doing, place, PREPARATION_SHARE * place / len(group))
        candidate.attempt(partial(candidate.prepare, at, max(SLOT, seconds / MAX_ROUNDS)))
    yield from _timed_rounds(group, np.random.default_rng([seed, process]), seconds)
    for candidate in group:
        if candidate.verdict == "ok":
            candidate.attempt(candidate.check)
        candidate.release()
    yield _progress(group, "checked", None, 1.0)


def _timed_rounds(group: Sequence[Candidate], rng: np.random.Generator, seconds: float) -> Iterator[Progress]:
    """Yield the rounds with all turns evenly distributed."""
    ready = [candidate for candidate in group if candidate.verdict == "ok"]
    turns = [int(np.clip(seconds / c.cost, MIN_TURNS, MAX_ROUNDS)) for c in ready]
    rounds, doing = max(turns, default=0), f"timing {group[0].title}"
    all_of_it, spent = sum(n * c.cost for n, c in zip(turns, ready, strict=True)), 0.0
    yield _progress(group, doing, None, PREPARATION_SHARE)
    reported, began = perf_counter(), 0
    for candidate in ready:
        candidate.host, candidate.on_device = np.full(rounds, np.nan), np.full(rounds, np.nan)
    for turn in range(rounds):
        for index in rng.permutation(len(ready)):
            candidate, count = ready[index], turns[index]
            if candidate.verdict == "ok" and (turn + 1) * count // rounds > turn * count // rounds:
                candidate.attempt(partial(_take, candidate, turn))
                spent += candidate.cost
        if perf_counter() - reported > PAUSE or turn == rounds - 1:
            yield _progress(
                group,
                doing,
                None,
                PREPARATION_SHARE + (1 - PREPARATION_SHARE) * spent / all_of_it,
                slice(began, turn + 1),
            )
            reported, began = perf_counter(), turn + 1


def _take(candidate: Candidate, turn: int) -> None:
    candidate.host[turn], candidate.on_device[turn] = candidate.time_turn()


def _progress(
    group: Sequence[Candidate], doing: str, at: int | None, done: float = 0.0, rounds: slice = slice(0)
) -> Progress:
    states = tuple(State(c.verdict, c.reason, c.first, c.residual) for c in group)
    untimed = np.full(rounds.stop - (rounds.start or 0), np.nan)
    host, on_device = (
        np.stack([each[rounds] if len(each) else untimed for each in times])
        for times in ([c.host for c in group], [c.on_device for c in group])
    )
    return Progress(doing, at, done, states, host, on_device)
