"""The batch panel: number of robots, their deviations, how they are shown, and a heat map with a cell for each."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import QSignalBlocker, Qt, QTimer, pyqtSignal
from PyQt6.QtWidgets import QComboBox, QDoubleSpinBox, QGridLayout, QHBoxLayout, QLabel, QPushButton, QWidget

import engine
from app.desktop import theme
from app.desktop.actions import acts_on_robot
from app.desktop.angles import ANGLES
from app.desktop.layouts import horizontal, vertical
from app.panels.heat_map import HeatMap
from app.panels.moving_keys import KeySlider
from app.panels.number_box import DecimalBox, WholeBox
from app.picture.crowd import ARRANGEMENTS, COLORINGS, DEVIATION, ENERGY, UNITS
from app.plotting.quantities import Unit
from app.simulation.batch_spread import MAX_ROBOTS, BatchSpread

ONE = "One robot. More are copies of it, with random deviations up to what is set here."
ALIKE = "all alike: set Pose ±, Mass ± or Friction ±"
NARROW = 64  # px of a box at least
LIST_MARGIN = 24  # px beside the entries of a list
STEPS = 12  # slider steps per power of two
PAUSE = 250  # ms without a change, after which the batch is requested
SMOOTH = 1 / 15  # s per frame, up to which motion looks smooth
POSE = "Initial pose: maximum offset of each joint from robot 0, of a prismatic one {:.3g} m"
MM = 1000.0  # per m
FRICTION = "Friction and damping of each joint: maximum deviation from robot 0, percent"
ARRANGED = "Side by side, or all in one place"
ON_TERRAIN = "All in one place: a height field is drawn once, where all robots touch it"
ON_ONE_PLACE = ". On a height field all stand in one place, since it is there once; on flat ground they have a grid"
IN_TIME = 0.95  # share of the requested speed below which a simulation lags behind it
ROUNDING = 1e-9  # relative difference of energies, up to which they are equal
MARGIN = 0.8  # share of a computed number of robots, which the note states


class BatchPanel(QWidget):
    """The controls of a batch, and the state of the current one."""

    requested = pyqtSignal(BatchSpread)
    """The requested robots, emitted once no setting has changed for `PAUSE`."""
    arranged = pyqtSignal(str)
    """One of `ARRANGEMENTS`."""
    colored = pyqtSignal(str)
    """One of `COLORINGS`, or of the names of `offer_colors`."""
    chosen = pyqtSignal(int)
    """The robot to select."""

    def __init__(self) -> None:
        super().__init__()
        self.robots, self.slider = WholeBox(), KeySlider()
        self.robots.setRange(1, MAX_ROBOTS)
        self.robots.setStepType(WholeBox.StepType.AdaptiveDecimalStepType)
        self.robots.setButtonSymbols(WholeBox.ButtonSymbols.NoButtons)
        self.slider.setRange(0, round(math.log2(MAX_ROBOTS) * STEPS))
        self.pose, self.mass, self.friction = (_number(*of) for of in ((180, 5, 1), (90, 5, 0), (100, 10, 0)))
        self._pose = 0.0  # rad or m; the box rounds
        self._slides = False  # all joints are prismatic
        self.mass.setSuffix(" %")
        self.friction.setSuffix(" %")
        self.seed, self.again = WholeBox(), QPushButton("New seed")
        self.seed.setRange(0, 999_999)
        self.seed.setButtonSymbols(WholeBox.ButtonSymbols.NoButtons)
        self.arrangement, self.coloring = _choice(ARRANGEMENTS), _choice(COLORINGS)
        self.note, self.count = QLabel(), QLabel()
        self.note.setWordWrap(True)
        theme.tint(self.note, "faint")
        self.map = HeatMap()
        self._stands, self._noting = "", ONE  # why all robots are in one place, and the note before that
        self._noted = 0  # number of robots that the note describes
        self._set_tips()
        self._arrange()
        self._due = QTimer(self, singleShot=True, interval=PAUSE)
        # Bound methods, not lambdas: these connections end with the panel.
        self._due.timeout.connect(self._ask)
        self.slider.valueChanged.connect(self._take_slider)
        self.robots.valueChanged.connect(self._move_slider)
        self.pose.valueChanged.connect(self._take_pose)
        self.coloring.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        for box in (self.robots, self.pose, self.mass, self.friction, self.seed):
            box.valueChanged.connect(self._wait)
        self.again.clicked.connect(self._take_other_seed)
        self.arrangement.currentTextChanged.connect(self.arranged)
        self.coloring.currentTextChanged.connect(self.colored)
        self.map.chosen.connect(self.chosen)
        self.set_model(None)

    def _set_tips(self) -> None:
        """Set the tooltips, and the accessible names for screen readers."""
        tips = {
            self.robots: f"Robots of the batch, 1 to {MAX_ROBOTS}; robot 0 is the one that the others are copies of",
            self.pose: POSE.format(0),
            self.mass: "Mass and inertia of each body: maximum deviation from robot 0, percent",
            self.friction: FRICTION,
            self.seed: "Random seed: the same seed makes the same robots",
            self.again: "Take another random seed",
            self.arrangement: ARRANGED,
            self.coloring: "What colours show: nothing; the energy, kinetic and potential, J; the deviation, m: the "
            "largest distance of a point of a link from where robot 0 has it;\nthe mass, the friction and damping in "
            "percent of robot 0's, the mean of the joints; or a quantity that is ticked in Plots (P)",
        }
        for widget, tip in tips.items():
            widget.setToolTip(tip)
            widget.setAccessibleName(tip.split(":")[0].split(",")[0])
        self.slider.setToolTip(self.robots.toolTip())
        self.map.setToolTip("One cell per robot; click one, or use the arrow keys, to select it")
        for box in (self.robots, self.pose, self.mass, self.friction, self.seed, self.arrangement, self.coloring):
            box.setMinimumWidth(NARROW)
        self.seed.setMinimumWidth(NARROW // 2)
        for widget in (self.slider, self.again):
            widget.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def _arrange(self) -> None:
        rows = QGridLayout()
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setHorizontalSpacing(8)
        rows.setVerticalSpacing(5)
        chance = horizontal((self.seed, 1), self.again, spacing=6)
        for row, (name, first, name_2, second) in enumerate(
            (
                ("Robots", self.robots, "", self.slider),
                ("Pose ±", self.pose, "Mass ±", self.mass),
                ("Friction ±", self.friction, "Seed", chance),
                ("Shown", self.arrangement, "Colour", self.coloring),
            )
        ):
            label = QLabel(name)
            label.setBuddy(first)
            rows.addWidget(label, row, 0)
            rows.addWidget(first, row, 1)
            if name_2:
                rows.addWidget(QLabel(name_2), row, 2)
                rows.addLayout(second, row, 3) if isinstance(second, QHBoxLayout) else rows.addWidget(second, row, 3)
            else:
                rows.addWidget(second, row, 2, 1, 2)
        rows.setColumnStretch(1, 1)
        rows.setColumnStretch(3, 1)
        acts_on_robot(self.robots, self.slider, self.pose, self.mass, self.seed, self.again)  # not the picture alone
        vertical(rows, self.note, self.count, (self.map, 100), 1, of=self, margins=(10, 8, 10, 8), spacing=6)

    @property
    def spread(self) -> BatchSpread:
        """The requested batch."""
        mass, friction = self.mass.value() / 100, self.friction.value() / 100
        return BatchSpread(self.robots.value(), self._pose, mass, friction, self.seed.value())

    def set_model(self, model: engine.Model | None) -> None:
        """Set the robot that the batch copies."""
        self.setEnabled(model is not None)
        joints = () if model is None else model.joints
        turns = {turns for each in joints if each.kind not in ("floating", "spherical") for turns in each.type.angular}
        self._slides = turns == {False}
        self.show_units()
        rubs = model is not None and bool(np.any(model.friction > 0) or np.any(model.damping > 0))
        self.friction.setEnabled(rubs)
        acts_on_robot(self.friction, has_use=rubs)
        self.friction.setToolTip(FRICTION if rubs else "This robot's joints have neither friction nor damping")
        self.show_state(np.zeros(1), np.zeros(1), np.zeros(1, bool), 0)

    def show_units(self) -> None:
        """Show the offset of the poses in the unit of angles, or in mm where all joints are prismatic."""
        with QSignalBlocker(self.pose):
            self.pose.setDecimals(1 if self._slides else 1 + ANGLES.more_digits)
            self.pose.setMaximum(math.pi * self._scale)
            self.pose.setSingleStep(0.05 if ANGLES.radians and not self._slides else 5)
            self.pose.setSuffix(" mm" if self._slides else f" {ANGLES.name}")
        self.pose.put(self._pose * self._scale)
        self.pose.setToolTip(POSE.format(self._pose))

    @property
    def _scale(self) -> float:
        """Displayed units per rad or m."""
        return MM if self._slides else ANGLES.scale

    def show_spread(self, spread: BatchSpread) -> None:
        """Show the current batch, unless a change by the user is pending."""
        if self._due.isActive():
            return  # a change by the user is pending
        if spread != self.spread:
            self.robots.put(spread.robots)
            self.seed.put(spread.seed)
            self.mass.put(100 * spread.mass)
            self.friction.put(100 * spread.friction)
            self._pose = spread.pose
            self.show_units()
            self._move_slider(spread.robots)

    def show_arrangement(self, arrangement: str, has_terrain: bool) -> None:
        """Show how the robots are arranged: on a height field, which is drawn once, all in one place."""
        with QSignalBlocker(self.arrangement):
            self.arrangement.setCurrentText(ARRANGEMENTS[1] if has_terrain else arrangement)
        self.arrangement.setEnabled(not has_terrain)
        self._stands = ON_ONE_PLACE if has_terrain else ""
        self._note(self._noting)
        self.arrangement.setToolTip(ON_TERRAIN if has_terrain else ARRANGED)

    def offer_colors(self, names: Sequence[str]) -> None:
        """Offer what colours can show; what they show stays as long as it is among them."""
        shown = self.coloring.currentText()
        with QSignalBlocker(self.coloring):
            self.coloring.clear()
            self.coloring.addItems(names)
            self.coloring.setCurrentText(shown)
        self.coloring.view().setMinimumWidth(self.coloring.view().sizeHintForColumn(0) + LIST_MARGIN)
        if self.coloring.currentText() != shown:
            self.colored.emit(self.coloring.currentText())

    def show_state(
        self, energy: NDArray[np.float64], deviation: NDArray[np.float64], diverged: NDArray[np.bool_], robot: int,
        unit: Unit | None = None,
    ) -> None:  # fmt: skip
        """Show each robot's energy or deviation, how many diverged, and which robot is selected.

        With `unit`, `energy` has the numbers that colours show instead, SI.
        """
        if len(energy) != self._noted:  # no frame of this batch has been drawn yet
            self._noted = len(energy)
            self._note(ONE if len(energy) == 1 else f"{len(energy)} robots")
        name = self.coloring.currentText()
        if unit is None:
            name = ENERGY if name == ENERGY else DEVIATION
            self.map.show_values(name, UNITS[name], energy if name == ENERGY else deviation, diverged, robot)
        else:
            self.map.show_values(name, unit.label, unit.scale * energy, diverged, robot, unit.prefixes)
        if self.map.hasFocus() and len(energy) == 1:
            self.slider.setFocus()  # else a widget outside the panel would take the focus
        for widget in (self.map, self.count):  # a single robot has nothing to be compared with
            widget.setVisible(len(energy) > 1)
        lost = int(np.count_nonzero(diverged))
        alike = not (self.spread.pose or self.spread.mass or self.spread.friction or _differ(energy, deviation))
        wording = f"{lost} of {len(diverged)} diverged" if lost else ALIKE if alike else ""
        self.count.setText(" · ".join(filter(None, (self.map.text(robot), wording))))
        theme.tint(self.count, "error" if lost else "text")

    def show_drawing(self, robots: int, seconds: float, reached: float = math.nan) -> None:
        """Estimate how many robots draw smoothly, from the time in s that one frame of `robots` took.

        And how many can be simulated in time, if the simulation has `reached` too small a share of the requested speed.
        """
        self._noted = robots
        if robots == 1:
            self._note(ONE)
            return
        most = int(min(MAX_ROBOTS, MARGIN * robots * SMOOTH / max(seconds, 1e-4)))
        smooth = f"drawing is smooth up to about {most} robots" if most > 1 else "even one robot moves in jerks here"
        text = f"A frame of {robots} robots is drawn in {1e3 * seconds:.0f} ms; {smooth}"
        if reached < IN_TIME:
            most = max(int(MARGIN * robots * reached), 1)
            share = f"{100 * reached:.2g} % of the requested speed"
            text += f". They are simulated at {share}, which about {most} would reach"
        self._note(text)

    def _note(self, text: str) -> None:
        """Show a note, and of several robots on a height field why all are in one place."""
        self._noting = text
        self.note.setText(text + (self._stands if text != ONE else ""))

    def _ask(self) -> None:
        self.requested.emit(self.spread)

    def _wait(self) -> None:
        """Request the batch after `PAUSE`; each further change restarts the wait."""
        self._due.start()

    def _take_pose(self, value: float) -> None:
        self._pose = value / self._scale
        self.pose.setToolTip(POSE.format(self._pose))

    def _take_slider(self, value: int) -> None:
        self.robots.setValue(round(2 ** (value / STEPS)))

    def _take_other_seed(self) -> None:
        self.seed.setValue((self.seed.value() + 1) % 1_000_000)

    def _move_slider(self, robots: int) -> None:
        with QSignalBlocker(self.slider):
            self.slider.setValue(round(math.log2(robots) * STEPS))


def _differ(energy: NDArray[np.float64], deviation: NDArray[np.float64]) -> bool:
    """Whether robots differ, as those of a run made by a script may whatever the spread is."""
    return bool(np.any(deviation) or np.ptp(energy) > ROUNDING * np.abs(energy).max())


def _number(most: float, step: float, digits: int) -> DecimalBox:
    box = DecimalBox()
    box.setButtonSymbols(QDoubleSpinBox.ButtonSymbols.NoButtons)
    box.setRange(0.0, most)
    box.setSingleStep(step)
    box.setDecimals(digits)
    return box


def _choice(names: tuple[str, ...]) -> QComboBox:
    box = QComboBox()
    box.addItems(names)
    return box
