"""Drives of single joints: the form in the Joints dock, and the simulation."""

import math
from dataclasses import replace

import numpy as np
import pytest
from PyQt6.QtCore import QPoint, Qt
from PyQt6.QtWidgets import QApplication
from windows import case, in_simulation, press, type_in, wait

import engine
from app.acting.drives import Drive
from app.features.drive_view import DriveView
from app.features.undo_view import UndoView
from app.panels.joints import DRIVE, EFFORT, NAME, VALUE, VELOCITY, WIDE
from app.recording.run_files import describe, understand
from app.simulation.messages import LimitsReached, Settings

LEFT = Qt.MouseButton.LeftButton


def choose(qtbot, window, row: int):
    """Click a joint's name; return the form that opens."""
    table = window.joints
    qtbot.mouseClick(table.viewport(), LEFT, pos=table.visualRect(table.table.index(row, NAME)).center())
    form = window.features[DriveView].form
    wait(qtbot, form.isVisible)
    return form


def pick(box, text: str) -> None:
    """Choose an entry as a user does."""
    box.setCurrentIndex(box.findData(text))
    box.activated.emit(box.currentIndex())


def simulation(window) -> engine.Simulation:
    return in_simulation(window.workbench, lambda running: running.simulation)


def test_tab_goes_from_the_table_through_the_form_at_its_row(qtbot, arm):
    form = choose(qtbot, arm, 2)
    arm.joints.setFocus()
    came = []
    for _ in form.controls:
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        came.append(QApplication.focusWidget())
    seen = [each for each in form.controls if each.isVisible() and each.isEnabled()]
    assert came[: len(seen)] == seen
    assert form.mode in seen


def test_a_click_on_a_name_drives_nothing(qtbot, opened):
    window = opened(engine.find_robot("arm7"))
    bench, stack = window.workbench, window.features[UndoView].stack
    for row in (2, 3):
        window.joints.moved.emit(row, 0.3)
    wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.target[3] == 0.3)
    done = stack.count()
    assert choose(qtbot, window, 2).value.value() == pytest.approx(math.degrees(0.3), abs=0.006)
    assert (stack.count(), bench.robot.drive_of(2).value) == (done, 0.3), "the form had another range of periods"
    bench.joints.set_joint_drive(2, Drive("target", 0.3, "sine", 0.1, period=0.001))
    window.refresh()
    choose(qtbot, window, 3)
    assert (stack.count(), bench.robot.drive_of(3)) == (done + 1, Drive("target", 0.3))


def test_a_list_that_was_clicked_keeps_the_focus_for_tab(qtbot, arm):
    form = choose(qtbot, arm, 2)
    assert QApplication.focusWidget() is arm.joints
    qtbot.mouseClick(form.mode, LEFT)
    wait(qtbot, form.mode.view().isVisible)
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Return):
        qtbot.keyClick(form.mode.view(), key)
    wait(qtbot, lambda: arm.workbench.robot.drive_of(2).mode == "velocity" and form.mode.hasFocus())
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
    assert form.value.hasFocus()
    qtbot.keyClicks(form.value, "2e1")
    qtbot.keyClick(form.value, Qt.Key.Key_Tab)
    wait(qtbot, lambda: arm.workbench.robot.drive_of(2).value == pytest.approx(math.radians(20)))
    form.mode.setFocus()
    qtbot.keyClick(form.mode, Qt.Key.Key_E)
    wait(qtbot, arm.viewport.hasFocus)  # the Forces are in front, and Return would open a list out of sight


def test_the_forms_controls_are_whole_beside_an_open_dock(qtbot, arm):
    arm.resize(1000, 650)
    arm.docks.show_in_front("Scene")
    wait(qtbot, lambda: arm.joints.width() < 300)
    form = choose(qtbot, arm, 1)
    assert form.minimumSizeHint().width() <= form.width() == arm.joints.viewport().width()
    for control in (form.weight, form.suited, form.kp_name, form.kd_name, form.mode, form.wave):
        assert control.width() >= control.minimumSizeHint().width(), control.text()


