"""Plots of growing times: a curve per algorithm over a chain's links or a batch's robots, and where curves cross."""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import cached_property
from html import escape

import numpy as np
import pyqtgraph as pg
from PyQt6.QtCore import QPointF, QRectF, QSize, Qt
from PyQt6.QtGui import QPaintDevice, QPainter, QPixmap
from PyQt6.QtWidgets import QLabel, QWidget

import engine
from app.desktop import theme
from app.desktop.actions import algorithm_name, device_name
from app.desktop.layouts import NO_MARGINS, vertical
from app.panels.bars import duration, hover
from app.panels.vector_drawing import draw_html, vector_drawing

AXES = {"links": "links of the chain", "batch": "robots in the batch"}
PICK_DISTANCE = 24  # px from a point within which the mouse shows its numbers
PICTURE_SCALE = 2
LEAST_HEIGHT = 130  # px, for the title of the left axis
CROSSINGS = 6  # largest number of marked crossings, lowest times first


class DurationAxis(pg.AxisItem):
    """An axis with a label at each power of ten of a second."""

    def logTickStrings(self, values: list[float], _scale: float, _spacing: float) -> list[str]:
        return [duration(10.0**value) if abs(value - round(value)) < 1e-9 else "" for value in values]


class SizeAxis(pg.AxisItem):
    """An axis with a label at each measured size."""

    def __init__(self) -> None:
        super().__init__("bottom")
        self.enableAutoSIPrefix(False)

    def show_sizes(self, sizes: list[int]) -> None:
        self.setTicks([[(math.log10(size), f"{size:,}") for size in sizes]])


class GrowthPlot(pg.PlotWidget):
    """A plot with logarithmic axes. The mouse over a point shows its numbers."""

    def __init__(self) -> None:
        self._sizes = SizeAxis()
        super().__init__(axisItems={"bottom": self._sizes, "left": DurationAxis("left")}, enableMenu=False)
        self.setLogMode(True, True)
        self.hideButtons()
        self.setMouseEnabled(False, False)
        self.getPlotItem().setContentsMargins(4, 8, 14, 4)
        for side in ("left", "bottom"):
            self.getAxis(side).enableAutoSIPrefix(False)
        self.showGrid(x=True, y=True, alpha=0.12)
        self.note = pg.TextItem()
        self.note.setZValue(10)
        self._curves: dict[tuple[str, str], pg.PlotDataItem] = {}  # by algorithm and device
        self._points: tuple[engine.Point, ...] = ()
        self._marks: list[pg.GraphicsObject] = []
        self.scene().sigMouseMoved.connect(self._point_at)
        self.setMinimumHeight(LEAST_HEIGHT)
        self.apply_theme()

    def sizeHint(self) -> QSize:
        """Return its least size: it takes the room that there is, and a stack of pages asks for all of its hint."""
        return self.minimumSizeHint().expandedTo(self.minimumSize())

    def apply_theme(self) -> None:
        """Apply the palette's colours."""
        colors = theme.COLORS
        self.setBackground(colors["ground"])
        for side in ("left", "bottom"):
            self.getAxis(side).setTextPen(colors["faint"])
            self.getAxis(side).setPen(colors["edge"])
        self.setLabel("left", "time of one call", color=colors["faint"])
        self.note.setColor(colors["text"])
        self.note.fill, self.note.border = pg.mkBrush(colors["raised"]), pg.mkPen(colors["edge"])
        self._forget()

    def show_growth(self, growth: engine.Growth) -> None:
        """Show the curves measured so far."""
        self.setLabel("bottom", AXES[growth.axis], color=theme.COLORS["faint"])
        curves = growth.curves()
        if set(self._curves) - set(curves):
            self._forget()
        both = any(device == "cuda" for _, device in curves)
        for of, curve in curves.items():
            if of not in self._curves:
                tint = _tint(of)
                style = Qt.PenStyle.DashLine if both and of.device == "cpu" else Qt.PenStyle.SolidLine
                self._curves[of] = self.plot(
                    pen=pg.mkPen(tint, width=2, style=style),
                    symbol="o",
                    symbolSize=7,
                    symbolBrush=tint,
                    symbolPen=None,
                    useCache=False,  # else points are pixels, also in drawings
                )
            sizes = sorted(curve)
            self._curves[of].setData(np.array(sizes, float), np.array([curve[size] for size in sizes]))
        self._points = tuple(point for point in growth.points if point.result.host is not None)
        self._sizes.show_sizes(sorted({point.size for point in growth.points}))
        self._mark(growth)

    def _forget(self) -> None:
        for curve in self._curves.values():
            self.removeItem(curve)
        self._curves.clear()
        self.hide_note()

    def _mark(self, growth: engine.Growth) -> None:
        """Mark the crossings of curves with a dot and the size, lowest first."""
        for mark in self._marks:
            self.removeItem(mark)
        self._marks, curves = [], growth.curves()
        places = sorted((time_at(curves[each.faster], each.size), each) for each in growth.crossings())
        for seconds, crossing in places[:CROSSINGS]:
            place = (math.log10(crossing.size), math.log10(seconds))
            dot = pg.ScatterPlotItem(
                [place[0]],
                [place[1]],
                symbol="o",
                size=15,
                pen=pg.mkPen(theme.COLORS["text"], width=1.5),
                brush=None,
                useCache=False,
            )
            sizes = [point.size for point in self._points]
            aside = math.log(crossing.size / min(sizes)) / math.log(
                max(sizes) / min(sizes)
            )  # so that no end is cut off
            label = pg.TextItem(
                _label(crossing, curves[crossing.faster]), color=theme.COLORS["text"], anchor=(aside, 1.4)
            )
            label.setPos(*place)
            dot.setToolTip(crossing_text(crossing, growth.axis))
            low, high = (crossing.low or min(curves[crossing.faster]), crossing.high or max(curves[crossing.faster]))
            band = pg.PlotDataItem([low, high], [seconds] * 2, pen=pg.mkPen(theme.COLORS["text"], width=1.5))
            band.setLogMode(True, True)
            for mark in (band, dot, label):
                self.addItem(mark, ignoreBounds=True)
                self._marks.append(mark)

    def _point_at(self, position: QPointF) -> None:
        """Show the numbers of the point near the mouse."""
        box = self.getPlotItem().vb
        near = None
        for point in self._points:
            at = box.mapViewToScene(QPointF(math.log10(point.size), math.log10(point.result.host)))
            away = math.hypot(at.x() - position.x(), at.y() - position.y())
            if away < (near[0] if near else PICK_DISTANCE):
                near = away, point
        if near is None:
            self.hide_note()
            return
        place = QPointF(math.log10(near[1].size), math.log10(near[1].result.host))
        at, frame = box.mapViewToScene(place), box.sceneBoundingRect()
        self.note.setText(hover(near[1].result))
        self.note.setAnchor((float(at.x() > frame.center().x()), float(at.y() > frame.center().y())))
        self.note.setPos(place)
        if self.note.scene() is None:
            self.addItem(self.note, ignoreBounds=True)

    def hide_note(self) -> None:
        if self.note.scene() is not None:
            self.removeItem(self.note)


