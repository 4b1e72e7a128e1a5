"""Plots as a user creates them: clicks and the resulting display."""

import csv
import math
import re

import numpy as np
import pytest
from plotted import colored, fill, make_panel, tick, wheel
from PyQt6.QtCore import QPoint, QPointF, Qt
from PyQt6.QtGui import QImage
from PyQt6.QtTest import QTest
from windows import frames_of, name_file, wait

import engine
from app.desktop import theme
from app.features.plots_view import PlotsView
from app.panels.axes import ticks
from app.panels.chart import STYLES
from app.panels.plots import EACH, MAX_CURVES, PlotsPanel
from app.plotting.catalogue import catalogue
from app.plotting.probe import Samples

Key, Left = Qt.Key, Qt.MouseButton.LeftButton


def panel_of(window) -> PlotsPanel:
    return window.features[PlotsView].panel


def count(panel):
    return min((len(line) for line in panel.series.values()), default=0)


@pytest.fixture
def panel(qtbot) -> PlotsPanel:
    return make_panel(qtbot)


def test_from_a_key_to_curves_of_a_run_that_a_reset_clears(qtbot, arm):
    panel = panel_of(arm)
    assert not panel.isVisible()
    qtbot.keyClick(arm, Key.Key_P)
    assert panel.isVisible()
    tick(panel, "joint2 velocity")
    tick(panel, "total energy")
    assert [each.label for each in panel.quantities] == ["joint2 velocity", "total energy"]
    assert [chart.unit.si for chart in panel.charts] == ["rad/s", "J"]
    arm.run.hold.trigger()
    arm.run.play.trigger()
    wait(qtbot, lambda: count(panel) > 200)
    arm.run.play.trigger()
    wait(qtbot, lambda: not arm.workbench.probe.waits)
    velocity, energy = panel.series.values()
    assert np.abs(velocity.value).max() > 0.1
    assert np.all(np.diff(energy.time) > 0)
    assert energy.value[0] == pytest.approx(sum(engine.energy(arm.workbench.robot.model, np.zeros(7), np.zeros(7))))
    panel.draw()
    for chart in panel.charts:
        (quantity,) = chart.quantities
        assert colored(chart.canvas.grab().toImage(), chart.tint(quantity)) > 40
    arm.run.reset.trigger()
    wait(qtbot, lambda: count(panel) == 1)
    assert energy.time.tolist() == [0.0]


def test_closed_nothing_is_sampled_and_open_again_the_recording_fills_the_gap(qtbot, opened):
    window = opened()
    panel = panel_of(window)
    qtbot.keyClick(window, Key.Key_P)
    tick(panel, "total energy")
    window.run.play.trigger()
    wait(qtbot, lambda: count(panel) > 20)
    qtbot.keyClick(window, Key.Key_P)
    assert not panel.isVisible()
    wait(qtbot, lambda: not window.workbench.probe.quantities)
    time = window.workbench.robot.time
    wait(qtbot, lambda: window.workbench.robot.time > time)  # the frame with those that were on their way
    before, time = count(panel), window.workbench.robot.time
    wait(qtbot, lambda: window.workbench.robot.time > time + 0.1)
    assert count(panel) == before
    qtbot.keyClick(window, Key.Key_P)
    wait(qtbot, lambda: count(panel) > before + 60)
    wait(qtbot, lambda: not np.isnan(next(iter(panel.series.values())).value).any())
    (line,), replay = panel.series.values(), window.workbench.replay
    frames = [frame.time for frame in frames_of(replay.recording, replay.newest)]
    assert np.diff(line.time).max() <= np.diff(frames).max() + 1e-9, "a frame's distance"


def test_a_quantity_ticked_late_has_the_curve_of_the_whole_run(qtbot, arm):
    panel, bench = panel_of(arm), arm.workbench
    bench.joints.set_held(False)
    arm.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.5)
    arm.run.play.trigger()
    qtbot.keyClick(arm, Key.Key_P)
    tick(panel, "joint2 velocity")
    wait(qtbot, lambda: count(panel) > 15)
    (line,) = panel.series.values()
    assert line.time[0] == 0
    assert line.time[-1] > 0.45
    assert np.abs(line.value).max() > 0.1
    assert not bench.replay.active, "nobody scrubbed"
    arm.run.play.trigger()
    before = line.time[-1]
    wait(qtbot, lambda: next(iter(panel.series.values())).time[-1] > before + 0.1)


