"""The ghost panel: the ghost's settings, and its distance from the robot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from PyQt6.QtCore import QRectF, QSignalBlocker, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QLinearGradient, QPainter, QPaintEvent
from PyQt6.QtWidgets import QCheckBox, QComboBox, QFormLayout, QLabel, QPushButton, QWidget

import engine
from app.desktop import theme
from app.desktop.actions import algorithm_name
from app.desktop.layouts import horizontal, vertical
from app.desktop.numbers import si_text
from app.simulation.ghost import PRECISIONS, STEPS, GhostSettings
from app.simulation.messages import GhostState

SAME = "same as robot"
COMPUTED = "Computed with"
COMING, PAST = "preparing …", "none: recordings keep no ghost"
ALIKE = "Same settings as the robot: select what should differ"
STEP_NAMES = {Fraction(1, 4): "¼ ×", Fraction(1, 2): "½ ×", Fraction(1): SAME, Fraction(2): "2 ×", Fraction(4): "4 ×"}
PRECISION_NAMES = {"float64": "double", "float32": "single (GPU)"}
RECORDING_TIP = "A saved run of the same robot (.npz) as the ghost, at the times of the run shown"
SCALE = ((0.16, 0.72, 0.86), (0.98, 0.90, 0.35), (0.90, 0.16, 0.20))
"""The colours of a ghost from near to far, distinguishable also with red-green colour blindness."""
SIMULATED, RECORDED = (0.1, 1e-5), (1e-3, 1e-2)
"""The least deviation of the last colour, in the robot's size, and that of the first one, in that of the last.

Simulations differ at first by rounding, two recorded runs by what was set.
"""
STEPS_OF_TEN = 1.0, 2.0, 5.0, 10.0
STRENGTH = 0.85


def scale_of(largest: float, size: float, recorded: bool) -> tuple[float, float]:
    """Return the deviations, m, of the first and the last colour for a ghost of a robot of that size, m.

    The last one follows the `largest` deviation, m, in steps of 1, 2 and 5, so that it seldom changes.
    """
    least, first = RECORDED if recorded else SIMULATED
    last = least * size
    if largest > last:
        power = 10.0 ** math.floor(math.log10(largest))
        last = next((step for step in STEPS_OF_TEN if step * power >= largest), STEPS_OF_TEN[-1]) * power
    return first * last, last


def tints(deviation: np.ndarray, scale: tuple[float, float]) -> np.ndarray:
    """Return each link's colour and opacity, (links, 4), for deviations (links,) on a scale, m."""
    first, last = np.log10(scale)
    share = np.clip((np.log10(np.maximum(deviation, 1e-300)) - first) / (last - first), 0.0, 1.0)
    made = np.full((len(deviation), 4), STRENGTH, np.float32)
    for part in range(3):
        made[:, part] = np.interp(share, np.linspace(0.0, 1.0, len(SCALE)), [color[part] for color in SCALE])
    return made


class Legend(QWidget):
    """The colour scale with its deviations."""

    def __init__(self) -> None:
        super().__init__()
        self._scale = scale_of(0.0, 1.0, recorded=False)
        self.setFixedHeight(2 * self.fontMetrics().height() + 4)
        self.setToolTip("A ghost's link is coloured by its largest distance from the robot's link")

    def show_scale(self, scale: tuple[float, float]) -> None:
        """Show the deviations of the first and the last colour, m."""
        if scale != self._scale:
            self._scale = scale
            self.update()

    def paintEvent(self, _: QPaintEvent) -> None:
        painter = QPainter(self)
        bar = QRectF(0, 2, self.width(), 10)
        gradient = QLinearGradient(bar.topLeft(), bar.topRight())
        for k, color in enumerate(SCALE):
            gradient.setColorAt(k / (len(SCALE) - 1), QColor.fromRgbF(*color))
        painter.fillRect(bar, gradient)
        painter.setPen(theme.color("faint"))
        sides = (Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignHCenter, Qt.AlignmentFlag.AlignRight)
        first, last = self._scale
        for side, deviation in zip(sides, (first, math.sqrt(first * last), last), strict=True):
            text = si_text(deviation, "m", digits=1)
            painter.drawText(self.rect().adjusted(0, 14, 0, 0), side | Qt.AlignmentFlag.AlignTop, text)


