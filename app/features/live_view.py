"""Show a script's simulation in the window while it runs and is recorded, see `engine.show`."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from PyQt6.QtCore import QObject, QTimer
from PyQt6.QtGui import QAction
from PyQt6.QtWidgets import QApplication, QWidget

import engine
from app.desktop.actions import MESSAGE, acting_in, algorithm_name, device_name, give_reason, make_action
from app.features.diagnostics_view import DiagnosticsView
from app.features.status import Status
from app.features.window_type import Window
from app.gl.camera import Camera
from app.reasons import reason
from app.recording import run_files
from app.simulation.messages import Loaded

POLL_INTERVAL = 16  # ms between two reads of the script's frames
SCRIPT_POLL_INTERVAL = 250  # ms between two checks for another script
TIP = "Watch the simulation of a Python script that has called engine.show"


class LiveView(QObject):
    """Reads one script's link into the window's recording, and follows its newest frame while that is shown."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._window, self._bench, self._replay = window, window.workbench, window.workbench.replay
        self.reader: engine.LiveReader | None = None
        """The reader of the current script; None without one, or once it has ended."""
        self._free: engine.FreeWindow | None = None  # once the script has ended
        self._before: tuple[str, Camera] | None = None  # the robot that a script showed, and its camera
        self._tips: dict[QAction | QWidget, str] = {}  # original tooltips of disabled controls
        self.action = make_action(window, "&Connect to script", self._connect, tip=TIP)
        window.menus.file.insertAction(window.files.robots_menu.menuAction(), self.action)
        self._timer = QTimer(self, timeout=self._poll)
        window.loaded.connect(self._on_loaded)
        window.refreshed.connect(self._refresh)
        window.closing.connect(self._forget)

    def _connect(self) -> None:
        """Show the script that called `engine.show` last."""
        self._open(None)

    def _open(self, folder: Path | None) -> None:
        """Show a link folder; None means that of the last script that called `engine.show`."""
        try:
            run_file = engine.LiveReader(folder).run_file
        except (OSError, ValueError) as error:
            self._show_message(reason(error))
            return
        if self._bench.robot.model is not None:
            self._before = self._bench.robot.model.name, replace(self._window.viewport.camera)
        self._window.open(run_file)

    def _on_loaded(self, event: Loaded) -> None:
        self._forget()
        self._replay.growing, before, self._before = None, self._before, None
        if not run_files.is_live(event.path):
            return
        if before is not None and before[0] == event.model.name:
            self._window.viewport.see(before[1])
        try:
            self.reader = engine.LiveReader(Path(event.path).parent)
        except ValueError as error:
            self._show_message(str(error))
            return
        self._replay.growing, self._replay.script = self._replay.runs[-1], self.reader.script
        self._bench.select_robot(self.reader.robot)
        self._show_message(f"{self._why_not()}; drag the timeline to look back, End follows it again")
        self._timer.start(POLL_INTERVAL)
        self._window.refresh()

    def _poll(self) -> None:
        """Record new frames, and show the newest if the newest before was shown."""
        self._poll_next_script()
        reader, replay, before = self.reader, self._replay, self._replay.growing
        if reader is None or before is None or self._bench.opening.loading:
            return
        follows, diverged = replay.follows, reader.divergence
        try:
            replay.growing = run = reader.read_into(replay.recording, before)
        except (OSError, ValueError) as error:
            self._end(f"{reader.script} is not shown any more: {reason(error)}")
            return
        if follows and not replay.follows:
            replay.show(run.last, run)
        why = reader.divergence.problem if reader.divergence is not None else ""
        said = f"{reader.script}: {why}"
        if reader.ended:
            said = f"{reader.script} has ended{f': {why}' if why else ''}; its run stays on the timeline"
            self._end(said)
        if reader.divergence is not None and diverged is None:
            self._window.feature(DiagnosticsView).show_script_stop(reader.script, reader.divergence, said)

    def _end(self, message: str) -> None:
        """Finish the script: keep its run, and wait for another script."""
        self._forget()
        self._show_message(message)
        with suppress(OSError):
            self._free = engine.FreeWindow()
            self._timer.start(SCRIPT_POLL_INTERVAL)
        self._window.refresh()

    def _poll_next_script(self) -> None:
        """Show a script that has taken this window; stop waiting once the simulation continues here."""
        if self._free is None or self._bench.opening.loading:
            return
        if not self._replay.opened:
            self._forget()
        elif (folder := self._free.taken()) is not None:
            self._open(folder)
            QApplication.alert(self._window)

    def _forget(self) -> None:
        self.reader, self._replay.script = None, ""
        self._timer.stop()
        if self._free is not None:
            self._free.close()
            self._free = None

    def _show_message(self, message: str) -> None:
        self._window.statusBar().showMessage(message, MESSAGE)

    def _why_not(self) -> str:
        return f"{self._replay.script} drives the robot"

    # Controls disabled while a script drives the robot.

    def _refresh(self) -> None:
        """While a script drives the robot, disable controls that act on it, and show the script's settings."""
        driven = self._replay.driven
        for each in tuple(self._tips) or (acting_in(self._window) if driven else ()):
            self._tips.setdefault(each, each.toolTip())
            why_not = f"{self._why_not()}; {self._replay.ways_on}" if driven else ""
            each.setToolTip(why_not or self._tips[each])
            if driven:
                give_reason(each, why_not)
            if driven or isinstance(each, QWidget):
                each.setEnabled(not driven)
        if not driven:
            self._tips.clear()
        elif self._replay.growing is not None:
            self._show_means(self._replay.growing.setups[-1])

    def _show_means(self, setup: engine.Setup) -> None:
        """Show the script's simulation settings in the status bar, in place of the window's."""
        status, settings = self._window.feature(Status), setup.settings
        status.note_label.setText(self._why_not())
        status.note_label.setToolTip(f"To drive it here {self._replay.ways_on}")
        status.step_button.setText(f"{settings.dt * 1e3:g} ms  {settings.integrator}")
        status.algorithm_button.setText(algorithm_name(settings.algorithm))
        status.device_button.setText(device_name(setup.device))
        for button in (status.step_button, status.algorithm_button, status.device_button):
            button.setToolTip(f"{self._replay.script} chose it")
