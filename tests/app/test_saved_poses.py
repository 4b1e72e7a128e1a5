"""Poses that a user saves under a name: saved, taken, renamed, deleted, and kept with their robot between starts."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QInputDialog
from test_time import play
from windows import wait

import engine
from app.acting import saved_poses
from app.features.attaching import PaletteView, PoseMenu, UndoView
from app.features.pose_menu import KEY

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="upper">INERTIAL</link>
  <link name="lower">INERTIAL</link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="9" velocity="9"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="9" velocity="9"/></joint>
</robot>
""".replace(
    "INERTIAL",
    '<inertial><origin xyz="0.3 0 0"/><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>',
)


def stored(window) -> dict[str, saved_poses.Pose]:
    """The poses of the arm in the settings, by name."""
    return saved_poses.read(window.settings.value(KEY))["arm"]


@pytest.fixture
def typed(monkeypatch):
    """Answer the next dialogs for a name with these texts, or leave them where there is none."""
    answers: list[str] = []
    monkeypatch.setattr(QInputDialog, "getText", lambda *_, **__: (answers.pop(0), True) if answers else ("", False))
    return answers


def entries(menu) -> dict:
    menu.aboutToShow.emit()
    return {each.text(): each for each in menu.actions() if not each.isSeparator()}


def command(window, *path: str) -> None:
    """Trigger an entry of the Pose menu or of a menu in it."""
    found = entries(window.features[PoseMenu].menu)[path[0]]
    for text in path[1:]:
        found = entries(found.menu())[text]
    found.trigger()


def reached(qtbot, window, q) -> None:
    bench = window.workbench
    wait(qtbot, lambda: bench.robot.newest is not None and np.allclose(bench.robot.newest.q, q))


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM, encoding="utf-8")
    return path


def moved(qtbot, window, q) -> None:
    for row, value in enumerate(q):
        window.joints.moved.emit(row, value)
    reached(qtbot, window, q)


