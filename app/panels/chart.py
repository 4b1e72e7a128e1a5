"""Plots: curves below their names and values, here those of one unit over time."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from html import escape, unescape
from types import MappingProxyType

import numpy as np
from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtGui import QFontMetrics, QResizeEvent
from PyQt6.QtWidgets import QLabel, QWidget

from app.desktop import theme, type_scale
from app.desktop.layouts import NO_MARGINS, vertical
from app.desktop.type_scale import FIGURE_SPACE
from app.panels.canvas import FLOOR, Canvas, Curve
from app.plotting.quantities import Quantity, Unit
from app.plotting.series import Series, statistics

DASHES = ((Qt.PenStyle.SolidLine, "━"), (Qt.PenStyle.DashLine, "╍"), (Qt.PenStyle.DotLine, "┅"))
"""Line styles, used in turn once all colours are taken, and the characters that show them beside the names."""
COMPARED, COMPARED_TEXT = Qt.PenStyle.DashDotLine, "╍·╍"
"""The line style of another run's curves."""
STYLES = theme.CURVE_COUNT * len(DASHES)
LEAST_HEIGHT, NAMES = 100, 24  # px: of the canvas, and of the names above it
MARGIN = 0.06  # share of the values' span, added above and below
WORD_JOINER, AS_IT_IS = "\u2060", "white-space:pre-wrap"  # else lines would break at slashes and figure spaces
WIDTH = 5  # characters reserved for a value beside its name, so that the text does not shift
EMPTY = "empty plot: tick a quantity in the list"


class NamedPlot(QWidget):
    """A canvas below the names of its curves, each with its value."""

    removed = pyqtSignal(object)
    """What the user removes: the `Quantity` of a curve, or its `Pair`."""

    def __init__(self, canvas: Canvas, height: int, curves: Sequence[object]) -> None:
        """Take the canvas's least height, px, and what `removed` says of each curve, in a list of the plot's own."""
        super().__init__()
        self.fits = True
        """Whether the visible range follows the curves."""
        self.robot_name = ""
        """The robot of a batch that the curves are of, which precedes their names."""
        self.names, self.canvas = QLabel(wordWrap=True), canvas
        self.names.setTextInteractionFlags(
            Qt.TextInteractionFlag.LinksAccessibleByMouse | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        )
        self.names.setContentsMargins(8, 3, 8, 1)
        self.names.setProperty("ground", True)
        self.names.linkActivated.connect(lambda link: self.removed.emit(curves[int(link)]))
        vertical(self.names, (self.canvas, 1), of=self, margins=NO_MARGINS, spacing=0)
        self._least, self._curves = height, curves
        self._parts: tuple[Sequence[tuple[str, ...]], bool, str] = (), False, ""
        self._keep_height()
        self.canvas.zoomed.connect(self._zoomed)
        self.canvas.live_asked.connect(self.fit)

    def fit(self) -> None:
        """Let the visible range follow the curves again."""
        self.fits = True
        self.canvas.update()

    def _zoomed(self, axis: int) -> None:
        self.fits = self.fits and axis == 0 and self.canvas.timed

    def _show_names(self, parts: Sequence[tuple[str, ...]], removable: bool, before: str = "") -> None:
        """Show each curve's name and values, rich texts, with a link that removes it if `removable`.

        Parts beyond the plot's own curves, as of another run, have none. All are in one line, or in columns if that is
        too long.
        """
        self._parts = parts, removable, before
        if self.robot_name and parts:
            before = f'<span style="color:{theme.COLORS["faint"]}">{self.robot_name}</span>&nbsp;&nbsp; {before}'
        link = f'<a href="%d" style="color:{theme.COLORS["faint"]};text-decoration:none" title="Remove">✕</a>'
        links = [f"&nbsp;{link % k}" if removable and k < len(self._curves) else "" for k in range(len(parts))]
        cells = [(name, *(f'<b style="{AS_IT_IS}">{each}</b>' for each in values)) for name, *values in parts]
        words = [(name, f'<b style="{AS_IT_IS}">{"&nbsp;".join(values)}</b>') for name, *values in parts]
        text = before + "&nbsp;&nbsp; ".join(
            f"{'&nbsp;'.join(each)}{end}" for each, end in zip(words, links, strict=True)
        )
        columns = self._columns(parts, text)
        if columns:
            rows = [
                "".join(f'<td align="{"right" if k else "left"}">{each}&nbsp;</td>' for k, each in enumerate(cell))
                + f"<td>{end}&nbsp;&nbsp;&nbsp;</td>"
                for cell, end in zip(cells, links, strict=True)
            ]
            lines = ("".join(rows[k : k + columns]) for k in range(0, len(rows), columns))
            text = f'{before}<table cellspacing="0">{"".join(f"<tr>{line}</tr>" for line in lines)}</table>'
        if text != self.names.text():
            self.names.setText(text)
            self._keep_height()

    def _columns(self, parts: Sequence[tuple[str, ...]], line: str) -> int:
        """Return how many names fit beside each other; 0 if the line of all of them fits, or nothing would."""
        margins = self.names.contentsMargins()
        room = self.width() - margins.left() - margins.right()
        metrics = QFontMetrics(type_scale.font(bold=True))

        def width(html: str) -> int:
            return metrics.horizontalAdvance(unescape(re.sub("<[^>]*>", "", html)))

        if not parts or width(line) <= room:
            return 0
        return room // (sum(max(map(width, each)) for each in zip(*parts, strict=True)) + width("      ✕"))

    def _keep_height(self) -> None:
        """Leave the canvas its height below names of several lines, for which a splitter does not ask."""
        self.setMinimumHeight(self._least + max(self.names.heightForWidth(self.width()), NAMES))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_names(*self._parts)
        self._keep_height()


