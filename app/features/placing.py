"""Move obstacles and free bodies by a right drag: horizontally, with Shift vertically, with Ctrl about the vertical.

Escape during the drag puts it back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from PyQt6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PyQt6.QtGui import QKeyEvent, QMouseEvent

from app.acting.scene_objects import SceneObject
from app.desktop.actions import MESSAGE
from app.desktop.context_menus import LINK, OBJECT, SECOND, SPACE, Clicked
from app.features.scene_view import SceneView
from app.features.second_robot_view import SecondRobotView
from app.features.window_type import Window
from app.gl.picking import ray

TURN = np.radians(0.5)  # rad per pixel


@dataclass
class Grip:
    """The grabbed object: its row in the scene's list, its initial state and the grabbed point."""

    row: int
    item: SceneObject
    point: np.ndarray
    """(3,), m, in the world."""
    cursor: QPointF
    now: np.ndarray
    """(4, 4), the current pose."""


class Placing(QObject):
    """Handles right drags that begin on an obstacle, or while paused on a free body; ignores all others."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._window, self._bench, self._viewport = window, window.workbench, window.viewport
        self.grip: Grip | None = None
        self._viewport.installEventFilter(self)
        self._viewport.pressed.connect(self._click)
        window.menus.context.watch(self._viewport, self._clicked, drags=True, selected=self._selected)

    @property
    def _scene(self) -> SceneView:
        return self._window.feature(SceneView)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle the mouse events of a drag."""
        if self.grip is not None and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            event.accept()  # as a key press, not as a shortcut
            if event.type() == QEvent.Type.KeyPress:
                self._show_at(self.grip.item.pose)
                self.grip = None
            return True
        if isinstance(event, QMouseEvent):
            if event.type() == QEvent.Type.MouseButtonPress and self.grip is None:
                return event.button() == Qt.MouseButton.RightButton and self._grab(event.position())
            if self.grip is not None and event.type() == QEvent.Type.MouseMove:
                self._move(event)
                return True
            if self.grip is not None and event.type() == QEvent.Type.MouseButtonRelease:
                if event.button() == Qt.MouseButton.RightButton:
                    self._release()
                return True
        return super().eventFilter(watched, event)

    def under(self, at: QPointF) -> tuple[int, np.ndarray, int] | None:
        """Return the scene list row (−1: the robot), point (3,) and link (−1: none) under the cursor."""
        hit, obstacle = self._viewport.under(at.x(), at.y()), self._viewport.obstacle_under(at.x(), at.y())
        if obstacle is not None and (hit is None or obstacle.distance < hit.distance):
            return obstacle.link, obstacle.point, -1
        if hit is None:
            return None
        part = self._bench.surroundings.part_of_link(hit.link)
        return (len(self._scene.obstacles) + part if part >= 0 else -1), hit.point, hit.link

    def _clicked(self, at: QPoint) -> Clicked | None:
        """Return the subject of a context menu."""
        if self._bench.robot.model is None:
            return None
        second, view, place = self._window.feature(SecondRobotView), self._viewport, (at.x(), at.y())
        hit, others = second.under(QPointF(at)), (view.under(*place), view.obstacle_under(*place))
        if hit is not None and all(each is None or hit.distance < each.distance for each in others):
            return Clicked(SECOND, second.model.link_names[hit.link], hit.link, point=hit.point)
        row, point, link = self.under(QPointF(at)) or (-1, None, -1)
        if link >= 0:
            return Clicked(LINK, self._bench.robot.model.link_names[link], link, point=point)
        return Clicked(SPACE) if row < 0 else Clicked(OBJECT, self._scene.objects[row].name, row, point=point)

    def _selected(self) -> tuple[Clicked | None, QPoint]:
        """Return the subject of a context menu for the menu key, and where it is seen."""
        model, frame, middle = self._bench.robot.model, self._bench.shown, self._viewport.rect().center()
        link, row = self._window.selection.link, self._scene.panel.row
        if model is None or frame is None or max(link, row) < 0:
            return (None if model is None else Clicked(SPACE)), middle
        title, kind = (model.link_names[link], LINK) if link >= 0 else (self._scene.objects[row].name, OBJECT)
        pose = frame.link_poses[link] if link >= 0 else self._scene.objects[row].pose
        seen = self._viewport.place(pose[:3, 3])
        at = middle if seen is None or not self._viewport.rect().contains(seen.toPoint()) else seen.toPoint()
        return Clicked(kind, title, link if link >= 0 else row, point=pose[:3, 3]), at

    def _click(self, at: QPointF) -> None:
        """Select the clicked obstacle; links are selected elsewhere."""
        hit = self.under(at)
        if hit is not None and 0 <= hit[0] < len(self._scene.obstacles):
            self._window.selection.choose(-1)
            self._scene.choose(hit[0])
        elif self._scene.panel.row >= 0 and (hit is None or hit[0] < 0):
            self._scene.choose(-1)

    def _grab(self, at: QPointF) -> bool:
        hit = self.under(at)
        if hit is None or hit[0] < 0:
            return False
        row, point, link = hit
        if (replay := self._bench.replay).active:
            if link < 0:
                reported = f"{replay.reason}; to move objects {replay.ways_on}"
                self._window.statusBar().showMessage(reported, MESSAGE)
            return False
        part = row - len(self._scene.obstacles)
        if part >= 0 and (self._bench.robot.playing or not self._bench.surroundings.is_free(part)):
            return False  # which is pulled instead
        item = self._scene.objects[row]
        self.grip = Grip(row, item, point, at, item.pose)
        self._scene.choose(row)
        return True

    def _move(self, event: QMouseEvent) -> None:
        grip, keys, pose = self.grip, event.modifiers(), self.grip.item.pose.copy()
        if keys & Qt.KeyboardModifier.ControlModifier:
            angle = TURN * (event.position().x() - grip.cursor.x())
            c, s = np.cos(angle), np.sin(angle)
            pose[:3, :3] = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ pose[:3, :3]
        else:
            normal = np.array([0.0, 0.0, 1.0])
            if upwards := bool(keys & Qt.KeyboardModifier.ShiftModifier):
                normal = self._viewport.camera.axes()[2] * [1, 1, 0]
            to = self._on_plane(event.position(), normal)
            if to is None:
                return
            pose[:3, 3] += (to - grip.point) * ([0, 0, 1] if upwards else [1, 1, 0])
        self._show_at(pose)

    def _show_at(self, pose: np.ndarray) -> None:
        """Show the object in a pose, which it has once the button is released."""
        grip = self.grip
        grip.now = pose
        if grip.row < len(self._scene.obstacles):
            self._viewport.overlays.move_obstacle(grip.row, pose)
        else:
            self._bench.surroundings.place_part(grip.row - len(self._scene.obstacles), pose)

    def _on_plane(self, at: QPointF, normal: np.ndarray) -> np.ndarray | None:
        """Intersect the line of sight with the plane through the grabbed point; None without an intersection."""
        viewport = self._viewport
        eye, direction = ray(viewport.camera, (viewport.width(), viewport.height()), (at.x(), at.y()))
        eye = eye - viewport.center
        along = float(normal @ direction)
        distance = float(normal @ (self.grip.point - eye)) / along if abs(along) > 1e-6 else -1.0
        return eye + distance * direction if distance > 0 else None

    def _release(self) -> None:
        grip, self.grip = self.grip, None
        if grip.now is not grip.item.pose:
            self._scene.change(grip.row, replace(grip.item, pose=grip.now))
