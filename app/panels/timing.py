"""The timing panel: where a step's time and a frame's time go, live, in microseconds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PyQt6.QtCore import QAbstractTableModel, QModelIndex, QSize, Qt, QTimer
from PyQt6.QtGui import QFont
from PyQt6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QVBoxLayout, QWidget

import engine
from app import theme

MEMORY = 300  # samples that the statistics and the plots look back on
REFRESH = 200  # ms between two pictures of the panel
COLUMNS = ("now", "min", "median", "99 %")
FRAME_PHASES = ("upload", "draw")
ROW_HEIGHT = 21  # px

Role = Qt.ItemDataRole


class History:
    """The last `MEMORY` samples of a few durations, in seconds."""

    def __init__(self, names: Sequence[str]):
        self.names = tuple(names)
        self.count = 0
        self._ring = np.zeros((MEMORY, len(self.names)))

    def add(self, seconds: Sequence[float] | np.ndarray) -> None:
        self._ring[self.count % MEMORY] = seconds
        self.count += 1

    def clear(self) -> None:
        self.count = 0

    @property
    def samples(self) -> np.ndarray:
        """(samples, names), the oldest first."""
        if self.count <= MEMORY:
            return self._ring[: self.count]
        return np.roll(self._ring, -(self.count % MEMORY), axis=0)

    def statistics(self) -> np.ndarray:
        """(names + 1, 4): now, minimum, median and 99th percentile of each, and last of their sum, in seconds."""
        if not self.count:
            return np.full((len(self.names) + 1, len(COLUMNS)), np.nan)
        samples = self.samples
        samples = np.column_stack([samples, samples.sum(1)])
        return np.column_stack([samples[-1], samples.min(0), np.median(samples, 0), np.percentile(samples, 99, 0)])


class TimingTable(QAbstractTableModel):
    """A row per phase, and a row for the sum of each of the two histories."""

    def __init__(self, histories: Sequence[tuple[str, History]]):
        super().__init__()
        self._histories = [history for _, history in histories]
        self.names = [name for total, history in histories for name in (*history.names, total)]
        self._sums = set(np.cumsum([len(history.names) + 1 for _, history in histories]) - 1)
        self._swatches = {row: theme.PHASE_COLORS[i] for i, row in enumerate(self._phase_rows())}
        self.seconds = np.vstack([history.statistics() for history in self._histories])

    def _phase_rows(self) -> list[int]:
        return [row for row in range(len(self.names)) if row not in self._sums]

    def refresh(self) -> None:
        self.seconds = np.vstack([history.statistics() for history in self._histories])
        self.dataChanged.emit(self.index(0, 1), self.index(len(self.names) - 1, len(COLUMNS)), [Role.DisplayRole])

    def rowCount(self, parent: QModelIndex | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.names)

    def columnCount(self, parent: QModelIndex | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else 1 + len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Role.DisplayRole) -> object:
        if orientation == Qt.Orientation.Vertical:
            return None
        if role == Role.DisplayRole:
            return ("µs", *COLUMNS)[section]
        if role == Role.ToolTipRole:
            return f"microseconds; minimum, median and 99th percentile of the last {MEMORY} samples"
        if role == Role.TextAlignmentRole:
            return (
                Qt.AlignmentFlag.AlignRight if section else Qt.AlignmentFlag.AlignLeft
            ) | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: QModelIndex, role: int = Role.DisplayRole) -> object:
        row, column = index.row(), index.column()
        if role == Role.DisplayRole:
            return self.names[row] if column == 0 else microseconds(self.seconds[row, column - 1])
        if role == Role.DecorationRole and column == 0 and row in self._swatches:
            return pg.mkColor(self._swatches[row])
        if role == Role.TextAlignmentRole and column:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == Role.FontRole and row in self._sums:
            font = QFont()
            font.setBold(True)
            return font
        return None


def microseconds(seconds: float) -> str:
    """A duration as the table shows it; a dash for one not known."""
    if not np.isfinite(seconds):
        return "–"
    return (
        f"{seconds * 1e6:,.2f}"
        if seconds < 1e-5
        else f"{seconds * 1e6:,.1f}"
        if seconds < 1e-3
        else f"{seconds * 1e6:,.0f}"
    )


class StackedPlot(pg.PlotWidget):
    """The samples of a history over one another, newest at the right; `per_second` is the axis's unit in a second."""

    def __init__(self, history: History, title: str, per_second: float, colors: Sequence[str]):
        super().__init__(background=theme.COLORS["ground"])
        self._history, self._per_second = history, per_second
        # Else every plot has the whole window put together anew, one after the other.
        self.setViewportUpdateMode(self.ViewportUpdateMode.NoViewportUpdate)
        self._ages = np.arange(1 - MEMORY, 1, dtype=float)
        self.setMinimumHeight(90)
        self.getPlotItem().setContentsMargins(0, 8, 10, 8)
        self.setMenuEnabled(False)
        self.setMouseEnabled(False, False)
        self.hideButtons()
        left = self.getAxis("left")
        left.enableAutoSIPrefix(False)
        left.setWidth(52)
        left.setTextPen(theme.COLORS["faint"])
        left.setPen(theme.COLORS["edge"])
        self.hideAxis("bottom")
        self.setLabel("left", title, color=theme.COLORS["faint"])
        self.setXRange(1 - MEMORY, 0, padding=0)
        # Drawn from the whole stack down to its lowest layer, each over the one before.
        self._curves = [self.plot(pen=None, fillLevel=0.0, brush=color) for color in reversed(colors)]

    def refresh(self) -> None:
        stacked = self._per_second * np.cumsum(self._history.samples, axis=1)
        ages = self._ages[MEMORY - len(stacked) :]
        for layer, curve in enumerate(reversed(self._curves)):
            curve.setData(ages, stacked[:, layer])
        if len(stacked):
            # A rare outlier may leave the picture; it is in the table's last column.
            self.setYRange(0, max(1.25 * float(np.percentile(stacked[:, -1], 95)), 0.1), padding=0)
        self.viewport().update()