def test_fit_shows_all_times_and_values(panel):
    tick(panel, "joint1 velocity")
    fill(panel)
    (chart,) = panel.charts
    wheel(chart.canvas, 5)
    assert np.diff(chart.canvas.time)[0] < 5
    QTest.mouseClick(panel.fit, Left)
    panel.draw()
    assert chart.canvas.time == pytest.approx((0, 19.99), abs=0.02)
    assert panel.span.currentText() == "whole run"


def test_a_long_chain_sends_a_number_for_each_curve(qtbot, window):
    window.workbench.open(engine.chain(1000))
    wait(qtbot, lambda: window.workbench.robot.model is not None)
    panel = panel_of(window)
    qtbot.keyClick(window, Key.Key_P)
    assert len(panel.list.model.quantities) > 15_000
    shapes, add = [], panel.add

    def look(blocks):
        shapes.extend(block.values.shape for block in blocks)
        add(blocks)

    panel.add = look
    tick(panel, "joint500 position")
    wait(qtbot, lambda: count(panel) == 1)
    assert shapes == [(1, 1)]


def test_a_plot_has_one_unit_and_the_pressed_one_takes_the_next(panel):
    for text in ("joint1 velocity", "joint2 torque", "joint3 velocity"):
        tick(panel, text)
    assert [[each.label for each in chart.quantities] for chart in panel.charts] == [
        ["joint1 velocity", "joint3 velocity"], ["joint2 torque"],
    ]  # fmt: skip
    QTest.mouseClick(panel.add_plot, Left)
    tick(panel, "joint4 velocity")
    assert [len(chart.quantities) for chart in panel.charts] == [2, 1, 1]
    QTest.mouseClick(panel.charts[0].canvas, Left)
    tick(panel, "joint5 velocity")
    assert [len(chart.quantities) for chart in panel.charts] == [3, 1, 1]
    panel.charts[1].names.linkActivated.emit("0")
    assert [len(chart.quantities) for chart in panel.charts] == [3, 1]
    QTest.mouseClick(panel.clear_all, Left)
    assert not panel.charts
    assert panel.welcome.isVisible()


def test_groups_plot_what_there_is_of_a_kind(qtbot, panel):
    actions = {action.text().replace("&", ""): action for action in panel.group_menu.actions()}
    actions["Joint velocities"].trigger()
    assert len(panel.quantities) == 7
    actions["Energies"].trigger()
    assert len(panel.charts) == 2
    panel.remove_all()
    snake = engine.load(engine.find_robot("snake50"))
    panel.set_quantities(catalogue(snake))
    with qtbot.waitSignal(panel.message) as reported:
        actions["Torques and forces"].trigger()
    assert f"{EACH} of " in reported.args[0]
    assert len(panel.quantities) == EACH
    panel.set_quantities(catalogue(engine.chain(11)))
    with qtbot.waitSignal(panel.message) as reported:
        actions["Joint positions"].trigger()
    assert reported.args[0] == f"{EACH} of 11 are plotted; choose the group again for more of them"
    with qtbot.assertNotEmitted(panel.message):
        actions["Joint positions"].trigger()
    assert len(panel.quantities) == 11
    panel.set_quantities(catalogue(engine.chain(2)))
    with qtbot.waitSignal(panel.message) as reported:
        actions["Contact force"].trigger()
    assert reported.args[0] == "this robot has no contact force to plot"


def test_there_are_only_so_many_curves_and_their_styles_differ(qtbot, panel):
    panel.set_quantities(catalogue(engine.load(engine.find_robot("snake50"))))
    positions = [each for each in panel.list.model.quantities if each.kind == "position" and each.subject == "joint"]
    angles = [each for each in positions if each.unit.si == "rad"]
    for quantity in angles[: min(STYLES, MAX_CURVES)]:
        panel.plot(quantity)
    (chart,) = panel.charts
    assert len({(chart.tint(each), chart.dash(each)) for each in chart.quantities}) == min(STYLES, MAX_CURVES)
    for quantity in angles[:MAX_CURVES]:
        panel.plot(quantity)
    with qtbot.waitSignal(panel.message) as reported:
        panel.plot(angles[MAX_CURVES])
    assert "remove one first" in reported.args[0]
    assert len(panel.quantities) == MAX_CURVES


