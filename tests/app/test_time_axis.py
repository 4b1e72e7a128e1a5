"""The axis of time below all plots."""

import pytest
from plotted import colored, fill, make_panel, tick
from PyQt6.QtCore import QPoint
from PyQt6.QtTest import QTest

from app.desktop import theme
from app.panels.axes import ticks
from app.panels.plots import PlotsPanel


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
