"""Help › Log: past messages of the window with their times, to read and to copy."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import datetime

from PyQt6.QtCore import Qt
from PyQt6.QtGui import QGuiApplication
from PyQt6.QtWidgets import QDialog, QPlainTextEdit, QPushButton

from app.desktop import type_scale
from app.desktop.actions import make_action
from app.desktop.layouts import horizontal, vertical
from app.features.window_type import Window
from app.simulation.messages import Event, Loaded, Refused, Stopped

KEPT = 2000  # messages
SIZE = (760, 460)  # px


@dataclass(frozen=True)
class Entry:
    """A message, its time and its details."""

    when: datetime
    text: str
    detail: str = ""

    def __str__(self) -> str:
        more = "".join(f"\n    {line}" for line in self.detail.splitlines())
        return f"{self.when:%Y-%m-%d %H:%M:%S}  {self.text}{more}"


class LogView:
    """Keeps the latest messages of the status bar and of the simulation, and shows them."""

    def __init__(self, window: Window):
        self._window = window
        self.entries: deque[Entry] = deque(maxlen=KEPT)
        self.action = make_action(window, "&Log…", self.show, tip="Messages of the status bar, with their times")
        window.menus.help.put(self.action)
        window.statusBar().messageChanged.connect(self._take)
        window.happened.connect(self._on_event)
        window.loaded.connect(self._on_event)
        self.dialog: QDialog | None = None
        self._text: QPlainTextEdit

    def _take(self, message: str) -> None:
        """Append a message of the status bar, unless it says how far something is."""
        if message != self._window.bar.progress:
            self.add(message)

    def add(self, text: str, detail: str = "") -> None:
        """Append a message."""
        if not text:
            return
        if self.entries and self.entries[-1].text == text and not detail:
            return  # repeated unchanged
        self.entries.append(Entry(datetime.now().astimezone(), text, detail))
        if self.dialog is not None:
            self._text.appendPlainText(str(self.entries[-1]))

    def _on_event(self, event: Event) -> None:
        match event:
            case Loaded(model, path):
                self.add(f"opened {path}", "\n".join(map(str, model.diagnostics)))
            case Refused(path, diagnostics):
                self.add(f"refused {path}", "\n".join(map(str, diagnostics)))
            case Stopped(problem, detail):
                self.add(problem, detail)

    @property
    def text(self) -> str:
        """The whole log, one message a line."""
        return "\n".join(map(str, self.entries))

    def show(self) -> None:
        """Open the log, or bring it to the front."""
        if self.dialog is None:
            self.dialog = self._make()
        self._text.setPlainText(self.text)
        self._text.moveCursor(self._text.textCursor().MoveOperation.End)
        self.dialog.show()
        self.dialog.raise_()
        self.dialog.activateWindow()

    def _make(self) -> QDialog:
        dialog = QDialog(self._window, windowTitle="Log")
        dialog.resize(*SIZE)
        self._text = QPlainTextEdit(dialog)  # given its parent here, since reparenting would lose the font
        self._text.setReadOnly(True)
        self._text.setMaximumBlockCount(4 * KEPT)
        self._text.setFont(type_scale.fixed_font())
        self._text.setAccessibleName("log")
        copy, clear, close = (QPushButton(name) for name in ("&Copy all", "C&lear", "Close"))
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.text))
        clear.clicked.connect(self._clear)
        close.clicked.connect(dialog.close)
        for button in (copy, clear):
            button.setAutoDefault(False)
        close.setDefault(True)
        buttons = horizontal(copy, clear, 1)
        buttons.addWidget(close, 0, Qt.AlignmentFlag.AlignRight)
        vertical(self._text, buttons, of=dialog)
        return dialog

    def _clear(self) -> None:
        self.entries.clear()
        self._text.clear()
