"""The preference for the size of all text, such as for a projector; it applies when the program starts."""

from __future__ import annotations

from PyQt6.QtCore import QSettings
from PyQt6.QtWidgets import QApplication

from app.desktop import type_scale
from app.desktop.actions import MESSAGE
from app.desktop.settings import setting
from app.features.window_type import Window

KEY, NORMAL = "text_size", "100"  # the setting, and its default
CHOICES = {size: f"{size} %" for size in ("80", NORMAL, "125", "150", "200")}
LATER = "text has this size from the next start of the program on"


class TextSize:
    """Remembers the selected size."""

    def __init__(self, window: Window):
        self._settings, self._bar = window.settings, window.statusBar()

    @property
    def choice(self) -> str:
        """One of `CHOICES`: percent of the size of the system's font."""
        return remembered(self._settings)

    def choose(self, size: str) -> None:
        """Remember a choice, and say when it applies."""
        if size != self.choice:
            self._settings.setValue(KEY, size)
            self._bar.showMessage(f"{CHOICES[size]}: {LATER}", MESSAGE)


def remembered(settings: QSettings) -> str:
    """Return the size that the settings have."""
    size = setting(settings, KEY, NORMAL)
    return size if size in CHOICES else NORMAL


def apply(application: QApplication, settings: QSettings) -> None:
    """Give all text the remembered size; before the theme is applied."""
    application.setProperty(type_scale.SCALE, int(remembered(settings)) / 100)
