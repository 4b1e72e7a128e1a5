"""Machine code for the simulation's thread: what it waits for first; then, at low priority, what it may need next."""

from __future__ import annotations

import os
import time

import engine

LATER = 5.0  # s without playing before the other integrators and algorithms are compiled
NICE = 19  # the operating system's lowest priority, for those
FEW = 2  # cores: those that the simulation and the window need while it plays


class Compiler:
    """Has one simulation's code made in a process of its own; belongs to the simulation's thread."""

    def __init__(self) -> None:
        self._needed: engine.Compilation | None = None
        self._others: list[engine.Compilation] = []
        self._running: engine.Compilation | None = None
        self._source: engine.Compilation | None = None
        self._since = 0.0

    def begin(self, simulation: engine.Simulation, wrenches: bool = False) -> float | None:
        """Start what the simulation lacks, in place of what was under way; about how many seconds, None if nothing.

        What is under way and makes the same code goes on. `wrenches`: whether steps take them.
        """
        compilation = engine.Compilation(simulation, wrenches)
        kept = None
        for other in (self._needed, self._running):
            if other is not None and other.makes_the_same_as(compilation) and other.running:
                kept = other
        self.close(kept)
        self._source, self._since = compilation, time.monotonic()
        if not compilation.needed:
            return None
        self._needed = kept or compilation
        seconds = compilation.seconds
        self._needed.start()
        return seconds

    @property
    def waiting(self) -> bool:
        """Whether the simulation cannot step yet."""
        if self._needed is not None and self._needed.wait(0):
            self._needed, self._since = None, time.monotonic()
        return self._needed is not None

    @property
    def patience(self) -> float | None:
        """Seconds until the next look is due; None where nothing is under way and nothing is left to do."""
        if self._needed is not None:
            return 0.05
        return 1.0 if self._source is not None or self._others or self._running is not None else None

    def go_on(self, playing: bool) -> None:
        """Once the simulation has rested for a while: one after the other, what it takes with other settings.

        None is begun while it plays; one that was, goes on where there are cores to spare, and else begins anew.
        """
        if playing:
            self._since = time.monotonic()
            if self._running is not None and (os.cpu_count() or 1) <= FEW:
                self._running.cancel()
                self._others.insert(0, self._running)
                self._running = None
            return
        if self._needed is not None or time.monotonic() - self._since < LATER:
            return
        if self._source is not None:
            source, self._source = self._source, None
            self._others = source.others()
        if self._running is not None and self._running.running:
            return
        self._running = self._others.pop(0) if self._others else None
        if self._running is not None:
            self._running.start(NICE)

    def close(self, kept: engine.Compilation | None = None) -> None:
        """End every process but that of `kept`."""
        for compilation in (self._needed, self._running):
            if compilation is not None and compilation is not kept:
                compilation.cancel()
        self._needed = self._running = self._source = None
        self._others = []
