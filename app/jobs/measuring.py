"""The measurement for the automatic algorithm selection, in the background.

It runs in a process that Stop can end, even while compiling; a stopped measurement leaves nothing on disk.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import engine
from app.jobs.background import Background
from app.reasons import reason


class Measure(Protocol):
    """A function such as `engine.measure_algorithms`."""

    def __call__(self, progress: Callable[[int, int], None], *, stop: Callable[[], bool]) -> object | None:
        """Call `progress` with the numbers of cases done and in total; return None if `stop` returned True."""


@dataclass(frozen=True)
class Progress:
    """The progress of the measurement."""

    done: float = 0.0
    """The share of the cases, 0 … 1."""
    over: bool = False
    stopped: bool = False
    problem: str = ""
    """Why it failed; else empty."""


class Measuring(Background[Progress]):
    """Runs one measurement at a time."""

    def __init__(self, measure: Measure = engine.measure_algorithms) -> None:
        super().__init__("measurement", lambda problem: Progress(over=True, problem=problem))
        self._measure = measure

    def start(self) -> None:
        """Measure; does nothing while a measurement is running."""
        self.run(self._measured)

    def _measured(self, stop: threading.Event) -> Progress:
        try:
            table = self._measure(lambda done, cases: self.publish(Progress(done / cases)), stop=stop.is_set)
            return Progress(over=True, stopped=True) if table is None else Progress(1.0, over=True)
        except OSError as error:
            return Progress(over=True, problem=f"the measurement was not kept: {reason(error)}")
