"""Read files in threads of their own; what was read arrives in the window's thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from PyQt6.QtCore import QObject, QTimer

from app.features.window_type import Window
from app.jobs.background import Background
from app.reasons import refusal

POLL_INTERVAL = 30  # ms between two checks whether a file is read
READING = "Reading "

Found = TypeVar("Found")


@dataclass(frozen=True)
class Done:
    """A file was read, or cannot be: what the window is to do then."""

    then: Callable[[], None]
    over: bool = True


class FileReader(QObject):
    """Reads files for one feature, several at a time."""

    def __init__(self, window: Window, worded: Callable[[str, Exception], str] = refusal) -> None:
        """`worded` makes the sentence for a file, by its path, from the error that reading it raised."""
        super().__init__(window)
        self._bar, self._worded = window.statusBar(), worded
        self._readings: list[Background[Done]] = []
        self._timer = QTimer(self, interval=POLL_INTERVAL, timeout=self._poll)
        window.closing.connect(self.drop)

    def read(
        self, path: str | Path, get: Callable[[], Found], put: Callable[[Found], None], refuse: Callable[[str], None]
    ) -> None:
        """Have `get` read the file in a thread; then call `put` with what it returned, or `refuse` with the reason."""

        def work(_: object) -> Done:
            try:
                return Done(partial(put, get()))
            except (OSError, ValueError, MemoryError) as error:
                return Done(partial(refuse, self._worded(str(path), error)))

        self._readings.append(Background(f"reading {path}", lambda problem: Done(partial(refuse, problem))))
        self._readings[-1].run(work)
        self._timer.start()
        self._bar.showMessage(f"{READING}{Path(path).name} …")

    def drop(self) -> None:
        """Discard the files that are being read."""
        self._readings.clear()
        self._timer.stop()
        if self._bar.currentMessage().startswith(READING):
            self._bar.clearMessage()

    def _poll(self) -> None:
        for each in tuple(self._readings):
            if each in self._readings and (done := each.poll()) is not None:  # else dropped meanwhile, or not yet read
                self._readings.remove(each)
                if not self._readings:
                    self.drop()
                done.then()
