"""Write a repaired copy of a robot's file in the background; checking a large file again takes a second or more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import engine
from app.jobs.background import Background


@dataclass(frozen=True)
class Repaired:
    """The result of writing the copy."""

    path: str
    count: int = 0
    """The number of repaired places."""
    left: tuple[engine.Diagnostic, ...] = ()
    """Problems that remain in the copy."""
    problem: str = ""
    """Why the copy was not written; else empty."""
    over: bool = True


class Repairing(Background[Repaired]):
    """Writes one copy at a time."""

    def __init__(self) -> None:
        super().__init__("repair", lambda problem: Repaired("", problem=f"the copy was not written: {problem}"))

    def start(self, path: str, copy: str, package_dirs: Iterable[str]) -> None:
        """Write the copy, replacing any existing file; does nothing while one is being written."""
        folders = tuple(package_dirs)
        self.run(lambda _: _repaired(path, copy, folders))


def _repaired(path: str, copy: str, package_dirs: tuple[str, ...]) -> Repaired:
    try:
        count, left = engine.repair(path, copy, package_dirs, overwrite=True)
    except OSError as error:
        return Repaired(copy, problem=f"{copy} was not written: {error.strerror or error}")
    except ValueError as error:
        return Repaired(copy, problem=str(error))
    return Repaired(copy, count, tuple(left))
