"""A button over the viewport that points to the robot when it is out of view, or too small to be seen, and shows it."""

from __future__ import annotations

import numpy as np
from PyQt6.QtCore import QEvent, QObject, QTimer
from PyQt6.QtWidgets import QPushButton

from app.features.window_type import Window
from app.gl.picking import corners_at, seen_at, way_to
from app.simulation.messages import Loaded, Snapshot

BEAT = 150  # ms from a frame to the check whether it contains the robot
TINY = 3.0  # px, below which a robot in the picture cannot be seen
MARGIN = 16  # px from the viewport's edges
ARROWS = "→↘↓↙←↖↑↗"  # by eighths of a turn


class OutOfView(QObject):
    """Checks drawn frames; batches, which draw many robots, are skipped."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._viewport = window.viewport
        self._frame: Snapshot | None = None  # the snapshot shown
        self._moving = np.zeros(0, np.int64)  # links not fixed to the world; fixed ones may have no geometry
        self.button = QPushButton(window.viewport, objectName="note")
        self.button.setToolTip("Fit the robot and the objects around it in the view (F)")
        self.button.clicked.connect(window.view_controls.fit.trigger)
        self.button.clicked.connect(window.viewport.setFocus)
        self.button.hide()
        self._toward: np.ndarray | None = None
        self._timer = QTimer(self, singleShot=True, interval=BEAT, timeout=self._look)
        window.loaded.connect(self._take_robot)
        window.framed.connect(self._take)
        window.viewport.drawn.connect(self._see)
        window.viewport.installEventFilter(self)
        window.closing.connect(self._timer.stop)

    def _see(self) -> None:
        if not self._timer.isActive():
            self._timer.start()

    def _take_robot(self, event: Loaded) -> None:
        self._frame, self._moving = None, np.flatnonzero(event.model.link_body >= 0)

    def _take(self, frame: Snapshot) -> None:
        self._frame = frame

    def _look(self) -> None:
        self._toward = None if self._frame is None or self._frame.batch is not None else self._way(self._frame)
        self._place()

    def _way(self, frame: Snapshot) -> np.ndarray | None:
        viewport = self._viewport
        size, center = (viewport.width(), viewport.height()), viewport.center
        origins = seen_at(viewport.camera, size, frame.link_poses[self._moving, :3, 3] + center)
        inside = origins[np.all((origins > 0) & (origins < size), axis=1)]
        if len(inside) and np.ptp(inside, axis=0).max() >= TINY:
            return None  # in most frames, and faster than computing the robot's bounds
        low, high = viewport.robot_bounds
        if (way := way_to(viewport.camera, size, low + center, high + center)) is not None:
            return way
        corners = corners_at(viewport.camera, size, low + center, high + center)
        toward = corners.mean(0) - np.array(size) / 2
        tiny = np.ptp(corners, axis=0).max() < TINY  # not if a corner is behind the eye, and so nan
        return toward / max(float(np.linalg.norm(toward)), 1e-9) if tiny else None

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
