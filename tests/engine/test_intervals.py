"""Intervals of medians and curves of times, figure by figure."""

import numpy as np
import pytest
from scipy import stats

from engine.bench import curves, intervals


@pytest.mark.parametrize("n", [7, 10, 11, 12, 50, 101])
def test_the_interval_is_of_order_statistics(n, rng):
    samples = rng.permutation(n) + 1.0
    low, middle, high = intervals.of_median(samples)
    assert middle == (n + 1) / 2
    assert low + high == n + 1
    # as many samples lie outside, on each side, as by the normal distribution of half n
    outside = (n - 1 - stats.norm.ppf(0.9995) * np.sqrt(n)) / 2
    assert low == 1 + max(0, int(outside))


def test_of_fewer_than_seven_nothing_is_claimed():
    assert intervals.of_median(np.arange(6.0)) is None
    assert intervals.of_median(np.arange(7.0)) == (0.0, 3.0, 6.0)
    assert intervals.of_ratio(np.array([2.0] * 7 + [np.nan]), np.array([4.0] * 8)) == (0.5, 0.5, 0.5)
    assert intervals.of_ratio(np.array([2.0] * 6 + [np.nan]), np.array([4.0] * 7)) is None


def test_of_processes_it_is_students_and_at_least_what_is_usual():
    for n in (5, 9, 30):
        assert intervals.student_quantile(n) == pytest.approx(
            stats.t.ppf(0.995, n), rel={5: 0.01, 9: 2e-3, 30: 1e-4}[n]
        )
    z, terms = stats.norm.ppf(0.995), ([1, 0, 1, 0], [5, 0, 16, 0, 3, 0], [3, 0, 19, 0, 17, 0, -15, 0])
    sums = [np.polyval(term, z) / over for term, over in zip(terms, (4, 96, 384), strict=True)]
    assert intervals.student_quantile(2) == pytest.approx(z + sums[0] / 2 + sums[1] / 4 + sums[2] / 8, rel=1e-12)
    assert intervals.of_runs(np.array([])) is None
    usual = np.exp(0.01 * stats.norm.ppf(0.995) * np.sqrt(2))
    assert intervals.of_runs(np.array([3.0])) == pytest.approx((3 / usual, 3.0, 3 * usual))
    apart = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    off = intervals.student_quantile(5) * np.std(np.log(apart), ddof=1) * np.sqrt(2 / 6)
    middle = np.sqrt(32)
    assert intervals.of_runs(apart) == pytest.approx((middle / np.exp(off), middle, middle * np.exp(off)))
    alike = intervals.of_runs(np.full(8, 5.0))
    assert alike.middle == pytest.approx(5)
    assert alike.high / alike.low == pytest.approx(usual ** (2 / np.sqrt(8)))


def test_a_slope_is_fitted_over_the_larger_half():
    assert curves.slope({10: 1.0}) is None
    assert curves.slope({1: 1.0, 10: 100.0}) == pytest.approx(2)
    assert curves.slope({1: 5.0, 10: 5.0, 100: 5.0}) == pytest.approx(0)
    assert curves.slope({1: 9.0, 10: 9.0, 100: 9.0, 1000: 90.0}) == pytest.approx(1)
    three = {1: 1.0, 10: 1.0, 100: 100.0}
    assert curves.slope(three) == pytest.approx(1), "three points are all taken"


def test_curves_cross_where_their_logarithms_do_and_for_good():
    one, other = {1: 2.0, 10: 2.0, 100: 2.0}, {1: 1.0, 10: 1.0, 100: 4.0}
    assert curves.crossing(one, other) == (pytest.approx(10**1.5), True)
    assert curves.crossing(other, one) == (pytest.approx(10**1.5), False)
    assert curves.crossing(one, {1: 1.0, 10: 1.0, 100: 1.0, 1000: 9.0}) is None
    weaves = {1: 1.0, 10: 4.0, 100: 1.0, 1000: 8.0}
    size, first = curves.crossing(dict.fromkeys(weaves, 2.0), weaves)
    assert 100 < size == pytest.approx(100 * 10 ** (np.log(2) / np.log(8)))
    assert first
    assert curves.crossing({1: 1.0, 10: 1.0}, {1: 1.0, 10: 2.0}) == (1.0, True), "level at first"
    assert curves.crossing({1: 1.0, 10: 2.0, 100: 2.0}, {1: 2.0, 10: 1.0, 100: 1.0}) == (pytest.approx(10**0.5), False)
    level = {1: 1.0, 10: 1.0}
    assert curves.crossing({1: 2.0, 10: 1.0}, level) is None
    assert curves.crossing({1: 0.5, 10: 1.0}, level) == (10.0, False)
    assert curves.crossing(level, {1: 0.5, 10: 1.0}) is None
