"""Edits of the scene, undo and redo in turn: each waits for the parts that the one before it adds or removes."""

from __future__ import annotations

from collections.abc import Callable

from PyQt6.QtCore import QTimer

from app.desktop.actions import MESSAGE
from app.features.window_type import Window

WAITS = "The objects are still being changed; what you asked for follows"


class EditsInTurn:
    """Makes edits in the order in which they were asked for; none is kept for another robot."""

    def __init__(self, window: Window, composing: Callable[[], bool]):
        """`composing` returns whether a load under way changes only the parts around the robot."""
        self._window, self._bench, self._composing = window, window.workbench, composing
        self.waiting: list[Callable[[], None]] = []
        """The edits that wait."""
        window.refreshed.connect(self._refresh)

    def add(self, edit: Callable[[], None]) -> None:
        """Make an edit, now or after those before it."""
        self.waiting.append(edit)
        if self._bench.opening.loading:
            self._window.statusBar().showMessage(WAITS, MESSAGE)
        self._make()

    def _make(self) -> None:
        while self.waiting and not self._bench.opening.loading:
            self.waiting.pop(0)()

    def _refresh(self) -> None:
        if self._bench.opening.loading and not self._composing():
            self.waiting.clear()
        elif self.waiting and not self._bench.opening.loading:
            QTimer.singleShot(0, self._make)