class TimingPanel(QWidget):
    """Numbers above, a rolling stacked plot of the steps and one of the frames below."""

    def __init__(self) -> None:
        super().__init__()
        self.steps, self.frames = History(engine.PHASES), History(FRAME_PHASES)
        self.table = TimingTable([("step", self.steps), ("frame", self.frames)])
        count = len(engine.PHASES)
        self._plots = (
            StackedPlot(self.steps, "step, µs", 1e6, theme.PHASE_COLORS[:count]),
            StackedPlot(self.frames, "frame, ms", 1e3, theme.PHASE_COLORS[count : count + len(FRAME_PHASES)]),
        )
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._view())
        for plot, stretch in zip(self._plots, (3, 2), strict=True):
            layout.addWidget(plot, stretch)
        self._drawn = (-1, -1)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._refresh)
        self._timer.start(REFRESH)

    def _view(self) -> QTableView:
        view = QTableView()
        view.setModel(self.table)
        view.setShowGrid(False)
        view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        view.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        view.setIconSize(QSize(10, 10))
        view.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.verticalHeader().hide()
        view.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        view.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        header = view.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Fixed)
        view.setColumnWidth(0, view.fontMetrics().horizontalAdvance("inertia recursion") + 38)
        header.setMinimumSectionSize(40)
        view.setFixedHeight(header.sizeHint().height() + ROW_HEIGHT * self.table.rowCount() + 4)
        return view

    def add_step(self, phases: np.ndarray) -> None:
        """Seconds of each of `engine.PHASES` in one step."""
        self.steps.add(phases)

    def add_frame(self, upload: float, draw: float) -> None:
        """Seconds of one picture: sending the poses to the graphics card, and drawing."""
        self.frames.add((upload, draw))

    def clear(self) -> None:
        """Forget the steps of the robot before."""
        self.steps.clear()

    def _refresh(self) -> None:
        counts = (self.steps.count, self.frames.count)
        if counts == self._drawn or not self.isVisible():
            return
        self._drawn = counts
        self.table.refresh()
        for plot in self._plots:
            plot.refresh()
