"""Simulation › Floating base: ticked, greyed and explained, and named where a legged robot's file fixes its root."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from test_out_of_view import in_picture
from windows import PATIENCE, boxed, case, started, wait, wait_loaded

import engine
from app.acting.drives import Drive
from app.features.floating_base import FIXED, FREED, IN_THE_AIR, KEPT, FloatingBase
from app.features.ground_view import FIXED_TIP, NO_GROUND_TIP, TIP, GroundView
from app.features.run_controls import FREE_ALREADY_TIP, FREE_TIP, NO_FILE_TIP
from app.features.scene_view import NEW_RUN, SceneView
from app.features.undo_view import UndoView
from app.panels.inspection import robot_facts


def test_undo_shows_the_robot_where_it_stands_then(qtbot, arm):
    window, bench, viewport = arm, arm.workbench, arm.viewport
    window.run.floating.trigger()
    wait(qtbot, lambda: bench.robot.floating and not bench.opening.loading and bench.robot.newest is not None)
    viewport.see(replace(viewport.camera, target=viewport.camera.target + np.array([0, 0, 1.0])))
    assert not in_picture(window)
    window.features[UndoView].undo.trigger()
    wait(qtbot, lambda: not bench.robot.floating and not bench.opening.loading and bench.robot.newest is not None)
    wait(qtbot, lambda: in_picture(window))


def test_it_says_whether_the_base_floats_and_why_that_stays(opened):
    for name, *output in (
        ("humanoid", True, False, FREE_ALREADY_TIP),
        ("chain", False, False, NO_FILE_TIP),
        ("quadruped", True, False, FREE_ALREADY_TIP),
        ("arm7", False, True, FREE_TIP),
    ):
        action = opened(engine.chain(3) if name == "chain" else engine.find_robot(name)).run.floating
        assert [action.isChecked(), action.isEnabled(), action.toolTip()] == output, name


def test_a_body_beside_the_robot_does_not_tick_it(qtbot, arm):
    arm.features[SceneView].add("box", free=True)
    wait(qtbot, lambda: len(arm.workbench.robot.parts) == 1)
    assert arm.workbench.robot.floats
    assert not arm.run.floating.isChecked()
    assert arm.run.floating.isEnabled()


@pytest.fixture
def example(example_robots: list[Path], tmp_path):
    return lambda stem: boxed(next(path for path in example_robots if path.stem == stem), tmp_path)


def test_a_robot_fixed_in_the_air_is_said_to_float_once_asked(opened, window, example):
    legged = ("go2", "g1_29dof_rev_1_0", "talos_reduced")
    for stem in (*legged, "ur5_robot", "tiago"):
        window.statusBar().clearMessage()
        message = opened(example(stem)).statusBar().currentMessage()
        with case(stem):
            assert message.startswith(IN_THE_AIR) if stem in legged else "Floating base" not in message
            assert ("the pose 'standing' of its SRDF" in message) == (stem == "go2")
            assert window.features[FloatingBase].button.isVisible() == (stem in legged)


def test_a_button_in_the_picture_stays_until_the_base_is_free(qtbot, opened, example):
    window = opened(example("solo12"))
    button, bench = window.features[FloatingBase].button, window.workbench
    wait(qtbot, lambda: bench.shown is not None)
    facts = {row.label: row.text for row in robot_facts(bench.shown.model, bench.shown)[0].rows}
    assert facts["base"] == "fixed to the world"
    window.statusBar().clearMessage()
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.1)
    assert button.isVisible()
    assert window.viewport.rect().contains(button.geometry())
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: bench.robot.floating and not bench.opening.loading and bench.robot.newest is not None)
    assert not button.isVisible()
    assert {row.label: row.text for row in robot_facts(bench.shown.model, bench.shown)[0].rows}["base"] == "free"


def test_it_is_said_once_of_a_robot(qtbot, opened, example):
    window = opened(example("solo12"))
    assert "Floating base" in window.statusBar().currentMessage()
    window.features[SceneView].add("box", free=True)
    wait(qtbot, lambda: len(window.workbench.robot.parts) == 1)
    assert "Floating base" not in window.statusBar().currentMessage()


def test_the_greyed_terrain_says_what_to_do(qtbot, opened, example):
    window = opened(example("solo12"))
    ground = window.features[GroundView]

    def tips() -> set[str]:
        return {ground.menu.menuAction().toolTip(), ground.form.kind.toolTip()}

    assert not ground.form.isEnabled()
    assert tips() == {FIXED_TIP}
    assert (ground.form.kind.currentText(), ground.form.note.text()) == ("", FIXED_TIP)
    window.run.floating.trigger()
    wait(qtbot, ground.form.isEnabled)
    assert (ground.form.kind.currentText(), ground.form.note.text()) == ("Flat", "")
    assert tips() == {TIP}
    window.run.ground.trigger()
    wait(qtbot, lambda: not ground.form.isEnabled())
    assert tips() == {NO_GROUND_TIP}


def test_it_says_where_the_run_before_is_kept(qtbot, make_window, tmp_path):
    window = started(make_window, tmp_path)
    bench, messages = window.workbench, []
    window.statusBar().messageChanged.connect(messages.append)

    def toggle() -> str:
        with qtbot.waitSignal(window.loaded, timeout=PATIENCE):
            window.run.floating.trigger()
        return window.statusBar().currentMessage()

    window.open(engine.find_robot("arm7"))
    wait_loaded(qtbot, window)
    assert toggle() == FREED
    assert toggle() == FIXED
    bench.play()
    wait(qtbot, lambda: bench.robot.time > 0.1)
    assert toggle() == FREED + KEPT
    wait(qtbot, lambda: window.kept.last is not None)
    window.kept.action.trigger()
    wait(qtbot, lambda: bench.replay.opened and not bench.opening.loading)
    assert not window.run.floating.isChecked()
    assert "Floating base" not in window.statusBar().currentMessage()


def test_undo_fixes_the_base_again_in_its_pose_and_redo_frees_it(qtbot, arm):
    """As of other changes of the model, the run before is kept for Open last run."""
    window, bench, undoing = arm, arm.workbench, arm.features[UndoView]
    window.features[SceneView].add("box", free=True)
    wait(qtbot, lambda: len(bench.robot.parts) == 1 and not bench.opening.loading)
    bench.joints.set_coordinate(1, 0.5)
    bench.configuring.set_gravity(False)
    wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.q[1] == pytest.approx(0.5))
    fixed, q = bench.robot.model, bench.robot.newest.q.copy()
    window.run.floating.trigger()
    wait(qtbot, lambda: bench.robot.floating and not bench.opening.loading)
    freed = bench.robot.model
    assert undoing.undo.text() == "&Undo Floating base on"
    bench.play()
    wait(qtbot, lambda: bench.robot.time > 0.1)
    undoing.undo.trigger()
    wait(qtbot, lambda: not bench.robot.floating and not bench.opening.loading and bench.robot.newest is not None)
    assert window.statusBar().currentMessage() == f"Undone: Floating base on{NEW_RUN}"
    assert (bench.robot.model.nq, len(bench.robot.parts), bench.robot.settings.gravity) == (fixed.nq, 1, False)
    assert not window.run.floating.isChecked()
    wait(qtbot, lambda: bench.robot.newest.q.shape == q.shape and np.allclose(bench.robot.newest.q, q))

    for _ in range(3):  # gravity, the joint, the box: changes before are undone as ever
        undoing.undo.trigger()
    wait(qtbot, lambda: not bench.robot.parts and not bench.opening.loading and bench.robot.newest is not None)
    assert bench.robot.settings.gravity
    assert bench.robot.newest.q[1] == pytest.approx(0.0)
    assert not undoing.undo.isEnabled()
    for _ in range(4):
        undoing.redo.trigger()
    wait(qtbot, lambda: bench.robot.floating and not bench.opening.loading)
    assert (bench.robot.model.nq, len(bench.robot.parts)) == (freed.nq, 1)
    assert not undoing.redo.isEnabled()


@pytest.mark.parametrize("played", [False, True])
def test_the_joints_keep_their_pose_and_drives_where_the_base_is_freed_and_fixed(qtbot, arm, played):
    bench = arm.workbench
    wave = Drive("target", 0.3, "sine", 0.1, 2.0)
    bench.joints.set_coordinate(1, 0.5)
    bench.joints.set_gains(3, (777.0, 50.0))
    bench.joints.set_joint_drive(3, wave)
    bench.joints.set_joint_drive(4, Drive("effort", 2.0))
    if played:
        bench.play()
        wait(qtbot, lambda: bench.robot.time > 0.2)
        bench.pause()
    wait(qtbot, lambda: bench.robot.newest.q[1] == pytest.approx(0.5, abs=0.1))
    before = bench.actions.state
    for floating in (True, False):
        arm.run.floating.trigger()
        wait(qtbot, lambda floating=floating: bench.robot.floating is floating and not bench.opening.loading)
        now, first = bench.actions.state, 7 if floating else 0
        np.testing.assert_allclose(now.q[first:], before.q)
        assert now.drives == before.drives
        assert bench.joints.gains(9 if floating else 3) == pytest.approx((777.0, 50.0))
        assert len(now.settings.gains) == len(now.settings.driven) == 1
    assert bench.robot.time == 0


def test_a_legged_robot_that_is_freed_in_another_pose_stands_on_the_ground_in_it(qtbot, opened, example):
    window = opened(example("solo12"))
    bench = window.workbench
    knees = [k for k, row in enumerate(bench.robot.coordinates) if row.name.endswith("KFE")]
    for k in knees:
        bench.joints.set_coordinate(k, 1.2)
    window.run.floating.trigger()
    wait(qtbot, lambda: bench.robot.floating and not bench.opening.loading and bench.robot.newest is not None)
    model, q = bench.robot.model, bench.actions.state.q
    assert [row.value(q) for row in bench.robot.coordinates if row.name.endswith("KFE")] == [1.2] * 4
    np.testing.assert_allclose(engine.put_down(model, bench.robot.settings.scene, q), q, atol=1e-6)


def test_undo_restores_the_setpoints_that_the_joints_had_not_reached(qtbot, arm):
    window, bench = arm, arm.workbench
    bench.play()
    wait(qtbot, lambda: bench.robot.time > 0.3)
    bench.pause()
    wait(qtbot, lambda: np.abs(bench.robot.newest.q - bench.robot.newest.target).max() > 1e-4)
    target = bench.robot.newest.target.copy()
    window.run.floating.trigger()
    wait(qtbot, lambda: bench.robot.floating and not bench.opening.loading)
    window.features[UndoView].undo.trigger()
    wait(qtbot, lambda: not bench.robot.floating and not bench.opening.loading and bench.robot.newest is not None)
    wait(qtbot, lambda: np.allclose(bench.robot.newest.target, target, atol=1e-12))


@pytest.mark.parametrize("between", [0.0, 0.5])  # s, in which the free robot is loaded and not yet shown
def test_what_can_be_undone_stays_where_it_is_freed_and_fixed_at_once(qtbot, arm, between):
    bench, undoing = arm.workbench, arm.features[UndoView]
    bench.configuring.set_gravity(False)
    before = bench.robot.model
    for on in (True, False):
        arm.run.floating_asked.emit(on)
        time.sleep(between)
    wait(qtbot, lambda: bench.robot.model is not before and not bench.opening.loading)
    assert not bench.robot.floating
    wait(qtbot, undoing.undo.isEnabled)
    undoing.undo.trigger()
    wait(qtbot, lambda: bench.robot.model is before and not bench.opening.loading)
    wait(qtbot, undoing.undo.isEnabled)
    undoing.undo.trigger()
    wait(qtbot, lambda: bench.robot.settings.gravity)


def test_another_file_meanwhile_is_not_taken_for_the_robot_with_a_free_base(qtbot, arm):
    window, bench = arm, arm.workbench
    window.run.floating.trigger()
    window.open(engine.find_robot("scara"))
    wait(qtbot, lambda: bench.robot.model.name == "scara" and not bench.opening.loading)
    assert not bench.robot.floating
    assert not window.features[UndoView].undo.isEnabled()
