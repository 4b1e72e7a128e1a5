"""Undo and redo of user actions: poses, drives, settings, obstacles, bodies."""

from dataclasses import replace

import numpy as np
import pytest
from PyQt6.QtCore import QPoint, Qt
from PyQt6.QtWidgets import QTreeWidget
from test_help import rows
from test_scene_view import dragged, entry, seen_at, settled, shown, type_in
from test_time import play
from windows import wait

import engine
from app.acting.drives import Drive
from app.features.attaching import GhostView, GroundView, RunExports, SceneView, Sessions, UndoView
from app.features.shortcuts_sheet import ShortcutsSheet, shortcuts
from app.simulation.batch_spread import BatchSpread
from app.simulation.ghost import GhostSettings
from app.simulation.messages import Snapshot

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def undoing(arm) -> UndoView:
    view = arm.features[UndoView]
    assert not view.undo.isEnabled()
    return view


def undo(qtbot, view: UndoView) -> None:
    qtbot.keyClick(view.undo.parent(), Qt.Key.Key_Z, CTRL)


def redo(qtbot, view: UndoView) -> None:
    qtbot.keyClick(view.undo.parent(), Qt.Key.Key_Z, CTRL | SHIFT)


def joint(view: UndoView, number: int = 0) -> float:
    return float(view.undo.parent().workbench.robot.newest.q[number])


def test_a_joint_moved_by_its_slider_goes_back_in_one_step(qtbot, window, undoing):
    for value in np.linspace(0.05, 0.4, 8):
        window.joints.moved.emit(0, float(value))
        qtbot.wait(10)
    window.joints.moved.emit(1, 0.3)
    wait(qtbot, lambda: joint(undoing) == 0.4 and joint(undoing, 1) == 0.3)
    assert undoing.undo.text() == "&Undo Move joint2 to 17.2 °"
    undo(qtbot, undoing)
    wait(qtbot, lambda: joint(undoing, 1) == 0.0 and joint(undoing) == 0.4)
    assert window.statusBar().currentMessage() == "Undone: Move joint2 to 17.2 °"
    assert undoing.undo.text() == "&Undo Move joint1 to 22.9 °"  # where the slider was let go
    undo(qtbot, undoing)
    wait(qtbot, lambda: joint(undoing) == 0.0)
    assert not undoing.undo.isEnabled()
    redo(qtbot, undoing)
    redo(qtbot, undoing)
    wait(qtbot, lambda: joint(undoing) == 0.4 and joint(undoing, 1) == 0.3)
    np.testing.assert_array_equal(window.workbench.robot.initial[:2], [0.4, 0.3])


def test_the_sheet_of_keys_has_undo_and_redo_without_what_they_would_change(qtbot, window, undoing):
    window.joints.moved.emit(0, 0.3)
    window.joints.moved.emit(1, 0.3)
    undo(qtbot, undoing)
    wait(qtbot, undoing.redo.isEnabled)
    assert [each.text() for each in (undoing.undo, undoing.redo)] == [
        "&Undo Move joint1 to 17.2 °",
        "&Redo Move joint2 to 17.2 °",
    ]
    qtbot.keyClick(window, Qt.Key.Key_F1)
    dialog = window.features[ShortcutsSheet].dialog
    assert {("Undo", "Ctrl+Z"), ("Redo", "Ctrl+Shift+Z or Ctrl+Y")} <= rows(dialog.findChild(QTreeWidget))
    assert not any("joint" in f"{each.name} {each.tip}" for each in shortcuts(window) if each.menu == "Edit")
    dialog.close()


def test_settings_and_drives_go_back_while_it_plays(qtbot, window, undoing):
    bench = window.workbench
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.newest.time > 0.05)
    window.run.gravity.trigger()
    bench.joints.set_joint_drive(2, Drive("target", 0.2, "sine", 0.1, 1.0))
    bench.joints.set_gains(3, (50.0, 5.0))
    undo(qtbot, undoing)
    assert bench.robot.settings.gains == ()
    undo(qtbot, undoing)
    wait(qtbot, lambda: bench.robot.drive_of(2).plain and bench.robot.drive_of(2).value == pytest.approx(0.0, abs=1e-6))
    undo(qtbot, undoing)
    assert bench.robot.settings.gravity
    assert bench.robot.playing
    redo(qtbot, undoing)
    redo(qtbot, undoing)
    assert not bench.robot.settings.gravity
    assert bench.robot.drive_of(2) == Drive("target", 0.2, "sine", 0.1, 1.0)
    window.run.hold.trigger()
    assert not bench.robot.settings.held
    undo(qtbot, undoing)
    assert bench.robot.settings.held
    assert bench.robot.drive_of(2) == Drive("target", 0.2, "sine", 0.1, 1.0)  # which letting go had wiped


