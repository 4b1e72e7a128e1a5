"""The measurement for the automatic choice, in a thread of its own, free of Qt.

The latest progress wins, and the window fetches it on its own timer. Stop is heard after each case, which lasts some
hundredths of a second once everything is compiled; a measurement that was stopped leaves nothing on disk.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import engine
from app.comparing import PATIENCE, with_place

Measure = Callable[[Callable[[int, int], None]], object]
"""Such as `engine.measure_algorithms`: it calls its argument with the number of cases done and that of all."""


@dataclass(frozen=True)
class Progress:
    """How far the measurement is."""

    done: float = 0.0
    """The share of the cases, 0 … 1."""
    over: bool = False
    stopped: bool = False
    fault: str = ""
    """Why it failed."""


class _StopError(Exception):
    """Ends the measurement from inside."""


class Measuring:
    """Runs one measurement at a time."""

    def __init__(self, measure: Measure = engine.measure_algorithms) -> None:
        self._measure = measure
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._latest: deque[Progress] = deque(maxlen=1)
        self.running = False
        """From `start` until `poll` has told that it is over."""

    def start(self) -> None:
        """Measure; nothing happens while one is running."""
        if self.running:
            return
        self.running = True
        self._stop.clear()
        # A daemon, since the first call of an algorithm compiles it, which nothing interrupts.
        self._thread = threading.Thread(target=self._run, name="measurement", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end."""
        self._stop.set()

    def poll(self) -> Progress | None:
        """The latest progress; None if there is none since the last."""
        if not self._latest:
            return None
        progress = self._latest.pop()
        self.running = not progress.over
        return progress

    def close(self) -> None:
        """End the thread, and wait until it has."""
        self.stop()
        if self._thread is not None:
            self._thread.join(PATIENCE)

    def _run(self) -> None:
        try:
            self._measure(self._tell)
            last = Progress(1.0, over=True)
        except _StopError:
            last = Progress(over=True, stopped=True)
        except OSError as fault:
            last = Progress(over=True, fault=f"the measurement was not kept: {fault}")
        except Exception as error:  # the user must hear of it
            last = Progress(over=True, fault=with_place(error))
        self._latest.append(last)

    def _tell(self, done: int, cases: int) -> None:
        if self._stop.is_set() and done < cases:  # with all of them done, the table is on disk
            raise _StopError
        self._latest.append(Progress(done / cases))
