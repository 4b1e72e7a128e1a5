"""Timing of a step's phases in compiled code; without phases the clock is not read."""

from __future__ import annotations

from engine.compile import inline
from engine.compile.operations import now


@inline
def begin(phases):
    """The time, in ns, at the beginning of a phase; 0 where `phases` is empty."""
    return now() if phases.size else 0


@inline
def lap(phases, phase, since):
    """Add the time since `since` to a phase; return the present time, at which the next begins."""
    if phases.size == 0:
        return since
    time = now()
    phases[phase] += time - since
    return time
