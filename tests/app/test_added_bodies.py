"""The ground under the first free body beside a robot that has none."""

from __future__ import annotations

import pytest
from PyQt6.QtCore import Qt
from test_scene_view import entry, settled
from windows import wait

from app.features.scene_view import BELOW, SceneView
from app.features.status import BODIES_NOTE, BODIES_TIP, LOW_NOTE, Status

BARE = """<robot name="bare">
  <link name="base"/>
  <link name="arm"><inertial><origin xyz="0 0 0.5"/><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>{shape}</link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="100" velocity="10"/></joint>
</robot>"""
HANGING = '<collision><origin xyz="0 0 -0.5"/><geometry><box size="0.1 0.1 0.9"/></geometry></collision>'


def test_a_body_beside_a_robot_without_shapes_lies_on_the_ground(qtbot, shown, tmp_path):
    (tmp_path / "bare.urdf").write_text(BARE.format(shape=""), encoding="utf-8")
    window = shown(tmp_path / "bare.urdf")
    bench, view = window.workbench, window.features[SceneView]
    assert not bench.robot.settings.ground
    entry(view, "Free body: cube")
    settled(qtbot, view)
    wait(qtbot, lambda: bench.robot.settings.ground)
    assert window.feature(Status).note_label.text() == ""
    height = bench.surroundings.part_pose(0)[2, 3]
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.5)
    assert bench.surroundings.part_pose(0)[2, 3] == pytest.approx(height, abs=1e-3)
    window.run.play.trigger()
    wait(qtbot, lambda: not bench.robot.playing)
    qtbot.keyClick(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: not bench.opening.loading and not bench.robot.parts and not bench.robot.settings.ground)
    entry(view, "Free body: cube")
    settled(qtbot, view)
    wait(qtbot, lambda: bench.robot.settings.ground)
    bench.configuring.set_ground(False)
    settled(qtbot, view)
    entry(view, "Free body: ball")  # the second one leaves the ground as it was set
    settled(qtbot, view)
    wait(qtbot, lambda: len(bench.robot.parts) == 2 and not bench.robot.settings.ground)
    assert "reaches below" not in window.statusBar().currentMessage()


def test_a_body_below_a_hanging_robot_is_said_to_fall(qtbot, shown, tmp_path):
    (tmp_path / "hanging.urdf").write_text(BARE.format(shape=HANGING), encoding="utf-8")
    window = shown(tmp_path / "hanging.urdf")
    view = window.features[SceneView]
    entry(view, "Free body: cube")
    settled(qtbot, view)
    wait(qtbot, lambda: window.feature(Status).note_label.text() == BODIES_NOTE)
    assert window.feature(Status).note_label.toolTip() == BODIES_TIP
    assert window.statusBar().currentMessage() == BELOW.format(robot="bare")
    entry(view, "Free body: ball")
    settled(qtbot, view)
    wait(qtbot, lambda: window.statusBar().currentMessage() != BELOW.format(robot="bare"))  # said once
    window.run.ground.trigger()
    wait(qtbot, lambda: window.feature(Status).note_label.text() == LOW_NOTE)


def test_a_robot_that_hangs_only_in_its_neutral_pose_stands_as_it_starts(qtbot, shown, tmp_path):
    """Its SRDF's pose is judged, since zero is outside its limits."""
    text = BARE.format(shape=f"{HANGING}{HANGING.replace('collision', 'visual')}").replace('lower="-1"', 'lower="1"')
    (tmp_path / "upright.urdf").write_text(text.replace('upper="1"', 'upper="4"'), encoding="utf-8")
    pose = '<group_state name="up" group="all"><joint name="hinge" value="3.14"/></group_state>'
    (tmp_path / "bare.srdf").write_text(f'<robot name="bare">{pose}</robot>', encoding="utf-8")
    window = shown(tmp_path / "upright.urdf")
    bench, view, note = window.workbench, window.features[SceneView], window.feature(Status).note_label
    assert bench.robot.q[0] == pytest.approx(3.14)
    assert bench.robot.settings.ground
    assert window.viewport.floor == 0.0
    entry(view, "Free body: cube")
    settled(qtbot, view)
    wait(qtbot, lambda: len(bench.robot.parts) == 1)
    assert bench.robot.settings.ground
    assert note.text() == ""
    assert window.viewport.floor == pytest.approx(0.0, abs=1e-8)
