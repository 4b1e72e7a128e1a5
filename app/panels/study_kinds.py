"""The kinds of charts for a study's samples: each maps columns to pixels, and a position back to a sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import QPointF, QRectF, Qt
from PyQt6.QtGui import QColor, QFontMetrics, QPainter, QPen, QPolygonF

import engine
from app.desktop import theme
from app.panels import study_rasters
from app.panels.axes import LINE, WIDE, Axis
from app.panels.study_kind import SAME, Kind, Wanted, left_out, together
from app.panels.study_rasters import Pixels

_Flag, _ELIDED = Qt.AlignmentFlag, Qt.TextElideMode.ElideMiddle
_MIDDLE = _Flag.AlignCenter
EDGE = 20  # px that the last axis's name may extend to the right
MAX_STACKED = 100_000  # samples of which those on one dot are counted
BARS = 8, 60  # fewest and most bins of a histogram, or of the values of x for shares of a predicate
CELLS = 8, 100  # fewest and most cells along a side of a heat map with many values
BAND, BANDS = 0.22, 2  # opacity of intervals, and the largest number of them that are filled
MAX_VALUES = 400  # largest number of distinct values that a side shows one by one
MAX_AXES = 9  # largest number of parallel coordinates


def bars(samples: int) -> int:
    """Return the number of bins for a distribution of `samples` samples: Rice's rule."""
    return int(np.clip(2 * samples ** (1 / 3), *BARS))


class Scatter(Kind):
    """A dot for each sample."""

    def __init__(self, results: engine.StudyResults, wanted: Wanted):
        super().__init__(results, wanted)
        self.x, self.y, self._color = self.numbers(wanted.x), self.numbers(wanted.y), self.colored()
        self.x_axis, self.y_axis = self.axis(wanted.x, self.x), self.axis(wanted.y, self.y)
        self.x, self.y = self.x_axis.share(self.x), self.y_axis.share(self.y)
        """Each sample's place, as shares of the two axes."""
        self.has_lost = bool(np.any(~np.isfinite(self._color)))
        lost = np.count_nonzero(~(np.isfinite(self.x) & np.isfinite(self.y)))
        notes = f"{lost} samples have no number here" if lost else "", self._stacks()
        self.note = "\n".join(filter(None, notes))

    def _stacks(self) -> str:
        """Return how many samples lie on one dot; "" where each has its own, or there are too many to say."""
        if len(self.x) > MAX_STACKED:
            return ""
        places = self.x + 1j * self.y
        most = int(np.unique(places[np.isfinite(places)], return_counts=True)[1].max(initial=1))
        return f"up to {most} samples on a dot: each click takes the next" if most > 1 else ""

    def pixels(self, width: int, height: int) -> Pixels:
        reach = round(study_rasters.radius(len(self.x)) * self.ratio)
        return study_rasters.dots(self.x * width, (1 - self.y) * height, self._color, (height, width), reach)

    def rows_at(self, place: QPointF, area: QRectF) -> NDArray[np.int64]:
        x = self.x * area.width() - (place.x() - area.left())
        y = (1 - self.y) * area.height() - (place.y() - area.top())
        away, lost = np.hypot(x, y), ~np.isfinite(self._color)
        covering = lost & (away <= study_rasters.radius(len(x)) + SAME)  # drawn over all others
        near = together(np.where(covering, away, np.inf) if np.any(covering) else away)
        if not len(near):
            return near
        rows = np.flatnonzero(np.hypot(x - x[near[0]], y - y[near[0]]) <= SAME)
        return rows[np.argsort(~lost[rows], kind="stable")]

    def mark(self, painter: QPainter, area: QRectF, row: int) -> None:
        x, y = self.x[row], self.y[row]
        if np.isfinite(x) and np.isfinite(y):
            at = QPointF(area.left() + x * area.width(), area.bottom() - y * area.height())
            for color, width in (("ground", 5), ("text", 2)):
                painter.setPen(QPen(theme.color(color), width))
                painter.drawEllipse(at, 8, 8)


