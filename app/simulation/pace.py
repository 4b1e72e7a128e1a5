"""The number of steps per tick: for the simulated time that is due, and at most as many as fit the tick."""

from __future__ import annotations

import time
from typing import NamedTuple

TICK = 1 / 60  # s between ticks
RESTING = 1 / 20  # s between ticks while nothing moves
UNSEEN = 1 / 10  # s between ticks while the window is not visible
DEADLINE = 0.72  # share of a tick that may be spent on steps
LONGER = 0.036  # s of it while simulated time is overdue: simulation before display
BURST = 0.004  # s, the maximum duration of one call into compiled code
LONG_BURST = 0.012  # s, in such a tick, since the thread waits for the interpreter's lock after each call
IN_REAL_TIME = 0.95
"""The share of the requested speed below which a simulation lacks CPU time."""
PATIENCE = 0.001  # s of sleep while simulated time is overdue


class Budget(NamedTuple):
    """The time that a tick may spend, s: until `deadline`, by time.perf_counter; per call `burst`; in all `whole`."""

    deadline: float
    burst: float
    whole: float


class Pace:
    """The time that is due, in simulated seconds that steps are still to cover, and the cost of a step."""

    def __init__(self) -> None:
        self.speed = 1.0
        """Requested simulated seconds per wall second."""
        self._owed = self._step_cost = self._last_tick = 0.0
        self._period = TICK

    def restart(self, other_steps: bool = False) -> None:
        """Set the time that is due to 0, and restart the clock; `other_steps` also clears the step's cost."""
        self._owed, self._last_tick, self._period = 0.0, time.perf_counter(), TICK
        if other_steps:
            self._step_cost = 0.0

    def forgive(self) -> None:
        """Set the time that is due to 0; keep the step's cost."""
        self._owed = 0.0

    def set_period(self, seen: bool, rests: bool) -> None:
        """Set the tick period: longer if the window is not visible, or nothing moves."""
        self._period = UNSEEN if not seen else RESTING if rests else TICK

    def rest(self, dt: float) -> float:
        """Seconds until the next tick is due."""
        if self._owed > dt:
            return PATIENCE
        return max(PATIENCE, self._last_tick + self._period - time.perf_counter())

    def is_due(self, dt: float) -> bool:
        """Whether the next tick is due."""
        return self._owed > dt or time.perf_counter() >= self._last_tick + self._period

    def begin_tick(self, dt: float) -> Budget:
        """Add the time since the last tick to the time that is due, up to a maximum; return the tick's budget."""
        now = time.perf_counter()
        elapsed, self._last_tick = now - self._last_tick, now
        whole, burst = (LONGER, LONG_BURST) if self._owed >= dt else (DEADLINE * self._period, BURST)
        self._owed = min(self._owed + self.speed * elapsed, self.speed * (self._period + TICK) + dt)
        return Budget(now + whole, burst, whole)

    def steps(self, dt: float, seconds: float) -> int:
        """Return the number of steps to take next in `seconds`: at least one while a step is due; else 0."""
        if self._owed < dt:
            return 0
        affordable = int(seconds / self._step_cost) if self._step_cost else 1
        return max(1, min(int(self._owed / dt), affordable))

    def pay(self, simulated: float) -> None:
        """Subtract simulated seconds from the time that is due."""
        self._owed -= simulated

    def learn(self, cost: float) -> None:
        """Update the step's cost, s; NaN is ignored."""
        if cost == cost:
            self._step_cost = cost if not self._step_cost else 0.5 * (self._step_cost + cost)