def test_a_pose_is_saved_taken_and_undone(qtbot, opened, arm, typed):
    window = opened(arm)
    moved(qtbot, window, [0.5, -1.0])
    typed.append(" reach & hold ")
    command(window, "&Save pose…")
    assert window.statusBar().currentMessage() == "pose saved: Simulation › Pose › reach & hold"
    moved(qtbot, window, [0.0, 0.25])
    command(window, "reach && hold")
    reached(qtbot, window, [0.5, -1.0])
    assert window.features[UndoView].undo.text().endswith("Pose reach && hold")
    qtbot.keyClick(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    reached(qtbot, window, [0.0, 0.25])
    typed.append("reach & hold")
    command(window, "&Save pose…")
    said = "pose replaced, and Undo (Ctrl+Z) brings the one before back: Simulation › Pose › reach & hold"
    assert window.statusBar().currentMessage() == said


def test_a_pose_is_renamed_and_deleted(opened, arm, typed):
    window = opened(arm)
    for name in ("first", "second"):
        typed.append(name)
        command(window, "&Save pose…")
    window.features[PoseMenu].rename("first", "second")
    assert window.statusBar().currentMessage() == (
        "there is a pose 'second' already; type another name, or delete it first"
    )
    typed.append("third")
    command(window, "&Rename", "first")
    assert list(entries(window.features[PoseMenu].menu))[:3] == ["neutral", "third", "second"]
    command(window, "&Delete", "second")
    command(window, "&Delete", "third")
    assert list(entries(window.features[PoseMenu].menu)) == ["neutral", "&Save pose…"]


def test_a_change_of_saved_poses_is_undone_and_what_another_window_saved_stays(qtbot, opened, arm, typed):
    window = opened(arm)
    view, undo = window.features[PoseMenu], window.features[UndoView]
    poses = {}
    for value in (0.5, 0.75):
        moved(qtbot, window, [value, -1.0])
        typed.append("reach")
        command(window, "&Save pose…")
        poses[value] = stored(window)["reach"]
    assert poses[0.5] != poses[0.75]
    command(window, "&Delete", "reach")
    assert window.statusBar().currentMessage() == "pose deleted: reach; Undo brings it back"
    window.settings.setValue(KEY, json.dumps({"arm": {"elsewhere": poses[0.5]}}))
    undo.undo.trigger()
    assert window.statusBar().currentMessage() == "Undone: Delete pose reach"
    assert stored(window) == {"reach": poses[0.75], "elsewhere": poses[0.5]}
    undo.undo.trigger()  # what the second one replaced
    assert stored(window) == {"reach": poses[0.5], "elsewhere": poses[0.5]}
    undo.redo.trigger()
    undo.redo.trigger()
    assert list(entries(view.menu))[:2] == ["neutral", "elsewhere"]
    typed.append("there")
    command(window, "&Rename", "elsewhere")
    assert undo.undo.text() == "&Undo Rename pose elsewhere to there"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("  ", "a pose needs a name; type at least one letter"),
        ("neutral", "'neutral' is a pose of the robot itself; type another name"),
    ],
)
def test_a_name_that_cannot_be_is_refused_and_asked_for_again(opened, arm, monkeypatch, name, told):
    window, asked, answers = opened(arm), [], [name, "bent", name, "bent", "up"]

    def answer(_parent: object, _title: str, label: str, text: str) -> tuple[str, bool]:
        asked.append((label, text))
        return answers.pop(0), True

    monkeypatch.setattr(QInputDialog, "getText", answer)
    window.features[PoseMenu].keep(name)  # as a script may
    assert window.statusBar().currentMessage() == told
    again = f"{told[0].upper()}{told[1:]}.\nName of the pose:"
    command(window, "&Save pose…")
    assert asked == [("Name of the pose:", ""), (again, name)]
    assert list(entries(window.features[PoseMenu].menu))[:2] == ["neutral", "bent"]
    window.features[PoseMenu].keep("straight")
    del asked[:]
    command(window, "&Rename", "straight")
    taken = "There is a pose 'bent' already; type another name, or delete it first.\nName of the pose:"
    assert asked == [("Name of the pose:", "straight"), (again, name), (taken, "bent")]
    assert list(entries(window.features[PoseMenu].menu))[:3] == ["neutral", "bent", "up"]


def test_poses_stay_with_their_robot_between_starts(qtbot, make_window, arm, typed):
    first = make_window()
    first.open(arm)
    wait(qtbot, lambda: first.workbench.robot.model is not None and not first.workbench.opening.loading)
    moved(qtbot, first, [0.5, -1.0])
    typed.append("reach")
    command(first, "&Save pose…")
    second = make_window()  # the first one still runs: the pose is written at once
    second.open(engine.find_robot("pendulum"))
    wait(qtbot, lambda: second.workbench.robot.model is not None and not second.workbench.opening.loading)
    assert list(entries(second.features[PoseMenu].menu)) == ["neutral", "&Save pose…"]
    second.open(arm)
    wait(qtbot, lambda: second.workbench.robot.model.name == "arm" and not second.workbench.opening.loading)
    command(second, "reach")
    reached(qtbot, second, [0.5, -1.0])


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('name="elbow" type="revolute"', 'name="wrist" type="revolute"', "the robot has no joint elbow"),
        (
            'name="elbow" type="revolute"',
            'name="elbow" type="prismatic"',
            "elbow is a prismatic joint, in the pose a revolute one",
        ),
        ('lower="-2" upper="2"', 'lower="-0.5" upper="2"', "elbow is outside its limits, -0.5 to 2 rad"),
    ],
)
def test_a_pose_that_no_longer_fits_says_why(qtbot, opened, arm, typed, old, new, why):
    window = opened(arm)
    moved(qtbot, window, [0.5, -1.0])
    typed.append("reach")
    command(window, "&Save pose…")
    arm.write_text(ARM.replace(old, new), encoding="utf-8")
    opened(arm)
    assert entries(window.features[PoseMenu].menu)["reach"].toolTip() == f"This pose does not fit the robot: {why}"
    before = window.workbench.actions.state.q
    command(window, "reach")
    told = f"the pose 'reach' does not fit arm: {why}; save it again, or delete it"
    assert window.statusBar().currentMessage() == told
    np.testing.assert_array_equal(window.workbench.actions.state.q, before)