class HeatMap(Kind):
    """The mean of a number, the share of a predicate, or the number of samples, in cells over two columns."""

    def __init__(self, results: engine.StudyResults, wanted: Wanted):
        super().__init__(results, wanted)
        x, y = self.numbers(wanted.x), self.numbers(wanted.y)
        color = self.numbers(wanted.color) if wanted.color else np.zeros(len(x))
        color = 10.0**color if wanted.color in results.logarithmic else color  # its mean is shown
        self._rows = np.flatnonzero(np.isfinite(x) & np.isfinite(y) & np.isfinite(color))
        if not len(self._rows):
            self.note = "no sample has all of these numbers"
            self._shown = np.full((1, 1), np.nan)
            return
        bins = int(np.clip(np.sqrt(len(self._rows)), *CELLS))
        self._cells = results.cells(x[self._rows], y[self._rows], color[self._rows], MAX_VALUES, bins)
        self._shown = self._cells.mean if wanted.color else self._cells.samples.astype(float)
        self.x_axis, self.y_axis = self.cells_axis(wanted.x, self._cells.x), self.cells_axis(wanted.y, self._cells.y)
        self.scale = Axis.of(wanted.color or "samples", self._shown.ravel(), (), 0.0)
        if wanted.color and self.is_predicate(wanted.color):
            self.scale = Axis(f"share of {wanted.color}", 0.0, 1.0)
        self.note = f"{len(self._rows)} samples in {np.count_nonzero(self._cells.samples)} cells"

    def pixels(self, width: int, height: int) -> Pixels:
        shown = self._shown if self.scale is None else self.scale.share(self._shown)
        picture = study_rasters.colors_of(shown)
        picture[~np.isfinite(shown)] = 0
        rows = np.arange(height) * len(shown) // height
        columns = np.arange(width) * shown.shape[1] // width
        return picture[::-1][rows][:, columns]

    def _cell_at(self, place: QPointF, area: QRectF) -> tuple[int, int]:
        rows, columns = self._shown.shape
        i = int((place.x() - area.left()) / area.width() * columns)
        j = int((area.bottom() - place.y()) / area.height() * rows)
        return min(max(j, 0), rows - 1), min(max(i, 0), columns - 1)

    def rows_at(self, place: QPointF, area: QRectF) -> NDArray[np.int64]:
        if not len(self._rows):
            return self._rows
        j, i = self._cell_at(place, area)
        return self._rows[(self._cells.x.place == i) & (self._cells.y.place == j)]

    def heading(self, place: QPointF, area: QRectF) -> str:
        j, i = self._cell_at(place, area)
        count, mean = int(self._cells.samples[j, i]), self._shown[j, i]
        color = f", {self.scale.name} {mean:.4g}" if self.wanted.color and self.scale is not None else ""
        return f"{count} sample{'s' * (count != 1)}{color}"


class Histogram(Kind):
    """The number of samples in each bin of a column, coloured by the mean of another."""

    uses_y = False

    def __init__(self, results: engine.StudyResults, wanted: Wanted):
        super().__init__(results, wanted)
        x, color = self.numbers(wanted.x), self.colored()
        if wanted.color and self.is_predicate(wanted.color):
            self.scale = Axis(f"share of {wanted.color}", 0.0, 1.0)
        self._rows = np.flatnonzero(np.isfinite(x))
        self.note = f"{len(x) - len(self._rows)} samples have no number here" if len(self._rows) < len(x) else ""
        if not len(self._rows):
            self._count, self._mean, self._place = np.zeros(1), np.zeros(1), np.zeros(0, np.int64)
            return
        x, color = x[self._rows], color[self._rows]
        colors = np.isfinite(color), np.nan_to_num(color)
        part, sides = (results.cells(x, np.zeros(len(x)), each, BARS[1], bars(len(x))) for each in colors)
        self._place, self._count = sides.x.place, sides.samples[0]
        self._mean = np.where(part.mean > 0, sides.mean / np.where(part.mean > 0, part.mean, 1), np.nan)[0]
        self.has_lost = bool(np.any(part.mean == 0))
        self.x_axis = self.cells_axis(wanted.x, sides.x)
        self.y_axis = Axis("samples", 0.0, 1.05 * float(self._count.max()))

    def paint(self, painter: QPainter, area: QRectF) -> None:
        wide = area.width() / len(self._count)
        for k, (count, color) in enumerate(zip(self._count, study_rasters.colors_of(self._mean), strict=True)):
            tall = float(self.y_axis.share(count)) * area.height()
            bar = QRectF(area.left() + k * wide, area.bottom() - tall, wide, tall)
            painter.fillRect(bar.adjusted(0.5, 0, -0.5, 0), QColor(*map(int, color)))

    def rows_at(self, place: QPointF, area: QRectF) -> NDArray[np.int64]:
        k = int((place.x() - area.left()) / area.width() * len(self._count))
        return self._rows[self._place == k]

    def heading(self, place: QPointF, area: QRectF) -> str:
        k = min(int((place.x() - area.left()) / area.width() * len(self._count)), len(self._count) - 1)
        count = int(self._count[k])
        return f"{count} sample{'s' * (count != 1)}"


