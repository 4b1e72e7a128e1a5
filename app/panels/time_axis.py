"""The time axis shared by all plots, below them, so that it stays visible when the plots scroll."""

from __future__ import annotations

import math

from PyQt6.QtCore import QPointF, QRectF, Qt
from PyQt6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PyQt6.QtWidgets import QWidget

from app.desktop import theme, type_scale
from app.panels.axes import label_place, numbers, ticks
from app.panels.canvas import EDGE, WIDE, Canvas

HEIGHT = 18  # px
GAP = 22  # px between its name and its line, room for half a number
_Right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop
_Middle = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop


class TimeAxis(QWidget):
    """Shows the times of a canvas of equal width, with the time under the mouse or the window's time."""

    def __init__(self) -> None:
        super().__init__()
        self.canvas: Canvas | None = None
        self.setFixedHeight(type_scale.scaled(HEIGHT))

    def show_times(self, canvas: Canvas | None) -> None:
        """Show a canvas's visible time range."""
        self.canvas = canvas
        self.update()

    def paintEvent(self, _: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.color("ground"))
        if self.canvas is not None:
            painter.setFont(type_scale.font("small"))
            self._draw(painter, self.canvas)

    def _draw(self, painter: QPainter, canvas: Canvas) -> None:
        cursor_time = self.cursor_time(painter.fontMetrics())
        painter.setPen(theme.color("faint"))
        painter.drawText(QRectF(0, 0, canvas.area.left() - GAP, self.height()), _Right, "time")
        times = ticks(*canvas.time, int(canvas.area.width() / WIDE))
        for time, digits in zip(times, numbers(times), strict=True):
            text = f"{digits} s"
            place = label_place(painter.fontMetrics(), canvas.area, float(canvas.x_of(time)), 0, text)
            if cursor_time is None or not cursor_time[0].intersects(place):
                painter.drawText(place, _Middle, text)
        if cursor_time is not None:
            box, text = cursor_time
            painter.fillRect(box, theme.color("raised"))
            painter.setPen(theme.color("text"))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    def cursor_time(self, metrics: QFontMetrics) -> tuple[QRectF, str] | None:
        """Return box and text of the time under the mouse, or else of the window's; None if it is outside the range.

        The axis's own labels leave space for it.
        """
        if (canvas := self.canvas) is None:
            return None
        time, (start, end) = canvas.pointer if math.isfinite(canvas.pointer) else canvas.marked, canvas.time
        if not start <= time <= end:
            return None
        text = f"{time:.{max(0, 3 - math.floor(math.log10(end - start)))}f} s"
        box = QRectF(0, 0, metrics.horizontalAdvance(text) + 10, self.height() - 1)
        box.moveCenter(QPointF(float(canvas.x_of(time)), box.center().y()))
        box.moveRight(min(box.right(), canvas.width() - EDGE))
        return box, text
