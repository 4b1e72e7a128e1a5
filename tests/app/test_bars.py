"""Bars of a comparison's times: from zero, or dots if they differ much."""

import math
from dataclasses import replace

import pytest
from test_compare_panel import RESULT

import engine
from app.desktop import theme
from app.panels.bars import BAR, DEVICE, RATIO, BarView, DurationAxis, cell, duration, hover


def test_a_gpu_has_its_column(qtbot):
    bars = BarView()
    qtbot.addWidget(bars)
    bars.show_results((RESULT,))
    assert bars.isColumnHidden(DEVICE)
    ratio = engine.Interval(1.2, 1.3, 1.4)
    on_gpu = replace(RESULT, device="cuda", host=9e-6, on_device=4e-6, ratio=ratio, level=False, winner=False)
    bars.show_results((RESULT, on_gpu))
    assert not bars.isColumnHidden(DEVICE)
    assert (cell(on_gpu, DEVICE), cell(RESULT, DEVICE)) == ("4 µs", "–")
    assert (cell(on_gpu, RATIO), cell(RESULT, RATIO)) == ("1.30 (1.20–1.40)", "fastest")
    assert "on the GPU: 4 µs" in hover(on_gpu)


def test_axes_start_at_nought_or_are_multiples_of_the_fastest():
    axis = DurationAxis.of([RESULT, replace(RESULT, host=10e-6, host_interval=None)])
    assert [axis.place(x) for x in (0, 5e-6, 10e-6)] == pytest.approx([0, 0.5, 1])
    assert axis.ticks(3) == [(0, "0"), (pytest.approx(0.5), "5 µs"), (pytest.approx(1), "10 µs")]
    wide = DurationAxis.of([RESULT, replace(RESULT, host=2e-4, host_interval=None)])
    places = [wide.place(x) for x in (1.9e-6, 2e-6, 2e-5, 2e-4)]  # the first is where the interval of one begins
    assert (places[0], places[3]) == pytest.approx((0, 1))
    assert places[2] - places[1] == pytest.approx(places[3] - places[2])
    assert 0 < places[1] < 0.02
    assert [place for place, _ in wide.ticks(5)] == pytest.approx(places[1:])
    assert [words for _, words in wide.ticks(5)] == ["1 × fastest", "10 ×", "100 ×"]
    assert DurationAxis.of([replace(RESULT, host=None, host_interval=None)]) is None


def painted(bars: BarView, algorithm: str) -> list[int]:
    """Return the position of its colour in the middle of that row, px from the left end of its column."""
    row = next(k for k, each in enumerate(bars.table.rows) if getattr(each, "algorithm", "") == algorithm)
    cell = bars.visualRect(bars.table.index(row, BAR))
    tint, image = theme.legible(engine.algorithm_color(algorithm)), bars.viewport().grab().toImage()
    middle = cell.center().y() - 1  # beside the line of the interval
    return [x for x in range(cell.width()) if image.pixelColor(cell.left() + x, middle).name() == tint]


def test_ratios_are_dots_of_one_size_and_times_from_zero_are_bars(qtbot):
    bars = BarView()
    qtbot.addWidget(bars)
    bars.resize(900, 300)
    bars.show()
    other = replace(RESULT, algorithm="dca", host=1e-5, host_interval=None, winner=False)
    bars.show_results((RESULT, other))
    quick, slower = painted(bars, "abia"), painted(bars, "dca")
    assert len(slower) == pytest.approx(5 * len(quick), rel=0.05)
    assert quick[0] == slower[0]
    far = replace(other, algorithm="cfa", host=2e-3)
    bars.show_results((RESULT, other, far))
    dots = [painted(bars, name) for name in ("abia", "dca", "cfa")]
    assert all(4 <= len(dot) <= 10 for dot in dots), dots
    first, second, third = (sum(dot) / len(dot) for dot in dots)
    share = (second - first) / (third - first)
    assert share == pytest.approx(math.log(5) / math.log(1000), abs=0.01)


def test_durations_have_units_that_suit():
    assert [duration(x) for x in (2e-9, 1.234e-6, 0.9996e-3, 0.05, 12.3)] == [
        "2 ns",
        "1.23 µs",
        "1 ms",
        "50 ms",
        "12.3 s",
    ]
