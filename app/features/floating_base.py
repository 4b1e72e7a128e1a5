"""Simulation › Floating base: advice where a legged robot is fixed in the air, and where the run before it is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from app.desktop.actions import MESSAGE
from app.simulation.messages import Event, Loaded, Refused

if TYPE_CHECKING:
    from app.window import Window

IN_THE_AIR = "the file fixes the root link to the world: Simulation › Floating base frees it, to stand on the ground"
FREED, FIXED = "the root link is free of the world", "the root link is fixed to the world"
KEPT = "; the run before is kept: File › Open last run (Ctrl+Shift+T)"


class FloatingBase:
    """Shows messages once a robot is loaded, before those of others, which a narrow window cuts."""

    def __init__(self, window: Window):
        self._window, self._bench = window, window.workbench
        self._path = ""  # of the robot loaded last
        self._asked = self._ran = False  # the base was freed or fixed, after a run
        window.run.floating.toggled.connect(self._ask)
        window.loaded.connect(self._take)
        window.happened.connect(self._hear)

    def _ask(self) -> None:
        replay = self._bench.replay
        spans = map(replay.recording.span, replay.recording.runs)
        self._asked, self._ran = True, not replay.opened and any(end > begin for begin, end in spans)

    def _hear(self, event: Event) -> None:
        if isinstance(event, Refused):
            self._asked = False

    def _take(self, event: Loaded) -> None:
        bench, bar = self._bench, self._window.statusBar()
        asked, known, self._asked, self._path = self._asked, self._path == event.path, False, event.path
        text = ""
        if asked:
            text = (FREED if bench.floating else FIXED) + KEPT * self._ran
        elif not known and not bench.replay.opened and self._is_in_the_air(event):
            text = IN_THE_AIR
        if text:
            others = bar.currentMessage()
            bar.showMessage(f"{text}; {others}" if others else text, MESSAGE)

    def _is_in_the_air(self, event: Loaded) -> bool:
        """Whether several limbs hang from a root that its file fixes to the world, moving parts below the ground."""
        limbs = int(np.count_nonzero(event.model.parent[event.model.part_of_body == 0] < 0))
        fixed = self._bench.source is not None and not self._bench.robot.base_floats
        return fixed and event.touches and not event.settings.ground and limbs > 1
