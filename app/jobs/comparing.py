"""A comparison in the background. Its long parts run in processes that Stop can end at any time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import engine
from app.jobs.background import Background, with_place


class Measurement(Protocol):
    """A measurement that can run here: an `engine.Comparison` or an `engine.Scaling`."""

    def run(self, stop: Callable[[], bool]) -> Iterator[engine.ComparisonResult | engine.Growth]: ...
    def command(self) -> str: ...


@dataclass(frozen=True)
class Report:
    """The progress of a measurement."""

    found: engine.ComparisonResult | engine.Growth | None = None
    command: str = ""
    """The shell command that repeats it; if empty, `no_command` says why."""
    no_command: str = ""
    over: bool = False
    stopped: bool = False
    problem: str = ""
    """Why nothing can be measured, or an error's message with its place."""


class Comparing(Background[Report]):
    """Runs one measurement at a time."""

    def __init__(self) -> None:
        super().__init__("comparison", lambda problem: Report(over=True, problem=problem))

    def start(self, make: Callable[[], Measurement]) -> None:
        """Make a measurement and run it; does nothing while one is running."""
        self.run(partial(self._measured, make))

    def _measured(self, make: Callable[[], Measurement], stop: threading.Event) -> Report:
        report = Report()
        try:
            measurement = make()
            command, no_command = _command(measurement)
            report = replace(report, command=command, no_command=no_command)
            for result in measurement.run(stop.is_set):
                report = replace(report, found=result)
                self.publish(report)
        except (ValueError, OSError, engine.ModelError) as refusal:
            report = replace(report, problem=str(refusal))
        except Exception as error:  # shown to the user
            report = replace(report, problem=with_place(error))
        return replace(report, over=True, stopped=stop.is_set())


def _command(measurement: Measurement) -> tuple[str, str]:
    """Return the command, or the reason why there is none."""
    try:
        return measurement.command(), ""
    except ValueError as why:
        return "", str(why)
