"""Wrenches from outside in the window: the Forces dock, which follows the chosen link."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from app.desktop.docks import RIGHT, Dock
from app.panels.panel_scroller import scrolled
from app.panels.wrenches import WrenchPanel
from app.simulation.messages import Loaded

if TYPE_CHECKING:
    from app.window import Window

TIP = "Push a link by a force and a moment, in numbers (E)"


class WrenchView:
    """Makes the dock, and brings what is set there to `Workbench.forces`."""

    def __init__(self, window: Window):
        self._bench = window.workbench
        self.panel = WrenchPanel()
        self.action = window.docks.add(Dock("Forces", scrolled(self.panel), RIGHT, "Timing", "forces", "E", TIP))
        window.toolbar.addAction(self.action)
        self.panel.set.connect(self._set)
        self.panel.unset.connect(self._unset)
        self.panel.cleared.connect(self._clear)
        self.panel.link_chosen.connect(window.selection.choose)
        window.selection.changed.connect(self.panel.choose)
        window.loaded.connect(self._take_robot)
        window.refreshed.connect(self._show)

    def _take_robot(self, event: Loaded) -> None:
        links = np.flatnonzero(event.model.link_body >= 0).tolist()
        self.panel.set_links(links, [event.model.link_names[link] for link in links])

    def _show(self) -> None:
        self.panel.show_wrenches(self._bench.forces.wrenches)

    def _set(self, link: int, wrench: np.ndarray, world: bool) -> None:
        self._bench.forces.set(link, wrench, world)
        self._show()

    def _unset(self, link: int) -> None:
        self._bench.forces.unset(link)
        self._show()

    def _clear(self) -> None:
        self._bench.forces.clear()
        self._show()
