"""Comparisons over the number of links of a generated chain, or over the number of robots; and crossings."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from time import perf_counter
from typing import Any, Literal, NamedTuple

from engine import robot_words, validation
from engine.bench.compare.comparison import PROCESSES, Comparison
from engine.bench.compare.result import AlgorithmResult, table
from engine.bench.curves import crossing
from engine.child_process import Children
from engine.model import Model

LINKS = tuple(1 << power for power in range(1, 11))
BATCHES = tuple(1 << power for power in range(0, 13, 2))


class Curve(NamedTuple):
    """The algorithm and the device whose times a curve has; as text "abia on cpu"."""

    algorithm: str
    device: str

    def __str__(self) -> str:
        return f"{self.algorithm} on {self.device}"


class Crossing(NamedTuple):
    """From about this size on, one curve lies below the other: `faster` than `slower`."""

    size: float
    faster: Curve
    slower: Curve
    low: float | None = None
    """The smallest size at which this is possible, by the times' intervals; None: all sizes."""
    high: float | None = None
    """The size from which it is certain; None: none measured."""

    def words(self) -> str:
        """Return the size, or the sizes between which it lies, in two digits."""
        low, high = (None if size is None else _two_digits(size) for size in (self.low, self.high))
        if low is not None and low == high:
            return f"about {low}"
        return f"about {_two_digits(self.size)} ({low or 'the smallest'} to {high or 'beyond the largest'})"


def _two_digits(size: float) -> str:
    return f"{float(f'{size:.2g}'):,.0f}"


class Point(NamedTuple):
    """An algorithm's result at one size."""

    size: int
    result: AlgorithmResult

    @property
    def curve(self) -> Curve:
        """The curve that it is on."""
        return Curve(self.result.algorithm, self.result.device)


@dataclass(frozen=True)
class Growth:
    """All that is known so far of how times grow along `axis`; `done`, `left`, `doing`: see `ComparisonResult`."""

    axis: str
    points: tuple[Point, ...]
    done: float
    left: float | None
    doing: str

    def curves(self) -> dict[Curve, dict[int, float]]:
        """Return the seconds of a call by size, for each algorithm and device."""
        curves: dict[Curve, dict[int, float]] = {}
        for point in self.points:
            if point.result.host is not None:
                curves.setdefault(point.curve, {})[point.size] = point.result.host
        return curves

    def crossings(self) -> tuple[Crossing, ...]:
        """Return the points where one curve falls below another for good, by increasing size."""
        crossings, curves, bounds = [], self.curves(), self._bounds()
        for one, other in combinations(curves, 2):
            if where := crossing(curves[one], curves[other]):
                size, first = where
                faster, slower = (one, other) if first else (other, one)
                early = crossing(bounds[faster][0], bounds[slower][1])
                late = crossing(bounds[faster][1], bounds[slower][0])
                crossings.append(Crossing(size, faster, slower, early and early[0], late and late[0]))
        return tuple(sorted(crossings, key=lambda each: each[:3]))

    def _bounds(self) -> dict[Curve, tuple[dict[int, float], dict[int, float]]]:
        """Return the lower and upper bounds of `curves`; without an interval, the times themselves."""
        bounds: dict[Curve, tuple[dict[int, float], dict[int, float]]] = {}
        for point in self.points:
            if (host := point.result.host) is not None:
                low, _, high = point.result.host_interval or (host,) * 3
                for bound, curve in zip((low, high), bounds.setdefault(point.curve, ({}, {})), strict=True):
                    curve[point.size] = bound
        return bounds

    def csv(self) -> str:
        """Return the points as comma-separated values with a header, times in s."""
        return table(self.plain())

    def plain(self) -> list[dict[str, Any]]:
        """Return the points for JSON, as in `AlgorithmResult.plain`, with their `axis` and `size`."""
        return [{"axis": self.axis, "size": point.size, **point.result.plain()} for point in self.points]


@dataclass(frozen=True)
class Scaling:
    """What is compared over sizes: the links of a generated chain, or the batch of a model, by default chain:10.

    `axis` is "links" or "batch", `dtype` the number type. All else is as for `Comparison`. Raises ValueError for sizes
    that are none.
    """

    axis: Literal["links", "batch"]
    sizes: Sequence[int] = ()
    model: Model | str = "chain:10"
    algorithms: Sequence[str] | None = None
    devices: Sequence[str] | None = None
    dtype: str = "float64"
    batch: int = 1
    seconds: float = 0.2
    seed: int = 0
    all_sizes: tuple[int, ...] = field(init=False, repr=False)
    """`sizes` or the default ones, increasing."""
    _first: Comparison = field(init=False, repr=False)

    def __post_init__(self) -> None:
        validation.one_of("axis", self.axis, ("links", "batch"))
        sizes = self.sizes or (LINKS if self.axis == "links" else BATCHES)
        object.__setattr__(self, "all_sizes", tuple(sorted({validation.integer("sizes", size, 1) for size in sizes})))
        object.__setattr__(self, "_first", self.at(self.all_sizes[0]))

    def at(self, size: int) -> Comparison:
        """Return the comparison at one size."""
        links = self.axis == "links"
        model, batch = (f"chain:{size}", self.batch) if links else (self.model, size)
        return Comparison((model,), self.algorithms, self.devices, (self.dtype,), batch, self.seconds, self.seed)

    def run(self, stop: Callable[[], bool] = lambda: False) -> Iterator[Growth]:
        """Measure, from the smallest size on, and report as `Comparison.run` does, until `stop` returns True."""
        finished, began = list[Point](), perf_counter()
        with Children(PROCESSES) as children:
            for index, size in enumerate(self.all_sizes):
                points = list[Point]()
                for report in self.at(size).run(stop, children):
                    points = [Point(size, row) for row in report.rows]
                    done, elapsed = (index + report.done) / len(self.all_sizes), perf_counter() - began
                    left = elapsed * (1 - done) / done if done else None
                    yield Growth(self.axis, (*finished, *points), done, left, report.doing)
                finished += points
                if stop():
                    return

    def command(self) -> str:
        """Return the shell command that repeats the measurement. Raises ValueError for a model without a file."""
        model = self._first.robots[0]
        over = ["--over", self.axis, "--sizes", ",".join(map(str, self.all_sizes))]
        robot = robot_words.words(model) if self.axis == "batch" else ()
        return shlex.join(["main.py", "compare", *robot, *over, *self._first.options()])
