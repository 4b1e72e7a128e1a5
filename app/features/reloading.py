"""Reload a robot's file when it changes: pose, drives, camera and settings stay, and playing continues."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from PyQt6.QtCore import QTimer

import engine
from app.acting.undoing import State
from app.desktop.actions import MESSAGE, acts_on_robot, check, make_action, offer
from app.desktop.settings import setting
from app.features.diagnostics_view import DiagnosticsView
from app.features.robot_files import RELOADING
from app.features.run_exports import RunExports
from app.features.state_transfer import restore_state
from app.features.time_view import TimeView
from app.features.window_type import Window
from app.file_signature import NO_FILE, signature
from app.gl.camera import Camera
from app.simulation.messages import Event, Loaded, Refused

POLL_INTERVAL = 400  # ms between two checks of the file
LASTING = 10.0  # s of recording that are not discarded automatically
KEY = "reload"  # the setting
Signature = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Before:
    """The state to restore after reloading."""

    path: str
    state: State
    camera: Camera
    playing: bool


class Reloading:
    """Checks the file, and those that it includes or names, twice a second; reloads it once they no longer change.

    A file that was refused is opened in the same way, once it is repaired.
    If keyframes or a long recording would be lost, or the file may run any Python, it only reports the change, and
    waits for F5.
    """

    def __init__(self, window: Window):
        self._window, self._bench, self._settings = window, window.workbench, window.settings
        tip = "Reload the robot's file; pose, drives, camera and settings are kept, the recording is discarded"
        self.action = make_action(window, "&Reload", self.press, "F5", tip=tip)
        tip = f"Reload the robot's file when it changes, unless keyframes or {LASTING:g} s of recording would be lost"
        self.watching = make_action(window, "Reload on &change", self._set_watching, tip=tip, checkable=True)
        check(self.watching, setting(self._settings, KEY, True))
        acts_on_robot(self.action)
        window.menus.file.put(self.action, self.watching, apart=True)
        self._path = self._refused = ""  # the robot's file, and the one that was refused since
        self._included: tuple[str, ...] = ()  # files that the robot's file includes, and meshes
        self._known: dict[str, Signature] = {}  # of these files as read
        self._seen: dict[str, Signature] = {}  # and as last checked
        self._requested: tuple[str, dict[str, Signature]] = "", {}  # the path being opened, and signatures at that time
        self._before: Before | None = None
        self._timer = QTimer(window, timeout=self.poll)
        self._timer.start(POLL_INTERVAL)
        window.loaded.connect(self._on_loaded)
        window.happened.connect(self._on_event)
        window.refreshed.connect(self._note)
        self._refresh()

    def _set_watching(self, on: bool) -> None:
        self._settings.setValue(KEY, on)

    def _refresh(self) -> None:
        offer(self.action, (self._path or self._refused, "no file is open"))

    def poll(self) -> None:
        """Reload or report a file if it has changed, and is unchanged since the last check."""
        if self._bench.opening.loading or not self.watching.isChecked():
            return
        for file in filter(None, (self._refused, self._path)):
            now = self._signatures(file)
            rests = all(now[name] == self._seen.get(name) for name in now)
            self._seen |= now
            changed = [name for name in now if now[name] != self._known[name]]
            if changed and rests and now[file] != NO_FILE:
                self._handle_change(file, changed[0])
                return

    def _signatures(self, file: str) -> dict[str, Signature]:
        """Return the signatures of a file, and of those beside it if it is the robot's."""
        return {name: signature(name) for name in (file, *(self._included if file == self._path else ()))}

    def _handle_change(self, file: str, changed: str) -> None:
        if self._bench.opening.trusted:
            self._report_change(file, changed, "and lets it run any Python")
        elif self._would_discard():
            self._report_change(file, changed, "and discards the recording")
        elif file == self._refused:
            self._open_refused()
        else:
            self.reload()

    def _report_change(self, file: str, changed: str, what_follows: str) -> None:
        """Report once that the file, or one beside it, has changed."""
        self._known |= {name: self._seen[name] for name in self._signatures(file)}
        self._window.feature(DiagnosticsView).panel.show_outdated(file, changed)
        what = "it" if changed == file else "the robot"
        self._window.statusBar().showMessage(f"{Path(changed).name} has changed; F5 reloads {what}, {what_follows}")

    def _would_discard(self) -> bool:
        """Return whether reloading would discard recorded data that the user may want."""
        replay, time_view = self._bench.replay, self._window.feature(TimeView)
        recording = replay.recording
        lasts = sum(end - begin for begin, end in map(recording.span, recording.runs))
        exporting = self._window.feature(RunExports).pictures.needs_robot
        return exporting or replay.active or bool(time_view.keyframes.all) or lasts > LASTING

    def _note(self) -> None:
        """Store a file's signature before it is read, so that later writes count as changes."""
        loading = self._bench.opening.loading
        if loading and loading != self._requested[0]:
            self._requested = loading, self._signatures(loading)

    @property
    def file(self) -> str:
        """The file that F5 reads: the one whose problems are shown, else the robot's; empty if there is none."""
        return self._refused if self._refused and self._window.docks["Diagnostics"].isVisible() else self._path

    def press(self) -> None:
        """Open the file whose problems are shown once more, else reload the robot's."""
        if self._refused and self.file == self._refused:
            self._open_refused()
        else:
            self.reload()

    def _open_refused(self) -> None:
        """Open the file whose problems are shown, known as it is before its reading begins."""
        self._requested = self._refused, self._signatures(self._refused)
        self._window.open(self._refused)

    def reload(self) -> None:
        """Reload the robot's file now."""
        self._window.files.start(self._reload, RELOADING)

    def _reload(self) -> None:
        bench = self._bench
        if not self._path or bench.robot.model is None or bench.robot.newest is None:
            return
        camera = replace(self._window.viewport.camera)
        self._before = Before(self._path, bench.actions.state, camera, bench.robot.playing)
        self._requested = self._path, self._signatures(self._path)
        self._known |= self._requested[1]
        self._seen |= self._requested[1]
        self._window.statusBar().clearMessage()
        bench.open_again(bench.robot.floating)
        self._window.refresh()

    def _on_loaded(self, event: Loaded) -> None:
        before, self._before, self._refused = self._before, None, ""
        file = Path(event.path)
        watched = file.is_file() or (file.is_absolute() and not file.exists())  # it may be deleted for a moment
        self._path = event.path if watched and file.suffix != ".npz" else ""
        self._included = _files_of(event.model) if self._path else ()
        self._keep(event.path)
        if before is None or before.path != event.path:
            return
        restore_state(self._bench, before.state, event.start, posed=True)
        self._window.viewport.see(before.camera)
        if before.playing:
            self._bench.play()
        self._window.refresh()
        self._window.statusBar().showMessage(f"{file.name} was reloaded", MESSAGE)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Refused):
            self._before = None
            readable = signature(event.path) != NO_FILE and Path(event.path).is_file()
            self._refused = event.path if readable and event.path != self._path else ""
            self._keep(event.path)

    def _keep(self, file: str) -> None:
        """Keep the signature of a file that was opened or refused, as it was before it was read."""
        (requested, signatures), self._requested = self._requested, ("", {})
        now = self._signatures(file) | (signatures if requested == file else {})
        self._known |= now
        self._seen |= now
        self._refresh()


def _files_of(model: engine.Model) -> tuple[str, ...]:
    """Return the files that the robot's own file includes, and its meshes."""
    robot = model.parts[0].model if model.parts else model
    meshes = [each.mesh for each in robot.visuals] + [each.mesh for each in robot.collisions]
    return tuple(dict.fromkeys(file for file in (*robot.included, *meshes) if file and Path(file).is_file()))
