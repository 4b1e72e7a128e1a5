"""Over the picture: what Play waits for, while the robot does not move yet."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PyQt6.QtCore import QEvent, QObject, Qt, QTimer
from PyQt6.QtWidgets import QLabel

if TYPE_CHECKING:
    from app.window import Window

SOON = 700  # ms without motion after which it is said why
BEAT = 500  # ms from one look to the next
TOP = 16  # px from the picture's edge


class Waiting(QObject):
    """Shows a sentence with the seconds that are left, until the first motion."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._bench, self._viewport = window.workbench, window.viewport
        self.label = QLabel("", self._viewport, objectName="waiting", alignment=Qt.AlignmentFlag.AlignCenter)
        self.label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.label.setWordWrap(True)
        self.label.hide()
        self._due, self._moved, self._since = 0.0, -1.0, 0.0  # when code is due; the time shown, and since when
        self._told = 0.0  # seconds that compiling was said to take
        self._timer = QTimer(self, interval=BEAT)
        self._timer.timeout.connect(self._look)
        self._viewport.installEventFilter(self)
        window.refreshed.connect(self._begin)
        window.closing.connect(self._timer.stop)

    def _begin(self) -> None:
        bench = self._bench
        if bench.compiling != self._told:
            self._told, self._due = bench.compiling, time.monotonic() + bench.compiling
        waits = bench.playing and bool(bench.compiling or bench.preparing)
        if waits and not self._timer.isActive():
            self._moved, self._since = bench.time, time.monotonic()
            self._timer.start()
        elif not waits:
            self._timer.stop()
            self.label.hide()

    def _look(self) -> None:
        """Say what is waited for, unless the robot has moved lately."""
        now = time.monotonic()
        if self._bench.time != self._moved:
            self._moved, self._since = self._bench.time, now
        if 1e3 * (now - self._since) < SOON:
            self.label.hide()
            return
        self.label.setText(waits_for(self._bench.compiling, self._due - now))
        self._place()
        self.label.show()

    def _place(self) -> None:
        room = self._viewport.width() - 2 * TOP
        self.label.setFixedWidth(min(room, self.label.fontMetrics().horizontalAdvance(self.label.text()) + 40))
        self.label.adjustSize()
        self.label.move((self._viewport.width() - self.label.width()) // 2, TOP)
        self.label.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.label.isVisible():
            self._place()
        return super().eventFilter(watched, event)


def waits_for(compiling: float, left: float) -> str:
    """The sentence, where compiling takes some seconds or the GPU is prepared, and so many seconds are left."""
    if not compiling:
        return "Preparing the GPU. The simulation starts when it is ready."
    until = f"about {left:.0f} s left" if left >= 1 else "almost ready"
    return f"Compiling for this robot and scene, once on this computer: {until}. The simulation then starts."
