"""Named poses of an SRDF in the window: the menu, the button above the sliders, and in which one a robot begins."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from test_run_files import export, open_run
from test_scene_view import entry, settled
from test_time import play
from windows import boxed, wait

import engine
from app.features.attaching import PaletteView, PoseMenu, RunExports, SceneView, UndoView
from app.simulation.starting import first_pose, start_of

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def example(example_robots: list[Path], tmp_path):
    return lambda stem: boxed(next(path for path in example_robots if path.stem == stem), tmp_path)


def posed(window, name: str) -> None:
    """Select that entry of the menu."""
    next(each for each in window.features[PoseMenu].menu.actions() if each.text() == name).trigger()


def listed(window) -> list[str]:
    """The names of the poses in the menu, above the commands for saved ones."""
    names = [each.text() for each in window.features[PoseMenu].menu.actions() if not each.isSeparator()]
    return names[: names.index("&Save pose…")]


def reached(qtbot, window, name: str) -> None:
    model, bench = window.workbench.robot.model, window.workbench
    at = model.q_of_v[model.q_of_v >= 0]
    wait(qtbot, lambda: bench.robot.newest is not None and np.allclose(bench.robot.newest.q[at], model.pose(name)[at]))


@pytest.mark.parametrize(
    ("stem", "pose", "joints"),
    [
        ("panda", "default", "panda_joint4"),
        ("go2", "standing", "FL_calf_joint and 3 more"),
        ("kinova", "arm_up", "j2s6s200_joint_2 and 2 more"),
    ],
)
def test_zero_outside_the_limits_it_begins_in_a_pose_of_its_srdf(qtbot, window, opened, example, stem, pose, joints):
    messages = []
    window.statusBar().messageChanged.connect(messages.append)
    opened(example(stem))
    reached(qtbot, window, pose)
    reported = f"it starts in the pose {pose!r} of its SRDF, since zero is outside the limits of {joints}"
    assert reported in messages
    assert listed(window) == ["neutral", pose]


def test_a_robot_whose_zero_is_its_own_begins_there(qtbot, opened, example):
    window = opened(example("z1"))
    reached(qtbot, window, "neutral")
    assert listed(window) == ["neutral", "home", "arm_up"]
    window = opened(engine.find_robot("arm7"))
    assert listed(window) == ["neutral"]


def test_a_pose_is_taken_and_given_back_in_one_step_and_reset_goes_back_to_it(qtbot, opened, example):
    window = opened(example("z1"))
    bench = window.workbench
    reached(qtbot, window, "neutral")
    posed(window, "arm_up")
    reached(qtbot, window, "arm_up")
    assert window.features[UndoView].undo.text() == "&Undo Pose arm_up"
    newest, n = bench.robot.newest, bench.robot.model.nv - 1
    np.testing.assert_allclose(newest.target[:n], newest.q[:n])
    qtbot.keyClick(window, Qt.Key.Key_Z, CTRL)
    reached(qtbot, window, "neutral")
    posed(window, "home")
    reached(qtbot, window, "home")
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.newest.time > 0.05)
    window.run.play.trigger()
    window.run.reset.trigger()
    reached(qtbot, window, "home")


def test_while_it_plays_the_drives_move_held_joints_to_a_pose(qtbot, opened, example):
    window = opened(example("z1"))
    bench, bar = window.workbench, window.statusBar()
    reached(qtbot, window, "neutral")
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.newest.time > 0.05)
    posed(window, "arm_up")
    assert bar.currentMessage() == "the drives move the joints to the pose 'arm_up'"
    assert window.features[UndoView].undo.text() == "&Undo Pose arm_up"
    model = bench.robot.model
    at, end = model.q_of_v[model.q_of_v >= 0], model.pose("arm_up")
    wait(qtbot, lambda: np.abs(bench.robot.newest.q[at] - end[at]).max() < 0.05)
    assert bench.robot.playing
    assert bench.robot.newest.time > 0.1
    qtbot.keyClick(window, Qt.Key.Key_Z, CTRL)
    wait(qtbot, lambda: np.abs(bench.robot.newest.q[at] - model.pose("neutral")[at]).max() < 0.05)
    window.run.hold.trigger()
    wait(qtbot, lambda: not bench.robot.settings.held)
    posed(window, "arm_up")
    assert "no joint is held" in bar.currentMessage()
    assert not bench.robot.settings.held
    bench.replay.seek(0.05)
    window.refresh()
    assert not next(each for each in window.features[PoseMenu].menu.actions() if each.text() == "home").isEnabled()


def test_a_robot_on_its_feet_is_put_on_the_ground_in_its_pose(qtbot, opened, example):
    window = opened(example("solo12"))
    window.workbench.open_again(floating=True)
    wait(qtbot, lambda: window.workbench.robot.floating and not window.workbench.opening.loading)
    bench = window.workbench
    wait(qtbot, lambda: bench.robot.newest is not None)
    bench.configuring.set_ground(True)
    heights = {}
    for name in ("standing", "neutral"):
        posed(window, name)
        reached(qtbot, window, name)
        q = bench.actions.state.q
        np.testing.assert_allclose(q, engine.put_down(bench.robot.model, bench.robot.settings.scene, q))
        heights[name] = q[2]
    assert heights["standing"] < heights["neutral"] - 0.02


def test_what_is_beside_the_robot_stays_and_the_list_is_the_robots(qtbot, opened, example):
    window = opened(example("panda"))
    reached(qtbot, window, "default")
    scene = window.features[SceneView]
    scene.action.trigger()
    entry(scene, "Free body: cube")
    settled(qtbot, scene)
    bench = window.workbench
    assert listed(window) == ["neutral", "default"]
    place = bench.surroundings.part_pose(0)
    posed(window, "neutral")
    wait(qtbot, lambda: abs(bench.robot.newest.q[1]) < 1e-9)
    np.testing.assert_allclose(bench.surroundings.part_pose(0), place, atol=1e-9)
    posed(window, "default")
    wait(qtbot, lambda: bench.robot.newest.q[1] == pytest.approx(-0.785398))
    np.testing.assert_allclose(bench.surroundings.part_pose(0), place, atol=1e-9)


def test_a_pose_outside_the_limits_says_what_is_set_instead(qtbot, opened, tmp_path):
    path = Path(shutil.copy(engine.find_robot("scara"), tmp_path))
    joints = {"stroke": 5, "elbow": 1.0 + 4 * np.pi, "shoulder": -3}
    named = "".join(f'<joint name="{name}" value="{value}"/>' for name, value in joints.items())
    path.with_suffix(".srdf").write_text(
        f'<robot name="scara"><group_state name="far" group="all">{named}</group_state></robot>'
    )
    window = opened(path)
    bar, model = window.statusBar(), window.workbench.robot.model
    stroke = "stroke 5000.0 mm is outside -210.0 mm to 0.0 mm; 0.0 mm is set"
    shoulder = "shoulder -171.9 ° is outside -140.0 ° to 70.0 °; -140.0 ° is set"
    (reported,) = model.diagnostics
    assert reported.problem.startswith("it has 2 problems: line 1: 5 is outside the joint's limits, -0.21 to 0 m")
    posed(window, "far")
    reached(qtbot, window, "far")
    assert bar.currentMessage() == f"pose 'far': {shoulder}; {stroke}"
    (action,) = [each for each in window.features[PoseMenu].menu.actions() if each.text() == "far"]
    assert action.toolTip() == f"A pose of 3 joints, by the robot's SRDF; {shoulder}; {stroke}"
    window.run.play.trigger()
    wait(qtbot, lambda: window.workbench.robot.playing)
    posed(window, "far")
    assert bar.currentMessage() == f"the drives move the joints to the pose 'far'; {shoulder}; {stroke}"


def test_poses_are_in_the_palette_and_above_the_sliders(qtbot, opened, example):
    window = opened(example("z1"))
    reached(qtbot, window, "neutral")
    palette = window.features[PaletteView]
    palette.show()
    palette.palette.line.setText("arm_up")
    assert palette.palette.list.topLevelItem(0).text(0) == "Simulation › Pose › arm_up"
    qtbot.keyClick(palette.palette.line, Qt.Key.Key_Return)
    reached(qtbot, window, "arm_up")
    view = window.features[PoseMenu]
    assert view.button.menu() is view.menu
    assert view.button.isVisible()
    header = window.joints.horizontalHeader()
    assert header.rect().contains(view.button.geometry())


def test_the_parts_of_a_composed_robot_begin_as_they_do_alone(example):
    model = engine.load(example("panda"), srdf="beside")
    both = engine.compose(model, engine.Part(model, (1, 0, 0), "second/"))
    assert start_of(model).pose == "default"
    np.testing.assert_array_equal(first_pose(both), [*model.pose("default"), *model.pose("default")])
    assert start_of(engine.load(example("panda"))).pose == "neutral"  # without an SRDF


def test_a_run_has_its_robots_srdf_with_it(qtbot, opened, example, tmp_path, monkeypatch):
    window = opened(example("panda"))
    reached(qtbot, window, "default")
    pairs = window.workbench.robot.model.disabled_collisions
    play(qtbot, window, 0.05)
    path = tmp_path / "run.npz"
    export(qtbot, window, window.features[RunExports].trajectory, path, monkeypatch)
    window = opened(engine.find_robot("pendulum"))
    open_run(qtbot, window, path)
    assert list(window.workbench.robot.model.group_states) == ["default"]
    assert window.workbench.robot.model.disabled_collisions == pairs
    assert Path(engine.read_run(path).settings["srdf"]).name == "panda.srdf"
