"""`PreferencesDialog`: all settings that the window remembers, in one place."""

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
    QLabel,
    QListWidget,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.desktop.layouts import horizontal, vertical
from app.panels.number_box import WholeBox

COLUMNS = 3  # check boxes beside each other
ROWS = 3  # visible rows of a list


class PreferencesDialog(QDialog):
    """Groups of controls, each of which applies at once; each feature adds its own."""

    def __init__(self, parent: QWidget):
        super().__init__(parent)
        self.setWindowTitle("Preferences")
        self._defaults: list[Callable[[], object]] = []
        self._groups, layout = QVBoxLayout(), QVBoxLayout(self)
        layout.addLayout(self._groups)
        kinds = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(kinds.Close | kinds.RestoreDefaults, rejected=self.close)
        restore = self.buttons.button(kinds.RestoreDefaults)
        restore.setToolTip("All of these as they are at first, but for the package folders")
        restore.clicked.connect(self.restore)
        self.buttons.button(kinds.Close).setDefault(True)
        layout.addWidget(self.buttons)

    def restore(self) -> None:
        """Reset every control to its default, which applies at once."""
        for default in self._defaults:
            default()

    def add_choice(self, title: str, choices: Mapping[str, str], default: str, note: str = "") -> QComboBox:
        """Add a choice between `choices`, a mapping of item data to labels; `note` is beside it."""
        box = QComboBox()
        for name, text in choices.items():
            box.addItem(text, name)
        self._defaults.append(lambda: box.setCurrentIndex(box.findData(default)))
        self._labelled(title, box, note)
        return box

    def add_number(self, title: str, text: str, unit: str, bounds: tuple[int, int, int], default: int) -> WholeBox:
        """Add an integer box; `bounds` are its minimum, maximum and step."""
        box = WholeBox()
        box.setRange(*bounds[:2])
        box.setSingleStep(bounds[2])
        box.setSuffix(f" {unit}")
        box.setKeyboardTracking(False)
        self._defaults.append(lambda: box.setValue(default))
        self._labelled(title, box, text)
        return box

    def add_ticks(self, title: str, ticks: Sequence[tuple[QAction, bool]]) -> list[QCheckBox]:
        """Add a check box for each action, given with its default; box and action follow each other."""
        group, grid, boxes = QGroupBox(title), QGridLayout(), []
        group.setLayout(grid)
        for number, (action, default) in enumerate(ticks):
            box = QCheckBox(action.text().replace("&", ""), toolTip=action.toolTip())
            box.setChecked(action.isChecked())
            box.toggled.connect(action.setChecked)
            action.toggled.connect(box.setChecked)
            self._defaults.append(partial(box.setChecked, default))
            grid.addWidget(box, number // COLUMNS, number % COLUMNS)
            boxes.append(box)
        self._groups.addWidget(group)
        return boxes

    def add_list(self, title: str, tip: str) -> tuple[QListWidget, QPushButton, QPushButton]:
        """Add a list of texts; return it with its buttons to add one and to remove the selected one."""
        group = QGroupBox(title)
        texts, add, remove = QListWidget(), QPushButton("Add…"), QPushButton("Remove")
        texts.setToolTip(tip)
        texts.setFixedHeight(ROWS * texts.fontMetrics().lineSpacing() + 20)
        remove.setEnabled(False)
        texts.itemSelectionChanged.connect(lambda: remove.setEnabled(bool(texts.selectedItems())))
        for button in (add, remove):
            button.setAutoDefault(False)
        horizontal((texts, 1), vertical(add, remove, 1), of=group)
        self._groups.addWidget(group)
        return texts, add, remove

    def _labelled(self, title: str, control: QWidget, text: str = "") -> None:
        group = QGroupBox(title)
        horizontal(control, (QLabel(text), 1), of=group)
        self._groups.addWidget(group)
