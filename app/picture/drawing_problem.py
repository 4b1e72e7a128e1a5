"""`DrawingProblem`: the message in place of a frame that cannot be drawn, and the time of the next attempt."""

from __future__ import annotations

import time
from collections import deque

from PyQt6.QtCore import Qt, QTimer, pyqtSignal
from PyQt6.QtWidgets import QLabel, QWidget

from app.gl.context import NoOpenGL
from app.reasons import reason

PAUSES = (200, 1000)  # ms until drawing is tried again, after the first error and after the second
WHILE = 60.0  # s after which an error no longer counts
UPDATE = "update the graphics driver to one with OpenGL 3.3"
OPEN_AGAIN = "open the robot again"
STILL_WORKING = "Simulation, plots and files work all the same."


def problem_and_fix(error: Exception) -> tuple[str, str]:
    """Return the reason of an exception raised while drawing, and how to fix it."""
    return reason(error), UPDATE if isinstance(error, NoOpenGL) else OPEN_AGAIN


class DrawingProblem(QLabel):
    """A message over the viewport. After a driver reset or a lost context, drawing is soon tried again."""

    again = pyqtSignal()
    """Another attempt at drawing is due, with new OpenGL objects."""
    lasting = pyqtSignal(str, str)
    """Every attempt failed; emits the reason and how to fix it."""

    def __init__(self, parent: QWidget):
        super().__init__(parent)
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setWordWrap(True)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        self._when: deque[float] = deque(maxlen=len(PAUSES) + 1)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.again)

    def show_problem(self, problem: str, fix: str) -> None:
        """Show why nothing can be drawn, and schedule another attempt unless several have failed."""
        self.setText(f"This computer cannot draw the robot: {problem}.\n{STILL_WORKING} To see it, {fix}.")
        self.show()
        now = time.monotonic()
        self._when.append(now)
        before = sum(now - when < WHILE for when in self._when) - 1
        if before < len(PAUSES):
            self._timer.start(PAUSES[before])
        else:
            self.lasting.emit(problem, fix)

    def forget(self) -> None:
        """Hide the message, since a frame was drawn."""
        if self.text():
            self.clear()
            self.hide()

    def reset(self) -> None:
        """Hide the message and forget earlier errors, since another robot is to be drawn."""
        self.forget()
        self._timer.stop()
        self._when.clear()
