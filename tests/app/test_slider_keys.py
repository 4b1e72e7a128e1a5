"""Keys on a joint's slider that has the focus, and the window's shortcuts beside them."""

import math

import pytest
from PyQt6.QtCore import QPoint, Qt
from PyQt6.QtWidgets import QApplication
from windows import slider_position, wait

import engine
from app.features.batch_view import BatchView
from app.features.drive_view import DriveView
from app.panels.joint_table import NAME, SLIDER, VALUE

KEY, LEFT = Qt.Key, Qt.MouseButton.LeftButton
DEGREE = math.pi / 180


def focus(qtbot, window, row: int) -> None:
    """Click a slider at its value."""
    table = window.joints
    at = slider_position(table, row, table.table.rows[row].value(table.table.q))
    qtbot.mouseClick(table.viewport(), LEFT, pos=QPoint(round(at.x()), round(at.y())))
    wait(qtbot, table.hasFocus)


def press(qtbot, *keys: Qt.Key) -> None:
    for key in keys:
        qtbot.keyClick(QApplication.focusWidget(), key)


def test_keys_move_the_slider_and_the_fields_follow(qtbot, arm):
    bench, table = arm.workbench, arm.joints
    form = arm.features[DriveView]
    form.choose(1)
    bench.joints.set_coordinate(1, 0.2)
    wait(qtbot, lambda: abs(bench.robot.newest.q[1] - 0.2) < 1e-12)
    focus(qtbot, arm, 1)
    bench.joints.set_coordinate(1, 0.2)  # a click is a pixel off
    wait(qtbot, lambda: bench.robot.newest.q[1] == 0.2)
    press(qtbot, KEY.Key_Right, KEY.Key_Right, KEY.Key_Left, KEY.Key_Right)
    wait(qtbot, lambda: bench.robot.newest.q[1] == pytest.approx(0.2 + 2 * DEGREE))
    press(qtbot, KEY.Key_PageUp, KEY.Key_PageUp, KEY.Key_PageDown)
    wait(qtbot, lambda: bench.robot.newest.q[1] == pytest.approx(0.2 + 12 * DEGREE))
    assert bench.robot.time == 0, "the key of Step was kept"
    degrees = (0.2 + 12 * DEGREE) / DEGREE
    assert table.table.index(1, VALUE).data() == f"{degrees:.1f} °"
    wait(qtbot, lambda: form.form.value.value() == pytest.approx(degrees, abs=0.01))
    for _ in range(40):
        press(qtbot, KEY.Key_PageUp)
    wait(qtbot, lambda: bench.robot.newest.q[1] == pytest.approx(bench.robot.model.upper[1]))
    assert bench.robot.newest.q[0] == 0


def test_home_and_end_move_the_slider_to_its_ends(qtbot, arm):
    bench = arm.workbench
    arm.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.05)
    focus(qtbot, arm, 3)
    lower, upper = bench.robot.model.lower[3], bench.robot.model.upper[3]
    press(qtbot, KEY.Key_End)
    wait(qtbot, lambda: bench.robot.newest.target[3] == upper)
    press(qtbot, KEY.Key_Home)
    wait(qtbot, lambda: bench.robot.newest.target[3] == lower)
    assert bench.robot.playing
    arm.run.play.trigger()
    press(qtbot, KEY.Key_End)
    wait(qtbot, lambda: bench.robot.newest.q[3] == upper)
    assert not bench.replay.active


def test_the_other_sliders_and_the_heat_map_keep_their_keys_too(qtbot, arm):
    replay, slider, panel = arm.workbench.replay, arm.speed.slider, arm.features[BatchView].panel
    arm.run.play.trigger()
    wait(qtbot, lambda: arm.workbench.robot.time > 0.05)
    arm.run.play.trigger()
    qtbot.keyClick(arm, KEY.Key_B)
    panel.robots.setValue(4)
    wait(qtbot, lambda: len(panel.map.values) == 4 and panel.map.isVisible())
    slider.setFocus()
    for key, value in ((KEY.Key_Home, -100), (KEY.Key_Right, -99), (KEY.Key_Left, -100), (KEY.Key_End, 100)):
        press(qtbot, key)
        assert slider.value() == value
    panel.map.setFocus()
    for key, robot in ((KEY.Key_End, 3), (KEY.Key_Left, 2), (KEY.Key_Home, 0)):
        press(qtbot, key)
        assert panel.map.robot == robot
    assert not replay.active


def test_while_it_plays_the_keys_move_the_setpoint(qtbot, arm):
    bench = arm.workbench
    arm.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.05)
    focus(qtbot, arm, 3)
    bench.joints.set_drive(3, -0.5)
    wait(qtbot, lambda: bench.robot.newest.target[3] == -0.5)
    press(qtbot, KEY.Key_Right, KEY.Key_Right, KEY.Key_Right)
    wait(qtbot, lambda: bench.robot.newest.target[3] == pytest.approx(-0.5 + 3 * DEGREE))
    assert bench.robot.playing


def test_tab_reaches_the_sliders_and_up_and_down_select_one(qtbot, arm):
    bench, table = arm.workbench, arm.joints
    table.setFocus(Qt.FocusReason.TabFocusReason)
    press(qtbot, KEY.Key_Down, KEY.Key_Down, KEY.Key_Left)
    assert (table.currentIndex().row(), table.currentIndex().column()) == (2, SLIDER)
    wait(qtbot, lambda: bench.robot.newest.q[2] == pytest.approx(-DEGREE))
    assert bench.robot.newest.q[0] == 0


def test_elsewhere_the_keys_are_the_windows(qtbot, arm):
    bench, table = arm.workbench, arm.joints
    table.setFocus()
    table.setCurrentIndex(table.table.index(1, NAME))
    press(qtbot, KEY.Key_Right)
    wait(qtbot, lambda: bench.robot.newest.time == pytest.approx(bench.robot.settings.dt))
    focus(qtbot, arm, 1)
    before = bench.robot.newest.q.copy()
    qtbot.keyClick(table, KEY.Key_Left, Qt.KeyboardModifier.ShiftModifier)  # Back
    wait(qtbot, lambda: bench.replay.active)
    frame = bench.replay.frame.time
    press(qtbot, KEY.Key_Right)
    wait(qtbot, lambda: not bench.replay.active or bench.replay.frame.time > frame)
    assert bench.robot.newest.q[1] == pytest.approx(before[1], abs=1e-3)


def test_a_step_is_a_millimetre_of_a_place(qtbot, opened):
    window = opened(engine.find_robot("quadruped"))
    bench = window.workbench
    wait(qtbot, lambda: bench.robot.newest is not None)
    focus(qtbot, window, 0)
    bench.joints.set_coordinate(0, 0.1)
    wait(qtbot, lambda: bench.robot.newest.q[0] == 0.1)
    press(qtbot, KEY.Key_Right, KEY.Key_PageUp)
    wait(qtbot, lambda: bench.robot.newest.q[0] == pytest.approx(0.111))
