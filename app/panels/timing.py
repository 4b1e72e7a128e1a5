"""The timing panel: where a step's time and a frame's time go, live; and by which algorithm.

When the algorithm is switched, the table keeps what the one before took beside what the new one takes, as long as all
else stays as it was: the robot, the speed, the time step. A line in the plot shows where it changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyqtgraph as pg
from PyQt6.QtCore import QAbstractTableModel, QModelIndex, QSize, Qt, QTimer
from PyQt6.QtGui import QFont, QFontMetrics, QResizeEvent
from PyQt6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QMenu,
    QSizePolicy,
    QTableView,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

import engine
from app.desktop import theme
from app.desktop.actions import algorithm_name, algorithm_words, device_name
from app.desktop.numbers import SECONDS, duration
from app.panels.history import BEFORE, COLUMNS, MEDIAN, MEMORY, MINIMUM, MOST, History
from app.panels.measure_prompt import MeasurePrompt
from app.simulation.messages import SPENT, Settings

REFRESH = 500  # ms between two pictures of the panel
ROW_HEIGHT = 21  # px
MARGIN = 12  # px, beside a figure in its cell
LABEL = {"font-size": "9pt", "font-weight": "bold"}  # of a plot's axis, which has little room where the plot is low
LOWEST = 84  # px, for a plot whose axis can be read
WIDEST = ("88.8 ms", "99 %", "median")  # what a column of numbers must have room for
FRAME_COLORS = {
    "steps": "#5aa2f5", "host launch": "#8b95a7", "device steps": "#5aa2f5", "poses": "#4cc3b5", "copy": "#e8b45a",
    "upload": "#7fb86a", "draw": "#c98a62",
}  # fmt: skip
"""What a frame takes, in the order in which it is done; which of them there are, the device says."""
DRAWING = ("upload", "draw")
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

TOTALS = {"step": "Step", "frame": "Frame"}
"""How the rows of the sums are called."""

Role = Qt.ItemDataRole


class TimingTable(QAbstractTableModel):
    """Of each of the two histories a row for the sum, and below it a row for each part."""

    def __init__(self, histories: Sequence[tuple[str, History]]):
        super().__init__()
        self._parts = tuple(histories)
        self.algorithm = self.algorithm_before = ""
        """Those that the medians now and before the last switch are of."""
        self._take_rows()

    def _take_rows(self) -> None:
        self.names = [name for total, history in self._parts for name in (total, *history.shown)]
        self._sums = {row for row, name in enumerate(self.names) if name in dict(self._parts)}
        self._take_seconds()

    def _take_seconds(self) -> None:
        """The sum first, then what it is made of."""
        self.seconds = np.vstack([np.roll(history.statistics(), 1, 0) for _, history in self._parts])

    def show_others(self) -> None:
        """The histories show other rows now."""
        self.beginResetModel()
        self._take_rows()
        self.endResetModel()

    def refresh(self) -> None:
        self._take_seconds()
        self.dataChanged.emit(self.index(0, 1), self.index(len(self.names) - 1, len(COLUMNS)), [Role.DisplayRole])

    def rowCount(self, parent: QModelIndex | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.names)

    def columnCount(self, parent: QModelIndex | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else 1 + len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Role.DisplayRole) -> object:
        if orientation == Qt.Orientation.Vertical:
            return None
        if role == Role.DisplayRole:
            return self._heading(section)
        if role == Role.ToolTipRole:
            return (
                f"minimum, 99th percentile and median of the last {MEMORY} samples, and the median under the "
                "algorithm in use before, of the same robot at the same speed and time step"
            )
        if role == Role.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if section else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignBottom
        return None

    def _name(self, row: int) -> str:
        """With the algorithm whose phases are done in that of contact, where they have no rows of their own."""
        name = self.names[row]
        within = name == "contact" and not {"acceleration", "solve", "refinement"} & set(self.names)
        return f"contact with {self.algorithm}" if within else TOTALS.get(name, name)

    def _figure(self, row: int, column: int) -> str:
        """A dash where nothing was done, such as steps while the simulation stands still."""
        idle = not np.any(self.seconds[row, :BEFORE] > 0)
        return duration(np.nan if idle and column < BEFORE else self.seconds[row, column])

    def _heading(self, section: int) -> str:
        name = ("", *COLUMNS)[section]
        algorithm = {1 + MEDIAN: self.algorithm, 1 + BEFORE: self.algorithm_before}.get(section)
        return f"{name}\n{algorithm}" if algorithm else name

    def data(self, index: QModelIndex, role: int = Role.DisplayRole) -> object:
        row, column = index.row(), index.column()
        if role == Role.DisplayRole:
            return self._name(row) if column == 0 else self._figure(row, column - 1)
        if role == Role.ToolTipRole:
            return row_text(self.names[row], self.seconds[row])
        if role == Role.DecorationRole and column == 0 and row not in self._sums:
            return pg.mkColor(color_of(self.names[row]))
        if role == Role.TextAlignmentRole and column:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == Role.FontRole and row in self._sums:
            font = QFont()
            font.setBold(True)
            return font
        if role == Role.ForegroundRole and column == 1 + BEFORE:
            return theme.color("faint")
        return None


def color_of(name: str) -> str:
    """The colour of a phase, or of a part of a frame."""
    return theme.legible(theme.PHASE_COLORS[name] if name in theme.PHASE_COLORS else FRAME_COLORS[name])


def row_text(name: str, seconds: np.ndarray) -> str:
    """A row of the table in words."""
    now, least, most, median, before = map(duration, seconds)
    past = "" if before == "–" else f", {before} under the algorithm before"
    return f"{name}: {MEANINGS[name]}\nnow {now}; minimum {least}, median {median}, 99 % below {most}{past}"


class StackedPlot(pg.GraphicsView):
    """The samples of a history over one another, newest at the right, in the unit that suits them."""

    def __init__(self, history: History, title: str):
        super().__init__()
        self._history, self._title, self._unit = history, title, ""
        # Else every plot has the whole window put together anew, one after the other.
        self.setViewportUpdateMode(self.ViewportUpdateMode.NoViewportUpdate)
        self._ages = np.arange(1 - MEMORY, 1, dtype=float)
        self.setMinimumHeight(LOWEST)
        self.enableMouse(False)
        # A `pg.PlotWidget` would make three axes and a form for its menu besides.
        self.axis, self._box = pg.AxisItem("left"), pg.ViewBox(enableMouse=False, enableMenu=False)
        self.axis.linkToView(self._box)
        self.axis.setZValue(0.5)  # over the view, else its line is covered
        self.axis.enableAutoSIPrefix(False)
        self.axis.setWidth(52)
        self._box.setXRange(1 - MEMORY, 0, padding=0)
        self._both = pg.GraphicsLayout()
        self._both.setSpacing(0)
        self._both.setContentsMargins(1, 5, 11, 5)
        self._both.addItem(self.axis)
        self._both.addItem(self._box)
        self.setCentralItem(self._both)
        # Drawn from the whole stack down to its lowest layer, each over the one before.
        self._curves = [pg.PlotCurveItem(pen=None, fillLevel=0.0) for _ in history.names]
        for curve in self._curves:
            self._box.addItem(curve)
        self._switch = pg.InfiniteLine()
        self._box.addItem(self._switch, ignoreBounds=True)
        theme.signals.changed.connect(self.dress)
        self.dress()

    def dress(self) -> None:
        """Take the palette's colours."""
        self.setBackground(theme.COLORS["ground"])
        self.axis.setTextPen(theme.COLORS["faint"])
        self.axis.setPen(theme.COLORS["edge"])
        for name, curve in zip(reversed(self._history.names), self._curves, strict=True):
            curve.setBrush(color_of(name))
        self._switch.setPen(pg.mkPen(theme.COLORS["text"], style=Qt.PenStyle.DashLine))
        self._unit = ""

    def refresh(self) -> None:
        stacked = np.cumsum(self._history.samples, axis=1)
        largest = float(stacked.max(initial=0.0))
        unit, per_second = next((unit, scale) for unit, scale in SECONDS if largest * scale < 999.5 or unit == "s")
        stacked *= per_second
        if unit != self._unit:
            self._unit = unit
            self.axis.setLabel(f"{self._title}, {unit}", color=theme.COLORS["text"], **LABEL)
        rows = zip((*self._history.shown, self._title), self._history.statistics(), strict=True)
        lines = (f"{name}: median {duration(row[MEDIAN])}, now {duration(row[0])}" for name, row in rows)
        self.setToolTip("\n".join(lines))
        for layer, curve in enumerate(reversed(self._curves)):
            curve.setData(self._ages[MEMORY - len(stacked) :], stacked[:, layer])
        self._switch.setPos(self._history.marked - self._history.count)
        self._switch.setVisible(0 < self._history.marked < self._history.count)
        if len(stacked):
            # A rare outlier may leave the picture; it is in the table's last column.
            self._box.setYRange(0, max(1.25 * float(np.percentile(stacked[:, -1], 95)), 0.1), padding=0)
        self.viewport().update()


