"""What the plots panel saves: its numbers and its picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PyQt6.QtCore import QBuffer, QIODevice
from PyQt6.QtWidgets import QMenu

import engine
from app.desktop.dialogs import ask_path
from app.desktop.reasons import reason
from app.plotting.plot_files import table

if TYPE_CHECKING:
    from app.panels.plots import PlotsPanel


class PlotSaving:
    """The entries of the panel's menu, and what they do."""

    def __init__(self, panel: PlotsPanel):
        self._panel = panel
        self.menu = QMenu(panel)
        self.menu.addAction("&Numbers (CSV)…", self._ask_csv)
        self.menu.addAction("&Picture (PNG)…", self._ask_picture)

    def save_picture(self, path: str) -> None:
        """Write all plots as they stand as a PNG. Raises OSError."""
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        self._panel.picture().save(buffer, "PNG")
        with engine.replacing(path) as file:
            file.write(buffer.data().data())

    def save_csv(self, path: str) -> None:
        """Write all samples, in SI units. Raises OSError."""
        with engine.replacing(path) as file:
            file.write(table(self._panel.series).encode())

    def _ask_csv(self) -> None:
        self._ask("Save the numbers", "plots.csv", "Comma-separated values (*.csv)", self.save_csv)

    def _ask_picture(self) -> None:
        self._ask("Save the picture", "plots.png", "Pictures (*.png)", self.save_picture)

    def _ask(self, title: str, name: str, kinds: str, save: Callable[[str], None]) -> None:
        path = ask_path(self._panel, title, name, kinds, Path(name).suffix)
        if not path:
            return
        try:
            save(path)
        except OSError as fault:
            self._panel.message.emit(f"{path} was not written: {reason(fault)}")
        else:
            self._panel.message.emit(f"Saved {path}")
