"""The speed control: a logarithmic slider, the requested speed and the achieved one."""

from __future__ import annotations

import math

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtGui import QFontMetrics
from PyQt6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.desktop import theme, type_scale
from app.desktop.layouts import horizontal, vertical
from app.panels.moving_keys import KeySlider

STEPS = 100  # slider steps per decade
CATCH = 4  # steps around real time that count as real time


class SpeedControl(QWidget):
    """A slider from a tenth of real time to ten times, with the factor that the simulation achieves."""

    changed = pyqtSignal(float)
    """The requested speed, in simulated seconds per wall second."""

    def __init__(self) -> None:
        super().__init__()
        self.slider = KeySlider()
        self.slider.setRange(-STEPS, STEPS)
        self.slider.setPageStep(STEPS // 4)
        self.slider.setFixedWidth(110)
        self.slider.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.slider.setToolTip("Speed, from 0.1 to 10 times real time")
        self.requested, self.achieved = QLabel(), QLabel()
        self.achieved.setToolTip("Real-time factor achieved: simulated seconds per wall second")
        small = type_scale.font("small")
        self.achieved.setFont(small)
        self.achieved.setMinimumWidth(QFontMetrics(small).horizontalAdvance("achieved 10.00 ×"))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        numbers = vertical(1, self.requested, self.achieved, 1, spacing=0)
        horizontal(QLabel("Speed"), self.slider, numbers, of=self, margins=(6, 0, 6, 0), spacing=9)
        self.slider.valueChanged.connect(self._emit)
        self._show_asked()
        self.show_achieved(math.nan)

    @property
    def speed(self) -> float:
        value = self.slider.value()
        return 1.0 if abs(value) <= CATCH else 10 ** (value / STEPS)

    def set_speed(self, speed: float) -> None:
        """Request a speed, clamped to the slider's range."""
        self.slider.setValue(round(STEPS * math.log10(min(max(speed, 0.1), 10.0))))

    def show_achieved(self, factor: float) -> None:
        """Show the measured factor, NaN for none; amber if it is more than 5 % below the requested speed."""
        short = factor < 0.95 * self.speed
        self.achieved.setText(f"achieved {factor:.2f} ×" if math.isfinite(factor) else "of real time")
        theme.tint(self.achieved, "warning" if short else "faint")

    def _emit(self) -> None:
        self._show_asked()
        self.changed.emit(self.speed)

    def _show_asked(self) -> None:
        self.requested.setText(f"{self.speed:.2f} ×")
