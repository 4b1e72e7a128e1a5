"""A window of lines that grows, to read and to copy, such as a log."""

from __future__ import annotations

from collections.abc import Callable

from PyQt6.QtCore import Qt
from PyQt6.QtGui import QGuiApplication
from PyQt6.QtWidgets import QDialog, QPlainTextEdit, QPushButton, QWidget

from app.desktop import type_scale
from app.desktop.layouts import horizontal, vertical

SIZE = (760, 460)  # px


class TextWindow(QDialog):
    """Shows what `text` returns when opened, and lines added since; `clear` empties that."""

    def __init__(self, parent: QWidget, title: str, lines: int, text: Callable[[], str], clear: Callable[[], None]):
        """Show at most `lines` lines."""
        super().__init__(parent, windowTitle=title)
        self._whole, self._forget = text, clear
        self.resize(*SIZE)
        self._text = QPlainTextEdit(self)  # given its parent here, since reparenting would lose the font
        self._text.setReadOnly(True)
        self._text.setMaximumBlockCount(lines)
        self._text.setFont(type_scale.fixed_font())
        self._text.setAccessibleName(title.lower())
        copy, clear_all, close = (QPushButton(name) for name in ("&Copy all", "C&lear", "Close"))
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._whole()))
        clear_all.clicked.connect(self._clear)
        close.clicked.connect(self.close)
        for button in (copy, clear_all):
            button.setAutoDefault(False)
        close.setDefault(True)
        buttons = horizontal(copy, clear_all, 1)
        buttons.addWidget(close, 0, Qt.AlignmentFlag.AlignRight)
        vertical(self._text, buttons, of=self)

    def open_whole(self) -> None:
        """Show the whole text, and come to the front."""
        self._text.setPlainText(self._whole())
        self._text.moveCursor(self._text.textCursor().MoveOperation.End)
        self.show()
        self.raise_()
        self.activateWindow()

    def add(self, line: str) -> None:
        """Append a line; the view follows while the last one is seen."""
        self._text.appendPlainText(line)

    def _clear(self) -> None:
        self._forget()
        self._text.clear()
