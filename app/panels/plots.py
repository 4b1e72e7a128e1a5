"""The plots panel: a list of quantities, and plots of the ticked ones, at least one for each unit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import Qt, QTimer, pyqtSignal
from PyQt6.QtGui import QShowEvent
from PyQt6.QtWidgets import QLabel, QSplitter, QWidget

from app.desktop import theme, type_scale
from app.desktop.layouts import NO_MARGINS, vertical
from app.panels.chart import Chart
from app.panels.phase_plot import KEY, Pair, PhasePlots, phases_of_joints
from app.panels.plot_saving import PlotSaving
from app.panels.plot_tools import EACH, WINDOW, WINDOWS, PlotStack, PlotTools, nothing_of
from app.panels.quantity_list import QuantityList
from app.panels.time_axis import TimeAxis
from app.plotting.catalogue import Catalogue
from app.plotting.probe import Samples
from app.plotting.quantities import Quantity
from app.plotting.series import Series

REFRESH, MAX_CURVES = 67, 32  # ms between two frames, 15 fps; curves
LIST_WIDTH, LIST_LEAST = 200, 150  # px
WELCOME = "Tick quantities in the list, or choose one of the <b>Groups</b>."


class PlotsPanel(QWidget):
    """Shows samples as they arrive, at most 15 times a second and only while it is visible."""

    wanted = pyqtSignal()
    """`quantities` has changed."""
    message = pyqtSignal(str)
    seek_requested = pyqtSignal(float)
    """The time, s, to which the user seeks."""
    live_asked = pyqtSignal()
    """The user wants to see the present instead of a recorded frame."""
    shown = pyqtSignal()
    """The panel has become visible."""

    def __init__(self) -> None:
        super().__init__()
        self.charts: list[Chart] = []
        self.current: Chart | None = None
        """The plot that takes the next curve, if the unit matches."""
        self.seen = True
        """Whether the panel's tab is the visible one."""
        self._series: dict[Quantity, Series] = {}
        self.missing: list[str] = []  # the keys of the last plots that the robot had not
        self._recorded: Mapping[Quantity, Series] | None = None
        self.compared: tuple[Mapping[Quantity, Series], str] = {}, ""
        """The curves of a second run, and its name."""
        self.robot_name = ""  # of a batch, whose quantities are plotted; the heads of the plots have it
        self._span = (math.inf, -math.inf)
        self.visible = (0.0, WINDOW)  # the visible time range, s
        self.zoomed = False  # whether the user has set that range
        self._live, self._pointed, self._cursor = True, math.nan, math.nan
        self._values: Mapping[Quantity, float] = {}  # at the cursor, where they are more exact than the curves
        self._reset_range = False  # whether the visible time range is to be chosen again, around the cursor
        self._stale = False
        self.list = QuantityList()
        self.list.setMinimumWidth(type_scale.scaled(LIST_LEAST))
        self.list.model.toggled.connect(self.plot)
        self.welcome = QLabel(WELCOME, alignment=Qt.AlignmentFlag.AlignCenter, wordWrap=True)
        self.stack = PlotStack()
        self.phases = PhasePlots(self.stack, self._forget_unused)
        self.area, self.axis = self.stack.area, TimeAxis()
        plots = QWidget()
        vertical(
            self._make_tools(), (self.welcome, 1), (self.area, 1), self.axis, of=plots, margins=NO_MARGINS, spacing=0
        )
        split = QSplitter(Qt.Orientation.Horizontal)
        split.addWidget(self.list)
        split.addWidget(plots)
        for column, share in enumerate((1, 3)):  # where there is room, long names are read whole
            split.setStretchFactor(column, share)
        split.setSizes([type_scale.scaled(LIST_WIDTH), 3 * LIST_WIDTH])
        vertical(split, of=self, margins=NO_MARGINS)
        self._timer = QTimer(self, timeout=self._refresh)
        self._timer.start(REFRESH)
        theme.tint(self.welcome, "faint")
        self.welcome.setProperty("ground", True)
        theme.signals.changed.connect(self.apply_theme)
        self._arrange()

    def _make_tools(self) -> PlotTools:
        self.saving = PlotSaving(self)
        tools = PlotTools(self.plot_group, self.plot_phases, self.saving.menu)
        self.group_menu, self.limits, self.statistics = tools.group_menu, tools.limits, tools.statistics
        self.limits.toggled.connect(self.show_units)
        self.statistics.toggled.connect(self.show_units)
        self.groups, self.add_plot, self.follow, self.fit = tools.groups, tools.add_plot, tools.follow, tools.fit
        self.clear_all, self.save, self.span = tools.clear_all, tools.save, tools.span
        self.add_plot.clicked.connect(self.new_plot)
        self.follow.clicked.connect(self._press_live)
        self.fit.clicked.connect(self._fit)
        self.clear_all.clicked.connect(self.remove_all)
        self.span.currentIndexChanged.connect(lambda _: self._show_latest_range())
        return tools

    def apply_theme(self) -> None:
        """Apply the theme's colours."""
        for chart in self.charts:
            chart.show_values(self.series, self._cursor, self._values)
        self._arrange()

    def show_units(self) -> None:
        """Show all values in their units, which may have changed."""
        for fit in (*(chart.fit for chart in self.charts), *(plot.fit for plot in self.phases.all)):
            fit()
        self._stale = True

    # The plotted quantities.

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """All plotted quantities."""
        return tuple(self._series)

    @property
    def layout_keys(self) -> list[list[str]]:
        """The keys of each plot's quantities, as `set_plots` takes them."""
        phases = [plot.keys for plot in self.phases.all]
        return [*([quantity.key for quantity in chart.quantities] for chart in self.charts), *phases]

    def set_quantities(self, quantities: Catalogue, plots: Sequence[Sequence[str]] = ()) -> None:
        """Set another robot's quantities, with plots of those whose keys it has."""
        self.list.set_quantities(quantities)
        self.set_plots(plots)

    def set_plots(self, plots: Sequence[Sequence[str]]) -> None:
        """Replace all plots by plots of the quantities with these keys, as far as they exist."""
        self._remove_charts()
        self.missing = [key for keys in plots for key in keys if self.list.model.quantities.named(key) is None]
        for keys in plots:
            plotted = [each for each in map(self.list.model.quantities.named, keys) if each is not None]
            if keys and keys[0] == KEY:
                self._add_phases(list(map(Pair, plotted[::2], plotted[1::2])) if len(plotted) == len(keys) - 1 else [])
                continue
            self.current = None
            for quantity in plotted[: MAX_CURVES - len(self._series)]:
                fits = self.current is not None and self.current.unit == quantity.unit  # a joint's kind may differ
                self._add(quantity, self.current if fits else self._new_chart())
        self._arrange()
        self.wanted.emit()

    def plot(self, quantity: Quantity, on: bool = True) -> None:
        """Plot a quantity in the current plot if the unit matches, else in another; or remove it."""
        if on == self._has_chart(quantity):
            return
        if not on:
            self.remove(quantity)
            return
        if len(self._series) >= MAX_CURVES:
            self.message.emit(f"{MAX_CURVES} curves are plotted, the maximum; remove one first")
            return
        self._add(quantity, self._chart_for(quantity))
        self._arrange()
        self.wanted.emit()

    def plot_group(self, subject: str, kinds: Sequence[str]) -> None:
        """Plot quantities of these kinds, up to `EACH` that are not plotted yet."""
        group = self.list.model.quantities.of_kinds(subject, kinds)
        missing = [each for each in group if not self._has_chart(each)]
        if not group:
            self.message.emit(nothing_of(subject, kinds))
        for quantity in missing[:EACH]:
            self.plot(quantity)
        if len(missing) > EACH and self._has_chart(missing[EACH - 1]):
            plotted = sum(map(self._has_chart, group))
            self.message.emit(f"{plotted} of {len(group)} are plotted; choose the group again for more of them")

    def remove(self, quantity: Quantity) -> None:
        """Remove a quantity's curve."""
        chart = next(chart for chart in self.charts if quantity in chart.quantities)
        chart.drop(quantity)
        if not chart.quantities:
            self._discard(chart)
        self._forget_unused()

    def plot_phases(self, pairs: Sequence[Pair] | None = None) -> None:
        """Plot quantities over others; by default each joint's velocity over its position, up to `EACH`."""
        some = phases_of_joints(self.list.model.quantities) if pairs is None else pairs
        if not some:
            self.message.emit("this robot has no joint velocity to plot")
        elif len(some) > EACH:
            self.message.emit(f"{EACH} of {len(some)} are plotted; a plot's context menu plots others over a quantity")
        self._add_phases(some[:EACH])
        self._arrange()
        self.wanted.emit()

    def _add_phases(self, pairs: Sequence[Pair]) -> None:
        if len({quantity for pair in pairs for quantity in pair} | set(self._series)) > MAX_CURVES:
            self.message.emit(f"{MAX_CURVES} curves are plotted, the maximum; remove one first")
            return
        self.phases.add(pairs)
        for quantity in (each for pair in pairs for each in pair):
            self._series.setdefault(quantity, Series())

    def _forget_unused(self) -> None:
        """Drop the samples of quantities that no plot shows any more."""
        phased = self.phases.quantities
        for quantity in [each for each in self._series if each not in phased and not self._has_chart(each)]:
            del self._series[quantity]
        self._arrange()
        self.wanted.emit()

    def _has_chart(self, quantity: Quantity) -> bool:
        """Whether a quantity is plotted over time."""
        return any(quantity in chart.quantities for chart in self.charts)

    def remove_all(self) -> None:
        """Remove all curves."""
        self.set_plots(())

    def new_plot(self) -> None:
        """Add an empty plot, which takes the next curve."""
        if all(chart.quantities for chart in self.charts):
            self._new_chart()
        self._arrange()

    def _remove_charts(self) -> None:
        self._series.clear()
        for chart in self.charts.copy():
            self._discard(chart)
        self.phases.clear()

    def _chart_for(self, quantity: Quantity) -> Chart:
        order = [self.current, *reversed(self.charts)] if self.current else self.charts
        fitting = [chart for chart in order if chart is not None and chart.unit in (None, quantity.unit)]
        return fitting[0] if fitting else self._new_chart()

    def _add(self, quantity: Quantity, chart: Chart) -> None:
        self._series.setdefault(quantity, Series())
        chart.add(quantity)
        self.current = chart

    def _new_chart(self) -> Chart:
        chart = Chart()
        chart.removed.connect(self.remove)
        canvas = chart.canvas
        canvas.chosen.connect(lambda: self._choose(chart))
        canvas.pointed.connect(self._point)
        canvas.zoomed.connect(lambda axis: self._zoomed(chart, axis))
        canvas.seek_requested.connect(self.seek_requested)
        canvas.live_asked.connect(self._show_latest_range)
        self.charts.append(chart)
        self.stack.put(chart, self.stack.count())
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
        """Update all widgets to the plotted quantities."""
        for chart in self.charts:
            chart.show_chosen(chart is self.current and len(self.charts) > 1)
        self.axis.show_times(self.charts[0].canvas if self.charts else None)
        self.list.model.set_tints({each: chart.tint(each) for chart in self.charts for each in chart.quantities})
        some = bool(self.charts or self.phases.all)
        self.welcome.setVisible(not some)
        self.area.setVisible(some)
        self.axis.setVisible(bool(self.charts))
        for button in (self.clear_all, self.save, self.follow, self.fit, self.add_plot):
            button.setEnabled(some)
        self._stale = True

    # The samples.

    def add(self, blocks: Sequence[Samples]) -> None:
        """Add new samples."""
        for block in blocks:
            for quantity, value in zip(block.quantities, block.values.T, strict=True):
                if (line := self._series.get(quantity)) is not None:
                    line.extend(block.time, value)
        self._stale |= bool(blocks)

    def fill(self, quantity: Quantity, time: NDArray[np.float64], value: NDArray[np.float64]) -> None:
        """Add values computed from the recording, (N,) each, where there are no samples."""
        if (line := self._series.get(quantity)) is not None:
            self._series[quantity] = line.filled(time, value)
            self._stale = True

    def clear(self) -> None:
        """Discard all samples."""
        for line in self._series.values():
            line.clear()
        self._stale = True

    def interrupt(self) -> None:
        """Leave a gap before the next samples."""
        for line in self._series.values():
            line.interrupt()

    @property
    def series(self) -> Mapping[Quantity, Series]:
        """The samples of each displayed curve."""
        if self._recorded is None:
            return self._series
        return {quantity: self._recorded.get(quantity, Series()) for quantity in self._series}

    @property
    def sampled(self) -> Mapping[Quantity, Series]:
        """The samples of each curve that `add` received."""
        return self._series

    def show_recorded(
        self, curves: Mapping[Quantity, Series] | None, span: tuple[float, float] = (math.inf, -math.inf)
    ) -> None:
        """Show these curves of a run that spans the given times, s; None shows the sampled curves again."""
        self._stale |= curves is not None or self._recorded is not None
        self._recorded, self._span = curves, span

    def show_compared(self, curves: Mapping[Quantity, Series], name: str) -> None:
        """Draw these curves of a second run of that name beside those of the same quantities."""
        self.compared, self._stale = (curves, name), True

    def continue_from(self, time: float, curves: Mapping[Quantity, Series]) -> None:
        """Continue these curves from a time, s, with the samples that follow."""
        for quantity, line in self._series.items():
            if (shown := curves.get(quantity, Series())) is not line:
                before = shown.time <= time
                line.clear()
                line.extend(shown.time[before], shown.value[before])

    # The visible range.

    def show_cursor(self, time: float, values: Mapping[Quantity, float] = MappingProxyType({})) -> None:
        """Show a cursor at the time, s, that the window shows if it is not the newest; NaN removes it.

        `values`, SI, at that time are for curves that are not exact there.
        """
        if (time == self._cursor and values == self._values) or (math.isnan(time) and math.isnan(self._cursor)):
            return
        if math.isnan(time) != math.isnan(self._cursor):
            self._reset_range = self._live
            self._set_live(math.isnan(time))
        self._cursor, self._values, self._stale = time, values, True

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._stale = True
        self.shown.emit()

    def _refresh(self) -> None:
        if self._stale and self.seen and self.isVisible():
            self._stale = False
            self.draw()

    def draw(self, span: tuple[float, float] | None = None) -> None:
        """Draw the plots now, over a span of time, s, if one is given."""
        series = self.series
        if span is not None:
            self._show_range(span)
        elif self._live or math.isfinite(self._cursor):
            self._follow(series)
        pointed = math.isfinite(self._pointed)
        for chart in self.charts:
            chart.robot_name, chart.has_statistics = self.robot_name, self.statistics.isChecked()
            chart.canvas.pointer, chart.canvas.marked = self._pointed, self._cursor
            chart.draw(series, *self.compared, limits=self.limits.isChecked())
            chart.show_values(series, self._pointed if pointed else self._cursor, {} if pointed else self._values)
        left = max((chart.canvas.left_needed for chart in self.charts), default=0)
        for chart in self.charts:
            chart.canvas.left = left
        for plot in self.phases.all:
            plot.robot_name = self.robot_name
            plot.draw(series, self.visible, self._pointed if pointed else self._cursor)
        self.axis.update()

    def _follow(self, series: Mapping[Quantity, Series]) -> None:
        """Keep the newest samples in view, or the cursor: the range changes only when the cursor leaves it."""
        lines = [line for line in series.values() if len(line)]
        begin = min((float(line.time[0]) for line in lines), default=0.0)
        end = max((float(line.time[-1]) for line in lines), default=0.0)
        seconds = float(self.span.currentData())
        if math.isfinite(self._cursor):
            begin, end = min(begin, self._span[0], self._cursor), max(end, self._span[1], self._cursor)
            first, last = self.visible
            if not self._reset_range and first <= self._cursor <= last:
                return
            seconds = seconds if self._reset_range else last - first
            end = min(max(self._cursor + seconds / 2, begin + seconds), end)
            self._reset_range = False
        start = begin if math.isinf(seconds) else max(begin, end - seconds)
        least = 1.0 if math.isinf(seconds) else seconds
        self._show_range((start, max(end, start + least)))

    def _show_range(self, span: tuple[float, float]) -> None:
        self.visible = span
        for chart in self.charts:
            chart.canvas.time = span

    def _set_live(self, on: bool) -> None:
        self._live, self._stale, self.zoomed = on, True, self.zoomed and not on
        self.follow.setChecked(on)

    def _press_live(self, on: bool) -> None:
        recorded = math.isfinite(self._cursor)
        self._set_live(on and not recorded)
        if recorded:
            self.live_asked.emit()

    def _show_latest_range(self) -> None:
        """Show the selected time span, up to the newest samples or around the cursor."""
        self._reset_range, self._stale, self.zoomed = True, True, False
        if math.isnan(self._cursor):
            self._set_live(True)

    def _fit(self) -> None:
        """Show all values of the whole run."""
        self.show_units()
        self.span.setCurrentIndex(WINDOWS.index(math.inf))
        self._show_latest_range()

    def show_whole(self, whole: bool) -> None:
        """Show all plots as in a picture, without mouse feedback, or again as the user sees them."""
        for chart in self.charts:
            if whole:
                chart.canvas.forget_mouse()
                chart.show_chosen(False)
            chart.show_values(self.series, self._cursor, self._values, removable=not whole)
        for plot in self.phases.all:
            plot.show_values(removable=not whole)
        self._arrange()

    def _zoomed(self, chart: Chart, axis: int) -> None:
        """Give all plots the time range of this one."""
        if axis != 1:
            self._set_live(False)
            self._reset_range, self.zoomed = False, True
            self._show_range(chart.canvas.time)
        self._stale = True

    def _point(self, time: float) -> None:
        self._pointed, self._stale = time, True
