"""A cube that an arm with a gripper grasps in the window, lifts, and that is recorded, replayed and exported."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_scene_view import settled, shown, type_in
from windows import frames_of, wait, wait_loaded

import engine
from app.features.attaching import LiveView, RunExports, SceneView
from app.panels.inspection import robot_facts

FINGER = """  <link name="{0}">
    <inertial><mass value="0.05"/><inertia ixx="2e-5" iyy="2e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="0.02 0.012 0.06"/></geometry><material name="rubber"/></visual>
    <collision><geometry><box size="0.02 0.012 0.06"/></geometry></collision>
  </link>
  <joint name="{0}" type="prismatic"><parent link="hand"/><child link="{0}"/><origin xyz="0 {1}0.046 0.1"/>
    <axis xyz="0 {2}1 0"/><limit lower="0" upper="0.04" effort="40" velocity="0.2"/><dynamics damping="5"/></joint>
"""


@pytest.fixture
def gripping(tmp_path) -> Path:
    """The arm that ships, with a hand whose fingers move."""
    text = engine.find_robot("arm7").read_text("utf-8")
    body, hand = text[: text.index('<link name="hand">')], text[text.index('<link name="hand">') :]
    hand = re.sub(r'    <(visual|collision)><origin xyz="0 -?0\.0[34]\d* .*\n', "", hand)
    file = tmp_path / "gripping.urdf"
    fingers = FINGER.format("left", "", "-") + FINGER.format("right", "-", "")
    file.write_text(body + hand.replace("</robot>", f"{fingers}</robot>"))
    return file


def put(qtbot, view, place, size) -> None:
    """Type where the chosen thing is to be, and how large."""
    for boxes, values in ((view.panel.sizes, size), (view.panel.place, place)):
        for box, value in zip(boxes, values, strict=False):
            type_in(qtbot, box, round(float(value), 4))


def go(qtbot, bench, seconds: float) -> None:
    end = bench.robot.newest.time + seconds
    wait(qtbot, lambda: bench.robot.newest.time >= end)


def test_a_cube_is_grasped_lifted_recorded_replayed_and_exported(qtbot, opened, gripping, tmp_path):
    window = opened(gripping)
    bench, view = window.workbench, window.features[SceneView]
    wait(qtbot, lambda: bench.robot.newest is not None)
    view.action.trigger()
    model = bench.robot.model
    finger = engine.link_poses(model, bench.robot.initial)[model.link_names.index("left")][:3, 3]
    x, top = round(float(finger[0]), 4), round(float(finger[2]) - 0.035, 4)
    view.add("box", False)
    put(qtbot, view, (x, 0.0, top / 2), (0.15, 0.15, top))
    view.add("box", True)
    settled(qtbot, view)
    put(qtbot, view, (x, 0.0, top + 0.025), ())
    wait(qtbot, lambda: bench.surroundings.part_pose(0)[2, 3] == pytest.approx(top + 0.025))
    rows = {row.name: k for k, row in enumerate(bench.robot.coordinates)}
    window.run.play.trigger()
    for name in ("left", "right"):
        bench.joints.set_coordinate(rows[name], 0.04)
    go(qtbot, bench, 0.5)
    shown(qtbot, window, "grasped")
    bench.joints.set_coordinate(rows["joint2"], -0.4)
    go(qtbot, bench, 1.2)
    window.run.play.trigger()
    qtbot.wait(100)
    lifted, end = bench.surroundings.part_pose(0)[:3, 3], bench.robot.newest.time
    assert lifted[2] > top + 0.1
    shown(qtbot, window, "lifted")
    facts = {row.label: row.text for part in robot_facts(bench.shown.model, bench.shown) for row in part.rows}
    net, squeezed = float(facts["contact"].split(", net ")[1].split()[0]), float(facts["contact, sum"].split()[0])
    assert squeezed > 10 * net > 0, "the fingers press against each other"
    assert squeezed > 20
    replay = bench.replay
    replay.seek(0.0)
    assert replay.frame.checkpoint.q[0, -5] == pytest.approx(bench.robot.initial[-5])
    file = tmp_path / "grasp.npz"
    exports = window.features[RunExports]
    exports.write(str(file), "npz")
    wait(qtbot, lambda: file.is_file() and not exports.writing.running)
    saved = engine.read_run(file)
    model = engine.robot_of_text(saved, engine.load)
    assert model.joint_names == bench.robot.model.joint_names
    assert saved.trajectory.time[-1] == pytest.approx(end)
    np.testing.assert_allclose(engine.link_poses(model, saved.trajectory.q[-1])[-1, :3, 3], lifted, atol=1e-6)
    # The torques that held arm and cube up, and those of the fingers that press it.
    loads, held = engine.static_loads(model, saved.trajectory.q[-1]), model.joint_names.index("joint2")
    assert abs(loads[held]) > 5
    assert saved.trajectory.tau[-1, held] == pytest.approx(loads[held], rel=0.1)
    assert saved.trajectory.tau[-1, model.joint_names.index("left")] > 1
    window.open(file)
    wait(qtbot, lambda: not bench.opening.loading and replay.opened)
    assert [each.name for each in view.objects] == ["Box 1", "cube"]
    assert len(replay.frame.setup.settings.scene.obstacles) == 1


@pytest.fixture
def script(runtime):
    """Starts the script that grasps; its process, and the folder of its live link."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / "grasping_script.py"), "3"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"XDG_RUNTIME_DIR": str(runtime), "PYTHONPATH": str(engine.ROBOTS.parent)},
    )  # fmt: skip
    yield process, Path(process.stdout.readline().strip())
    process.kill()
    process.communicate()


def test_a_grasp_of_a_script_is_watched_replayed_and_exported(qtbot, window, script, tmp_path):
    process, _ = script
    view, bench = window.features[LiveView], window.workbench
    view.action.trigger()
    wait(qtbot, lambda: view.reader is not None)
    wait_loaded(qtbot, window)
    process.stdin.write("\n")
    process.stdin.flush()
    wait(qtbot, lambda: bench.replay.frame.time > 4.9)
    reported = json.loads(process.stdout.readline())
    assert reported["share_of_time"] < 0.02
    assert reported["lifted_by"] > 0.2
    process.stdin.write("\n")
    process.stdin.flush()
    wait(qtbot, lambda: view.reader is None)
    run, recording = bench.replay.growing, bench.replay.recording
    frames = frames_of(recording, run)
    assert frames[-1].checkpoint.q[0, -5] == pytest.approx(reported["lifted_by"], abs=1e-6)
    model = frames[-1].setup.model
    fingers = {model.link_names.index(f"panda_{side}finger") for side in ("left", "right")}
    pressed = set(frames[-1].contacts.link[0]) | set(frames[-1].contacts.other[0])
    assert fingers < pressed
    bench.replay.seek(2.0)
    assert bench.replay.frame.checkpoint.q[0, -5] == pytest.approx(0.0, abs=2e-3)  # it is pressed, and lies
    file, exports = tmp_path / "grasp.npz", window.features[RunExports]
    exports.write(str(file), "npz")
    wait(qtbot, lambda: file.is_file() and not exports.writing.running)
    saved = engine.read_run(file).trajectory
    held = model.joint_names.index("panda_joint2")
    assert saved.tau[-1, held] == pytest.approx(engine.static_loads(model, saved.q[-1])[held], rel=0.1)
