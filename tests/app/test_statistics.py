"""Minimum, maximum, mean and RMS of plotted curves."""

import re

import numpy as np
import pytest
from plotted import fill, make_panel, tick

from app.plotting.series import statistics


def test_statistics_are_those_of_the_lines_between_samples(rng):
    """Of a sine over whole periods at uneven times, of two parts with a gap between, of one sample and of none."""
    time = np.sort(np.append(rng.uniform(0.0, 2.0, 4000), (0.0, 2.0)))
    value = 3.0 * np.sin(2 * np.pi * time) + 1.0
    expected = -2.0, 4.0, 1.0, np.sqrt(1.0 + 4.5)
    assert statistics(time, value) == pytest.approx(expected, abs=1e-4)
    late = statistics(time, np.where(time < 1.0, 100.0, value), (1.0, 2.0))
    assert late == pytest.approx(expected, abs=1e-2)
    parts = statistics(np.array([0.0, 1.0, 1.5, 5.0, 7.0]), np.array([2.0, 2.0, np.nan, -4.0, -4.0]))
    assert parts == pytest.approx((-4.0, 2.0, -2.0, np.sqrt(12.0)))
    assert statistics(np.array([1.0]), np.array([-2.0])) == (-2.0, -2.0, -2.0, 2.0)
    assert np.all(np.isnan(statistics(time, value, (3.0, 4.0))))


def test_statistics_are_shown_of_the_time_that_is_seen(qtbot):
    panel = make_panel(qtbot)
    tick(panel, "joint1 power")
    fill(panel)
    chart = panel.charts[0]
    assert "RMS" not in chart.names.text()
    panel.statistics.trigger()
    panel.draw()
    assert re.findall(r"(min|max|mean|RMS)</span>&nbsp;([-.0-9]+)", chart.names.text()) == [
        ("min", "-1.00"), ("max", "1.00"), ("mean", "-0.13"), ("RMS", "0.71"),
    ]  # fmt: skip
