"""The View menu's choice of a dark or light theme, or the system's."""

from __future__ import annotations

from typing import cast

from PyQt6.QtCore import QObject, Qt
from PyQt6.QtGui import QActionGroup
from PyQt6.QtWidgets import QApplication, QMenu

from app.desktop import theme
from app.desktop.settings import setting
from app.features.window_type import Window

KEY = "theme"  # the setting
CHOICES = {
    "system": ("As the &system", "Dark or light, as the desktop is set"),
    "dark": ("&Dark", "Light text on a dark background"),
    "light": ("&Light", "Dark text on a light background"),
}


class Appearance(QObject):
    """Applies the selected theme and remembers it."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._settings = window.settings
        self._application = cast(QApplication, QApplication.instance())
        self.menu = QMenu("&Theme", window, toolTipsVisible=True)
        group = QActionGroup(window)
        self.actions = {}
        for name, (text, tip) in CHOICES.items():
            action = self.actions[name] = self.menu.addAction(text)
            action.setCheckable(True)
            action.setToolTip(tip)
            action.triggered.connect(lambda _, name=name: self.choose(name))
            group.addAction(action)
        window.menus.view.put(self.menu, apart=True)
        QApplication.styleHints().colorSchemeChanged.connect(self._follow)
        name = setting(self._settings, KEY, "system")
        self.choice = name if name in CHOICES else "system"
        """One of `CHOICES`; what another window of the program remembers meanwhile is the next start's."""
        self._follow()

    def choose(self, name: str) -> None:
        """Apply a choice and remember it."""
        self.choice = name
        self._settings.setValue(KEY, name)
        self._follow()

    def _follow(self, *_: object) -> None:
        system_dark = QApplication.styleHints().colorScheme() != Qt.ColorScheme.Light
        dark = {"dark": True, "light": False, "system": system_dark}[self.choice]
        self.actions[self.choice].setChecked(True)  # without `check`: the group unchecks the others by the signal
        if dark != theme.is_dark():
            theme.apply(self._application, dark)
