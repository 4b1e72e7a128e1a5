"""Work in a thread of its own, free of Qt: the latest report of it wins, and the window fetches it on its own timer."""

from __future__ import annotations

import threading
import traceback
from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

PATIENCE = 0.8  # s that `close` waits for a call which does not return


class _Report(Protocol):
    @property
    def over(self) -> bool: ...


Report = TypeVar("Report", bound=_Report)


class Background(Generic[Report]):
    """Runs one piece of work at a time; the last report of each is `over`."""

    def __init__(self, name: str, failed: Callable[[str], Report]) -> None:
        """`failed` makes the report of work that raised, from what is to be told of it."""
        self._name, self._failed = name, failed
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._latest: deque[Report] = deque(maxlen=1)
        self.running = False
        """From the start until `poll` has told that it is over."""

    @property
    def stopping(self) -> bool:
        """Whether it was asked to end."""
        return self._stop.is_set()

    def run(self, work: Callable[[threading.Event], Report]) -> None:
        """Have `work` done, which answers the last report and looks at whether to stop; nothing happens meanwhile."""
        if self.running:
            return
        stop = self._stop = threading.Event()
        self.running = True
        # A daemon, since neither a compiler nor a user's own function can be interrupted.
        self._thread = threading.Thread(target=lambda: self.tell(self._done(work, stop)), name=self._name, daemon=True)
        self._thread.start()

    def _done(self, work: Callable[[threading.Event], Report], stop: threading.Event) -> Report:
        try:
            return work(stop)
        except Exception as error:  # the user must hear of it
            return self._failed(with_place(error))

    def tell(self, report: Report) -> None:
        """How far the work is, from its thread."""
        self._latest.append(report)

    def stop(self) -> None:
        """Ask it to end; what was done stays."""
        self._stop.set()

    def poll(self) -> Report | None:
        """The latest report; None if there is none since the last."""
        if not self._latest:
            return None
        report = self._latest.pop()
        self.running = not report.over
        return report

    def close(self, patience: float = PATIENCE) -> None:
        """Ask the thread to end, and wait for that, at most `patience` s."""
        self.stop()
        if self._thread is not None:
            self._thread.join(patience)


def with_place(error: Exception) -> str:
    """What an error says, and where it was raised."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({place.filename}, line {place.lineno})"
