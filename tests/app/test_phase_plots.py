"""Plots of one quantity over another: made from menus, drawn, kept with the plots, and saved."""

import re

import numpy as np
import pytest
from plotted import colored, fill, make_panel, wheel
from PyQt6.QtCore import QPoint, QRectF
from PyQt6.QtGui import QTextDocument
from PyQt6.QtWidgets import QApplication, QLabel
from test_time import play
from windows import wait

import engine
from app.desktop import theme
from app.features.plots_view import PlotsView
from app.panels import chart, phase_plot, plot_saving
from app.panels.axes import SPARE, label_place
from app.panels.canvas import ZOOM
from app.panels.phase_plot import Pair
from app.panels.plots import PlotsPanel
from app.plotting.catalogue import catalogue
from app.plotting.phase import common_samples
from app.plotting.probe import Samples
from app.plotting.series import Series


@pytest.fixture
def panel(qtbot) -> PlotsPanel:
    return make_panel(qtbot)


def named(panel, key):
    return panel.list.model.quantities.named(key)


def circle(panel, joint="joint1"):
    """A phase plot of a joint that oscillates: its samples lie on a circle of radius 1 rad and 1 rad/s."""
    pair = Pair(named(panel, f"joint/{joint}/position/"), named(panel, f"joint/{joint}/velocity/"))
    panel.plot_phases([pair])
    time = np.arange(0.0, 8.0, 0.01)
    values = {pair.x: np.sin(time), pair.y: np.cos(time)}
    panel.add([Samples(0, panel.quantities, time, np.stack([values[each] for each in panel.quantities], 1))])
    panel.draw()
    return pair


def turning(panel, position):
    """The phase plot of a joint that turns without limits, at positions (N,), rad; and its points, ° and °/s."""
    panel.set_quantities(catalogue(engine.load(engine.find_robot("double_pendulum"))))
    pair = Pair(named(panel, "joint/elbow/position/"), named(panel, "joint/elbow/velocity/"))
    panel.plot_phases([pair])
    time = 0.01 * np.arange(len(position))
    values = {pair.x: position, pair.y: np.gradient(position, time)}
    panel.add([Samples(0, panel.quantities, time, np.stack([values[each] for each in panel.quantities], 1))])
    panel.draw()
    (plot,) = panel.phases.all
    (curve,) = plot.canvas.curves
    return plot, curve.time, curve.value


def test_a_joint_that_turns_over_is_wrapped_without_lines_across(panel):
    position = np.linspace(0.3, -21.0, 700)
    plot, x, y = turning(panel, position)
    assert plot.canvas.x_title == "position, wrapped"
    gaps = np.isnan(x)
    np.testing.assert_array_equal(gaps, np.isnan(y))
    assert np.count_nonzero(gaps) == 3
    np.testing.assert_allclose((np.radians(x[~gaps]) - position) % (2 * np.pi) % 6.28, 0, atol=0.01)
    assert np.abs(x[~gaps]).max() <= 180
    assert np.nanmax(np.abs(np.diff(x))) < 2  # no line back across the plot
    assert -210 < plot.canvas.time[0] < plot.canvas.time[1] < 210
    ((_, mark, _),) = plot.canvas.dots
    assert mark == pytest.approx(x[-1])


def test_an_oscillation_about_half_a_turn_is_whole(panel):
    """After turns it is shifted by them."""
    swing = np.pi + 0.3 * np.sin(np.linspace(0, 12, 700))
    for turns in (0, -3):
        plot, x, _ = turning(panel, swing + turns * 2 * np.pi)
        assert plot.canvas.x_title == "position"
        assert not np.isnan(x).any()
        assert np.ptp(x) == pytest.approx(np.degrees(0.6), rel=0.01)
        assert abs(np.mean(x)) < 200
        panel.remove_all()


def test_a_joint_with_limits_is_not_wrapped(panel):
    pair = Pair(named(panel, "joint/joint1/position/"), named(panel, "joint/joint1/velocity/"))
    panel.plot_phases([pair])
    time = np.arange(0.0, 8.0, 0.01)
    panel.add([Samples(0, panel.quantities, time, np.stack([time, time], 1))])
    panel.draw()
    np.testing.assert_allclose(panel.phases.all[0].canvas.curves[0].time, np.degrees(time))


