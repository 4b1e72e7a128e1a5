"""An SVG drawing scaled to fit its widget, in the colours of the current theme."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from PyQt6.QtCore import QByteArray, QPointF, QRectF, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QMouseEvent, QPainter, QPaintEvent
from PyQt6.QtSvg import QSvgRenderer
from PyQt6.QtWidgets import QSizePolicy, QWidget

from app.desktop import theme

MARGIN = 8  # px
TYPE = 13.0  # units, the size of words in a drawing


class Drawing(QWidget):
    """Shows the drawing made by the function given to `show_drawing`, called again when the palette changes."""

    clicked = pyqtSignal(QPointF)
    """The clicked position, in the drawing's units."""

    def __init__(self, name: str):
        super().__init__()
        self._draw: Callable[[Mapping[str, str]], str] = lambda _: ""
        self._renderer, self._stale = QSvgRenderer(self), False
        self._largest = math.inf  # px of a unit
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        theme.signals.changed.connect(self._apply_theme)

    def show_drawing(self, draw: Callable[[Mapping[str, str]], str]) -> None:
        """Show the SVG that `draw` returns for a palette; "" for nothing."""
        self._draw = draw
        self._apply_theme()

    def _apply_theme(self) -> None:
        self._stale = True
        self.update()

    def _load(self) -> None:
        if self._stale:
            self._renderer.load(QByteArray((self._draw(theme.COLORS) or "<svg/>").encode()))
            self._stale = False

    def height_for(self, width: int) -> int:
        """Return the drawing's height for a width, margins included, px; 0 if there is none."""
        self._load()
        box = self._renderer.viewBoxF()
        scale = min(self._largest, (width - 2 * MARGIN) / max(box.width(), 1.0))
        return 0 if box.isEmpty() else round(scale * box.height()) + 2 * MARGIN

    def set_type(self, least: float, largest: float, width: int) -> None:
        """Bound the size of the drawing's words, px; the least needs a height, and a `width`, px, that may lack."""
        self._largest = least / TYPE
        self.setMinimumHeight(self.height_for(width))
        self._largest = largest / TYPE
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(400, 320)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, 0)

    def paintEvent(self, _: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.color("ground"))
        self._load()
        if self._renderer.viewBoxF().isEmpty():
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._renderer.render(painter, self.place())

    def place(self) -> QRectF:
        """Return the drawing's rectangle in the widget."""
        self._load()
        room, size = self.rect().adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN), self._renderer.viewBoxF().size()
        scale = min(self._largest, room.width() / size.width(), room.height() / size.height())
        left = room.left() + (room.width() - scale * size.width()) / 2
        return QRectF(left, room.top(), scale * size.width(), scale * size.height())

    @property
    def scale(self) -> float:
        """The px of a unit of the drawing."""
        return self.place().width() / self._renderer.viewBoxF().width()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        box = self._renderer.viewBoxF()
        if event.button() == Qt.MouseButton.LeftButton and not box.isEmpty():
            self.clicked.emit((event.position() - self.place().topLeft()) / self.scale + box.topLeft())
