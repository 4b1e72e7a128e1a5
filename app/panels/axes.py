"""The axes of charts: grid, numbers, words and cells along a side, and the colour scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import QPointF, QRectF, Qt
from PyQt6.QtGui import QFontMetrics, QImage, QPainter

from app.desktop import theme
from app.panels.study_rasters import colors_of

LEFT, RIGHT, TOP, BOTTOM = 66, 16, 10, 40  # px around the area of a study's chart
BAR, BESIDE = 12, 84  # px: the colour scale's width, and all space right of a chart with a scale
TALL, WIDE, LINE = 36, 90, 18  # px: the least distance between ticks, vertically and horizontally, and a line of text
NAME = 18  # px left of the numbers, for the name of the vertical axis
GAP = 8  # px between two labels below an area
BESIDE_WORDS = 9  # px right of the words of the vertical axis
EVEN = 1e-3  # relative difference of spacings that are taken as equal
FACTORS = (1, 2, 5, 10)  # of the steps of round numbers, times a power of ten
MAX_DIGITS = 15  # of a tick's label, as many as its number has
BELOW, SPARE = 2, 7  # px: above the numbers below an area, and how far they may extend right of it
_Flag = Qt.AlignmentFlag
Marks = Sequence[tuple[float, str]]
"""Labels with their positions along a side, in 0 … 1."""


@dataclass(frozen=True)
class Axis:
    """A side's axis: its name and limits, and the values of its cells or else its words."""

    name: str
    low: float
    high: float
    words: Sequence[str] = ()
    cells: NDArray[np.floating] | None = None
    powers: bool = False
    """Whether the limits are powers of ten."""

    @classmethod
    def of(cls, name: str, values: NDArray[np.floating], words: Sequence[str] = (), room: float = 0.04) -> Axis:
        """Return an axis that holds all words, or else all finite values, with a margin at its ends."""
        finite = np.array([0.0, len(words) - 1]) if words else values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
        spare = room * (high - low) if high > low else 0.5 if words else 0.5 * max(abs(high), 1e-3)
        return cls(name, low - spare, high + spare, words)

    def share(self, value: NDArray[np.floating] | float) -> NDArray[np.floating]:
        """Return the positions of values, in 0 … 1, in single precision, which is enough for a screen."""
        found = np.array(value, float)
        found -= self.low
        found /= self.high - self.low
        return found.astype(np.float32)

    def marks(self, most: int) -> Marks:
        """Return at most `most` labels."""
        if self.cells is not None:
            count = len(self.cells)
            step = -(-count // max(1, most))
            spacing = np.diff(self.cells)
            if step > 1 and not self.words and np.ptp(spacing) < EVEN * abs(spacing.mean()):
                found = ticks(self.cells[0], self.cells[-1], max(2, most))  # not all have one: of round numbers
                shares = (np.interp(found, self.cells, np.arange(count)) + 0.5) / count
                return list(zip(shares.tolist(), numbers(found), strict=True))
            reported = list(self.words) or numbers(self.cells, 4)
            return [((k + 0.5) / count, reported[k]) for k in range(0, count, step)]
        if self.words:
            step = -(-len(self.words) // max(1, most))
            return [(float(self.share(k)), word) for k, word in enumerate(self.words) if k % step == 0]
        found = ticks(self.low, self.high, max(2, most), whole=self.powers)
        texts = [f"1e{x:.0f}" for x in found] if self.powers else numbers(found)
        return [(float(self.share(x)), text) for x, text in zip(found, texts, strict=True)]


def draw(painter: QPainter, area: QRectF, x: Axis, y: Axis) -> None:
    """Draw both axes of a chart's area, with their grid, numbers and names."""
    draw_grid(painter, area, x.marks(int(area.width() / WIDE)), marks_upwards(y, area.height()), NAME)
    painter.setPen(theme.color("text"))
    below = QRectF(area.left(), area.bottom() + BELOW + LINE, area.width(), LINE)
    painter.drawText(below, _Flag.AlignCenter, x.name)
    upright(painter, 9, area, y.name)


def marks_upwards(axis: Axis, height: float) -> Marks:
    """Return the labels of a vertical axis of that height, px."""
    return axis.marks(int(height / TALL))


def left_of(metrics: QFontMetrics, marks: Marks, width: float, least: int = LEFT) -> int:
    """Return the px left of the area of a chart of that width, in which its labels fit if they take a third at most."""
    longest = max((metrics.horizontalAdvance(text) for _, text in marks), default=0)
    return max(least, min(NAME + longest + BESIDE_WORDS, int(width / 3)))


def draw_grid(painter: QPainter, area: QRectF, x: Marks, y: Marks, left: float) -> None:
    """Draw the grid of a chart's area, with the labels below it and those on its left, which begin at `left`, px."""
    line, metrics = theme.color("edge"), painter.fontMetrics()
    line.setAlphaF(0.6)
    across = [(area.left() + share * area.width(), text) for share, text in x]
    upwards = [(area.bottom() - share * area.height(), text) for share, text in y]
    painter.setPen(line)
    for at, _ in across:
        painter.drawLine(QPointF(at, area.top()), QPointF(at, area.bottom()))
    for at, _ in upwards:
        painter.drawLine(QPointF(area.left(), at), QPointF(area.right(), at))
    painter.setPen(theme.color("faint"))
    room = min((b - a for (a, _), (b, _) in pairwise(across)), default=area.width()) - GAP
    for at, text in across:
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, int(room))
        painter.drawText(label_place(metrics, area, at, area.bottom() + BELOW, shown), _Flag.AlignHCenter, shown)
    width = area.left() - 5 - left
    for at, text in upwards:
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, int(width) - 3)
        painter.drawText(QRectF(left, at - LINE / 2, width, LINE), _Flag.AlignRight | _Flag.AlignVCenter, shown)


