"""The timing panel's tables: the parts of a step or a frame, and how long each takes."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PyQt6.QtCore import QAbstractTableModel, QModelIndex, QSize, Qt
from PyQt6.QtGui import QFontMetrics, QResizeEvent
from PyQt6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

import engine
from app.desktop import theme, type_scale
from app.desktop.actions import algorithm_name
from app.desktop.numbers import duration
from app.panels.history import BEFORE, COLUMNS, MAXIMUM, MEDIAN, MEMORY, History

SHOWN = (MEDIAN, MAXIMUM, BEFORE)
"""The columns shown, out of `COLUMNS`, in order; a row's tooltip has all of them."""
ROW_HEIGHT = 21  # px
WIDEST_NAME = "▬ contact with ABA"
MARGIN = 18  # px beside a figure in its cell
WIDEST = ("88.8 ms", "99 %", "median")  # the widest texts of a number column
MIN_ROWS = 3  # visible rows at the window's least height
FRAME_COLORS = {
    "steps": "#93a5c4", "host launch": "#b9b2a3", "device steps": "#93a5c4", "poses": "#b592a6", "copy": "#b3a878",
    "upload": "#86a698", "draw": "#a39ac2",
}  # fmt: skip
"""The parts of a frame in order, with their colours; the device determines which exist.

The colours are muted, to differ from those of a step's phases.
"""
MEANINGS = {
    **engine.PHASE_MEANINGS,
    "contact": engine.PHASE_MEANINGS["contact"] + "; with forward dynamics in each iteration, which has no rows then",
    "step": "one time step of the simulation, all of its phases together",
    "steps": "the time steps of one frame, on the CPU",
    "host launch": "launching the kernels and the copy of one frame, on the CPU",
    "device steps": "the time steps of one frame, by the GPU's clock",
    "poses": "poses of the links",
    "copy": "copy of state and poses from the GPU to the host",
    "upload": "sending the poses of the links to the graphics card",
    "draw": "rendering of one frame",
    "frame": "one frame on the screen and its simulation; GPU and host work in parallel",
}
BY_ITSELF = {"acceleration", "solve", "refinement"}
"""Phases that exist only if forward dynamics is not part of contact."""

Role = Qt.ItemDataRole


class TimingTable(QAbstractTableModel):
    """A row for the sum of a history, and below it a row for each part."""

    def __init__(self, total: str, history: History):
        super().__init__()
        self._total, self._history = total, history
        self.algorithm = self.algorithm_before = ""
        """The algorithms of the current medians and of those before the last switch."""
        self._take_rows()

    def _take_rows(self) -> None:
        self.names = [self._total, *self._history.shown]
        self._take_seconds()

    def _take_seconds(self) -> None:
        """Take the statistics, with the sum first."""
        self.seconds = np.roll(self._history.statistics(), 1, 0)

    @property
    def within_contact(self) -> bool:
        """Whether forward dynamics is part of the contact phase, and has no phases of its own."""
        return "contact" in self.names and not BY_ITSELF & set(self.names)

    def show_others(self) -> None:
        """Take the history's rows after they have changed."""
        self.beginResetModel()
        self._take_rows()
        self.endResetModel()

    def refresh(self) -> None:
        self._take_seconds()
        self.dataChanged.emit(self.index(0, 1), self.index(len(self.names) - 1, len(SHOWN)), [Role.DisplayRole])

    def rowCount(self, parent: QModelIndex | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.names)

    def columnCount(self, parent: QModelIndex | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else 1 + len(SHOWN)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Role.DisplayRole) -> object:
        if orientation == Qt.Orientation.Vertical:
            return None
        if role == Role.DisplayRole:
            return self._heading(section)
        if role == Role.ToolTipRole:
            return (
                f"median and 99th percentile of the last {MEMORY} samples, and the median under the algorithm in use "
                "before, of the same robot at the same speed and time step"
            )
        if role == Role.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if section else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignBottom
        return None

    def _heading(self, section: int) -> str:
        if not section:
            return ""
        algorithm = {MEDIAN: self.algorithm, BEFORE: self.algorithm_before}.get(SHOWN[section - 1])
        return f"{algorithm or ''}\n{COLUMNS[SHOWN[section - 1]]}"

    def _name(self, row: int) -> str:
        """Return a row's name; the contact phase names the algorithm that it includes."""
        name = self.names[row]
        if row == 0:
            return name.capitalize()
        return f"contact with {self.algorithm}" if name == "contact" and self.within_contact else name

    def _figure(self, row: int, column: int) -> str:
        """Return a cell's duration; a dash if nothing was done, such as no steps during a pause."""
        idle = not np.any(self.seconds[row, :BEFORE] > 0)
        return duration(np.nan if idle and column < BEFORE else self.seconds[row, column])

    def data(self, index: QModelIndex, role: int = Role.DisplayRole) -> object:
        row, column = index.row(), index.column()
        if role == Role.DisplayRole:
            return self._name(row) if column == 0 else self._figure(row, SHOWN[column - 1])
        if role == Role.ToolTipRole:
            return row_text(self.names[row], self.seconds[row])
        if role == Role.DecorationRole and column == 0 and row:
            return pg.mkColor(color_of(self.names[row]))
        if role == Role.TextAlignmentRole and column:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == Role.FontRole and row == 0:
            return type_scale.font(bold=True)
        if role == Role.ForegroundRole and column and SHOWN[column - 1] == BEFORE:
            return theme.color("faint")
        return None


class TimingRows(QTableView):
    """A table with fixed columns, as high as its rows if there is space."""

    def __init__(self, table: TimingTable, headed: bool):
        super().__init__()
        self.setModel(table)
        self.setStyleSheet("QTableView::item { padding: 0 5px; } QHeaderView::section { padding: 4px 5px; }")
        self.setShowGrid(False)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setIconSize(QSize(10, 10))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(type_scale.row(ROW_HEIGHT))
        header, small = self.horizontalHeader(), QFontMetrics(type_scale.font("small"))
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setFixedHeight(2 * small.height() + 8)
        header.setVisible(headed)
        figures = max(map(QFontMetrics(type_scale.font(bold=True)).horizontalAdvance, WIDEST))
        width = max(figures, small.horizontalAdvance(f"{algorithm_name('dca')} GPU")) + MARGIN
        for column in range(1, 1 + len(SHOWN)):
            self.setColumnWidth(column, width)
        self._above = header.height() if headed else 0
        self.setMinimumHeight(self._above + MIN_ROWS * type_scale.row(ROW_HEIGHT))
        self.fit_rows()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide the last columns where they leave no room for the names."""
        super().resizeEvent(event)
        room = self.viewport().width() - self.fontMetrics().horizontalAdvance(WIDEST_NAME) - MARGIN
        for column in range(2, 1 + len(SHOWN)):
            self.setColumnHidden(column, room < column * self.columnWidth(1))

    def fit_rows(self) -> None:
        """Set the maximum height to the height of all rows."""
        self.setMaximumHeight(self._above + type_scale.row(ROW_HEIGHT) * self.model().rowCount() + 4)


def color_of(name: str) -> str:
    """Return the colour of a phase, or of a part of a frame."""
    return theme.legible(theme.PHASE_COLORS[name] if name in theme.PHASE_COLORS else FRAME_COLORS[name])


def row_text(name: str, seconds: np.ndarray) -> str:
    """Describe a row of the table in words."""
    now, least, most, median, before = map(duration, seconds)
    past = "" if before == "–" else f", {before} under the algorithm before"
    return f"{name}: {MEANINGS[name]}\nnow {now}; minimum {least}, median {median}, 99 % below {most}{past}"
