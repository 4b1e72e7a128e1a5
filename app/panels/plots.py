"""The plots panel: a list of quantities, and plots of those that are ticked, one for each unit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from PyQt6.QtCore import QBuffer, QIODevice, Qt, QTimer, pyqtSignal
from PyQt6.QtGui import QPixmap, QShowEvent
from PyQt6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QMenu,
    QScrollArea,
    QSplitter,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

import engine
from app.desktop import theme
from app.panels.chart import Chart
from app.panels.quantity_list import QuantityList
from app.panels.save_dialog import ask_path
from app.plotting.plot_files import table
from app.plotting.probe import Samples
from app.plotting.quantities import Quantity
from app.plotting.series import Series

REFRESH = 67  # ms between two pictures: 15 a second
WINDOWS = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, math.inf)  # s
WINDOW = 10.0
MOST = 32  # curves
EACH = 8  # curves of one entry of the menu for whole groups
PICTURE_SCALE = 2
LIST_WIDTH, LIST_LEAST = 250, 124  # px
GAP = 1e-9  # s after the last sample, where a curve is interrupted
GROUPS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("Joint &positions", "joint", ("position",)),
    ("Joint &velocities", "joint", ("velocity",)),
    ("Joint &accelerations", "joint", ("acceleration",)),
    ("&Torques and forces", "joint", ("torque", "force")),
    ("Tracking e&rrors", "joint", ("error",)),
    ("&Energies", "robot", ("kinetic energy", "potential energy", "total energy")),
    ("Energy &drift", "robot", ("energy drift",)),
    ("&Momentum", "robot", ("momentum", "angular momentum")),
    ("&Contact force", "robot", ("contact force",)),
)
WELCOME = "Tick what to plot in the list, or take a whole group with <b>Groups</b>."


class PlotsPanel(QWidget):
    """Shows samples as they come, at most 15 times a second and only while it is in sight."""

    wanted = pyqtSignal()
    """`quantities` has changed."""
    message = pyqtSignal(str)
    sought = pyqtSignal(float)
    """The time, s, of a moment that the user wants to be shown."""
    shown = pyqtSignal()
    """It has come into sight."""

    def __init__(self) -> None:
        super().__init__()
        self.charts: list[Chart] = []
        self.current: Chart | None = None
        """The plot that takes the next curve, if it has the unit."""
        self.seen = True
        """Whether no other tab hides it."""
        self._series: dict[Quantity, Series] = {}
        self._live, self._pointed, self._cursor = True, math.nan, math.nan
        self._stale = False
        self.list = QuantityList()
        self.list.setMinimumWidth(LIST_LEAST)
        self.list.model.toggled.connect(self.plot)
        self.welcome = QLabel(WELCOME, alignment=Qt.AlignmentFlag.AlignCenter, wordWrap=True)
        self.stack = QSplitter(Qt.Orientation.Vertical)
        self.stack.setChildrenCollapsible(False)
        area = QScrollArea()
        area.setWidget(self.stack)
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        self.area = area
        plots = QWidget()
        column = QVBoxLayout(plots)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._make_tools())
        column.addWidget(self.welcome, 1)
        column.addWidget(area, 1)
        split = QSplitter(Qt.Orientation.Horizontal)
        split.addWidget(self.list)
        split.addWidget(plots)
        split.setStretchFactor(1, 1)
        split.setSizes([LIST_WIDTH, 3 * LIST_WIDTH])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(split)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._refresh)
        self._timer.start(REFRESH)
        theme.tint(self.welcome, "faint")
        self.welcome.setProperty("ground", True)
        theme.signals.changed.connect(self.dress)
        self._arrange()

    def _make_tools(self) -> QHBoxLayout:
        self.groups, self.add_plot, self.follow, self.fit, self.clear_all, self.save = (QToolButton() for _ in range(6))
        for button, text, tip in (
            (self.groups, "Groups", f"Plot a whole group, up to {EACH} curves of it"),
            (self.add_plot, "New plot", "Put what is ticked next into a plot of its own"),
            (self.follow, "Live", "Follow the newest samples (0 in a plot)"),
            (self.fit, "Fit", "Keep all values of every plot in sight"),
            (self.clear_all, "Clear", "Remove all plots"),
            (self.save, "Save", "Save numbers or a picture"),
        ):
            button.setText(text)
            button.setToolTip(tip)
        self.follow.setCheckable(True)
        self.follow.setChecked(True)
        self.group_menu, menu = QMenu(self), QMenu(self)
        for text, subject, kinds in GROUPS:
            self.group_menu.addAction(text).triggered.connect(
                lambda _, subject=subject, kinds=kinds: self.plot_group(subject, kinds)
            )
        menu.addAction("&Numbers (CSV)…", self._ask_csv)
        menu.addAction("&Picture (PNG)…", self._ask_picture)
        for button, entries in ((self.groups, self.group_menu), (self.save, menu)):
            button.setMenu(entries)
            button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.span = QComboBox()
        for seconds in WINDOWS:
            self.span.addItem("whole run" if math.isinf(seconds) else f"{seconds:g} s", seconds)
        self.span.setCurrentIndex(WINDOWS.index(WINDOW))
        self.span.setMinimumContentsLength(5)
        self.span.setToolTip("How much of the time is in sight, in simulated seconds")
        self.span.setAccessibleName("time in sight")
        self.add_plot.clicked.connect(self.new_plot)
        self.follow.toggled.connect(self._set_live)
        self.fit.clicked.connect(self._fit)
        self.clear_all.clicked.connect(self.remove_all)
        self.span.currentIndexChanged.connect(lambda _: self._set_live(True))
        tools = QHBoxLayout()
        tools.setContentsMargins(6, 4, 6, 4)
        tools.setSpacing(1)
        before: tuple[QWidget, ...] = (self.groups, self.add_plot, self.span, self.follow, self.fit)
        behind: tuple[QWidget, ...] = (self.save, self.clear_all)
        for widget in before:
            tools.addWidget(widget)
        tools.addStretch(1)
        for widget in behind:
            tools.addWidget(widget)
        return tools

    def dress(self) -> None:
        """Take the theme's colours."""
        for chart in self.charts:
            chart.show_values(self._series, self._cursor)
        self._arrange()

    # What is plotted.

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """All that are plotted."""
        return tuple(self._series)

    @property
    def layout_keys(self) -> list[list[str]]:
        """The keys of the quantities of each plot, by which `restore` finds them again."""
        return [[quantity.key for quantity in chart.quantities] for chart in self.charts]

    def set_quantities(self, quantities: Sequence[Quantity], plots: Sequence[Sequence[str]] = ()) -> None:
        """Those of another robot, with plots of those whose keys are given, as far as there are such."""
        self.list.set_quantities(quantities)
        self.set_plots(plots)

    def set_plots(self, plots: Sequence[Sequence[str]]) -> None:
        """Plots of the quantities with these keys, as far as there are such, instead of those that are there."""
        self._remove_charts()
        by_key = {quantity.key: quantity for quantity in self.list.model.quantities}
        for keys in plots:
            found = [by_key[key] for key in keys if key in by_key]
            self.current = None
            for quantity in found[: MOST - len(self._series)]:
                self._add(quantity, self.current or self._new_chart())
        self._arrange()
        self.wanted.emit()

    def plot(self, quantity: Quantity, on: bool = True) -> None:
        """Plot it in the plot that was pressed last if that has its unit, else in another; or do not any more."""
        if on == (quantity in self._series):
            return
        if not on:
            self.remove(quantity)
            return
        if len(self._series) >= MOST:
            self.message.emit(f"{MOST} curves are plotted, as many as there can be; remove one first")
            return
        self._add(quantity, self._chart_for(quantity))
        self._arrange()
        self.wanted.emit()

    def plot_group(self, subject: str, kinds: Sequence[str]) -> None:
        """Plot all quantities of these kinds, up to `EACH`."""
        group = [each for each in self.list.model.quantities if each.subject == subject and each.kind in kinds]
        missing = [each for each in group if each not in self._series][:EACH]
        if not group:
            self.message.emit(f"this robot has no {' or '.join(kinds)} to plot")
        for quantity in missing:
            self.plot(quantity)
        if len(group) > len(missing) + EACH:
            self.message.emit(f"{len(missing)} of {len(group)} are plotted; tick more of them in the list")

    def remove(self, quantity: Quantity) -> None:
        """Do not plot it any more."""
        chart = next(chart for chart in self.charts if quantity in chart.quantities)
        chart.drop(quantity)
        del self._series[quantity]
        if not chart.quantities:
            self._discard(chart)
        self._arrange()
        self.wanted.emit()

    def remove_all(self) -> None:
        """Plot nothing any more."""
        self._remove_charts()
        self._arrange()
        self.wanted.emit()

    def new_plot(self) -> None:
        """An empty plot, which takes the next curve."""
        if all(chart.quantities for chart in self.charts):
            self._new_chart()
        self._arrange()

    def _remove_charts(self) -> None:
        self._series.clear()
        for chart in self.charts.copy():
            self._discard(chart)

    def _chart_for(self, quantity: Quantity) -> Chart:
        order = [self.current, *reversed(self.charts)] if self.current else self.charts
        fitting = [chart for chart in order if chart is not None and chart.unit in (None, quantity.unit)]
        return fitting[0] if fitting else self._new_chart()

    def _add(self, quantity: Quantity, chart: Chart) -> None:
        self._series[quantity] = Series()
        chart.add(quantity)
        self.current = chart

    def _new_chart(self) -> Chart:
        chart = Chart()
        chart.removed.connect(self.remove)
        canvas = chart.canvas
        canvas.chosen.connect(lambda: self._choose(chart))
        canvas.pointed.connect(self._point)
        canvas.zoomed.connect(lambda axis: self._zoomed(chart, axis))
        canvas.sought.connect(self.sought)
        canvas.live_asked.connect(lambda: self._set_live(True))
        self.charts.append(chart)
        self.stack.addWidget(chart)
        self.current = chart
        return chart

    def _discard(self, chart: Chart) -> None:
        self.charts.remove(chart)
        chart.setParent(None)
        chart.deleteLater()
        if self.current is chart:
            self.current = self.charts[-1] if self.charts else None

    def _choose(self, chart: Chart) -> None:
        self.current = chart
        self._arrange()

    def _arrange(self) -> None:
        """Bring everything to what is plotted."""
        for chart in self.charts:
            chart.canvas.tells_times = chart is self.charts[-1]
            chart.show_chosen(chart is self.current and len(self.charts) > 1)
        self.list.model.set_tints({each: chart.tint(each) for chart in self.charts for each in chart.quantities})
        self.welcome.setVisible(not self.charts)
        self.area.setVisible(bool(self.charts))
        for button in (self.clear_all, self.save, self.follow, self.fit, self.add_plot):
            button.setEnabled(bool(self.charts))
        self._stale = True

    # The samples.

    def add(self, blocks: Sequence[Samples]) -> None:
        """Take in what was sampled."""
        for block in blocks:
            for quantity, value in zip(block.quantities, block.values.T, strict=True):
                if (line := self._series.get(quantity)) is not None:
                    line.extend(block.time, value)
        self._stale |= bool(blocks)

    def clear(self) -> None:
        """Forget all samples."""
        for line in self._series.values():
            line.clear()
        self._stale = True

    def interrupt(self) -> None:
        """Leave a gap up to the next samples."""
        for line in self._series.values():
            if len(line):
                line.extend(line.time[-1:] + GAP, np.array([np.nan]))

    @property
    def series(self) -> Mapping[Quantity, Series]:
        """The samples of each curve."""
        return self._series

    # What is in sight.

    def show_cursor(self, time: float) -> None:
        """A line at the time, s, that the window shows where it is not the newest; NaN takes it away."""
        if time != self._cursor and not (math.isnan(time) and math.isnan(self._cursor)):
            self._cursor, self._stale = time, True

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._stale = True
        self.shown.emit()

    def _refresh(self) -> None:
        if self._stale and self.seen and self.isVisible():
            self._stale = False
            self.draw()

    def draw(self) -> None:
        """Draw what is in sight as it stands."""
        if self._live:
            self._follow()
        time = self._pointed if math.isfinite(self._pointed) else self._cursor
        for chart in self.charts:
            chart.canvas.pointer, chart.canvas.marked = self._pointed, self._cursor
            chart.draw(self._series)
            chart.show_values(self._series, time)

    def _follow(self) -> None:
        lines = [line for line in self._series.values() if len(line)]
        begin = min((float(line.time[0]) for line in lines), default=0.0)
        end = max((float(line.time[-1]) for line in lines), default=0.0)
        seconds = float(self.span.currentData())
        start = begin if math.isinf(seconds) else max(begin, end - seconds)
        least = 1.0 if math.isinf(seconds) else seconds
        for chart in self.charts:
            chart.canvas.time = start, max(end, start + least)

    def _set_live(self, on: bool) -> None:
        self._live, self._stale = on, True
        self.follow.setChecked(on)

    def _fit(self) -> None:
        for chart in self.charts:
            chart.fit()
        self._stale = True

    def _zoomed(self, chart: Chart, axis: int) -> None:
        """All plots have the same times in sight."""
        if axis != 1:
            self._set_live(False)
            for other in self.charts:
                other.canvas.time = chart.canvas.time
        self._stale = True

    def _point(self, time: float) -> None:
        self._pointed, self._stale = time, True

    # Files.

    def picture(self) -> QPixmap:
        """All plots as they stand, in twice their size, without what serves the mouse."""
        self.draw()
        for chart in self.charts:
            chart.canvas.forget_mouse()
            chart.show_values(self._series, self._cursor, removable=False)
            chart.show_chosen(False)
        pixmap = QPixmap(self.stack.size() * PICTURE_SCALE)
        pixmap.setDevicePixelRatio(PICTURE_SCALE)
        self.stack.render(pixmap)
        self._arrange()
        return pixmap

    def save_picture(self, path: str) -> None:
        """Write all plots as they stand as a PNG. Raises OSError."""
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        self.picture().save(buffer, "PNG")
        with engine.replacing(path) as file:
            file.write(buffer.data().data())

    def save_csv(self, path: str) -> None:
        """Write all samples, in SI units. Raises OSError."""
        with engine.replacing(path) as file:
            file.write(table(self._series).encode())

    def _ask_csv(self) -> None:
        self._ask("Save the numbers", "plots.csv", "Comma-separated values (*.csv)", self.save_csv)

    def _ask_picture(self) -> None:
        self._ask("Save the picture", "plots.png", "Pictures (*.png)", self.save_picture)

    def _ask(self, title: str, name: str, kinds: str, save: Callable[[str], None]) -> None:
        path = ask_path(self, title, name, kinds, Path(name).suffix)
        if not path:
            return
        try:
            save(path)
        except OSError as fault:
            self.message.emit(f"{path} was not written: {fault}")
        else:
            self.message.emit(f"Saved {path}")
