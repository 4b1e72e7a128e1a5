"""Simulations made in a thread of their own, since one for a GPU compiles as it is made."""

from __future__ import annotations

import threading
from collections.abc import Callable

import engine
from app.simulation.running import Running

Outcome = Running | Exception


class Preparation:
    """Makes one simulation at a time for the simulation's thread: the newest that is asked for wins."""

    def __init__(self) -> None:
        self._newest: object = None
        self._threads: list[threading.Thread] = []

    @property
    def under_way(self) -> bool:
        """Whether one is being made that is still wanted."""
        return self._newest is not None

    def begin(
        self, make: Callable[[], Running], tell: Callable[[Callable[[], None]], None], done: Callable[[Outcome], None]
    ) -> None:
        """Make it in a thread; `tell` then has ``done`` called with it, or with the fault, unless it is dropped."""
        newest = self._newest = object()

        def finish(outcome: Outcome) -> None:
            if self._newest is newest:
                self._newest = None
                done(outcome)

        def work() -> None:
            outcome = made(make)
            tell(lambda: finish(outcome))

        self._threads = [thread for thread in self._threads if thread.is_alive()]
        # A daemon, since no compiler can be interrupted.
        thread = threading.Thread(target=work, name="preparation", daemon=True)
        self._threads.append(thread)
        thread.start()

    def drop(self) -> None:
        """Nobody wants what is being made any more."""
        self._newest = None

    def close(self, seconds: float) -> None:
        """Wait for its threads, each at most so long."""
        self.drop()
        for thread in self._threads:
            thread.join(seconds)


def made(make: Callable[[], Running]) -> Outcome:
    """What it makes, or the fault that it raised."""
    try:
        running = make()
        running.warm()
    except Exception as fault:  # judged by who takes it, in another thread
        return fault
    return running


def refuses(fault: Exception) -> bool:
    """Whether it says no to what was asked for, in words or by a GPU that failed; else it is the program's fault."""
    return isinstance(fault, ValueError) or engine.gpu_failed(fault)
