"""Boxes for typed numbers, which show as many digits as there is room for.

`DecimalBox`, `PlainBox` without buttons, `NumberBox` without trailing zeros; `WholeBox` for whole numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

from PyQt6.QtCore import QEvent, QObject, QSignalBlocker, QSize, Qt
from PyQt6.QtGui import QHelpEvent, QKeyEvent, QMouseEvent, QResizeEvent, QShowEvent, QValidator
from PyQt6.QtWidgets import (
    QAbstractSpinBox,
    QDoubleSpinBox,
    QLineEdit,
    QMainWindow,
    QSpinBox,
    QStatusBar,
    QToolTip,
    QWidget,
)

from app.desktop.actions import MESSAGE
from app.desktop.numbers import BEGUN, TERM, number_of, parted

WIDTH = 56  # px, the least width
NO_NUMBERS = (Qt.Key.Key_Space, Qt.Key.Key_S, Qt.Key.Key_R)
"""Shortcut keys that no number begins with."""
UNDOES = (Qt.Key.Key_Z, Qt.Key.Key_Y)
"""Keys that undo and redo, with Ctrl."""
ENTERS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
EDITS = tuple(getattr(Qt.Key, f"Key_{name}") for name in ("Backspace", "Delete", "Up", "Down", "PageUp", "PageDown"))
CLIPBOARD = (Qt.Key.Key_A, Qt.Key.Key_C, Qt.Key.Key_V, Qt.Key.Key_X)
"""Keys that the box keeps once its number is entered, those of the clipboard with Ctrl."""
MAX_TYPED = 100  # largest number of characters typed
MAX_DIGITS = 9  # most significant digits of a number for which there is no room
LINE_MARGIN = 2  # px, Qt's, on both sides of a text that is edited
REFUSED = "only a number can be typed here, or a term such as 2*pi/3"
BEGINNINGS = "=0123456789.,+-\N{MINUS SIGN}(π"


def _state(box: Any, possible: object, number: float | None) -> QValidator.State:
    """Return whether a box takes a text: one of a number in its limits, of one that may follow, or impossible."""
    if not possible:
        return QValidator.State.Invalid
    within = number is not None and number == _taken(box, number)
    return QValidator.State.Acceptable if within else QValidator.State.Intermediate


def _taken(box: Any, number: float) -> float:
    """Return a number clamped to a box's limits, and rounded where it takes whole ones only."""
    within = min(box.maximum(), max(box.minimum(), number))
    return round(within) if isinstance(box, QSpinBox) else within


def _corrected(box: Any, text: str, form: str, write: Callable[[Any], str]) -> str:
    """Return the text, by `write`, of what a box takes of a typed number, or of its value where none was typed.

    The status bar says, by `form`, what replaced it.
    """
    number, problem = box.value(), ""
    if box._plain(text):
        try:
            number = box._read(text)
        except ValueError as error:
            problem = str(error)
    taken, unit, box.corrected = _taken(box, number), box.suffix(), ""
    if problem:
        box.corrected = _say(box, f"{problem}; {taken:{form}}{unit} is kept")
    elif number != taken:
        which = "not a whole number" if box.minimum() <= number <= box.maximum() else "below the minimum"
        which = "above the maximum" if number > box.maximum() else which
        box.corrected = _say(box, f"{number:{form}}{unit} is {which}; {taken:{form}}{unit} is set instead")
    return f"{box.prefix()}{write(taken)}{box.suffix()}"


def _bar(box: QWidget) -> QStatusBar | None:
    """Return the status bar of the main window around a box, or behind its dialog."""
    window: QWidget | None = box
    while window is not None and not isinstance(window, QMainWindow):
        window = window.parentWidget()
    return None if window is None else window.statusBar()


def _say(box: QWidget, words: str) -> str:
    """Show words on what was typed in the status bar, and beside a box in a dialog; return them with its name."""
    said = f"{box.accessibleName()}: {words}" if box.accessibleName() else words
    if box.window().isModal():
        QToolTip.showText(box.mapToGlobal(box.rect().bottomLeft()), said, box, box.rect(), MESSAGE)
    if (bar := _bar(box)) is not None:
        bar.showMessage(said, MESSAGE)
    return said


def _short(box: QDoubleSpinBox, value: float, digits: int) -> str:
    """Return a number with some significant digits, as 0.534 or 1.2e6."""
    text = re.sub(r"e\+?(-?)0*", r"e\1", f"{value:.{digits}g}")
    return text.replace(".", box.locale().decimalPoint())


