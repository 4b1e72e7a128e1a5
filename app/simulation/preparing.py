"""Construction of simulations in a thread of their own, since one for a GPU compiles on construction."""

from __future__ import annotations

import threading
from collections.abc import Callable

import engine
from app.simulation.running import Running

Outcome = Running | Exception


class Preparation:
    """Constructs one simulation at a time for the simulation thread: the latest request wins."""

    def __init__(self) -> None:
        self._newest: object = None
        self._threads: list[threading.Thread] = []

    @property
    def under_way(self) -> bool:
        """Whether a wanted simulation is being constructed."""
        return self._newest is not None

    def begin(
        self, make: Callable[[], Running], tell: Callable[[Callable[[], None]], None], done: Callable[[Outcome], None]
    ) -> None:
        """Call `make` in a thread; `tell` then runs `done` with the result or the error, unless dropped."""
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
        """Discard the simulation that is being constructed."""
        self._newest = None

    def close(self, seconds: float) -> None:
        """Wait for the threads, each at most `seconds`."""
        self.drop()
        for thread in self._threads:
            thread.join(seconds)


def made(make: Callable[[], Running]) -> Outcome:
    """Return the warmed-up result of `make`, or the exception it raised."""
    try:
        running = make()
        running.warm()
    except Exception as fault:  # handled by the caller, in another thread
        return fault
    return running


def refuses(fault: Exception) -> bool:
    """Whether an error is a refusal of the request or a GPU failure, rather than a program error."""
    return isinstance(fault, ValueError) or engine.gpu_failed(fault)
