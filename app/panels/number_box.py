"""`NumberBox`: a box for a number that is typed, without buttons; it ends in no zeros."""

from __future__ import annotations

from PyQt6.QtWidgets import QDoubleSpinBox

WIDTH = 56  # px at least


class NumberBox(QDoubleSpinBox):
    """Tells of a number once it is typed to its end; arrow keys change it by a tenth of its power of ten."""

    def __init__(self, low: float, high: float, decimals: int) -> None:
        super().__init__()
        self.setDecimals(decimals)
        self.setRange(low, high)
        self.setStepType(QDoubleSpinBox.StepType.AdaptiveDecimalStepType)
        self.setButtonSymbols(QDoubleSpinBox.ButtonSymbols.NoButtons)
        self.setKeyboardTracking(False)
        self.setMinimumWidth(WIDTH)

    def textFromValue(self, value: float) -> str:
        text, point = super().textFromValue(value), self.locale().decimalPoint()
        return text.rstrip("0").rstrip(point) if point in text else text
