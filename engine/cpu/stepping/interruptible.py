"""A long run of steps in stretches of a fraction of a second, between which Python handles Ctrl-C.

Their length depends on the work alone, not on the clock or the threads: every run is reproducible, also where a robot
diverges and the others stop at the end of the stretch.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # takes 0.3 µs; `signal`, with its enumerations, 8 µs
import signal
from collections.abc import Callable
from threading import current_thread, main_thread
from types import FrameType

import numpy as np

from engine.step_settings import StepSettings
from engine.validation import Array

WORK = 1_000_000
"""Bodies times steps, in the simplest case, in a stretch: some 0.25 s of one thread."""
RK4, CONTACT = 5, 30
"""The cost of an RK4 step relative to Euler's."""

Record = tuple[Array | None, Array | None]
Steps = Callable[[int, Array | None, int, Record], bool]
"""Takes n steps under controls (1 or batch, n, nv), recording each `every`-th state; returns whether none diverged."""


def longest(settings: StepSettings) -> int:
    """The number of steps in a stretch."""
    bodies = max(1, len(settings.model.parent))
    cost = settings.batch * bodies * (RK4 if settings.integrator == "rk4" else 1)
    if settings.scene is not None:
        cost *= CONTACT
    if settings.algorithm == "jsiia":
        cost *= 1 + bodies**2 // 1000
    return max(1, WORK // cost)


class CtrlCWaits:
    """A context in which Ctrl-C is only noted; on exit the caller's handler gets it, which by default raises.

    Only Python's main thread receives signals; handlers that are not Python's are unchanged.
    """

    def __init__(self) -> None:
        self._noted: tuple[int, FrameType | None] | None = None
        before = _signal.getsignal(signal.SIGINT)
        self._before = before if callable(before) and current_thread() is main_thread() else None

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._noted = number, frame

    def __enter__(self) -> None:
        if self._before:
            _signal.signal(signal.SIGINT, self._note)

    def __exit__(self, *_: object) -> None:
        if self._before:
            _signal.signal(signal.SIGINT, self._before)
            if self._noted:
                self._before(*self._noted)


def in_stretches(n: int, most: int, controls: Array | None, every: int, record: Record, steps: Steps) -> None:
    """Take n steps, at most `most` at once; stop early where `steps` returns False."""
    if n <= most:
        steps(n, controls, every, record)
        return
    if fits := every <= most:
        most -= most % every
    done, well = 0, True
    while well and done < n:
        count = min(most, n - done if fits else every - done % every, n - done)
        spacing = every if fits else count
        parts = [None if x is None else np.empty((len(x), 1 + count // spacing, x.shape[2])) for x in record]
        part = None if controls is None else np.ascontiguousarray(controls[:, done : done + count])
        well = steps(count, part, spacing, (parts[0], parts[1]))
        first, done = done, done + count
        for whole, states in zip(record, parts, strict=True):
            if whole is None or states is None:
                continue
            if fits:
                whole[:, first // every : first // every + states.shape[1]] = states
            elif done % every == 0:
                whole[:, done // every] = states[:, 1]
            if not first:
                whole[:, 0] = states[:, 0]
