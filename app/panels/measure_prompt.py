"""A prompt to measure the algorithms where the automatic choice has no measurement, with the progress of doing so."""

from __future__ import annotations

from PyQt6.QtCore import Qt, QTimer, pyqtSignal
from PyQt6.QtWidgets import QGridLayout, QLabel, QProgressBar, QPushButton, QSizePolicy, QWidget

from app.desktop import theme
from app.jobs.measuring import Measuring

REFRESH = 100  # ms between two polls of the measurement
UNMEASURED = "chosen by reference timings; not measured on this machine yet"
MEASURING = "measuring; simulation and comparison are paused"
MEASURE_TIP = "Time every algorithm on this machine (one to two minutes) for the automatic choice"
STOP_TIP = "Stop the measurement and discard it"


class MeasurePrompt(QWidget):
    """A sentence and a button, with a progress bar while measuring."""

    requested = pyqtSignal()
    """The button was pressed; the owner should call `start`."""
    over = pyqtSignal()
    """The measurement has ended, successfully or not."""

    def __init__(self) -> None:
        super().__init__()
        self.measuring = Measuring()
        self.text, self.button = QLabel(wordWrap=True), QPushButton()
        self.text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.button.clicked.connect(self._press)
        self.progress = QProgressBar(maximum=1000, textVisible=False)
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.text, 0, 0)
        layout.addWidget(self.button, 0, 1, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self.progress, 1, 0, 1, 2)
        layout.setColumnStretch(0, 1)
        self._timer = QTimer(self, timeout=self._poll)
        self._show_state(UNMEASURED)

    def start(self) -> None:
        """Start the measurement."""
        self.measuring.start()
        self._timer.start(REFRESH)
        self.progress.setValue(0)
        self._show_state(MEASURING)

    def show_error(self, problem: str) -> None:
        """Show why nothing was measured, in place of the sentence."""
        self._show_state(problem, "error")

    def close_thread(self) -> None:
        """Stop the measuring thread and wait until it has ended."""
        self._timer.stop()
        self.measuring.close()

    def _press(self) -> None:
        if self.measuring.running:
            self.measuring.stop()
            self.button.setEnabled(False)
        else:
            self.requested.emit()

    def _poll(self) -> None:
        """Show the measuring thread's latest progress."""
        progress = self.measuring.poll()
        if progress is None:
            return
        self.progress.setValue(round(1000 * progress.done))
        if not progress.over:
            return
        self._timer.stop()
        if progress.problem:
            self.show_error(progress.problem)
        else:
            self._show_state(UNMEASURED)
        self.over.emit()

    def _show_state(self, text: str, tint: str = "faint") -> None:
        running = self.measuring.running
        self.text.setText(text)
        theme.tint(self.text, tint)
        self.button.setText("Stop" if running else "Measure")
        self.button.setToolTip(STOP_TIP if running else MEASURE_TIP)
        self.button.setEnabled(True)
        self.progress.setVisible(running)
