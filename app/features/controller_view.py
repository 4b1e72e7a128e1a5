"""The controller in the window: selecting its file, reloading it when saved, and its messages."""

from __future__ import annotations

import time
from pathlib import Path

from PyQt6.QtCore import QEvent, QObject, Qt, QTimer, pyqtSignal
from PyQt6.QtWidgets import QLabel

from app.desktop import theme
from app.desktop.actions import MESSAGE, NO_ROBOT, acts_on_robot, make_action, offer
from app.desktop.dialogs import ask_file
from app.desktop.settings import setting
from app.features.diagnostics_view import DiagnosticsView
from app.features.window_type import Window
from app.file_signature import NO_FILE, signature
from app.simulation.messages import ControllerChanged, Event, Snapshot
from app.simulation.pace import IN_REAL_TIME

POLL_INTERVAL = 300  # ms between two checks whether the file was saved
RECENT = "controller_folder"  # the settings' key
TIP = "Drive the joints by a Python function control(t, q, v); the file runs with your user rights"
END_TIP = "Stop the controller; joints that were held before are held again"
LOADING = "{} is still being started: the simulation waits; Simulation › Stop controller ends it"
LATE = "{} has not returned for 1 s: the simulation waits; Simulation › Stop controller ends it"
DROPPED = "{} is Python code, which a drop does not run: load it as a controller by Simulation › Controller"
SLOW = "{} takes {:.3g} ms for {:.3g} ms of motion"
SLOW_TIP = (
    "A call of control(t, q, v) takes {:.3g} ms, and its efforts are held for {:.3g} ms of simulated time: "
    "this bounds the speed to {:.2g} ×.\nA PERIOD in the file has it called less often"
)
SLOW_SHARE = 0.5  # share of the time spent, from which a controller is the cause of a slow simulation
REFRESH = 0.5  # s between two looks at its share
RUNS = "{} drives the joints; it is reloaded when it is saved and at each reset; a click shows what it prints"


class ControllerView(QObject):
    """Passes a file to `Workbench.controller`, only when the user selects it."""

    clicked = pyqtSignal()
    """The name of a controller that has not failed was clicked."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._window, self._bench, self._findings = window, window.workbench, window.feature(DiagnosticsView)
        self.action = make_action(window, "&Controller…", self._ask, tip=TIP)
        self.end_action = make_action(window, "S&top controller", self._stop, tip=END_TIP)
        acts_on_robot(self.action)
        window.menus.simulation.put(self.action, self.end_action, apart=True)
        window.files.dropped[".py"] = self._refuse
        self.label = QLabel(textFormat=Qt.TextFormat.PlainText)
        self.label.installEventFilter(self)
        window.bar.add_note(self.label)
        self._read, self._held, self._reported = NO_FILE, False, ""
        self._slow: tuple[float, float] | None = None  # see `Snapshot.control`, if it slows the simulation down
        self._due = 0.0
        self._timer = QTimer(self, interval=POLL_INTERVAL, timeout=self._poll)
        window.happened.connect(self._react)
        window.framed.connect(self._time)
        window.loaded.connect(self._show)
        window.refreshed.connect(self._show)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Show why the controller failed, else what it has printed, where its label is clicked."""
        if event.type() == QEvent.Type.MouseButtonRelease and self._bench.controller.problem:
            self._window.docks.show_in_front("Diagnostics")
        elif event.type() == QEvent.Type.MouseButtonRelease:
            self.clicked.emit()
        return super().eventFilter(watched, event)

    def _ask(self) -> None:
        folder = setting(self._window.settings, RECENT, "")
        if path := ask_file(self._window, "Controller", folder, "Python (*.py)"):
            self._window.settings.setValue(RECENT, str(Path(path).parent))
            self.load(path)

    def _refuse(self, path: str) -> None:
        """Name the entry that runs a dropped file: code runs only where the user asked for it as such."""
        self._window.statusBar().showMessage(DROPPED.format(Path(path).name), MESSAGE)

    def load(self, path: str) -> None:
        """Let the file's function drive the joints in place of their gains."""
        if not self._bench.controller.path:
            self._held = self._bench.robot.settings.held
        self._bench.joints.set_held(False)
        self._bench.controller.load(path)
        self._read = signature(path)
        self._timer.start()
        self._window.refresh()

    def _stop(self) -> None:
        """Stop the controller; joints held before are held again."""
        name = Path(self._bench.controller.path).name
        self._bench.controller.unload()
        if self._held:
            self._bench.joints.set_held(True)
        after = "the joints are held again" if self._held else "no joint is held"
        self._window.statusBar().showMessage(f"{name} is stopped; {after}", MESSAGE)
        self._window.refresh()

    def _poll(self) -> None:
        """Reload the file if it changed; while no step asks for it, find out whether it was loaded."""
        path = self._bench.controller.path
        now = signature(path) if path else NO_FILE
        if now not in (NO_FILE, self._read):
            self._read = now
            self._bench.controller.reload()
        elif not self._bench.robot.playing:
            self._bench.controller.check_file()

    def _react(self, event: Event) -> None:
        if not isinstance(event, ControllerChanged):
            return
        self._slow = None
        bar = self._window.statusBar()
        if event.late:
            self._reported = (LOADING if event.loading else LATE).format(Path(event.path).name)
            bar.showMessage(self._reported)
        elif bar.currentMessage() == self._reported:
            bar.clearMessage()
        if event.problem:
            self._findings.show_controller_problem(event)
        elif not event.late:
            self._findings.forget_stop()
        self._show()
        if event.detail:
            self.label.setToolTip(event.detail)

    def _time(self, frame: Snapshot) -> None:
        """Name the controller as the cause where it takes most of the time of a simulation that is too slow."""
        if (now := time.perf_counter()) < self._due or not self._bench.controller.path:
            return
        self._due = now + REFRESH
        share = frame.control[0] * frame.factor / frame.control[1] if frame.control is not None else 0.0
        slow = frame.control if frame.factor < IN_REAL_TIME * self._bench.speed and share > SLOW_SHARE else None
        if slow != self._slow:
            self._slow = slow
            self._show()

    def _show(self, *_: object) -> None:
        controller, there = self._bench.controller, self._bench.robot.model is not None
        offer(self.action, (there, NO_ROBOT))
        offer(self.end_action, (controller.path, "no controller drives the joints"))
        if not controller.path:
            self._timer.stop()
        name = Path(controller.path).name
        self.label.setVisible(bool(name))
        taken, held = (1e3 * seconds for seconds in self._slow or (0.0, 0.0))
        runs = SLOW.format(name, taken, held) if self._slow else name
        waiting = f"waiting for {name}" if controller.late else runs
        self.label.setText(f"{name} has failed" if controller.problem else waiting)
        amber = controller.late or self._slow
        theme.tint(self.label, "error" if controller.problem else "warning" if amber else "accent")
        if name and not controller.problem:
            self.label.setToolTip(SLOW_TIP.format(taken, held, held / taken) if self._slow else RUNS.format(name))