def test_the_row_of_a_free_base_opens_no_form_and_closes_that_of_another(qtbot, opened):
    window = opened(engine.find_robot("quadruped"))
    window.resize(1280, 900)
    table, form = window.joints, choose(qtbot, window, 7)
    base = table.visualRect(table.table.index(2, NAME)).center()
    qtbot.mouseClick(table.viewport(), LEFT, pos=base)
    wait(qtbot, lambda: not form.isVisible())
    assert table.rowHeight(7) == table.rowHeight(2)
    qtbot.mouseClick(table.viewport(), LEFT, pos=base)
    assert not form.isVisible()


def test_a_click_beside_the_forms_controls_moves_no_slider(qtbot, arm):
    drives, bench = arm.features[DriveView], arm.workbench
    drives.choose(1)
    form, q = drives.form, bench.robot.newest.q.copy()
    assert not form.amplitude.isEnabled()
    for widget in (form.amplitude, form.period, form.motion):
        place = widget.mapTo(arm, widget.rect().center())
        qtbot.mouseClick(arm.windowHandle(), Qt.MouseButton.LeftButton, pos=place)
    qtbot.wait(50)
    np.testing.assert_array_equal(bench.actions.state.q, q)
    assert bench.robot.drive_of(1).value == pytest.approx(q[1])


def test_a_velocity_drive_reaches_and_holds_its_setpoint(qtbot, arm):
    bench, form = arm.workbench, choose(qtbot, arm, 0)
    pick(form.mode, "velocity")
    type_in(qtbot, form.value, "20")
    assert bench.robot.mode(0) == "velocity"
    press(qtbot, arm, arm.run.play)
    wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.q[0] > 0.2)
    assert math.degrees(bench.robot.newest.v[0]) == pytest.approx(20, rel=0.1)  # the joint's friction slows it
    assert arm.joints.table.data(arm.joints.table.index(0, DRIVE)) == "20.0 °/s"
    wait(qtbot, lambda: " of 124.6 °/s" in form.motion.text())
    pick(form.mode, "target")  # it is held where it is then
    wait(qtbot, lambda: bench.robot.mode(0) == "target" and abs(bench.robot.newest.v[0]) < 0.01)
    assert bench.robot.newest.q[0] > 0.2


def test_a_sine_pulls_the_target_and_a_run_repeats(qtbot, arm):
    bench, form = arm.workbench, choose(qtbot, arm, 3)
    pick(form.wave, "sine")
    type_in(qtbot, form.amplitude, "15")
    type_in(qtbot, form.period, "0.5")
    assert bench.robot.drive_of(3) == Drive("target", 0.0, "sine", math.radians(15), 0.5)
    type_in(qtbot, form.phase, "60")
    seen = []
    for _ in range(2):
        for _ in range(60):
            bench.step()
        wait(qtbot, lambda: bench.robot.time > 59.5 * bench.robot.settings.dt)
        seen.append((bench.robot.newest.q.copy(), bench.robot.newest.target[3]))
        press(qtbot, arm, arm.run.reset)
        wait(qtbot, lambda: bench.robot.newest.time == 0)
    np.testing.assert_array_equal(seen[0][0], seen[1][0])
    held = 59 * bench.robot.settings.dt  # when the last step began
    assert seen[0][1] == pytest.approx(math.radians(15) * math.sin(2 * math.pi * held / 0.5 + math.pi / 3))
    cell = arm.joints.table.index(3, DRIVE)
    assert "~" in arm.joints.table.data(cell)
    assert "position, sine; effort" in arm.joints.table.data(cell, Qt.ItemDataRole.ToolTipRole)
    pick(form.wave, "constant")
    assert bench.drives[3] is None


def test_a_period_that_no_drive_can_follow_becomes_the_shortest_one(qtbot, arm):
    form = choose(qtbot, arm, 3)
    pick(form.wave, "sine")
    type_in(qtbot, form.period, "0.001")
    assert arm.workbench.robot.drive_of(3).period == 0.02
    assert arm.statusBar().currentMessage() == (
        "Period of the wave: 0.001 s is below the minimum; 0.02 s is set instead"
    )
    arm.workbench.joints.set_joint_drive(3, Drive("target", 0.0, "sine", 0.1, 0.005))  # as in an older session
    arm.viewport.setFocus()
    arm.refresh()
    assert form.period.value() == 0.005


