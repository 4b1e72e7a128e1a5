"""The last samples of a few durations and their statistics, for the timing panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

MEMORY = 300  # samples in the statistics and the plots
COLUMNS = ("now", "min", "99 %", "median", "before")
MINIMUM, MAXIMUM, MEDIAN, BEFORE = 1, 2, 3, 4
PERCENTILE = 99
"""That of the column `MAXIMUM`."""


class History:
    """The last `MEMORY` samples of a few durations, in seconds; the statistics cover those since `mark`.

    `shown`, a subset of `names`, are the durations in `statistics`. The others stay in the samples, for the plot, and
    in the sum before the mark.
    """

    def __init__(self, names: Sequence[str], shown: Sequence[str] = ()):
        self.names, self.shown = tuple(names), tuple(shown or names)
        self.count = self.marked = self.changes = 0
        """The number of samples, of those before the mark, and of changes since the start."""
        self.before = np.full(len(self.names) + 1, np.nan)
        """The medians from before the mark, NaN if not shown then, with the sum's last."""
        self._ring = np.zeros((MEMORY, len(self.names)))

    def add(self, seconds: Mapping[str, float]) -> None:
        """Add one sample, by name; 0 for missing names."""
        self._ring[self.count % MEMORY] = [seconds.get(name, 0.0) for name in self.names]
        self.count += 1
        self.changes += 1

    def clear(self) -> None:
        """Forget all samples."""
        self.changes += 1
        self.count = self.marked = 0
        self.before[:] = np.nan

    def mark(self) -> None:
        """Start the statistics again: later samples are of another kind."""
        before = self._all()[:, MEDIAN]
        shown = [*(name in self.shown for name in self.names), True]
        self.before = np.where(shown, before, np.nan)
        self.marked = self.count
        self.changes += 1

    def show(self, names: Sequence[str]) -> bool:
        """Select the durations of `statistics` and their order. Return whether that changed."""
        if tuple(names) == self.shown:
            return False
        self.shown = tuple(names)
        self.changes += 1
        return True

    @property
    def samples(self) -> np.ndarray:
        """The samples, oldest first, (samples, names)."""
        if self.count <= MEMORY:
            return self._ring[: self.count]
        return np.roll(self._ring, -(self.count % MEMORY), axis=0)

    def statistics(self) -> np.ndarray:
        """Return the `COLUMNS`, s, of each shown duration and last of the sum of all, (shown + 1, 5)."""
        return self._all()[[*map(self.names.index, self.shown), -1]]

    def _all(self) -> np.ndarray:
        samples = self.samples[-(self.count - self.marked) :] if self.count > self.marked else self.samples[:0]
        samples = np.column_stack([samples, samples.sum(1)])
        if not len(samples):
            return np.column_stack([np.full((len(self.before), BEFORE), np.nan), self.before])
        columns = samples[-1], samples.min(0), np.percentile(samples, PERCENTILE, 0), np.median(samples, 0), self.before
        return np.column_stack(columns)
