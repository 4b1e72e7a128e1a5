"""Diagnostics of a robot's file, each a problem with its line and its fix, and the error that carries them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OF_EXPANDED_TEXT = "(the line is that of the expanded text: xacrodoc FILE shows it)"
"""Ends the fix of a problem whose line is not one of the xacro file itself."""


class ModelError(ValueError):
    """A robot that cannot be simulated: the message says why, and `diagnostics` holds every problem that was found."""

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
    """One problem in a robot's file, and its fix.

    `severity` is "error" or "warning"; `line` is None where the file as a whole is meant, and `element` names where
    it is there. `repair` makes the file say in so many words what was read; it is empty where only its author can
    mend it.
    """

    severity: Literal["error", "warning"]
    line: int | None
    element: str
    problem: str
    fix: str
    repair: tuple[Edit, ...] = ()

    @property
    def of_expanded_text(self) -> bool:
        """Whether the line is one of the text to which a xacro file expands, see `expand_xacro`."""
        return self.fix.endswith(OF_EXPANDED_TEXT)

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        return f"{place}{self.severity}: {self.element}: {self.problem}; {self.fix}"
