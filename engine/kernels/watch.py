"""How long the phases of one robot's last step take, in cycles, their sum in ns, and when the last of them began."""

from __future__ import annotations

from engine.compile import inline
from engine.compile.operations import cycles, now
from engine.phases import COUNT


@inline
def start_watch(watched, phases):
    """Begin to time a step, where it is watched."""
    if watched:
        for k in range(COUNT):
            phases[k] = 0
        phases[COUNT], phases[COUNT + 1] = -now(), cycles()


@inline
def lap(watched, phases, phase):
    """The time since the last phase ended is that of this one."""
    if watched:
        time = cycles()
        phases[phase] += time - phases[COUNT + 1]
        phases[COUNT + 1] = time


@inline
def stop_watch(watched, phases):
    """End a step that is timed."""
    if watched:
        phases[COUNT] += now()
