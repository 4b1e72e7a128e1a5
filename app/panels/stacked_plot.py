"""A rolling plot of the timing panel's durations, with the parts of each sample stacked."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PyQt6.QtCore import Qt

from app.desktop import theme, type_scale
from app.desktop.numbers import duration, time_unit
from app.panels.history import MEDIAN, MEMORY, History
from app.panels.timing_table import color_of

LOWEST = 84  # px, the least height at which the axis is readable


class StackedPlot(pg.GraphicsView):
    """The samples of a history, stacked, newest at the right, in a suitable unit."""

    def __init__(self, history: History, title: str):
        super().__init__()
        self._history, self._title, self._unit = history, title, ""
        # Else each plot in turn would have the whole window composed again.
        self.setViewportUpdateMode(self.ViewportUpdateMode.NoViewportUpdate)
        self._ages = np.arange(1 - MEMORY, 1, dtype=float)
        self.setMinimumHeight(LOWEST)
        self.enableMouse(False)
        for each in (self, self.viewport()):
            each.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        # A `pg.PlotWidget` would also make three more axes and a menu form.
        self.axis, self._box = pg.AxisItem("left"), pg.ViewBox(enableMouse=False, enableMenu=False)
        self.axis.linkToView(self._box)
        self.axis.setZValue(0.5)  # above the view, which would cover its line
        self.axis.enableAutoSIPrefix(False)
        self.axis.setWidth(52)
        self.axis.setStyle(tickFont=type_scale.font("small"))
        self._box.setXRange(1 - MEMORY, 0, padding=0)
        self._both = pg.GraphicsLayout()
        self._both.setSpacing(0)
        self._both.setContentsMargins(1, 5, 11, 5)
        self._both.addItem(self.axis)
        self._both.addItem(self._box)
        self.setCentralItem(self._both)
        # Drawn from the sum of all layers down to the lowest layer, each over the one before.
        self._curves = [pg.PlotCurveItem(pen=None, fillLevel=0.0) for _ in history.names]
        for curve in self._curves:
            self._box.addItem(curve)
        self._switch = pg.InfiniteLine()
        self._box.addItem(self._switch, ignoreBounds=True)
        theme.signals.changed.connect(self.apply_theme)
        self.apply_theme()

    def apply_theme(self) -> None:
        """Apply the palette's colours."""
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
        unit, per_second = time_unit(largest)
        stacked *= per_second
        if unit != self._unit:
            self._unit = unit
            size = f"{type_scale.points('small')}pt"
            label = {"color": theme.COLORS["text"], "font-size": size, "font-weight": "bold"}
            self.axis.setLabel(f"{self._title}, {unit}", **label)
            self.axis.resizeEvent()  # which centres the label
        rows = zip((*self._history.shown, self._title), self._history.statistics(), strict=True)
        lines = (f"{name}: median {duration(row[MEDIAN])}, now {duration(row[0])}" for name, row in rows)
        self.setToolTip("\n".join(lines))
        for layer, curve in enumerate(reversed(self._curves)):
            curve.setData(self._ages[MEMORY - len(stacked) :], stacked[:, layer])
        self._switch.setPos(self._history.marked - self._history.count)
        self._switch.setVisible(0 < self._history.marked < self._history.count)
        if len(stacked):
            # A rare outlier may be cut off.
            self._box.setYRange(0, max(1.25 * float(np.percentile(stacked[:, -1], 95)), 0.1), padding=0)
        self.viewport().update()
