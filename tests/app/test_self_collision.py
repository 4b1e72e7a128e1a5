"""Simulation › Self-collision: links that pass through each other, or touch, as the user chooses."""

import numpy as np
import pytest
from windows import wait

import engine
from app.features import session_scene
from app.features.ground_view import GroundView
from app.features.self_collision_view import NO_SHAPES, SelfCollisionView
from app.simulation.messages import Settings


def pendulum(name: str, x: float) -> str:
    """A ball of 5 cm on a rod of 30 cm, which turns about y; its axis is x m beside the middle."""
    return f"""
      <link name="{name}"><inertial><origin xyz="0 0 -0.3"/><mass value="1"/>
        <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
        <collision><origin xyz="0 0 -0.3"/><geometry><sphere radius="0.05"/></geometry></collision></link>
      <joint name="{name}_hinge" type="continuous"><parent link="base"/><child link="{name}"/>
        <origin xyz="{x} 0 1"/><axis xyz="0 1 0"/></joint>"""


@pytest.fixture
def pendulums(shown, tmp_path):
    """Two beside each other, the first of which is at the side and about to swing into the other."""
    robot = tmp_path / "pendulums.urdf"
    robot.write_text(f'<robot name="pendulums"><link name="base"/>{pendulum("a", -0.06)}{pendulum("b", 0.06)}</robot>')
    window = shown(robot)
    window.workbench.posing.pose(np.array([1.0, 0.0]))
    if window.run.hold.isChecked():
        window.run.hold.trigger()
    return window


def swung(qtbot, window) -> float:
    """Return the other's swing angle after 0.6 s, rad."""
    window.run.play.trigger()
    wait(qtbot, lambda: window.workbench.robot.newest.time > 0.6)
    window.run.play.trigger()
    return float(abs(window.workbench.robot.newest.q[1]))


def test_links_pass_through_each_other_at_first(qtbot, pendulums):
    action = pendulums.features[SelfCollisionView].action
    assert action in pendulums.menus.simulation.actions()
    assert action.isEnabled()
    assert not action.isChecked()
    assert swung(qtbot, pendulums) == 0.0


def test_links_touch_once_the_user_says_so(qtbot, pendulums):
    pendulums.features[SelfCollisionView].action.trigger()
    assert pendulums.workbench.robot.settings.scene.self_collision
    assert pendulums.workbench.robot.settings.ground
    assert swung(qtbot, pendulums) > 0.1


def test_another_ground_leaves_it_on(shown):
    window = shown(engine.find_robot("quadruped"))
    window.features[SelfCollisionView].action.trigger()
    window.features[GroundView].shapes[1].trigger()
    assert window.workbench.robot.settings.scene.self_collision
    assert window.workbench.robot.settings.scene.ground.normal[2] < 1.0
    window.features[SelfCollisionView].action.trigger()
    assert not window.workbench.robot.settings.scene.self_collision
    assert window.workbench.robot.settings.scene.ground.normal[2] < 1.0


def test_a_robot_without_shapes_says_why_it_has_no_choice(opened, tmp_path):
    robot = tmp_path / "bare.urdf"
    robot.write_text(
        '<robot name="bare"><link name="base"/><link name="arm"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/></joint></robot>'
    )
    action = opened(robot).features[SelfCollisionView].action
    assert not action.isEnabled()
    assert action.toolTip() == NO_SHAPES


def chain(tmp_path, name: str, base: str, arm: str) -> str:
    """A fixed base and two links, of which the base and the last have these shapes."""
    shape = "<collision><geometry>{}</geometry></collision>"
    inertial = """<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>"""
    links = [f'<link name="base">{shape.format(base) if base else ""}</link>']
    for k, of in enumerate(("", arm)):
        links.append(f'<link name="l{k}">{inertial}{shape.format(of) if of else ""}</link>')
        parent = "base" if k == 0 else "l0"
        links.append(
            f'<joint name="j{k}" type="continuous"><parent link="{parent}"/><child link="l{k}"/>'
            '<origin xyz="1 0 0"/><axis xyz="0 1 0"/></joint>'
        )
    robot = tmp_path / f"{name}.urdf"
    robot.write_text(f'<robot name="{name}">{"".join(links)}</robot>')
    return str(robot)


BALL, GONE = '<sphere radius="0.1"/>', '<mesh filename="gone.stl"/>'


@pytest.mark.parametrize(("base", "arm"), [(BALL, GONE), (GONE, BALL), ("", "")])
def test_a_robot_that_cannot_touch_itself_opens_without(qtbot, pendulums, tmp_path, base, arm):
    action = pendulums.features[SelfCollisionView].action
    action.trigger()
    pendulums.open(chain(tmp_path, "broken", base, arm))
    wait(qtbot, lambda: pendulums.workbench.robot.model.name == "broken")
    assert not pendulums.workbench.robot.settings.scene.self_collision
    assert not action.isChecked()


def test_a_robot_that_can_touch_itself_opens_with_what_was_chosen(qtbot, pendulums, tmp_path):
    pendulums.features[SelfCollisionView].action.trigger()
    pendulums.open(chain(tmp_path, "whole", BALL, BALL))
    wait(qtbot, lambda: pendulums.workbench.robot.model.name == "whole")
    assert pendulums.workbench.robot.settings.scene.self_collision


def test_a_robot_without_shapes_lets_what_is_on_be_turned_off(qtbot, opened, tmp_path):
    window = opened(chain(tmp_path, "bare", "", ""))
    action = window.features[SelfCollisionView].action
    assert not action.isEnabled()
    window.workbench.configuring.set_self_collision(True)  # as a session does
    wait(qtbot, lambda: action.isChecked() and action.isEnabled())
    action.trigger()
    wait(qtbot, lambda: not action.isChecked() and not action.isEnabled())


def test_settings_come_back_from_what_was_touched():
    off, on = Settings(), Settings(scene=engine.Scene(friction=0.3, self_collision=True))
    slope = engine.Scene(ground=engine.slope(0.1), self_collision=True)
    assert off.touched is None
    assert on.touched == engine.Scene(ground=None, friction=0.3, self_collision=True)
    for before in (off, on):
        for after in (off, on, Settings(ground=True, scene=slope), Settings(ground=True)):
            again = before.touching(after.touched)
            assert (again.ground, again.scene.self_collision) == (after.ground, after.scene.self_collision)
            assert again.touched == after.touched
    assert session_scene.read(session_scene.write(slope)).self_collision