class Parallel(Kind):
    """A line for each sample, across an axis for each varied or kept column."""

    uses_y = False

    def __init__(self, results: engine.StudyResults, wanted: Wanted):
        super().__init__(results, wanted)
        self._color = self.colored()
        names = list(dict.fromkeys([wanted.x, *results.varied, *results.kept]))[:MAX_AXES]
        self._axes = [self.axis(name, self.numbers(name)) for name in names]
        self._places = np.stack([axis.share(self.numbers(name)) for axis, name in zip(self._axes, names, strict=True)])
        left, lost = len(results.varied) + len(results.kept) - len(names), np.count_nonzero(~np.isfinite(self._color))
        notes = f"{left} more columns are not shown" * (left > 0), left_out(lost)
        self.note = "\n".join(filter(None, notes))

    def pixels(self, width: int, height: int) -> Pixels:
        return study_rasters.lines(self._places, self._color, (height, width))

    def paint(self, painter: QPainter, area: QRectF) -> None:
        super().paint(painter, area)
        gap, metrics = area.width() / max(1, len(self._axes) - 1), painter.fontMetrics()
        staggered = any(metrics.horizontalAdvance(axis.name) > gap - 6 for axis in self._axes)
        for k, axis in enumerate(self._axes):
            x = self._x_of(k, area)
            painter.setPen(QPen(theme.color("text"), 1))
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
            room = (1 + staggered) * gap - 6
            shown = painter.fontMetrics().elidedText(axis.name, _ELIDED, int(room))
            wide = painter.fontMetrics().horizontalAdvance(shown) + 4
            at = min(max(x - wide / 2, 4), area.right() - wide / 2 + EDGE)
            painter.drawText(QRectF(at, area.bottom() + 3 + LINE * (staggered and k % 2), wide, LINE), _MIDDLE, shown)
        ground = theme.color("ground")
        ground.setAlphaF(0.75)
        for box, shown in self.marks(area, metrics):
            painter.fillRect(box, ground)
            painter.drawText(box, _MIDDLE, shown)

    def marks(self, area: QRectF, metrics: QFontMetrics) -> list[tuple[QRectF, str]]:
        """Return the axes' numbers and words and where they are drawn, without those that would lie on others.

        Those of the last axis are left of it, and come first.
        """
        found: list[tuple[QRectF, str]] = []
        for k in (len(self._axes) - 1, *range(len(self._axes) - 1)):
            x, last = self._x_of(k, area), k == len(self._axes) - 1
            for share, text in self._axes[k].marks(4):
                shown = metrics.elidedText(text, _ELIDED, WIDE - 8)
                wide = metrics.horizontalAdvance(shown) + 6
                at = area.bottom() - share * area.height()
                box = QRectF(x - wide - 3 if last else x + 3, at - LINE / 2, wide, LINE - 2)
                if not any(box.intersects(other) for other, _ in found):
                    found.append((box, shown))
        return found

    def _x_of(self, k: int, area: QRectF) -> float:
        return area.left() + k * area.width() / max(1, len(self._axes) - 1)

    def rows_at(self, place: QPointF, area: QRectF) -> NDArray[np.int64]:
        gaps = len(self._axes) - 1
        along = (place.x() - area.left()) / area.width() * gaps
        if gaps < 1 or not 0 <= along <= gaps:
            return np.zeros(0, np.int64)
        k = min(int(along), gaps - 1)
        y = self._places[k] + (self._places[k + 1] - self._places[k]) * (along - k)
        away = np.abs((1 - y) * area.height() - (place.y() - area.top()))
        return together(np.where(np.isfinite(self._color), away, np.inf))  # the others have no line

    def mark(self, painter: QPainter, area: QRectF, row: int) -> None:
        places = self._places[:, row]
        there = [(k, y) for k, y in enumerate(places) if np.isfinite(y)]
        points = [QPointF(self._x_of(k, area), area.bottom() - y * area.height()) for k, y in there]
        for color, width in (("ground", 5), ("text", 2)):
            painter.setPen(QPen(theme.color(color), width))
            painter.drawPolyline(QPolygonF(points))


