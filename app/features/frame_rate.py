"""The preference for the frame rate of the picture, which a laptop on battery may limit."""

from __future__ import annotations

import math

from app.desktop.settings import setting
from app.features.window_type import Window

KEY = "frame_rate"  # the setting
SCREEN = "screen"
CHOICES = {SCREEN: "As the screen allows", "60": "At most 60 frames a second", "30": "At most 30 frames a second"}


class FrameRate:
    """Applies the selected limit and remembers it."""

    def __init__(self, window: Window):
        self._settings, self._limit = window.settings, window.viewport.limit
        name = setting(self._settings, KEY, SCREEN)
        self.choice = name if name in CHOICES else SCREEN
        """One of `CHOICES`; what another window of the program remembers meanwhile is the next start's."""
        self._apply()

    def choose(self, name: str) -> None:
        """Apply a choice and remember it."""
        self.choice = name
        self._settings.setValue(KEY, name)
        self._apply()

    def _apply(self) -> None:
        self._limit.fps = math.inf if self.choice == SCREEN else float(self.choice)
