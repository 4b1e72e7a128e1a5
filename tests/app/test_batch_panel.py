"""The batch panel and its heat map: clicks and the resulting requests."""

import math

import numpy as np
import pytest
from PyQt6.QtCore import QEvent, QPoint, Qt
from PyQt6.QtGui import QHelpEvent
from PyQt6.QtTest import QTest
from PyQt6.QtWidgets import QApplication, QToolTip
from windows import wait

import engine
from app.desktop import theme
from app.features.batch_view import BatchView
from app.panels.batch import ALIKE, ONE, BatchPanel
from app.panels.heat_map import BAR, MIN_HEIGHT, SPACE, HeatMap
from app.picture.crowd import COLORINGS, ENERGY, ramp
from app.simulation.batch_spread import MAX_ROBOTS, BatchSpread

Key, Left = Qt.Key, Qt.MouseButton.LeftButton


@pytest.fixture
def panel(qtbot) -> BatchPanel:
    panel = BatchPanel()
    qtbot.addWidget(panel)
    panel.set_model(engine.load(engine.find_robot("arm7")))
    panel.resize(380, 560)
    panel.show()
    return panel


@pytest.fixture
def heat(qtbot) -> HeatMap:
    heat = HeatMap()
    qtbot.addWidget(heat)
    heat.resize(210, 200)
    heat.show()
    heat.show_values("energy", "J", np.arange(10.0), np.arange(10) == 7, 0)
    return heat


def center(heat: HeatMap, robot: int) -> QPoint:
    return heat.cell(robot).center().toPoint()


def test_a_click_on_a_cell_chooses_its_robot(qtbot, heat):
    for robot in (0, 3, 9):
        with qtbot.waitSignal(heat.chosen) as chosen:
            QTest.mouseClick(heat, Left, pos=center(heat, robot))
        assert chosen.args == [robot]
        assert heat.robot == robot
    with qtbot.assertNotEmitted(heat.chosen):
        QTest.mouseClick(heat, Left, pos=QPoint(heat.width() - 1, heat.height() - 1))  # beyond the last robot


def test_robots_that_a_script_made_different_are_not_called_alike(panel):
    same, none = np.ones(3), np.zeros(3, bool)
    for energy, deviation, alike in (
        (same, np.zeros(3), True),
        (same * (1 + 1e-14 * np.arange(3)), np.zeros(3), True),
        (same, np.array([0.0, 0.016, 0.0]), False),
        (np.arange(3.0), np.zeros(3), False),
    ):
        panel.show_state(energy, deviation, none, 0)
        assert (ALIKE in panel.count.text()) == alike


def test_cells_of_robots_that_are_alike_are_apart(heat):
    heat.show_values("energy", "J", np.full(9, 2.0), np.zeros(9, bool), 8)
    image, first, second = heat.grab().toImage(), heat.cell(0), heat.cell(1)
    row = round(first.center().y())
    colors = {image.pixelColor(x, row).name() for x in range(round(first.center().x()), round(second.center().x()))}
    assert len(colors) > 1
    assert image.pixelColor(first.center().toPoint()).name() == theme.COLORS["handle"]  # no colour of a scale
    heat.show_values("energy", "J", np.full(9, 2.0), np.arange(9) == 4, 8)
    center = heat.cell(4).topLeft().toPoint() + QPoint(3, 20)
    assert heat.grab().toImage().pixelColor(center).red() > 2 * heat.grab().toImage().pixelColor(center).green()


def test_arrow_keys_walk_from_cell_to_cell_and_stop_at_the_edge(heat):
    walked = []
    heat.chosen.connect(walked.append)
    for key in (
        Key.Key_Right,
        Key.Key_Down,
        Key.Key_Left,
        Key.Key_Up,
        Key.Key_Up,
        Key.Key_End,
        Key.Key_Right,
        Key.Key_Home,
    ):
        QTest.keyClick(heat, key)
    assert walked == [1, 5, 4, 0, 9, 0]


def test_a_cell_tells_its_number_under_the_mouse(heat):
    assert heat.text(3) == "robot 3: energy 3 J"
    assert heat.text(7) == "robot 7: diverged, and frozen"
    QTest.mouseMove(heat, center(heat, 4))
    at = center(heat, 4)
    QApplication.sendEvent(heat, QHelpEvent(QEvent.Type.ToolTip, at, heat.mapToGlobal(at)))
    assert QToolTip.text() == "robot 4: energy 4 J"


def test_cells_have_the_colours_of_their_numbers(heat):
    image = heat.grab().toImage()
    colors = [image.pixelColor(center(heat, robot)) for robot in range(10)]
    lightness = [c.redF() * 0.21 + c.greenF() * 0.72 + c.blueF() * 0.07 for c in colors]
    assert lightness[1] < lightness[5] < lightness[9]
    corner = heat.cell(7).topLeft().toPoint() + QPoint(3, 20)
    red = image.pixelColor(corner)
    assert red.red() > 2 * red.green()


def test_the_panel_asks_once_the_user_has_finished(qtbot, panel):
    requests = []
    panel.requested.connect(requests.append)
    panel.robots.setFocus()
    panel.robots.selectAll()
    QTest.keyClicks(panel.robots, "64")
    panel.pose.selectAll()
    QTest.keyClicks(panel.pose, "22.5")
    panel.mass.setValue(10)
    QTest.mouseClick(panel.again, Left)
    qtbot.waitUntil(lambda: bool(requests))
    assert requests == [BatchSpread(64, math.pi / 8, 0.1, 0.0, 1)]
    assert 2 ** (panel.slider.value() / 12) == pytest.approx(64, rel=0.03)


