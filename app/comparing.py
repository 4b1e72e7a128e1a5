"""A comparison, in a thread of its own, free of Qt.

The latest report wins, and the window fetches it on its own timer. Stop is heard before every turn, which lasts some
milliseconds; only a call that itself takes long holds it up.
"""

from __future__ import annotations

import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import engine

PATIENCE = 3.0  # s that `close` waits for a call which does not return


class Measurement(Protocol):
    """What can be run here: an `engine.Comparison` or an `engine.Scaling`."""

    def run(self, stop: Callable[[], bool]) -> Iterator[engine.Standings | engine.Growth]: ...
    def command(self) -> str: ...


@dataclass(frozen=True)
class Report:
    """How far a measurement is."""

    found: engine.Standings | engine.Growth | None = None
    command: str = ""
    """The shell command that repeats it; empty where `no_command` says why there is none."""
    no_command: str = ""
    over: bool = False
    stopped: bool = False
    fault: str = ""
    """Why there is nothing to measure, or an error's text with its place."""


class Comparing:
    """Runs one measurement at a time."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._latest: deque[Report] = deque(maxlen=1)
        self.running = False
        """From `start` until `poll` has told that it is over."""

    @property
    def stopping(self) -> bool:
        """Whether it was asked to end."""
        return self._stop.is_set()

    def start(self, make: Callable[[], Measurement]) -> None:
        """Make a measurement, and run it; nothing happens while one is running."""
        if self.running:
            return
        self.running, self._stop = True, threading.Event()
        # A daemon, since a user's own function may never return.
        self._thread = threading.Thread(target=self._run, args=(make, self._stop), name="comparison", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end; what was measured stays."""
        self._stop.set()

    def poll(self) -> Report | None:
        """The latest report; None if there is none since the last."""
        if not self._latest:
            return None
        report = self._latest.pop()
        self.running = not report.over
        return report

    def close(self) -> None:
        """End the thread, and wait until it has."""
        self.stop()
        if self._thread is not None:
            self._thread.join(PATIENCE)

    def _run(self, make: Callable[[], Measurement], stop: threading.Event) -> None:
        report = Report()
        try:
            measurement = make()
            command, no_command = _command(measurement)
            report = replace(report, command=command, no_command=no_command)
            for found in measurement.run(stop.is_set):
                report = replace(report, found=found)
                self._latest.append(report)
        except (ValueError, OSError, engine.ModelError) as refusal:
            report = replace(report, fault=str(refusal))
        except Exception as error:  # the user must hear of it
            report = replace(report, fault=with_place(error))
        self._latest.append(replace(report, over=True, stopped=stop.is_set()))


def with_place(error: Exception) -> str:
    """What an error says, and where it was raised."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({place.filename}, line {place.lineno})"


def _command(measurement: Measurement) -> tuple[str, str]:
    """The command, or else why there is none."""
    try:
        return measurement.command(), ""
    except ValueError as why:
        return "", str(why)
