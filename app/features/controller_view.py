"""The controller in the window: choosing its file, reading it again when it is saved, and what it says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PyQt6.QtCore import QObject, QTimer
from PyQt6.QtWidgets import QLabel

from app.desktop import theme
from app.desktop.actions import make_action
from app.desktop.dialogs import ask_file
from app.desktop.file_signature import GONE, signature
from app.desktop.settings import kept
from app.simulation.messages import ControllerChanged, Event

if TYPE_CHECKING:
    from app.window import Window

LOOK = 300  # ms between two looks at whether the file was saved
RECENT = "controller_folder"  # the settings' key
TIP = "Have a Python function control(t, q, v) drive the joints; the file runs with all your rights"
END_TIP = "Have the controller drive the joints no more"
RUNS = "{} drives the joints; it is read again when it is saved, and at each reset"


class ControllerView(QObject):
    """Brings a file to `Workbench.controller` when the user chooses it, and never otherwise."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._window, self._bench, self._findings = window, window.workbench, window.findings
        self.action = make_action(window, "&Controller…", self._ask, tip=TIP)
        self.end_action = make_action(window, "E&nd the controller", self._bench.controller.unload, tip=END_TIP)
        window.menus.simulation.put(self.action, self.end_action, apart=True)
        self.label = QLabel()
        window.statusBar().addPermanentWidget(self.label)
        self._read = GONE
        self._timer = QTimer(self, interval=LOOK)
        self._timer.timeout.connect(self._look)
        window.happened.connect(self._react)
        window.loaded.connect(self._show)
        window.refreshed.connect(self._show)

    def _ask(self) -> None:
        folder = kept(self._window.settings, RECENT, "")
        if path := ask_file(self._window, "Controller", folder, "Python (*.py)"):
            self._window.settings.setValue(RECENT, str(Path(path).parent))
            self.load(path)

    def load(self, path: str) -> None:
        """Have the file's function drive the joints, and their gains no more."""
        self._bench.set_held(False)
        self._bench.controller.load(path)
        self._read = signature(path)
        self._timer.start()
        self._window.refresh()

    def _look(self) -> None:
        """Have the file read again where it is another by now."""
        path = self._bench.controller.path
        now = signature(path) if path else GONE
        if now not in (GONE, self._read):
            self._read = now
            self._bench.controller.reload()

    def _react(self, event: Event) -> None:
        if not isinstance(event, ControllerChanged):
            return
        if event.fault:
            self._findings.show_controller_fault(event.fault)
        else:
            self._findings.forget_stop()
        self._show()
        if event.detail:
            self.label.setToolTip(event.detail)

    def _show(self, *_: object) -> None:
        controller, there = self._bench.controller, self._bench.model is not None
        self.action.setEnabled(there)
        self.end_action.setEnabled(bool(controller.path))
        if not controller.path:
            self._timer.stop()
        name = Path(controller.path).name
        self.label.setVisible(bool(name))
        self.label.setText(f"{name} has failed" if controller.fault else name)
        theme.tint(self.label, "error" if controller.fault else "accent")
        if name and not controller.fault:
            self.label.setToolTip(RUNS.format(name))