def test_the_slider_reaches_every_size_and_moves_by_keys(panel):
    for key, robots in ((Key.Key_End, MAX_ROBOTS), (Key.Key_Home, 1)):
        QTest.keyClick(panel.slider, key)
        assert panel.robots.value() == robots


def test_it_counts_who_diverged_and_has_a_scale(panel):
    panel.coloring.setCurrentText(ENERGY)
    panel.show_state(np.array([1.0, 5.0, 3.0]), np.zeros(3), np.array([False, False, True]), 1)
    assert panel.count.text() == "robot 1: energy 5 J · 1 of 3 diverged"
    assert (panel.map.low, panel.map.high, panel.map.text(1)) == (1, 5, "robot 1: energy 5 J")
    panel.map.resize(200, 220)
    image, y = panel.map.grab().toImage(), panel.map._above + SPACE + BAR // 2
    for x, share in ((1, 0.0), (100, 0.5), (198, 1.0)):
        seen = np.array(image.pixelColor(x, y).getRgb()[:3])
        np.testing.assert_allclose(seen, 255 * ramp(share), atol=9)
    assert panel.map.minimumSizeHint().height() <= panel.map.minimumHeight() == MIN_HEIGHT


def test_one_robot_has_no_map(qtbot, panel):
    with qtbot.waitActive(panel):
        panel.activateWindow()
    for count, seen in ((1, False), (3, True), (1, False)):
        panel.show_state(np.ones(count), np.zeros(count), np.zeros(count, bool), 0)
        assert (panel.map.isVisible(), panel.count.isVisible()) == (seen, seen)
        panel.map.setFocus()
    assert panel.slider.hasFocus()  # which the map had, and nothing beyond the panel


def test_it_says_how_many_robots_draw_smoothly(panel):
    panel.show_drawing(64, 0.020)
    assert panel.note.text() == "A frame of 64 robots is drawn in 20 ms; drawing is smooth up to about 170 robots"
    panel.show_drawing(1000, 0.4)
    assert "smooth up to about 133 robots" in panel.note.text()
    panel.show_drawing(16, 0.6)
    assert panel.note.text().endswith("is drawn in 600 ms; even one robot moves in jerks here")


def test_it_says_how_many_robots_are_simulated_in_time(panel):
    panel.show_drawing(999, 0.04, 0.21)
    assert panel.note.text() == (
        "A frame of 999 robots is drawn in 40 ms; drawing is smooth up to about 1332 robots. "
        "They are simulated at 21 % of the requested speed, which about 167 would reach"
    )
    panel.show_drawing(999, 0.04, 0.99)
    assert "simulated" not in panel.note.text()


def test_a_batch_that_lags_behind_says_so_while_it_plays(qtbot, arm):
    """Slower than requested: a batch of that size does not reach 10 times real time."""
    panel, bench = arm.feature(BatchView).panel, arm.workbench
    arm.docks.show_in_front("Batch")
    bench.set_speed(10.0)
    bench.configuring.set_spread(BatchSpread(1000, 0.1))
    arm.run.play.trigger()
    wait(qtbot, lambda: "1000 robots is drawn" in panel.note.text() and " % of the requested" in panel.note.text())
    arm.run.play.trigger()
    wait(qtbot, lambda: not bench.robot.playing)
    bench.joints.set_coordinate(0, 0.3)
    wait(qtbot, lambda: "requested" not in panel.note.text())


def test_it_says_that_copies_without_deviations_are_alike(panel):
    for pose, message in ((0.0, f"robot 2: deviation 0 m · {ALIKE}"), (20, "robot 2: deviation 0 m")):
        panel.pose.setValue(pose)
        panel.show_state(np.ones(3), np.zeros(3), np.zeros(3, bool), 2)
        assert panel.count.text() == message


def test_it_never_tells_of_another_number_of_robots_than_there_are(panel):
    panel.show_drawing(1, 0.02)
    assert panel.note.text() == ONE
    panel.show_state(np.ones(3), np.zeros(3), np.zeros(3, bool), 0)
    assert panel.note.text() == "3 robots"
    panel.show_drawing(3, 0.02)
    message = panel.note.text()
    panel.show_state(np.ones(3), np.zeros(3), np.zeros(3, bool), 0)
    assert panel.note.text() == message


def test_every_control_is_named_and_can_be_reached_by_keys(panel):
    controls = (panel.robots, panel.pose, panel.mass, panel.friction, panel.seed, panel.again, panel.arrangement)
    for control in (*controls, panel.coloring, panel.map):
        assert control.toolTip()
        assert control.accessibleName()
        assert control.focusPolicy() & Qt.FocusPolicy.TabFocus
    assert [panel.coloring.itemText(k) for k in range(3)] == list(COLORINGS)


def test_a_robot_without_friction_says_so(panel):
    panel.set_model(engine.load(engine.find_robot("double_pendulum")))
    assert not panel.friction.isEnabled()
    assert "neither friction nor damping" in panel.friction.toolTip()
    panel.set_model(engine.load(engine.find_robot("arm7")))
    assert panel.friction.isEnabled()
    assert "percent" in panel.friction.toolTip()


def test_poses_differ_by_mm_where_all_joints_slide(opened, tmp_path):
    path = tmp_path / "gantry.urdf"
    text = engine.find_robot("double_pendulum").read_text("utf-8")
    path.write_text(
        text.replace('type="revolute"', 'type="prismatic"').replace('type="continuous"', 'type="prismatic"')
    )
    panel = opened(engine.find_robot("double_pendulum")).features[BatchView].panel
    assert panel.pose.suffix() == " °"
    panel = opened(path).features[BatchView].panel
    assert panel.pose.suffix() == " mm"
    panel.pose.setValue(12.5)
    assert panel.spread.pose == pytest.approx(0.0125)