class GhostPanel(QWidget):
    """Settings above, numbers below."""

    requested = pyqtSignal(object)
    """`GhostSettings`, or None for no ghost."""
    reset_asked = pyqtSignal()
    """The user wants to reset the ghost to the robot's state."""

    def __init__(self) -> None:
        super().__init__()
        self.on = QCheckBox("Show a ghost")
        self.on.setToolTip("A second simulation from the same state, drawn transparent and coloured by its deviation")
        self.algorithm, self.integrator, self.step, self.precision = (QComboBox() for _ in range(4))
        self.integrator.addItem(SAME, "")
        for name in engine.INTEGRATORS:
            self.integrator.addItem(name, name)
        for step in STEPS:
            self.step.addItem(STEP_NAMES[step], step)
        self.step.setCurrentIndex(STEPS.index(Fraction(1)))
        for precision in PRECISIONS:
            self.precision.addItem(PRECISION_NAMES[precision], precision)
        self.now, self.worst, self.by = (QLabel("–", textFormat=Qt.TextFormat.PlainText) for _ in range(3))
        for label in (self.now, self.worst, self.by):
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            label.setWordWrap(True)
        self.refusal, self.alike, self.reading = (
            QLabel(text, wordWrap=True, textFormat=Qt.TextFormat.PlainText) for text in ("", ALIKE, "")
        )
        theme.tint(self.refusal, "warning")
        theme.tint(self.alike, "accent")
        for label in (self.alike, self.reading):
            label.hide()
        self.reset = QPushButton("Reset to robot")
        self.recording = QPushButton("From a recording…", toolTip=RECORDING_TIP)
        self.reset.setToolTip("Copy the robot's state to the ghost; the deviation starts from here")
        self.legend = Legend()
        self._lay_out()
        self.set_algorithms(())
        self.on.toggled.connect(self._ask)
        self._boxes = self.algorithm, self.integrator, self.precision, self.step
        for box in self._boxes:
            box.currentIndexChanged.connect(self._ask)
        self.reset.clicked.connect(self.reset_asked)

    def _lay_out(self) -> None:
        form = self._form = QFormLayout()
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.setHorizontalSpacing(12)
        for label, widget in (
            ("Algorithm", self.algorithm),
            ("Integrator", self.integrator),
            ("Time step", self.step),
            ("Precision", self.precision),
            ("Deviation", self.now),
            ("Maximum", self.worst),
            (COMPUTED, self.by),
        ):
            form.addRow(label, widget)
        top = horizontal((self.on, 1), self.reset)
        labels = self.recording, self.reading, self.legend, self.alike, self.refusal
        vertical(top, form, *labels, 0, of=self, margins=(12, 8, 12, 8))

    def take_recording(self, on: bool) -> None:
        """Show that the ghost is a recorded run, without settings, or no longer."""
        for box in self._boxes:
            box.setDisabled(on)
        label = self._form.labelForField(self.by)
        assert isinstance(label, QLabel)
        label.setText("Recording" if on else COMPUTED)
        with QSignalBlocker(self.on):
            self.on.setChecked(on)
        self.refusal.clear()
        self.show_state(None, ())

    def show_reading(self, file: str) -> None:
        """Show that a recording is being read from a file of that name; "" for none."""
        self.reading.setText(f"Reading {file} …" if file else "")
        self.reading.setVisible(bool(file))
        if file:
            self.refusal.clear()

    @property
    def settings(self) -> GhostSettings | None:
        """The selected settings; None for no ghost."""
        if not self.on.isChecked():
            return None
        return GhostSettings(*(box.currentData() for box in self._boxes))

    def put(self, settings: GhostSettings | None) -> None:
        """Set the settings, or no ghost, as a user does."""
        with QSignalBlocker(self):
            for box, value in zip(self._boxes, () if settings is None else vars(settings).values(), strict=False):
                known = [box.itemData(k) for k in range(box.count())]  # `findData` finds no fraction
                box.setCurrentIndex(known.index(value) if value in known else 0)
            self.on.setChecked(settings is not None)
        self._ask()

    def set_algorithms(self, names: Sequence[str]) -> None:
        """List the algorithms that simulate the current robot; keep the selection if possible."""
        if [self.algorithm.itemData(k) for k in range(1, self.algorithm.count())] == list(names):
            return
        chosen = self.algorithm.currentData()
        with QSignalBlocker(self.algorithm):
            self.algorithm.clear()
            self.algorithm.addItem(SAME, "")
            for name in names:
                self.algorithm.addItem(algorithm_name(name), name)
            self.algorithm.setCurrentIndex(max(0, self.algorithm.findData(chosen)))

    def _ask(self) -> None:
        self.refusal.clear()
        if not self.on.isChecked():
            self.show_state(None, ())
        self.requested.emit(self.settings)

    def show_state(self, ghost: GhostState | None, links: Sequence[str], why: str = "–") -> None:
        """Show the ghost's distance from the robot with these link names; `why` a requested one is missing."""
        simulated = ghost is not None and not ghost.source
        self.reset.setEnabled(simulated)
        self.alike.setVisible(simulated and ghost.worst == 0.0 and self.settings == GhostSettings())
        if ghost is None or not len(ghost.deviation):
            for label in (self.now, self.worst, self.by):
                label.setText("–")
            if self.on.isChecked() and not self.refusal.text():
                self.now.setText(why)
            return
        far = int(np.argmax(ghost.deviation))
        where = f"  ({links[far]})" if ghost.deviation[far] > 0 else ""
        self.now.setText(f"{si_text(ghost.deviation[far], 'm')}{where}")
        self.now.setToolTip("The largest distance of a point of a link from where its ghost has it")
        self.worst.setText(f"{si_text(ghost.worst, 'm')}  since {ghost.since:.3f} s")
        device = {"cpu": "CPU", "cuda": "GPU", "": ""}[ghost.device]
        steps = f"{algorithm_name(ghost.algorithm)} on the {device}, {1e3 * ghost.dt:g} ms"
        self.by.setText(ghost.source or steps)
