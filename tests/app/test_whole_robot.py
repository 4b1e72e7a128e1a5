"""The mass of a robot whose base is fixed to the world, which its model leaves out."""

import numpy as np
import pytest
from test_right_column import facts
from windows import wait

import engine
from app.panels.inspection import FIXED
from app.plotting.quantities import center_of_mass

FILE = """<robot name="lamp">
  <link name="base"><inertial><origin xyz="0.1 0 0.2"/><mass value="8"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.3"/></inertial></link>
  <link name="plate">{plate}</link>
  <joint name="screw" type="fixed"><parent link="base"/><child link="plate"/><origin xyz="0 0 1"/></joint>
  <link name="arm"><inertial><origin xyz="0 0 0.5"/><mass value="2"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="hinge" type="revolute"><parent link="plate"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="50" velocity="3"/></joint>
</robot>"""
PLATE = '<inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>'


def numbers(text: str) -> list[float]:
    return [float(each) for each in text.split()]


@pytest.fixture
def lamp(qtbot, opened, tmp_path):
    path = tmp_path / "lamp.urdf"
    path.write_text(FILE.format(plate=PLATE), "utf-8")
    window = opened(path)
    window.resize(1500, 1100)
    wait(qtbot, lambda: "total mass" in facts(window))
    return window


def test_the_total_mass_and_its_centre_are_beside_those_that_move(lamp):
    found, frame = facts(lamp), lamp.workbench.robot.newest
    assert (found["total mass"], found["moving mass"]) == ("11.00 kg", "2.000 kg")
    moving = center_of_mass(frame.model, frame.link_poses)
    assert numbers(found["CoM, mm"]) == pytest.approx(1000 * moving, abs=0.01)
    whole = (8 * np.array([0.1, 0, 0.2]) + np.array([0, 0, 1.0]) + 2 * moving) / 11
    assert numbers(found["CoM with base, mm"]) == pytest.approx(1000 * whole, abs=0.01)


def test_a_link_that_is_fixed_to_the_world_has_its_mass_and_inertia(qtbot, lamp):
    lamp.selection.choose(0)
    wait(qtbot, lambda: facts(lamp).get("mass") == "9.000 kg, fixed to the world")
    found = facts(lamp)
    assert found["of the body"] == "with plate"
    assert numbers(found["CoM in link, mm"]) == pytest.approx([88.89, 0.0, 288.9], abs=0.06)


def test_a_free_base_counts_once(qtbot, opened):
    window = opened(engine.find_robot("quadruped"))
    window.resize(1500, 1100)
    wait(qtbot, lambda: "moving mass" in facts(window))
    qtbot.wait(200)
    assert "total mass" not in facts(window)


def test_a_base_without_mass_has_none(qtbot, opened, tmp_path):
    path = tmp_path / "bare.urdf"
    path.write_text(FILE.format(plate="").replace('<mass value="8"/>', '<mass value="0"/>'), "utf-8")
    window = opened(path)
    window.resize(1500, 1100)
    window.selection.choose(0)
    wait(qtbot, lambda: facts(window).get("mass") == FIXED)
