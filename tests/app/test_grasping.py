"""A cube that an arm with a gripper grasps in the window, lifts, and that is recorded, replayed and exported."""

from __future__ import annotations

import json
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


def go(qtbot, bench, seconds: float) -> None:
    end = bench.newest.time + seconds
    wait(qtbot, lambda: bench.newest.time >= end)


def test_a_cube_is_grasped_lifted_recorded_replayed_and_exported(qtbot, opened, gripping, tmp_path):
    window = opened(gripping)
    bench, view = window.workbench, window.features[SceneView]
    wait(qtbot, lambda: bench.newest is not None)
    view.action.trigger()
    view.add("box", True)
    settled(qtbot, view)
    panel = view.panel
    hand = engine.link_poses(bench.model, bench.initial)[bench.model.link_names.index("left")][:3, 3]
    for box, value in zip(panel.place, (hand[0], 0.0, hand[2]), strict=True):
        type_in(qtbot, box, round(float(value), 4))
    wait(qtbot, lambda: bench.part_pose(0)[2, 3] == pytest.approx(hand[2], abs=1e-3))
    rows = {row.name: k for k, row in enumerate(bench.coordinates)}
    window.run.gravity.trigger()  # until it is held
    window.run.play.trigger()
    for finger in ("left", "right"):
        bench.set_coordinate(rows[finger], 0.04)
    go(qtbot, bench, 0.5)
    window.run.gravity.trigger()
    go(qtbot, bench, 0.3)
    held = bench.part_pose(0)[:3, 3]
    assert held[2] == pytest.approx(hand[2], abs=0.02)
    bench.set_coordinate(rows["joint2"], -0.4)
    go(qtbot, bench, 1.2)
    window.run.play.trigger()
    lifted = bench.part_pose(0)[:3, 3]
    assert lifted[2] > held[2] + 0.05
    shown(qtbot, window, "lifted")
    run = bench.replay.chosen
    window.features[RunExports]  # noqa: B018
    bench.replay.seek(0.0)
    wait(qtbot, lambda: bench.frame() is None or True)
    frame = bench.replay.frame
    assert frame.time == 0.0
    file = tmp_path / "grasp.npz"
    window.features[RunExports].write(str(file))
    wait(qtbot, lambda: file.is_file() and not window.features[RunExports].writing.running)
    saved = engine.read_run(file)
    model = engine.robot_of_text(saved, engine.load)
    assert model.joint_names == bench.model.joint_names
    assert json.dumps(saved.settings["parts"])
    assert run is not None
    last = engine.link_poses(model, saved.trajectory.q[-1])[-1, :3, 3]
    np.testing.assert_allclose(last, lifted, atol=1e-6)
    window.open(file)
    wait(qtbot, lambda: not bench.loading and bench.replay.opened)
    assert [each.name for each in view.things] == ["cube"]
