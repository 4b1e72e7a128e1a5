"""A cell for each robot of a batch, coloured by a number, above the scale; a click or the arrow keys select one."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, QSizeF, Qt, pyqtSignal
from PyQt6.QtGui import QHelpEvent, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PyQt6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.desktop import theme
from app.desktop.numbers import si_text
from app.panels.axes import image
from app.panels.moving_keys import keeps_key
from app.panels.study_rasters import colors_of
from app.picture.crowd import shares

Key = Qt.Key
MIN_HEIGHT = 120  # px, the least height
RAMP = 64  # colours in the scale
BAR, SPACE = 10, 5  # px, the scale's height, and the space around it
MARKED = 7  # px, the least cell size at which a diverged robot's cell has a cross


class HeatMap(QWidget):
    """The cells, row by row as the robots in their grid; diverged robots are red, with a cross where there is room.

    Where all others are alike, their cells are grey, and a line below has their number instead of a scale.
    """

    chosen = pyqtSignal(int)
    """The robot selected by a click or a key."""

    def __init__(self) -> None:
        super().__init__()
        self.values = np.zeros(0)
        self.diverged = np.zeros(0, bool)
        self.robot = 0
        self.low = self.high = 0.0
        self._name, self._unit, self._prefixes = "", "", True
        self._image = QImage()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setMinimumSize(160, MIN_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Heat map of the batch")

    def sizeHint(self) -> QSize:
        return QSize(300, MIN_HEIGHT + 60)

    def show_values(
        self, name: str, unit: str, values: NDArray[np.float64], diverged: NDArray[np.bool_], robot: int,
        prefixes: bool = True,
    ) -> None:  # fmt: skip
        """Show a number for each robot, the diverged robots, and the selected one.

        The unit takes `prefixes`, as mm, or none.
        """
        self._name, self._unit, self._prefixes = name, unit, prefixes
        self.values, self.diverged, self.robot = values.copy(), diverged.copy(), robot
        part, self.low, self.high = shares(self.values, ~self.diverged)
        colors = np.zeros((self.side**2, 4), np.uint8)
        colors[: len(values)] = colors_of(np.where(self.diverged, np.nan, np.nan_to_num(part)))
        if self.alike:
            colors[: len(values)][~self.diverged] = 0  # transparent
        self._image = image(colors.reshape(self.side, self.side, 4))
        self.update()

    @property
    def alike(self) -> bool:
        """Whether all robots that have not diverged have the same number."""
        return self.low == self.high

    @property
    def side(self) -> int:
        """The number of cells in a row."""
        return max(1, math.ceil(math.sqrt(len(self.values))))

    def cell(self, robot: int) -> QRectF:
        """Return the rectangle of a robot's cell."""
        size = self._size
        corner = self._corner
        return QRectF(corner.x() + robot % self.side * size, corner.y() + robot // self.side * size, size, size)

    def robot_at(self, point: QPointF) -> int | None:
        """Return the robot whose cell contains a point; None if there is none."""
        place = point - self._corner
        column, row = math.floor(place.x() / self._size), math.floor(place.y() / self._size)
        robot = row * self.side + column
        return robot if 0 <= column < self.side and row >= 0 and robot < len(self.values) else None

    def text(self, robot: int) -> str:
        """Describe a robot in one line."""
        number = self._number(self.values[robot], 4)
        what = "diverged, and frozen" if self.diverged[robot] else f"{self._name} {number}"
        return f"robot {robot}: {what}"

    def _number(self, value: float, digits: int) -> str:
        """Return a number with its unit."""
        if not math.isfinite(value):
            return "unknown"
        return si_text(value, self._unit, digits) if self._prefixes else f"{value:.{digits}g} {self._unit}".rstrip()

    @property
    def _size(self) -> float:
        return max(1.0, self._above / self.side)

    @property
    def _above(self) -> int:
        """The height, px, above the scale, which is directly below the cells."""
        return max(1, min(self.width(), self.height() - BAR - 3 * SPACE - self.fontMetrics().height()))

    @property
    def _corner(self) -> QPointF:
        return QPointF((self.width() - self._size * self.side) / 2, 0.0)

    def paintEvent(self, _: QPaintEvent | None) -> None:
        painter = QPainter(self)
        if not len(self.values):
            return
        whole = self._size * self.side
        full, rest = divmod(len(self.values), self.side)
        for row, height, cells in ((0, full, self.side), (full, 1, rest)) if self.alike else ():
            corner = self._corner + QPointF(0.0, row * self._size)
            painter.fillRect(QRectF(corner, QSizeF(cells * self._size, height * self._size)), theme.color("handle"))
        painter.drawImage(QRectF(self._corner.x(), self._corner.y(), whole, whole), self._image)
        self._draw_scale(painter)
        if self._size >= MARKED:
            self._draw_grid(painter)
            painter.setPen(QPen(theme.color("text"), 1.2))
            for robot in np.flatnonzero(self.diverged).tolist():
                inner = self.cell(robot).adjusted(2, 2, -2, -2)
                painter.drawLine(inner.topLeft(), inner.bottomRight())
                painter.drawLine(inner.topRight(), inner.bottomLeft())
        frame = self.cell(self.robot)
        least = max(0.0, (5 - frame.width()) / 2)
        frame = frame.adjusted(-least, -least, least, least)
        painter.setPen(QPen(theme.color("ground"), 4))
        painter.drawRect(frame)
        painter.setPen(QPen(theme.color("text" if not self.hasFocus() else "warning"), 2))
        painter.drawRect(frame)

    def _draw_grid(self, painter: QPainter) -> None:
        """Draw lines between the cells, which else are one area where all robots are alike."""
        painter.setPen(QPen(theme.color("ground"), 1))
        left, size, whole = self._corner.x(), self._size, self._size * self.side
        for k in range(1, self.side):
            painter.drawLine(QPointF(left + k * size, 0.0), QPointF(left + k * size, whole))
            painter.drawLine(QPointF(left, k * size), QPointF(left + whole, k * size))

    def _draw_scale(self, painter: QPainter) -> None:
        """Draw the colour scale with the smallest and the largest number and the quantity's name."""
        bar = QRectF(0, self._above + SPACE, self.width(), BAR)
        below = QRectF(0, bar.bottom() + SPACE, self.width(), self.fontMetrics().height())
        painter.setPen(theme.color("faint"))
        align, low, high = Qt.AlignmentFlag, self._number(self.low, 3), self._number(self.high, 3)
        if self.alike:
            known = bool(np.any(np.isfinite(self.values)))
            words = f"{self._name} {low} of each" if known else f"{self._name} is not known here"
            painter.drawText(below.translated(0, -BAR), align.AlignHCenter, words)
            return
        painter.drawImage(bar, image(colors_of(np.linspace(0, 1, RAMP)[None])))
        for side, text in ((align.AlignLeft, low), (align.AlignHCenter, self._name), (align.AlignRight, high)):
            painter.drawText(below, side, text)

    def event(self, event: QEvent | None) -> bool:
        if keeps_key(event):
            return True
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            self._show_tooltip(event.pos(), event.globalPos())
            return True
        return super().event(event)

    def _show_tooltip(self, place: QPoint, on_screen: QPoint) -> None:
        robot = self.robot_at(QPointF(place))
        if robot is None:
            QToolTip.hideText()
        else:
            QToolTip.showText(on_screen, self.text(robot), self)

    def mouseMoveEvent(self, event: QMouseEvent | None) -> None:
        self._show_tooltip(event.position().toPoint(), event.globalPosition().toPoint())

    def mousePressEvent(self, event: QMouseEvent | None) -> None:
        robot = self.robot_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and robot is not None:
            self._choose(robot)

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        steps: dict[int, int] = {Key.Key_Left: -1, Key.Key_Right: 1, Key.Key_Up: -self.side, Key.Key_Down: self.side}
        last = len(self.values) - 1
        if event.key() in steps and 0 <= self.robot + steps[event.key()] <= last:
            self._choose(self.robot + steps[event.key()])
        elif event.key() in (Key.Key_Home, Key.Key_End) and last >= 0:
            self._choose(0 if event.key() == Key.Key_Home else last)
        elif event.key() not in steps:
            super().keyPressEvent(event)

    def _choose(self, robot: int) -> None:
        self.robot = robot
        self.update()
        self.chosen.emit(robot)