def test_what_a_field_says_is_read_while_joints_reach_their_limits(arm):
    bar, limit = arm.statusBar(), LimitsReached(1.0, ("joint2",))
    bar.clearMessage()
    for text in ("", "500 ° is above the maximum; 300 ° is set instead"):
        bar.showMessage(text)
        for time in (1.0, 2.0):
            arm._react(replace(limit, time=time))
            assert bar.currentMessage() == (text or f"joint2 reached a position limit at {time:.3f} s")


def test_joints_that_carry_their_weight_stay_without_gains(qtbot, arm):
    bench = arm.workbench
    press(qtbot, arm, arm.run.hold)
    wait(qtbot, lambda: not bench.robot.settings.held)
    arm.features[DriveView].weight_action.trigger()
    bench.set_speed(4.0)
    press(qtbot, arm, arm.run.play)
    wait(qtbot, lambda: bench.robot.time > 1.0)
    assert np.abs(bench.robot.newest.q - bench.robot.initial).max() < 1e-3
    loads = engine.static_loads(bench.robot.model, bench.robot.initial)
    np.testing.assert_allclose(bench.robot.newest.tau, loads, atol=0.05)
    arm.features[DriveView].weight_action.trigger()
    robot = bench.robot
    wait(qtbot, lambda: not robot.newest.tau.any() and np.abs(robot.newest.q - robot.initial).max() > 0.1)


def test_the_form_follows_what_the_table_and_resets_ask_for(qtbot, arm):
    """A reset restores the setpoint with which the run began, and one at time zero that of the first pose."""
    form = choose(qtbot, arm, 3)
    for playing in (False, True):
        if playing:
            press(qtbot, arm, arm.run.play)
        target = 20.0 + 10.0 * playing
        arm.joints.table.setData(arm.joints.table.index(3, DRIVE), target)
        wait(qtbot, lambda target=target: form.value.value() == pytest.approx(target))
    press(qtbot, arm, arm.run.play)
    wait(qtbot, lambda: not arm.workbench.robot.playing)
    for target in (20.0, 0.0):
        press(qtbot, arm, arm.run.reset)
        wait(qtbot, lambda target=target: form.value.value() == pytest.approx(target))
        first = in_simulation(arm.workbench, lambda running: running.simulation.target[0, 3].copy())
        assert first == pytest.approx(math.radians(target))


def test_a_reset_repeats_a_run_that_began_with_typed_setpoints(qtbot, opened):
    window = opened(engine.find_robot("quadruped"))
    bench, seen = window.workbench, []
    joints = [k for k, row in enumerate(bench.robot.coordinates) if row.driveable][:4]
    for k, weight in zip(joints, (False, False, True, False), strict=True):
        bench.joints.set_joint_drive(k, Drive("target", 0.2, weight=weight))
    for _ in range(2):
        for _ in range(40):
            bench.step()
        wait(qtbot, lambda: bench.robot.time > 39.5 * bench.robot.settings.dt)
        seen.append(bench.robot.newest.q.copy())
        press(qtbot, window, window.run.reset)
        wait(qtbot, lambda: bench.robot.newest.time == 0)
        assert [bench.robot.drive_of(k).value for k in joints] == [0.2] * 4
    np.testing.assert_array_equal(*seen)


def test_gains_are_typed_and_given_back(qtbot, shown):
    window = shown(engine.find_robot("arm7"))
    bench, form = window.workbench, choose(qtbot, window, 1)
    suited = bench.joints.gains(1)
    type_in(qtbot, form.kp, "123")
    wait(qtbot, lambda: simulation(window).settings.kp[0, 1] == 123)
    assert simulation(window).settings.kd[0, 1] == pytest.approx(suited[1], abs=0.01)  # as it is shown
    assert simulation(window).settings.kp[0, 2] == bench.joints.gains(2)[0]
    qtbot.mouseClick(form.suited, LEFT)
    wait(qtbot, lambda: simulation(window).settings.kp[0, 1] == suited[0])


def test_the_field_that_has_the_focus_shows_what_undo_and_redo_bring_back(qtbot, arm):
    form, control = choose(qtbot, arm, 1), Qt.KeyboardModifier.ControlModifier
    pick(form.mode, "velocity")
    pick(form.wave, "sine")
    waves = (form.amplitude, 3.0), (form.period, 2.5), (form.phase, 30.0)
    for box, number in ((form.value, 50.0), *waves, (form.kd, 40.0)):
        with case(box.accessibleName()):
            before = box.value()
            type_in(qtbot, box, number)
            assert box.hasFocus()
            qtbot.keyClick(box, Qt.Key.Key_Z, control)
            wait(qtbot, lambda box=box, before=before: box.value() == before)
            qtbot.keyClick(box, Qt.Key.Key_Z, control | Qt.KeyboardModifier.ShiftModifier)
            wait(qtbot, lambda box=box, number=number: box.value() == number)
            assert box.hasFocus()


