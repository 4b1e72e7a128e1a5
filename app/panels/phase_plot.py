"""A phase plot: curves of one quantity over another, such as a joint's velocity over its position."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from typing import NamedTuple

import numpy as np
from PyQt6.QtCore import QPointF, QRectF, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QPainter, QPaintEvent, QWheelEvent
from PyQt6.QtWidgets import QLabel, QSplitter, QVBoxLayout, QWidget

from app.desktop import theme, type_scale
from app.panels.canvas import EDGE, WIDE, ZOOM, Canvas, Curve, number, ticks
from app.panels.chart import MARGIN, shown
from app.plotting.catalogue import Catalogue
from app.plotting.phase import over
from app.plotting.quantities import Quantity, Unit
from app.plotting.series import Series

POINTS = 8000  # of a curve
LEAST_HEIGHT = 220  # px
BELOW = 34  # px below the curves for numbers and title of the x axis
DOT = 4.0  # px, radius of the mark of the newest sample, or of the one at the cursor
KEY = "over:"  # begins a phase plot in a list of plots' keys
_Middle = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop


class Pair(NamedTuple):
    """Two quantities of a curve: y is drawn over x."""

    x: Quantity
    y: Quantity

    @property
    def label(self) -> str:
        """Both names, the owner's once if both have the same."""
        same = (self.x.subject, self.x.name) == (self.y.subject, self.y.name)
        return f"{self.y.label} over {self.x.label.removeprefix(self.x.name).strip() if same else self.x.label}"


class PhaseCanvas(Canvas):
    """A canvas whose horizontal axis has a quantity in place of time."""

    def __init__(self) -> None:
        super().__init__()
        self.x_unit, self.x_title = Unit(""), ""
        self.dots: Sequence[tuple[str, float, float]] = ()
        """Colour and place of each curve's mark."""

    @property
    def area(self) -> QRectF:
        return super().area.adjusted(0, 0, 0, -BELOW)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter, area = QPainter(self), self.area
        painter.setFont(type_scale.font("small"))
        painter.setPen(theme.color("faint"))
        for value in ticks(*self.time, int(area.width() / WIDE)):
            half = painter.fontMetrics().horizontalAdvance(number(value)) / 2 + 1
            middle = min(float(self.x_of(value)), self.width() - half - EDGE)
            painter.drawText(QRectF(middle - half, area.bottom() + 2, 2 * half, 18), _Middle, number(value))
        title = f"{self.x_title} ({self.x_unit.label})" if self.x_unit.label else self.x_title
        painter.drawText(QRectF(area.left(), area.bottom() + 18, area.width(), 18), _Middle, title)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setClipRect(area.adjusted(-DOT, -DOT, DOT, DOT))
        painter.setPen(theme.color("text"))
        for color, x, y in self.dots:
            painter.setBrush(QColor(color))
            painter.drawEllipse(QPointF(float(self.x_of(x)), float(self.y_of(y))), DOT, DOT)

    def near(self, _: QPointF) -> tuple[Curve, int] | None:
        """Return no curve: the values beside the names are those of the marks."""
        return None

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom both axes about the mouse."""
        factor = ZOOM ** -((event.angleDelta().y() or event.angleDelta().x()) / 120)
        at, (low, high) = self._value_at(event.position().y()), self.values
        self.values = at - (at - low) * factor, at + (high - at) * factor
        self.zoom(factor, self.time_at(event.position().x()))
        event.accept()


class PhasePlot(QWidget):
    """Curves of pairs with the same units, below their names and the values at their marks."""

    removed = pyqtSignal(object)
    """The `Pair` whose curve the user removes."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        super().__init__()
        self.pairs, self.fits = list(pairs), True
        self.names, self.canvas = QLabel(wordWrap=True), PhaseCanvas()
        self.names.setTextInteractionFlags(
            Qt.TextInteractionFlag.LinksAccessibleByMouse | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        )
        self.names.setContentsMargins(8, 3, 8, 1)
        self.names.setProperty("ground", True)
        self.names.linkActivated.connect(lambda link: self.removed.emit(self.pairs[int(link)]))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.names)
        layout.addWidget(self.canvas, 1)
        self.setMinimumHeight(LEAST_HEIGHT)
        self.canvas.zoomed.connect(lambda _: setattr(self, "fits", False))
        self.canvas.live_asked.connect(self.fit)
        self._said: Sequence[tuple[str, Pair, tuple[float, float]]] = ()
        self._colors = {pair: k % theme.CURVE_COUNT for k, pair in enumerate(self.pairs)}

    @property
    def keys(self) -> list[str]:
        """The keys of the pairs, x before y, as in a list of plots."""
        return [KEY, *(quantity.key for pair in self.pairs for quantity in pair)]

    def fit(self) -> None:
        """Let both ranges follow the curves again."""
        self.fits = True
        self.canvas.update()

    def draw(self, series: Mapping[Quantity, Series], span: tuple[float, float], cursor: float) -> None:
        """Draw the samples within a time span, s, each curve with a mark at the cursor's time, or at the newest."""
        canvas, curves, dots, said = self.canvas, [], [], []
        units = self.pairs[0].x.unit, self.pairs[0].y.unit
        canvas.x_unit, canvas.unit = units
        canvas.x_title, canvas.title = (
            kinds.pop() if len(kinds := {pair[k].kind for pair in self.pairs}) == 1 else "" for k in (0, 1)
        )
        for pair in self.pairs:
            time, *values = over(series[pair.x], series[pair.y], *span, POINTS)
            x, y = (shown(quantity, series[quantity], value) for quantity, value in zip(pair, values, strict=True))
            color = theme.curve_color(self._colors[pair])
            curves.append(Curve(pair.label, color, Qt.PenStyle.SolidLine, x, y))
            at = len(time) - 1 if math.isnan(cursor) else int(np.abs(time - cursor).argmin()) if len(time) else -1
            if at >= 0 and math.isfinite(x[at]) and math.isfinite(y[at]):
                dots.append((color, float(x[at]), float(y[at])))
            said.append((color, pair, (x[at], y[at]) if at >= 0 else (math.nan, math.nan)))
        canvas.curves, canvas.dots = curves, dots
        if self.fits:
            self._fit(curves)
        self._said = said
        self.show_values()
        canvas.update()

    def _fit(self, curves: Sequence[Curve]) -> None:
        for name, values in (("time", [c.time for c in curves]), ("values", [c.value for c in curves])):
            every = np.concatenate(values)
            if len(every := every[np.isfinite(every)]):
                low, high = float(every.min()), float(every.max())
                room = max(MARGIN * (high - low), 1e-6 * max(abs(low), abs(high)), 1e-9)
                setattr(self.canvas, name, (low - room, high + room))

    def show_values(self, removable: bool = True) -> None:
        """Show the names and the values at the marks; `removable` adds a remove link to each."""
        faint, parts = theme.COLORS["faint"], []
        for k, (color, pair, (x, y)) in enumerate(self._said):
            values = f"{_number(x, self.canvas.x_unit)}, {_number(y, self.canvas.unit)}"
            cross = f'&nbsp;<a href="{k}" style="color:{faint};text-decoration:none" title="Remove">✕</a>'
            words = escape(pair.label).replace(" ", "&nbsp;")
            parts.append(
                f'<span style="color:{color}">━</span>&nbsp;{words}&nbsp;<b>{values}</b>{cross if removable else ""}'
            )
        if (text := "&nbsp;&nbsp; ".join(parts)) != self.names.text():
            self.names.setText(text)

    def drop(self, pair: Pair) -> None:
        """Remove a curve."""
        self.pairs.remove(pair)
        self.fit()


