"""Windows whose script has ended, and which show the next one: each has a file that a script moves into its link."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from engine.live import places

SUFFIX = ".window"


class FreeWindow:
    """This window, while it waits for a script; `close` ends that. Raises OSError where links have no folder."""

    def __init__(self) -> None:
        self._file = places.place() / f"{os.getpid()}{SUFFIX}"
        self._lock: int | None = places.hold(self._file)

    def taken(self) -> Path | None:
        """The link of the script that has taken this window; None where none has."""
        if self._lock is None or self._file.exists():
            return None
        self._release()
        return next((each.parent for each in self._file.parent.glob(f"*{places.SUFFIX}/{self._file.name}")), None)

    def close(self) -> None:
        """Wait no more."""
        if self._lock is not None:
            self._file.unlink(missing_ok=True)
            self._release()

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def take_one(folder: Path) -> bool:
    """Have a window that waits show that link; whether there is one."""
    for file in places.place().glob(f"*{SUFFIX}"):
        with suppress(OSError):  # another script was faster
            if places.is_held(file):
                file.rename(folder / file.name)
                return True
            file.unlink()
    return False
