"""A note in the viewport on the reason why the robot does not move yet after Play."""

from __future__ import annotations

import time

from PyQt6.QtCore import QObject, QTimer

from app.features.window_type import Window
from app.picture.note import PictureNote

SOON = 700  # ms without motion before the reason is shown
BEAT = 500  # ms between two checks
FIRST_STEP = "The first step is being computed. The simulation then starts."


class Waiting(QObject):
    """Shows the reason and the remaining seconds, until the first motion."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._bench = window.workbench
        self.note = PictureNote(window.viewport)
        self._due, self._moved, self._since = 0.0, -1.0, 0.0  # when code is due; the time shown, and since when
        self._start = -1.0  # the time shown at Play
        self._reported = 0.0  # estimated compile time, s
        self._timer = QTimer(self, interval=BEAT, timeout=self._poll)
        window.refreshed.connect(self._begin)
        window.closing.connect(self._timer.stop)

    def _begin(self) -> None:
        bench = self._bench
        if bench.computation.compiling != self._reported:
            self._reported, self._due = bench.computation.compiling, time.monotonic() + bench.computation.compiling
        if bench.robot.playing and not self._timer.isActive():
            self._start = self._moved = bench.robot.time
            self._since = time.monotonic()
            self._timer.start()
        elif not bench.robot.playing:
            self._timer.stop()
            self.note.say("")

    def _poll(self) -> None:
        """Show the reason, unless the robot has moved recently."""
        now = time.monotonic()
        if self._bench.robot.time != self._moved:
            self._moved, self._since = self._bench.robot.time, now
        computation = self._bench.computation
        if 1e3 * (now - self._since) < SOON:
            self.note.say("")
        elif computation.compiling or computation.preparing:
            self.note.say(waits_for(computation.compiling, self._due - now))
        else:
            self.note.say(FIRST_STEP if self._moved == self._start else "")


def waits_for(compiling: float, left: float) -> str:
    """Return the message for compiling, with `left` s remaining, or for preparing the GPU if `compiling` is 0."""
    if not compiling:
        return "Preparing the GPU. The simulation starts when it is ready."
    until = f"about {left:.0f} s left" if left >= 1 else "almost ready"
    return f"Compiling for this robot and scene, once on this computer: {until}. The simulation then starts."
