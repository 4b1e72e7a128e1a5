"""The measurement for the automatic choice, in the background.

Stop is heard after each case, which lasts some hundredths of a second once everything is compiled; a measurement that
was stopped leaves nothing on disk.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import engine
from app.background import Background
from app.comparing import with_place

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


class Measuring(Background[Progress]):
    """Runs one measurement at a time."""

    def __init__(self, measure: Measure = engine.measure_algorithms) -> None:
        super().__init__("measurement")
        self._measure = measure

    def start(self) -> None:
        """Measure; nothing happens while one is running."""
        self.run(self._measured)

    def _measured(self, stop: threading.Event) -> Progress:
        def tell(done: int, cases: int) -> None:
            if stop.is_set() and done < cases:  # with all of them done, the table is on disk
                raise _StopError
            self.tell(Progress(done / cases))

        try:
            self._measure(tell)
            return Progress(1.0, over=True)
        except _StopError:
            return Progress(over=True, stopped=True)
        except OSError as fault:
            return Progress(over=True, fault=f"the measurement was not kept: {fault}")
        except Exception as error:  # the user must hear of it
            return Progress(over=True, fault=with_place(error))
