"""The Scene dock while the robot moves: numbers of free bodies are taken, and what becomes of the run is said."""

import math

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from test_scene_view import entry, scene, settled, shown
from windows import play_for, started, type_in, wait

import engine
from app.features.scene_view import NEW_RUN, SceneView
from app.features.undo_view import UndoView
from app.panels.scene import HELP

__all__ = ["scene"]


@pytest.fixture
def falling(qtbot, window, scene) -> SceneView:
    """A free body high above the ground, while the simulation plays."""
    bench = window.workbench
    entry(scene, "Free body: cube")
    settled(qtbot, scene)
    type_in(qtbot, scene.panel.place[2], 100)
    wait(qtbot, lambda: bench.surroundings.part_pose(0)[2, 3] == pytest.approx(100))
    window.run.play.trigger()
    return scene


def test_numbers_of_a_body_that_moves_are_taken(qtbot, window, falling):
    """Its pose is another than when the panel was last refreshed."""
    bench, panel = window.workbench, falling.panel
    for box, value, taken in (
        (panel.friction, 0.31, lambda model: model.collisions[0].friction),
        (panel.mass, 0.7, lambda model: model.mass[0]),
        (panel.sizes[0], 0.25, lambda model: model.collisions[0].size[0]),
    ):
        wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.time > 0.05)
        falling._due = math.inf  # no refresh from here
        shown = bench.surroundings.part_pose(0).copy()
        wait(qtbot, lambda shown=shown: not np.array_equal(bench.surroundings.part_pose(0), shown))
        type_in(qtbot, box, value)
        assert bench.opening.loading
        falling._due = 0.0
        settled(qtbot, falling)
        assert taken(bench.robot.parts[0].model) == value
        assert bench.robot.playing
    assert window.features[UndoView].undo.text() == "&Undo Resize cube"  # and not Move, although it moved


def test_play_that_is_pressed_while_a_body_is_added_begins_once_it_is_there(qtbot, window, scene):
    """It was forgotten, although the button had become Pause."""
    entry(scene, "Free body: cube")
    assert window.workbench.opening.loading
    qtbot.keyClick(window, Qt.Key.Key_Space)
    settled(qtbot, scene)
    wait(qtbot, lambda: len(scene.objects) == 1 and window.workbench.robot.time > 0.1)


def test_a_number_that_begins_a_new_run_says_so_and_how_to_open_the_one_before(qtbot, make_window, tmp_path):
    window = started(make_window, tmp_path / "runs")
    window.open(engine.find_robot("arm7"))
    scene, bench, bar = window.features[SceneView], window.workbench, window.statusBar()
    scene.action.trigger()
    settled(qtbot, scene)
    entry(scene, "Free body: cube")
    settled(qtbot, scene)
    assert NEW_RUN not in bar.currentMessage()  # the robot stood still
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.1)
    type_in(qtbot, scene.panel.friction, 0.31)
    wait(qtbot, lambda: bar.currentMessage() == f"Friction of cube: 0.31{NEW_RUN}")
    shown(qtbot, window, "new_run")
    settled(qtbot, scene)
    assert "Ctrl+Shift+T" in NEW_RUN
    wait(qtbot, lambda: bench.robot.time > 0.1)
    window.run.play.trigger()
    wait(qtbot, lambda: window.kept.last is not None)
    earlier = window.kept.last
    qtbot.keyClick(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: bar.currentMessage() == f"Undone: Friction of cube: 0.31{NEW_RUN}")
    settled(qtbot, scene)
    wait(qtbot, lambda: window.kept.last not in (None, earlier))
    qtbot.keyClick(window, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    wait(qtbot, lambda: bench.replay.opened)
    assert bench.robot.parts[0].model.collisions[0].friction == 0.31


def test_no_object_is_added_beside_a_recorded_frame_where_it_or_the_run_would_be_lost(qtbot, make_window, tmp_path):
    first = started(make_window, tmp_path / "runs")
    first.open(engine.find_robot("scara"))
    wait(qtbot, lambda: first.workbench.robot.newest is not None)
    play_for(qtbot, first, 0.1)
    first.close()
    window = started(make_window, tmp_path / "runs")
    scene, bench, bar = window.features[SceneView], window.workbench, window.statusBar()
    qtbot.keyClick(window, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    wait(qtbot, lambda: bench.replay.opened and bench.replay.active and not bench.opening.loading)
    run, q = bench.replay.run, bench.replay.frame.checkpoint.q[0].copy()
    for name in ("Free body: ball", "Obstacle: ball"):
        entry(scene, name)
        assert bar.currentMessage() == (
            "a recorded frame is shown; to change objects press Branch here (Ctrl+B) to continue from it"
        )
        assert (bench.replay.run, bench.opening.loading, scene.objects) == (run, "", ())
    assert not window.features[UndoView].stack.canUndo()
    qtbot.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: not bench.replay.active)
    entry(scene, "Obstacle: ball")
    entry(scene, "Free body: ball")
    settled(qtbot, scene)
    wait(qtbot, lambda: bench.robot.newest is not None and np.array_equal(bench.robot.newest.q[:4], q))
    assert len(scene.objects) == 2
    qtbot.keyClick(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: len(scene.objects) == 1 and not bench.opening.loading)
    wait(qtbot, lambda: bench.robot.newest is not None and np.array_equal(bench.robot.newest.q, q))
    qtbot.keyClick(window, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    wait(qtbot, lambda: bench.replay.opened and not bench.opening.loading)
    assert np.array_equal(bench.replay.frame.checkpoint.q[0], q)


def test_a_recorded_frame_shows_the_numbers_of_its_body_and_why_it_stays(qtbot, window, falling):
    bench, panel = window.workbench, falling.panel
    wait(qtbot, lambda: bench.robot.time > 0.5)
    window.run.play.trigger()
    fallen = bench.surroundings.part_pose(0)[2, 3]
    qtbot.keyClick(window.viewport, Qt.Key.Key_Home)
    wait(qtbot, lambda: panel.place[2].value() == pytest.approx(100.0))
    for row in (0, -1, 0):  # selected while the frame is shown
        falling.choose(row)
    assert panel.place[2].value() == pytest.approx(100.0)
    assert not panel.place[2].isEnabled()
    told = "A recorded frame is shown; to move objects press Branch here (Ctrl+B) to continue from it"
    assert panel.note.text() == f"{told}, or End to return to the live simulation"
    qtbot.keyClick(window.viewport, Qt.Key.Key_End)
    wait(qtbot, lambda: panel.place[2].value() == pytest.approx(fallen, abs=1e-3))
    assert panel.place[2].isEnabled()
    assert panel.note.text() == HELP


def test_a_robot_stays_in_its_pose_while_a_body_is_added(qtbot, window, scene):
    bench = window.workbench
    bench.joints.set_coordinate(1, 0.5)
    wait(qtbot, lambda: bench.robot.newest.q[1] == 0.5)
    scene.add("box", True)
    assert bench.opening.loading
    window._timer.stop()
    while bench.opening.loading:
        window._poll()
    assert bench.robot.newest is None
    assert window.joints.table.q[1] == 0.5
    np.testing.assert_allclose(window.viewport.view().poses, engine.link_poses(bench.robot.model, bench.robot.q))
    window._timer.start()
