"""The run of an algorithm's text on one state of a robot, with the places, values and work of each stage.

A stage is one parallel step: a task for each of its places, independent of the others. The depth of an algorithm is the
number of its stages, its work the sum of their operations; p processors share a stage's tasks evenly and begin the
next stage when all have ended.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from textwrap import dedent
from types import CodeType
from typing import Any

import numpy as np

from engine.blocks.stages import watched
from engine.lessons.counting import Counter, plain
from engine.lie import Array

SWEEPS = ("first", "join", "apply", "reduce", "maps")
"""Stages of `engine.blocks.scan` and of what makes its maps: part of the stage after them, which names the result."""
Run = Callable[[Any, Array, Array, Array], Array]
"""`run(robot, q, v, tau)` of a text in `engine.algorithms`, all (1, …); most take a `Chain`."""


@dataclass(frozen=True, eq=False)
class Stage:
    """One parallel step.

    `name` is the stage's in the text, `part` the name of the result that it contributes to. `places` are positions
    along the chain, or in the input of a scan, and `links` their links; a join makes one run of `span` places. `values`
    are the results, without the batch axis, `operations` the counted ones, `code` and `line` the place of the call.
    """

    name: str
    part: str
    places: range
    links: tuple[int, ...]
    values: tuple[Array, ...]
    operations: float
    code: CodeType
    line: int
    width: int = 1
    """The number of links of a place, for stages that work on chunks."""
    inwards: bool = False
    """Whether the scan runs from the tip to the base; then a link stands for the run that begins at it."""
    rows: int = 1
    """The number of chains that take this stage side by side, such as a tree's paths."""
    branches: bool = False
    """Whether the links belong to several paths of a tree; then its scans' sweeps have no links."""

    @property
    def span(self) -> int:
        return abs(self.places.step) if self.name == "join" else 1

    @cached_property
    def tasks(self) -> int:
        return len(self.places) * self.rows

    @cached_property
    def runs(self) -> tuple[tuple[int, int], ...]:
        """The first and the last link of each place; the last chunk may be shorter."""
        more = (self.span - 1) * self.width
        if self.inwards:
            return tuple((link, link + self.width - 1 + more) for link in self.links)
        return tuple((link - self.width + 1 - more, link) for link in self.links)

    def seconds(self, processors: int) -> float:
        """Return the time in sequential operations: the most of any processor."""
        return math.ceil(self.tasks / processors) * self.operations / self.tasks


@dataclass(frozen=True, eq=False)
class Trace:
    """The stages of a run in order, and its result, (n,)."""

    stages: tuple[Stage, ...]
    result: Array

    @cached_property
    def links(self) -> int:
        """The number of links."""
        return 1 + max(link for stage in self.stages for link in stage.links)

    @cached_property
    def largest(self) -> float:
        """The largest absolute value in any result."""
        return max(float(np.abs(x).max(initial=0.0)) for s in self.stages for x in s.values if x.dtype.kind == "f")

    @property
    def work(self) -> float:
        """The number of operations of all stages."""
        return sum(stage.operations for stage in self.stages)

    @property
    def depth(self) -> int:
        """The number of stages in which anything is computed."""
        return sum(stage.operations > 0 for stage in self.stages)

    def time(self, processors: int) -> float:
        """Return the time on p processors in sequential operations, without communication."""
        return sum(stage.seconds(processors) for stage in self.stages)

    def of(self, *names: str) -> tuple[Stage, ...]:
        """Return the stages of these names."""
        return tuple(stage for stage in self.stages if stage.name in names)


@dataclass
class _Notes:
    """The stages recorded while a text runs."""

    counter: Counter
    before: float = 0.0
    waiting: list[Stage] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)

    def take(self, name: str, places: Sequence[int], values: tuple[Array, ...]) -> None:
        if not places:  # a chunk that is shorter than the others has nothing here
            return
        frame, here = sys._getframe(2), self.counter.operations
        run = places if isinstance(places, range) else range(len(places))  # of a tree
        copies = tuple(np.array(plain(x)[0]) for x in values)
        work, self.before = here - self.before, here
        rows = len(values[-1]) if values else 1
        branches = not isinstance(places, range)
        stage = Stage(
            name, name, run, tuple(places), copies, work, frame.f_code, frame.f_lineno, rows=rows, branches=branches
        )
        if name in SWEEPS:
            self.waiting.append(stage)
            return
        if self.waiting:
            inwards = any(each.places.step < 0 for each in self.waiting)
            scanned = replace(stage, width=abs(run.step), inwards=inwards)
            self.stages += [_of(scanned, each) for each in self.waiting]
            stage = scanned
        self.stages.append(stage)
        self.waiting.clear()


def _of(result: Stage, stage: Stage) -> Stage:
    """Return a scan's stage with the part and the links of the scan's `result`."""
    there = () if result.branches else tuple(result.places[place] for place in stage.places)
    return replace(stage, part=result.name, links=there, width=result.width, inwards=result.inwards)


def trace(run: Run, robot: object, q: Array, v: Array, tau: Array, *, dtype: str = "float64") -> Trace:
    """Return the trace of `run` on one state, q (nq,), v and tau (nv,), in a number type."""
    counter = Counter()
    notes = _Notes(counter)
    given = (counter.counted(np.array(x, dtype)[None]) for x in (q, v, tau))
    with watched(notes.take):
        result = run(robot, *given)
    return Trace(tuple(notes.stages), np.array(plain(result)[0]))


@cache
def source(code: CodeType) -> tuple[tuple[str, ...], int]:
    """Return a function's source lines, and the number of the first."""
    first = code.co_firstlineno
    lines = inspect.getblock(linecache.getlines(code.co_filename)[first - 1 :])
    return tuple(line.rstrip("\n") for line in lines), first


@cache
def _head(code: CodeType) -> int:
    """Return the number of lines of a function's head and docstring."""
    lines, _ = source(code)
    (function,) = ast.parse(dedent("\n".join(lines))).body
    assert isinstance(function, ast.FunctionDef)
    return function.body[1 if ast.get_docstring(function) else 0].lineno - 1


def marked(stage: Stage) -> tuple[tuple[str, ...], range]:
    """Return the lines of the function that called a stage, and the range of those that compute the stage.

    They are the lines above the call, back to another call, a blank line, the head of their block or the docstring.
    """
    lines, first = source(stage.code)
    end = stage.line - first
    start = end
    margin = len(lines[end]) - len(lines[end].lstrip())
    while start > _head(stage.code):
        above = lines[start - 1]
        if not above.strip() or len(above) - len(above.lstrip()) < margin or above.strip().startswith("stage("):
            break
        start -= 1
    return lines, range(start, end)
