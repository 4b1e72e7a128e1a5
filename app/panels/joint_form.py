"""The form of one joint below its row of the table: drive mode, wave, gains and motion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import cast

from PyQt6.QtCore import QSignalBlocker, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QStandardItemModel, QWheelEvent
from PyQt6.QtWidgets import QApplication, QCheckBox, QComboBox, QLabel, QPushButton, QToolButton, QWidget

from app.acting.coordinates import Coordinate
from app.acting.drives import MODES, WAVES, Drive
from app.desktop import theme
from app.desktop.angles import ANGLES
from app.desktop.layouts import horizontal, vertical
from app.desktop.numbers import plain
from app.panels.number_box import PlainBox
from app.simulation.batch_spread import OwnJoint

LIMIT = 1e6
NO_LIMIT = 1e9  # N m or N, the number that stands for no effort limit
ROUNDING = 1e-6  # of an effort at its limit
MIN_PERIOD = 0.02  # s; a sine of a shorter one would be taken at too few times, at worst at its zeros only
MAX_PERIOD = 1e4  # s
WAVE_ANGLE, WAVE_LENGTH = math.radians(10.0), 0.01  # rad and m, the amplitude of a new wave
MODE_NAMES = {"target": "Position", "velocity": "Velocity", "effort": "Effort"}
MODE_TIP = (
    "Position: gains kp and kd hold a position. Velocity: the gain kd holds a velocity, with gravity compensation. "
    "Effort: a torque or force, without gains"
)
WAVE_TIP = (
    "Constant; sine: value + amplitude · sin(2π t / period + phase); step: the amplitude from half of each period on; "
    "trajectory: positions over time from a table, of all joints that it names"
)
WEIGHT_TIP = "The effort that balances gravity at this joint is added"


class JointForm(QWidget):
    """Shows one joint, and emits what the user enters. Numbers are in the units of the table."""

    driven = pyqtSignal(object)
    """The requested `Drive`."""
    entered = pyqtSignal(str)
    """The field of `Drive` whose number Return has entered, also one that is as before."""
    trajectory_asked = pyqtSignal()
    """A trajectory is to be read from a file."""
    own_asked = pyqtSignal(str, float)
    """A field of `OwnJoint` and the number that the joint is to have in place of its file's, SI."""
    gains_asked = pyqtSignal(object)
    """The requested (kp, kd); None for automatic gains."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.motion = QLabel()
        self.mode, self.wave = QComboBox(), QComboBox()
        for mode in MODES:
            self.mode.addItem(MODE_NAMES[mode], mode)
        for wave in WAVES:
            self.wave.addItem(wave.capitalize(), wave)
        tips = ("Value", "Amplitude of the wave", "Period of the wave, s", "Phase of the wave at time zero",
                "kp: effort per position error", "kd: effort per velocity error",
                f"Effort limit: the most that the drive gives either way; {NO_LIMIT:g} for no limit",
                "Coulomb friction of the joint", "Damping: viscous friction of the joint")  # fmt: skip
        boxes = (PlainBox(-LIMIT, LIMIT, 2, tip) for tip in tips)
        self.value, self.amplitude, self.period, self.phase, self.kp, self.kd, *own = boxes
        self.effort_limit, self.friction, self.damping = own
        self.quantity, self.kp_name, self.kd_name, self.limit_name, self.friction_name, self.damping_name = (
            QLabel() for _ in range(6)
        )
        self.weight, self.suited = QCheckBox("Gravity compensation"), QPushButton("Automatic")
        self.away = QToolButton()
        self.away.setIcon(theme.icon("close"))
        self.away.setIconSize(QSize(10, 10))
        self.away.setToolTip("Hide this form; a click on a joint's name shows it again")
        self.period.setDecimals(3)
        self.period.setSuffix(" s")
        for box in (self.kp, self.kd, *own):
            box.setRange(0.0, NO_LIMIT)
        for box in own:
            box.setDecimals(3)
        for widget, tip in ((self.mode, MODE_TIP), (self.wave, WAVE_TIP), (self.weight, WEIGHT_TIP)):
            widget.setToolTip(tip)
        self.suited.setToolTip("Automatic gains: those computed for this robot")
        self.suited.setAccessibleName("Automatic gains")
        for button in (self.away, self.weight, self.suited):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._row: Coordinate | None = None
        self._samples = ""  # of the joint's trajectory
        self._before_velocity: dict[Coordinate, bool] = {}  # whether a joint had gravity compensation before that mode
        self._arrange()
        numbers = "value", "amplitude", "period", "phase"
        for name, box in zip(numbers, (self.value, self.amplitude, self.period, self.phase), strict=True):
            box.valueChanged.connect(self._ask)
            box.lineEdit().returnPressed.connect(partial(self.entered.emit, name))
        self.mode.activated.connect(self._ask_mode)
        self.wave.activated.connect(self._ask_wave)
        self.weight.clicked.connect(self._ask)
        for box in (self.kp, self.kd):
            box.valueChanged.connect(self._ask_gains)
        for name, box in zip(OwnJoint._fields[1:], own, strict=True):
            box.valueChanged.connect(partial(self._ask_own, name))
        self.suited.clicked.connect(lambda: self.gains_asked.emit(None))
        self.show_joint(None, Drive(), (0.0, 0.0), OwnJoint(-1, 0.0, 0.0, 0.0))

    def _arrange(self) -> None:
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAttribute(Qt.WidgetAttribute.WA_NoMousePropagation)  # else a slider above takes clicks beside controls
        theme.tint(self.motion, "faint")
        lines: tuple[tuple[tuple[QLabel, QWidget], ...], ...] = (
            ((QLabel("Drive"), self.mode), (self.quantity, self.value)),
            ((QLabel("Wave"), self.wave), (QLabel("Amplitude"), self.amplitude)),
            ((QLabel("Period"), self.period), (QLabel("Phase"), self.phase)),
            ((self.kp_name, self.kp), (self.kd_name, self.kd), (QLabel(), self.suited)),
            (
                (self.limit_name, self.effort_limit),
                (self.friction_name, self.friction),
                (self.damping_name, self.damping),
            ),
        )
        for label, _ in chain.from_iterable(lines):
            theme.tint(label, "faint")
        drive, wave, times, gains, own = (
            horizontal(*((vertical(*pair, spacing=2), 1) for pair in line), spacing=6)  # each as wide as it asks
            for line in lines
        )
        head = horizontal((self.motion, 1), self.away)
        vertical(head, drive, self.weight, wave, times, gains, own, of=self, margins=(10, 6, 10, 8), spacing=4)

    @property
    def controls(self) -> tuple[QWidget, ...]:
        """The controls in reading order."""
        drive, wave = (self.mode, self.value, self.weight), (self.wave, self.amplitude, self.period, self.phase)
        own = self.effort_limit, self.friction, self.damping
        return *drive, *wave, self.kp, self.kd, self.suited, *own, self.away

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll the table in which the form is."""
        QApplication.sendEvent(self.parentWidget(), event)

    def show_joint(self, row: Coordinate | None, drive: Drive, gains: tuple[float, float], own: OwnJoint) -> None:
        """Show a joint's drive, its gains kp and kd, and its own numbers; a drive may not be in a frame yet."""
        self._row = row
        can = row is not None and row.driveable
        for widget in (self.mode, self.value, self.wave, self.weight, self.kp, self.kd, self.suited, self.effort_limit,
                       self.friction, self.damping):  # fmt: skip
            widget.setEnabled(can)
        if row is None:
            self.motion.clear()
            return
        choices = cast(QStandardItemModel, self.mode.model())
        for place in (0, 1):
            choices.item(place).setEnabled(row.holdable)
        self.mode.setCurrentIndex(self.mode.findData(drive.mode))
        self.wave.setCurrentIndex(self.wave.findData(drive.wave))
        cast(QStandardItemModel, self.wave.model()).item(WAVES.index("trajectory")).setEnabled(row.holdable)
        self._samples = drive.samples
        self.value.setEnabled(can and drive.wave != "trajectory")
        self.quantity.setText(self.mode.currentText())
        self.weight.setChecked(drive.weight)
        for box in (self.value, self.amplitude):
            with QSignalBlocker(box):
                box.setDecimals(2 if drive.mode == "effort" else 2 + row.more_digits)
            box.setSuffix(f" {self._unit}")
        with QSignalBlocker(self.phase):
            self.phase.setDecimals(2 + ANGLES.more_digits)
        self.phase.setSuffix(f" {ANGLES.name}")
        per = "rad" if row.angular else "m"
        self.kp_name.setText(f"kp, {row.effort_unit}/{per}")  # in a narrow box the unit would hide the number
        self.kd_name.setText(f"kd, {row.effort_unit} s/{per}")
        self.limit_name.setText(f"Limit, {row.effort_unit}")
        self.friction_name.setText(f"Friction, {row.effort_unit}")
        self.damping_name.setText(f"Damping, {row.effort_unit} s/{per}")
        self.effort_limit.put(min(own.effort_limit, NO_LIMIT))
        self.friction.put(own.friction)
        self.damping.put(own.damping)
        low, high = (end * self._scale for end in row.reach(drive.mode))
        wave = (drive.amplitude * self._scale, drive.period, drive.phase * ANGLES.scale)
        numbers = (drive.value * self._scale, *wave, *gains)
        boxes = (self.value, self.amplitude, self.period, self.phase, self.kp, self.kd)
        turn = 2 * math.pi * ANGLES.scale
        ranges = ((low, high), (low - high, high - low), (MIN_PERIOD, MAX_PERIOD), (-turn, turn))
        for box, now, (least, most) in zip(boxes, numbers, ranges, strict=False):
            with QSignalBlocker(box):  # a value beyond its range is changed, which is no drive that the user sets
                box.setRange(max(min(least, now), -LIMIT), min(max(most, now), LIMIT))
        for box in (self.amplitude, self.period, self.phase):
            box.setEnabled(can and drive.wave in ("sine", "step"))
        for box in (self.kp, self.kd):
            box.setEnabled(can and row.holdable and drive.mode != "effort")
        self.suited.setEnabled(self.kp.isEnabled())
        for box, number in zip(boxes, numbers, strict=True):
            box.put(number)
        self.value.setToolTip(self._limits())

    def show_together(self, count: int, differing: Sequence[str] = ()) -> None:
        """Show, in place of one joint's motion, how many joints the form edits, and the fields in which they differ."""
        names = {"value": self.quantity.text(), "mode": "Drive", "weight": self.weight.text()}
        fields = ", ".join(names.get(name, name) for name in differing).lower()
        text = "a change here is made to all of them"
        self.motion.setText(f"{count} joints, which differ in {fields}" if fields else f"{count} joints: {text}")
        tip = "A click on a joint's name selects that one only, with Ctrl or Shift further joints"
        entered = f"The numbers are those of one; {text}, and Return sets a number of all.\n" if fields else ""
        self.motion.setToolTip(entered + tip)

    def show_motion(self, velocity: float, effort: float) -> None:
        """Show the joint's velocity, rad/s or m/s, and its drive's effort, N m or N; NaN where unknown."""
        if (row := self._row) is None or not row.driveable:
            self.motion.clear()
            return
        reported = _of(velocity * row.scale, row.velocity * row.scale, f"{row.unit}/s", 1 + row.more_digits)
        if math.isfinite(effort):
            at_limit = ", at its limit" if abs(effort) >= row.effort * (1 - ROUNDING) else ""
            reported += f" · {_of(effort, row.effort, row.effort_unit)}{at_limit}"
        self.motion.setText(reported)
        self.motion.setToolTip(f"{row.name}: velocity, {row.unit}/s, and effort, {row.effort_unit}, of its limits")

    def _limits(self) -> str:
        (least, most), unit = self._row.reach(self.mode.currentData()), self._unit
        if not math.isfinite(most):
            return f"In {unit}, without limits"
        return f"In {unit}, from {plain(least * self._scale)} to {plain(most * self._scale)}"

    @property
    def _unit(self) -> str:
        return self._row.unit_of(self.mode.currentData())

    @property
    def _scale(self) -> float:
        """The displayed number per SI unit."""
        return 1.0 if self.mode.currentData() == "effort" else self._row.scale

    def drive(self) -> Drive:
        """Return the drive that the form shows."""
        scale, wave = self._scale, self.wave.currentData()
        return Drive(
            self.mode.currentData(),
            self.value.value() / scale,
            wave,
            self.amplitude.value() / scale,
            self.period.value(),
            self.weight.isChecked(),
            self.phase.value() / ANGLES.scale,
            self._samples if wave == "trajectory" else "",
        )

    def _ask(self) -> None:
        self.driven.emit(self.drive())

    def _ask_mode(self) -> None:
        """Request another mode, starting at rest; a velocity drive gets gravity compensation, else the joint sinks.

        With the next mode it is as it was before.
        """
        mode, weight = self.mode.currentData(), self.weight.isChecked()
        assert self._row is not None
        if mode == "velocity":
            self._before_velocity.setdefault(self._row, weight)
        else:
            weight = self._before_velocity.pop(self._row, weight)
        self.driven.emit(Drive(mode, math.nan, weight=weight or mode == "velocity"))

    def _ask_wave(self) -> None:
        if self.wave.currentData() == "trajectory":
            self.trajectory_asked.emit()
            return
        if self.amplitude.value() == 0 and self.wave.currentData() != "constant":
            with QSignalBlocker(self.amplitude):
                wide = WAVE_ANGLE * self._scale if self._row.angular else WAVE_LENGTH * self._scale
                self.amplitude.setValue(wide if self.mode.currentData() != "effort" else 1.0)
        self._ask()

    def _ask_gains(self) -> None:
        self.gains_asked.emit((self.kp.value(), self.kd.value()))

    def _ask_own(self, name: str, value: float) -> None:
        self.own_asked.emit(name, math.inf if name == "effort_limit" and value >= NO_LIMIT else value)


def _of(value: float, limit: float, unit: str, digits: int = 1) -> str:
    return f"{round(value, digits) + 0.0:.{digits}f}{f' of {plain(limit)}' if math.isfinite(limit) else ''} {unit}"