def test_the_wheel_and_keys_zoom_all_plots_and_live_returns(panel):
    tick(panel, "joint1 velocity")
    tick(panel, "joint2 torque")
    fill(panel)
    first, second = (chart.canvas for chart in panel.charts)
    assert first.time == second.time == pytest.approx((9.99, 19.99))
    wheel(first, 2)
    start, end = first.time
    assert end - start == pytest.approx(10 / 1.25**2)
    assert second.time == first.time
    assert not panel.follow.isChecked()
    fill(panel, 30.0)
    assert first.time == (start, end)  # it stays where the user looks
    QTest.keyClick(second, Key.Key_PageDown)
    assert first.time[0] == pytest.approx(start + 0.1 * (end - start))
    QTest.keyClick(second, Key.Key_Minus)
    assert np.diff(first.time)[0] == pytest.approx(1.25 * (end - start))
    QTest.keyClick(first, Key.Key_0)
    assert panel.follow.isChecked()
    panel.draw()
    assert first.time == second.time == pytest.approx((19.99, 29.99))


def test_values_fit_until_they_are_zoomed(panel):
    tick(panel, "joint1 velocity")
    fill(panel)
    (chart,) = panel.charts
    low, high = chart.canvas.values
    scale = 180 / math.pi
    assert -1.2 * scale < low < -0.99 * scale
    assert 0.99 * scale < high < 1.2 * scale
    wheel(chart.canvas, 3, Qt.KeyboardModifier.ControlModifier)
    zoomed = chart.canvas.values
    assert zoomed[1] - zoomed[0] < 0.6 * (high - low)
    panel.draw()
    assert chart.canvas.values == zoomed
    assert panel.follow.isChecked()
    QTest.mouseClick(panel.fit, Left)
    panel.draw()
    assert chart.canvas.values == pytest.approx((low, high), rel=1e-4)


def test_a_drag_moves_time_and_with_shift_frames_what_to_see(panel):
    tick(panel, "joint1 velocity")
    fill(panel)
    (chart,) = panel.charts
    canvas, area = chart.canvas, chart.canvas.area
    middle = area.center().toPoint()
    start, end = canvas.time
    QTest.mousePress(canvas, Left, pos=middle)
    QTest.mouseMove(canvas, middle + QPoint(int(area.width() / 4), 0))
    QTest.mouseRelease(canvas, Left, pos=middle + QPoint(int(area.width() / 4), 0))
    assert canvas.time[0] == pytest.approx(start - (end - start) / 4, abs=0.05)
    shift = Qt.KeyboardModifier.ShiftModifier
    wanted = canvas.time_at(middle.x()), canvas.time_at(middle.x() + 80)
    QTest.mousePress(canvas, Left, shift, middle)
    QTest.mouseMove(canvas, middle + QPoint(80, 30))
    QTest.mouseRelease(canvas, Left, shift, middle + QPoint(80, 30))
    assert canvas.time == pytest.approx(wanted, abs=1e-6)
    assert not chart.fits
    QTest.mouseDClick(canvas, Left, pos=middle)
    assert chart.fits
    assert panel.follow.isChecked()


def test_the_mouse_reads_all_plots_at_its_time(qtbot, panel):
    tick(panel, "joint1 velocity")
    tick(panel, "joint2 torque")
    fill(panel)
    first, second = panel.charts
    time = 14.0
    place = QPoint(round(float(first.canvas.x_of(time))), round(float(first.canvas.y_of(math.degrees(math.sin(time))))))
    QTest.mouseMove(first.canvas, place - QPoint(3, 3))
    QTest.mouseMove(first.canvas, place)
    qtbot.waitUntil(lambda: abs(first.canvas.pointer - time) <= 0.02)
    panel.draw()
    at = first.canvas.pointer
    assert second.canvas.pointer == at
    assert f"{math.degrees(math.sin(at)):.0f}&nbsp;°/\u2060s" in first.names.text()
    assert "N&nbsp;m" in second.names.text()
    curve, k = first.canvas.near(QPointF(place))
    assert curve.name == "joint1 velocity"
    assert curve.time[k] == pytest.approx(time, abs=0.05)
    assert first.canvas.near(QPointF(place) + QPointF(0, 80)) is None
    first.canvas.forget_mouse()
    panel.draw()
    assert math.isnan(second.canvas.pointer)


