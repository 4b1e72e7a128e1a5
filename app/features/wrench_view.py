"""External wrenches in the window: the Forces dock, which follows the selected link."""

from __future__ import annotations

import numpy as np
from PyQt6.QtWidgets import QMenu

from app.desktop.context_menus import LINK, Clicked
from app.desktop.docks import RIGHT, Dock
from app.features.window_type import Window
from app.gl.pushes import Push, of_links
from app.panels.panel_scroller import scroller
from app.panels.wrenches import WrenchPanel
from app.simulation.messages import Loaded, Snapshot

TIP = "Apply a force and a moment to a link (E)"


class WrenchView:
    """Adds the dock, and passes its wrenches to `Workbench.forces`."""

    def __init__(self, window: Window):
        self._bench, self._overlays = window.workbench, window.viewport.overlays
        self.panel = WrenchPanel()
        self.action = window.docks.add(Dock("Forces", scroller(self.panel), RIGHT, "Timing", "forces", "E", TIP))
        window.toolbar.addAction(self.action)
        self.panel.set.connect(self._set)
        self.panel.unset.connect(self._unset)
        self.panel.cleared.connect(self._clear)
        self.panel.link_chosen.connect(window.selection.choose)
        window.selection.changed.connect(self.panel.choose)
        window.loaded.connect(self._take_robot)
        window.refreshed.connect(self._show)
        window.framed.connect(self._draw)
        self._docks, self._selection = window.docks, window.selection
        window.menus.context.offer("act", self._put_entry, LINK)

    def _put_entry(self, menu: QMenu, link: Clicked) -> None:
        push = menu.addAction("Apply a &force…", lambda: self._docks.bring("Forces"))
        push.triggered.connect(lambda: self._selection.choose(link.number))
        push.setEnabled(bool(self._bench.robot.model.link_body[link.number] >= 0))

    def _take_robot(self, event: Loaded) -> None:
        links = np.flatnonzero(event.model.link_body >= 0).tolist()
        self.panel.set_links(links, [event.model.link_names[link] for link in links])

    def _show(self) -> None:
        self.panel.show_wrenches(self._bench.forces.wrenches)
        if not self._bench.replay.active:
            self._draw_set()

    def _draw(self, frame: Snapshot) -> None:
        """Draw arrows for the frame's wrenches; live, the mouse's spring is drawn as a spring instead."""
        if not frame.recorded:
            self._draw_set()
        else:
            self._overlays.set_pushes(of_links(frame.wrench))

    def _draw_set(self) -> None:
        wrenches = self._bench.forces.wrenches.values()
        self._overlays.set_pushes([Push(each.link, each.wrench, each.world) for each in wrenches])

    def _set(self, link: int, wrench: np.ndarray, world: bool) -> None:
        self._bench.forces.set(link, wrench, world)
        self._show()

    def _unset(self, link: int) -> None:
        self._bench.forces.unset(link)
        self._show()

    def _clear(self) -> None:
        self._bench.forces.clear()
        self._show()
