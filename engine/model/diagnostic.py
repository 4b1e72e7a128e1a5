"""Diagnostics of a robot's file, each a problem with its line and its fix, and the error that carries them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


class ModelError(ValueError):
    """A robot that cannot be simulated; `diagnostics` lists all problems."""

    def __init__(self, message: str, diagnostics: tuple[Diagnostic, ...] = ()):
        super().__init__(message)
        self.diagnostics = diagnostics


@dataclass(frozen=True)
class Edit:
    """A replacement in a file's text: start and end in bytes of its UTF-8, and the new text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Diagnostic:
    """A problem in a robot's file and how to fix it.

    `repair` writes the value that was read into the file; it is empty if only the author can fix the problem.
    """

    severity: Literal["error", "warning"]
    line: int | None
    element: str
    fault: str
    cure: str
    repair: tuple[Edit, ...] = ()

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        return f"{place}{self.severity}: {self.element}: {self.fault}; {self.cure}"
