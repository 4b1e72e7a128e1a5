"""Simulation › Floating base: advice where a legged robot is fixed in the air, and where the run before it is kept."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

import engine
from app.acting.undoing import Action, State, on_or_off
from app.desktop.actions import MESSAGE
from app.features.run_controls import FREE_TIP
from app.features.state_transfer import restore_state, transfer_pose
from app.features.window_type import Window
from app.picture.note import PictureButton
from app.simulation.messages import Event, Loaded, Refused
from app.simulation.starting import has_limbs

IN_THE_AIR = "the file fixes the root link to the world: Simulation › Floating base frees it, to stand on the ground"
HANGS = "Fixed in the air by its file: free the base"
FREED, FIXED = "the root link is free of the world", "the root link is fixed to the world"
FREEING, FIXING = "Free the root link", "Fix the root link"
KEPT = "; the run before is kept: File › Open last run (Ctrl+Shift+T)"


class FloatingBase:
    """Frees or fixes the root link, as an action that can be undone.

    Shows messages once a robot is loaded, before those of others, which a narrow window cuts; a button in the picture
    stays while a robot is fixed in the air, which looks as if it stood.
    """

    def __init__(self, window: Window):
        self.button = PictureButton(window.viewport, HANGS, right=True)
        self.button.setToolTip(FREE_TIP)
        self.button.clicked.connect(window.run.floating.trigger)
        self.button.clicked.connect(window.viewport.setFocus)
        self._window, self._bench = window, window.workbench
        self._path = ""  # of the robot loaded last
        self._before: State | None = None  # of the robot whose root link is being freed or fixed
        self._file = ""  # of that robot
        self._ran = False  # whether that robot had a run
        window.run.floating_asked.connect(self._ask)
        window.loaded.connect(self._on_loaded)
        window.happened.connect(self._on_event)

    def _ask(self, on: bool) -> None:
        self._window.files.start(partial(self._set, on), FREEING if on else FIXING)
        self._window.refresh()

    def _set(self, on: bool) -> None:
        bench, replay = self._bench, self._bench.replay
        spans = map(replay.recording.span, replay.recording.runs)
        self._ran = not replay.opened and any(end > begin for begin, end in spans)
        self._before, self._file = replace(bench.actions.state, posed=True), bench.path
        bench.open_again(on)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Refused) and not self._bench.opening.is_superseded(event):
            self._before = None

    def has_made(self, event: Loaded) -> bool:
        """Whether a robot is the one that was open before, with its root link freed or fixed, also on the way there."""
        return self._before is not None and self._file == event.path

    def _on_loaded(self, event: Loaded) -> None:
        bench, bar = self._bench, self._window.statusBar()
        made, same_file, before = self.has_made(event), self._path == event.path, self._before
        arrived = made and not bench.opening.is_superseded(event)  # else it was freed and fixed at once
        self._before, self._path = before if made and not arrived else None, event.path
        text, hangs = "", self._is_in_the_air(event)
        self.button.setVisible(hangs)
        self.button.place()
        if before is not None and arrived:
            self._take_over(before, event.start)
            text = (FREED if bench.robot.floating else FIXED) + KEPT * self._ran
            reported = f"Floating base {on_or_off(bench.robot.floating)}"
            bench.actions.report(Action(reported, before, replace(bench.actions.state, posed=True)))
        elif not made and not same_file and not bench.replay.opened and hangs:
            text = IN_THE_AIR
        if text:
            others = bar.currentMessage()
            bar.showMessage(f"{text}; {others}" if others else text, MESSAGE)

    def _take_over(self, before: State, start: np.ndarray) -> None:
        """Give the joints their pose and drives of before, on the ground if that is on; `start` (nq,) is the file's."""
        bench = self._bench
        model, settings, posed = bench.robot.model, bench.robot.settings, bool(np.all(np.isfinite(before.q)))
        if posed and settings.ground:
            start = engine.put_down(model, settings.scene, transfer_pose(before.model, before.q, model, start))
        kept = {name: getattr(before.settings, name) for name in ("held", "driven", "by_velocity", "gains")}
        restore_state(bench, replace(before, settings=replace(settings, **kept)), start, posed)

    def _is_in_the_air(self, event: Loaded) -> bool:
        """Whether several limbs hang from a root that its file fixes to the world, moving parts below the ground."""
        fixed = self._bench.source is not None and not self._bench.robot.base_floats
        return fixed and event.touches and not event.settings.ground and has_limbs(event.model)
