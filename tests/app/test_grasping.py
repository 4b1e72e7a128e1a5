"""A cube that an arm with a gripper grasps in the window, lifts, and that is recorded, replayed and exported."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from test_scene_view import settled, shown, type_in
from windows import wait

import engine
from app.features.run_exports import RunExports
from app.features.scene_view import SceneView

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
    end = bench.newest.time + seconds
    wait(qtbot, lambda: bench.newest.time >= end)


def test_a_cube_is_grasped_lifted_recorded_replayed_and_exported(qtbot, opened, gripping, tmp_path):
    window = opened(gripping)
    bench, view = window.workbench, window.features[SceneView]
    wait(qtbot, lambda: bench.newest is not None)
    view.action.trigger()
    finger = engine.link_poses(bench.model, bench.initial)[bench.model.link_names.index("left")][:3, 3]
    x, top = round(float(finger[0]), 4), round(float(finger[2]) - 0.035, 4)
    view.add("box", False)
    put(qtbot, view, (x, 0.0, top / 2), (0.15, 0.15, top))
    view.add("box", True)
    settled(qtbot, view)
    put(qtbot, view, (x, 0.0, top + 0.025), ())
    wait(qtbot, lambda: bench.part_pose(0)[2, 3] == pytest.approx(top + 0.025))
    rows = {row.name: k for k, row in enumerate(bench.coordinates)}
    window.run.play.trigger()
    for name in ("left", "right"):
        bench.set_coordinate(rows[name], 0.04)
    go(qtbot, bench, 0.5)
    shown(qtbot, window, "grasped")
    bench.set_coordinate(rows["joint2"], -0.4)
    go(qtbot, bench, 1.2)
    window.run.play.trigger()
    qtbot.wait(100)
    lifted, end = bench.part_pose(0)[:3, 3], bench.newest.time
    assert lifted[2] > top + 0.1
    shown(qtbot, window, "lifted")
    replay = bench.replay
    replay.seek(0.0)
    assert replay.frame.checkpoint.q[0, -5] == pytest.approx(bench.initial[-5])
    file = tmp_path / "grasp.npz"
    exports = window.features[RunExports]
    exports.write(str(file), "npz")
    wait(qtbot, lambda: file.is_file() and not exports.writing.running)
    saved = engine.read_run(file)
    model = engine.robot_of_text(saved, engine.load)
    assert model.joint_names == bench.model.joint_names
    assert saved.trajectory.time[-1] == pytest.approx(end)
    np.testing.assert_allclose(engine.link_poses(model, saved.trajectory.q[-1])[-1, :3, 3], lifted, atol=1e-6)
    window.open(file)
    wait(qtbot, lambda: not bench.loading and replay.opened)
    assert [each.name for each in view.things] == ["Box 1", "cube"]
    assert len(replay.frame.setup.settings.scene.obstacles) == 1
