"""The panel of the second robot: both robots in numbers, and the link that was clicked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtGui import QStandardItemModel
from PyQt6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

import engine
from app.desktop import theme, type_scale
from app.desktop.actions import ALGORITHM_TIPS, algorithm_name
from app.desktop.layouts import vertical

ROWS = ("links", "degrees of freedom", "moving mass", "time", "kinetic energy", "potential energy", "algorithm")
ROW_HEIGHT = 24  # px
EMPTY = "No second robot is open"
ALGORITHMS = engine.SIMULATION_ALGORITHMS["cpu"]
FREE_TIP = "Set the root link that its file fixes to the world free; the second robot starts again"
FREE_ALREADY_TIP = "Its root link is free already: the robot's file has a floating joint"
HINT = "Click a link of either robot to see its properties"


class SecondRobotPanel(QWidget):
    """A table with a column for each of the two robots, and the algorithm of the second."""

    requested = pyqtSignal()
    """The user wants to open a second robot."""
    closed = pyqtSignal()
    """The user wants to close the second robot."""
    algorithm_chosen = pyqtSignal(str)
    """The user has chosen the second robot's algorithm, "auto" or one of `ALGORITHMS`."""
    floating_asked = pyqtSignal(bool)
    """The user wants the second robot's root link free of the world, or fixed to it."""

    def __init__(self) -> None:
        super().__init__()
        self.table = QTableWidget(len(ROWS), 2)
        self.table.setVerticalHeaderLabels(ROWS)
        self.table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        self.table.setSelectionMode(QTableWidget.SelectionMode.NoSelection)
        self.table.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.table.setShowGrid(False)
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.table.horizontalHeader().setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.table.verticalHeader().setDefaultSectionSize(type_scale.row(ROW_HEIGHT))
        for row in range(len(ROWS)):
            for column in range(2):
                item = QTableWidgetItem()
                item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self.table.setItem(row, column, item)
        self.algorithm = QComboBox()
        for name in ("auto", *ALGORITHMS):
            self.algorithm.addItem(algorithm_name(name), name)
        self.algorithm.activated.connect(lambda row: self.algorithm_chosen.emit(self.algorithm.itemData(row)))
        self._shown: tuple[str, Mapping[str, str]] = "", {}
        self._form = QFormLayout()
        self._form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self._form.addRow("Algorithm of the second", self.algorithm)
        self.floating = QCheckBox("Floating base of the second", clicked=self.floating_asked)
        self._form.addRow(self.floating)
        self.link, self.note = (QLabel(text, textFormat=Qt.TextFormat.PlainText) for text in (HINT, EMPTY))
        self.close_button = QPushButton("Close the second robot")
        for label in (self.link, self.note):
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        theme.tint(self.note, "faint")
        self.close_button.setToolTip("Close the second robot; the first one stays loaded")
        self.close_button.clicked.connect(self.closed)
        self.open_button = QPushButton("Open second robot…", clicked=self.requested)
        parts = self.note, self.open_button, self.table, self._form, self.link, self.close_button
        vertical(*parts, 1, of=self, margins=(12, 10, 12, 10), spacing=8)
        self.show_names("", "")

    def show_names(self, first: str, second: str) -> None:
        """Show the names of both robots; an empty `second` means that there is no second robot."""
        names = [f"{first}, first", f"{second}, second"] if first == second and second else [first, second]
        self.table.setHorizontalHeaderLabels(names)
        for column, name in enumerate(names):
            self.table.horizontalHeaderItem(column).setToolTip(name)
        height = type_scale.row(ROW_HEIGHT) * len(ROWS)
        self.table.setFixedHeight(self.table.horizontalHeader().sizeHint().height() + height + 4)
        for widget in (self.table, self.link, self.close_button):
            widget.setVisible(bool(second))
        self.open_button.setVisible(not second)
        for widget in (self.algorithm, self.floating):
            self._form.setRowVisible(widget, bool(second))
        self.link.setText(HINT)

    def show_algorithms(self, chosen: str, refusals: Mapping[str, str]) -> None:
        """Show the second robot's algorithm; those that cannot simulate it are disabled, with the reason as tooltip."""
        if (chosen, refusals) == self._shown:
            return
        box, self._shown = self.algorithm, (chosen, refusals)
        box.setCurrentIndex(box.findData(chosen))
        entries = box.model()
        assert isinstance(entries, QStandardItemModel)
        for row in range(box.count()):
            name, item = box.itemData(row), entries.item(row)
            item.setEnabled(name not in refusals)
            item.setToolTip(refusals.get(name) or ALGORITHM_TIPS.get(name, algorithm_name(name)))
        box.setToolTip(ALGORITHM_TIPS.get(chosen, algorithm_name(chosen)))

    def show_base(self, floating: bool, by_file: bool) -> None:
        """Show whether the second robot's base floats; `by_file`: its file has a floating joint, which stays."""
        self.floating.setChecked(floating or by_file)
        self.floating.setEnabled(not by_file)
        self.floating.setToolTip(FREE_ALREADY_TIP if by_file else FREE_TIP)

    def show_note(self, text: str) -> None:
        """Show a note on the second robot, above all why it could not be opened."""
        self.note.setText(text)
        self.note.setVisible(bool(text))

    def show_column(self, column: int, values: Sequence[str]) -> None:
        """Fill a robot's column with values in the order of `ROWS`; those that are not known yet are left empty."""
        for row in range(self.table.rowCount()):
            self.table.item(row, column).setText(values[row] if row < len(values) else "")
