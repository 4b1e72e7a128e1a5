"""`DrawingFault`: the sentence in place of a picture that cannot be drawn, and when to try again."""

from __future__ import annotations

import time
from collections import deque

from PyQt6.QtCore import Qt, QTimer, pyqtSignal
from PyQt6.QtWidgets import QLabel, QWidget

from app.desktop.reasons import reason
from app.gl.context import NoOpenGL

PAUSES = (200, 1000)  # ms until drawing is tried again, after the first fault and after the second
WHILE = 60.0  # s after which a fault counts no more
UPDATE = "update the graphics driver to one with OpenGL 3.3"
OPEN_AGAIN = "open the robot again"
GOES_ON = "Simulation, plots and files work all the same."


def told(fault: Exception) -> tuple[str, str]:
    """What an exception that drawing raised says, and its cure."""
    return reason(fault), UPDATE if isinstance(fault, NoOpenGL) else OPEN_AGAIN


class DrawingFault(QLabel):
    """Lies over the viewport. A driver that was reset, or a context that was lost, draws again a moment later."""

    again = pyqtSignal()
    """Drawing is worth another attempt, with objects made anew."""
    lasting = pyqtSignal(str, str)
    """The fault, whose cure is told too, came at each attempt."""

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

    def tell(self, fault: str, cure: str) -> None:
        """Show why nothing can be drawn, and have it tried again unless that was in vain."""
        self.setText(f"This computer cannot draw the robot: {fault}.\n{GOES_ON} To see it, {cure}.")
        self.show()
        now = time.monotonic()
        self._when.append(now)
        before = sum(now - when < WHILE for when in self._when) - 1
        if before < len(PAUSES):
            self._timer.start(PAUSES[before])
        else:
            self.lasting.emit(fault, cure)

    def forget(self) -> None:
        """There is a picture."""
        if self.text():
            self.clear()
            self.hide()

    def begin_anew(self) -> None:
        """What is to be drawn is another robot, to which no fault is known."""
        self.forget()
        self._timer.stop()
        self._when.clear()
