"""Suggest the intended name for a misspelt one, at a cost independent of the number of names."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections.abc import Iterable

NEIGHBOURS = 16
"""Number of names with a similar beginning, and with a similar end, that are compared."""
MAX_NAME = 60
"""Maximum length of a compared name; the time grows with its square."""
MAX_SUGGESTIONS = 100
"""Number of misspelt names per file that get a suggestion."""


class Spelling:
    """The names of one kind in a file, such as "link"."""

    def __init__(self, names: Iterable[str], kind: str):
        self.kind = kind
        self._left = MAX_SUGGESTIONS
        self._sorted = sorted(name for name in names if len(name) <= MAX_NAME)
        self._reversed: list[str] = []

    def fix(self, name: str) -> str:
        """Return the fix for an unknown name."""
        close: list[str] = []
        if self._left > 0 and len(name) <= MAX_NAME:
            self._left -= 1
            close = difflib.get_close_matches(name, self._alike(name), 1)
        return f"did you mean {close[0]!r}?" if close else f"name a {self.kind} of this file, or add it"

    def _alike(self, name: str) -> list[str]:
        if len(self._sorted) <= 4 * NEIGHBOURS:
            return self._sorted
        if not self._reversed:
            self._reversed = sorted(entry[::-1] for entry in self._sorted)
        endings = [entry[::-1] for entry in _around(self._reversed, name[::-1])]
        return [*_around(self._sorted, name), *endings]


def _around(names: list[str], name: str) -> list[str]:
    place = bisect_left(names, name)
    return names[max(place - NEIGHBOURS // 2, 0) : place + NEIGHBOURS // 2]