def test_the_windows_own_moment_is_marked(panel):
    tick(panel, "joint1 velocity")
    fill(panel)
    (chart,) = panel.charts
    before = colored(chart.canvas.grab().toImage(), theme.COLORS["accent"])
    panel.show_cursor(13.0)
    panel.draw()
    marked = colored(chart.canvas.grab().toImage(), theme.COLORS["accent"])
    assert marked > before + chart.canvas.area.height() / 2
    assert f"{math.degrees(math.sin(13.0)):.0f}&nbsp;°/\u2060s" in chart.names.text()
    panel.show_cursor(math.nan)
    panel.draw()
    assert colored(chart.canvas.grab().toImage(), theme.COLORS["accent"]) == before


def test_numbers_and_picture_are_saved(qtbot, panel, tmp_path, monkeypatch):
    for text in ("joint1 position", "joint2 torque", "energy drift"):
        tick(panel, text)
    fill(panel, 1.0)
    numbers, _, picture, *drawings = panel.save.menu().actions()
    name_file(monkeypatch, tmp_path / "run")
    with qtbot.waitSignal(panel.message) as reported:
        numbers.trigger()
    assert reported.args[0] == f"Saved {tmp_path / 'run.csv'}"
    rows = list(csv.reader((tmp_path / "run.csv").read_text().splitlines()))
    assert rows[0] == ["time [s]", "joint1 position [rad]", "joint2 torque [N m]", "energy drift [J]"]
    table = np.array(rows[1:], float)
    np.testing.assert_array_equal(table[:, 0], np.arange(0.0, 1.0, 0.01))
    np.testing.assert_array_equal(table[:, 1], np.sin(table[:, 0]))
    picture.trigger()
    image = QImage(str(tmp_path / "run.png"))
    charts = sum(chart.height() for chart in panel.charts)
    assert (image.width(), image.height()) == (2 * panel.axis.width(), 2 * (charts + panel.axis.height()))
    with theme.palette(theme.LIGHT):  # whatever the window has
        curve = theme.curve_color(0)
    assert theme.is_dark()
    assert image.pixelColor(2, 2).name() == theme.LIGHT["ground"]
    assert colored(image.copy(0, 2 * charts, image.width(), 30), theme.LIGHT["faint"]) > 20
    assert colored(image, curve) > 200
    dark = [
        all(image.pixelColor(x, y).value() < 100 for x in range(0, image.width(), 9)) for y in range(image.height())
    ]
    assert not any(dark), "no splitters"
    for drawing in drawings:
        drawing.trigger()
    lines, page = (tmp_path / "run.svg").read_text(), (tmp_path / "run.pdf").read_bytes()
    assert f'viewBox="0 0 {image.width() // 2} {image.height() // 2}"' in lines
    assert curve in lines
    assert "joint1" in lines
    assert "<image" not in lines
    assert page.startswith(b"%PDF")
    assert b"/Subtype /Image" not in page
    assert not list(tmp_path.glob(".*"))
    name_file(monkeypatch, tmp_path / "nowhere" / "x.csv")
    with qtbot.waitSignal(panel.message) as reported:
        numbers.trigger()
    assert "was not written" in reported.args[0]