class Shares(Kind):
    """The share of samples in which a predicate holds, over a number, with its interval; a line per third value."""

    def __init__(self, results: engine.StudyResults, wanted: Wanted):
        super().__init__(results, wanted)
        x = self.numbers(wanted.x)
        self._rows = np.flatnonzero(np.isfinite(x) & ~results.columns["diverged"])
        self._x, hits = x[self._rows], results.columns[wanted.y][self._rows]
        self.lines: list[Any] = []
        if len(self._rows):
            by = results.columns[wanted.color][self._rows] if wanted.color else None
            few = 1 if by is None else len(np.unique(by[:1000]))
            self.lines = results.shares(self._x, hits, by, wanted.color, bars(len(hits) // few))
            self.x_axis = self.axis(wanted.x, self._x)
        self.y_axis = Axis(f"share of {wanted.y}, 95 % interval", -0.02, 1.02)
        lost = np.count_nonzero(results.columns["diverged"])
        self.note = left_out(lost)

    def paint(self, painter: QPainter, area: QRectF) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for k, line in enumerate(self.lines):
            tint = QColor(theme.curve_color(k))
            x = area.left() + self.x_axis.share(line.x) * area.width()
            low, share, high = (
                area.bottom() - self.y_axis.share(y) * area.height() for y in (line.low, line.share, line.high)
            )
            band = QColor(tint)
            band.setAlphaF(BAND)
            outline = [QPointF(a, b) for a, b in zip([*x, *x[::-1]], [*low, *high[::-1]], strict=True)]
            filled = len(self.lines) <= BANDS  # more of them would mix to a colour that none has
            painter.setPen(Qt.PenStyle.NoPen if filled else band)
            painter.setBrush(band if filled else Qt.BrushStyle.NoBrush)
            painter.drawPolygon(QPolygonF(outline))
            covers = any(np.array_equal(line.share, other.share) for other in self.lines[:k])
            painter.setPen(QPen(tint, 2, Qt.PenStyle.DashLine if covers else Qt.PenStyle.SolidLine))
            painter.drawPolyline(QPolygonF([QPointF(a, b) for a, b in zip(x, share, strict=True)]))
            if len(x) <= 40:
                painter.setPen(tint)
                painter.setBrush(tint)
                for a, b, top, bottom in zip(x, share, high, low, strict=True):
                    painter.drawEllipse(QPointF(a, b), 3, 3)
                    painter.drawLine(QPointF(a, top), QPointF(a, bottom))
            self._name(painter, area, k, line.label, tint)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _name(self, painter: QPainter, area: QRectF, k: int, label: str, tint: QColor) -> None:
        if not label:
            return
        top = area.top() + k * LINE
        painter.fillRect(QRectF(area.right() + 10, top + LINE / 2 - 2, 12, 4), tint)
        painter.setPen(theme.color("text"))
        shown = painter.fontMetrics().elidedText(label, _ELIDED, 96)
        painter.drawText(QRectF(area.right() + 26, top, 100, LINE), _Flag.AlignVCenter, shown)

    def rows_at(self, place: QPointF, area: QRectF) -> NDArray[np.int64]:
        x = (self.x_axis.share(self._x) - (place.x() - area.left()) / area.width()) * area.width()
        return self._rows[together(np.abs(x))]

    def heading(self, place: QPointF, area: QRectF) -> str:
        at = self.x_axis.low + (place.x() - area.left()) / area.width() * (self.x_axis.high - self.x_axis.low)
        shown = 10.0**at if self.x_axis.powers else at
        wording = []
        for line in self.lines:
            k = int(np.argmin(np.abs(line.x - at)))
            bounds = f"{100 * line.low[k]:.1f} to {100 * line.high[k]:.1f} %"
            wording.append(f"{line.label} {self.wanted.y} {100 * line.share[k]:.1f} %, {bounds}".strip())
        return "\n".join([*wording, f"at {self.wanted.x} {shown:.4g}"])


KINDS: dict[str, type[Kind]] = {
    "Scatter": Scatter, "Heat map": HeatMap, "Histogram": Histogram, "Parallel coordinates": Parallel,
    "Success rate": Shares,
}  # fmt: skip
"""The kinds by their names in the window."""
