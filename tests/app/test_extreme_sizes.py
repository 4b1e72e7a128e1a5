"""Robots of a micrometre and of a thousand kilometres, and one without joints: they are seen as others are."""

import numpy as np
import pytest
from windows import wait

import engine
from app.gl import offscreen
from app.gl.camera import MAX_DISTANCE, MIN_DISTANCE, Camera
from app.gl.scene import Scene
from app.panels.inspection import fixed_facts
from app.panels.joints import VALUE

ROBOT = """<robot name="robot">
  <link name="base"><visual><geometry><box size="{0} {0} {1}"/></geometry></visual></link>
  <link name="arm">
    <inertial><mass value="1"/><inertia ixx="{2}" ixy="0" ixz="0" iyy="{2}" iyz="0" izz="{2}"/></inertial>
    <visual><origin xyz="0 0 {1}"/><geometry><cylinder radius="{1}" length="{0}"/></geometry></visual>
  </link>
  <joint name="turn" type="continuous">
    <parent link="base"/><child link="arm"/><origin xyz="0 0 {1}"/><axis xyz="0 0 1"/>
  </joint>
</robot>
"""
LIFT = """<robot name="lift">
  <link name="base"/>
  <link name="slide"><inertial>
    <origin xyz="0 0 5e-5" rpy="0 0 1"/><mass value="1e-4"/>
    <inertia ixx="1e-12" ixy="0" ixz="0" iyy="1e-12" iyz="0" izz="2e-12"/>
  </inertial></link>
  <joint name="up" type="prismatic">
    <parent link="base"/><child link="slide"/><axis xyz="0 0 1"/>
    <limit lower="-4e-4" upper="4e-4" effort="200" velocity="2"/>
  </joint>
</robot>
"""
ALONE = """<robot name="alone"><link name="base">
  <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  <visual><geometry><box size="1 1 1"/></geometry></visual>
</link></robot>
"""


@pytest.fixture
def of_size(tmp_path):
    def load(size: float) -> engine.Model:
        path = tmp_path / "robot.urdf"
        path.write_text(ROBOT.format(size, size / 5, min(size**2, 1e10)))
        return engine.load(path)

    return load


@pytest.mark.usefixtures("gl")
@pytest.mark.parametrize("size", [1e-6, 1e-3, 1e3, 1e6])
def test_the_picture_does_not_know_how_large_a_robot_is(of_size, size):
    robots = [of_size(each) for each in (1.0, size)]
    usual, other = (
        offscreen.draw(Scene(robot), engine.link_poses(robot, robot.neutral()), 160, 120).astype(int)
        for robot in robots
    )
    assert np.ptp(usual) > 100
    assert np.abs(usual - other).mean() < 1.0


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_the_camera_comes_nearer_by_steps_whatever_the_size(size):
    camera = Camera()
    camera.fit(np.full(3, -size), np.full(3, size))
    before = camera.distance
    assert 2 < before / size < 10
    camera.zoom(1.1)
    assert camera.distance == pytest.approx(before / 1.1)
    for factor in (1e30, 1e-30):
        camera.zoom(factor)
        assert camera.distance in (MIN_DISTANCE, MAX_DISTANCE)
        assert np.all(np.isfinite(camera.view()))
        assert np.all(np.isfinite(camera.projection(1.5)))


def test_a_robot_without_joints_plays_steps_and_is_reset(qtbot, opened, tmp_path):
    path = tmp_path / "alone.urdf"
    path.write_text(ALONE)
    window = opened(path)
    bench = window.workbench
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.1)
    window.run.play.trigger()
    window.run.step.trigger()
    window.run.reset.trigger()
    wait(qtbot, lambda: bench.robot.time == 0.0 and bench.robot.newest.time == 0.0)
    assert window.statusBar().currentMessage() == ""


def test_a_tiny_robot_is_held_and_its_numbers_are_no_zeros(qtbot, opened, tmp_path):
    """A slide of 0.8 mm, which sank to the ground as one of any travel may, and was shown to 0.1 mm."""
    path = tmp_path / "lift.urdf"
    path.write_text(LIFT)
    window = opened(path)
    bench, panel = window.workbench, window.joints
    assert bench.robot.settings.held
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.2)
    window.run.play.trigger()
    wait(qtbot, lambda: panel.table.index(0, VALUE).data() == "-0.016 mm")
    assert bench.robot.newest.q[0] == pytest.approx(-1.6e-5, rel=0.03)
    reported = {row.label: row.text for section in fixed_facts(bench.robot.model, 1) for row in section.rows}
    assert reported["CoM in link, mm"] == "0 0 0.05000"
    assert reported["I₁ I₂ I₃, kg m²"] == "1.00e-12 1.00e-12 2.00e-12"
    assert reported["Ixy Ixz Iyz, kg m²"] == "0 0 0"


SIZES = [(1e-2, "CoM, mm", "nJ"), (1.0, "CoM, mm", "J"), (1e2, "CoM, m", "MJ")]


@pytest.mark.parametrize(("scale", "place", "unit"), SIZES)
def test_energies_and_places_have_the_units_of_the_robots_size(qtbot, opened, tmp_path, scale, place, unit):
    """A pendulum of a kilogramme and of 0.4 m, and others of its density."""
    path, size, mass = tmp_path / "robot.urdf", 0.4 * scale, scale**3
    inertial = f'<inertial><origin xyz="{size} 0 0"/><mass value="{mass}"/>' + (
        '<inertia ixx="{0}" ixy="0" ixz="0" iyy="{0}" iyz="0" izz="{0}"/></inertial>'.format(0.01 * mass * size**2)
    )
    joint = '<joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>'
    path.write_text(f'<robot name="r"><link name="base"/><link name="arm">{inertial}</link>{joint}</robot>')
    window = opened(path)
    bench, column = window.workbench, window.joint_column
    column.ask(True)
    row = bench.robot.coordinates[0]
    bench.joints.set_coordinate(0, -0.5)
    wait(qtbot, lambda: bench.robot.newest is not None and row.value(bench.robot.newest.q) == -0.5)
    work, height = mass * 9.81 * size * np.sin(0.5), size * np.sin(0.5)
    per = {"J": 1.0, "nJ": 1e-9, "MJ": 1e6}[unit]

    def shown() -> dict[str, str]:
        return dict(line.split("\t")[:2] for line in column.facts.text().splitlines() if "\t" in line)

    wait(qtbot, lambda: shown().get("potential energy") == f"{work / per:.2f} {unit}")
    assert shown()["kinetic energy"] == f"0.00 {unit}"
    assert shown()[place].split()[-1] == f"{height if place.endswith(', m') else 1000 * height:.2f}"
