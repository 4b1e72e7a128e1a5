"""The samples of a curve: those stored of a long run, and those drawn."""

import numpy as np
import pytest

from app.plotting.series import Series


@pytest.mark.parametrize("together", [False, True])
def test_an_earlier_time_begins_anew_from_there(together):
    series = Series()
    pieces = [(np.arange(10.0), np.zeros(10)), (np.array([4.0, 5.0]), np.ones(2))]
    if together:
        pieces = [tuple(np.concatenate(each) for each in zip(*pieces, strict=True))]
    for piece in pieces:
        series.extend(*piece)
    np.testing.assert_array_equal(series.time, [0, 1, 2, 3, 4, 5])
    np.testing.assert_array_equal(series.value, [0, 0, 0, 0, 1, 1])
    series.extend(np.array([0.0]), np.array([7.0]))
    np.testing.assert_array_equal(series.value, [7])


def test_a_run_without_end_stays_in_memory_with_its_beginning_and_its_peaks(rng):
    series, count, peaks = Series(1024), 200_000, {}
    value = rng.uniform(-1, 1, count)
    for k in (12_345, 100_001, 199_990):
        value[k] = peaks[k] = 50.0 + k
    for start in range(0, count, 700):
        series.extend(np.arange(start, min(start + 700, count), dtype=float), value[start : start + 700])
        assert len(series) <= 1024
        assert np.all(np.diff(series.time) > 0)
    assert series.time[0] == 0
    assert series.time[-1] == count - 1
    for k, peak in peaks.items():
        assert peak in series.value
        assert series.at(k) == peak
    np.testing.assert_array_equal(series.value[-300:], value[-300:])


def test_a_picture_has_few_points_and_all_peaks(rng):
    series = Series()
    time, value = np.arange(50_000) * 1e-3, rng.uniform(-1, 1, 50_000)
    value[31_234], value[40_000] = 9.0, np.nan
    series.extend(time, value)
    t, x = series.between(20.0, 45.0, 400)
    assert 400 <= len(t) <= 810
    assert t[0] <= 20.0
    assert t[-1] >= 45.0
    assert np.nanmax(x) == 9.0
    assert np.all(np.diff(t) > 0)
    np.testing.assert_array_equal(series.between(20.0, 20.3, 400)[0], time[19_999:20_302])


def test_a_picture_that_moves_on_keeps_its_points(rng):
    series = Series()
    series.extend(np.arange(50_000) * 1e-3, rng.uniform(-1, 1, 50_000))
    before, after = (set(series.between(start, start + 20.0, 300)[0]) for start in (10.0, 10.05))
    assert len(before & after) >= len(before) - 6  # but for the groups at the ends
