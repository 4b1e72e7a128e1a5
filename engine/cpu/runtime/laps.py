"""How long the phases of a step take, by compiled code: nothing is asked of the clock where no phases are wanted."""

from __future__ import annotations

from engine.compile import inline
from engine.compile.operations import now


@inline
def begin(phases):
    """The time, in ns, at which a phase begins; 0 where `phases` is empty."""
    return now() if phases.size else 0


@inline
def lap(phases, phase, since):
    """Add the time since `since` to a phase; returns the time, at which the next begins."""
    if phases.size == 0:
        return since
    time = now()
    phases[phase] += time - since
    return time
