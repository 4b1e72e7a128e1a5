"""The ghost in the window: its dock and its overlay."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from PyQt6.QtCore import QObject, pyqtSignal

import engine
from app.desktop.docks import RIGHT, Dock
from app.panels.ghost import COMING, PAST, GhostPanel, tints
from app.simulation.ghost import GhostSettings
from app.simulation.messages import Loaded, Snapshot

if TYPE_CHECKING:
    from app.window import Window

REFRESH = 0.1  # s between two updates of the numbers while it plays
TIP = "A second simulation of the robot, with another algorithm, time step or precision (Shift+G)"


class GhostView(QObject):
    """Requests a ghost from the workbench, and shows the one in the snapshots."""

    _told = pyqtSignal(str)

    def __init__(self, window: Window):
        super().__init__(window)
        self._bench, self._viewport = window.workbench, window.viewport
        self.panel = GhostPanel()
        dock = Dock("Ghost", self.panel, RIGHT, beside="Timing", icon="ghost", key="Shift+G", tip=TIP)
        self.action = window.docks.add(dock)
        self._due = 0.0
        self._bench.ghost.listen(self._told.emit)  # from other threads
        self._told.connect(self.panel.refusal.setText)
        self.panel.asked.connect(self._ask)
        self.panel.met.connect(self._bench.ghost.meet)
        window.loaded.connect(self._take_robot)
        window.framed.connect(self._show)
        window.closing.connect(self._end)

    def _end(self) -> None:
        self._bench.ghost.listen(lambda _: None)
        self._bench.ghost.set(None)

    def _take_robot(self, event: Loaded) -> None:
        self.panel.set_algorithms(engine.simulation_algorithms(event.model, "cpu"))
        lower, upper = self._viewport.robot_bounds
        self.panel.legend.size_of_robot = float(np.linalg.norm(upper - lower))
        self.panel.show_state(None, ())
        self._bench.ghost.set(self.panel.settings)

    def _ask(self, settings: GhostSettings | None) -> None:
        self._bench.ghost.set(settings)

    def _show(self, frame: Snapshot) -> None:
        ghost = frame.ghost
        if ghost is None:
            self._viewport.overlays.set_ghost(None)
        else:
            shades = tints(ghost.deviation, self.panel.legend.size_of_robot)
            self._viewport.overlays.set_ghost(ghost.link_poses, shades)
        now = time.perf_counter()
        if self.panel.isVisible() and (now > self._due or not self._bench.playing):
            self._due = now + REFRESH
            self.panel.show_state(ghost, self._bench.model.link_names, PAST if frame.recorded else COMING)
