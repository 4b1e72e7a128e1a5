"""The samples of one curve: a whole run in bounded memory, with only the points that a plot needs."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

CAPACITY = 2**16  # samples: 1 MiB
GAP = 1e-9  # s after the last sample, the time of a gap's mark


class Series:
    """Times and values, oldest first, with increasing times.

    Recent samples, at least a quarter of the capacity, are kept unchanged. Older ones are thinned to fit the rest: each
    group of samples keeps its lowest and highest, so that no peak is lost. Samples that are not later than the last one
    replace the curve from their time on: after a reset, or a run from an earlier state.
    """

    def __init__(self, capacity: int = CAPACITY):
        self._time, self._value = np.empty(capacity), np.empty(capacity)
        self._count = self._old = 0  # the number of samples, and of those thinned, from the first on
        self._ratio = 2  # the thinning ratio

    def __len__(self) -> int:
        return self._count

    @property
    def time(self) -> np.ndarray:
        """The times (samples,), s; a view."""
        return self._time[: self._count]

    @property
    def value(self) -> np.ndarray:
        """The values (samples,); a view."""
        return self._value[: self._count]

    def clear(self) -> None:
        self._count, self._old, self._ratio = 0, 0, 2

    def interrupt(self) -> None:
        """Leave a gap before the next samples."""
        if len(self):
            self.extend(self.time[-1:] + GAP, np.array([np.nan]))

    def lacks(self, time: np.ndarray) -> np.ndarray:
        """Return a mask (N,) of the times in a gap, before the first sample or after the last."""
        after = np.searchsorted(self.time, time)
        exact = after < len(self)
        exact[exact] = self.time[after[exact]] == time[exact]
        inside = (after > 0) & (after < len(self))
        inside[inside] = ~self._gaps[after[inside] - 1]
        return ~(inside | exact)

    def filled(self, time: np.ndarray, value: np.ndarray) -> Series:
        """Return a series that also has the given samples, (N,) each, that this one lacks."""
        lacking, valid = self.lacks(time), ~self._gaps
        times = np.concatenate([self.time[valid], time[lacking]])
        order = np.argsort(times, kind="stable")
        both = Series(len(self._time))
        both.extend(times[order], np.concatenate([self.value[valid], value[lacking]])[order])
        return both

    @property
    def _gaps(self) -> np.ndarray:
        """A mask (samples,) of the samples that begin a gap."""
        return np.isnan(self.value) & (np.diff(self.time, prepend=-np.inf) < 2 * GAP)

    def extend(self, time: np.ndarray, value: np.ndarray) -> None:
        """Add samples, (N,) each."""
        for part in np.split(np.arange(len(time)), 1 + np.flatnonzero(np.diff(time) <= 0)):
            if len(part):
                self._count = int(np.searchsorted(self.time, time[part[0]]))
                self._old = min(self._old, self._count)
                self._ratio = self._ratio if self._old else 2
                self._append(time[part], value[part])

    def _append(self, time: np.ndarray, value: np.ndarray) -> None:
        room = len(self._time) // 4
        for start in range(0, len(time), room):
            some = slice(start, start + room)
            while self._count + len(time[some]) > len(self._time):
                self._make_room()
            end = self._count + len(time[some])
            self._time[self._count : end], self._value[self._count : end] = time[some], value[some]
            self._count = end

    def _make_room(self) -> None:
        """Thin the oldest unthinned samples, and all older ones if these become too many."""
        quarter = len(self._time) // 4
        begin = max(self._old, 1)  # the curve's first sample stays
        self._old = begin + self._thin(begin, begin + quarter, min(2 * self._ratio, quarter))
        if self._old > 2 * quarter:
            end = 1 + (self._old - 1) // 4 * 4
            self._old += self._thin(1, end, 4) - (end - 1)
            self._ratio *= 2

    def _thin(self, begin: int, end: int, size: int) -> int:
        """Keep two samples of each group of `size`; return the number left in that part."""
        kept = begin + _extremes(self._value[begin:end], size)
        rest = slice(end, self._count)
        stop = begin + len(kept)
        for array in (self._time, self._value):
            array[begin:stop] = array[kept]
            array[stop : stop + self._count - end] = array[rest].copy()
        self._count += len(kept) - (end - begin)
        return len(kept)

    def between(self, start: float, end: float, points: int) -> tuple[np.ndarray, np.ndarray]:
        """Return times and values from `start` to `end`, and a sample beyond each; at most about 2 · `points`.

        If there are more samples, only the lowest and the highest of each group.
        """
        first = max(int(np.searchsorted(self.time, start)) - 1, 0)
        last = min(int(np.searchsorted(self.time, end, "right")) + 1, self._count)
        size = -(-(last - first) // max(points, 1))
        if size <= 2:
            return self._time[first:last].copy(), self._value[first:last].copy()
        first -= first % size  # groups that stay the same as time passes
        whole = last - (last - first) % size
        parts = [np.array([first]), first + _extremes(self._value[first:whole], size)]
        if last - whole > 1:
            parts.append(whole + _extremes(self._value[whole:last], last - whole))
        parts.append(np.array([last - 1]))
        kept = np.concatenate(parts)
        kept = kept[np.diff(kept, prepend=-1) > 0]  # the ends may be among the extremes
        return self._time[kept], self._value[kept]

    def at(self, time: float) -> float:
        """Return the value of the sample nearest to a time; NaN if there is none."""
        if not self._count:
            return float("nan")
        after = int(np.searchsorted(self.time, time))
        near = [k for k in (after - 1, after) if 0 <= k < self._count]
        return float(self._value[min(near, key=lambda k: abs(self._time[k] - time))])


def _extremes(value: np.ndarray, size: int) -> np.ndarray:
    """Return the indices of the lowest and the highest of each group of `size`, in order; for NaNs the ends."""
    groups = value.reshape(-1, size)
    hole = np.isnan(groups)
    low = np.argmin(np.where(hole, np.inf, groups), 1)
    high = np.argmax(np.where(hole, -np.inf, groups), 1)
    high = np.where(low == high, np.where(low == 0, size - 1, 0), high)
    pair = np.sort(np.stack([low, high], 1), 1)
    return (pair + size * np.arange(len(groups))[:, None]).ravel()


def extent(lines: Iterable[Series]) -> tuple[float, float] | None:
    """Return the times, s, from the first sample of several curves to the last; None if these are not two."""
    ends = [line.time[[0, -1]] for line in lines if len(line)]
    begin, end = (min(each[0] for each in ends), max(each[1] for each in ends)) if ends else (0.0, 0.0)
    return (float(begin), float(end)) if end > begin else None


def statistics(
    time: np.ndarray, value: np.ndarray, span: tuple[float, float] = (-np.inf, np.inf)
) -> tuple[float, float, float, float]:
    """Return minimum, maximum, mean and RMS of a curve within a span of time, s; NaN without samples there.

    `time` and `value` are (samples,), with NaN in gaps. Mean and RMS are over time, of the straight lines between the
    samples, which need not be evenly spaced; those of a single sample are its own.
    """
    inside = (time >= span[0]) & (time <= span[1])
    time, value = time[inside], value[inside]
    seen = value[np.isfinite(value)]
    if not len(seen):
        return (np.nan,) * 4
    before, after, duration = value[:-1], value[1:], np.diff(time)
    lines = np.isfinite(before) & np.isfinite(after)
    before, after, duration = before[lines], after[lines], duration[lines]
    if not (whole := duration.sum()):
        return seen.min(), seen.max(), seen.mean(), np.sqrt(np.mean(seen**2))
    mean = duration @ (before + after) / 2 / whole
    square = duration @ (before**2 + before * after + after**2) / 3 / whole
    return seen.min(), seen.max(), mean, np.sqrt(square)
