"""A phase plot: curves of one quantity over another, such as a joint's velocity over its position."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from typing import NamedTuple

import numpy as np
from PyQt6.QtCore import QPointF, QRectF, Qt
from PyQt6.QtGui import QColor, QPainter, QPaintEvent

from app.desktop import theme, type_scale
from app.desktop.type_scale import FIGURE_SPACE, MINUS
from app.panels.axes import BELOW, LINE
from app.panels.canvas import Canvas, Curve
from app.panels.chart import WORD_JOINER, NamedPlot, fit_range, in_unit
from app.panels.plot_tools import PlotStack
from app.plotting.catalogue import Catalogue
from app.plotting.phase import common_samples, within_a_turn
from app.plotting.quantities import Quantity, Unit
from app.plotting.series import Series

POINTS = 8000  # of a curve
PLAIN = 1e-4, 1e6  # shown ranges whose numbers have decimals, others powers of ten
LEAST_HEIGHT = 204  # px, below the names
TITLED = BELOW + 2 * LINE - 4  # px below the curves for numbers and title of the x axis
FEW = 2  # curves, beside whose values their units are repeated
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

    timed = False

    def __init__(self) -> None:
        super().__init__()
        self.x_unit, self.x_title = Unit(""), ""
        self.dots: Sequence[tuple[str, float, float]] = ()
        """Colour and place of each curve's mark."""

    @property
    def area(self) -> QRectF:
        return super().area.adjusted(0, 0, 0, -TITLED)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter, area = QPainter(self), self.area
        painter.setFont(type_scale.font("small"))
        painter.setPen(theme.color("faint"))
        title = f"{self.x_title} ({self.x_unit.label})" if self.x_unit.label else self.x_title
        painter.drawText(QRectF(area.left(), area.bottom() + LINE, area.width(), LINE), _Middle, title)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setClipRect(area.adjusted(-DOT, -DOT, DOT, DOT))
        painter.setPen(theme.color("text"))
        for color, x, y in self.dots:
            painter.setBrush(QColor(color))
            painter.drawEllipse(QPointF(float(self.x_of(x)), float(self.y_of(y))), DOT, DOT)

    def near(self, _: QPointF) -> tuple[Curve, int] | None:
        """Return no curve: the values beside the names are those of the marks."""
        return None


class PhasePlot(NamedPlot):
    """Curves of pairs with the same units, with the values at their marks."""

    canvas: PhaseCanvas

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = list(pairs)
        super().__init__(PhaseCanvas(), LEAST_HEIGHT, self.pairs)
        self._wording: Sequence[tuple[str, Pair, tuple[float, float]]] = ()
        self._colors = {pair: k % theme.CURVE_COUNT for k, pair in enumerate(self.pairs)}

    @property
    def keys(self) -> list[str]:
        """The keys of the pairs, x before y, as in a list of plots."""
        return [KEY, *(quantity.key for pair in self.pairs for quantity in pair)]

    def draw(self, series: Mapping[Quantity, Series], span: tuple[float, float], cursor: float) -> None:
        """Draw the samples within a time span, s, each curve with a mark at the cursor's time, or at the newest."""
        canvas, curves, dots, wording = self.canvas, [], [], []
        units = self.pairs[0].x.unit, self.pairs[0].y.unit
        canvas.x_unit, canvas.unit = units
        wrapped = [False, False]
        for pair in self.pairs:
            time, *values = common_samples(series[pair.x], series[pair.y], *span, POINTS)
            turned = [within_a_turn(*each) for each in zip(pair, values, strict=True)]
            x, y = (in_unit(each, series[each], there.values) for each, there in zip(pair, turned, strict=True))
            divided = np.flatnonzero(np.logical_or(*(each.jumps for each in turned))) + 1
            wrapped = [before or each.wrapped for before, each in zip(wrapped, turned, strict=True)]
            color = theme.curve_color(self._colors[pair])
            line = (np.insert(each, divided, np.nan) for each in (x, y))
            curves.append(Curve(pair.label, color, Qt.PenStyle.SolidLine, *line))
            at = len(time) - 1 if math.isnan(cursor) else int(np.abs(time - cursor).argmin()) if len(time) else -1
            if at >= 0 and math.isfinite(x[at]) and math.isfinite(y[at]):
                dots.append((color, float(x[at]), float(y[at])))
            wording.append((color, pair, (x[at], y[at]) if at >= 0 else (math.nan, math.nan)))
        titles = (kinds.pop() if len(kinds := {pair[k].kind for pair in self.pairs}) == 1 else "" for k in (0, 1))
        canvas.x_title, canvas.title = (
            f"{title}, wrapped" if title and each else title for title, each in zip(titles, wrapped, strict=True)
        )
        canvas.curves, canvas.dots = curves, dots
        if self.fits:
            self._fit(curves)
        canvas.left = canvas.left_needed
        self._wording = wording
        self.show_values()
        canvas.update()

    def _fit(self, curves: Sequence[Curve]) -> None:
        time, value = (np.concatenate(each) for each in ([c.time for c in curves], [c.value for c in curves]))
        self.canvas.time = fit_range(time[np.isfinite(time)], self.canvas.time)
        self.canvas.values = fit_range(value[np.isfinite(value)], self.canvas.values)

    def show_values(self, removable: bool = True) -> None:
        """Show the names and the values at the marks; `removable` adds a remove link to each."""
        parts, titled = [], bool(self.canvas.x_title and self.canvas.title)
        canvas, many = self.canvas, titled and len(self._wording) > FEW
        units = (Unit(""), Unit("")) if many else (canvas.x_unit, canvas.unit)  # those of many are at the axes only
        for color, pair, (x, y) in self._wording:
            values = f"{_number(x, units[0], canvas.time)},", _number(y, units[1], canvas.values)
            alone = titled and pair.x.name == pair.y.name  # the axes have the rest of the label
            words = escape((alone and pair.x.name) or pair.label).replace(" ", "&nbsp;")
            parts.append((f'<span style="color:{color}">━</span>&nbsp;{words}', *values))
        self._show_names(parts, removable)

    def drop(self, pair: Pair) -> None:
        """Remove a curve."""
        self.pairs.remove(pair)
        self.fit()


def _number(value: float, unit: Unit, shown: tuple[float, float]) -> str:
    """Return a number that no line break divides, as wide and with as many decimals as all within the shown range."""
    if not math.isfinite(value):
        return "–"
    span = shown[1] - shown[0]
    digits = f".{max(3 - math.floor(math.log10(span)), 0)}f" if PLAIN[0] <= span < PLAIN[1] else ".4g"
    least, most, text = (f"{x:{digits}}" for x in (*shown, value))
    text = text if float(text) else text.lstrip("-")
    room = FIGURE_SPACE * (max(len(least), len(most)) - len(text))
    unbroken = unit.label.replace(" ", "&nbsp;").replace("/", f"/{WORD_JOINER}")
    return f"{room}{text.replace('-', MINUS)}{'&nbsp;' * bool(unbroken)}{unbroken}"


def phases_of_joints(quantities: Catalogue) -> list[Pair]:
    """Return the velocity over the position of each joint."""
    velocities = {each.name: each for each in quantities.of_kinds("joint", ("velocity",))}
    positions = quantities.of_kinds("joint", ("position",))
    return [Pair(x, velocities[x.name]) for x in positions if x.name in velocities]


class PhasePlots:
    """The phase plots of a panel, above the other plots in `stack`, below which the time axis is.

    `changed` is called once a curve was removed.
    """

    def __init__(self, stack: PlotStack, changed: Callable[[], None]) -> None:
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
                self._stack.put(plot, len(self.all) - 1)

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
