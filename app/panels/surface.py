"""The surface form: friction and restitution of the scene."""

from __future__ import annotations

from functools import partial

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QLabel, QWidget

import engine
from app.desktop.layouts import form
from app.panels.number_box import NumberBox

ROUGHEST = 1e3
FRICTION_TIP = "Coulomb's coefficient of the ground, and of objects and links without their own"
RESTITUTION_TIP = "The share of an impact's speed with which surfaces part: 0 does not rebound, 1 loses no energy"


class SurfaceForm(QWidget):
    """Shows the scene's coefficients and emits the user's requests; changes nothing by itself."""

    changed = pyqtSignal(str, float)
    """The coefficient, "friction" or "restitution", and its requested value."""

    def __init__(self) -> None:
        super().__init__()
        self.friction, self.restitution = NumberBox(0.0, ROUGHEST, 3), NumberBox(0.0, 1.0, 3)
        grid = form(self)
        rows = (
            ("friction", "Friction of the scene", self.friction, FRICTION_TIP),
            ("restitution", "Restitution", self.restitution, RESTITUTION_TIP),
        )
        for row, (key, name, box, tip) in enumerate(rows):
            box.setAccessibleName(name)
            box.setToolTip(tip)
            box.valueChanged.connect(partial(self.changed.emit, key))
            grid.addWidget(QLabel(name), row, 0, 1, 2)
            grid.addWidget(box, row, 2)

    def show_scene(self, scene: engine.Scene) -> None:
        """Show the coefficients in force."""
        for box, value in ((self.friction, scene.friction), (self.restitution, scene.restitution)):
            box.put(value)
