"""Algorithms timed against one another on the same states, in turns: A B C, B A C, …; a busy machine disturbs all.

What is compared are the ratios of the times of one round, by their median and an interval that asks for no
distribution; a winner is named where that interval leaves no doubt.
"""

from __future__ import annotations

import csv
import io
import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from engine import arguments, serves
from engine.bench import intervals
from engine.bench.compare import own, robots
from engine.bench.compare.contest import Contestant, Verdict, drawn
from engine.bench.intervals import Interval
from engine.bench.results import finite
from engine.bench.timer import SLOT
from engine.cuda.runtime import device
from engine.model import Model

WORTH_NAMING = 1.05
"""Ratios below are no difference: one algorithm's objects differ by up to half as much, for where their buffers lie."""
MOST_ROUNDS = 2000
PAUSE = 0.05
"""Seconds of turns, at least, between two reports."""
DTYPES = ("float64", "float32")


@dataclass(frozen=True)
class Standing:
    """How one algorithm stands: on a device, in a number type, for one call for a whole batch of a model's robots."""

    model: str
    algorithm: str
    """Its name, or a user's as ``file.py:name``; a second of the same name ends in " (2)", and so do models."""
    device: str
    dtype: str
    batch: int
    verdict: Verdict
    """ "waiting", "ok", "wrong" (it has no times), "refused" or "failed"."""
    reason: str
    """Why it is wrong, was refused, or failed: for a user's file with the line."""
    residual: float | None
    """‖ID(q̈) − τ‖ / ‖τ_δ‖ by inverse dynamics in double precision, the worst of the batch; infinite for NaN."""
    first: float | None
    """s on the host until the first answer: compiling, or reading what was compiled."""
    turns: int
    host: float | None
    """s of a call until its answer is there, the median; data are where the device has them, before and after."""
    host_interval: Interval | None
    on_device: float | None
    """s on the GPU between two events, the median; None on the CPU."""
    ratio: Interval | None
    """Of `host` to that of the fastest in the same number type, paired within rounds; exactly 1 for that one."""
    level: bool
    """It is the fastest of its number type, or no difference to that one was found."""
    winner: bool
    """It is the fastest, and all others are slower beyond doubt."""

    def plain(self) -> dict[str, Any]:
        """For JSON, times in s; null stands for what is not finite."""
        plain: dict[str, Any] = finite(asdict(self))
        return plain

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Standing:
        """What `plain` was made of."""
        bounds = {key: plain[key] and Interval(*plain[key]) for key in ("host_interval", "ratio")}
        return cls(**{**plain, **bounds})


@dataclass(frozen=True)
class Standings:
    """All that is known so far: of every model in turn, its number types, devices and algorithms."""

    rows: tuple[Standing, ...]
    done: float
    """The share of the work, 0 to 1."""
    left: float | None
    """s that the rest takes, if it goes on so."""
    doing: str

    def csv(self) -> str:
        """The rows as comma-separated values below a line of names, times in s."""
        return table(row.plain() for row in self.rows)

    def findings(self) -> list[str]:
        """A sentence for each model and number type: who is the fastest, and by how much, if that is certain."""
        groups = dict.fromkeys((row.model, row.dtype) for row in self.rows if row.verdict != "waiting")
        return [_said(*group, [row for row in self.rows if (row.model, row.dtype) == group]) for group in groups]


def table(rows: Iterable[dict[str, Any]]) -> str:
    """Rows by `Standing.plain`, with what stands before them, as comma-separated values below a line of names."""
    text, writer = io.StringIO(), None
    for row in rows:
        flat: dict[str, Any] = {}
        for name, value in row.items():
            if name in ("host_interval", "ratio"):
                low, middle, high = value or (None, None, None)
                bounds = {f"{name.removesuffix('_interval')}_low": low, f"{name.removesuffix('_interval')}_high": high}
                flat |= bounds if name == "host_interval" else {name: middle, **bounds}
            else:
                flat[name] = value
        if writer is None:
            writer = csv.DictWriter(text, list(flat), lineterminator="\n")
            writer.writeheader()
        writer.writerow(flat)
    return text.getvalue()


