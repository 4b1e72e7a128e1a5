"""A limit of the frames per second, to which requests for frames are delayed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from PyQt6.QtCore import QObject, Qt, QTimer


class FrameLimit(QObject):
    """Delays requests for frames; `draw` is called with the detail of the last delayed one as soon as it is due."""

    def __init__(self, parent: QObject, draw: Callable[[int], None]):
        super().__init__(parent)
        self.fps = math.inf
        """The most frames per second; infinite for no limit."""
        self._due = 0.0  # when the next frame may be drawn
        self._detail = 0  # of the delayed request
        self._timer = QTimer(self, singleShot=True, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(lambda: draw(self._detail))

    def delays(self, detail: int) -> bool:
        """Delay a request if it comes too early, and return whether it did; otherwise its frame is drawn now."""
        now, interval, self._detail = time.perf_counter(), 1 / self.fps, detail
        if now < self._due:
            if not self._timer.isActive():
                self._timer.start(math.ceil(1e3 * (self._due - now)))
            return True
        self._timer.stop()
        self._due = max(self._due, now - interval) + interval  # a late frame does not delay the next
        return False
