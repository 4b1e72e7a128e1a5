"""Pose the paused robot with the mouse: drag a link, or its handles for translation and rotation.

Escape during the drag puts it back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PyQt6.QtCore import QEvent, QObject, QPointF, Qt
from PyQt6.QtGui import QKeyEvent, QMouseEvent

import engine
from app.desktop.angles import ANGLES
from app.features.dragging import SpringLayer, is_pull
from app.features.state_transfer import restore_state
from app.features.window_type import Window
from app.picture.handles import ARROW, AXES, Drag, HandleLayer
from app.picture.steering import CLICK
from app.simulation.messages import Snapshot

SHOWN = 5e-4, np.radians(0.05)
"""m and rad: smaller errors of a pose are not shown."""


@dataclass
class Hold:
    """The grabbed point (3,) in a link's frame, m, `depth` from the eye; or a handle of the link."""

    link: int
    point: np.ndarray
    depth: float
    button: Qt.MouseButton
    start: QPointF
    drag: Drag | None = None
    moved: bool = False
    """Whether it is a drag rather than a click."""


class HandPosing(QObject):
    """Turns drags in the viewport into `Posing.move_link`, and shows the selected link's handles."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._window, self._bench, self._viewport = window, window.workbench, window.viewport
        self.hold: Hold | None = None
        self._still_down = Qt.MouseButton.NoButton  # the button of a drag that ended before its release
        self.handles, self.line = HandleLayer(self._viewport), SpringLayer(self._viewport)
        self._viewport.setMouseTracking(True)
        self._viewport.installEventFilter(self)
        window.selection.changed.connect(lambda _: self._show())
        window.framed.connect(self._follow)
        window.refreshed.connect(self._refresh)
        self._viewport.drawn.connect(lambda _: self._show())

    def _refresh(self) -> None:
        if self.hold is not None and (self._bench.robot.playing or self._bench.posing.grasp is None):
            self._release()
        self._show()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle the mouse events of a drag, and Escape during it; leave all others to the viewport."""
        if self.hold is not None and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            event.accept()  # as a key press, not as a shortcut
            if event.type() == QEvent.Type.KeyPress:
                self._put_back()
            return True
        if not isinstance(event, QMouseEvent):
            return super().eventFilter(watched, event)
        kind = event.type()
        if kind == QEvent.Type.MouseMove and event.buttons() & self._still_down:
            return True  # else it would turn the view
        ends, self._still_down = event.button() == self._still_down, Qt.MouseButton.NoButton
        if kind == QEvent.Type.MouseButtonRelease and ends:
            return True
        if kind == QEvent.Type.MouseButtonPress and self.hold is None:
            return self._take_handle(event) or self._take_point(event)
        if kind == QEvent.Type.MouseMove and self.hold is None:
            self._hover(event)
        elif kind == QEvent.Type.MouseMove:
            self._move(event.position())
            return True
        elif kind == QEvent.Type.MouseButtonRelease and self.hold is not None:
            if event.button() == self.hold.button:
                self._release()
                self._still_down = Qt.MouseButton.NoButton
            return True
        return super().eventFilter(watched, event)

    def _hover(self, event: QMouseEvent) -> None:
        """Highlight the handle under the cursor, unless the camera moves."""
        if event.buttons() == Qt.MouseButton.NoButton:
            handle = self.handles.mark(event.position())
            self._viewport.setCursor(
                Qt.CursorShape.ArrowCursor if handle is None else Qt.CursorShape.PointingHandCursor
            )

    def _take_handle(self, event: QMouseEvent) -> bool:
        keys = event.modifiers() != Qt.KeyboardModifier.NoModifier
        if event.button() != Qt.MouseButton.LeftButton or keys or (shape := self.handles.shape) is None:
            return False
        at, viewport = event.position(), self._viewport
        handle = self.handles.mark(at)
        if handle is None:
            return False
        start = np.array([at.x(), at.y()])
        drag = Drag(handle, shape, viewport.camera, (viewport.width(), viewport.height()), start)
        self.hold = Hold(self._window.selection.link, np.zeros(3), 0.0, event.button(), at, drag)
        self._bench.posing.take_link(self.hold.link)
        self.handles.held = True
        self._show()
        return True

    def _take_point(self, event: QMouseEvent) -> bool:
        """Grab the link under the cursor if requested and movable; return whether it was grabbed."""
        if not is_pull(event):
            return False
        at, frame = event.position(), self._bench.robot.newest
        hit = self._viewport.under(at.x(), at.y())
        if hit is None or frame is None or not self._bench.posing.can_pose(hit.link):
            return False
        pose = frame.link_poses[hit.link]
        point = pose[:3, :3].T @ (hit.point - pose[:3, 3])
        depth = self._viewport.camera.depth(hit.point + self._viewport.center)
        self.hold = Hold(hit.link, point, depth, event.button(), at)
        self._bench.posing.take_link(hit.link, point)
        return True

    def _move(self, at: QPointF) -> None:
        hold, bench = self.hold, self._bench
        hold.moved = hold.moved or (at - hold.start).manhattanLength() > CLICK
        if not hold.moved or bench.posing.grasp is None or bench.robot.playing:
            return
        if hold.drag is None:
            result = bench.posing.move_link(self._viewport.at_depth(at.x(), at.y(), hold.depth))
            self._show_line(at, f"{bench.robot.model.link_names[hold.link]}{left_text(result)}")
            return
        amount = hold.drag.amount(np.array([at.x(), at.y()]))
        target = hold.drag.pose(amount)
        target[:3, 3] -= self._viewport.center
        result = bench.posing.move_link(target)
        handle = hold.drag.handle
        by = f"{1e3 * amount:+.1f} mm" if handle.kind == ARROW else ANGLES.format(amount, "+")
        self.handles.text, self.handles.cursor_at = f"{AXES[handle.axis]} {by}{left_text(result)}", at
        self.handles.update()

    def _show_line(self, at: QPointF, text: str) -> None:
        """Draw a line from the grabbed point to the cursor, visible where the point cannot follow."""
        frame = self._bench.robot.newest
        pose = frame.link_poses[self.hold.link]
        self.line.show_spring(
            self._viewport.place(pose[:3, :3] @ self.hold.point + pose[:3, 3]), at, text, self.hold.link
        )

    def _put_back(self) -> None:
        """End the drag, with pose and setpoints as they were before it."""
        posing, moved = self._bench.posing, self.hold.moved
        grasp, posing.grasp = posing.grasp, None
        if moved and grasp is not None:
            restore_state(self._bench, grasp.before, grasp.before.q, posed=True)
        self._release()

    def _release(self) -> None:
        self._still_down, self.hold = self.hold.button, None
        self._bench.posing.release_link()
        self.line.show_spring(None, None, "")
        self.handles.held, self.handles.text = False, ""
        self._show()
        self._window.refresh()

    def _follow(self, _: Snapshot) -> None:
        hold = self.hold
        if hold is not None and hold.moved and hold.drag is None:
            self._show_line(self.line.cursor_at, self.line.text)
        self._show()

    def _show(self) -> None:
        """Show the handles of the selected link if it can be moved, and none while a link is dragged directly."""
        link, frame = self._window.selection.link, self._bench.robot.newest
        free = self.hold is None or self.hold.drag is not None
        there = free and frame is not None and link < len(frame.link_poses) and self._bench.posing.can_pose(link)
        pose = np.asarray(frame.link_poses[link], float) if there else None
        self.handles.show_frame(pose, [] if pose is None else self._viewport.overlays.pushed(link, pose))


def left_text(result: engine.IKResult) -> str:
    """Format the remaining error of a pose; empty if it is within `SHOWN`."""
    if result.distance > SHOWN[0]:
        return f", {1e3 * result.distance:.0f} mm out of reach"
    return f", {ANGLES.format(result.angle)} out of reach" if result.angle > SHOWN[1] else ""