class TimingPanel(QWidget):
    """The algorithm and why, numbers, and below a rolling stacked plot of the steps and one of the frames."""

    def __init__(self) -> None:
        super().__init__()
        first = engine.PHASES["cpu"]["abia"]
        self.steps = History(tuple(engine.PHASE_MEANINGS), first)
        self.frames = History(tuple(FRAME_COLORS), (*SPENT["cpu"], *DRAWING))
        self.table = TimingTable([("step", self.steps), ("frame", self.frames)])
        self._spent: Mapping[str, float] = {}  # for the state that is drawn
        self.choice, self.device_choice, self.why, self.prompt = QToolButton(), QToolButton(), QLabel(), MeasurePrompt()
        self.measure_asked, self.measured = self.prompt.asked, self.prompt.over
        self._plots = StackedPlot(self.steps, "step"), StackedPlot(self.frames, "frame")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.setSizeConstraint(QVBoxLayout.SizeConstraint.SetNoConstraint)  # see minimumSizeHint
        layout.addLayout(self._heading())
        self.view = self._view()
        layout.addWidget(self.view, 100)  # all its rows, before the plots get more than they need
        for plot in self._plots:
            layout.addWidget(plot, 1)
        layout.addStretch()
        self._fit_rows()
        self._drawn = (-1, -1)
        self._conditions: tuple[object, ...] = ()
        self._speed = 1.0
        self.taken_by = ("", "")
        """The algorithm and the device by which the shown steps are taken."""
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._refresh)
        self._timer.start(REFRESH)

    def _heading(self) -> QVBoxLayout:
        for button in (self.choice, self.device_choice):
            button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.choice.setToolTip("Algorithm of the simulation; it can be changed while it runs")
        self.device_choice.setToolTip("Device of the simulation; it can be changed while it runs")
        self.why.setWordWrap(True)
        theme.tint(self.why, "faint")
        self.why.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.why.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        buttons = QHBoxLayout()
        buttons.addWidget(self.choice)
        buttons.addWidget(self.device_choice)
        buttons.addStretch(1)
        layout = QVBoxLayout()
        layout.setContentsMargins(8, 5, 8, 5)
        layout.setSpacing(2)
        layout.addLayout(buttons)
        layout.addWidget(self.why)
        layout.addWidget(self.prompt)
        return layout

    def _view(self) -> QTableView:
        view = QTableView()
        view.setModel(self.table)
        view.setStyleSheet("QTableView::item { padding: 0 1px; } QHeaderView::section { padding: 4px 4px; }")
        view.setShowGrid(False)
        view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        view.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        view.setIconSize(QSize(10, 10))
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.verticalHeader().hide()
        view.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        view.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        header = view.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Fixed)
        view.setColumnHidden(1 + BEFORE, True)
        view.setColumnWidth(0, view.fontMetrics().horizontalAdvance("inertia recursion") + 30)
        bold = QFont(view.font())
        bold.setBold(True)
        header.setMinimumSectionSize(max(map(QFontMetrics(bold).horizontalAdvance, WIDEST)) + MARGIN)
        header.setFixedHeight(2 * view.fontMetrics().height() + 8)
        view.setMinimumHeight(header.height() + 3 * ROW_HEIGHT)
        return view

    def _fit_rows(self) -> None:
        """Give the table the room that its rows take, if there is as much."""
        rows = self.table.rowCount()
        self.view.setMaximumHeight(self.view.horizontalHeader().height() + ROW_HEIGHT * rows + 4)
        self._fit_plots()
        self.layout().activate()

    def add_step(self, phases: Mapping[str, float], speed: float) -> None:
        """Seconds of each phase of one step by name, and the speed at which the simulation is to play."""
        if speed != self._speed:
            self._speed = speed
            self.clear()
        self.steps.add(phases)
        shown = self.steps.shown if self.steps.count > self.steps.marked + 1 else ()
        # What takes no time at all, such as constraints of a robot that has none, has no row.
        self._show(self.steps, tuple(name for name, seconds in phases.items() if seconds > 0 or name in shown))

    def add_spent(self, spent: Mapping[str, float]) -> None:
        """Seconds of what was done for the state that is drawn from now on, by the names of `SPENT`."""
        self._spent = spent
        self._show(self.frames, (*spent, *DRAWING))

    def add_frame(self, upload: float, draw: float) -> None:
        """Seconds of one picture: sending the poses to the graphics card, and drawing."""
        self.frames.add({**self._spent, "upload": upload, "draw": draw})

    def _show(self, history: History, names: tuple[str, ...]) -> None:
        """Have the table show these rows of a history."""
        if history.show(names):
            self.table.show_others()
            self._fit_rows()

    def clear(self) -> None:
        """Forget the steps taken before: they were another robot's, or under other conditions."""
        self.steps.clear()
        self.frames.before[:] = np.nan
        self.table.algorithm_before = ""
        self.view.setColumnHidden(1 + BEFORE, True)
        self._fit()

    def clear_all(self) -> None:
        """Forget steps and frames: another robot is shown."""
        self.clear()
        self.frames.clear()

    def set_menus(self, algorithms: QMenu, devices: QMenu) -> None:
        """The menus that the buttons of algorithm and device open."""
        self.choice.setMenu(algorithms)
        self.device_choice.setMenu(devices)

    @property
    def measuring(self) -> bool:
        """Whether the algorithms are being measured."""
        return self.prompt.measuring.running

    def start_measuring(self) -> None:
        """Measure the algorithms."""
        self.prompt.start()

    def refuse_to_measure(self, why: str) -> None:
        """Show why nothing is measured now."""
        self.prompt.show_error(why)

    def close_thread(self) -> None:
        """End the measurement's thread, and wait until it has."""
        self.prompt.close_thread()

    def _fit(self) -> None:
        """Leave out the minimum, and then the 99th percentile, where not all figures have room; rows tell on hover."""
        shown = len(COLUMNS) - self.view.isColumnHidden(1 + BEFORE)
        room = self.view.viewport().width() - self.view.columnWidth(0)
        surplus = shown - room // self.view.horizontalHeader().minimumSectionSize()
        self.view.setColumnHidden(1 + MINIMUM, surplus > 0)
        self.view.setColumnHidden(1 + MOST, surplus > 1)

    def minimumSizeHint(self) -> QSize:
        """The plots ask for no room: they are left out where the table leaves too little for them."""
        return QSize(super().minimumSizeHint().width(), self.view.y() + self.view.minimumHeight())

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self.layout().activate()
        self._fit()
        self._fit_plots()

    def _fit_plots(self) -> None:
        """Leave out plots that would take room from the table, or whose axes could not be read."""
        room = self.height() - self.view.y() - self.view.maximumHeight()
        for count, plot in enumerate(self._plots, start=1):
            plot.setVisible(room >= count * LOWEST)

    def show_algorithm(self, name: str, device: str, settings: Settings, why: str, unmeasured: bool) -> None:
        """The algorithm and device in use, how the simulation was asked for, and the reason in one sentence.

        Where nothing was measured yet, the prompt to measure stands in place of the reason.
        """
        conditions = settings.dt, settings.integrator, settings.gravity
        if conditions != self._conditions:
            self._conditions = conditions
            self.clear()
        if (name, device) != self.taken_by:
            if device != self.taken_by[1] and self.frames.count > self.frames.marked:
                self.frames.mark()
            self.taken_by = (name, device)
            if self.steps.count > self.steps.marked:
                self.steps.mark()
                self.table.algorithm_before = self.table.algorithm
            self.table.algorithm = algorithm_name(name) + (f" {device_name(device)}" if device == "cuda" else "")
            self.view.setColumnHidden(1 + BEFORE, not self.table.algorithm_before)
            self._fit()
            self.table.headerDataChanged.emit(Qt.Orientation.Horizontal, 1 + MEDIAN, 1 + BEFORE)
        self.choice.setText(algorithm_name(name) + (" (auto)" if settings.algorithm == "auto" else ""))
        self.device_choice.setText(
            f"{device_name(device)} (auto)" if settings.device == "auto" else device_name(device)
        )
        for button in (self.choice, self.device_choice):
            button.setVisible(bool(name))
        self.why.setText(algorithm_words(_in_short(why.removeprefix(f"{name}: "))))
        self.why.setToolTip(algorithm_words(why))
        prompted = unmeasured or self.measuring
        self.why.setVisible(not prompted)
        self.prompt.setVisible(prompted)
        self.layout().activate()
        self._fit_plots()

    def _refresh(self) -> None:
        changes = (self.steps.changes, self.frames.changes)
        if changes == self._drawn or not self.isVisible():
            return
        before, self._drawn = self._drawn, changes
        self.table.refresh()
        for plot, now, last in zip(self._plots, changes, before, strict=True):
            if now != last:
                plot.refresh()


def _in_short(why: str) -> str:
    """Of why it was chosen what the choice of the algorithm and that of the device rest on."""
    first, *others = why.split("; ")
    return "; ".join([first, *(part for part in others if part.startswith("on "))])
