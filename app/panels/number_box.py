"""Boxes for numbers that are typed: `DecimalBox`, and `NumberBox` without buttons, which ends in no zeros."""

from __future__ import annotations

import re

from PyQt6.QtGui import QValidator
from PyQt6.QtWidgets import QDoubleSpinBox, QMainWindow

from app.desktop.actions import MESSAGE

WIDTH = 56  # px at least
_BEGUN = re.compile(r"[+-]?\d*(\.\d*)?([eE][+-]?\d*)?")


class DecimalBox(QDoubleSpinBox):
    """Takes numbers as they are written anywhere, 12.5, 12,5 or 1e3, whatever the system's language.

    Else a comma would separate groups of digits in some languages, and a point in others: what is typed to be 12.5
    would be 125. A number beyond the box's limits becomes the limit when it is typed to its end, which the status bar
    of the window says.
    """

    def _plain(self, text: str) -> str:
        """What stands between prefix and suffix, with a point for a comma."""
        text = text.removeprefix(self.prefix()).removesuffix(self.suffix()).strip()
        return text.replace(",", ".").replace("\N{MINUS SIGN}", "-")

    def _number(self, text: str) -> float | None:
        try:
            return float(self._plain(text))
        except ValueError:
            return None

    def validate(self, text: str | None, place: int) -> tuple[QValidator.State, str, int]:
        text = text or ""
        number = self._number(text)
        if not _BEGUN.fullmatch(self._plain(text)):
            state = QValidator.State.Invalid
        elif number is None or not self.minimum() <= number <= self.maximum():
            state = QValidator.State.Intermediate
        else:
            state = QValidator.State.Acceptable
        return state, text, place

    def fixup(self, text: str | None) -> str:
        """The nearest number that the box takes, of one that is beyond its limits; else the one before."""
        number = self._number(text or "")
        taken = self.value() if number is None else min(max(number, self.minimum()), self.maximum())
        if number is not None and number != taken:
            self._say(number, taken)
        return self.prefix() + self.textFromValue(taken) + self.suffix()

    def _say(self, asked: float, taken: float) -> None:
        """That a limit is taken for what was asked."""
        window = self.parentWidget()
        while window is not None and not isinstance(window, QMainWindow):
            window = window.parentWidget()
        if window is None:
            return
        name, unit = f"{self.accessibleName()}: " if self.accessibleName() else "", self.suffix()
        which = "above the maximum" if asked > taken else "below the minimum"
        window.statusBar().showMessage(f"{name}{asked:g}{unit} is {which}; {taken:g}{unit} is set instead", MESSAGE)

    def valueFromText(self, text: str | None) -> float:
        number = self._number(text or "")
        return self.value() if number is None else round(number, self.decimals())


class NumberBox(DecimalBox):
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
