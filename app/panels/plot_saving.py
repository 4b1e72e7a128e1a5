"""Saving of the plots panel's numbers and picture."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PyQt6.QtCore import QPoint, QRect, QRectF, QSize
from PyQt6.QtGui import QPaintDevice, QPainter, QPixmap
from PyQt6.QtWidgets import QMenu

import engine
from app.desktop import theme
from app.desktop.dialogs import save_asked, write_png
from app.panels.chart import Chart
from app.panels.phase_plot import PhasePlot
from app.panels.vector_drawing import SUFFIXES, draw_html, vector_drawing
from app.plotting.plot_files import table
from app.plotting.series import extent

if TYPE_CHECKING:
    from app.panels.plots import PlotsPanel


PICTURE_SCALE = 2
MARGIN = 8  # px


def picture(panel: PlotsPanel) -> QPixmap:
    """Return all plots as shown, those over time first, in the light palette and at twice their size."""
    pixmap = QPixmap(_size(panel) * PICTURE_SCALE)
    pixmap.setDevicePixelRatio(PICTURE_SCALE)
    _draw(panel, pixmap)
    return pixmap


def drawing(panel: PlotsPanel, suffix: str) -> bytes:
    """Return the plots of `picture` as lines and text, the content of a file ".svg" or ".pdf"."""
    return vector_drawing(suffix, _size(panel), panel.logicalDpiX(), partial(_draw, panel))


def _size(panel: PlotsPanel) -> QSize:
    plots: list[Chart | PhasePlot] = [*panel.charts, *panel.phases.all]
    axis = panel.axis if panel.charts else None
    return QSize((axis or plots[0]).width(), sum(plot.height() for plot in plots) + (axis.height() if axis else 0))


def _draw(panel: PlotsPanel, device: QPaintDevice) -> None:
    """Draw all plots from the top of a device on: all of their curves, unless the user has zoomed into a part."""
    phases = panel.phases.all
    plots: list[Chart | PhasePlot] = [*panel.charts, *phases]
    size = _size(panel)
    width, height = size.width(), panel.axis.height()
    before = panel.visible
    span = None if panel.zoomed else extent([*panel.series.values(), *panel.compared[0].values()])
    with theme.palette(theme.LIGHT):
        panel.draw(span or before)
        panel.show_whole(True)
        painter, top = QPainter(device), 0
        painter.fillRect(QRect(QPoint(), size), theme.color("ground"))
        for plot in plots:
            if phases and plot is phases[0] and panel.charts:
                panel.axis.render(painter, QPoint(0, top))
                top += height
            draw_html(painter, plot.names.text(), QRectF(MARGIN, top + 2, width - 2 * MARGIN, plot.names.height()))
            plot.canvas.render(painter, QPoint(0, top + plot.names.height()))
            top += plot.height()
        if not phases:
            panel.axis.render(painter, QPoint(0, top))
        painter.end()
    panel.draw(before)
    panel.show_whole(False)


class PlotSaving:
    """The save entries of the panel's menu, and their actions."""

    def __init__(self, panel: PlotsPanel):
        self._panel = panel
        self.menu = QMenu("&Save", panel)
        self.menu.addAction("&Numbers as drawn (CSV)…", self._ask_csv)
        self.each_step = self.menu.addAction("Numbers of &each step (CSV)…")
        """Writes more than the panel has."""
        self.menu.addAction("&Picture (PNG)…", self._ask_picture)
        for suffix in SUFFIXES:
            self.menu.addAction(f"Drawing (&{suffix[1:].upper()})…", partial(self._ask_drawing, suffix))

    def save_picture(self, path: str) -> None:
        """Write all plots as shown as a PNG. Raises OSError."""
        write_png(picture(self._panel), path)

    def _save_drawing(self, path: str, suffix: str) -> None:
        with engine.replacing(path) as file:
            file.write(drawing(self._panel, suffix))

    def save_csv(self, path: str) -> None:
        """Write all samples, in SI units. Raises OSError."""
        with engine.replacing(path) as file:
            file.write(table(self._panel.series, *self._panel.compared).encode())

    def _ask_csv(self) -> None:
        title = "Save the numbers as drawn, at the times of the window's frames"
        self._ask(title, "plots.csv", "Comma-separated values (*.csv)", self.save_csv)

    def _ask_picture(self) -> None:
        self._ask("Save the picture", "plots.png", "Pictures (*.png)", self.save_picture)

    def _ask_drawing(self, suffix: str) -> None:
        save = partial(self._save_drawing, suffix=suffix)
        self._ask("Save the drawing", f"plots{suffix}", f"Drawings (*{suffix})", save)

    def _ask(self, title: str, name: str, kinds: str, save: Callable[[str], None]) -> None:
        path, refusal = save_asked(self._panel, title, name, kinds, save)
        if path:
            self._panel.message.emit(refusal or f"Saved {path}")