def _number(value: float, unit: Unit) -> str:
    return f"{value:.4g}&nbsp;{unit.label}".replace(" ", "&nbsp;") if math.isfinite(value) else "–"


def phases_of_joints(quantities: Catalogue) -> list[Pair]:
    """Return the velocity over the position of each joint."""
    velocities = {each.name: each for each in quantities.of_kinds("joint", ("velocity",))}
    positions = quantities.of_kinds("joint", ("position",))
    return [Pair(x, velocities[x.name]) for x in positions if x.name in velocities]


class PhasePlots:
    """The phase plots of a panel, below its other plots in `stack`; `changed` is called once a curve was removed."""

    def __init__(self, stack: QSplitter, changed: Callable[[], None]) -> None:
        self._stack, self._changed = stack, changed
        self.all: list[PhasePlot] = []

    @property
    def quantities(self) -> set[Quantity]:
        """The quantities that are needed."""
        return {quantity for plot in self.all for pair in plot.pairs for quantity in pair}

    def add(self, pairs: Sequence[Pair]) -> None:
        """Add a plot for each pair of units, unless these curves are shown."""
        shown = {pair for plot in self.all for pair in plot.pairs}
        by_units: dict[tuple[Unit, Unit], list[Pair]] = {}
        for pair in pairs:
            by_units.setdefault((pair.x.unit, pair.y.unit), []).append(pair)
        for group in by_units.values():
            if not shown.issuperset(group):
                plot = PhasePlot(group)
                plot.removed.connect(partial(self._remove, plot))
                self.all.append(plot)
                self._stack.addWidget(plot)

    def clear(self) -> None:
        """Remove all."""
        for plot in self.all:
            plot.setParent(None)
            plot.deleteLater()
        self.all.clear()

    def _remove(self, plot: PhasePlot, pair: Pair) -> None:
        plot.drop(pair)
        if not plot.pairs:
            self.all.remove(plot)
            plot.setParent(None)
            plot.deleteLater()
        self._changed()
