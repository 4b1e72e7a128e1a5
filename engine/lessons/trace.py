"""An algorithm's text carried out on one state of a robot, and what each of its stages was: places, values, work.

A stage is one parallel step: as many tasks as it has places, which know nothing of each other. The depth of an
algorithm is the number of its stages, its work the sum of their operations; p processors share a stage's tasks evenly
and begin the next when all of them have ended.
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
"""`run(robot, q, v, tau)`, all (1, …), as the texts have it; most read a `Chain`."""


@dataclass(frozen=True, eq=False)
class Stage:
    """One parallel step.

    `name` is the text's; `part` that of the result to which it belongs. `places` are positions along the chain, or
    along what a scan runs over, whose links `links` are; where two runs are joined, `span` places make one. `values`
    are what it found, without the batch. `operations` are counted; `code` and `line` are where it was called.
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
    """How many links one of its places stands for: those of a chunk."""
    inwards: bool = False
    """Whether it is of what goes from the tip to the base; then a link stands for those from it on."""
    rows: int = 1
    """Chains that do this side by side, as paths of a tree."""
    branches: bool = False
    """Whether its links are no run: those of several paths of a tree. The sweeps of its scans then name no links."""

    @property
    def span(self) -> int:
        return abs(self.places.step) if self.name == "join" else 1

    @cached_property
    def tasks(self) -> int:
        return len(self.places) * self.rows

    @cached_property
    def runs(self) -> tuple[tuple[int, int], ...]:
        """The first and the last link of what each of its places stands for; the last chunk may be shorter."""
        more = (self.span - 1) * self.width
        if self.inwards:
            return tuple((link, link + self.width - 1 + more) for link in self.links)
        return tuple((link - self.width + 1 - more, link) for link in self.links)

    def seconds(self, processors: int) -> float:
        """How long it takes, in operations one after the other: the most that any processor has to do."""
        return math.ceil(self.tasks / processors) * self.operations / self.tasks


@dataclass(frozen=True, eq=False)
class Trace:
    """The stages of a run in their order, and what came out, (n,)."""

    stages: tuple[Stage, ...]
    answer: Array

    @cached_property
    def links(self) -> int:
        """How many links it is about."""
        return 1 + max(link for stage in self.stages for link in stage.links)

    @cached_property
    def largest(self) -> float:
        """The largest number that was found anywhere."""
        return max(float(np.abs(x).max(initial=0.0)) for s in self.stages for x in s.values if x.dtype.kind == "f")

    @property
    def work(self) -> float:
        """Operations altogether."""
        return sum(stage.operations for stage in self.stages)

    @property
    def depth(self) -> int:
        """Parallel steps one after the other: stages in which anything is computed."""
        return sum(stage.operations > 0 for stage in self.stages)

    def time(self, processors: int) -> float:
        """How long p processors take, in operations one after the other; handing over numbers takes none."""
        return sum(stage.seconds(processors) for stage in self.stages)

    def of(self, *names: str) -> tuple[Stage, ...]:
        """The stages of these names."""
        return tuple(stage for stage in self.stages if stage.name in names)


@dataclass
class _Notes:
    """What is taken down while a text runs."""

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
            name, name, run, tuple(places), copies, work, frame.f_code, frame.f_lineno, 1, False, rows, branches
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
    """A stage of a scan, once it is known what the scan found."""
    there = () if result.branches else tuple(result.places[place] for place in stage.places)
    return replace(stage, part=result.name, links=there, width=result.width, inwards=result.inwards)


def trace(run: Run, robot: object, q: Array, v: Array, tau: Array, *, dtype: str = "float64") -> Trace:
    """What `run` does for one state, q (nq,), v and tau (nv,), in that number type, its operations counted."""
    counter = Counter()
    notes = _Notes(counter)
    given = (counter.counted(np.array(x, dtype)[None]) for x in (q, v, tau))
    with watched(notes.take):
        answer = run(robot, *given)
    return Trace(tuple(notes.stages), np.array(plain(answer)[0]))


@cache
def source(code: CodeType) -> tuple[tuple[str, ...], int]:
    """The lines of a function's text, and the number of the first."""
    first = code.co_firstlineno
    lines = inspect.getblock(linecache.getlines(code.co_filename)[first - 1 :])
    return tuple(line.rstrip("\n") for line in lines), first


@cache
def _head(code: CodeType) -> int:
    """How many lines of a function's text its head and its docstring are."""
    lines, _ = source(code)
    (function,) = ast.parse(dedent("\n".join(lines))).body
    assert isinstance(function, ast.FunctionDef)
    return function.body[1 if ast.get_docstring(function) else 0].lineno - 1


def marked(stage: Stage) -> tuple[tuple[str, ...], range]:
    """The function in which a stage was called, and which of its lines the stage is: those above the call, back to
    another call, a blank line, the head of their block or the docstring."""
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