def is_for_window(box: Any, event: QEvent) -> bool:
    """Whether a key pressed in a box is the window's shortcut: undo, or one that no number begins with.

    Once the box is clicked, or another text than that of its value typed, such keys may be part of a unit, or undo it.
    Once Return has entered a number, all keys are the window's but those that begin another or change this one.
    """
    if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.ShortcutOverride:
        return False
    control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
    if box.entered and box.lineEdit().hasSelectedText() and event.key() not in EDITS:
        return event.key() not in CLIPBOARD if control else not event.text() or event.text() not in BEGINNINGS
    return not box.typed and (event.key() in UNDOES if control else event.key() in NO_NUMBERS and not box.edited)


class _Line(QLineEdit):
    """Selects the whole number on a double click; by default only the digits on one side of the point."""

    def mousePressEvent(self, event: QMouseEvent) -> None:
        cast(_Terms, self.parent()).edited = True
        super().mousePressEvent(event)

    def mouseDoubleClickEvent(self, _: QMouseEvent) -> None:
        cast(QAbstractSpinBox, self.parent()).selectAll()


class _Typing(QObject):
    """Returns a box to the number before on Escape while another is typed; else Escape is the window's."""

    def __init__(self, box: Any) -> None:
        super().__init__(box)
        self._box, self._before = box, None  # the number when typing began
        self._said = ""  # of what was typed before
        box.setLineEdit(_Line(box))
        box.lineEdit().textEdited.connect(self._begin)
        box.lineEdit().inputRejected.connect(self._refuse)
        box.editingFinished.connect(self._end)
        box.installEventFilter(self)

    def _begin(self) -> None:
        self._box.entered = False
        self._before = self._box.value() if self._before is None else self._before

    def _refuse(self) -> None:
        self._box.entered, self._box.edited = False, True
        self._said = _say(self._box, REFUSED)

    def _end(self) -> None:
        """Withdraw what was said of a number typed before once another is taken as it is."""
        bar, said = _bar(self._box), self._box.corrected
        if self._before is not None and not said and bar is not None and bar.currentMessage() == self._said:
            bar.clearMessage()
        self._said = said or self._said
        self._before, self._box.corrected = None, ""
        self._box.lineEdit().setModified(False)

    def eventFilter(self, box: Any, event: QEvent) -> bool:
        key = event.key() if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress else None
        if event.type() == QEvent.Type.FocusIn or key in (*ENTERS, Qt.Key.Key_Escape):
            self._box.edited = False
        if event.type() == QEvent.Type.FocusIn or key in ENTERS:
            self._box.entered = key is not None
            self._box.took_return = key is not None and self._before is not None
        if self._before is None or key != Qt.Key.Key_Escape:
            return False
        box.setValue(self._before)
        box.selectAll()
        self._end()
        return True


class _Terms:
    """What is typed into a box as a number: 12.5, 12,5 or 1e3, whatever the language, and terms as 3*pi/2.

    Else a comma would group digits in some languages and be the decimal mark in others: 12.5 could become 125.
    A number beyond the limits becomes the limit once editing ends, with a message in the window's status bar.
    """

    entered = False
    """Whether Return has entered the number, and none has been typed since."""
    edited = False
    """Whether it was clicked, or letters were refused, since it got the focus or Return or Escape was pressed."""
    took_return = False
    """Whether Return was pressed last, and entered a number that was typed."""
    corrected = ""
    """What the status bar says of the number that is being entered, if another is set instead."""

    @property
    def typed(self: Any) -> bool:
        """Whether a number is being typed that is not entered yet; a box that tracks keys takes it as it is typed."""
        line = self.lineEdit()
        return line.isModified() and (self.keyboardTracking() or line.text() != self._shown())

    def _shown(self: Any) -> str:
        return f"{self.prefix()}{self.textFromValue(self.value())}{self.suffix()}"

    def put(self: Any, value: float) -> None:
        """Show a number that was set elsewhere, without a signal, unless another is being typed."""
        if not self.typed:
            with QSignalBlocker(self):
                self.setValue(value)

    def setSuffix(self: Any, suffix: str | None) -> None:
        """Set the unit; Qt would replace what is being typed even if it is the same one."""
        if suffix != self.suffix():
            cast(Any, super()).setSuffix(suffix)

    def _plain(self: Any, text: str) -> str:
        """Return the text between prefix and suffix."""
        return text.removeprefix(self.prefix()).removesuffix(self.suffix()).strip()

    def _read(self: Any, text: str) -> float:
        """Return the number that a text has in the box's unit. Raises ValueError with a sentence."""
        return number_of(self._plain(text), self.suffix().strip())

    def _number(self: Any, text: str) -> float | None:
        """Return the number that a text has in the box's unit; None if it has none."""
        try:
            return self._read(text)
        except ValueError:
            return None

    def validate(self: Any, text: str | None, place: int) -> tuple[QValidator.State, str, int]:
        text = text or ""
        plain, unit = parted(self._plain(text))
        possible, complete = (TERM.fullmatch(plain) and len(plain) <= MAX_TYPED, not unit and BEGUN.fullmatch(plain))
        return _state(self, possible, self._number(text) if complete else None), text, place


