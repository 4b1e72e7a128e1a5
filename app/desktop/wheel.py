"""The wheel scrolls the panel that it is over: boxes take it only once they have the focus."""

from __future__ import annotations

from typing import cast

from PyQt6.QtCore import QEvent, QObject, Qt
from PyQt6.QtGui import QPalette
from PyQt6.QtWidgets import QAbstractSpinBox, QApplication, QComboBox, QProxyStyle, QWidget


class _Unfocused(QObject):
    """Leaves the wheel over a box without the focus to the widgets around it."""

    def eventFilter(self, box: QObject | None, event: QEvent | None) -> bool:
        if event is None or event.type() != QEvent.Type.Wheel or cast(QWidget, box).hasFocus():
            return False
        event.ignore()
        return True


class Style(QProxyStyle):
    """Fusion, with boxes that a click or Tab focuses, and the wheel does not."""

    def __init__(self) -> None:
        super().__init__("Fusion")
        self._unfocused = _Unfocused(self)

    def polish(self, what: QWidget | QApplication | QPalette | None) -> QPalette | None:  # type: ignore[override]
        if isinstance(what, QComboBox | QAbstractSpinBox):
            if what.focusPolicy() == Qt.FocusPolicy.WheelFocus:
                what.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            what.installEventFilter(self._unfocused)
        return super().polish(what)
