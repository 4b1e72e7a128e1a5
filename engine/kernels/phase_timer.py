"""Timing of the phases of one robot's last step: cycles, their sum in ns, and when the last phase began."""

from __future__ import annotations

from engine.compile import inline
from engine.compile.operations import cycles, now
from engine.phases import COUNT


@inline
def start_watch(timed, phases):
    """Begin to time a step, if it is `timed`."""
    if timed:
        for k in range(COUNT):
            phases[k] = 0
        phases[COUNT], phases[COUNT + 1] = -now(), cycles()


@inline
def lap(timed, phases, phase):
    """Add the time since the last call to this phase."""
    if timed:
        time = cycles()
        phases[phase] += time - phases[COUNT + 1]
        phases[COUNT + 1] = time


@inline
def stop_watch(timed, phases):
    """End the timing of a step."""
    if timed:
        phases[COUNT] += now()
