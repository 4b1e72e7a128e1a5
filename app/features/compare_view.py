"""The comparison of algorithms in the window."""

from __future__ import annotations

from PyQt6.QtCore import Qt

from app.desktop.actions import MESSAGE
from app.desktop.docks import BOTTOM, Dock
from app.features.window_type import Window
from app.panels.compare import ComparePanel
from app.simulation.messages import Loaded

TIP = "Compare algorithms (C)"


class CompareView:
    """Adds the panel, which compares the loaded robot's algorithms unless they are being measured."""

    def __init__(self, window: Window):
        self._window, self.panel = window, ComparePanel()
        whole = self.panel.sides.whole
        dock = Dock("Compare", self.panel, BOTTOM, "", "compare", Qt.Key.Key_C, TIP, whole=whole)
        action = window.docks.add(dock)
        window.toolbar.addAction(action)
        self.panel.message.connect(lambda text: window.bar.showMessage(text, MESSAGE))
        window.loaded.connect(self._on_loaded)
        window.refreshed.connect(lambda: self.panel.setEnabled(not window.run.measuring))
        window.closing.connect(self.panel.close_thread)

    def _on_loaded(self, event: Loaded) -> None:
        self.panel.set_loaded(event.model, self._window.workbench.robot.floating)
