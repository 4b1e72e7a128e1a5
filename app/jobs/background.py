"""Work in a thread of its own, free of Qt; the window polls its latest report on its own timer."""

from __future__ import annotations

import threading
import traceback
from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

PATIENCE = 0.8  # s that `close` waits for a call that does not return


class _Report(Protocol):
    @property
    def over(self) -> bool: ...


Report = TypeVar("Report", bound=_Report)


class Background(Generic[Report]):
    """Runs one piece of work at a time; its last report is `over`."""

    def __init__(self, name: str, failed: Callable[[str], Report]) -> None:
        """`failed` makes a report from the message of an exception that the work raised."""
        self._name, self._failed = name, failed
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._latest: deque[Report] = deque(maxlen=1)
        self.running = False
        """True from the start until `poll` has returned the final report."""

    @property
    def stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stop.is_set()

    def run(self, work: Callable[[threading.Event], Report]) -> None:
        """Run `work`, which checks its stop event and returns the final report; does nothing if work is running."""
        if self.running:
            return
        stop = self._stop = threading.Event()
        self.running = True
        # A daemon, since neither a compiler nor a user's own function can be interrupted.
        self._thread = threading.Thread(
            target=lambda: self.publish(self._done(work, stop)), name=self._name, daemon=True
        )
        self._thread.start()

    def _done(self, work: Callable[[threading.Event], Report], stop: threading.Event) -> Report:
        try:
            return work(stop)
        except Exception as error:  # shown to the user
            return self._failed(with_place(error))

    def publish(self, report: Report) -> None:
        """Publish a progress report, from the work's thread."""
        self._latest.append(report)

    def stop(self) -> None:
        """Request that the work stop; results so far are kept."""
        self._stop.set()

    def poll(self) -> Report | None:
        """Return the latest report; None if there is none since the last call."""
        if not self._latest:
            return None
        report = self._latest.pop()
        self.running = not report.over
        return report

    def close(self, patience: float = PATIENCE) -> None:
        """Request that the thread stop, and wait for it, at most `patience` s."""
        self.stop()
        if self._thread is not None:
            self._thread.join(patience)


def with_place(error: Exception) -> str:
    """Return an error's message and where it was raised."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({place.filename}, line {place.lineno})"
