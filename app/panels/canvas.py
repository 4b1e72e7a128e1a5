"""The surface of a plot: curves over time with their axes, zoomed, panned and read with mouse and keys.

It is painted by hand. A thick line is several lines one pixel wide with small offsets: Qt draws those some fifty times
as fast as wide ones, and a plot that follows a simulation is drawn 15 times a second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyqtgraph.functions
from PyQt6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QWheelEvent
from PyQt6.QtWidgets import QSizePolicy, QWidget

from app.desktop import theme, type_scale
from app.desktop.numbers import PREFIXES
from app.panels.axes import NAME, SPARE, Axis, Marks, draw_grid, left_of, upright
from app.plotting.quantities import Unit

EDGE = 3  # px between text and the right edge
LEFT, RIGHT, TOP = 64, SPARE + EDGE, 6  # px around the curves, on the left at least; TOP is above and below them
WIDENING = 16  # px, in which the room on the left grows, so that curves stay in place while their numbers change
PICK_DISTANCE = 20  # px from a curve within which the mouse shows its value
ZOOM, PAN = 1.25, 0.1  # zoom factor and panned share of the visible range, per key press or wheel notch
TALL, WIDE = 30, 80  # px, the least distance between ticks, vertically and horizontally
THICK = 0.6  # px of the screen between the copies of a line
FLOOR = 1e-17  # drawn in place of zero on a logarithmic axis
_Key = Qt.Key
KEYS = (_Key.Key_Plus, _Key.Key_Equal, _Key.Key_Minus, _Key.Key_PageUp, _Key.Key_PageDown, _Key.Key_0)


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve to draw: `time` and `value` (N,), in the displayed unit, NaN in gaps."""

    name: str
    color: str
    dash: Qt.PenStyle
    time: np.ndarray
    value: np.ndarray


