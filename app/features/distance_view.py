"""View › Measure distance: click two points on surfaces; the line between them follows what they are on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PyQt6.QtCore import QEvent, QObject, QPointF, Qt
from PyQt6.QtGui import QGuiApplication, QKeyEvent, QMouseEvent
from PyQt6.QtWidgets import QMenu, QPushButton

import engine
from app.desktop.actions import NO_ROBOT, check, make_action, offer
from app.desktop.context_menus import LINK, SECOND, SPACE, Clicked
from app.desktop.numbers import si_text
from app.features.second_robot_view import SecondRobotView
from app.features.window_type import Window
from app.gl.distance import End, fixed_to
from app.gl.picking import pick_ground, ray
from app.picture.steering import CLICK
from app.simulation.messages import Loaded, Snapshot

MARGIN = 16  # px from the viewport's edges
GAP = "   "
ASKS = ("Click the first point on a link, an object or the ground; Escape cancels", "Click the second point")
TIP = "Measure the distance between two points that you click on surfaces, while the robot moves, too"

NONE_MEASURED = "no distance is measured"


class DistanceView(QObject):
    """Takes clicks while its action is checked; the distance stays until it is removed or another one is measured."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._window, self._bench, self._viewport = window, window.workbench, window.viewport
        self.ends: tuple[End, ...] = ()
        """The points, none to two."""
        self._pressed: QPointF | None = None
        self._text = ""  # of the button, in one line
        self._model: engine.Model | None = None  # whose links the ends are on
        self._path, self._second = "", window.feature(SecondRobotView)
        self.action = make_action(window, "&Measure distance", self._begin, "M", tip=TIP, checkable=True)
        tip = "Remove the measured distance from the picture"
        self.removal = make_action(window, "&Remove distance", self.remove, tip=tip)
        window.menus.view.put(self.action, self.removal, apart=True)
        self.button = QPushButton(self._viewport, objectName="note", clicked=self.remove)
        self.button.clicked.connect(self._viewport.setFocus)
        self.button.hide()
        for each in (window, self._viewport):
            each.installEventFilter(self)
        window.framed.connect(self._follow)
        window.loaded.connect(self._on_loaded)
        window.refreshed.connect(self._refresh)
        self._viewport.overlays.changed.connect(self._drop_lost)
        window.menus.context.offer("measure", self._put_removal, LINK, SECOND, SPACE)

    def _put_removal(self, menu: QMenu, _: Clicked) -> None:
        menu.addActions([self.removal] if self.ends else [])

    @property
    def vector(self) -> np.ndarray | None:
        """The vector (3,) from the first to the second point, m; None unless both are set."""
        if self._bench.shown is None:
            return None
        line = self._viewport.overlays.measured(self._bench.shown.link_poses)
        return np.asarray(line[1] - line[0]) if len(line) == 2 else None

    def remove(self) -> None:
        """Remove the distance, or stop measuring."""
        self._set(())
        self._stop()

    def under(self, at: QPointF) -> End | None:
        """Return the nearest surface point under the cursor; None without a surface."""
        viewport, place = self._viewport, (at.x(), at.y())
        hit, obstacle, second = viewport.under(*place), viewport.obstacle_under(*place), self._second.under(at)
        world = viewport.overlays.world
        eye, sight = ray(viewport.camera, (viewport.width(), viewport.height()), place)
        eye = eye - viewport.center
        plane, terrain = ((0, 0, 1, viewport.floor), None) if world is None else (world.plane, world.terrain)
        ground = pick_ground(plane, terrain, eye, sight)
        nearest = min(ground, *(np.inf if each is None else each.distance for each in (hit, obstacle, second)))
        if hit is not None and hit.distance == nearest:
            return End(fixed_to(self._bench.shown.link_poses[hit.link], hit.point), link=hit.link)
        if obstacle is not None and obstacle.distance == nearest:
            return End(fixed_to(world.poses[obstacle.link], obstacle.point), obstacle=obstacle.link)
        if second is not None and second.distance == nearest:
            _, poses = viewport.overlays.second_robot
            return End(fixed_to(poses[second.link], second.point), second=second.link)
        return End(eye + nearest * sight) if np.isfinite(nearest) else None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take clicks while measuring, and Escape; drags turn the view as usual."""
        kind = event.type()
        if isinstance(event, QKeyEvent):
            drags = QGuiApplication.mouseButtons() != Qt.MouseButton.NoButton  # which Escape ends first
            escaped = kind == QEvent.Type.KeyPress and event.key() == Qt.Key.Key_Escape and not drags
            if escaped and (self.ends or self.action.isChecked()) and not self._window.isFullScreen():
                self.remove()
                return True
        elif watched is self._viewport and kind == QEvent.Type.Resize:
            self._place()
        elif watched is self._viewport and isinstance(event, QMouseEvent) and self.action.isChecked():
            return self._handle_mouse(event)
        return super().eventFilter(watched, event)

    def _handle_mouse(self, event: QMouseEvent) -> bool:
        kind, at = event.type(), event.position()
        if kind == QEvent.Type.MouseMove and event.buttons() == Qt.MouseButton.NoButton:
            if len(self.ends) > 0 and (end := self.under(at)) is not None:
                self._set((self.ends[0], end))
            return True
        if event.button() != Qt.MouseButton.LeftButton:
            return False
        if kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick):
            self._pressed = at
            return kind == QEvent.Type.MouseButtonDblClick
        if kind != QEvent.Type.MouseButtonRelease or self._pressed is None:
            return False
        moved, self._pressed = (at - self._pressed).manhattanLength(), None
        if moved > CLICK:
            return False
        self._click(self.under(at))
        return True

    def _click(self, end: End | None) -> None:
        if end is None:
            self._window.statusBar().showMessage("Nothing is here: click a link, an object or the ground")
        elif not self.ends:
            self._set((end,))
            self._window.statusBar().showMessage(ASKS[1])
        else:
            self._set((self.ends[0], end))
            self._stop()

    def _begin(self, on: bool) -> None:
        if not on:
            self.remove()
            return
        self._window.selection.choose(-1)  # whose handles would take clicks
        self._set(())
        self._viewport.setCursor(Qt.CursorShape.CrossCursor)
        self._window.statusBar().showMessage(ASKS[0])

    def _stop(self) -> None:
        check(self.action, False)
        self._viewport.setCursor(Qt.CursorShape.ArrowCursor)
        if self._window.statusBar().currentMessage() in ASKS:
            self._window.statusBar().clearMessage()

    def _set(self, ends: tuple[End, ...]) -> None:
        self.ends = ends
        self._viewport.overlays.set_distance(ends)
        self._show()

    def _follow(self, _: Snapshot) -> None:
        if self.ends:
            self._show()

    def _on_loaded(self, event: Loaded) -> None:
        """Keep the points if the same file was loaded again and still has their links."""
        names, same = event.model.link_names, event.path == self._path
        kept = ["" if end.link < 0 or self._model is None else self._model.link_names[end.link] for end in self.ends]
        second = any(end.second >= 0 for end in self.ends)  # which is placed again
        lost = not same or second or not all(name in names for name in kept if name)
        ends = () if lost else tuple(
            replace(end, link=names.index(name) if name else -1)
            for end, name in zip(self.ends, kept, strict=True)
        )  # fmt: skip
        self._model, self._path = event.model, event.path
        self._set(ends)
        if len(ends) < 2:
            self._stop()

    def _drop_lost(self) -> None:
        """Take over the ends that remain after a change of what they may be on."""
        kept = self._viewport.overlays.distance
        if kept != self.ends and self._bench.robot.model is self._model:
            self._set(kept) if kept else self.remove()

    def _refresh(self) -> None:
        offer(self.action, (self._bench.robot.model is not None, NO_ROBOT))
        offer(self.removal, (self.ends, NONE_MEASURED))

    def _show(self) -> None:
        vector = self.vector
        self.button.setVisible(vector is not None)
        offer(self.removal, (self.ends, NONE_MEASURED))
        if vector is None:
            return
        parts = GAP.join(f"{axis} {si_text(float(x), 'm')}" for axis, x in zip("xyz", vector, strict=True))
        text = f"{si_text(float(np.linalg.norm(vector)), 'm')}:{GAP}{parts}".replace("-", "−")
        if text != self._text:
            self._text = text
            ends = " to ".join(self._name(end) for end in self.ends)
            self.button.setToolTip(
                f"Distance from {ends}, with its components along the world's axes; click removes it"
            )
            self._place()

    def _name(self, end: End) -> str:
        if end.link >= 0:
            return self._bench.robot.model.link_names[end.link]
        if end.second >= 0:
            return f"{self._second.model.link_names[end.second]} of the second robot"
        return f"obstacle {end.obstacle + 1}" if end.obstacle >= 0 else "the ground"

    def _place(self) -> None:
        """Put the button into the upper right corner, in lines where the viewport is narrow."""
        for text in (self._text, self._text.replace(GAP, "\n")):
            self.button.setText(text)
            self.button.adjustSize()
            if self.button.width() <= self._viewport.width() - 2 * MARGIN:
                break
        self.button.move(self._viewport.width() - self.button.width() - MARGIN, MARGIN)
        self.button.raise_()
