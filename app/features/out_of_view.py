"""A button over the viewport that points to the robot when it is out of view, or too small to be seen, and shows it."""

from __future__ import annotations

import numpy as np
from PyQt6.QtCore import QEvent, QObject, QTimer
from PyQt6.QtWidgets import QPushButton

from app.features.window_type import Window

BEAT = 150  # ms from a frame to the check whether it contains the robot
MARGIN = 16  # px from the viewport's edges
ARROWS = "→↘↓↙←↖↑↗"  # by eighths of a turn


class OutOfView(QObject):
    """Checks drawn frames; batches, which draw many robots, are skipped."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._viewport = window.viewport
        self.button = QPushButton(window.viewport, objectName="note")
        self.button.setToolTip("Fit the robot and the objects around it in the view (F)")
        self.button.clicked.connect(window.view_controls.fit.trigger)
        self.button.clicked.connect(window.viewport.setFocus)
        self.button.hide()
        self._toward: np.ndarray | None = None
        self._timer = QTimer(self, singleShot=True, interval=BEAT, timeout=self._update)
        window.viewport.drawn.connect(self._see)
        window.viewport.installEventFilter(self)
        window.closing.connect(self._timer.stop)

    def _see(self) -> None:
        if not self._timer.isActive():
            self._timer.start()

    def _update(self) -> None:
        self._toward = self._viewport.way_to_robot
        self._place()

    def _place(self) -> None:
        self.button.setVisible(self._toward is not None)
        if self._toward is None:
            return
        eighths = round(float(np.arctan2(self._toward[1], self._toward[0])) / (np.pi / 4)) % 8
        self.button.setText(f"{ARROWS[eighths]}  Show the robot")
        self.button.adjustSize()
        room = (
            np.array([self._viewport.width() - self.button.width(), self._viewport.height() - self.button.height()]) / 2
        )
        reach = np.min((room - MARGIN) / np.maximum(np.abs(self._toward), 1e-9))
        x, y = room + reach * self._toward
        self.button.move(round(float(x)), round(float(y)))
        self.button.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.button.isVisible():
            self._place()
        return super().eventFilter(watched, event)
