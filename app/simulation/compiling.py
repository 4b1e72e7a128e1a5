"""Compilation for the simulation thread: required code first, then, at low priority, code likely to be needed.

Of the latter, the code of steps with wrenches comes first, since users soon pull at a robot. It starts after `SOON`,
when a process is also prepared for the next required code, and continues during play at the lowest priority. The rest,
beginning with terrain, waits on few cores until the robot has been paused for a while.
"""

from __future__ import annotations

import os
import time

import engine

SOON = 1.0  # s from having code to step with until the code for pulls is compiled
LATER = 5.0  # s until the code of other terrain, integrators and algorithms is compiled; on few cores, s paused
NICE = 19  # the operating system's lowest priority, for these
FEW = 2  # cores, used by the simulation and the window during play


class Compiler:
    """Compiles one simulation's code in a separate process. Belongs to the simulation thread."""

    def __init__(self) -> None:
        self._needed: engine.Compilation | None = None
        self._others: list[engine.Compilation] = []
        self._running: engine.Compilation | None = None
        self._source: engine.Compilation | None = None
        self._pulls: engine.Compilation | None = None  # running, or yet to start
        self._pulls_begun = self._more_planned = False
        self._since = self._ready = 0.0

    def begin(self, simulation: engine.Simulation, wrenches: bool = False) -> float | None:
        """Start compiling the missing code in place of the previous; return the estimated seconds, None if none.

        A running compilation of identical code continues. `wrenches`: whether steps take them.
        """
        compilation = engine.Compilation(simulation, wrenches)
        reused = None
        for other in (self._needed, self._running):
            if other is not None and other.makes_the_same_as(compilation) and other.running:
                reused = other
        pulls, before = None if wrenches else engine.Compilation(simulation, wrenches=True), self._pulls
        again = before is not None and pulls is not None and before.makes_the_same_as(pulls)
        self.close(reused, before if again else None)
        self._source, self._since, self._ready = compilation, time.monotonic(), time.monotonic()
        self._pulls, self._pulls_begun = before if again else pulls, again and self._pulls_begun
        if not compilation.needed:
            return None
        self._needed = reused or compilation
        self._needed.start()
        return compilation.seconds

    @property
    def waiting(self) -> bool:
        """Whether the simulation cannot step yet."""
        if self._needed is not None and self._needed.wait(0):
            self._needed, self._since, self._ready = None, time.monotonic(), time.monotonic()
            self._more_planned = True
        return self._needed is not None

    @property
    def patience(self) -> float | None:
        """Seconds until the next poll; None if nothing is running or left to do."""
        if self._needed is not None:
            return 0.05
        left = self._source is not None or self._pulls is not None or self._others or self._running is not None
        return 1.0 if left or self._more_planned else None

    def cancel_duplicate(self, compilation: engine.Compilation) -> None:
        """Cancel low-priority compilation of the same code, which is now compiled at once."""
        if self._pulls is not None and self._pulls.makes_the_same_as(compilation):
            self._pulls.cancel()
            self._pulls = None
        if self._running is not None and self._running.makes_the_same_as(compilation):
            self._running.cancel()
            self._running = None

    def _prepare_pulls(self) -> None:
        if self._pulls is None or self._needed is not None or time.monotonic() - self._ready < SOON:
            return
        self._ready = time.monotonic()  # of the next poll
        if not self._pulls_begun and self._pulls.needed:
            self._pulls.start(NICE)
        self._pulls_begun = True
        if not self._pulls.running:
            self._pulls = None

    def compile_next(self, playing: bool) -> None:
        """Compile the code for pulls, then for other terrain and settings.

        With no cores to spare, the latter waits until the robot has been paused for a while; play cancels and requeues
        the running compilation.
        """
        if self._more_planned and time.monotonic() - self._ready >= SOON:
            self._more_planned = False
            engine.Compilation.stand_by(always=True)  # who had to wait for code may ask for other ground next
        self._prepare_pulls()
        if playing and (os.cpu_count() or 1) <= FEW:
            self._since = time.monotonic()
            if self._running is not None:
                self._running.cancel()
                self._others.insert(0, self._running)
                self._running = None
            return
        if self._needed is not None or self._pulls is not None or time.monotonic() - self._since < LATER:
            return
        if self._source is not None:
            source, self._source = self._source, None
            self._others = source.others()
        if self._running is not None and self._running.running:
            return
        self._running = self._others.pop(0) if self._others else None
        if self._running is not None:
            self._running.start(NICE)

    def close(self, *kept: engine.Compilation | None) -> None:
        """End all processes except those of `kept`."""
        for compilation in (self._needed, self._running, self._pulls):
            if compilation is not None and compilation not in kept:
                compilation.cancel()
        self._needed = self._running = self._source = self._pulls = None
        self._others = []
