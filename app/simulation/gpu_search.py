"""The search for a usable GPU, in a thread, since loading the GPU libraries takes about a second."""

from __future__ import annotations

import threading

import engine

SEARCHING = "a GPU is being looked for"


class GpuSearch:
    """Searches for a GPU once. Belongs to the window's thread."""

    def __init__(self) -> None:
        self.why_not: str | None = SEARCHING
        """The reason why no GPU can be used, in a sentence; None if one can."""
        self._thread: threading.Thread | None = None
        self._found: list[str | None] = []

    def begin(self) -> None:
        """Start the search; later calls do nothing."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._search, name="gpu search", daemon=True)
            self._thread.start()

    def _search(self) -> None:
        self._found.append(engine.why_no_gpu())

    @property
    def is_news(self) -> bool:
        """Whether the result has arrived since the last call."""
        if self.why_not != SEARCHING or not self._found:
            return False
        self.why_not = self._found[0]
        return True
