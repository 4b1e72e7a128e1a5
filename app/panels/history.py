"""The last samples of a few durations, and their statistics: what the timing panel shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

MEMORY = 300  # samples that the statistics and the plots look back on
COLUMNS = ("now", "min", "99 %", "median", "before")
MINIMUM, MOST, MEDIAN, BEFORE = 1, 2, 3, 4


class History:
    """The last `MEMORY` samples of a few durations, in seconds; the statistics are of those since `mark`.

    `shown` are the names of those that there are now, of all `names`. What is not among them stays in the samples, for
    the plot, and in the sum before the mark.
    """

    def __init__(self, names: Sequence[str], shown: Sequence[str] = ()):
        self.names, self.shown = tuple(names), tuple(shown or names)
        self.count = self.marked = self.changes = 0
        """The samples there are, those before the mark, and how often anything changed since the start."""
        self.before = np.full(len(self.names) + 1, np.nan)
        """The medians of what was before the mark, NaN where it was not shown, with that of the sum last."""
        self._ring = np.zeros((MEMORY, len(self.names)))

    def add(self, seconds: Mapping[str, float]) -> None:
        """One sample, by name; 0 for what is not among them."""
        self._ring[self.count % MEMORY] = [seconds.get(name, 0.0) for name in self.names]
        self.count += 1
        self.changes += 1

    def clear(self) -> None:
        """Forget all samples."""
        self.changes += 1
        self.count = self.marked = 0
        self.before[:] = np.nan

    def mark(self) -> None:
        """What comes from now on is of another kind."""
        before = self._all()[:, MEDIAN]
        shown = [*(name in self.shown for name in self.names), True]
        self.before = np.where(shown, before, np.nan)
        self.marked = self.count
        self.changes += 1

    def show(self, names: Sequence[str]) -> bool:
        """Set what `statistics` is of, in this order. Returns whether that changed."""
        if tuple(names) == self.shown:
            return False
        self.shown = tuple(names)
        self.changes += 1
        return True

    @property
    def samples(self) -> np.ndarray:
        """(samples, names), the oldest first."""
        if self.count <= MEMORY:
            return self._ring[: self.count]
        return np.roll(self._ring, -(self.count % MEMORY), axis=0)

    def statistics(self) -> np.ndarray:
        """(shown + 1, 5): the `COLUMNS` of each duration that is shown, and last of the sum of all, in seconds."""
        return self._all()[[*map(self.names.index, self.shown), -1]]

    def _all(self) -> np.ndarray:
        samples = self.samples[-(self.count - self.marked) :] if self.count > self.marked else self.samples[:0]
        samples = np.column_stack([samples, samples.sum(1)])
        if not len(samples):
            return np.column_stack([np.full((len(self.before), BEFORE), np.nan), self.before])
        columns = samples[-1], samples.min(0), np.percentile(samples, 99, 0), np.median(samples, 0), self.before
        return np.column_stack(columns)
