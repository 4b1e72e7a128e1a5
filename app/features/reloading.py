"""Reload a robot's file when it changes: pose, camera and settings stay, and playing continues."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PyQt6.QtCore import QTimer

import engine
from app.desktop.actions import MESSAGE, check, make_action, offer
from app.desktop.settings import setting
from app.features.robot_files import RELOADING
from app.features.run_exports import RunExports
from app.features.state_transfer import transfer_pose, transfer_settings
from app.features.time_view import TimeView
from app.features.window_type import Window
from app.file_signature import GONE, signature
from app.gl.camera import Camera
from app.simulation.messages import Event, Loaded, Refused, Settings

LOOK = 400  # ms between two checks of the file
LASTING = 10.0  # s of recording that are not discarded automatically
KEY = "reload"  # the setting
Signature = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Before:
    """The state to restore after reloading."""

    path: str
    model: engine.Model
    q: np.ndarray
    settings: Settings
    camera: Camera
    playing: bool


class Reloading:
    """Checks the file twice a second, and reloads it once it no longer changes.

    A file that was refused is opened in the same way, once it is repaired.
    If keyframes or a long recording would be lost, or the file may run any Python, it only reports the change, and
    waits for F5.
    """

    def __init__(self, window: Window):
        self._window, self._bench, self._settings = window, window.workbench, window.settings
        tip = "Reload the robot's file; pose, camera and settings are kept, the recording is discarded"
        self.action = make_action(window, "&Reload", self._press, "F5", tip=tip)
        tip = f"Reload the robot's file when it changes, unless keyframes or {LASTING:g} s of recording would be lost"
        self.watching = make_action(window, "Reload on &change", self._set_watching, tip=tip, checkable=True)
        check(self.watching, setting(self._settings, KEY, True))
        window.menus.file.put(self.action, self.watching, apart=True)
        self._path = self._refused = ""  # the robot's file, and the one that was refused since
        self._known: dict[str, Signature] = {}  # of these files as read
        self._seen: dict[str, Signature] = {}  # and as last checked
        self._asked: tuple[str, Signature] = "", GONE  # the path being opened, and its signature at that time
        self._before: Before | None = None
        self._timer = QTimer(window, timeout=self.look)
        self._timer.start(LOOK)
        window.loaded.connect(self._take)
        window.happened.connect(self._hear)
        window.refreshed.connect(self._note)
        self._refresh()

    def _set_watching(self, on: bool) -> None:
        self._settings.setValue(KEY, on)

    def _refresh(self) -> None:
        offer(self.action, (self._path or self._refused, "no file is open"))

    def look(self) -> None:
        """Reload or report a file if it has changed, and is unchanged since the last check."""
        if self._bench.loading or not self.watching.isChecked():
            return
        for file in filter(None, (self._refused, self._path)):
            now, before = signature(file), self._seen[file]
            self._seen[file] = now
            if now == before and now not in (self._known[file], GONE):
                self._answer(file)
                return

    def _answer(self, file: str) -> None:
        if self._bench.trusted:
            self._tell(file, "and lets it run any Python")
        elif self._would_go():
            self._tell(file, "and discards the recording")
        elif file == self._refused:
            self._window.open(file)
        else:
            self.reload()

    def _tell(self, file: str, what_follows: str) -> None:
        """Report once that the file has changed."""
        self._known[file] = self._seen[file]
        self._window.statusBar().showMessage(f"{Path(file).name} has changed; F5 reloads it, {what_follows}")

    def _would_go(self) -> bool:
        """Return whether reloading would discard recorded data that the user may want."""
        replay, time_view = self._bench.replay, self._window.feature(TimeView)
        recording = replay.recording
        lasts = sum(end - begin for begin, end in map(recording.span, recording.runs))
        exporting = self._window.feature(RunExports).pictures.needs_robot
        return exporting or replay.active or bool(time_view.keyframes.all) or lasts > LASTING

    def _note(self) -> None:
        """Store a file's signature before it is read, so that later writes count as changes."""
        loading = self._bench.loading
        if loading and loading != self._asked[0]:
            self._asked = loading, signature(loading)

    def _press(self) -> None:
        """Open the file whose problems are shown once more, else reload the robot's."""
        if self._refused and self._window.docks["Diagnostics"].isVisible():
            self._window.open(self._refused)
        else:
            self.reload()

    def reload(self) -> None:
        """Reload the robot's file now."""
        self._window.files.start(self._reload, RELOADING)

    def _reload(self) -> None:
        bench = self._bench
        if not self._path or bench.robot.model is None or bench.robot.newest is None:
            return
        camera = replace(self._window.viewport.camera)
        state = bench.robot.newest.q.copy()
        self._before = Before(self._path, bench.robot.model, state, bench.robot.settings, camera, bench.robot.playing)
        self._asked = self._path, signature(self._path)
        self._known[self._path] = self._seen[self._path] = self._asked[1]
        self._window.statusBar().clearMessage()
        bench.open_again(bench.robot.floating)
        self._window.refresh()

    def _take(self, event: Loaded) -> None:
        before, self._before, self._refused = self._before, None, ""
        file = Path(event.path)
        self._path = event.path if file.is_file() and file.suffix != ".npz" else ""
        self._keep(event.path)
        if before is None or before.path != event.path:
            return
        self._bench.configuring.take_settings(transfer_settings(before.settings, before.model, event.model))
        self._bench.posing.pose(transfer_pose(before.model, before.q, event.model, event.start))
        self._window.viewport.see(before.camera)
        if before.playing:
            self._bench.play()
        self._window.refresh()
        self._window.statusBar().showMessage(f"{file.name} was reloaded", MESSAGE)

    def _hear(self, event: Event) -> None:
        if isinstance(event, Refused):
            self._before = None
            readable = signature(event.path) != GONE and Path(event.path).is_file()
            self._refused = event.path if readable and event.path != self._path else ""
            self._keep(event.path)

    def _keep(self, file: str) -> None:
        """Keep the signature of a file that was opened or refused, as it was before it was read."""
        (asked, known), self._asked = self._asked, ("", GONE)
        self._known[file] = self._seen[file] = known if asked == file else signature(file)
        self._refresh()
