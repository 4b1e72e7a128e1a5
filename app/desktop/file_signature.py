"""By what a saved file is told from the one that was read."""

from __future__ import annotations

from pathlib import Path

GONE = 0, 0
"""The signature of no file."""


def signature(path: str) -> tuple[int, int]:
    """When a file was written and how long it is, by which a change is known; `GONE` where there is none."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError):  # there is none, or no file can have that name
        return GONE
    return found.st_mtime_ns, found.st_size
