"""Synchronise the selected link in the viewport, the tree and the inspector."""

from __future__ import annotations

import time

from PyQt6.QtCore import QPoint, Qt
from PyQt6.QtWidgets import QMenu

import engine
from app.acting.coordinates import rows_of
from app.desktop.context_menus import LINK, Clicked
from app.desktop.docks import LEFT, Dock
from app.features.whole_robot import WholeRobot
from app.features.window_type import Window
from app.panels.inspection import fixed_facts, live_facts, robot_facts
from app.panels.robot import LINK as LINK_ROLE
from app.panels.robot import RobotPanel
from app.panels.robot_tree import joint_of_link
from app.simulation.messages import Loaded, Snapshot

WIDTH = 330  # px
REFRESH = 0.1  # s between two updates of the inspector while playing
TIP = "Links, joints and their properties (L)"


class RobotView:
    """Adds the Robot dock, and synchronises it with the viewport and `window.selection`."""

    def __init__(self, window: Window):
        self._bench, self._viewport, self.selection = window.workbench, window.viewport, window.selection
        self.panel, self._docks = RobotPanel(), window.docks
        self.action = window.docks.add(Dock("Robot", self.panel, LEFT, icon="robot", key="L", tip=TIP))
        window.toolbar.addAction(self.action)
        window.docks.share(Qt.Orientation.Horizontal, {"Robot": WIDTH})
        self._due, self._column, self._facts = 0.0, window.joint_column, window.joint_column.facts
        self._name = ""  # of the robot loaded last
        self._listed: engine.Model | None = None  # the robot in the tree, which is filled only while visible
        self.panel.tree.chosen.connect(self.selection.choose)
        self._viewport.clicked.connect(self.selection.choose)
        self.selection.changed.connect(self._follow)
        self._closing = False  # then docks are destroyed one by one
        window.closing.connect(self._end)
        docks = (window.docks[title].visibilityChanged for title in ("Robot", "Joints"))
        for signal in (*docks, self._facts.visibility_changed):
            signal.connect(self._show_again)
        self.whole = WholeRobot(window, self._show_again)
        window.loaded.connect(self._on_loaded)
        window.framed.connect(self._show)
        window.refreshed.connect(self._show_again)  # after other gravity
        window.menus.context.watch(self.panel.tree, self._link_at)
        window.menus.context.offer("first", self._put_entry, LINK)

    def _link_at(self, at: QPoint) -> Clicked | None:
        link = self.panel.tree.indexAt(at).data(LINK_ROLE)
        return None if link is None else Clicked(LINK, self._bench.robot.model.link_names[int(link)], int(link))

    def _put_entry(self, menu: QMenu, link: Clicked) -> None:
        inspect = menu.addAction("&Inspect", lambda: self._docks.show_in_front("Robot"))
        inspect.triggered.connect(lambda: self.selection.choose(link.number))

    def _on_loaded(self, event: Loaded) -> None:
        self.selection.choose(-1)
        self._list(event.model)
        if event.model.name != self._name:  # its own facts come with its first frame
            for each in (self.panel.inspector, self._facts):
                each.show_sections(())
        self._name = event.model.name

    def _list(self, model: engine.Model | None) -> None:
        if model is not None and model is not self._listed and self.panel.isVisible():
            self._listed = model
            self.panel.set_robot(model)
            self.panel.tree.choose(self.selection.link)

    def _follow(self, link: int) -> None:
        self._viewport.overlays.choose(link)
        self.panel.tree.choose(link)
        model = self._bench.robot.model
        self._show_again()
        joint = joint_of_link(model, link) if link >= 0 else None
        self._column.mark(frozenset() if joint is None else rows_of(model, joint))

    def _end(self) -> None:
        self._closing = True

    def _show_again(self, *_: object) -> None:
        if self._closing:
            return
        self._due = 0.0
        self._column.ask(self.selection.link >= 0 and not self._docks.is_in_sight("Robot"))
        self._list(self._bench.robot.model)
        if self._bench.shown is not None:
            self._show(self._bench.shown)

    def _nominal(self, frame: Snapshot) -> engine.Model | None:
        """Return the model that the robots of a frame's batch are copies of."""
        recorded = None if frame.batch is None else frame.batch.recorded
        return self._bench.robot.model if recorded is None else recorded.setup.model

    def _show(self, frame: Snapshot) -> None:
        now, places = time.perf_counter(), {"Robot": self.panel.inspector, "Joints": self._facts}
        shown = [each for title, each in places.items() if self._docks.is_in_sight(title) and each.isVisible()]
        if not shown or (self._bench.robot.playing and now < self._due):
            return
        self._due = now + REFRESH
        link, model = self.selection.link, frame.model
        whole = self.whole.model
        of_link = (*live_facts(model, link, frame), *fixed_facts(model, link, whole)) if link >= 0 else ()
        robot = robot_facts(model, frame, self._nominal(frame), whole) if not of_link or len(shown) > 1 else ()
        for each in shown:  # if both are visible, the link is beside the tree and the robot below its joints
            alone = len(shown) == 1
            each.show_sections((of_link or robot) if alone else robot if each is self._facts else of_link)