def label_place(metrics: QFontMetrics, area: QRectF, x: float, top: float, text: str) -> QRectF:
    """Return the rectangle of a label below an area, centred on x where there is room."""
    half = metrics.horizontalAdvance(text) / 2 + 1
    return QRectF(min(max(x, half), area.right() + SPARE - half) - half, top, 2 * half, max(LINE, metrics.height()))


def ticks(low: float, high: float, most: int, whole: bool = False) -> list[float]:
    """Return some `most` round numbers between two; integers if `whole`.

    One alone would give no scale: of several finer ones it is then the first and the last.
    """
    if not (math.isfinite(low) and math.isfinite(high) and high > low):
        return []
    step = 10.0 ** math.floor(math.log10((high - low) / max(most, 1)))
    fits = [step * factor * max(most, 1) >= (high - low) * (1 - 1e-9) for factor in FACTORS]
    found = _multiples(step * FACTORS[fits.index(True)], low, high, whole)
    if len(found) < 2 <= most:
        found = _multiples(step * FACTORS[fits.index(True) - 1] if fits.index(True) else step / 2, low, high, whole)
        return [found[0], found[-1]] if len(found) > 1 else found
    return found


def _multiples(step: float, low: float, high: float, whole: bool) -> list[float]:
    """Return all multiples of a step between two numbers; integers if `whole`."""
    step = max(1.0, round(step)) if whole else step
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def number(value: float, digits: int = 6) -> str:
    """Return a tick's label, without rounding noise."""
    return f"{value + 0.0:.{digits}g}" if abs(value) > 1e-12 else "0"


def numbers(values: Sequence[float] | NDArray[np.floating], digits: int = 6) -> list[str]:
    """Return the labels of ticks in ascending order, with more than `digits` digits where their steps need them."""
    steps = [math.inf, *(float(after - before) for before, after in pairwise(values)), math.inf]
    texts = []
    for value, step in zip(map(float, values), map(min, pairwise(steps)), strict=True):
        apart = 0 < step < math.inf and value != 0
        needed = math.floor(math.log10(abs(value))) - math.floor(math.log10(step) + 1e-9) + 1 if apart else 0
        texts.append(number(value, min(max(digits, needed), MAX_DIGITS)))
    return texts


def upright(painter: QPainter, x: float, area: QRectF, text: str) -> None:
    """Draw a text upwards, centred on x and the area's middle, elided if too long."""
    painter.save()
    painter.translate(x, area.center().y())
    painter.rotate(-90)
    shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, int(area.height()))
    painter.drawText(QRectF(-area.height() / 2, -LINE / 2, area.height(), LINE), _Flag.AlignCenter, shown)
    painter.restore()


def draw_scale(painter: QPainter, area: QRectF, axis: Axis) -> None:
    """Draw the colour scale from the smallest to the largest number, or of words, right of a chart's area."""
    bar = QRectF(area.right() + 14, area.top(), BAR, area.height())
    count = len(axis.words)
    shares = axis.share(np.arange(count - 1.0, -1.0, -1.0)) if count else np.linspace(1, 0, 128)
    painter.drawImage(bar, image(colors_of(shares[:, None])))
    painter.setPen(theme.color("faint"))
    each = [((k + 0.5) / count, word) for k, word in enumerate(axis.words)]  # beside its colour
    marks = each[:: -(-count * TALL // int(area.height()))] if each else marks_upwards(axis, area.height())
    for share, text in marks:
        if -1e-9 <= share <= 1 + 1e-9:
            at = bar.bottom() - share * bar.height()
            painter.drawLine(QPointF(bar.right(), at), QPointF(bar.right() + 3, at))
            painter.drawText(QRectF(bar.right() + 5, at - LINE / 2, 40, LINE), _Flag.AlignVCenter, text)
    painter.setPen(theme.color("text"))
    upright(painter, bar.right() + 50, area, axis.name)


def draw_lost(painter: QPainter, area: QRectF) -> None:
    """Draw what the colour of diverged robots means, below the colour scale."""
    box = QRectF(area.right() + 14, area.bottom() + BELOW + 6, BAR, BAR)
    painter.drawImage(box, image(colors_of(np.array([[np.nan]]))))
    painter.setPen(theme.color("faint"))
    painter.drawText(QRectF(box.right() + 5, box.center().y() - LINE / 2, 60, LINE), _Flag.AlignVCenter, "diverged")


def image(pixels: NDArray[np.uint8]) -> QImage:
    """Return RGBA pixels (height, width, 4) as an image."""
    pixels = np.ascontiguousarray(pixels)
    height, width = pixels.shape[:2]
    return QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGBA8888).copy()