class Canvas(QWidget):
    """The plot's widget. The wheel zooms time about the mouse, with Ctrl or over the axis the values. A drag pans time,
    with Shift it frames a region to zoom into, with Ctrl it seeks a time. A double click follows the newest sample.
    """

    zoomed = pyqtSignal(int)
    """The user changed the visible range: 0 of time, 1 of the values, 2 of both."""
    pointed = pyqtSignal(float)
    """The time, s, under the mouse; NaN once it has left."""
    chosen = pyqtSignal()
    """The user pressed a mouse button here."""
    seek_requested = pyqtSignal(float)
    """The time, s, to which the user seeks."""
    live_asked = pyqtSignal()
    """The user wants to follow the newest sample again, with all values visible."""
    timed = True
    """Whether the horizontal axis is time, with numbers below all plots and a zoom of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.time, self.values = (0.0, 10.0), (-1.0, 1.0)
        """Visible ranges: time in s, and values in the displayed unit; powers of ten if the unit is logarithmic."""
        self.left = LEFT
        """px left of the curves, the same in all plots over time."""
        self.unit, self.title = Unit(""), ""
        self.curves: list[Curve] = []
        self.limits: list[tuple[float, str]] = []
        """Dashed lines at values in the displayed unit, with their colours."""
        self.pointer = self.marked = math.nan
        """Times, s, of the vertical lines: under the mouse, and the time that the window shows."""
        self._mouse: QPointF | None = None
        self._grip: tuple[QPointF, tuple[float, float]] | None = None
        self._frame: QRectF | None = None
        self._seeks = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def sizeHint(self) -> QSize:
        return QSize(400, 120)

    @property
    def area(self) -> QRectF:
        """The rectangle of the curves."""
        return QRectF(self.left, TOP, max(self.width() - self.left - RIGHT, 10), max(self.height() - 2 * TOP, 10))

    @property
    def left_needed(self) -> int:
        """The px left of the curves that the numbers there and the title need, at most a third of the width."""
        needed = left_of(QFontMetrics(type_scale.font("small")), self.marks_upwards, self.width(), LEFT)
        return LEFT - (LEFT - needed) // WIDENING * WIDENING

    @property
    def marks_upwards(self) -> Marks:
        """The labels of the values' axis."""
        low, high = (value / 10 ** self._exponent() for value in self.values)
        return Axis("", low, high, powers=self.unit.logarithmic).marks(int(self.area.height() / TALL))

    # Between numbers and pixels.

    def x_of(self, time: np.ndarray | float) -> np.ndarray:
        area, (start, end) = self.area, self.time
        return area.left() + (np.asarray(time) - start) * (area.width() / (end - start))

    def y_of(self, value: np.ndarray | float) -> np.ndarray:
        area, (low, high) = self.area, self.values
        value = np.log10(np.maximum(value, FLOOR)) if self.unit.logarithmic else np.asarray(value)
        return area.bottom() - (value - low) * (area.height() / (high - low))

    def time_at(self, x: float) -> float:
        area, (start, end) = self.area, self.time
        return start + (x - area.left()) / area.width() * (end - start)

    def value_at(self, y: float) -> float:
        """Return the value at a widget's y, px."""
        area, (low, high) = self.area, self.values
        return low + (area.bottom() - y) / area.height() * (high - low)

    # Drawing.

    def paintEvent(self, _: QPaintEvent) -> None:
        painter, area = QPainter(self), self.area
        painter.fillRect(self.rect(), theme.color("ground"))
        painter.setFont(type_scale.font("small"))
        self._draw_title(painter, area, self._draw_axes(painter, area))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setClipRect(area)
        for curve in self.curves:
            self._draw_curve(painter, curve)
        for value, color in self.limits:
            painter.setPen(QPen(QColor(color), 0, Qt.PenStyle.DashLine))
            y = round(float(self.y_of(value))) + 0.5
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
        for time, color in ((self.marked, "accent"), (self.pointer, "faint")):
            if math.isfinite(time):
                x = round(float(self.x_of(time))) + 0.5  # the middle of a pixel, so that it is sharp
                painter.setPen(theme.color(color))
                painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
        if self._frame is not None:
            painter.setPen(theme.color("accent"))
            painter.drawRect(self._frame)
        painter.setClipping(False)
        self._draw_note(painter, area)

    def _draw_axes(self, painter: QPainter, area: QRectF) -> str:
        """Draw the grid and its numbers; return the SI prefix of the values' unit."""
        below = Axis("", *self.time).marks(int(area.width() / WIDE))
        below = [(share, text * (not self.timed)) for share, text in below]
        draw_grid(painter, area, below, self.marks_upwards, NAME)
        return PREFIXES[self._exponent()]

    def _exponent(self) -> int:
        """The power of ten by which the values' axis is scaled."""
        most = max(map(abs, self.values))
        if not self.unit.prefixes or most <= 0:
            return 0
        return min(max(3 * math.floor(math.log10(most) / 3), min(PREFIXES)), max(PREFIXES))

    def wording(self, value: float) -> str:
        """Return a number with its unit, scaled as on the axis; a dash if it is not finite."""
        if not math.isfinite(value):
            return "–"
        if self.unit.logarithmic:
            return f"{value:.1e}"
        exponent = self._exponent()
        span = (self.values[1] - self.values[0]) / 10**exponent
        digits = 0 if self.unit.whole else min(max(2 - math.floor(math.log10(span)), 0), 6)
        text = f"{value / 10**exponent:.{digits}f} {PREFIXES[exponent]}{self.unit.label}".rstrip()
        return text[1:] if float(text.split()[0]) == 0 and text.startswith("-") else text

    def _draw_curve(self, painter: QPainter, curve: Curve) -> None:
        pen = QPen(QColor(curve.color), 0, curve.dash)
        painter.setPen(pen)
        x, y = self.x_of(curve.time), np.clip(self.y_of(curve.value), -1e5, 1e5)
        whole = np.isfinite(y)
        ends = np.flatnonzero(np.diff(np.concatenate([[False], whole, [False]]).astype(np.int8)))
        ratio = self.devicePixelRatioF()
        again = [k * THICK / ratio for k in range(1, round(ratio) + 1)] if curve.dash == Qt.PenStyle.SolidLine else []
        for start, end in ends.reshape(-1, 2):
            line = pyqtgraph.functions.arrayToQPolygonF(x[start:end], y[start:end])
            painter.drawPolyline(line)
            for below in again:
                painter.drawPolyline(line.translated(0, below))

    def _draw_title(self, painter: QPainter, area: QRectF, prefix: str) -> None:
        """Draw title and unit along the values' axis; the unit alone if space is short."""
        unit = f"{prefix}{self.unit.label}"
        unit = f"({unit})" if unit else ""
        metrics = painter.fontMetrics()
        words = (f"{self.title} {unit}".strip(), unit)
        text = next((text for text in words if metrics.horizontalAdvance(text) <= area.height()), "")
        painter.setPen(theme.color("faint"))
        upright(painter, metrics.height() / 2 + 2, area, text)

    def _draw_note(self, painter: QPainter, area: QRectF) -> None:
        """Draw the name and values of the curve near the mouse."""
        near = self.near(self._mouse) if self._mouse is not None and self._grip is None else None
        if near is None:
            return
        curve, at = near
        place = QPointF(float(self.x_of(curve.time[at])), float(self.y_of(curve.value[at])))
        painter.setPen(theme.color("text"))
        painter.setBrush(QColor(curve.color))
        painter.drawEllipse(place, 3.5, 3.5)
        text = f"{curve.name}\n{self.wording(curve.value[at])} at {curve.time[at]:.4g} s"
        size = painter.fontMetrics().boundingRect(self.rect(), 0, text).size()
        box = QRectF(0, 0, size.width() + 14, size.height() + 8)
        left, below = place.x() < area.center().x(), place.y() < area.center().y()
        box.moveLeft(place.x() + 8) if left else box.moveRight(place.x() - 8)
        box.moveTop(place.y() + 8) if below else box.moveBottom(place.y() - 8)
        painter.setBrush(theme.color("raised"))
        painter.setPen(theme.color("edge"))
        painter.drawRoundedRect(box, 4, 4)
        painter.setPen(theme.color("text"))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    def near(self, position: QPointF) -> tuple[Curve, int] | None:
        """Return the curve nearest to a position and the index of its point; None beyond `PICK_DISTANCE`."""
        best: tuple[float, Curve, int] | None = None
        for curve in self.curves:
            if not len(curve.time):
                continue
            at = int(np.argmin(np.abs(curve.time - self.time_at(position.x()))))
            away = math.hypot(self.x_of(curve.time[at]) - position.x(), self.y_of(curve.value[at]) - position.y())
            if away < (best[0] if best else PICK_DISTANCE):
                best = away, curve, at
        return None if best is None else best[1:]

    # The mouse and the keys.

    def zoom(self, factor: float, at: float | None = None) -> None:
        """Multiply the visible time span by `factor`, about a time, by default the middle."""
        start, end = self.time
        at = (start + end) / 2 if at is None else at
        self.time = at - (at - start) * factor, at + (end - at) * factor
        self.zoomed.emit(0)

    def wheelEvent(self, event: QWheelEvent) -> None:
        notches = (event.angleDelta().y() or event.angleDelta().x()) / 120
        factor, place = ZOOM**-notches, event.position()
        vertical = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier) or place.x() < self.left
        if vertical or not self.timed:
            at, (low, high) = self.value_at(place.y()), self.values
            self.values = at - (at - low) * factor, at + (high - at) * factor
            self.zoomed.emit(1)
        if not vertical or not self.timed:
            self.zoom(factor, self.time_at(place.x()))
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.chosen.emit()
        if event.button() == Qt.MouseButton.LeftButton and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._seeks = True
            self.seek_requested.emit(self.time_at(event.position().x()))
        elif event.button() == Qt.MouseButton.LeftButton:
            self._grip = event.position(), self.time
            if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                self._frame = QRectF(event.position(), event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        place = self._mouse = event.position()
        if self._seeks:
            self.seek_requested.emit(self.time_at(place.x()))
        elif self._frame is not None and self._grip is not None:
            self._frame = QRectF(self._grip[0], place).normalized()
        elif self._grip is not None:
            pressed, (start, end) = self._grip
            by = (pressed.x() - place.x()) / self.area.width() * (end - start)
            self.time = start + by, end + by
            self.zoomed.emit(0)
        self._point(place)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        frame, self._frame, self._grip, self._seeks = self._frame, None, None, False
        if frame is not None and frame.width() > 4 and frame.height() > 4:
            self.time = self.time_at(frame.left()), self.time_at(frame.right())
            self.values = self.value_at(frame.bottom()), self.value_at(frame.top())
            self.zoomed.emit(2)
        self._point(event.position())

    def mouseDoubleClickEvent(self, _: QMouseEvent) -> None:
        self.live_asked.emit()

    def leaveEvent(self, _: QEvent) -> None:
        self.forget_mouse()

    def forget_mouse(self) -> None:
        """Show nothing at the mouse until it moves again."""
        self._mouse, self.pointer = None, math.nan
        self.pointed.emit(math.nan)

    def _point(self, place: QPointF) -> None:
        inside = self.area.contains(place)
        self.pointed.emit(self.time_at(place.x()) if inside else math.nan)

    def event(self, event: QEvent) -> bool:
        """Take this widget's keys before the window's shortcuts do."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and event.key() in KEYS:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        start, end = self.time
        key = event.key()
        if key in (_Key.Key_Plus, _Key.Key_Equal, _Key.Key_Minus):
            self.zoom(ZOOM if key == _Key.Key_Minus else 1 / ZOOM)
        elif key in (_Key.Key_PageUp, _Key.Key_PageDown):
            by = PAN * (end - start) * (1 if key == _Key.Key_PageDown else -1)
            self.time = start + by, end + by
            self.zoomed.emit(0)
        elif key == _Key.Key_0:
            self.live_asked.emit()
        else:
            super().keyPressEvent(event)