def test_setpoints_go_back_with_a_pose_that_had_sunk_below_them(qtbot, window, undoing):
    bench = window.workbench
    bench.joints.set_coordinate(1, 0.4)
    bench.joints.set_gains(1, (100.0, 10.0))  # too soft for its load
    window.run.play.trigger()
    wait(qtbot, lambda: joint(undoing, 1) > 0.45)
    window.run.play.trigger()
    bench.joints.set_coordinate(0, 0.3)
    wait(qtbot, lambda: joint(undoing) == 0.3)
    undo(qtbot, undoing)
    wait(qtbot, lambda: joint(undoing) != 0.3)
    assert joint(undoing, 1) > 0.45
    assert bench.robot.newest.target[1] == 0.4


def test_setpoints_come_again_with_a_pose_that_no_frame_had_shown(qtbot, window, undoing):
    bench = window.workbench

    def newest() -> Snapshot:
        return bench.robot.newest

    bench.joints.set_coordinate(1, 0.4)
    bench.joints.set_coordinate(0, 0.3)
    bench.posing.set_pose("all ahead", np.full(7, 0.1))
    for _ in range(3):
        undo(qtbot, undoing)
    wait(qtbot, lambda: not newest().q.any() and not newest().target.any())
    for after in ([0.0, 0.4], [0.3, 0.4], [0.1, 0.1]):
        redo(qtbot, undoing)
        frame = [after, after]
        wait(qtbot, lambda frame=frame: [each[:2].tolist() for each in (newest().q, newest().target)] == frame)


def test_each_action_says_what_was_done_and_how(window, undoing):
    """In the words of the window: with the value in its unit, and on or off."""
    bench = window.workbench

    def named(action, *args) -> str:
        action(*args)
        return undoing.stack.undoText()

    assert named(bench.configuring.set_gravity, False) == "Gravity off"
    assert named(bench.configuring.set_ground, False) == "Ground off"
    assert named(bench.joints.set_held, False) == "Hold off"
    assert named(bench.joints.set_held, True) == "Hold on"
    assert named(bench.configuring.set_dt, 2e-3) == "Time step 2 ms"
    assert named(bench.configuring.set_integrator, "rk4") == "Integrator rk4"
    assert named(bench.configuring.choose_step) == "Automatic time step"
    assert named(bench.configuring.set_algorithm, "jsiia") == "Algorithm CRBA"
    assert named(bench.configuring.set_device, "cpu") == "Steps on CPU"
    assert named(bench.joints.set_coordinate, 1, 99.0) == "Move joint2 to 146.0 °"
    assert named(bench.joints.set_gains, 3, (50.0, 5.0)) == "Gains of joint4: 50, 5"
    assert named(bench.joints.set_gains, 3, None) == "Automatic gains of joint4"
    wave = Drive("target", 0.2, "sine", 0.1, 1.0)
    assert named(bench.joints.set_joint_drive, 2, wave) == "Drive joint3: position sine about 11.5 °"
    assert named(bench.joints.set_joint_drive, 2, Drive("velocity", -0.0)) == "Drive joint3: velocity 0.0 °/s"
    assert named(bench.joints.set_joint_drive, 2, Drive("effort", 3.0)) == "Drive joint3: effort 3.0 N m"
    assert named(bench.joints.set_drive, 2, 4.0) == "Drive joint3: effort 4.0 N m"
    assert named(bench.joints.drive, 2, False) == "Hold joint3"
    assert named(bench.configuring.set_spread, BatchSpread(4)) == "Batch of 4"
    assert named(bench.configuring.set_spread, BatchSpread()) == "No batch"
    assert named(bench.configuring.set_spread, BatchSpread(pose=0.3)) == "Deviations of the batch"


