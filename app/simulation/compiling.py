"""Machine code for the simulation's thread: what it waits for first; then, at low priority, what it may need next.

First of that is the code of steps that take wrenches, since one pulls at a robot soon: it is begun `SOON`, and goes on
while the robot plays, which the lowest priority does not disturb. The rest, first what other terrain takes, waits on
few cores until the robot has rested a while.
"""

from __future__ import annotations

import os
import time

import engine

SOON = 1.0  # s with code to step by before that of pulls is compiled
LATER = 5.0  # s before the code of other terrain, integrators and algorithms is compiled; on few cores without playing
NICE = 19  # the operating system's lowest priority, for those
FEW = 2  # cores: those that the simulation and the window need while it plays


class Compiler:
    """Has one simulation's code made in a process of its own; belongs to the simulation's thread."""

    def __init__(self) -> None:
        self._needed: engine.Compilation | None = None
        self._others: list[engine.Compilation] = []
        self._running: engine.Compilation | None = None
        self._source: engine.Compilation | None = None
        self._pulls: engine.Compilation | None = None  # under way, or still to begin
        self._pulls_begun = False
        self._since = self._ready = 0.0

    def begin(self, simulation: engine.Simulation, wrenches: bool = False) -> float | None:
        """Start what the simulation lacks, in place of what was under way; about how many seconds, None if nothing.

        What is under way and makes the same code goes on. `wrenches`: whether steps take them.
        """
        compilation = engine.Compilation(simulation, wrenches)
        kept = None
        for other in (self._needed, self._running):
            if other is not None and other.makes_the_same_as(compilation) and other.running:
                kept = other
        pulls, before = None if wrenches else engine.Compilation(simulation, wrenches=True), self._pulls
        again = before is not None and pulls is not None and before.makes_the_same_as(pulls)
        self.close(kept, before if again else None)
        self._source, self._since, self._ready = compilation, time.monotonic(), time.monotonic()
        self._pulls, self._pulls_begun = before if again else pulls, again and self._pulls_begun
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
            self._needed, self._since, self._ready = None, time.monotonic(), time.monotonic()
        return self._needed is not None

    @property
    def patience(self) -> float | None:
        """Seconds until the next look is due; None where nothing is under way and nothing is left to do."""
        if self._needed is not None:
            return 0.05
        left = self._source is not None or self._pulls is not None or self._others or self._running is not None
        return 1.0 if left else None

    def give_way(self, compilation: engine.Compilation) -> None:
        """End what makes the same code at low priority: it is wanted now, and about to be made at once."""
        if self._pulls is not None and self._pulls.makes_the_same_as(compilation):
            self._pulls.cancel()
            self._pulls = None
        if self._running is not None and self._running.makes_the_same_as(compilation):
            self._running.cancel()
            self._running = None

    def _prepare_pulls(self) -> None:
        if self._pulls is None or self._needed is not None or time.monotonic() - self._ready < SOON:
            return
        self._ready = time.monotonic()  # of the next look
        if not self._pulls_begun and self._pulls.needed:
            self._pulls.start(NICE)
        self._pulls_begun = True
        if not self._pulls.running:
            self._pulls = None

    def go_on(self, playing: bool) -> None:
        """Have the code of pulls made, then what the simulation takes on other terrain and with other settings.

        Where there are no cores to spare, that waits until the robot has rested a while; what is under way when it
        plays begins anew.
        """
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
        """End every process but those of `kept`."""
        for compilation in (self._needed, self._running, self._pulls):
            if compilation is not None and compilation not in kept:
                compilation.cancel()
        self._needed = self._running = self._source = self._pulls = None
        self._others = []