def test_hold_off_and_on_brings_drives_back(qtbot, arm):
    bench = arm.workbench
    swing = Drive("target", 0.0, "sine", 0.3, 0.5)
    bench.joints.set_joint_drive(2, swing)
    bench.joints.set_joint_drive(0, Drive("velocity", 0.2))
    bench.joints.drive(5, by_effort=True)
    press(qtbot, arm, arm.run.hold)
    wait(qtbot, lambda: not bench.robot.settings.held)
    assert [bench.robot.mode(k) for k in range(7)] == ["effort"] * 7
    assert "the drives of 2 joints are suspended" in arm.statusBar().currentMessage()
    press(qtbot, arm, arm.run.hold)
    assert [bench.robot.mode(k) for k in (0, 1, 2, 5)] == ["velocity", "target", "target", "effort"]
    assert bench.robot.drive_of(2) == swing
    assert bench.joints.suspended == 0


def test_a_velocity_of_zero_does_not_sink(qtbot, arm):
    bench, form = arm.workbench, choose(qtbot, arm, 1)
    arm.joints.table.setData(arm.joints.table.index(1, VALUE), 60.0)
    pick(form.mode, "velocity")
    assert (form.quantity.text(), form.weight.isChecked()) == ("Velocity", True)
    assert (form.kp_name.text(), form.kd_name.text()) == ("kp, N m/rad", "kd, N m s/rad")
    bench.set_speed(4.0)
    press(qtbot, arm, arm.run.play)
    wait(qtbot, lambda: bench.robot.time > 1.0)
    assert abs(math.degrees(bench.robot.newest.q[1]) - 60.0) < 0.5
    pick(form.mode, "target")
    assert not form.weight.isChecked()
    qtbot.mouseClick(form.weight, LEFT, pos=QPoint(8, form.weight.height() // 2))
    for mode in ("velocity", "target"):
        pick(form.mode, mode)
        assert form.weight.isChecked()


def test_hold_takes_all_back_and_another_robot_begins_plain(qtbot, arm):
    bench, form = arm.workbench, choose(qtbot, arm, 0)
    pick(form.mode, "velocity")
    bench.joints.set_held(True)
    assert bench.robot.mode(0) == "target"
    pick(form.wave, "sine")
    arm.open(engine.find_robot("double_pendulum"))
    wait(qtbot, lambda: bench.robot.model.name == "double_pendulum")
    assert all(bench.drives[v] is None for v in range(2))
    assert form.isHidden()


def test_drives_of_joints_that_the_next_robot_lacks_go_with_the_robot(qtbot, arm):
    bench = arm.workbench
    for index in (5, 6):
        bench.joints.set_joint_drive(index, Drive("target", 0.0, "sine", 0.3, 0.5))
    press(qtbot, arm, arm.run.play)
    wait(qtbot, lambda: bench.robot.time > 0.05)
    arm.open(engine.find_robot("double_pendulum"))
    wait(qtbot, lambda: bench.robot.model.name == "double_pendulum")
    wait(qtbot, lambda: not bench.computation.compiling and bench.robot.newest is not None)
    press(qtbot, arm, arm.run.play)
    wait(qtbot, lambda: bench.robot.time > 0.05 or not bench.robot.playing)
    assert bench.robot.playing
    assert not bench.robot.newest.tau.any()


def test_limits_bound_what_is_asked_for(arm):
    bench = arm.workbench
    row = bench.robot.coordinates[3]
    bench.joints.set_joint_drive(3, Drive("velocity", 1e3))
    assert bench.robot.drive_of(3).value == row.velocity
    bench.joints.set_joint_drive(3, Drive("effort", -1e6, weight=True))
    assert bench.robot.drive_of(3).value == -row.effort


def test_velocities_and_efforts_are_columns_where_there_is_room(qtbot, arm):
    table = arm.joints
    assert table.isColumnHidden(VELOCITY)
    arm.docks["Joints"].setFloating(True)
    arm.docks["Joints"].resize(WIDE + 120, 400)
    wait(qtbot, lambda: not table.isColumnHidden(VELOCITY))
    press(qtbot, arm, arm.run.play)
    wait(qtbot, lambda: str(table.table.data(table.table.index(3, EFFORT))).endswith("N m"))
    assert str(table.table.data(table.table.index(3, VELOCITY))).endswith("°/s")
    tip = table.table.data(table.table.index(3, EFFORT), Qt.ItemDataRole.ToolTipRole)
    assert "at most 87 either way" in tip


def test_a_files_settings_have_them():
    settings = Settings(gains=((2, 10.0, 1.0),), by_velocity=frozenset({3}))
    assert understand(describe(settings)) == settings


def test_a_wave_beyond_the_limits_and_an_effort_at_its_limit_are_said(qtbot, arm):
    form, row = choose(qtbot, arm, 2), arm.workbench.robot.coordinates[2]
    pick(form.wave, "sine")
    assert "beyond" not in arm.statusBar().currentMessage()
    type_in(qtbot, form.amplitude, str(math.degrees(row.upper) + 10))
    said = arm.statusBar().currentMessage()
    assert said.startswith("the sine of joint3 goes from ")
    assert row.format(row.upper) in said
    for share, words in ((1.0, ", at its limit"), (-1.0, ", at its limit"), (0.99, " N m")):
        form.show_motion(0.0, share * row.effort)
        assert form.motion.text().endswith(words)


def test_gains_are_set_for_several_joints_at_once(qtbot, opened):
    window = opened(engine.find_robot("quadruped"))
    window.resize(1280, 900)
    bench, table, undoing = window.workbench, window.joints, window.features[UndoView]
    driven = [k for k, row in enumerate(bench.robot.coordinates) if row.driveable]
    values = [bench.robot.drive_of(k).value for k in driven]

    def click(row, modifier):
        place = table.visualRect(table.table.index(row, NAME)).center()
        qtbot.mouseClick(table.viewport(), LEFT, modifier, place)

    form = choose(qtbot, window, driven[0])
    click(driven[2], Qt.KeyboardModifier.ShiftModifier)
    click(driven[1], Qt.KeyboardModifier.ControlModifier)
    assert form.motion.text() == "2 joints: a change here is made to all of them"
    type_in(qtbot, form.kp, "40")
    type_in(qtbot, form.kd, "1")
    gains = [bench.joints.gains(k) for k in driven]
    assert gains[0] == gains[2] == (40, 1)
    assert (40, 1) not in gains[1:2] + gains[3:]
    qtbot.keyClick(table, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert f"{len(driven)} joints" in form.motion.text()
    type_in(qtbot, form.kp, "60")
    assert {bench.joints.gains(k)[0] for k in driven} == {60}
    assert undoing.stack.undoText() == f"Gains of {len(driven)} joints: 60, 1"
    qtbot.mouseClick(form.weight, LEFT, pos=QPoint(8, form.weight.height() // 2))
    assert [bench.robot.drive_of(k) for k in driven] == [Drive("target", each, weight=True) for each in values]
    undoing.undo.trigger()
    assert [bench.robot.drive_of(k) for k in driven] == [Drive("target", each) for each in values]
    assert "joints" not in choose(qtbot, window, driven[1]).motion.text()
    pick(form.mode, "effort")
    assert [bench.robot.mode(k) for k in driven[:3]] == ["target", "effort", "target"]


def test_the_number_of_one_is_set_by_return_for_several_joints_that_differ(qtbot, opened):
    window = opened(engine.find_robot("arm7"))
    bench, table = window.workbench, window.joints
    bench.joints.set_joint_drive(1, Drive("target", math.radians(-20.0)))
    form = choose(qtbot, window, 1)
    place = table.visualRect(table.table.index(3, NAME)).center()
    qtbot.mouseClick(table.viewport(), LEFT, Qt.KeyboardModifier.ControlModifier, place)
    wait(qtbot, lambda: form.motion.text() == "2 joints, which differ in position")
    type_in(qtbot, form.value, "-20")
    assert bench.robot.set_drive(3).value == pytest.approx(math.radians(-20.0))
    wait(qtbot, lambda: form.motion.text() == "2 joints: a change here is made to all of them")