def test_obstacles_and_bodies_go_back(qtbot, window, undoing):
    bench = window.workbench
    scene = window.features[SceneView]
    scene.action.trigger()
    bench.joints.set_coordinate(0, 0.5)
    wait(qtbot, lambda: joint(undoing) == 0.5)
    entry(scene, "Obstacle: box")
    box = scene.obstacles[0]
    type_in(qtbot, scene.panel.sizes[0], 0.5)
    entry(scene, "Free body: cube")
    settled(qtbot, scene)
    start = bench.surroundings.part_pose(0)
    dragged(qtbot, window, seen_at(window, start[:3, 3]), QPoint(30, 10))
    wait(qtbot, lambda: np.linalg.norm(bench.surroundings.part_pose(0)[:2, 3] - start[:2, 3]) > 0.01)
    place = bench.surroundings.part_pose(0)
    shown(qtbot, window, "before undo")
    assert undoing.stack.undoText() == "Move cube"
    undo(qtbot, undoing)
    wait(qtbot, lambda: np.allclose(bench.surroundings.part_pose(0), start))
    assert undoing.stack.undoText() == "Add cube"
    undo(qtbot, undoing)
    wait(qtbot, lambda: not bench.opening.loading and not bench.robot.parts and bench.robot.newest is not None)
    wait(qtbot, lambda: joint(undoing) == 0.5)
    assert window.statusBar().currentMessage() == "Undone: Add cube"
    assert scene.obstacles[0].size[0] == 0.5
    assert undoing.stack.undoText() == "Resize Box 1"
    undo(qtbot, undoing)
    assert scene.obstacles[0].size == box.size
    assert undoing.stack.undoText() == "Add Box 1"
    undo(qtbot, undoing)
    assert scene.obstacles == ()
    shown(qtbot, window, "after undo")
    for _ in range(4):
        redo(qtbot, undoing)
        settled(qtbot, scene)
        qtbot.wait(50)
    wait(qtbot, lambda: len(bench.robot.parts) == 1 and np.allclose(bench.surroundings.part_pose(0), place))
    assert scene.obstacles[0].size[0] == 0.5
    assert joint(undoing) == 0.5


def test_the_terrain_goes_back_and_the_robot_with_it(qtbot, opened):
    window = opened(engine.find_robot("quadruped"))
    bench, view = window.workbench, window.features[UndoView]
    wait(qtbot, lambda: bench.robot.newest is not None)
    before = bench.robot.newest.q.copy()
    window.features[GroundView].shapes[2].trigger()
    wait(qtbot, lambda: not np.array_equal(bench.robot.newest.q, before))
    undo(qtbot, view)
    assert isinstance(bench.robot.settings.scene.ground, engine.Plane)
    wait(qtbot, lambda: np.allclose(bench.robot.newest.q, before))


def test_the_terrain_goes_back_while_the_robot_plays_on(qtbot, opened):
    window = opened(engine.find_robot("quadruped"))
    bench = window.workbench
    window.run.play.trigger()
    window.features[GroundView].shapes[1].trigger()
    wait(qtbot, lambda: bench.robot.settings.scene.ground != engine.Plane())
    assert bench.robot.playing
    undo(qtbot, window.features[UndoView])
    assert bench.robot.settings.scene.ground == engine.Plane()
    assert bench.robot.playing
    began = bench.robot.time
    wait(qtbot, lambda: bench.robot.time > began)


def test_another_robot_begins_with_nothing_to_undo(qtbot, window, undoing):
    window.run.gravity.trigger()
    assert undoing.undo.isEnabled()
    window.open(engine.find_robot("pendulum"))
    wait(qtbot, lambda: window.workbench.robot.model.name == "pendulum" and not window.workbench.opening.loading)
    assert not undoing.undo.isEnabled()


