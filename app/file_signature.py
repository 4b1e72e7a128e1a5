"""Signatures that detect whether a file changed after it was read."""

from __future__ import annotations

from pathlib import Path

NO_FILE = 0, 0
"""The signature of a missing file."""


def signature(path: str) -> tuple[int, int]:
    """Return a file's modification time (ns) and size (bytes); `NO_FILE` if it does not exist."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):  # missing, or not a valid file name
        return NO_FILE
    return status.st_mtime_ns, status.st_size
