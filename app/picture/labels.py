"""Name labels over the viewport: painted on an overlay widget, and into saved pictures."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from PyQt6.QtCore import QPointF, QRectF, Qt
from PyQt6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent
from PyQt6.QtWidgets import QWidget

from app.desktop import theme
from app.gl.backdrop import DARK
from app.gl.extras import Label
from app.gl.view import View

PAD = 4.0  # px around a name
AWAY = 9.0  # px from the named point
APART = 2.0  # px, the least distance between two names
MARGIN, BESIDE = 5.0, 14.0  # px: the padding of a text beside a point, and its distance from the point
MAX_LABELS = 300  # largest number of names in a picture


def paint(painter: QPainter, view: View, scale: float, font: QFont, handles: QRectF | None = None) -> None:
    """Draw the names of a view; `scale` is the painter's units per pixel of the view.

    The selected link's is put beside its `handles`, in the painter's units, if there are any. One that would cover
    another is left out: first come the selected link's, then numbers, then names from the nearest to the camera.
    """
    if not view.extras.labels:
        return
    width, height = view.size
    points = np.array([label.place for label in view.extras.labels])
    clip = np.c_[points, np.ones(len(points))] @ (view.camera.projection(width / height) @ view.camera.view()).T
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setFont(font)
    metrics = QFontMetricsF(font)
    taken: list[QRectF] = []
    colors = theme.DARK if view.extras.backdrop is DARK else theme.LIGHT
    for label, (x, y, _, w) in sorted(zip(view.extras.labels, clip, strict=True), key=_rank):
        if w <= 0 or abs(x) > w or abs(y) > w or len(taken) == MAX_LABELS:
            continue
        at = scale * QPointF((0.5 + 0.5 * x / w) * width, (0.5 - 0.5 * y / w) * height)
        size = metrics.boundingRect(label.text).size()
        box = QRectF(at.x() + AWAY, at.y() - AWAY - size.height(), size.width() + 2 * PAD, size.height() + PAD)
        if label.chosen and handles is not None:
            box = _beside(box, handles, QRectF(0, 0, scale * width, scale * height))
        if any(box.intersects(other) for other in taken):
            continue
        taken.append(box.adjusted(-APART, -APART, APART, APART))
        _write(painter, label.text, at, box, label.chosen, colors)


def _rank(placed: tuple[Label, np.ndarray]) -> tuple[bool, bool, float]:
    """Return the rank of a label, at a point (4,) in clip space, whose z grows with the distance from the camera."""
    (_, _, chosen, is_name), (_, _, z, _) = placed
    return not chosen, is_name, float(z)


def _beside(box: QRectF, handles: QRectF, picture: QRectF) -> QRectF:
    """Return a name's box moved below or above the handles, or to a side of them, where the picture has room for it."""
    middle = handles.center()
    down, aside = (handles.height() + box.height()) / 2 + APART, (handles.width() + box.width()) / 2 + APART
    for dx, dy in ((0, down), (0, -down), (aside, 0), (-aside, 0)):
        moved = QRectF(box)
        moved.moveCenter(middle + QPointF(dx, dy))
        if picture.contains(moved):
            return moved
    return box


def _write(
    painter: QPainter, name: str, at: QPointF, box: QRectF, chosen: bool, colors: Mapping[str, str]
) -> None:  # fmt: skip
    accent, text = QColor(colors["accent"]), QColor(colors["text"])
    back = QColor(colors["chosen" if chosen else "ground"])
    back.setAlphaF(0.92 if chosen else 0.72)
    painter.setPen(accent if chosen else QColor(colors["faint"]))
    if box.bottomLeft() == at + QPointF(AWAY, -AWAY):
        painter.drawLine(at, box.bottomLeft())
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(back)
    painter.drawRoundedRect(box, 3, 3)
    painter.setBrush(accent if chosen else text)
    painter.drawEllipse(at, 2.5, 2.5)
    painter.setPen(text)
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, name)


def draw_text_at(painter: QPainter, font: QFont, at: QPointF, text: str, width: float) -> None:
    """Draw a text with a background above and right of a point, within a picture of this width."""
    size = QFontMetricsF(font).boundingRect(text).size()
    box = QRectF(0, 0, size.width() + 2 * MARGIN, size.height() + MARGIN)
    box.moveTopLeft(at + QPointF(BESIDE, -BESIDE - box.height()))
    box.moveRight(min(box.right(), width - MARGIN))
    box.moveTop(max(box.top(), MARGIN))
    back = QColor(theme.color("ground"))
    back.setAlphaF(0.85)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(back)
    painter.drawRoundedRect(box, 4, 4)
    painter.setPen(theme.color("text"))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


class LabelLayer(QWidget):
    """An overlay of the viewport with the names of visible links."""

    def __init__(self, parent: QWidget):
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._view: View | None = None
        self._handles: QRectF | None = None
        self.hide()

    def keep_clear(self, handles: QRectF | None) -> None:
        """Set the rectangle, px, of the selected link's handles, which its name leaves free; None without handles."""
        if handles != self._handles:
            self._handles = handles
            self.update()

    def show_view(self, view: View | None) -> None:
        """Show the names of the view that is now drawn beneath."""
        self._view = view
        ratio = self.devicePixelRatioF()
        fits = view is not None and view.size == (round(self.width() * ratio), round(self.height() * ratio))
        named = fits and bool(view.extras.labels)  # not while the widget's size has just changed
        self.setVisible(named)
        if named:
            self.update()

    def paintEvent(self, _: QPaintEvent) -> None:
        if self._view is not None:
            painter = QPainter(self)
            paint(painter, self._view, self.width() / self._view.size[0], self.font(), self._handles)
            painter.end()
