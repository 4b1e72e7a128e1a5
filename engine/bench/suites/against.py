"""Compare results with earlier ones of the same machine: what became slower, or faster, by more than noise."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from engine import files
from engine.bench import results
from engine.bench.results import Row, Rows

MIN_REPORTED_RATIO = 1.1
"""Closer medians are no change: a restart of the process changes them by nearly as much."""
SAME_MACHINE = ("processor", "cores")


class Change(NamedTuple):
    """A quantity of a row that changed: its old and new medians."""

    key: str
    quantity: str
    before: float
    now: float

    @property
    def slower(self) -> bool:
        """Whether it takes longer than before."""
        return self.now > self.before

    def __str__(self) -> str:
        ratio = self.now / self.before if self.slower else self.before / self.now
        word = "slower" if self.slower else "faster"
        return f"{self.key}, {self.quantity}: {ratio:.2f} times {word}, {self.now:.4g} after {self.before:.4g}"


def read(path: Path, suite: str) -> tuple[dict[str, Any], Rows]:
    """Return the machine and the rows of a `--rows` file or of `--json` output.

    Raises ValueError for any other file, and for results of another suite.
    """
    try:
        whole = json.loads(files.content(path, pipes=True))
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict) and {"machine", "rows"} <= whole.keys():
        try:
            machine, rows = dict(whole["machine"]), {str(row["key"]): row for row in whole["rows"]}
        except (TypeError, KeyError, ValueError, AttributeError):
            raise ValueError(f"{path} contains no rows; give a file by --rows, or what --json printed") from None
        plan = whole.get("plan")
    else:
        header, rows = results.read(path)
        machine, plan = header["machine"], header["plan"]
    there = plan.get("suite", suite) if isinstance(plan, dict) else suite
    if there != suite:
        raise ValueError(f"{path} has rows of the suite {there!r}, and not of {suite!r}; name a result of the same one")
    return machine, rows


def require_comparable(path: Path, machine: Mapping[str, Any], there: Mapping[str, Any]) -> None:
    """Raise ValueError if the other results are another machine's."""
    theirs, ours = ([facts.get(name) for name in SAME_MACHINE] + [_gpu(facts)] for facts in (there, machine))
    if theirs != ours:
        raise ValueError(
            f"{path} was measured on another machine ({_listed(theirs)}; this is {_listed(ours)}); "
            "measure there again, or name a result of this one"
        )


def _gpu(facts: Mapping[str, Any]) -> Any:
    gpu = facts.get("gpu")
    return gpu and gpu.get("name")


def _listed(facts: list[Any]) -> str:
    processor, cores, gpu = facts
    return f"{processor}, {cores} cores, {gpu or 'no GPU'}"


def keep_confirmed(changes: list[Change], again: list[Change]) -> list[Change]:
    """Drop the changes that a second measurement did not find slower."""
    twice = {(change.key, change.quantity) for change in again if change.slower}
    return [change for change in changes if not change.slower or (change.key, change.quantity) in twice]


def changes(before: Rows, now: Rows) -> list[Change]:
    """Return the differences beyond noise: the medians' intervals are disjoint, and the medians differ by
    `MIN_REPORTED_RATIO`.
    """
    return [change for key in now if key in before for change in _changes(key, before[key], now[key])]


def _changes(key: str, before: Row, now: Row) -> Iterator[Change]:
    old, new = _spread(before), _spread(now)
    for quantity in old.keys() & new.keys():
        (low, was, high), (new_low, is_now, new_high) = old[quantity], new[quantity]
        apart = new_low > high or new_high < low
        if apart and max(is_now / was, was / is_now) > MIN_REPORTED_RATIO:
            yield Change(key, quantity, was, is_now)


def _spread(row: Row) -> dict[str, tuple[float, float, float]]:
    """Return quantities with bounds and median; on the GPU the quartiles of the rounds, which hardly differ."""
    spread = {name: tuple(bounds) for name, bounds in row.get("spread", {}).items() if bounds is not None}
    if "device_us_quartiles" in row:
        low, high = row["device_us_quartiles"]
        spread["device_us"] = (low, row["device_us"], high)
    return spread
