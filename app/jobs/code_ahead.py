"""`CodeAhead`: the machine code of a simulation that is to come, made in a process of its own while another goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import engine


class CodeAhead:
    """Has the code of one simulation made at a time: the newest that is asked for."""

    def __init__(self) -> None:
        self._compilation: engine.Compilation | None = None
        self._newest: object = None
        self._due = 0.0  # when it should be there

    def begin(self, make: Callable[[], engine.Simulation]) -> None:
        """Have the code made that the simulation of `make` lacks, which is called in a thread of its own."""
        self.cancel()
        newest = self._newest = object()

        def work() -> None:
            try:
                compilation = engine.Compilation(make())
                needed, seconds = compilation.needed, compilation.seconds
            except (ValueError, RuntimeError, MemoryError):  # told of where the simulation itself is made
                needed = False
            if self._newest is not newest:
                return
            if needed:
                compilation.start()
                self._due, self._compilation = time.monotonic() + seconds, compilation
            else:
                self._newest = None

        threading.Thread(target=work, name="code ahead", daemon=True).start()

    @property
    def left(self) -> float:
        """Seconds that it takes still, about."""
        return self._due - time.monotonic() if self._compilation is not None else 0.0

    def poll(self) -> bool:
        """Whether nothing has to be waited for any more."""
        if self._compilation is not None and self._compilation.wait(0):
            self._compilation = self._newest = None
        return self._newest is None

    def cancel(self) -> None:
        """Nobody wants it any more."""
        compilation, self._compilation, self._newest = self._compilation, None, None
        if compilation is not None:
            compilation.cancel()
