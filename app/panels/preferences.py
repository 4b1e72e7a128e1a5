"""`PreferencesDialog`: all settings that the window remembers, in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from PyQt6.QtCore import Qt
from PyQt6.QtGui import QAction, QKeyEvent
from PyQt6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QLabel,
    QLayout,
    QListWidget,
    QPushButton,
    QWidget,
)

from app.desktop import type_scale
from app.desktop.layouts import NO_MARGINS, horizontal, vertical
from app.desktop.panel_scroller import scroller
from app.panels.number_box import ENTERS, WholeBox

BESIDE, BELOW = 16, 14  # px between titles and controls, and between rows
GAP = 8  # px between the controls of a row
COLUMNS = 3  # check boxes beside each other
ROWS = 3  # visible rows of a list
FRAME = 40  # px of a screen's height for the title of a window


class _Control(NamedTuple):
    """A control of the dialog: how its value is read and set, and its default."""

    value: Callable[[], Any]
    put: Callable[[Any], object]
    default: Any


class PreferencesDialog(QDialog):
    """Rows of controls, each of which applies at once; each feature adds its own."""

    def __init__(self, parent: QWidget):
        super().__init__(parent)
        self.setWindowTitle("Preferences")
        self._controls: list[_Control] = []
        self._before: list[Any] = []  # the values that the defaults replaced
        self._all, kinds = QWidget(), QDialogButtonBox.StandardButton
        self._rows = QGridLayout(self._all)
        self._rows.setContentsMargins(*NO_MARGINS)
        self._rows.setHorizontalSpacing(BESIDE)
        self._rows.setVerticalSpacing(BELOW)
        self._rows.setColumnStretch(1, 1)
        self.buttons = QDialogButtonBox(kinds.Close | kinds.RestoreDefaults, rejected=self.close)
        restore = self.buttons.button(kinds.RestoreDefaults)
        restore.setToolTip("All of these as they are at first, but for the package folders")
        restore.clicked.connect(self.restore)
        self.undo = self.buttons.addButton("&Undo Defaults", QDialogButtonBox.ButtonRole.ResetRole)
        self.undo.setToolTip("All of these as they were before Restore Defaults (Ctrl+Z)")
        self.undo.setShortcut("Ctrl+Z")
        self.undo.setEnabled(False)
        self.undo.clicked.connect(self._undo)
        for button in (restore, self.undo):
            button.setAutoDefault(False)  # Return in it closes the dialog, as everywhere else there
        self.buttons.button(kinds.Close).setDefault(True)

    def add_buttons(self) -> None:
        """Add the buttons below the controls, after which Tab reaches them; the controls scroll on a small screen."""
        for each in self.findChildren(QWidget) + self._all.findChildren(QWidget):
            each.ensurePolished()  # or their style would make them larger later
        area, room = scroller(self._all, sideways=False), self.screen().availableSize()
        column = vertical((area, 1), self.buttons, of=self)
        wanted = column.sizeHint() + (self._all.sizeHint() - area.sizeHint())
        self.resize(column.sizeHint().width(), min(wanted.height(), room.height() - FRAME))

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        """Leave the dialog open on the Return that enters a typed number."""
        focused = self.focusWidget()
        if event is None or event.key() not in ENTERS or not (isinstance(focused, WholeBox) and focused.took_return):
            super().keyPressEvent(event)

    def restore(self) -> None:
        """Reset every control to its default, which applies at once."""
        before = [control.value() for control in self._controls]
        for control in self._controls:
            control.put(control.default)
        if before != [control.default for control in self._controls]:
            self._before = before
            self.undo.setEnabled(True)

    def _undo(self) -> None:
        """Set every control as it was before its default replaced it."""
        for control, value in zip(self._controls, self._before, strict=True):
            control.put(value)
        self.undo.setEnabled(False)

    def add_choice(self, title: str, choices: Mapping[str, str], default: str, note: str = "") -> QComboBox:
        """Add a choice between `choices`, a mapping of item data to labels; `note` is beside it."""
        box = QComboBox()
        for name, text in choices.items():
            box.addItem(text, name)
        self._controls.append(_Control(box.currentData, lambda name: box.setCurrentIndex(box.findData(name)), default))
        self._labelled(title, box, note)
        return box

    def add_number(self, title: str, text: str, unit: str, bounds: tuple[int, int, int], default: int) -> WholeBox:
        """Add an integer box; `bounds` are its minimum, maximum and step."""
        box = WholeBox()
        box.setRange(*bounds[:2])
        box.setSingleStep(bounds[2])
        box.setSuffix(f" {unit}")
        box.setKeyboardTracking(False)
        self._controls.append(_Control(box.value, box.setValue, default))
        self._labelled(title, box, text)
        return box

    def add_ticks(self, title: str, ticks: Sequence[tuple[QAction, bool]]) -> list[QCheckBox]:
        """Add a check box for each action, given with its default; box and action follow each other."""
        grid, boxes = QGridLayout(), []
        grid.setSpacing(GAP)
        for number, (action, default) in enumerate(ticks):
            box = QCheckBox(action.text().replace("&", ""), toolTip=action.toolTip())
            box.setChecked(action.isChecked())
            box.toggled.connect(action.setChecked)
            action.toggled.connect(box.setChecked)
            self._controls.append(_Control(box.isChecked, box.setChecked, default))
            grid.addWidget(box, number // COLUMNS, number % COLUMNS)
            box.setAccessibleDescription(title)
            boxes.append(box)
        self._add(title, grid, Qt.AlignmentFlag.AlignTop)
        return boxes

    def add_list(self, title: str, tip: str) -> tuple[QListWidget, QPushButton, QPushButton]:
        """Add a list of texts; return it with its buttons to add one and to remove the selected one."""
        texts, add, remove = QListWidget(), QPushButton("Add…"), QPushButton("Remove")
        texts.setToolTip(tip)
        texts.setFixedHeight(ROWS * texts.fontMetrics().lineSpacing() + 20)
        remove.setEnabled(False)
        texts.itemSelectionChanged.connect(lambda: remove.setEnabled(bool(texts.selectedItems())))
        for button in (add, remove):
            button.setAutoDefault(False)
        texts.setAccessibleName(title)
        self._add(
            title, horizontal((texts, 1), vertical(add, remove, 1, spacing=GAP), spacing=GAP), Qt.AlignmentFlag.AlignTop
        )
        return texts, add, remove

    def _labelled(self, title: str, control: QWidget, text: str = "") -> None:
        control.setAccessibleName(title)
        self._add(title, horizontal(control, (QLabel(text), 1), spacing=GAP))

    def _add(self, title: str, content: QLayout, at: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignVCenter) -> None:
        """Add controls below the others, and their title on the left."""
        row, label = self._rows.rowCount(), QLabel(title)
        label.setFont(type_scale.font(bold=True))
        self._rows.addWidget(label, row, 0, at)
        self._rows.addLayout(content, row, 1)
