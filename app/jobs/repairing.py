"""Writing a repaired copy of a robot's file, in the background: a large file takes a second or more to check again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import engine
from app.jobs.background import Background


@dataclass(frozen=True)
class Repaired:
    """What became of the copy."""

    path: str
    count: int = 0
    """How many places were repaired."""
    left: tuple[engine.Diagnostic, ...] = ()
    """What is still wrong with the copy."""
    fault: str = ""
    """Why there is none."""
    over: bool = True


class Repairing(Background[Repaired]):
    """Writes one copy at a time."""

    def __init__(self) -> None:
        super().__init__("repair", lambda fault: Repaired("", fault=f"the copy was not written: {fault}"))

    def start(self, path: str, copy: str, package_dirs: Iterable[str]) -> None:
        """Write the copy, in the place of a file that is there; nothing happens while one is being written."""
        folders = tuple(package_dirs)
        self.run(lambda _: _repaired(path, copy, folders))


def _repaired(path: str, copy: str, package_dirs: tuple[str, ...]) -> Repaired:
    try:
        count, left = engine.repair(path, copy, package_dirs, overwrite=True)
    except OSError as fault:
        return Repaired(copy, fault=f"{copy} was not written: {fault.strerror or fault}")
    except ValueError as fault:
        return Repaired(copy, fault=str(fault))
    return Repaired(copy, count, tuple(left))
