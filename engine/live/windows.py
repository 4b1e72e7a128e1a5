"""Windows free for the next script because theirs has ended; each has a file that a script moves into its link."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from engine.live import places

SUFFIX = ".window"


class FreeWindow:
    """This window, waiting for a script; `close` ends the wait. Raises OSError if links cannot exist."""

    def __init__(self) -> None:
        self._file = places.place() / f"{os.getpid()}{SUFFIX}"
        self._lock: int | None = places.hold(self._file)

    def taken(self) -> Path | None:
        """Return the link of the script that took this window, or None."""
        if self._lock is None or self._file.exists():
            return None
        self._release()
        return next((each.parent for each in self._file.parent.glob(f"*{places.SUFFIX}/{self._file.name}")), None)

    def close(self) -> None:
        """Stop waiting."""
        if self._lock is not None:
            self._file.unlink(missing_ok=True)
            self._release()

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def take_one(folder: Path) -> bool:
    """Assign that link to a waiting window; return whether there was one."""
    for file in places.place().glob(f"*{SUFFIX}"):
        with suppress(OSError):  # another script took it
            if places.is_held(file):
                file.rename(folder / file.name)
                return True
            file.unlink()
    return False
