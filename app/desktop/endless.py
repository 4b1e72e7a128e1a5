"""Pipes and devices, which no file is opened from. Free of Qt."""

from __future__ import annotations

from pathlib import Path


def refuse_endless(path: str) -> None:
    """Raises ValueError where a path leads to a pipe or a device, whose end may never come; OSError as `Path.exists`.

    A path that leads to nothing is for who opens it to tell.
    """
    file = Path(path)
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise ValueError(f"{file.name} is a pipe or a device, whose end nobody knows; write it to a file first")
