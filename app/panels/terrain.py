"""The terrain form: the kind, and the numbers of this kind."""

from __future__ import annotations

import math
from typing import cast

from PyQt6.QtCore import QSignalBlocker, Qt, pyqtSignal
from PyQt6.QtWidgets import QComboBox, QLabel, QWidget

from app.desktop import theme
from app.desktop.angles import ANGLES
from app.desktop.layouts import FORM_COLUMNS, form
from app.panels.number_box import NumberBox
from app.simulation.grounds import KINDS, NUMBERS, Terrain, TerrainParameter

MAX_NUMBERS = max(map(len, NUMBERS.values()))


class TerrainForm(QWidget):
    """Shows a terrain and emits the user's requests; changes nothing by itself."""

    chosen = pyqtSignal(str)
    """The kind that the user selected."""
    changed = pyqtSignal(object)
    """The requested `Terrain`."""

    def __init__(self) -> None:
        super().__init__()
        self.kind = QComboBox(placeholderText="None")
        self.kind.addItems(KINDS)
        self.kind.setAccessibleName("Terrain")
        self.labels = [QLabel() for _ in range(MAX_NUMBERS)]
        self.boxes = [NumberBox(0.0, 1.0, 4) for _ in range(MAX_NUMBERS)]
        self._shown, self.note = Terrain(""), QLabel(textFormat=Qt.TextFormat.PlainText, wordWrap=True)
        theme.tint(self.note, "faint")
        grid = form(self)
        grid.addWidget(QLabel("Terrain"), 0, 0)
        grid.addWidget(self.kind, 0, 1, 1, 2)
        for k, (label, box) in enumerate(zip(self.labels, self.boxes, strict=True)):
            row, column = divmod(k, FORM_COLUMNS)
            grid.addWidget(label, 1 + 2 * row, column)
            grid.addWidget(box, 2 + 2 * row, column)
            label.setBuddy(box)
            box.valueChanged.connect(self._change)
        grid.addWidget(self.note, 1 + 2 * MAX_NUMBERS, 0, 1, FORM_COLUMNS)
        self.kind.textActivated.connect(self.chosen)

    def show_terrain(self, terrain: Terrain) -> None:
        """Show the current terrain; none where the form is disabled."""
        self.kind.setCurrentIndex(self.kind.findText(terrain.kind) if self.isEnabled() else -1)
        if terrain == self._shown:
            return
        self._shown = terrain
        self.note.setText(terrain.note)
        self.note.setVisible(bool(terrain.note))
        numbers = NUMBERS[terrain.kind][: len(terrain.values)]
        for k, (label, box) in enumerate(zip(self.labels, self.boxes, strict=True)):
            label.setVisible(k < len(numbers))
            box.setVisible(k < len(numbers))
            if k < len(numbers):
                label.setText(numbers[k].name)
                with QSignalBlocker(box):
                    _fit(box, numbers[k])
                box.put(terrain.values[k] * _scale(numbers[k]))

    def show_units(self) -> None:
        """Show angles in their unit, which may have changed."""
        terrain, self._shown = self._shown, Terrain("")
        self.show_terrain(terrain)

    def _change(self) -> None:
        values, k = list(self._shown.values), self.boxes.index(cast(NumberBox, self.sender()))
        values[k] = self.boxes[k].value() / _scale(NUMBERS[self._shown.kind][k])
        self.changed.emit(Terrain(self._shown.kind, tuple(values)))


def _scale(number: TerrainParameter) -> float:
    """The displayed number per unit of the terrain's, whose angles are in degrees."""
    return math.radians(1.0) * ANGLES.scale if number.unit == "°" and ANGLES.radians else 1.0


def _fit(box: NumberBox, number: TerrainParameter) -> None:
    """Set up a box for a number's unit, limits, name and tooltip."""
    angle = number.unit == "°"
    box.setDecimals(1 + ANGLES.more_digits if angle else {"m": 4, "": 0}[number.unit])
    box.setRange(number.low * _scale(number), number.high * _scale(number))
    box.setSuffix(" rad" if angle and ANGLES.radians else {"m": " m", "°": "°", "": ""}[number.unit])
    box.setSingleStep(0.01 if angle and ANGLES.radians else 1.0)
    steps = NumberBox.StepType
    box.setStepType(steps.AdaptiveDecimalStepType if number.unit == "m" else steps.DefaultStepType)
    box.setAccessibleName(number.name)
    box.setToolTip(number.tip)