def test_a_joints_menu_plots_its_velocity_over_its_position(qtbot, opened):
    window = opened()
    menu = window.joints.row_menu(0)
    plots = next(each.menu() for each in menu.actions() if each.text() == "&Plot")
    next(each for each in plots.actions() if each.text() == "Velocity over position").trigger()
    panel = window.features[PlotsView].panel
    wait(qtbot, panel.isVisible)
    assert not panel.charts
    (plot,) = panel.phases.all
    assert plot.pairs[0].label == f"{window.workbench.robot.coordinates[0].name} velocity over position"
    window.workbench.joints.set_held(False)
    window.joints.moved.emit(0, 0.5)
    play(qtbot, window, 0.5)
    wait(qtbot, lambda: len(panel.series[plot.pairs[0].x]) > 5)
    panel.draw()
    x, y = plot.canvas.curves[0].time, plot.canvas.curves[0].value
    assert len(x) == len(y) > 5
    assert np.ptp(x) > 0.1
    assert np.ptp(y) > 1


def test_names_of_several_lines_take_no_height_from_the_curves(panel, tmp_path):
    text, path = engine.find_robot("double_pendulum").read_text("utf-8"), tmp_path / "long.urdf"
    long = re.sub(r'(<joint name=")', r"\1a_joint_whose_name_is_as_long_as_those_of_exporters_", text)
    path.write_text(long, "utf-8")
    panel.set_quantities(catalogue(engine.load(path)))
    panel.resize(640, 240)
    panel.plot_group("joint", ("velocity",))
    panel.plot_phases()
    fill(panel)
    QApplication.processEvents()
    for plot, least in ((panel.charts[0], chart.LEAST_HEIGHT), (panel.phases.all[0], phase_plot.LEAST_HEIGHT)):
        assert plot.names.height() >= 2 * plot.names.fontMetrics().height(), "several lines"
        assert plot.canvas.height() >= least


def test_the_points_are_those_of_both_quantities_at_a_time(panel):
    circle(panel)
    (plot,) = panel.phases.all
    curve = plot.canvas.curves[0]
    np.testing.assert_allclose(np.hypot(curve.time, curve.value), 180 / np.pi, rtol=1e-9)
    assert (plot.canvas.x_unit.label, plot.canvas.unit.label) == ("°", "°/s")
    assert (plot.canvas.x_title, plot.canvas.title) == ("position", "velocity")
    (_, x, y) = plot.canvas.dots[0]
    assert (x, y) == pytest.approx((np.degrees(np.sin(7.99)), np.degrees(np.cos(7.99))))
    words = f"{x:.1f}&nbsp;°,&nbsp;{y:.1f}&nbsp;°/\u2060s</b>".replace("-", "\u2212")
    assert words in plot.names.text().replace("\u2007", ""), "the axes say of what, and no line break divides it"
    panel.show_cursor(2.0)
    panel.draw()
    (_, x, y) = plot.canvas.dots[0]
    assert (x, y) == pytest.approx((np.degrees(np.sin(2.0)), np.degrees(np.cos(2.0))))


def test_names_and_values_stay_in_their_lines_while_the_values_change(panel):
    circle(panel)
    widths, plot = set(), panel.phases.all[0]
    label = QLabel()
    for seconds in np.linspace(0.0, 7.0, 29):
        panel.show_cursor(seconds)
        panel.draw()
        label.setText(plot.names.text())
        widths.add(label.sizeHint().width())
    assert max(widths) - min(widths) <= 1


def test_a_robot_at_rest_has_a_range_around_its_values_and_the_wheel_zooms_both_axes(panel):
    pair = Pair(named(panel, "joint/joint1/position/"), named(panel, "joint/joint1/velocity/"))
    panel.plot_phases([pair])
    panel.add([Samples(0, panel.quantities, np.arange(0.0, 1.0, 0.01), np.full((100, len(panel.quantities)), 0.5))])
    panel.draw()
    (plot,) = panel.phases.all
    at = np.degrees(0.5)
    for low, high in (plot.canvas.time, plot.canvas.values):
        assert (low, high) == pytest.approx((0.95 * at, 1.05 * at))
    wheel(plot.canvas, 2)
    panel.draw()
    for low, high in (plot.canvas.time, plot.canvas.values):
        assert high - low == pytest.approx(0.1 * at / ZOOM**2)
    plot.canvas.live_asked.emit()
    panel.draw()
    assert plot.canvas.time == pytest.approx((0.95 * at, 1.05 * at))


