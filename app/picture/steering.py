"""A base widget that moves a camera with the mouse, reports clicks and converts points of its picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PyQt6.QtCore import QPointF, Qt, pyqtSignal
from PyQt6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent
from PyQt6.QtWidgets import QWidget

from app.gl.camera import Camera
from app.gl.picking import ray, seen_at

TURN = np.radians(0.35)  # rad of camera rotation per pixel of a drag
WHEEL = 1.0012  # zoom factor per wheel unit; a notch has 120 units
CLICK = 4  # px that the mouse may move during a click


class SteeredView(QWidget):
    """Left drag orbits, middle drag or Shift and left drag pans, the wheel zooms.

    A double click or F requests to fit everything in view.
    """

    steered = pyqtSignal()
    """The user has moved the camera."""
    pressed = pyqtSignal(QPointF)
    """The position of a click with the left button."""
    fit_asked = pyqtSignal()

    def __init__(self, parent: QWidget | None = None):
        super().__init__(parent)
        self.camera = Camera()
        self._center = np.zeros(3)  # where the selected robot is drawn
        self._mouse = self._pressed = QPointF()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    @property
    def center(self) -> NDArray[np.float64]:
        """Where the selected robot is drawn, (3,), m; the origin, unless it is one of a batch side by side."""
        return self._center

    def place(self, point: ArrayLike) -> QPointF | None:
        """Return the widget position of a point (3,) of the robot; None if it is behind the eye."""
        x, y = seen_at(self.camera, (self.width(), self.height()), [np.asarray(point, float) + self._center])[0]
        return None if np.isnan(x) else QPointF(x, y)

    def at_depth(self, x: float, y: float, depth: float) -> NDArray[np.float64]:
        """Return the point (3,), m, at a widget position and a depth from the eye along the view axis."""
        eye, direction = ray(self.camera, (self.width(), self.height()), (x, y))
        return eye + direction * depth / self.camera.depth(eye + direction) - self._center

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._mouse = self._pressed = event.position()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Emit a click unless the mouse was dragged."""
        moved = (event.position() - self._pressed).manhattanLength()
        if event.button() == Qt.MouseButton.LeftButton and moved <= CLICK:
            self.pressed.emit(event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        step = event.position() - self._mouse
        self._mouse = event.position()
        shifted = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        left, middle = Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton
        if event.buttons() & middle or (event.buttons() & left and shifted):
            side = min(self.width(), self.height())
            self.camera.pan(-step.x() / side, step.y() / side)
        elif event.buttons() & left:
            self.camera.orbit(-step.x() * TURN, step.y() * TURN)
        else:
            return
        self.steered.emit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.camera.zoom(WHEEL ** event.angleDelta().y())
        self.steered.emit()

    def mouseDoubleClickEvent(self, _: QMouseEvent) -> None:
        self.fit_asked.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_F:
            self.fit_asked.emit()
        else:
            super().keyPressEvent(event)
