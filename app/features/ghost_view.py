"""The ghost in the window: its dock and its overlay."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PyQt6.QtCore import QObject, pyqtSignal
from PyQt6.QtWidgets import QMenu

import engine
from app.desktop.actions import MESSAGE, NO_ROBOT, make_action, offer, say_empty
from app.desktop.dialogs import ask_file
from app.desktop.docks import RIGHT, Dock
from app.features import session_text
from app.features.file_reader import FileReader
from app.features.time_view import TimeView
from app.features.undo_view import UndoView
from app.features.window_type import Window
from app.panels.ghost import COMING, PAST, RECORDING_TIP, GhostPanel, scale_of, tints
from app.reasons import unreadable
from app.recording.recorded_ghost import RecordedGhost, read_ghost
from app.recording.replay import run_name
from app.simulation.ghost import GhostSettings
from app.simulation.messages import GhostState, Loaded, Snapshot

REFRESH = 0.1  # s between two updates of the numbers while it plays
RUNS = "Trajectories (*.npz)"
HIDDEN = "the ghost is hidden while a batch is shown"
ONE_RUN = "No other run: reset or branch to begin one"
CROWDED = "none: the batch has several robots"
TIP = "A second simulation of the robot, with another algorithm, time step or precision (Shift+G)"


class GhostView(QObject):
    """Requests a ghost from the workbench, and shows the one in the snapshots."""

    recorded_changed = pyqtSignal()
    """`recorded` is another one, or none."""
    _reported = pyqtSignal(str)

    def __init__(self, window: Window):
        super().__init__(window)
        self._window, self._bench, self._viewport = window, window.workbench, window.viewport
        self.panel = GhostPanel()
        dock = Dock("Ghost", self.panel, RIGHT, beside="Timing", icon="ghost", key="Shift+G", tip=TIP)
        self.action = window.docks.add(dock)
        tip = f"{RECORDING_TIP}; Show a ghost in its dock ends it"
        self.recording = make_action(window, "G&host from a recording…", self._ask_recording, tip=tip)
        window.menus.file.put(self.recording)
        self.runs = QMenu("Co&mpare with run", window, aboutToShow=self._fill_runs)
        """The runs that can be a ghost, beside which Plots draws their curves."""
        window.feature(TimeView).menu.put(self.runs, apart=True)
        self.recorded: RecordedGhost | None = None
        """The recorded run that is the ghost, if any."""
        self._reader = FileReader(window, unreadable)
        self.path = ""
        """The file of the recorded ghost, also while it is being read; empty if there is none."""
        self._robot = ""  # the file of the robot that is open
        self._before: GhostSettings | None = None  # as last requested
        self._restoring = False
        self._due, self._drawn, self._size = 0.0, False, 1.0
        self._largest: tuple[object, float] = None, 0.0  # a ghost, and its largest deviation that was shown, m
        self.state: GhostState | None = None
        """The ghost that is shown, if any."""
        self._bench.ghost.listen(self._reported.emit)  # from other threads
        self._reported.connect(self.panel.refusal.setText)
        self.panel.requested.connect(self._ask)
        self.panel.recording.clicked.connect(self.recording.trigger)
        self.panel.reset_asked.connect(self._bench.ghost.reset_to_robot)
        window.loaded.connect(self._on_loaded)
        window.framed.connect(self._show)
        window.refreshed.connect(self._refresh)
        window.closing.connect(self._end)

    def _end(self) -> None:
        self._bench.ghost.listen(lambda _: None)
        self._bench.ghost.set(None)

    def _on_loaded(self, event: Loaded) -> None:
        self.panel.set_algorithms(engine.simulation_algorithms(event.model, "cpu"))
        self._before = None if self.recorded is not None else self.panel.settings
        lower, upper = self._viewport.robot_bounds
        self._size = float(np.linalg.norm(upper - lower))
        self.panel.show_state(None, ())
        self.panel.refusal.clear()  # of the robot before
        path, before, self._robot = self.path, self._robot, event.path
        if self.recorded is None:
            self._bench.ghost.set(self.panel.settings)
        self.end_recording()
        if path:  # which another robot's file only ends
            self._read(path, self._refuse_recording if before == event.path else lambda _: self.end_recording())

    def _refresh(self) -> None:
        for control in (self.recording, self.panel.recording):
            offer(control, self._loaded)

    @property
    def _loaded(self) -> tuple[bool, str]:
        return self._bench.robot.model is not None, NO_ROBOT

    def _ask(self, settings: GhostSettings | None) -> None:
        before, self._before = self._before, settings
        if self.recorded is not None:
            self._before = None
            self.end_recording()
            return
        self._bench.ghost.set(settings)
        if before != settings and not self._restoring:
            undo = self._window.feature(UndoView)
            undo.add(_change(before, settings), partial(self.put, before), partial(self.put, settings))

    def kept(self) -> dict[str, Any]:
        """Return the ghost, recorded or simulated, for a session; empty if there is none."""
        settings = None if self.path else self.panel.settings
        return {"ghost": self.path, "simulated ghost": session_text.ghost_entry(settings)}

    def restore(self, session: dict[str, Any]) -> None:
        """Show a session's ghost, as far as the session has entries of it."""
        if "ghost" in session:
            self.end_recording()
        if "simulated ghost" in session:
            self.put(session_text.simulated_ghost(session))
        if path := session_text.ghost(session):
            self.open(path)

    def put(self, settings: GhostSettings | None) -> bool:
        """Show a simulated ghost of these settings, or none, as a session or Undo has it; return True."""
        self.end_recording()
        self._restoring = True
        self.panel.put(settings)
        self._restoring = False
        return True

    def end_recording(self) -> None:
        """Remove a recorded ghost, also while it is being read; one that is simulated stays."""
        self._reader.drop()
        shown, self.recorded, self.path = self.recorded, None, ""
        self.panel.show_reading("")
        if shown is not None:
            self.recorded_changed.emit()
            self.panel.take_recording(False)
            self._show_again()

    def _show_again(self) -> None:
        if self._bench.shown is not None:
            self._show(self._bench.shown)

    def _ask_recording(self) -> None:
        if path := ask_file(self._window, "Ghost from a recording", kinds=RUNS):
            self._window.docks.show_in_front("Ghost")
            self.open(path)

    def open(self, path: str) -> None:
        """Read a run of the robot in a thread, and show it as the ghost; another robot's is refused."""
        self._read(path, self._refuse_recording)

    def _read(self, path: str, refuse: Callable[[str], None]) -> None:
        self.path = path
        self.panel.show_reading(Path(path).name)
        self._reader.drop()
        get = partial(read_ghost, path, self._bench.robot.model, self._bench.source)
        self._reader.read(path, get, self._take_recording, refuse)

    def _refuse_recording(self, problem: str) -> None:
        self.path = "" if self.recorded is None else self.recorded.path
        self.panel.show_reading("")
        self.panel.refusal.setText(problem)
        self._window.statusBar().showMessage(problem, MESSAGE)

    def _take_recording(self, ghost: RecordedGhost) -> None:
        self.panel.show_reading("")
        self._bench.ghost.set(None)
        self.recorded, self._before = ghost, None
        self.panel.take_recording(True)
        self.recorded_changed.emit()
        self._show_again()

    def _fill_runs(self) -> None:
        """List the other runs of the recording, runs from files, and the end of a recorded ghost."""
        self.runs.clear()
        replay = self._bench.replay
        for run in replay.runs:
            if len(run) > 1 and run is not replay.chosen:
                chosen = self.runs.addAction(run_name(run), partial(self.show_run, run))
                chosen.setCheckable(True)
                chosen.setChecked(self.recorded is not None and run is self.recorded.run)
        if self.runs.isEmpty():
            say_empty(self.runs, ONE_RUN)
        offer(self.runs.addAction("From a &file…", self.recording.trigger), self._loaded)
        if self.recorded is not None:
            self.runs.addAction(f"&End comparison with {self.recorded.name}", self.end_recording)

    def show_run(self, run: engine.Run) -> None:
        """Show another run of the window's recording as the ghost."""
        self._reader.drop()
        self.path = ""
        self._take_recording(RecordedGhost(self._bench.robot.model, self._bench.replay.recording, run, run_name(run)))

    def _show(self, frame: Snapshot) -> None:
        ghost = frame.ghost
        if self.recorded is not None:
            ghost = None if frame.batch is not None else self.recorded.state(frame)
        if frame.batch is not None and self._drawn:
            self._window.statusBar().showMessage(HIDDEN, MESSAGE)
        self._drawn, self.state = ghost is not None, ghost
        if ghost is None:
            self._viewport.overlays.set_ghost(None)
        else:
            self._viewport.overlays.set_ghost(ghost.link_poses, tints(ghost.deviation, self._scale(ghost)))
        now = time.perf_counter()
        if self.panel.isVisible() and (now > self._due or not self._bench.robot.playing):
            self._due = now + REFRESH
            why = CROWDED if frame.batch is not None else PAST if frame.recorded else COMING
            self.panel.show_state(ghost, self._bench.robot.model.link_names, why)

    def _scale(self, ghost: GhostState) -> tuple[float, float]:
        """Return the deviations of the first and the last colour, m, which stay as they are where time goes back."""
        which: object = self.recorded or ghost.since
        shown = self._largest[1] if self._largest[0] == which else 0.0
        self._largest = which, max(shown, ghost.worst)
        scale = scale_of(self._largest[1], self._size, self.recorded is not None)
        self.panel.legend.show_scale(scale)
        return scale


def _change(before: GhostSettings | None, after: GhostSettings | None) -> str:
    """Return the text of Undo for other settings of the ghost."""
    if before is None or after is None:
        return "Ghost off" if after is None else "Ghost on"
    changed = [name for name, value in vars(after).items() if value != vars(before)[name]]
    return f"Ghost's {', '.join(changed)}".replace("step", "time step")