@pytest.mark.parametrize("seconds", [4.0, 25.0])
def test_a_saved_drawing_has_the_whole_curves_unless_the_user_has_zoomed(panel, tmp_path, monkeypatch, seconds):
    """Whatever the window of the last seconds is, which left half of the sheet empty, or cut the curve."""
    tick(panel, "joint1 position")
    fill(panel, seconds)
    (chart,) = panel.charts
    *_, svg, _ = panel.save.menu().actions()

    def saved() -> list[float]:
        name_file(monkeypatch, tmp_path / "run.svg")
        svg.trigger()
        texts = re.findall(r">([^<>]+)</text>", (tmp_path / "run.svg").read_text())
        return [float(each.split()[0]) for each in texts if re.fullmatch(r"[\d.]+ s", each)]

    panel.draw()
    shown = panel.visible
    assert shown == (0.0, 10.0) if seconds < 10 else shown[1] - shown[0] == 10.0
    assert seconds - 2 * seconds / 5 < max(saved()) <= seconds
    assert min(saved()) == 0.0
    assert panel.visible == chart.canvas.time == shown
    chart.canvas.time = (1.0, 3.0)
    chart.canvas.zoomed.emit(0)
    assert (min(saved()), max(saved())) == (1.0, 3.0)
    panel.follow.click()
    assert min(saved()) == 0.0


def test_the_numbers_of_each_step_are_those_of_the_run_simulated_again(qtbot, arm, tmp_path, monkeypatch):
    panel, bench, bar = panel_of(arm), arm.workbench, arm.statusBar()
    name_file(monkeypatch, tmp_path / "steps")
    save = next(each for each in panel.save.menu().actions() if "each step" in each.text())
    qtbot.keyClick(arm, Key.Key_P)
    save.trigger()
    assert bar.currentMessage().startswith("nothing was written: ")
    tick(panel, "joint2 velocity")
    arm.run.hold.trigger()
    arm.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.3)
    arm.run.play.trigger()
    wait(qtbot, lambda: not bench.probe.waits)
    save.trigger()
    wait(qtbot, lambda: "steps written to steps.csv" in bar.currentMessage())
    rows = np.array(list(csv.reader((tmp_path / "steps.csv").read_text().splitlines()))[1:], float)
    dt, (run,) = bench.robot.settings.dt, bench.replay.runs
    np.testing.assert_allclose(np.diff(rows[:, 0]), dt)
    for k in range(run.first, run.last + 1):
        frame = bench.replay.recording.frame(run, k)
        assert rows[round(frame.time / dt), 1] == pytest.approx(frame.checkpoint.v[0, 1], abs=1e-12)


def test_ticks_are_round_and_few(rng):
    assert ticks(0.0, 10.0, 5) == [0, 2, 4, 6, 8, 10]
    assert ticks(-0.13, 0.21, 4) == pytest.approx([-0.1, 0, 0.1, 0.2])
    assert ticks(-16.4, -8.2, 3, whole=True) == [-15, -10]
    assert ticks(-1.4, 1.2, 2) == [-1, 1]
    assert ticks(-45.0, 41.0, 2) == [-40, 40]
    for low, high in zip(*np.sort(rng.normal(size=(2, 200)) * 10 ** rng.uniform(-4, 4, 200), axis=0), strict=True):
        found = ticks(low, high, 2)
        assert 2 <= len(found) <= 3
        assert low * (1 + 1e-6 * np.sign(-low)) <= found[0] < found[-1] <= high * (1 + 1e-6 * np.sign(high))
    assert ticks(1.0, 1.0, 4) == ticks(math.nan, 1.0, 4) == []
    for low, high in ((3.0, 3.0001), (-2e9, 5e8), (1e-9, 4e-9)):
        assert 1 <= len(ticks(low, high, 6)) <= 7


def test_every_control_is_named_and_can_be_reached_by_keys(panel):
    tick(panel, "total energy")
    for control in (panel.groups, panel.add_plot, panel.span, panel.follow, panel.fit, panel.save, panel.clear_all):
        assert control.toolTip()
        assert control.focusPolicy() & Qt.FocusPolicy.TabFocus
    assert panel.charts[0].canvas.focusPolicy() & Qt.FocusPolicy.TabFocus


def test_zero_has_no_prefix(panel):
    tick(panel, "joint2 torque")
    panel.add([Samples(0, panel.quantities, np.arange(3.0), np.zeros((3, 1)))])
    panel.draw()
    (chart,) = panel.charts
    assert chart.canvas.values == (-1.0, 1.0)
    assert chart.canvas.wording(0.0) == "0.00 N m"
