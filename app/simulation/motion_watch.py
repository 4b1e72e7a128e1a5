"""Monitors of the shown states: achieved speed, rest, and joints at their limits."""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import dataclass, field

import numpy as np

import engine

MEMORY = 0.5  # s of wall time, the averaging window of the achieved speed
STILL = 1e-5  # rad or m; the robot rests if no coordinate has moved farther for `REST_TIME` s of wall time
REST_TIME = 0.5


@dataclass
class AchievedSpeed:
    """The simulated seconds per wall second, over the last `MEMORY` seconds."""

    marks: deque[tuple[float, float]] = field(default_factory=deque)

    def mark(self, wall: float, simulated: float) -> float:
        """Record a pair of times, s, and return the speed; NaN if not known yet."""
        self.marks.append((wall, simulated))
        while wall - self.marks[0][0] > MEMORY:
            self.marks.popleft()
        elapsed = wall - self.marks[0][0]
        return (simulated - self.marks[0][1]) / elapsed if elapsed > MEMORY / 4 else math.nan


class RestWatch:
    """Detects whether the robot moves."""

    def __init__(self) -> None:
        self._anchor, self._moved = np.zeros(0), 0.0  # q at the last motion, and its wall time

    def update(self, q: np.ndarray) -> None:
        """Process the current coordinates (nq,)."""
        if len(self._anchor) != len(q) or np.abs(q - self._anchor).max(initial=0.0) > STILL:
            self._anchor, self._moved = q.copy(), time.perf_counter()

    @property
    def rests(self) -> bool:
        return time.perf_counter() - self._moved > REST_TIME


class LimitWatch:
    """Detects coordinates that reach a position limit; one has left it at 1 % of its range."""

    def __init__(self, model: engine.Model):
        self._scalar = np.flatnonzero(model.q_of_v >= 0)
        self._at, self._names = model.q_of_v[self._scalar], model.coordinate_names
        self._lower, self._upper = model.lower[self._scalar], model.upper[self._scalar]
        range_ = self._upper - self._lower
        self._band = np.where(np.isfinite(range_), 1e-2 * range_, 1e-2)
        # Starting at a limit is no event.
        self._at_limit = np.ones(len(self._scalar), bool)

    def update(self, q: np.ndarray) -> tuple[str, ...]:
        """Return the names of those that have just reached a limit, at the coordinates (nq,)."""
        room = np.minimum(q[self._at] - self._lower, self._upper - q[self._at])
        there = room <= 0.05 * self._band
        reached = np.flatnonzero(there & ~self._at_limit)
        self._at_limit[there] = True
        self._at_limit[room > self._band] = False
        return tuple(self._names[dof] for dof in self._scalar[reached])


class EffortWatch:
    """Detects joints of which a larger effort is asked, as by a controller, than their limit; each once in a run."""

    def __init__(self) -> None:
        self._time, self._cut = 0.0, np.zeros(0, bool)

    def update(self, time: float, tau: np.ndarray, model: engine.Model) -> np.ndarray:
        """Return the velocity indices of those that are new, of the efforts tau (nv,), N m or N, asked at a time, s."""
        if time < self._time or len(self._cut) != len(tau):
            self._cut = np.zeros(len(tau), bool)
        self._time, beyond = time, np.abs(tau) > model.effort_limit
        new = np.flatnonzero(beyond & ~self._cut)
        self._cut |= beyond
        return new
