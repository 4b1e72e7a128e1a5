"""Help › Log: past messages of the window with their times, to read and to copy."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import datetime

from app.desktop.actions import make_action
from app.desktop.text_window import TextWindow
from app.features.window_type import Window
from app.simulation.messages import Event, Loaded, Refused, Stopped

KEPT = 2000  # messages


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
        self.dialog: TextWindow | None = None

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
            self.dialog.add(str(self.entries[-1]))

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
            self.dialog = TextWindow(self._window, "Log", 4 * KEPT, lambda: self.text, self.entries.clear)
        self.dialog.open_whole()
