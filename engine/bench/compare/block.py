"""What one process does of a comparison: its contestants are made ready, take turns, and are checked once more.

Turns go in rounds, each in another order, so that nobody always follows the same one and pays for what that leaves
behind; and so that a busy machine disturbs all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import NamedTuple

import numpy as np

from engine.bench.compare.contest import Contestant, Verdict, drawn
from engine.bench.timer import SLOT
from engine.validation import Array

MOST_ROUNDS = 2000
FEWEST_TURNS = 3
"""In a process, however long a turn takes."""
PAUSE = 0.05
"""Seconds of turns, at least, between two reports."""
PREPARING = 0.3
"""The share of the work that getting ready is taken for, since nobody knows what will have to be compiled."""


class State(NamedTuple):
    """What became of a contestant so far."""

    verdict: Verdict
    reason: str
    first: float | None
    residual: float | None


class Told(NamedTuple):
    """How far a process is, and the times of the rounds since it last told so."""

    doing: str
    at: int | None
    """The contestant that is being made ready, by its place; None while all take turns."""
    done: float
    """The share of the work, 0 to 1."""
    states: tuple[State, ...]
    host: Array
    """(contestants, rounds): seconds of a call on the host; NaN where one had no turn."""
    on_device: Array
    """(contestants, rounds): the same by the GPU's own clock."""


def measured(group: Sequence[Contestant], seed: int, process: int, seconds: float) -> Iterator[Told]:
    """Have all of them measured for about `seconds` each; the states are drawn by `seed`, the turns' order by both."""
    at = drawn(group[0].model, group[0].batch, seed)
    for place, contestant in enumerate(group):
        where = f"{contestant.label} on {contestant.device} in {contestant.dtype}"
        doing = f"preparing {contestant.title}: {where} ({place + 1} of {len(group)})"
        yield _told(group, doing, place, PREPARING * place / len(group))
        contestant.attempt(partial(contestant.prepare, at, max(SLOT, seconds / MOST_ROUNDS)))
    yield from _rounds(group, np.random.default_rng([seed, process]), seconds)
    for contestant in group:
        if contestant.verdict == "ok":
            contestant.attempt(contestant.check)
        contestant.release()
    yield _told(group, "checked", None, 1.0)


def _rounds(group: Sequence[Contestant], rng: np.random.Generator, seconds: float) -> Iterator[Told]:
    """Give all their turns, evenly spread over the rounds."""
    ready = [contestant for contestant in group if contestant.verdict == "ok"]
    turns = [int(np.clip(seconds / c.cost, FEWEST_TURNS, MOST_ROUNDS)) for c in ready]
    rounds, doing = max(turns, default=0), f"timing {group[0].title}"
    all_of_it, spent = sum(n * c.cost for n, c in zip(turns, ready, strict=True)), 0.0
    yield _told(group, doing, None, PREPARING)
    told, began = perf_counter(), 0
    for contestant in ready:
        contestant.host, contestant.on_device = np.full(rounds, np.nan), np.full(rounds, np.nan)
    for turn in range(rounds):
        for index in rng.permutation(len(ready)):
            contestant, count = ready[index], turns[index]
            if contestant.verdict == "ok" and (turn + 1) * count // rounds > turn * count // rounds:
                contestant.attempt(partial(_take, contestant, turn))
                spent += contestant.cost
        if perf_counter() - told > PAUSE or turn == rounds - 1:
            yield _told(group, doing, None, PREPARING + (1 - PREPARING) * spent / all_of_it, slice(began, turn + 1))
            told, began = perf_counter(), turn + 1


def _take(contestant: Contestant, turn: int) -> None:
    contestant.host[turn], contestant.on_device[turn] = contestant.turn()


def _told(group: Sequence[Contestant], doing: str, at: int | None, done: float = 0.0, rounds: slice = slice(0)) -> Told:
    states = tuple(State(c.verdict, c.reason, c.first, c.left) for c in group)
    untimed = np.full(rounds.stop - (rounds.start or 0), np.nan)
    host, on_device = (
        np.stack([each[rounds] if len(each) else untimed for each in times])
        for times in ([c.host for c in group], [c.on_device for c in group])
    )
    return Told(doing, at, done, states, host, on_device)
