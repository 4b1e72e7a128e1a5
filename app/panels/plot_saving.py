"""Saving of the plots panel's numbers and picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PyQt6.QtCore import QPoint, QRectF, QSize
from PyQt6.QtGui import QAbstractTextDocumentLayout, QPainter, QPalette, QPixmap, QTextDocument
from PyQt6.QtWidgets import QMenu

import engine
from app.desktop import theme
from app.desktop.dialogs import save_asked, write_png
from app.panels.chart import Chart
from app.panels.phase_plot import PhasePlot
from app.plotting.plot_files import table

if TYPE_CHECKING:
    from app.panels.plots import PlotsPanel


PICTURE_SCALE = 2
MARGIN = 8  # px


def picture(panel: PlotsPanel) -> QPixmap:
    """Return all plots as shown, those over time first, in the light palette and at twice their size."""
    phases = panel.phases.all
    plots: list[Chart | PhasePlot] = [*panel.charts, *phases]
    width, height = (panel.axis.width(), panel.axis.height()) if panel.charts else (phases[0].width(), 0)
    whole = QSize(width, sum(plot.height() for plot in plots) + height)
    pixmap = QPixmap(whole * PICTURE_SCALE)
    pixmap.setDevicePixelRatio(PICTURE_SCALE)
    with theme.palette(theme.LIGHT):
        panel.draw()
        panel.show_whole(True)
        pixmap.fill(theme.color("ground"))
        painter, top = QPainter(pixmap), 0
        for plot in plots:
            if phases and plot is phases[0] and panel.charts:
                panel.axis.render(painter, QPoint(0, top))
                top += height
            _draw_names(painter, plot.names.text(), QRectF(MARGIN, top + 2, width - 2 * MARGIN, plot.names.height()))
            plot.canvas.render(painter, QPoint(0, top + plot.names.height()))
            top += plot.height()
        if not phases:
            panel.axis.render(painter, QPoint(0, top))
        painter.end()
    panel.show_whole(False)
    return pixmap


def _draw_names(painter: QPainter, html: str, place: QRectF) -> None:
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


class PlotSaving:
    """The save entries of the panel's menu, and their actions."""

    def __init__(self, panel: PlotsPanel):
        self._panel = panel
        self.menu = QMenu("&Save", panel)
        self.menu.addAction("&Numbers (CSV)…", self._ask_csv)
        self.menu.addAction("&Picture (PNG)…", self._ask_picture)

    def save_picture(self, path: str) -> None:
        """Write all plots as shown as a PNG. Raises OSError."""
        write_png(picture(self._panel), path)

    def save_csv(self, path: str) -> None:
        """Write all samples, in SI units. Raises OSError."""
        with engine.replacing(path) as file:
            file.write(table(self._panel.series, *self._panel.compared).encode())

    def _ask_csv(self) -> None:
        self._ask("Save the numbers", "plots.csv", "Comma-separated values (*.csv)", self.save_csv)

    def _ask_picture(self) -> None:
        self._ask("Save the picture", "plots.png", "Pictures (*.png)", self.save_picture)

    def _ask(self, title: str, name: str, kinds: str, save: Callable[[str], None]) -> None:
        path, refusal = save_asked(self._panel, title, name, kinds, save)
        if path:
            self._panel.message.emit(refusal or f"Saved {path}")
