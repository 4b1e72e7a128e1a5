"""External wrenches in the window: the Forces dock, which follows the selected link."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from PyQt6.QtWidgets import QMenu

from app.acting.forces import SetWrench
from app.desktop.actions import MESSAGE, acts_on_robot
from app.desktop.context_menus import LINK, Clicked
from app.desktop.docks import RIGHT, Dock
from app.features.window_type import Window
from app.gl.pushes import Push, of_links
from app.panels.wrenches import WrenchPanel
from app.simulation.messages import Loaded, Snapshot
from app.simulation.second_robot import is_free

TIP = "Apply a force and a moment to a link (E)"


class WrenchView:
    """Adds the dock, and passes its wrenches to `Workbench.forces`."""

    def __init__(self, window: Window):
        self._bench, self._overlays = window.workbench, window.viewport.overlays
        self.panel = WrenchPanel()
        acts_on_robot(self.panel)
        self._shown: Mapping[int, SetWrench] = {}
        self.action = window.docks.add(Dock("Forces", self.panel, RIGHT, "Timing", "forces", "E", TIP))
        window.toolbar.addAction(self.action)
        self.panel.set.connect(self._set)
        self.panel.unset.connect(lambda link: self._act(lambda: self._bench.wrenching.unset(link)))
        self.panel.cleared.connect(lambda: self._act(self._bench.wrenching.clear))
        self.panel.link_chosen.connect(window.selection.choose)
        window.selection.changed.connect(self.panel.choose)
        window.loaded.connect(self._on_loaded)
        window.refreshed.connect(self._show)
        window.framed.connect(self._draw)
        self._docks, self._selection, self._bar = window.docks, window.selection, window.statusBar()
        window.menus.context.offer("act", self._put_entry, LINK)

    def _put_entry(self, menu: QMenu, link: Clicked) -> None:
        push = menu.addAction("Apply a &force…", lambda: self._docks.show_in_front("Forces"))
        push.triggered.connect(lambda: self._selection.choose(link.number))
        push.setEnabled(bool(self._bench.robot.model.link_body[link.number] >= 0))

    def _on_loaded(self, event: Loaded) -> None:
        model = event.model
        links = np.flatnonzero(model.link_body >= 0).tolist()
        own = [link for link in links if model.part_of_link[link] == 0] or [-1]
        heaviest = max(own, key=lambda link: model.mass[model.link_body[link]] if link >= 0 else 0.0)
        chosen = heaviest if is_free(model) else own[-1]  # the tip of an arm
        self.panel.set_links(links, [model.link_names[link] for link in links], chosen)

    def _show(self) -> None:
        self._shown = self._bench.inputs.wrenches
        self.panel.show_wrenches(self._shown)
        if not self._bench.replay.active:
            self._draw_set(self._bench.robot.time)

    def _draw(self, frame: Snapshot) -> None:
        """Draw arrows for the frame's wrenches; live, the mouse's spring is drawn as a spring instead."""
        if not frame.recorded:
            self._draw_set(frame.time)
        else:
            if self._bench.inputs.wrenches is not self._shown:
                self._show()
            self._overlays.set_pushes(of_links(frame.wrench))

    def _draw_set(self, time: float) -> None:
        wrenches = [each for each in self._bench.forces.wrenches.values() if each.acts_at(time)]
        self._overlays.set_pushes([Push(each.link, each.wrench, each.world) for each in wrenches])

    def _set(self, link: int, wrench: np.ndarray, world: bool, begin: float, end: float) -> None:
        """Apply a wrench; one whose time is over acts at once."""
        late = max(0.0, self._bench.robot.time - begin) if end <= self._bench.robot.time else 0.0
        self._act(lambda: self._bench.wrenching.set(link, wrench, world, begin + late, end + late))

    def _act(self, act: Callable[[], None]) -> None:
        """Change the wrenches, unless a recorded frame is shown, which has its own."""
        replay = self._bench.replay
        if replay.active:
            self._bar.showMessage(f"{replay.reason}; to change forces {replay.ways_on}", MESSAGE)
        else:
            act()
        self._show()