def test_a_pose_lacks_a_new_joint_and_a_free_base_may_come_and_go():
    chain, longer = engine.chain(2), engine.chain(3)
    pose = saved_poses.pose_of(chain, np.array([0.1, 0.2]))
    lacking = longer.joints[2].name
    assert saved_poses.misfit(longer, pose) == f"it has no value for {lacking}"
    assert saved_poses.misfit(chain, pose) == ""
    free = engine.load(engine.find_robot("quadruped"))
    q = free.neutral()
    q[:3] = 1.0, 2.0, 3.0
    based = saved_poses.pose_of(free, q)
    np.testing.assert_array_equal(saved_poses.q_with_pose(free, based, free.neutral()), q)
    base = next(joint.name for joint in free.joints if joint.kind == "floating")
    without = {name: each for name, each in based.items() if name != base}
    assert saved_poses.misfit(free, without) == ""


def test_the_pose_of_a_recorded_frame_is_saved(qtbot, opened, arm, typed):
    window = opened(arm)
    bench = window.workbench
    bench.joints.set_held(False)
    play(qtbot, window, 0.3)
    bench.replay.show(0)
    recorded = bench.replay.frame.checkpoint.q[0].copy()
    typed.append("start")
    command(window, "&Save pose…")
    assert not entries(window.features[PoseMenu].menu)["start"].isEnabled()
    pose = stored(window)["start"]
    np.testing.assert_array_equal([values[0] for _, values in pose.values()], recorded)
    assert not np.allclose(recorded, bench.actions.state.q)


def test_saved_poses_are_in_the_palette_and_in_a_joints_menu(qtbot, opened, arm, typed):
    window = opened(arm)
    moved(qtbot, window, [0.5, -1.0])
    typed.append("reach")
    menu = window.joints.row_menu(0)
    next(each for each in menu.actions() if each.text() == "&Save pose…").trigger()
    moved(qtbot, window, [0.0, 0.0])
    palette = window.features[PaletteView]
    palette.show()
    palette.palette.line.setText("pose reach")
    assert palette.palette.list.topLevelItem(0).text(0) == "Simulation › Pose › reach"
    qtbot.keyClick(palette.palette.line, Qt.Key.Key_Return)
    reached(qtbot, window, [0.5, -1.0])


def test_a_settings_file_that_cannot_be_written_is_reported(opened, arm, typed):
    window = opened(arm)
    path = Path(window.settings.fileName())
    path.unlink(missing_ok=True)
    path.mkdir()
    typed.append("reach")
    command(window, "&Save pose…")
    told = f"the poses cannot be written to {path}; make that file writable"
    assert window.statusBar().currentMessage() == told
    assert "reach" not in entries(window.features[PoseMenu].menu)
    shutil.rmtree(path)
    typed.append("reach")
    command(window, "&Save pose…")
    assert window.statusBar().currentMessage() == "pose saved: Simulation › Pose › reach"


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "3",
        '{"arm": 3}',
        '{"arm": {"reach": 3}}',
        '{"arm": {"reach": {"elbow": 3}}}',
        '{"arm": {"reach": {"elbow": ["revolute", [NaN]]}}}',
        '{"arm": {"reach": {"base": ["floating", [0, 0, 0, 0, 0, 0, 0]]}}}',
    ],
)
def test_damaged_poses_are_left_out(text):
    assert saved_poses.read(text).get("arm", {}) == {}


def test_a_damaged_pose_leaves_the_others():
    whole = {"elbow": ["revolute", [0.5]]}
    read = saved_poses.read(json.dumps({"arm": {"bad": 1, "reach": whole}, "other": []}))
    assert read == {"arm": {"reach": {"elbow": ("revolute", [0.5])}}}
