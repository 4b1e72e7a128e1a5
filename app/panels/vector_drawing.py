"""Drawings as lines and text, in files ".svg" and ".pdf"."""

from __future__ import annotations

from collections.abc import Callable

from PyQt6.QtCore import QBuffer, QIODevice, QMarginsF, QPoint, QRect, QRectF, QSize, QSizeF
from PyQt6.QtGui import (
    QAbstractTextDocumentLayout,
    QPageSize,
    QPaintDevice,
    QPainter,
    QPalette,
    QPdfWriter,
    QTextDocument,
)
from PyQt6.QtSvg import QSvgGenerator

from app.desktop import theme

SUFFIXES = (".svg", ".pdf")
FAMILY, OTHERS = b'font-family="Catena Sans"', b', Inter, Helvetica, Arial, sans-serif"'
"""The window's font in an SVG, and those for machines without it."""


def vector_drawing(suffix: str, size: QSize, resolution: int, draw: Callable[[QPaintDevice], None]) -> bytes:
    """Return what `draw` draws, `size` px large at a resolution in dots per inch, as the content of a file."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if suffix == ".svg":
        lines = QSvgGenerator()
        lines.setOutputDevice(buffer)
        lines.setSize(size)
        lines.setViewBox(QRect(QPoint(), size))
        lines.setResolution(resolution)
        draw(lines)
    else:
        page = QPdfWriter(buffer)
        page.setResolution(resolution)
        points = QSizeF(size) * 72 / page.resolution()
        page.setPageSize(QPageSize(points, QPageSize.Unit.Point, "drawing", QPageSize.SizeMatchPolicy.ExactMatch))
        page.setPageMargins(QMarginsF())
        draw(page)
    return buffer.data().data().replace(FAMILY, FAMILY[:-1] + OTHERS)


def draw_html(painter: QPainter, html: str, place: QRectF) -> None:
    """Draw a label's rich text in the palette in force."""
    document, context = QTextDocument(), QAbstractTextDocumentLayout.PaintContext()
    document.setDocumentMargin(0)
    document.setTextWidth(place.width())
    document.setHtml(html)
    context.palette.setColor(QPalette.ColorRole.Text, theme.color("text"))
    painter.save()
    painter.translate(place.topLeft())
    document.documentLayout().draw(painter, context)
    painter.restore()
