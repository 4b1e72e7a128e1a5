"""One sampled quantity over another: the points of a phase plot."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.plotting.quantities import ANGLE, Quantity
from app.plotting.series import CAPACITY, Series

Floats = NDArray[np.float64]
TURN = 2 * np.pi


def common_samples(x: Series, y: Series, start: float, end: float, points: int) -> tuple[Floats, Floats, Floats]:
    """Return times, and the values of x and y then, (N,) each, from `start` to `end`; at most about `points`.

    Old samples of the two may be thinned differently; each is interpolated at the other's times. A gap is NaN.
    """
    samples = [_within(*each.between(start, end, CAPACITY), start, end) for each in (x, y)]
    if any(not len(time) for time, _ in samples):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    if np.array_equal(samples[0][0], samples[1][0]):
        time, values = samples[0][0], [value for _, value in samples]
    else:
        time = np.union1d(samples[0][0], samples[1][0])
        time = time[(time >= max(each[0][0] for each in samples)) & (time <= min(each[0][-1] for each in samples))]
        values = [np.interp(time, *each) for each in samples]
    step = max(1, -(-len(time) // points))
    last = np.arange(len(time))[::-step][::-1]  # the newest sample is always one of them
    return time[last], values[0][last], values[1][last]


def _within(time: Floats, value: Floats, start: float, end: float) -> tuple[Floats, Floats]:
    inside = (time >= start) & (time <= end)
    return time[inside], value[inside]


class Turned(NamedTuple):
    """Values (N,), SI, and whether they are `wrapped`, angles that run through more than a turn, to ±π."""

    values: Floats
    wrapped: bool

    @property
    def jumps(self) -> NDArray[np.bool_]:
        """(N − 1,): whether wrapping divides a value from the next one."""
        return (np.abs(np.diff(self.values)) > np.pi) & self.wrapped


def within_a_turn(quantity: Quantity, values: Floats) -> Turned:
    """Return values (N,), SI, with positions of joints that turn without limits wrapped to ±π, as on a cylinder.

    Those within one turn are shifted by whole turns instead, all alike, so that an oscillation about ±π stays whole.
    """
    turns = quantity.unit == ANGLE and quantity.kind == "position" and bool(np.isinf(quantity.limits).all())
    seen = values[np.isfinite(values)]
    if not turns or not len(seen):
        return Turned(values, False)
    if np.ptp(seen) > TURN:
        return Turned((values + np.pi) % TURN - np.pi, True)
    return Turned(values - TURN * np.round((seen.min() + seen.max()) / 2 / TURN), False)