def test_objects_stay_with_the_robot_that_is_left_and_undo_adds_them_to_the_next(qtbot, window, undoing):
    bench = window.workbench
    scene, ground = window.features[SceneView], window.features[GroundView]
    ground.shapes[1].trigger()
    scene.add("cylinder", False)
    scene.add("box", True)
    settled(qtbot, scene)
    wait(qtbot, lambda: len(bench.robot.parts) == 1 and bench.robot.newest is not None)
    pose = np.eye(4)
    pose[:3, 3] = 0.9, -0.7, 0.4
    bench.surroundings.place_part(0, pose)
    wait(qtbot, lambda: np.allclose(bench.surroundings.part_pose(0), pose))
    (cylinder,), terrain = scene.obstacles, bench.robot.settings.scene.ground
    window.open(engine.find_robot("pendulum"))
    wait(qtbot, lambda: bench.robot.model.name == "pendulum" and not bench.opening.loading)
    assert (scene.obstacles, bench.robot.parts) == ((), ())
    assert bench.robot.settings.scene.ground == terrain
    assert window.statusBar().currentMessage() == "2 objects around arm7 were removed; Undo (Ctrl+Z) adds them here"
    assert undoing.undo.text() == "&Undo Remove 2 objects"
    undo(qtbot, undoing)
    settled(qtbot, scene)
    wait(qtbot, lambda: len(bench.robot.parts) == 1 and not bench.opening.loading and bench.robot.newest is not None)
    assert scene.obstacles == (cylinder,)
    np.testing.assert_allclose(bench.surroundings.part_pose(0), pose)
    assert bench.robot.model.parts[0].model.name == "pendulum"
    redo(qtbot, undoing)
    wait(qtbot, lambda: not bench.robot.parts and not bench.opening.loading)
    assert scene.obstacles == ()


def test_a_body_that_fell_away_is_added_to_the_next_robot_where_it_began(qtbot, window, undoing):
    bench = window.workbench
    scene = window.features[SceneView]
    scene.add("sphere", True)
    settled(qtbot, scene)
    bench.configuring.set_ground(False)
    settled(qtbot, scene)
    began = bench.surroundings.part_pose(0)
    window.run.play.trigger()
    wait(qtbot, lambda: bench.surroundings.part_pose(0)[2, 3] < began[2, 3] - 0.5)
    window.open(engine.find_robot("pendulum"))
    wait(qtbot, lambda: bench.robot.model.name == "pendulum" and not bench.opening.loading)
    undo(qtbot, undoing)
    settled(qtbot, scene)
    np.testing.assert_allclose(bench.surroundings.part_pose(0), began, atol=1e-12)


def test_keys_while_a_body_is_being_added_or_removed_are_taken_when_it_is(qtbot, window, undoing):
    scene, bench = window.features[SceneView], window.workbench
    entry(scene, "Free body: cube")
    settled(qtbot, scene)
    entry(scene, "Free body: ball")
    settled(qtbot, scene)
    entry(scene, "Obstacle: box")
    settled(qtbot, scene)
    for _ in range(3):
        undo(qtbot, undoing)
    assert bench.opening.loading  # the ball goes
    wait(qtbot, lambda: not bench.robot.parts and not bench.opening.loading)
    assert not scene.obstacles
    for _ in range(3):
        redo(qtbot, undoing)
    wait(qtbot, lambda: len(bench.robot.parts) == 2 and not bench.opening.loading and len(scene.obstacles) == 1)
    assert [each.name for each in scene.objects] == ["Box 1", "cube", "ball"]
    assert window.statusBar().currentMessage() == "Redone: Add Box 1"


def test_keys_while_another_robot_opens_are_not_kept_for_it(qtbot, window, undoing):
    scene, bench = window.features[SceneView], window.workbench
    entry(scene, "Free body: cube")
    settled(qtbot, scene)
    undo(qtbot, undoing)
    undo(qtbot, undoing)
    window.open(engine.find_robot("pendulum"))
    assert not undoing.undo.isEnabled()
    redo(qtbot, undoing)
    wait(qtbot, lambda: bench.robot.model.name == "pendulum" and not bench.opening.loading)
    settled(qtbot, scene)
    assert not scene.turns.waiting
    assert not bench.robot.parts