@dataclass(frozen=True)
class Comparison:
    """What is compared: algorithms on devices and in number types, for batches of each of some models.

    `models` may be names as well: a robot's file, one that ships, chain:200. `algorithms` are names, or a user's
    functions as ``path.py:name`` (see docs/own_algorithm.py); None takes all that there are, without those that would
    take too long. `devices` None takes all present. Every contestant has about `seconds` of turns. The states are drawn
    by `seed`.

    Raises ValueError, FileNotFoundError or ModelError for what is not there.
    """

    models: Sequence[Model | str]
    algorithms: Sequence[str] | None = None
    devices: Sequence[str] | None = None
    dtypes: Sequence[str] = ("float64",)
    batch: int = 1
    seconds: float = 1.0
    seed: int = 0
    robots: tuple[Model, ...] = field(init=False, repr=False)
    """`models`, those given by their names loaded."""

    def __post_init__(self) -> None:
        models = tuple(robots.named(model) if isinstance(model, str) else model for model in self.models)
        object.__setattr__(self, "robots", models)
        if not models:
            raise ValueError("models is empty; name at least one robot")
        for model in models:
            if not model.nv:
                raise ValueError(f"{model.name} has no joint that moves; there is nothing to compare")
        if self.algorithms is not None:
            _some("algorithms", self.algorithms)
        for name in self.algorithms or ():
            users = own.parse(name)
            if users is not None and not users.path.is_file():
                raise FileNotFoundError(f"there is no file {str(users.path)!r} to take {users.name!r} from")
            if users is None and name not in serves.ALGORITHMS:
                known = ", ".join(serves.ALGORITHMS)
                raise ValueError(f"algorithm {name!r} is none; expected {known}, or a file's function as path.py:name")
        for name in _some("devices", serves.DEVICES if self.devices is None else self.devices):
            arguments.one_of("device", name, serves.DEVICES)
        for name in _some("dtypes", self.dtypes):
            arguments.one_of("dtype", name, DTYPES)
        arguments.whole("batch", self.batch, 1)
        if not (math.isfinite(self.seconds) and self.seconds > 0):
            raise ValueError(f"seconds is {self.seconds}; expected a positive number")

    def run(self, stop: Callable[[], bool] = lambda: False) -> Iterator[Standings]:
        """Measure, and report the standings again and again as they change, and once more when all is done.

        It ends early once `stop` answers True, which is asked before every turn, or when the iterator is closed; the
        last standings hold what was measured until then.
        """
        groups, began = self._groups(), perf_counter()
        found = [_standings(group) for group in groups]

        def report(index: int, part: float, doing: str) -> Standings:
            done, elapsed = (index + part) / len(groups), perf_counter() - began
            left = elapsed * (1 - done) / done if done else None
            found[index] = _standings(groups[index])
            return Standings(tuple(row for rows in found for row in rows), done, left, doing)

        for index, group in enumerate(groups):
            model = group[0].model
            at = drawn(model, self.batch, self.seed)
            for contestant in group:
                if stop():
                    return
                where = f"{contestant.title}: {contestant.label} on {contestant.device} in {contestant.dtype}"
                yield report(index, 0, f"preparing {where}")
                contestant.attempt(partial(contestant.prepare, at, max(SLOT, self.seconds / MOST_ROUNDS)))
            for part in self._rounds(group, stop):
                yield report(index, part, f"timing {group[0].title}")
            for contestant in group:
                if contestant.verdict == "ok":
                    contestant.attempt(contestant.check)
                contestant.release()
            found[index] = _standings(group)
            if stop():
                yield report(index, 1, "stopped")
                return
        yield report(len(groups) - 1, 1, "done")

    def command(self) -> str:
        """The shell command that measures the same again. Raises ValueError for a model that is in no file."""
        found = [robots.words(model) for model in self.robots]
        floating = {"--floating" in words for words, model in zip(found, self.robots, strict=True) if model.source}
        if len(floating) > 1:
            raise ValueError("some of the models were loaded with a free root and some without; compare them apart")
        options = dict.fromkeys(option for words in found for option in words[1:])
        return shlex.join(["main.py", "compare", *(words[0] for words in found), *options, *self.options()])

    def options(self) -> list[str]:
        """What a command line says beside the robots."""
        words: list[str] = []
        for option, values in (("algorithm", self.algorithms), ("device", self.devices), ("dtype", self.dtypes)):
            words += [word for value in values or () for word in (f"--{option}", value)]
        return [*words, "--batch", f"{self.batch}", "--seconds", f"{self.seconds:g}", "--seed", f"{self.seed}"]

    def _groups(self) -> list[list[Contestant]]:
        present = ("cpu", "cuda") if device.available() else ("cpu",)
        names = tuple(serves.ALGORITHMS) if self.algorithms is None else tuple(self.algorithms)
        titles = distinct([model.name for model in self.robots])
        return [
            [
                Contestant(model, title, name, label, where, dtype, self.batch, self.algorithms is not None)
                for dtype in self.dtypes
                for where in (present if self.devices is None else self.devices)
                for name, label in zip(names, distinct(map(own.short, names)), strict=True)
            ]
            for model, title in zip(self.robots, titles, strict=True)
        ]

    def _rounds(self, group: list[Contestant], stop: Callable[[], bool]) -> Iterator[float]:
        """Give all their turns, evenly spread over the rounds; the share that is done, every now and then."""
        ready = [contestant for contestant in group if contestant.verdict == "ok"]
        turns = [int(np.clip(self.seconds / c.cost, intervals.FEWEST, MOST_ROUNDS)) for c in ready]
        rounds = max(turns, default=0)
        for contestant in ready:
            contestant.host, contestant.on_device = np.full(rounds, np.nan), np.full(rounds, np.nan)
        all_of_it, spent, reported = sum(n * c.cost for n, c in zip(turns, ready, strict=True)), 0.0, perf_counter()
        shuffle = np.random.default_rng(self.seed).permutation
        for turn in range(rounds):
            for index in shuffle(
                len(ready)
            ):  # nobody always follows the same one, and pays for what that leaves behind
                contestant, count = ready[index], turns[index]
                if stop():
                    return
                if contestant.verdict == "ok" and (turn + 1) * count // rounds > turn * count // rounds:
                    contestant.attempt(partial(_take, contestant, turn))
                    spent += contestant.cost
                if perf_counter() - reported > PAUSE:
                    yield spent / all_of_it
                    reported = perf_counter()