class DecimalBox(_Terms, QDoubleSpinBox):
    """Accepts numbers as `_Terms` says, and units of its suffix's kind.

    One with more digits than there is room for is shown rounded, perhaps with an exponent, and its tooltip has all of
    them.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        _Typing(self)
        self._measures = False

    def setDecimals(self, decimals: int) -> None:
        """Set the digits after the point, as `setSuffix` does."""
        if decimals != self.decimals():
            super().setDecimals(decimals)

    def sizeHint(self) -> QSize:
        return self._measured(super().sizeHint)

    def minimumSizeHint(self) -> QSize:
        return self._measured(super().minimumSizeHint)

    def _measured(self, hint: Callable[[], QSize]) -> QSize:
        """Return a size for all digits, whatever room there is now."""
        self._measures = True
        try:
            return hint()
        finally:
            self._measures = False

    def textFromValue(self, value: float) -> str:
        whole = self._whole(value)
        if self._measures or not self.isVisible() or self._fits(whole):
            return whole
        return next(filter(self._fits, (_short(self, value, digits) for digits in range(MAX_DIGITS, 0, -1))), whole)

    def _whole(self, value: float) -> str:
        """Return a number with all its digits."""
        return super().textFromValue(value)

    def _fits(self, text: str) -> bool:
        line = self.lineEdit()
        room = line.contentsRect().width() - 2 * LINE_MARGIN
        return line.fontMetrics().horizontalAdvance(f"{self.prefix()}{text}{self.suffix()}") <= room

    def _fit(self) -> None:
        """Show as many digits as there is room for now."""
        line, text = self.lineEdit(), self._shown()
        if not line.isModified() and line.text() != text:
            with QSignalBlocker(line):
                line.setText(text)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()

    def event(self, event: QEvent) -> bool:
        whole = self._whole(self.value()) if event.type() == QEvent.Type.ToolTip else ""
        if isinstance(event, QHelpEvent) and whole != self.textFromValue(self.value()):
            tip = f"{self.prefix()}{whole}{self.suffix()}\n{self.toolTip()}".strip()
            QToolTip.showText(event.globalPos(), tip, self)
            return True
        return super().event(event)

    def _read(self, text: str) -> float:
        if not self.lineEdit().isModified() and text == self._shown():
            return self.value()  # with the digits that there is no room for
        return super()._read(text)

    def fixup(self, text: str | None) -> str:
        return _corrected(self, text or "", "g", self._whole)

    def valueFromText(self, text: str | None) -> float:
        number = self._number(text or "")
        return self.value() if number is None else round(number, self.decimals())


class PlainBox(DecimalBox):
    """Emits a number once editing ends; arrow keys change it by a tenth of its power of ten.

    A screen reader says its `tip` up to a colon or comma. `width`: its least, px.
    """

    def __init__(self, low: float, high: float, decimals: int, tip: str = "", width: int = WIDTH) -> None:
        super().__init__()
        self.setDecimals(decimals)
        self.setRange(low, high)
        self.setStepType(QDoubleSpinBox.StepType.AdaptiveDecimalStepType)
        self.setButtonSymbols(QDoubleSpinBox.ButtonSymbols.NoButtons)
        self.setKeyboardTracking(False)
        self.setMinimumWidth(width)
        self.setToolTip(tip)
        self.setAccessibleName(re.split("[:,]", tip)[0])


class NumberBox(PlainBox):
    """A box that shows no trailing zeros."""

    def _whole(self, value: float) -> str:
        text, point = super()._whole(value), self.locale().decimalPoint()
        return text.rstrip("0").rstrip(point) if point in text else text


class WholeBox(_Terms, QSpinBox):
    """Accepts whole numbers, as `_Terms` says; another is rounded once editing ends, with a message.

    Else a digit that leads beyond the maximum is refused as it is typed, and 5000 becomes 500.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        _Typing(self)

    def fixup(self, text: str | None) -> str:
        return _corrected(self, text or "", ".15g", self.textFromValue)

    def valueFromText(self, text: str | None) -> int:
        number = self._number(text or "")
        return self.value() if number is None else int(number)