def test_a_number_below_an_axis_is_within_the_plot(panel):
    metrics, area = panel.fontMetrics(), QRectF(0, 0, 300, 100)
    for x in (0.0, 150.0, 290.0, 300.0):
        place = label_place(metrics, area, x, 0, "0.000125")
        assert place.width() > metrics.horizontalAdvance("0.000125")
        assert place.left() >= 0
        assert place.right() <= area.right() + SPARE
        assert place.center().x() == pytest.approx(x) or place.left() == 0 or place.right() == area.right() + SPARE


def test_old_samples_are_paired_by_interpolation():
    time = np.arange(0.0, 10.0, 0.001)
    x, y = Series(2048), Series(2048)
    x.extend(time, np.sin(time))
    y.extend(time, np.sin(2 * time))
    assert not np.array_equal(x.time, y.time)
    at, xs, ys = common_samples(x, y, 0.0, 10.0, 10**6)
    assert len(at) > 1000
    assert np.all(np.diff(at) > 0)
    np.testing.assert_allclose(xs, np.sin(at), atol=0.02)
    np.testing.assert_allclose(ys, np.sin(2 * at), atol=0.02)
    some, *_ = common_samples(x, y, 2.0, 8.0, 100)
    assert len(some) <= 100
    assert some[-1] == at[at <= 8.0][-1]


def test_a_gap_of_either_stays_a_gap_and_nothing_gives_nothing():
    time = np.arange(0.0, 1.0, 0.1)
    x, y = Series(), Series()
    assert not len(common_samples(x, y, 0.0, 1.0, 100)[0])
    for line in (x, y):
        line.extend(time, time)
        line.interrupt()
        line.extend(time + 2, time)
    at, xs, _ = common_samples(x, y, 0.0, 3.0, 100)
    assert np.isnan(xs[(at > 0.9) & (at < 1.9)]).any()


def test_groups_plot_phases_by_unit_and_a_cross_removes_one(panel):
    entry = next(each for each in panel.group_menu.actions() if "Phase plot" in each.text())
    entry.trigger()
    (plot,) = panel.phases.all
    assert len(plot.pairs) == 7
    assert len(panel.quantities) == 14
    entry.trigger()
    assert len(panel.phases.all) == 1
    fill(panel)
    plot.names.linkActivated.emit("0")
    assert len(plot.pairs) == 6
    assert len(panel.quantities) == 12
    for _ in range(6):
        plot.names.linkActivated.emit("0")
    assert panel.phases.all == []
    assert panel.quantities == ()
    assert panel.welcome.isVisible()


def test_a_quantity_may_be_plotted_over_time_too(panel):
    pair = circle(panel)
    panel.plot(pair.x)
    assert panel.charts[0].quantities == [pair.x]
    assert len(panel.series[pair.x]) == 800
    panel.remove(pair.x)
    assert pair.x in panel.quantities
    assert len(panel.series[pair.x]) == 800


def test_a_plots_menu_plots_it_over_another(qtbot, opened):
    window = opened()
    window.features[PlotsView].action.trigger()
    panel = window.features[PlotsView].panel
    joint = window.workbench.robot.coordinates[0].name
    x, y = named(panel, f"joint/{joint}/position/"), named(panel, "robot//kinetic energy/")
    panel.plot(x)
    panel.plot(y)
    canvas = panel.charts[1].canvas
    wait(qtbot, lambda: panel.stack.childAt(canvas.mapTo(panel.stack, canvas.rect().center())) is canvas)
    menu = window.menus.context.at(panel.stack, canvas.mapTo(panel.stack, canvas.rect().center()))
    over_menu = next(each.menu() for each in menu.actions() if each.text() == "Plot &over")
    next(each for each in over_menu.actions() if each.text() == x.label).trigger()
    assert panel.phases.all[0].pairs == [Pair(x, y)]
    assert panel.phases.all[0].pairs[0].label == f"kinetic energy over {joint} position"


def test_phase_plots_are_kept_with_the_plots(panel):
    pair = circle(panel)
    keys = panel.layout_keys
    assert keys == [["over:", pair.x.key, pair.y.key]]
    panel.remove_all()
    assert panel.phases.all == []
    panel.set_plots([*keys, ["over:", pair.x.key, "joint/of another robot/velocity/"]])
    assert [plot.pairs for plot in panel.phases.all] == [[pair]]