def _take(contestant: Contestant, turn: int) -> None:
    contestant.host[turn], contestant.on_device[turn] = contestant.turn()


def distinct(names: Iterable[str]) -> list[str]:
    """The names, a second of the same told apart by " (2)"."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def _standings(group: list[Contestant]) -> list[Standing]:
    found: list[Standing] = []
    for dtype in dict.fromkeys(contestant.dtype for contestant in group):
        rivals = [contestant for contestant in group if contestant.dtype == dtype]
        timed = [c for c in rivals if c.verdict == "ok" and np.any(np.isfinite(c.host))]
        fastest = _fastest(timed)
        ratios = {id(c): intervals.of_ratio(c.host, fastest.host) for c in timed if fastest and c is not fastest}
        behind = [ratio is not None and ratio.low > WORTH_NAMING for ratio in ratios.values()]
        for c in rivals:
            first = c is fastest
            ratio = Interval(1.0, 1.0, 1.0) if first else ratios.get(id(c))
            level = first or (ratio is not None and ratio.low <= WORTH_NAMING)
            found.append(_standing(c, ratio, level, first and bool(behind) and all(behind)))
    return found


def _fastest(timed: list[Contestant]) -> Contestant | None:
    """The one of the least median, unless others beat it within rounds: a machine may slow down while some wait."""
    rest = sorted(timed, key=lambda c: float(np.nanmedian(c.host)))
    fastest = rest.pop(0) if rest else None
    while fastest is not None:
        ratios = [intervals.of_ratio(c.host, fastest.host) for c in rest]
        ahead = [(ratio.middle, i) for i, ratio in enumerate(ratios) if ratio is not None and ratio.high < 1]
        if not ahead:
            break
        fastest = rest.pop(min(ahead)[1])
    return fastest


def _standing(c: Contestant, ratio: Interval | None, level: bool, winner: bool) -> Standing:
    host = c.host[np.isfinite(c.host)] if c.verdict == "ok" else c.host[:0]
    on_device = c.on_device[np.isfinite(c.on_device)] if c.verdict == "ok" else c.on_device[:0]
    return Standing(
        c.title, c.label, c.device, c.dtype, c.batch, c.verdict, c.reason, c.left, c.first, len(host),
        float(np.median(host)) if len(host) else None, intervals.of_median(host),
        float(np.median(on_device)) if len(on_device) else None, ratio, level, winner,
    )  # fmt: skip


def _said(model: str, dtype: str, rows: list[Standing]) -> str:
    timed = sorted((row for row in rows if row.host is not None), key=_place)
    if not timed:
        refused = all(row.verdict == "refused" for row in rows)
        why = "nothing here serves it" if refused else "no algorithm gave a right answer in time"
        return f"{model}, {dtype}: {why}"
    first, others = timed[0], timed[1:]
    level = [f"{row.algorithm} on {row.device}" for row in others if row.level]
    name = f"{first.algorithm} on {first.device}"
    if level:
        return f"{model}, {dtype}: no difference was found between {name} and {', '.join(level)}"
    if not others:
        return f"{model}, {dtype}: {name} is the only one that was timed"
    second = others[0]
    if second.ratio is None:
        return f"{model}, {dtype}: too few turns to tell {name} from {second.algorithm} on {second.device}"
    low, middle, high = second.ratio
    return (
        f"{model}, {dtype}: {name} is the fastest; {second.algorithm} on {second.device} takes {times(middle)} "
        f"times as long ({times(low)} to {times(high)})"
    )


def _place(row: Standing) -> tuple[bool, float, float]:
    """The fastest first, then by the ratio to it; where there is none by time."""
    ratio = row.ratio or Interval(math.inf, math.inf, math.inf)
    return ratio != Interval(1.0, 1.0, 1.0), ratio.middle, row.host or 0.0


def times(ratio: float) -> str:
    """A ratio with the digits that it deserves."""
    return f"{ratio:.3f}" if ratio < 10 else f"{ratio:.1f}" if ratio < 100 else f"{ratio:.0f}"


def _some(name: str, values: Sequence[str]) -> Sequence[str]:
    if not values or isinstance(values, str):
        raise ValueError(f"{name} is {values!r}; expected a list of one or more names")
    return values
