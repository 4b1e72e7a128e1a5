"""The gravity form: a celestial body, or the vector in numbers."""

from __future__ import annotations

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QComboBox, QLabel, QWidget

from app.desktop.layouts import form
from app.panels.number_box import NumberBox

Vector = tuple[float, float, float]
STANDARD: dict[str, Vector] = {
    "Earth": (0.0, 0.0, -9.81), "Moon": (0.0, 0.0, -1.62), "Mars": (0.0, 0.0, -3.71), "none": (0.0, 0.0, 0.0),
}  # fmt: skip
"""The standard entries, m/s²."""
OTHER = "other"
MAX_GRAVITY = 1e4  # m/s²
TIP = "The acceleration of gravity in the world"


class GravityForm(QWidget):
    """Shows the gravity in force and emits the user's requests; changes nothing by itself."""

    changed = pyqtSignal(object)
    """The requested vector, m/s²."""

    def __init__(self) -> None:
        super().__init__()
        self.kind, self.boxes = QComboBox(), [NumberBox(-MAX_GRAVITY, MAX_GRAVITY, 4) for _ in range(3)]
        self.kind.addItems([*STANDARD, OTHER])
        self.kind.setAccessibleName("Gravity")
        self.kind.setToolTip(TIP)
        grid = form(self)
        grid.addWidget(QLabel("Gravity x, y, z, m/s²"), 0, 0, 1, 2)
        grid.addWidget(self.kind, 0, 2)
        for column, (box, axis) in enumerate(zip(self.boxes, "xyz", strict=True)):
            box.setAccessibleName(f"Gravity along {axis}, m/s²")
            box.setToolTip(f"{TIP} along {axis}")
            box.valueChanged.connect(self._type)
            grid.addWidget(box, 1, column)
        self.kind.textActivated.connect(self._select)

    def show_gravity(self, vector: Vector) -> None:
        """Show the gravity in force, m/s²."""
        self.kind.setCurrentText(next((name for name, standard in STANDARD.items() if standard == vector), OTHER))
        for box, value in zip(self.boxes, vector, strict=True):
            box.put(value)

    def _type(self) -> None:
        self.changed.emit(tuple(box.value() for box in self.boxes))

    def _select(self, name: str) -> None:
        if name == OTHER:
            self.boxes[0].setFocus()
        else:
            self.changed.emit(STANDARD[name])
