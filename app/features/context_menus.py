"""Context menus: for links in the viewport and the tree, scene objects, joints, plots and times of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from PyQt6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PyQt6.QtGui import QAction, QGuiApplication, QMouseEvent
from PyQt6.QtWidgets import QMenu, QTreeView, QWidget

from app.features.distance_view import DistanceView
from app.features.drive_view import DriveView
from app.features.link_hiding import LinkHiding
from app.features.placing import Placing
from app.features.plots_view import PlotsView
from app.features.robot_view import RobotView
from app.features.scene_view import SceneView
from app.features.time_view import TimeView
from app.panels.chart import Chart
from app.panels.phase_plot import Pair
from app.panels.robot import LINK
from app.plotting.catalogue import Catalogue, catalogue

if TYPE_CHECKING:
    import engine
    from app.window import Window

CLICK = 4  # px by which the mouse may move in a click
NEAR = 7  # px, from a keyframe's mark on the timeline


class ContextMenus(QObject):
    """Makes each menu on request; the last one is `shown`."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._window, self._bench, self._viewport = window, window.workbench, window.viewport
        self.shown = QMenu(window)
        self._pressed: QPointF | None = None
        self._known: tuple[engine.Model | None, Catalogue] = None, Catalogue()
        self._viewport.installEventFilter(self)
        window.joints.menu_made.connect(self._of_joint)
        window.loaded.connect(self._attach)
        self._attached = False

    def _attach(self, *_: object) -> None:
        """Connect to the panels, which all exist now."""
        if self._attached:
            return
        self._attached = True
        followed: tuple[tuple[QWidget, Callable[[QPoint], QMenu | None]], ...] = (
            (self._window.feature(RobotView).panel.tree, self._of_tree),
            (self._window.feature(TimeView).bar.track, self._of_moment),
            (self._window.feature(PlotsView).panel.stack, self._of_plot),
            (self._window.feature(SceneView).panel.list, self._of_list),
        )
        for widget, made in followed:
            widget.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
            widget.customContextMenuRequested.connect(
                lambda at, widget=widget, made=made: self._show(made(at), widget.mapToGlobal(at))
            )

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Show a menu for a right click in the viewport without a drag."""
        if isinstance(event, QMouseEvent) and event.button() == Qt.MouseButton.RightButton:
            if event.type() == QEvent.Type.MouseButtonPress:
                self._pressed = event.position()
            elif event.type() == QEvent.Type.MouseButtonRelease and self._pressed is not None:
                at, self._pressed = self._pressed, None
                if (event.position() - at).manhattanLength() <= CLICK:
                    self._show(self._of_picture(at), event.globalPosition().toPoint())
        return super().eventFilter(watched, event)

    def _show(self, menu: QMenu | None, at: QPoint) -> None:
        if menu is not None and not menu.isEmpty():
            if self.shown is not self._window.feature(SceneView).adding:
                self.shown.deleteLater()
            self.shown = menu
            menu.popup(at)

    # Menus by subject.

    def _of_picture(self, at: QPointF) -> QMenu | None:
        if self._bench.model is None:
            return None
        found = self._window.feature(Placing).under(at)
        scene = self._window.feature(SceneView)
        if found is None:
            menu = QMenu(self._window)
            menu.addMenu(scene.adding)
            menu.addActions([self._window.view_controls.fit, self._window.view_controls.follow])
            if (removal := self._window.feature(DistanceView).removal).isEnabled():
                menu.addAction(removal)
            if self._window.feature(LinkHiding).hidden:
                menu.addAction(self._window.feature(LinkHiding).show_all)
            return menu
        row, point, link = found
        return self._of_thing(row, point) if link < 0 else self.of_link(link, point)

    def _of_tree(self, at: QPoint) -> QMenu | None:
        tree: QTreeView = self._window.feature(RobotView).panel.tree
        link = tree.indexAt(at).data(LINK)
        return None if link is None else self.of_link(int(link))

    def of_link(self, link: int, point: np.ndarray | None = None) -> QMenu:
        """Return the menu of a link; `point` (3,) is the clicked point in the world, if in the viewport."""
        model, name = self._bench.model, self._bench.model.link_names[link]
        menu = self._titled(name)
        self._entry(menu, "&Inspect", lambda: self._inspect(link))
        push = self._entry(menu, "Apply a &force…", lambda: self._push(link))
        push.setEnabled(bool(model.link_body[link] >= 0))
        self._add_plots(menu, "link", name)
        if point is not None:
            self._entry(menu, "&Centre the view here", lambda: self._center(point))
        if (removal := self._window.feature(DistanceView).removal).isEnabled():
            menu.addAction(removal)
        hiding = self._window.feature(LinkHiding)
        self._entry(menu, "S&how" if link in hiding.hidden else "&Hide", lambda: hiding.toggle(link))
        self._entry(menu, "Hide &others", lambda: hiding.hide_others(link))
        if hiding.hidden:
            menu.addAction(hiding.show_all)
        self._entry(menu, "&Copy name", lambda: _copy(name))
        if (part := self._bench.surroundings.part_of_link(link)) >= 0:
            self._add_changes(menu, len(self._window.feature(SceneView).obstacles) + part)
        return menu

    def _of_list(self, at: QPoint) -> QMenu | None:
        scene = self._window.feature(SceneView)
        row = scene.panel.list.row(scene.panel.list.itemAt(at))
        return scene.adding if row < 0 else self._of_thing(row)

    def _of_thing(self, row: int, point: np.ndarray | None = None) -> QMenu:
        """Return the menu of an object in a row of the scene's list."""
        menu = self._titled(self._window.feature(SceneView).things[row].name)
        if point is not None:
            self._entry(menu, "&Centre the view here", lambda: self._center(point))
        self._add_changes(menu, row)
        return menu

    def _add_changes(self, menu: QMenu, row: int) -> None:
        scene = self._window.feature(SceneView)
        menu.addSeparator()
        self._entry(menu, "&Edit…", lambda: self._edit(row))
        self._entry(menu, "&Duplicate", lambda: scene.duplicate(row))
        self._entry(menu, "&Remove", lambda: scene.remove(row))

    def _of_joint(self, menu: QMenu, row: int) -> None:
        """Add a joint's further commands to the menu of its row."""
        coordinate = self._bench.coordinates[row]
        menu.addSeparator()
        zero = self._entry(menu, "Move to &zero", lambda: self._window.joints.moved.emit(row, 0.0))
        zero.setEnabled(coordinate.leader is None)
        self._add_plots(menu, "joint", coordinate.name)
        gains = self._entry(menu, "Auto&matic gains", lambda: self._bench.joints.set_gains(row, None))
        gains.setEnabled(coordinate.holdable and any(v == coordinate.effort_v for v, *_ in self._bench.settings.gains))
        if coordinate.driveable:
            self._entry(menu, "&Drive…", lambda: self._window.feature(DriveView).choose(row))
        self._entry(menu, "&Copy name", lambda: _copy(coordinate.name))
        self.shown = menu

    def _of_plot(self, at: QPoint) -> QMenu | None:
        panel = self._window.feature(PlotsView).panel
        chart: QWidget | None = panel.stack.childAt(at)
        while chart is not None and not isinstance(chart, Chart):
            chart = chart.parentWidget()
        menu = QMenu(self._window)
        if isinstance(chart, Chart):
            for quantity in chart.quantities:
                self._entry(menu, f"Remove {quantity.label}", partial(panel.remove, quantity))
            over = menu.addMenu("Plot &over")
            for x in (each for each in panel.quantities if each not in chart.quantities or len(chart.quantities) > 1):
                pairs = [Pair(x, y) for y in chart.quantities if y != x]
                self._entry(over, x.label, partial(panel.plot_phases, pairs))
            over.setEnabled(not over.isEmpty())
            menu.addSeparator()
        for button in (panel.fit, panel.follow, panel.add_plot, panel.clear_all):
            action = self._entry(menu, button.text() or button.toolTip(), button.click)
            action.setEnabled(button.isEnabled())
        menu.addMenu(panel.save.menu())
        return menu

    def _of_moment(self, at: QPoint) -> QMenu | None:
        view = self._window.feature(TimeView)
        track, run = view.bar.track, self._bench.replay.chosen
        if run is None or len(run) < 2:
            return None
        seconds = track.seconds(at.x())
        menu = self._titled(f"{seconds:.3f} s")
        for keyframe in view.keyframes.seen_in(run, self._bench.replay.runs):
            if abs(track.place(keyframe.frame.time) - at.x()) <= NEAR:
                view.keyframes.put_entries(menu.addMenu(keyframe.name.replace("&", "&&")), keyframe)
        self._entry(menu, "&Show this frame", lambda: track.sought.emit(seconds))
        for action in (view.branch, view.keyframe, view.loop.start, view.loop.end):
            self._entry(menu, action.text(), partial(self._at_moment, seconds, action))
        self._entry(menu, "&Copy time", lambda: _copy(f"{seconds:.6g}"))
        return menu

    # Commands.

    def _titled(self, title: str) -> QMenu:
        menu = QMenu(self._window)
        menu.addAction(title.replace("&", "&&")).setEnabled(False)
        menu.addSeparator()
        return menu

    def _entry(self, menu: QMenu, text: str, slot: Callable[[], Any]) -> QAction:
        action = QAction(text, menu)
        action.triggered.connect(lambda _: slot())
        menu.addAction(action)
        return action

    def _add_plots(self, menu: QMenu, subject: str, name: str) -> None:
        """Add a menu of the plots of a joint or link, each with all components."""
        if self._known[0] is not self._bench.model:
            self._known = self._bench.model, catalogue(self._bench.model)
        plots = menu.addMenu("&Plot")
        kinds: dict[str, list[str]] = {}
        for quantity in self._known[1].of(subject, name):
            kinds.setdefault(quantity.kind, []).append(quantity.key)
        for kind, keys in kinds.items():
            self._entry(plots, kind.capitalize(), partial(self._plot, keys))
        if {"position", "velocity"} <= kinds.keys() and subject == "joint":
            x, y = (self._known[1].named(kinds[kind][0]) for kind in ("position", "velocity"))
            self._entry(plots, "Velocity over position", partial(self._plot, [], [Pair(x, y)]))

    def _plot(self, keys: list[str], pairs: Sequence[Pair] = ()) -> None:
        view = self._window.feature(PlotsView)
        if not view.action.isChecked():
            view.action.trigger()
        for key in keys:
            if (quantity := self._known[1].named(key)) is not None:
                view.panel.plot(quantity)
        if pairs:
            view.panel.plot_phases(pairs)

    def _at_moment(self, seconds: float, action: QAction) -> None:
        """Trigger an action at a time of the run."""
        self._window.feature(TimeView).bar.track.sought.emit(seconds)
        action.trigger()

    def _inspect(self, link: int) -> None:
        self._raise("Robot")
        self._window.selection.choose(link)

    def _push(self, link: int) -> None:
        self._raise("Forces")
        self._window.selection.choose(link)

    def _edit(self, row: int) -> None:
        self._raise("Scene")
        self._window.feature(SceneView).choose(row)

    def _raise(self, dock: str) -> None:
        self._window.docks[dock].show()
        self._window.docks[dock].raise_()

    def _center(self, point: np.ndarray) -> None:
        self._viewport.camera.target = np.asarray(point, float) + self._viewport.center
        self._viewport.see(self._viewport.camera)


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)