def test_all_phase_plots_are_saved_in_the_order_of_the_joints(panel, tmp_path):
    panel.plot_phases()
    panel.saving.save_csv(str(tmp_path / "plots.csv"))
    head = (tmp_path / "plots.csv").read_text().splitlines()[0].split(",")
    pairs = [pair for plot in panel.phases.all for pair in plot.pairs]
    assert len(pairs) > 3
    assert [each.partition(" [")[0] for each in head[1:]] == [each.label for pair in pairs for each in pair]


def test_a_joint_at_rest_has_a_velocity_of_zero_beside_those_that_move(panel):
    pair = circle(panel)
    panel.add([Samples(0, panel.quantities, np.array([9.0]), np.array([[0.5, 1e-9]]))])
    panel.draw()
    assert ">\u200728.6&nbsp;°,&nbsp;\u2007\u20070.0&nbsp;" in panel.phases.all[0].names.text()
    assert pair.x in panel.series


def test_a_plot_that_is_added_below_the_others_is_scrolled_to(qtbot, panel):
    panel.resize(900, 300)
    panel.show()
    for kind in ("position", "velocity", "acceleration"):
        panel.plot_group("joint", (kind,))
    qtbot.waitUntil(lambda: _whole(panel, panel.charts[-1]))
    panel.plot_phases()
    qtbot.waitUntil(lambda: _whole(panel, panel.phases.all[-1]))
    assert not _whole(panel, panel.charts[0])


def _whole(panel, plot) -> bool:
    top, room = plot.mapTo(panel.area.viewport(), QPoint(0, 0)).y(), panel.area.viewport().height()
    return 0 <= top < top + plot.height() <= room


def test_phase_plots_are_saved_as_numbers_and_in_the_picture(panel, tmp_path):
    pair = circle(panel)
    panel.saving.save_csv(str(tmp_path / "plots.csv"))
    head = (tmp_path / "plots.csv").read_text().splitlines()[0]
    assert head.split(",") == ["time [s]", f"{pair.x.label} [rad]", f"{pair.y.label} [rad/s]"]
    with theme.palette(theme.LIGHT):
        color = theme.curve_color(0)
    alone = plot_saving.picture(panel).toImage()
    assert colored(alone, color) > 200
    panel.remove_all()
    panel.plot(pair.x)
    assert colored(plot_saving.picture(panel).toImage(), color) < 200
    panel.plot_phases([pair])
    both = plot_saving.picture(panel).toImage()
    plot = panel.phases.all[0]
    assert both.height() == 2 * (panel.charts[0].height() + panel.axis.height() + plot.height())


def test_names_of_several_lines_stand_in_columns(panel):
    panel.resize(760, 500)
    panel.show()
    panel.plot_phases()
    panel.plot_group("joint", ("velocity",))
    fill(panel)
    panel.draw()
    QApplication.processEvents()
    for plot, count in ((panel.phases.all[0], 7), (panel.charts[0], 7)):
        document = QTextDocument()
        document.setTextWidth(plot.names.width() - 16)
        document.setHtml(plot.names.text())
        marks = [k for k in range(document.characterCount()) if document.characterAt(k) == "━"]
        assert len(marks) == count
        places = []
        for at in marks:
            block = document.findBlock(at)
            corner = document.documentLayout().blockBoundingRect(block).topLeft()
            places.append(
                (round(corner.x() + block.layout().lineAt(0).cursorToX(at - block.position())[0]), corner.y())
            )
        columns, lines = ({place[k] for place in places} for k in (0, 1))
        assert 2 <= len(columns) < count
        assert len(lines) == -(-count // len(columns))


def test_the_time_axis_is_below_the_plots_over_time(panel):
    """A phase plot that is added last was between them and their axis, as if that were its own second one."""
    panel.resize(700, 420)
    panel.show()
    panel.plot_group("joint", ("velocity",))
    panel.plot_phases()
    panel.plot_group("robot", ("energy drift",))
    panel.plot_phases([Pair(named(panel, "robot//kinetic energy/"), named(panel, "joint/joint1/position/"))])
    fill(panel)
    QApplication.processEvents()
    heights = [each.mapTo(panel, QPoint()).y() for each in (*panel.phases.all, *panel.charts, panel.axis)]
    assert heights[:-1] == sorted(heights[:-1])
    assert not panel.phases.all[-1].visibleRegion().isEmpty(), "what was added is scrolled to"