class Chart(NamedPlot):
    """Curves over time. Their values are those at the mouse, at the cursor, or the last."""

    def __init__(self) -> None:
        self.quantities: list[Quantity] = []
        super().__init__(Canvas(), LEAST_HEIGHT, self.quantities)
        self.unit: Unit | None = None
        self.has_statistics = False
        """Whether minimum, maximum, mean and RMS of each curve over the visible time follow its value."""
        self._styles: dict[Quantity, int] = {}
        self.reason = ""
        """Why curves are empty, for the head of the plot; "" if there is nothing to say."""
        self._compared: tuple[Mapping[Quantity, Series], str] = {}, ""  # of the run drawn beside these, and its name

    # The curves.

    def add(self, quantity: Quantity) -> None:
        """Add a curve; it has the unit of the existing ones."""
        taken = set(self._styles.values())
        self._styles[quantity] = min(set(range(STYLES)) - taken, default=len(taken) % STYLES)
        self.quantities.append(quantity)
        self._name()

    def drop(self, quantity: Quantity) -> None:
        """Remove a quantity's curve."""
        self.quantities.remove(quantity)
        del self._styles[quantity]
        self._name()

    def tint(self, quantity: Quantity) -> str:
        """Return the colour of a quantity's curve."""
        return theme.curve_color(self._styles[quantity])

    def tint_of_other(self, quantity: Quantity) -> str:
        """Return the colour of another run's curve of a quantity: none of this plot's own, as long as there are any."""
        own = {style % theme.CURVE_COUNT for style in self._styles.values()}
        free = [each for each in range(theme.CURVE_COUNT) if each not in own] or [*range(theme.CURVE_COUNT)]
        return theme.curve_color(free[self.quantities.index(quantity) % len(free)])

    def dash(self, quantity: Quantity) -> tuple[Qt.PenStyle, str]:
        """Return how the curve of a quantity is dashed, and that dash as text."""
        return DASHES[self._styles[quantity] // theme.CURVE_COUNT]

    def _name(self) -> None:
        """Set the axis title to the kind that all curves share, and the unit."""
        self.unit = self.quantities[0].unit if self.quantities else None
        kinds = {quantity.kind for quantity in self.quantities}
        self.canvas.unit, self.canvas.title = self.unit or Unit(""), kinds.pop() if len(kinds) == 1 else ""
        self.fit()

    @property
    def _titled(self) -> bool:
        """Whether the kind that all curves share is shown once, as the title."""
        return bool(self.canvas.title) and all(quantity.short for quantity in self.quantities)

    def _short(self, quantity: Quantity) -> str:
        return quantity.short if self._titled else quantity.label

    def show_chosen(self, on: bool) -> None:
        """Mark this plot, or not, as the one that takes the next curve."""
        if self.names.property("chosen") != on:
            self.names.setProperty("chosen", on)
            self.names.style().unpolish(self.names)
            self.names.style().polish(self.names)

    # The visible range.

    def draw(
        self,
        series: Mapping[Quantity, Series],
        compared: Mapping[Quantity, Series] = MappingProxyType({}),
        run: str = "",
        limits: bool = False,
    ) -> None:
        """Draw the curves within the visible time span, beside those that are `compared`, of another run.

        `limits` adds lines at the limits of the curves' joints.
        """
        canvas, (start, end) = self.canvas, self.canvas.time
        others = [each for each in self.quantities if each in compared]
        self._compared = {each: compared[each] for each in others}, run if others else ""
        lines = [(each, series[each], each.label, self.tint(each), self.dash(each)[0]) for each in self.quantities]
        lines += [(e, compared[e], f"{run}: {e.label}", self.tint_of_other(e), COMPARED) for e in others]
        canvas.curves = []
        for quantity, line, name, color, dash in lines:
            time, value = line.between(start, end, max(int(canvas.area.width()), 50))
            canvas.curves.append(Curve(name, color, dash, time, in_unit(quantity, line, value)))
        ends = {(end, self.tint(each)) for each in self.quantities for end in each.limits if math.isfinite(end)}
        canvas.limits = [(end * canvas.unit.scale, color) for end, color in sorted(ends)] if limits else []
        if self.fits:
            self._fit_values()
        canvas.update()

    def _fit_values(self) -> None:
        start, end = self.canvas.time
        seen = [c.value[(c.time >= start) & (c.time <= end) & np.isfinite(c.value)] for c in self.canvas.curves]
        values = np.concatenate([*seen, [end for end, _ in self.canvas.limits], np.zeros(0)])
        if self.canvas.unit.logarithmic:
            values = np.log10(np.maximum(values, FLOOR))
        self.canvas.values = fit_range(values, self.canvas.values)

    def show_values(
        self, series: Mapping[Quantity, Series], time: float, known: Mapping[Quantity, float], removable: bool = True
    ) -> None:
        """Show the names and the values at a time, the last if it is NaN; `removable` adds a remove link to each.

        `known` values at that time, SI, take precedence over the nearest samples.
        """
        faint = theme.COLORS["faint"]
        parts: list[tuple[str, ...]] = []
        title = f'<span style="color:{faint}">{self.canvas.title}:</span>&nbsp; ' if self._titled else ""
        compared, run = self._compared
        for note in (f"{COMPARED_TEXT}&nbsp;{escape(run)}" if run else "", escape(self.reason)):
            title = f'<span style="color:{faint}">{note}</span>&nbsp;&nbsp; {title}' if note else title
        for quantity in self.quantities:
            line, value = series[quantity], math.nan
            if len(line) or quantity in known:
                value = known[quantity] if quantity in known else _at(line, time)
            parts.append(self._part(quantity, line, value, self.tint(quantity), self.dash(quantity)[1]))
        for quantity, line in compared.items():
            value = _at(line, time) if len(line) else math.nan
            parts.append(self._part(quantity, line, value, self.tint_of_other(quantity), COMPARED_TEXT))
        self._show_names(parts, removable, title if parts else f'<span style="color:{faint}">{EMPTY}</span>')

    def _part(self, quantity: Quantity, line: Series, value: float, color: str, dash: str) -> tuple[str, ...]:
        """Return the name of a curve and its value, SI, and its statistics where they are shown, as rich texts."""
        value = float(in_unit(quantity, line, np.array([value]))[0]) if math.isfinite(value) else value
        number, _, unit = self.canvas.wording(value).partition(" ")
        room = FIGURE_SPACE * (WIDTH - len(number))
        wording = f"{room}{number}&nbsp;{unit}".replace(" ", "&nbsp;").replace("/", f"/{WORD_JOINER}")
        name = escape(self._short(quantity)).replace(" ", "&nbsp;")
        named = f'<span style="color:{color}">{dash}</span>&nbsp;{name}'
        return named, wording, *(self._statistics(quantity, line) if self.has_statistics else ())

    def _statistics(self, quantity: Quantity, line: Series) -> tuple[str, ...]:
        """Return minimum, maximum, mean and RMS of a curve over the visible time, as rich text."""
        found = statistics(line.time, in_unit(quantity, line, line.value), self.canvas.time)
        faint = f'<span style="color:{theme.COLORS["faint"]}">%s</span>&nbsp;%s'
        numbers = (self.canvas.wording(value).partition(" ")[0] for value in found)
        return tuple(faint % pair for pair in zip(("min", "max", "mean", "RMS"), numbers, strict=True))


def fit_range(values: np.ndarray, before: tuple[float, float]) -> tuple[float, float]:
    """Return a range around values (N,) with a margin; the one before if there are none."""
    if not len(values):
        return before
    low, high = float(values.min()), float(values.max())
    room = max(MARGIN * (high - low), 1e-6 * max(abs(low), abs(high)), 1e-9)
    room = (0.05 * max(abs(high), 1.0) if high else 1.0) if high == low else room
    return low - room, high + room


def _at(line: Series, time: float) -> float:
    return line.at(time) if math.isfinite(time) else float(line.value[-1])


def in_unit(quantity: Quantity, series: Series, value: np.ndarray) -> np.ndarray:
    """Convert a curve's SI values to what is displayed, in its unit."""
    return quantity.displayed(series, value) * quantity.unit.scale
