"""The scene panel: terrain, surfaces, gravity, a list of objects around the robot, the numbers of the selected one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from PyQt6.QtCore import QSignalBlocker, QSize, pyqtSignal
from PyQt6.QtGui import QAction, QColor, QIcon, QPixmap
from PyQt6.QtWidgets import QColorDialog, QLabel, QListWidget, QMenu, QPushButton, QWidget

import engine
from app.acting.scene_objects import SIZES, SceneObject
from app.desktop import theme
from app.desktop.actions import acts_on_robot
from app.desktop.angles import ANGLES
from app.desktop.layouts import form, horizontal, vertical
from app.gl.world import OBSTACLE
from app.panels.gravity import GravityForm
from app.panels.number_box import NumberBox
from app.panels.surface import ROUGHEST, SurfaceForm
from app.panels.terrain import TerrainForm

MAX_POSITION, MAX_SIZE, MAX_MASS = 1e4, 1e3, 1e6  # m, m, kg
MIN_SIZE, MIN_MASS = 1e-4, 1e-6
TURN_DECIMALS = 2  # in degrees
SWATCH = QSize(28, 12)  # px
FRICTION_TIP = (
    "Coulomb's coefficient; of two surfaces that touch the smaller one applies,\n"
    "so a value above the scene's has no effect on the ground and on links without a friction of their own"
)
DENSITY_TIP = "{:.4g} kg/m³, which it keeps in another size"
EMPTY = "No objects yet. Add places one beside the robot, which then collides with it."
PLAYING = "It is simulated while the simulation plays; pause to move it"
FIXED = "Its base is fixed; another position or rotation begins a new run"
HELP = "Right-drag it in the picture to move it; with Shift vertically, with Ctrl to rotate it"


class ScenePanel(QWidget):
    """Shows the objects and emits the user's requests; changes nothing by itself."""

    chosen = pyqtSignal(int)
    """The row that the user selected, −1 for none."""
    changed = pyqtSignal(int, object)
    """A row, and the `SceneObject` to replace it with."""

    def __init__(self, adding: QMenu, duplicating: QAction, removing: QAction) -> None:
        super().__init__()
        acts_on_robot(self)
        self.composing = False
        """Whether an object is being added, which is then selected."""
        self._edits = duplicating, removing  # of the selected object
        self.terrain, self.surface, self.gravity = TerrainForm(), SurfaceForm(), GravityForm()
        self.add, self.duplicate, self.remove = (QPushButton(name) for name in ("Add", "Duplicate", "Remove"))
        self.add.setMenu(adding)
        self.add.setToolTip("A fixed obstacle, a free body, or another robot")
        for button, action in zip((self.duplicate, self.remove), self._edits, strict=True):
            button.setToolTip(action.toolTip())
            button.clicked.connect(action.trigger)
        self.list, self.note = QListWidget(), QLabel(EMPTY, wordWrap=True)
        self.list.setAccessibleName("objects of the scene")
        self.list.setSelectionMode(QListWidget.SelectionMode.ExtendedSelection)
        theme.tint(self.note, "faint")
        self.sizes = [NumberBox(MIN_SIZE, MAX_SIZE, 4) for _ in range(3)]
        self.size_name, self.size_names = QLabel(), [QLabel() for _ in range(3)]
        self.friction_name, self.color_name, self.mass_name = QLabel("Friction"), QLabel("Colour"), QLabel("Mass, kg")
        self.place = [NumberBox(-MAX_POSITION, MAX_POSITION, 4) for _ in range(3)]
        self.turn, self.turn_name = [NumberBox(-180.0, 180.0, TURN_DECIMALS) for _ in range(3)], QLabel()
        self.mass = NumberBox(MIN_MASS, MAX_MASS, 6)  # with fewer digits the minimum would be 0
        self.friction, self.color = NumberBox(0.0, ROUGHEST, 3), QPushButton()
        self.reported = ""
        """While `changed` is emitted: what the status bar says of the number that was typed."""
        self.usual = 0.0
        """The friction of objects without their own: the scene's."""
        self._objects: tuple[SceneObject, ...] = ()
        self._playing, self._why_not = False, ""
        self._arrange()
        self.list.currentRowChanged.connect(self._turn_to)
        self.list.itemSelectionChanged.connect(self._show)
        for box in (*self.sizes, *self.place, *self.turn, self.mass, self.friction):
            box.valueChanged.connect(self._change)
        self.color.clicked.connect(self._ask_color)
        self.show_objects(())

    def _arrange(self) -> None:
        buttons = horizontal(self.add, self.duplicate, self.remove, 1)
        self.form = QWidget()
        grid = form(self.form)
        rows = (
            (QLabel("Position x, y, z, m"), self.place, "Position along {}"),
            (self.turn_name, self.turn, "Rotation about {}"),
        )
        for row, (label, boxes, tip) in enumerate(rows):
            grid.addWidget(label, 2 * row, 0, 1, 3)
            for column, (box, axis) in enumerate(zip(boxes, "xyz", strict=True)):
                box.setAccessibleName(tip.format(axis))
                grid.addWidget(box, 2 * row + 1, column)
        grid.addWidget(self.size_name, 4, 0, 1, 3)
        self.mass.setAccessibleName("Mass")
        self.friction.setAccessibleName("Friction")
        self.friction.setToolTip(FRICTION_TIP)
        self.color.setAccessibleName("Colour")
        self.color.setToolTip("The colour in the picture")
        properties = (self.friction_name, self.friction), (self.color_name, self.color), (self.mass_name, self.mass)
        for row, pairs in ((4, zip(self.size_names, self.sizes, strict=True)), (6, properties)):
            for column, (label, widget) in enumerate(pairs):
                grid.addWidget(label, row, column)
                grid.addWidget(widget, row + 1, column)
        around = self.terrain, self.surface, self.gravity
        vertical(*around, buttons, (self.list, 1), self.form, self.note, of=self, margins=(12, 10, 12, 10))

    @property
    def row(self) -> int:
        """The selected row, −1 for none."""
        return self.list.currentRow()

    @property
    def rows(self) -> list[int]:
        """All selected rows, which *Duplicate* and *Remove* take."""
        return sorted(index.row() for index in self.list.selectedIndexes())

    def choose(self, row: int) -> None:
        """Select a row, −1 for none."""
        with QSignalBlocker(self.list):
            self.list.clearSelection()
            self.list.setCurrentRow(row)
        self._show()

    def show_objects(self, objects: Sequence[SceneObject], playing: bool = False, why_not: str = "") -> None:
        """Show the objects; those that are simulated cannot be moved by hand during play, and none if `why_not`."""
        names = [_line(item) for item in objects]
        row, self._objects, self._playing, self._why_not = self.row, tuple(objects), playing, why_not
        if names != [self.list.item(k).text() for k in range(self.list.count())]:
            with QSignalBlocker(self.list):
                self.list.clear()
                self.list.addItems(names)
                self.list.setCurrentRow(min(row, len(names) - 1))
        self.show_units()

    def show_units(self) -> None:
        """Show angles in their unit, which may have changed."""
        self.turn_name.setText(f"Rotation x, y, z, {ANGLES.name}")
        for box in self.turn:
            with QSignalBlocker(box):
                box.setDecimals(TURN_DECIMALS + ANGLES.more_digits)
                box.setRange(-np.pi * ANGLES.scale, np.pi * ANGLES.scale)
        self.terrain.show_units()
        self._show()

    def _show(self) -> None:
        row = self.row
        there = 0 <= row < len(self._objects)
        self.form.setVisible(there)
        for each in (self.duplicate, self.remove, *self._edits):
            each.setEnabled(self.composing or bool(self.rows))
        if not there:
            self.note.setText(EMPTY if not self._objects else "Select an object in the list or in the picture.")
            return
        item = self._objects[row]
        fixed = item.mass is None
        simulated = self._playing and not fixed and item.placed
        angles = ANGLES.scale * engine.rpy_from_rotation(item.pose[:3, :3])
        for boxes, values in ((self.place, item.pose[:3, 3]), (self.turn, angles), (self.sizes, item.size)):
            for box, value in zip(boxes, values, strict=False):
                box.put(float(value))
                box.setEnabled(boxes is self.sizes or not (self._why_not or simulated))
        for k, (label, box) in enumerate(zip(self.size_names, self.sizes, strict=True)):
            names = SIZES[item.shape]
            box.setAccessibleName(names[k] if k < len(names) else "")
            label.setText(f"{box.accessibleName()}, m")
            label.setVisible(k < len(names) < 3)
            box.setVisible(k < len(names))
        self.size_name.setVisible(len(SIZES[item.shape]) == 3)
        self.size_name.setText("Scale x, y, z" if item.shape == "mesh" else "Size x, y, z, m")
        editable = not fixed and bool(item.shape)
        self.mass_name.setVisible(editable)
        self.mass.setVisible(editable)
        if editable:
            self.mass.put(item.mass)
            self.mass.setToolTip(DENSITY_TIP.format(item.mass / item.volume))
        for widget in (self.friction_name, self.friction, self.color_name, self.color):
            widget.setVisible(bool(item.shape))
        self.friction.put(self.usual if item.friction is None else item.friction)
        swatch = QPixmap(SWATCH)
        swatch.fill(_shown(item))
        self.color.setIcon(QIcon(swatch))
        why_not = self._why_not and self._why_not[0].upper() + self._why_not[1:]
        self.note.setText(why_not or (PLAYING if simulated else HELP if item.placed else FIXED))

    def _turn_to(self, row: int) -> None:
        self._show()
        self.chosen.emit(row)

    def _change(self) -> None:
        item = self._objects[self.row]
        pose, box = item.pose.copy(), cast(NumberBox, self.sender())
        if box in self.place:
            pose[:3, 3] = [each.value() for each in self.place]
        elif box in self.turn:
            pose[:3, :3] = engine.rotation_from_rpy(np.array([each.value() for each in self.turn]) / ANGLES.scale)
        size = tuple(box.value() for box in self.sizes[: len(item.size)]) if box in self.sizes else item.size
        mass = self.mass.value() if box is self.mass else item.mass
        if box in self.sizes and item.mass is not None:  # of the same density
            mass = float(np.clip(item.mass * replace(item, size=size).volume / item.volume, MIN_MASS, MAX_MASS))
        friction = self.friction.value() if box is self.friction else item.friction
        self.reported = box.corrected
        self.changed.emit(self.row, replace(item, pose=pose, size=size, mass=mass, friction=friction))
        self.reported = ""

    def _ask_color(self) -> None:
        row, item = self.row, self._objects[self.row]
        color = QColorDialog.getColor(_shown(item), self, f"Colour of {item.name}")
        if color.isValid():
            self.changed.emit(row, replace(item, color=color.getRgbF()))


def _shown(item: SceneObject) -> QColor:
    """Return an object's colour."""
    return QColor.fromRgbF(*(item.color or OBSTACLE))


def _line(item: SceneObject) -> str:
    """Return an object's line in the list."""
    if item.mass is None:
        return f"{item.name} · obstacle"
    return f"{item.name} · {item.mass:.3g} kg" if item.placed else f"{item.name} · fixed base"
