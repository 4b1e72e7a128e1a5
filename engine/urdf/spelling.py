"""What a misspelt name may have meant, at a cost that does not grow with the number of names."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections.abc import Iterable

NEIGHBOURS = 16
"""So many names that begin alike, and that end alike, are compared."""
LONGEST = 60
"""Characters of a name that is compared; the time grows with the square of them."""
GUESSES = 100
"""After so many misspelt names of one file the rest are only named."""


class Spelling:
    """The names of one kind, such as "link", in a file."""

    def __init__(self, names: Iterable[str], kind: str):
        self.kind = kind
        self._left = GUESSES
        self._sorted = sorted(name for name in names if len(name) <= LONGEST)
        self._reversed: list[str] = []

    def cure(self, name: str) -> str:
        """What to do about a name that is none of these."""
        close: list[str] = []
        if self._left > 0 and len(name) <= LONGEST:
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
    at = bisect_left(names, name)
    return names[max(at - NEIGHBOURS // 2, 0) : at + NEIGHBOURS // 2]
