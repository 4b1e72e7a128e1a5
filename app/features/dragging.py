"""Pull a link with a spring while the robot plays: drag with the right button, or with Ctrl and the left one.

Other simulators do the same: Newton's viewer with the right button, MuJoCo's with Ctrl and a button.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PyQt6.QtCore import QEvent, QObject, QPointF, Qt
from PyQt6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen
from PyQt6.QtWidgets import QWidget

from app.desktop import theme
from app.desktop.actions import MESSAGE, NO_ROBOT, make_action, offer
from app.desktop.numbers import si_text
from app.features.window_type import Window
from app.picture.labels import draw_text_at
from app.simulation.messages import Loaded, Snapshot

if TYPE_CHECKING:
    from app.picture.viewport import Viewport

HELP = "While the simulation runs, drag a link with the right button, or with Ctrl and the left one"
SOON = 0.5  # s until the reason for a delay is shown
COMPILING = "compiling, once for this machine"


@dataclass
class Hold:
    """The grabbed point (3,) in the frame of a link, m, and the target (3,) to which it is pulled."""

    link: int
    point: np.ndarray
    target: np.ndarray
    depth: float
    """The target's distance from the eye along the line of sight, m."""
    button: Qt.MouseButton
    cursor: QPointF
    since: float
    """The time of the grab, by time.perf_counter."""
    over: bool = False
    """Whether it no longer pulls, as after a reset, although the button is still down."""


class Dragging(QObject):
    """Turns drags in the viewport into `Workbench.forces`, and draws the spring."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._bench, self._viewport, self._status = window.workbench, window.viewport, window.bar
        self.hold: Hold | None = None
        self.layer = SpringLayer(self._viewport)
        self._viewport.installEventFilter(self)
        self.action = make_action(window, "P&ull a link…", self._show_help, tip=HELP)
        window.menus.simulation.put(self.action)
        window.loaded.connect(self._forget)
        window.framed.connect(self._show)
        window.refreshed.connect(self._refresh)

    def _show_help(self) -> None:
        self._status.showMessage(HELP, MESSAGE)

    def _refresh(self) -> None:
        offer(self.action, (self._bench.robot.model is not None, NO_ROBOT))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle the mouse events of a drag; leave all others to the viewport."""
        if isinstance(event, QMouseEvent):
            if event.type() == QEvent.Type.MouseButtonPress and self.hold is None:
                return self._grab(event)
            if self.hold is not None and event.type() == QEvent.Type.MouseMove:
                self._move(event.position())
                return True
            if self.hold is not None and event.type() == QEvent.Type.MouseButtonRelease:
                if event.button() == self.hold.button:
                    self._release()
                return True
        elif event.type() == QEvent.Type.Resize and watched is self._viewport:
            self.layer.setGeometry(self._viewport.rect())
        return super().eventFilter(watched, event)

    def _grab(self, event: QMouseEvent) -> bool:
        """Grab the link under the cursor if the buttons request it; return whether the event is handled."""
        if not is_pull(event):
            return False
        place, frame, model = event.position(), self._bench.robot.newest, self._bench.robot.model
        hit = self._viewport.under(place.x(), place.y())
        if hit is None or frame is None or model is None:
            return False
        if self._bench.replay.active:
            ways = self._bench.replay.ways_on
            self._status.showMessage(f"{self._bench.replay.reason}; to pull links {ways}", MESSAGE)
            return True
        if model.link_body[hit.link] < 0:
            self._status.showMessage(f"{model.link_names[hit.link]} is fixed; pull a link that moves", MESSAGE)
            return True
        pose = frame.link_poses[hit.link]
        point = pose[:3, :3].T @ (hit.point - pose[:3, 3])
        depth = self._viewport.camera.depth(hit.point + self._viewport.center)
        self.hold = Hold(hit.link, point, hit.point, depth, event.button(), place, time.perf_counter())
        self._bench.forces.grab(hit.link, point, hit.point, self._viewport.robot_size)
        self._show(frame)
        return True

    def _move(self, cursor: QPointF) -> None:
        hold, viewport = self.hold, self._viewport
        if hold.over:
            return
        if not self._bench.robot.playing:  # a click opens a menu
            self._status.advise("The spring acts while the simulation runs: press Space")
        hold.cursor = cursor
        hold.target = viewport.at_depth(cursor.x(), cursor.y(), hold.depth)
        self._bench.forces.pull(hold.target)
        self.layer.update()

    def _release(self) -> None:
        self.hold = None
        self._bench.forces.release()
        self.layer.show_spring(None, None, "")

    def _forget(self, _: Loaded) -> None:
        if self.hold is not None:
            self._release()

    def _show(self, frame: Snapshot) -> None:
        """Draw the spring from the point's current position to the cursor."""
        if (hold := self.hold) is None or hold.over:
            return
        if not self._bench.forces.grabbed:
            hold.over = True
            self.layer.show_spring(None, None, "")
            return
        pose = frame.link_poses[hold.link]
        point = self._viewport.place(pose[:3, :3] @ hold.point + pose[:3, 3])
        name = self._bench.robot.model.link_names[hold.link]
        if not self._bench.robot.playing:
            text = "paused"
        elif frame.pull is not None:
            text = force_text(frame.pull)
        else:
            text = COMPILING if time.perf_counter() > hold.since + SOON else ""
        self.layer.show_spring(point, hold.cursor, f"{name}  {text}", hold.link)


def is_pull(event: QMouseEvent) -> bool:
    """Whether a press of the mouse begins to pull or to pose what is under it."""
    held_down = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
    return event.button() == Qt.MouseButton.RightButton or (event.button() == Qt.MouseButton.LeftButton and held_down)


def force_text(force: np.ndarray) -> str:
    """Format a force (3,), N, with three digits."""
    return si_text(float(np.linalg.norm(force)), "N")


class SpringLayer(QWidget):
    """An overlay on the viewport: a line from the pulled point to the cursor, with the link's name and the force."""

    def __init__(self, viewport: Viewport):
        super().__init__(viewport)
        self._viewport = viewport
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._point: QPointF | None = None
        self.cursor_at = QPointF()
        self.text = ""
        """The text beside the cursor."""
        self.hide()

    def show_spring(self, point: QPointF | None, cursor: QPointF | None, text: str, link: int = -1) -> None:
        """Draw the spring of a link, which `text` names, between two widget positions; hide it if `point` is None."""
        self._viewport.overlays.drag(link)
        self._point, self.cursor_at, self.text = point, cursor or QPointF(), text
        self.setGeometry(self.parentWidget().rect())
        self.setVisible(point is not None)
        self.raise_()
        self.update()

    def paintEvent(self, _: QPaintEvent) -> None:
        if self._point is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        accent = theme.color("warning")
        dark = QColor(0, 0, 0, 120) if theme.is_dark() else QColor(255, 255, 255, 160)
        for color, width in ((dark, 5.0), (accent, 2.4)):
            painter.setPen(QPen(color, width, cap=Qt.PenCapStyle.RoundCap))
            painter.drawLine(self._point, self.cursor_at)
        painter.setPen(QPen(dark, 1.0))
        painter.setBrush(accent)
        painter.drawEllipse(self._point, 4.5, 4.5)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(accent, 2.0))
        painter.drawEllipse(self.cursor_at, 7.0, 7.0)
        draw_text_at(painter, self.font(), self.cursor_at, self.text, self.width())
