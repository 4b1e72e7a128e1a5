"""`PreferencesDialog`: what the window remembers of how its user wants it, in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from PyQt6.QtGui import QAction
from PyQt6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QGroupBox,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

COLUMNS = 3  # of check boxes beside each other
ROWS = 3  # of a list that are seen


class PreferencesDialog(QDialog):
    """Groups of controls, each of which applies at once; filled by whoever has something to remember."""

    def __init__(self, parent: QWidget):
        super().__init__(parent)
        self.setWindowTitle("Preferences")
        self._defaults: list[Callable[[], object]] = []
        self._groups, layout = QVBoxLayout(), QVBoxLayout(self)
        layout.addLayout(self._groups)
        kinds = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(kinds.Close | kinds.RestoreDefaults)
        self.buttons.rejected.connect(self.close)
        restore = self.buttons.button(kinds.RestoreDefaults)
        restore.setToolTip("All of these as they are at first, but for the package folders")
        restore.clicked.connect(self.restore)
        self.buttons.button(kinds.Close).setDefault(True)
        layout.addWidget(self.buttons)

    def restore(self) -> None:
        """Bring every control to its default, which applies at once."""
        for default in self._defaults:
            default()

    def add_choice(self, title: str, choices: Mapping[str, str], default: str) -> QComboBox:
        """One of several, whose names are its data."""
        box = QComboBox()
        for name, text in choices.items():
            box.addItem(text, name)
        self._defaults.append(lambda: box.setCurrentIndex(box.findData(default)))
        self._labelled(title, box)
        return box

    def add_number(self, title: str, text: str, unit: str, bounds: tuple[int, int, int], default: int) -> QSpinBox:
        """A whole number: its least, its greatest and its step are the `bounds`."""
        box = QSpinBox()
        box.setRange(*bounds[:2])
        box.setSingleStep(bounds[2])
        box.setSuffix(f" {unit}")
        box.setKeyboardTracking(False)
        self._defaults.append(lambda: box.setValue(default))
        self._labelled(title, box, text)
        return box

    def add_ticks(self, title: str, ticks: Sequence[tuple[QAction, bool]]) -> list[QCheckBox]:
        """A box for each of these actions, with its default; either follows the other."""
        group, grid, boxes = QGroupBox(title), QGridLayout(), []
        group.setLayout(grid)
        for number, (action, default) in enumerate(ticks):
            box = QCheckBox(action.text().replace("&", ""))
            box.setToolTip(action.toolTip())
            box.setChecked(action.isChecked())
            box.toggled.connect(action.setChecked)
            action.toggled.connect(box.setChecked)
            self._defaults.append(partial(box.setChecked, default))
            grid.addWidget(box, number // COLUMNS, number % COLUMNS)
            boxes.append(box)
        self._groups.addWidget(group)
        return boxes

    def add_list(self, title: str, tip: str) -> tuple[QListWidget, QPushButton, QPushButton]:
        """A list of texts, and what adds one and removes the selected one."""
        group, row, column = QGroupBox(title), QHBoxLayout(), QVBoxLayout()
        texts, add, remove = QListWidget(), QPushButton("Add…"), QPushButton("Remove")
        texts.setToolTip(tip)
        texts.setFixedHeight(ROWS * texts.fontMetrics().lineSpacing() + 20)
        remove.setEnabled(False)
        texts.itemSelectionChanged.connect(lambda: remove.setEnabled(bool(texts.selectedItems())))
        for button in (add, remove):
            button.setAutoDefault(False)
            column.addWidget(button)
        column.addStretch(1)
        row.addWidget(texts, 1)
        row.addLayout(column)
        group.setLayout(row)
        self._groups.addWidget(group)
        return texts, add, remove

    def _labelled(self, title: str, control: QWidget, text: str = "") -> None:
        group, row = QGroupBox(title), QHBoxLayout()
        row.addWidget(control)
        row.addWidget(QLabel(text), 1)
        group.setLayout(row)
        self._groups.addWidget(group)
