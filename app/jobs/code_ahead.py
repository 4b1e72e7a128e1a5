"""`CodeAhead`: compile the code of the next simulation in a separate process while the current one runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import engine


class CodeAhead:
    """Compiles the code of one simulation at a time: the newest requested."""

    def __init__(self) -> None:
        self._compilation: engine.Compilation | None = None
        self._newest: object = None
        self._due = 0.0  # expected end, by the monotonic clock

    def begin(self, make: Callable[[], engine.Simulation]) -> None:
        """Compile the code that the simulation made by `make` lacks; `make` is called in a separate thread."""
        self.cancel()
        newest = self._newest = object()

        def work() -> None:
            try:
                compilation = engine.Compilation(make())
                needed, seconds = compilation.needed, compilation.seconds
            except (ValueError, RuntimeError, MemoryError):  # reported where the simulation itself is made
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
        """Estimated remaining time, s."""
        return self._due - time.monotonic() if self._compilation is not None else 0.0

    def poll(self) -> bool:
        """Return whether there is nothing left to wait for."""
        if self._compilation is not None and self._compilation.wait(0):
            self._compilation = self._newest = None
        return self._newest is None

    def cancel(self) -> None:
        """Cancel the compilation."""
        compilation, self._compilation, self._newest = self._compilation, None, None
        if compilation is not None:
            compilation.cancel()
