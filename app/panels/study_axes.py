"""The axes of a study's charts: numbers, words and cells along a side, and the colour scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import QPointF, QRectF, Qt
from PyQt6.QtGui import QImage, QPainter

from app.desktop import theme
from app.panels.canvas import number, ticks
from app.panels.study_rasters import painted

LEFT, RIGHT, TOP, BOTTOM = 66, 16, 10, 40  # px around the chart's area
BAR, BESIDE = 12, 84  # px: the colour scale's width, and all space right of a chart with a scale
TALL, WIDE, LINE = 36, 90, 18  # px: the least distance between ticks, vertically and horizontally, and a line of text
_Flag = Qt.AlignmentFlag


@dataclass(frozen=True)
class Axis:
    """A side's axis: its name and limits, and the values of its cells or else its words."""

    name: str
    low: float
    high: float
    words: Sequence[str] = ()
    cells: NDArray[np.floating] | None = None

    @classmethod
    def of(cls, name: str, values: NDArray[np.floating], words: Sequence[str] = (), room: float = 0.04) -> Axis:
        """Return an axis that holds all finite values, with a margin at its ends."""
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
        spare = room * (high - low) if high > low else 0.5 * max(abs(high), 1e-3 if not words else 1.0)
        return cls(name, low - spare, high + spare, words)

    def share(self, value: NDArray[np.floating] | float) -> NDArray[np.floating]:
        """Return the positions of values, in 0 … 1, in single precision, which is enough for a screen."""
        found = np.array(value, float)
        found -= self.low
        found /= self.high - self.low
        return found.astype(np.float32)

    def marks(self, most: int) -> list[tuple[float, str]]:
        """Return at most `most` labels with their positions, in 0 … 1."""
        if self.cells is not None:
            count = len(self.cells)
            step = -(-count // max(1, most))
            told = [f"{x:.4g}" for x in self.cells] if not self.words else list(self.words)
            return [((k + 0.5) / count, told[k]) for k in range(0, count, step)]
        if self.words:
            step = -(-len(self.words) // max(1, most))
            return [(float(self.share(k)), word) for k, word in enumerate(self.words) if k % step == 0]
        found = ticks(self.low, self.high, max(2, most))
        return [(float(self.share(x)), number(x)) for x in found]


def draw(painter: QPainter, area: QRectF, x: Axis, y: Axis) -> None:
    """Draw both axes of a chart's area, with their grid, numbers and names."""
    line, faint = theme.color("edge"), theme.color("faint")
    line.setAlphaF(0.6)
    for share, text in x.marks(int(area.width() / WIDE)):
        at = area.left() + share * area.width()
        painter.setPen(line)
        painter.drawLine(QPointF(at, area.top()), QPointF(at, area.bottom()))
        painter.setPen(faint)
        painter.drawText(QRectF(at - WIDE / 2, area.bottom() + 3, WIDE, LINE), _Flag.AlignHCenter, text)
    for share, text in y.marks(int(area.height() / TALL)):
        at = area.bottom() - share * area.height()
        painter.setPen(line)
        painter.drawLine(QPointF(area.left(), at), QPointF(area.right(), at))
        painter.setPen(faint)
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, LEFT - 26)
        painter.drawText(QRectF(18, at - LINE / 2, LEFT - 23, LINE), _Flag.AlignRight | _Flag.AlignVCenter, shown)
    painter.setPen(theme.color("text"))
    below = QRectF(area.left(), area.bottom() + 3 + LINE, area.width(), LINE)
    painter.drawText(below, _Flag.AlignCenter, x.name)
    upright(painter, 9, area, y.name)


def upright(painter: QPainter, x: float, area: QRectF, text: str) -> None:
    """Draw a text upwards, centred on x and the area's middle, elided if too long."""
    painter.save()
    painter.translate(x, area.center().y())
    painter.rotate(-90)
    shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, int(area.height()))
    painter.drawText(QRectF(-area.height() / 2, -LINE / 2, area.height(), LINE), _Flag.AlignCenter, shown)
    painter.restore()


def draw_scale(painter: QPainter, area: QRectF, axis: Axis) -> None:
    """Draw the colour scale from the smallest to the largest number, right of a chart's area."""
    bar = QRectF(area.right() + 14, area.top(), BAR, area.height())
    painter.drawImage(bar, image(painted(np.linspace(1, 0, 128)[:, None])))
    painter.setPen(theme.color("faint"))
    for share, text in axis.marks(int(area.height() / TALL)):
        if -1e-9 <= share <= 1 + 1e-9:
            at = bar.bottom() - share * bar.height()
            painter.drawLine(QPointF(bar.right(), at), QPointF(bar.right() + 3, at))
            painter.drawText(QRectF(bar.right() + 5, at - LINE / 2, 40, LINE), _Flag.AlignVCenter, text)
    painter.setPen(theme.color("text"))
    upright(painter, bar.right() + 50, area, axis.name)


def image(pixels: NDArray[np.uint8]) -> QImage:
    """Return RGBA pixels (height, width, 4) as an image."""
    pixels = np.ascontiguousarray(pixels)
    height, width = pixels.shape[:2]
    return QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGBA8888).copy()
