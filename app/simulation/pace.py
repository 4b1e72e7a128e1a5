"""How much the simulation's thread does in a tick: what it owes to the clock, and what it can afford."""

from __future__ import annotations

import time
from typing import NamedTuple

TICK = 1 / 60  # s, from one tick to the next
RESTING = 1 / 20  # s, instead, while nothing moves: nothing is to be seen of it
UNSEEN = 1 / 10  # s, while nobody sees the window
DEADLINE = 0.72  # of a tick: time that it may spend on steps
LONGER = 0.036  # s of it after a tick that could not pay its debt: time to simulate rather than to show
BURST = 0.004  # s that one call into compiled code may last
LONG_BURST = 0.012  # s, in such a tick: after each call the thread waits for the interpreter's lock
PATIENCE = 0.001  # s of rest after a tick that could not pay its debt


class Budget(NamedTuple):
    """What a tick may spend, s: until `deadline`, by time.perf_counter, and in one `burst`; `whole` in all."""

    deadline: float
    burst: float
    whole: float


class Pace:
    """The debt of a simulation that plays, in simulated seconds, and the cost of its steps."""

    def __init__(self) -> None:
        self.speed = 1.0
        """Simulated seconds asked for per wall second."""
        self._owed = self._step_cost = self._last_tick = 0.0
        self._period = TICK

    def restart(self, other_steps: bool = False) -> None:
        """Nothing is owed as of now; with `other_steps` it is not known either what one costs."""
        self._owed, self._last_tick, self._period = 0.0, time.perf_counter(), TICK
        if other_steps:
            self._step_cost = 0.0

    def forgive(self) -> None:
        """Nothing is owed up to now, and steps cost what they did."""
        self._owed = 0.0

    def set_period(self, seen: bool, rests: bool) -> None:
        """Ticks come less often where nobody sees them, or nothing is to be seen."""
        self._period = UNSEEN if not seen else RESTING if rests else TICK

    def rest(self, dt: float) -> float:
        """Seconds until the next tick is due."""
        if self._owed > dt:
            return PATIENCE
        return max(PATIENCE, self._last_tick + self._period - time.perf_counter())

    def is_due(self, dt: float) -> bool:
        """Whether the next tick is."""
        return self._owed > dt or time.perf_counter() >= self._last_tick + self._period

    def begin_tick(self, dt: float) -> Budget:
        """Add what is owed since the last tick to the debt, as far as it is not forgiven."""
        now = time.perf_counter()
        elapsed, self._last_tick = now - self._last_tick, now
        whole, burst = (LONGER, LONG_BURST) if self._owed >= dt else (DEADLINE * self._period, BURST)
        self._owed = min(self._owed + self.speed * elapsed, self.speed * (self._period + TICK) + dt)
        return Budget(now + whole, burst, whole)

    def steps(self, dt: float, seconds: float) -> int:
        """How many steps to take next in so many seconds: one at least, as long as as much is owed; else 0."""
        if self._owed < dt:
            return 0
        affordable = int(seconds / self._step_cost) if self._step_cost else 1
        return max(1, min(int(self._owed / dt), affordable))

    def pay(self, simulated: float) -> None:
        """So many seconds were simulated."""
        self._owed -= simulated

    def learn(self, cost: float) -> None:
        """A step took `cost` s; NaN says nothing."""
        if cost == cost:
            self._step_cost = cost if not self._step_cost else 0.5 * (self._step_cost + cost)