class GrowthView(QWidget):
    """The plot below the names of its curves."""

    def __init__(self) -> None:
        super().__init__()
        self.names = QLabel(wordWrap=True, alignment=Qt.AlignmentFlag.AlignCenter)
        self.names.setContentsMargins(10, 6, 10, 2)
        self.names.setProperty("ground", True)
        self._layout = vertical(self.names, of=self, margins=NO_MARGINS, spacing=0)
        self._growth: engine.Growth | None = None
        theme.signals.changed.connect(self._apply_theme)

    @cached_property
    def plot(self) -> GrowthPlot:
        """The plot, made on first use, since few windows show it."""
        plot = GrowthPlot()
        self._layout.addWidget(plot, 1)
        return plot

    def _apply_theme(self) -> None:
        if self._growth is not None:
            self.plot.apply_theme()
            self.show_growth(self._growth)

    def show_growth(self, growth: engine.Growth) -> None:
        """Show the curves measured so far."""
        self._growth = growth
        self.plot.show_growth(growth)
        curves = dict.fromkeys(point.curve for point in growth.points)
        dots = (f'<span style="color:{_tint(of)}">●</span>&nbsp;{escape(_name(of))}' for of in curves)
        self.names.setText(" &nbsp; ".join(dots))

    def picture(self) -> QPixmap:
        """Return a picture of the view in the light palette, without the numbers of a point."""
        pixmap = QPixmap(self.size() * PICTURE_SCALE)
        pixmap.setDevicePixelRatio(PICTURE_SCALE)
        self._draw(pixmap)
        return pixmap

    def drawing(self, suffix: str) -> bytes:
        """Return the view of `picture` as lines and text, the content of a file ".svg" or ".pdf"."""
        return vector_drawing(suffix, self.size(), self.logicalDpiX(), self._draw)

    def _draw(self, device: QPaintDevice) -> None:
        self.plot.hide_note()
        with theme.palette(theme.LIGHT):
            self._apply_theme()
            painter = QPainter(device)
            painter.fillRect(self.rect(), theme.color("ground"))
            draw_html(painter, self.names.text(), QRectF(self.names.geometry()).adjusted(10, 6, -10, 0))
            self.plot.render(painter, QRectF(self.plot.geometry()))
            painter.end()
        self._apply_theme()


def _tint(curve: tuple[str, str]) -> str:
    return theme.legible(engine.algorithm_color(curve[0]))


def _name(curve: tuple[str, str]) -> str:
    return f"{algorithm_name(curve[0])} on {device_name(curve[1])}"


def _label(crossing: engine.Crossing, sizes: Collection[int]) -> str:
    """Return which curves cross at which of the measured `sizes`, with the interval that contains it."""
    one, other = crossing.faster, crossing.slower
    named = _name if one[1] != other[1] else lambda curve: algorithm_name(curve[0])
    words = crossing.words().removeprefix("about ").replace("the smallest", f"{min(sizes):,}")
    return f"{named(one)} = {named(other)} at {words.replace('the largest', f'{max(sizes):,}')}"


def crossing_text(crossing: engine.Crossing, axis: str) -> str:
    """Describe a crossing; `axis` is "links" or "batch"."""
    words = crossing.words()
    unit = {"links": "link", "batch": "robot"}[axis] + ("" if words == "about 1" else "s")
    return f"{_name(crossing.faster)} is faster than {_name(crossing.slower)} from {words} {unit} on"


def time_at(curve: dict[int, float], size: float) -> float:
    """Interpolate a curve's time at a size, linearly between the logarithms of its points."""
    sizes = sorted(curve)
    times = [math.log(curve[each]) for each in sizes]
    return float(np.exp(np.interp(math.log(size), np.log(sizes), times)))
