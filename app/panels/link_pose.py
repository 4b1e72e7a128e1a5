"""The form for a link's pose in the world, in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from PyQt6.QtCore import QSignalBlocker, Qt, pyqtSignal
from PyQt6.QtWidgets import QCheckBox, QComboBox, QDialog, QGridLayout, QLabel, QWidget

import engine
from app.desktop import theme
from app.desktop.angles import ANGLES
from app.desktop.layouts import vertical
from app.panels.inspection import roll_pitch_yaw
from app.panels.number_box import PlainBox

MAX_LENGTH, MAX_ANGLE = 1e6, 1e4  # mm, and ° or rad
POSITION_TIP = "Position of the link's frame in the world along {}, mm"
ANGLE_TIP = "{} of the link's frame, about the world's fixed axis, as in URDF"
TURNED_TIP = "Give the link this orientation too; without it only its position is wanted, in any orientation"
ANGLE_NAMES = ("Roll", "Pitch", "Yaw")


class LinkPoseForm(QDialog):
    """Shows the pose of one link, and emits the one that the user types; the numbers stay until `show_pose`."""

    link_chosen = pyqtSignal(int)
    """The link that the user selected."""
    asked = pyqtSignal(object)
    """The requested position (3,), m, or pose (4, 4) in the world."""

    def __init__(self, parent: QWidget, help_text: str) -> None:
        super().__init__(parent)
        self.setWindowTitle("Pose a link")
        self.link, self.turned = QComboBox(), QCheckBox()
        self.link.setToolTip("The link; a click on one in the picture selects it")
        self.link.setAccessibleName("Link")
        self.turned.setChecked(True)
        self.turned.setToolTip(TURNED_TIP)
        self.position = [PlainBox(-MAX_LENGTH, MAX_LENGTH, 2, POSITION_TIP.format(axis)) for axis in "xyz"]
        self.angles = [PlainBox(-MAX_ANGLE, MAX_ANGLE, 2, ANGLE_TIP.format(name)) for name in ANGLE_NAMES]
        self.outcome = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        note = QLabel(help_text, wordWrap=True)
        theme.tint(note, "faint")
        rows = QGridLayout()
        rows.addWidget(QLabel("Link"), 0, 0)
        rows.addWidget(self.link, 0, 1, 1, 3)
        rows.addWidget(QLabel("x, y, z, mm"), 1, 0)
        rows.addWidget(self.turned, 2, 0)
        for column, (box, angle) in enumerate(zip(self.position, self.angles, strict=True), 1):
            rows.addWidget(box, 1, column)
            rows.addWidget(angle, 2, column)
        vertical(rows, self.outcome, 1, note, of=self, margins=(12, 12, 12, 12), spacing=8)
        self.link.activated.connect(lambda _: self.link_chosen.emit(self.link.currentData()))
        self.turned.clicked.connect(self._ask)
        for box in chain(self.position, self.angles):
            box.valueChanged.connect(self._ask)

    def set_links(self, links: Sequence[int], names: Sequence[str]) -> None:
        """Set another robot's movable links, their numbers and names."""
        with QSignalBlocker(self.link):
            self.link.clear()
            for link, name in zip(links, names, strict=True):
                self.link.addItem(name, link)

    def show_pose(self, link: int, pose: np.ndarray | None, outcome: str) -> None:
        """Show a link's pose (4, 4), or why it cannot be set; `outcome` says what came of it."""
        with QSignalBlocker(self.link):
            self.link.setCurrentIndex(self.link.findData(link))
        self.turned.setText(f"Roll, pitch, yaw, {ANGLES.name}")
        for box in chain(self.position, (self.turned,)):
            box.setEnabled(pose is not None)
        for box in self.angles:
            box.setEnabled(pose is not None and self.turned.isChecked())
            box.setDecimals(2 + ANGLES.more_digits)
        if pose is not None:
            numbers = (*(1e3 * pose[:3, 3]), *(ANGLES.scale * roll_pitch_yaw(pose[:3, :3])))
            for box, number in zip(chain(self.position, self.angles), numbers, strict=True):
                box.put(round(float(number), box.decimals()) + 0.0)
        self.outcome.setText(outcome)

    def _ask(self) -> None:
        for box in self.angles:
            box.setEnabled(self.turned.isChecked())
        pose = np.eye(4)
        pose[:3, 3] = [box.value() / 1e3 for box in self.position]
        pose[:3, :3] = engine.rotation_from_rpy(np.array([box.value() / ANGLES.scale for box in self.angles]))
        self.asked.emit(pose if self.turned.isChecked() else pose[:3, 3])
