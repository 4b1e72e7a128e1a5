"""The rows of the timing panel: of what a step or a frame is made up, and how long each part takes."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PyQt6.QtCore import QAbstractTableModel, QModelIndex, QSize, Qt
from PyQt6.QtGui import QFontMetrics
from PyQt6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

import engine
from app.desktop import theme, type_scale
from app.desktop.actions import algorithm_name
from app.desktop.numbers import duration
from app.panels.history import BEFORE, COLUMNS, MEDIAN, MEMORY, MOST, History

SHOWN = (MEDIAN, MOST, BEFORE)
"""Of `COLUMNS`, in this order; rows tell all of them on hover."""
ROW_HEIGHT = 21  # px
MARGIN = 18  # px, beside a figure in its cell
WIDEST = ("88.8 ms", "99 %", "median")  # what a column of numbers must have room for, beside its algorithm
LEAST_ROWS = 3  # that are in sight in the lowest window
FRAME_COLORS = {
    "steps": "#93a5c4", "host launch": "#b9b2a3", "device steps": "#93a5c4", "poses": "#b592a6", "copy": "#b3a878",
    "upload": "#86a698", "draw": "#a39ac2",
}  # fmt: skip
"""What a frame takes, in the order in which it is done; which of them there are, the device says.

They are muted, so that none is taken for a phase of a step.
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
"""Phases of which a step has one, where forward dynamics is not done within contact."""

Role = Qt.ItemDataRole


class TimingTable(QAbstractTableModel):
    """A row for the sum of a history, and below it a row for each part."""

    def __init__(self, total: str, history: History):
        super().__init__()
        self._total, self._history = total, history
        self.algorithm = self.algorithm_before = ""
        """Those that the medians now and before the last switch are of."""
        self._take_rows()

    def _take_rows(self) -> None:
        self.names = [self._total, *self._history.shown]
        self._take_seconds()

    def _take_seconds(self) -> None:
        """The sum first, then what it is made of."""
        self.seconds = np.roll(self._history.statistics(), 1, 0)

    @property
    def within_contact(self) -> bool:
        """Whether forward dynamics is done within the phase of contact, and has no phases of its own."""
        return "contact" in self.names and not BY_ITSELF & set(self.names)

    def show_others(self) -> None:
        """The history shows other rows now."""
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
        """With the algorithm whose phases are done in that of contact."""
        name = self.names[row]
        if row == 0:
            return name.capitalize()
        return f"contact with {self.algorithm}" if name == "contact" and self.within_contact else name

    def _figure(self, row: int, column: int) -> str:
        """A dash where nothing was done, such as steps while the simulation stands still."""
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


class TimingView(QTableView):
    """A table with columns that stay where they are, as high as its rows where there is the room."""

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
        self.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
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
        self.setMinimumHeight(self._above + LEAST_ROWS * ROW_HEIGHT)
        self.fit_rows()

    def fit_rows(self) -> None:
        """Ask for the room that the rows take."""
        self.setMaximumHeight(self._above + ROW_HEIGHT * self.model().rowCount() + 4)


def color_of(name: str) -> str:
    """The colour of a phase, or of a part of a frame."""
    return theme.legible(theme.PHASE_COLORS[name] if name in theme.PHASE_COLORS else FRAME_COLORS[name])


def row_text(name: str, seconds: np.ndarray) -> str:
    """A row of the table in words."""
    now, least, most, median, before = map(duration, seconds)
    past = "" if before == "–" else f", {before} under the algorithm before"
    return f"{name}: {MEANINGS[name]}\nnow {now}; minimum {least}, median {median}, 99 % below {most}{past}"
