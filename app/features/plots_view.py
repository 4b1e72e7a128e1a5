"""Plots in the window: their dock, what is sampled for them, and which a robot had when it was last open."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from PyQt6.QtCore import Qt

from app.desktop.actions import MESSAGE
from app.desktop.docks import BOTTOM, Dock
from app.panels.plots import PlotsPanel
from app.plotting.quantities import Quantity, catalogue
from app.simulation.messages import Loaded, Snapshot

if TYPE_CHECKING:
    from app.window import Window

REMEMBERED = 20  # robots
HEIGHT = 0.42  # of the window, that the dock has until the user gives it more or less


class PlotsView:
    """Has the simulation sample what is plotted, once the panel was in sight and until it is closed."""

    def __init__(self, window: Window):
        self._window, self._bench, self._settings = window, window.workbench, window.settings
        self.panel = PlotsPanel()
        self.action = window.docks.add(
            Dock("Plots", self.panel, BOTTOM, "Compare", "plots", Qt.Key.Key_P, "Plot any quantity over time (P)")
        )
        self.action.triggered.connect(self._make_room)
        window.toolbar.addAction(self.action)
        self._robot, self._name = 0, ""  # which of a batch, and what it is called
        self._watched: tuple[Quantity, ...] | None = ()
        self._active = False
        self.panel.wanted.connect(self._watch)
        self.panel.shown.connect(self._begin)
        self.panel.sought.connect(self._seek)
        self.panel.message.connect(lambda text: window.statusBar().showMessage(text, MESSAGE))
        self.action.toggled.connect(self._close)
        window.docks["Plots"].visibilityChanged.connect(self._set_seen)
        window.loaded.connect(self._set_robot)
        window.framed.connect(self._show)
        window.closing.connect(self._remember)

    def _make_room(self, shown: bool) -> None:
        if shown and not self._settings.contains("layout"):
            self._window.docks.share(Qt.Orientation.Vertical, {"Plots": int(HEIGHT * self._window.height())})

    def _set_robot(self, event: Loaded) -> None:
        """The plots that the robot had when it was open last, else those that are there, as far as it has such."""
        self._remember()
        self._bench.probe.take()
        kept, self._watched, self._name, self._robot = self.panel.layout_keys, (), event.model.name, 0
        self.panel.set_quantities(catalogue(event.model), self._remembered().get(self._name, kept))

    def _show(self, frame: Snapshot) -> None:
        probe = self._bench.probe
        self.panel.show_cursor(frame.time if frame.recorded else math.nan)
        if frame.robot != self._robot:
            self._robot, self._watched = frame.robot, None
            self.panel.clear()
            self._watch()
        self.panel.add([block for block in probe.take() if block.robot == self._robot])
        if probe.waits and not self._bench.playing:
            self._bench.probe.send()

    def _seek(self, time: float) -> None:
        """Show that moment of the recording."""
        self._bench.look_back()
        self._bench.replay.playing = False
        self._bench.replay.seek(time)
        self._window.refresh()

    def _set_seen(self, seen: bool) -> None:
        self.panel.seen = seen  # a tab behind another is visible to Qt

    def _begin(self) -> None:
        if not self._active:
            self.panel.interrupt()
        self._active = True
        self._watch()

    def _close(self, shown: bool) -> None:
        if not shown:
            self._active = False
            self._watch()

    def _watch(self) -> None:
        wanted = self.panel.quantities if self._active else ()
        if wanted != self._watched and self._bench.model is not None:
            self._watched = wanted
            self._bench.probe.watch(wanted)

    # From one run of the program to the next.

    def _remembered(self) -> dict[str, list[list[str]]]:
        try:
            return dict(json.loads(self._settings.value("plots", "{}", str)))
        except (ValueError, TypeError):
            return {}

    def _remember(self) -> None:
        if self._name:
            robots = self._remembered()
            robots.pop(self._name, None)
            robots[self._name] = self.panel.layout_keys
            self._settings.setValue("plots", json.dumps(dict(list(robots.items())[-REMEMBERED:])))