def test_a_robot_that_is_opened_again_keeps_its_obstacles(qtbot, window, undoing):
    bench = window.workbench
    scene = window.features[SceneView]
    scene.add("box", False)
    before = bench.robot.model
    bench.open_again(floating=True)
    wait(qtbot, lambda: bench.robot.model is not before and not bench.opening.loading)
    window.open(bench.path)
    floating = bench.robot.model
    wait(qtbot, lambda: bench.robot.model is not floating and not bench.opening.loading)
    assert len(scene.obstacles) == 1
    assert not undoing.undo.isEnabled()
    window.open(engine.find_robot("pendulum"))
    wait(qtbot, lambda: bench.robot.model.name == "pendulum" and not bench.opening.loading)
    assert window.statusBar().currentMessage() == "the object around arm7 was removed; Undo (Ctrl+Z) adds it here"


def test_a_session_has_its_own_scene_and_nothing_to_undo(qtbot, window, undoing, tmp_path):
    bench = window.workbench
    window.open(engine.find_robot("pendulum"))
    wait(
        qtbot,
        lambda: bench.robot.model.name == "pendulum" and not bench.opening.loading and bench.robot.newest is not None,
    )
    window.features[Sessions].save(str(tmp_path / "own.catena"))
    wait(qtbot, (tmp_path / "own.catena").is_file)
    window.open(engine.find_robot("arm7"))
    wait(qtbot, lambda: bench.robot.model.name == "arm7" and not bench.opening.loading)
    window.features[SceneView].add("box", False)
    window.open(tmp_path / "own.catena")
    wait(qtbot, lambda: bench.robot.model.name == "pendulum" and not bench.opening.loading)
    assert window.features[SceneView].obstacles == ()
    assert not undoing.undo.isEnabled()


def test_a_run_opens_in_its_own_scene_and_undo_adds_the_other_objects(qtbot, window, undoing, tmp_path):
    bench, scene = window.workbench, window.features[SceneView]
    scene.add("box", False)
    settled(qtbot, scene)
    play(qtbot, window, 0.1)
    (box,), exports, path = scene.obstacles, window.features[RunExports], tmp_path / "beside_a_box.npz"
    exports.write(str(path), "npz", interval=0.0)
    wait(qtbot, lambda: not exports.writing.running)
    scene.change(0, replace(scene.objects[0], size=(0.3, 0.3, 0.3)))
    scene.add("sphere", False)
    settled(qtbot, scene)
    larger, ball = scene.obstacles
    window.open(path)
    wait(qtbot, lambda: bench.replay.active and not bench.opening.loading)
    assert [(each.shape, each.size) for each in scene.obstacles] == [("box", box.size)]
    assert window.statusBar().currentMessage() == "2 objects around arm7 were removed; Undo (Ctrl+Z) adds them here"
    undo(qtbot, undoing)
    wait(qtbot, lambda: [each.size for each in scene.obstacles] == [box.size, larger.size, ball.size])
    # It continues from the run's end.
    wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.time > 0.09)
    assert not bench.replay.active
    assert window.viewport.overlays.world.count == 3
    redo(qtbot, undoing)
    wait(qtbot, lambda: [each.size for each in scene.obstacles] == [box.size])


def test_the_ghost_is_undone_before_what_was_set_earlier(qtbot, undoing):
    """Undo took an older change, of the batch for one, and the ghost stayed as it was."""
    window = undoing.undo.parent()
    panel, bench = window.features[GhostView].panel, window.workbench
    bench.configuring.set_dt(5e-4)
    panel.on.click()
    panel.step.setCurrentIndex(panel.step.count() - 1)
    chosen = panel.settings
    for text, settings in (("Ghost's time step", GhostSettings()), ("Ghost on", None)):
        undo(qtbot, undoing)
        assert window.statusBar().currentMessage() == f"Undone: {text}"
        assert panel.settings == settings
        assert bench.robot.settings.dt == 5e-4
    wait(qtbot, lambda: bench.robot.newest.ghost is None)
    for _ in range(2):
        redo(qtbot, undoing)
    assert panel.settings == chosen
    wait(qtbot, lambda: bench.robot.newest.ghost is not None and bench.robot.newest.ghost.dt == 2e-3)
    for _ in range(3):
        undo(qtbot, undoing)
    assert bench.robot.settings.dt != 5e-4
