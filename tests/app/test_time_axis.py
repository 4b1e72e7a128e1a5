"""The axis of time below all plots, and the lines at limits of joints."""

import math

import numpy as np
import pytest
from plotted import colored, fill, make_panel, tick
from PyQt6.QtCore import QPoint
from PyQt6.QtGui import QFontMetrics
from PyQt6.QtTest import QTest

import engine
from app.acting.coordinates import coordinates
from app.desktop import theme, type_scale
from app.panels.axes import NAME, Axis, numbers, ticks
from app.panels.plots import PlotsPanel
from app.plotting.probe import Samples


@pytest.fixture
def panel(qtbot) -> PlotsPanel:
    return make_panel(qtbot)


def test_numbers_of_the_axis_leave_room_for_the_moment(panel):
    tick(panel, "joint1 velocity")
    fill(panel)
    (chart,) = panel.charts
    canvas = chart.canvas
    for time in (canvas.time[1], 14.1):
        panel.show_cursor(time)
        panel.draw()
        box, text = panel.axis.cursor_time(panel.axis.fontMetrics())
        assert box.right() < canvas.width() - 2
        assert f"{time:.2f} s" == text
        image = panel.axis.grab().toImage()
        beside = image.copy(
            int(box.right()) + 1, int(box.top()), image.width() - int(box.right()) - 1, int(box.height())
        )
        if time > 15:
            assert colored(beside, theme.COLORS["faint"]) == 0


def test_the_times_stay_in_sight_below_plots_that_scroll(qtbot, panel):
    panel.resize(600, 240)
    for text in ("joint1 velocity", "joint2 torque", "joint3 position", "kinetic energy"):
        tick(panel, text)
    fill(panel)
    axis, bar = panel.axis, panel.area.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 100)
    for place in (0, bar.maximum()):
        bar.setValue(place)
        assert axis.mapTo(panel, axis.rect().bottomLeft()).y() < panel.height()
        assert colored(axis.grab().toImage(), theme.COLORS["faint"]) > 20
    # A number stands below its line of the grid.
    canvas, seen = panel.charts[0].canvas, panel.axis.grab().toImage()
    (first, *_), middle = ticks(*canvas.time, 5), axis.mapFrom(panel, canvas.mapTo(panel, QPoint(0, 0))).x()
    near = round(float(canvas.x_of(first))) + middle - 20
    assert colored(seen.copy(near, 0, 40, seen.height()), theme.COLORS["faint"]) > 5
    last = panel.charts[-1].canvas
    QTest.mouseMove(last, QPoint(200, 30))
    qtbot.waitUntil(lambda: axis.cursor_time(axis.fontMetrics()) is not None)
    assert axis.cursor_time(axis.fontMetrics())[1].startswith(f"{last.time_at(200):.2f}")


@pytest.mark.parametrize(
    ("low", "high"), [(-9.8427459, -9.8427441), (1e6 - 0.2, 1e6 + 0.3), (-2e-9, 1e-9), (-0.13, 0.21)]
)
def test_labels_have_as_many_digits_as_their_steps_need(low, high):
    texts = [text for _, text in Axis("", low, high).marks(6)]
    places = ticks(low, high, 6)
    assert len(set(texts)) == len(texts) == len(places) > 2
    assert [float(text) for text in texts] == pytest.approx(places, rel=1e-13, abs=1e-6 * (high - low))
    assert numbers([0.012345, 0.1, 25000.0], 4) == ["0.01235", "0.1", "2.5e+04"]
    assert numbers(np.array([98.1111, 98.1112]), 4) == ["98.1111", "98.1112"]


def test_numbers_of_a_joint_at_rest_leave_room_for_the_title_and_all_plots_begin_with_it(panel):
    for text in ("joint3 position", "kinetic energy"):
        tick(panel, text)
    rest = np.radians(-9.8427450 + 1e-6 * np.sin(np.arange(50.0)))
    values = np.stack([rest, np.linspace(0, 1, 50)], 1)
    panel.add([Samples(0, panel.quantities, np.linspace(0, 9, 50), values)])
    panel.draw()
    at_rest, other = (chart.canvas for chart in panel.charts)
    metrics = QFontMetrics(type_scale.font("small"))
    longest = max(metrics.horizontalAdvance(text) for _, text in at_rest.marks_upwards)
    assert longest > 50
    assert at_rest.area.left() - NAME - 8 >= longest
    assert at_rest.area.left() == other.area.left()
    seen = at_rest.grab().toImage()
    assert colored(seen.copy(NAME - 1, 0, 4, seen.height()), theme.COLORS["faint"]) == 0
    assert colored(seen.copy(0, 0, NAME, seen.height()), theme.COLORS["faint"]) > 5


def test_a_joints_limits_are_lines_once_they_are_ticked(panel):
    tick(panel, "joint2 position")
    fill(panel)
    (chart,) = panel.charts
    tint, before = chart.tint(chart.quantities[0]), chart.canvas.values
    plain = colored(chart.canvas.grab().toImage(), tint)
    panel.limits.trigger()
    panel.draw()
    row = coordinates(engine.load(engine.find_robot("arm7")))[1]
    low, high = math.degrees(row.lower), math.degrees(row.upper)
    assert chart.canvas.values[0] < low < high < chart.canvas.values[1]
    assert chart.canvas.values != before
    assert [value for value, _ in chart.canvas.limits] == pytest.approx([low, high])
    image = chart.canvas.grab().toImage()
    middle = image.copy(image.width() // 2, round(float(chart.canvas.y_of(high))) - 2, 200, 5)
    assert colored(middle, tint) > 60  # thin and dashed
    panel.limits.trigger()
    panel.draw()
    assert colored(chart.canvas.grab().toImage(), tint) == pytest.approx(plain, rel=0.1)
