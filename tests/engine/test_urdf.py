"""`engine.load`: real robots against Pinocchio, lumping, joints of every type, mimic joints, files."""

import math
import os
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from urdf_parts import INERTIAL, joint, link, robot

import engine
from engine import Model, ModelError, lie

ROMEOS = {"romeo.urdf", "romeo_laas_small.urdf"}
"""Fingers and grippers without any inertia: held, since Pinocchio's accelerations are not numbers there."""


def write(path: Path, *parts: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(robot(*parts), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def pin() -> Any:
    """The module pinocchio, the oracle."""
    return pytest.importorskip("pinocchio")


def peer(pin: Any, path: Path, model: Model) -> Any:
    """Pinocchio's model of the file, without the joints that ours holds."""
    whole = pin.buildModelFromUrdf(str(path))
    held = [whole.getJointId(name) for name in whole.names[1:] if name not in model.joint_names]
    return pin.buildReducedModel(whole, held, pin.neutral(whole)) if held else whole


def peer_q(pin: Any, theirs: Any, ours: Model, q: np.ndarray) -> Any:
    """A configuration of ours in Pinocchio's order and coordinates."""
    result = pin.neutral(theirs)
    for name in ours.joint_names:
        at = theirs.joints[theirs.getJointId(name)]
        own = q[ours.q_slice(name)]
        unbounded = at.nq == 2
        result[at.idx_q : at.idx_q + at.nq] = [np.cos(own[0]), np.sin(own[0])] if unbounded else own
    return result


def test_every_real_robot_loads(example_robots: list[Path]) -> None:
    assert len(example_robots) > 60
    for path in example_robots:
        for mimic in (True, False):
            model = engine.load(path, mimic=mimic)
            assert all(entry.severity == "warning" for entry in model.diagnostics)
        missing = [entry for entry in model.diagnostics if "is not found" in entry.problem]
        assert not missing or path.name == "romeo_laas_small.urdf"


def test_every_real_robot_loads_on_a_floating_base(example_robots: list[Path]) -> None:
    for path in example_robots:
        model = engine.load(path, floating=True)
        assert model.joints[0].name == "floating_base"
        assert model.link_body[0] == 0


def test_the_broken_one_is_refused_with_a_clear_error(example_robots: list[Path]) -> None:
    broken = next(path.parent / "ur3.urdf" for path in example_robots if path.name == "ur3_robot.urdf")
    with pytest.raises(ModelError, match=r"ur3\.urdf has 1 error:\n.*the robot has no links"):
        engine.load(broken)


def test_joints_and_inertias_are_pinocchios(example_robots: list[Path], pin: Any) -> None:
    for path in example_robots:
        ours = engine.load(path, mimic=False)
        theirs = peer(pin, path, ours)
        assert set(ours.joint_names) == set(theirs.names[1:]), path.name
        for each in ours.joints:
            body = each.bodies.stop - 1
            Y = theirs.inertias[theirs.getJointId(each.name)]
            link = int(np.flatnonzero(ours.link_body == body)[0])
            R = ours.link_rotation[link]
            mass, tensor = ours.mass[body], R.T @ ours.inertia[body] @ R
            expected = Y.inertia - Y.mass * lie.skew(Y.lever) @ lie.skew(Y.lever)
            scale = 1 + np.abs(expected).max()
            np.testing.assert_allclose(mass, Y.mass, rtol=1e-12, atol=1e-15, err_msg=f"{path.name} {each.name}")
            np.testing.assert_allclose(R.T @ ours.first_moment[body], Y.mass * Y.lever, atol=1e-12 * scale)
            np.testing.assert_allclose(tensor, expected, atol=1e-12 * scale, err_msg=f"{path.name} {each.name}")


def test_every_link_lies_where_pinocchio_puts_it(
    example_robots: list[Path], pin: Any, rng: np.random.Generator
) -> None:
    for path in example_robots:
        ours = engine.load(path, mimic=False)
        theirs = peer(pin, path, ours)
        data = theirs.createData()
        q = ours.random(rng)
        pin.framesForwardKinematics(theirs, data, peer_q(pin, theirs, ours, q))
        poses = engine.link_poses(ours, q)
        for name, pose in zip(ours.link_names, poses, strict=True):
            expected = data.oMf[theirs.getFrameId(name, pin.FrameType.BODY)].homogeneous
            np.testing.assert_allclose(pose, expected, atol=1e-10, err_msg=f"{path.name} {name}")


def test_held_joints_are_those_without_inertia(example_robots: list[Path]) -> None:
    for path in example_robots:
        held = [entry for entry in engine.load(path).diagnostics if "it is held" in entry.fix]
        assert bool(held) == (path.name in ROMEOS), path.name


def test_bodies_are_depth_first_in_the_files_order(tmp_path: Path) -> None:
    names = "base", "left", "right", "tip"
    path = write(
        tmp_path / "tree.urdf",
        *map(link, reversed(names)),
        joint("r", "base", "right"),
        joint("l", "base", "left"),
        joint("t", "right", "tip"),
    )
    model = engine.load(path)
    assert model.joint_names == ("r", "t", "l")
    assert model.link_names == ("base", "right", "tip", "left")
    assert model.parent.tolist() == [-1, 0, -1]


def test_fixed_links_are_lumped_and_stay_known(tmp_path: Path) -> None:
    path = write(
        tmp_path / "lumped.urdf",
        link("world"),
        link("arm"),
        link("tool"),
        joint("j", "world", "arm", inside='<axis xyz="0 1 0"/>'),
        joint("f", "arm", "tool", "fixed", '<origin xyz="0 0 3" rpy="0 0 0.5"/>'),
    )
    model = engine.load(path)
    assert model.link_names == ("world", "arm", "tool")
    assert model.link_body.tolist() == [-1, 0, 0]
    np.testing.assert_allclose(model.mass, [4])
    np.testing.assert_allclose(model.inertia[0], np.diag([18.2, 0.2, 18.2]), atol=1e-12)  # y is turned to z
    np.testing.assert_allclose(engine.link_poses(model, [math.pi / 2])[2, :3, 3], [3, 0, 0], atol=1e-12)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, -1), (0.6, 0, -0.8)])
def test_a_planar_joint_moves_in_its_plane(axis: tuple[float, float, float], tmp_path: Path) -> None:
    inside = f'<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="{axis[0]} {axis[1]} {axis[2]}"/>'
    path = write(tmp_path / "planar.urdf", link("a"), link("b"), joint("p", "a", "b", "planar", inside))
    model = engine.load(path)
    assert (model.nq, model.nv, model.joints[0].bodies) == (3, 3, slice(0, 3))
    assert model.mass.tolist() == [0, 0, 2]
    R0 = lie.rotation_from_rpy([0.1, 0.2, 0.3])
    for coordinates in ([0.5, 0, 0], [0, 0.5, 0], [0.3, -0.2, 0.7]):
        pose = engine.link_poses(model, coordinates)[1]
        moved = R0.T @ (pose[:3, 3] - [1, 2, 3])
        assert abs(moved @ axis) < 1e-12
        assert math.isclose(np.linalg.norm(moved), math.hypot(*coordinates[:2]), abs_tol=1e-12)
        spin = lie.exp([*(coordinates[2] * np.array(axis)), 0, 0, 0])[0]
        np.testing.assert_allclose(pose[:3, :3], R0 @ spin, atol=1e-12)


def test_a_floating_joint_carries_seven_coordinates(tmp_path: Path) -> None:
    path = write(
        tmp_path / "free.urdf",
        link("world", ""),
        link("base"),
        link("leg"),
        joint("free", "world", "base", "floating", '<origin xyz="0 0 1"/>'),
        joint("hip", "base", "leg"),
    )
    model = engine.load(path)
    assert (model.nq, model.nv, model.q_slice("hip")) == (8, 7, slice(7, 8))
    np.testing.assert_allclose(engine.link_poses(model, model.neutral())[1, :3, 3], [0, 0, 1])
    with pytest.raises(
        ModelError, match="already carries the robot by a floating joint; load it without adding"
    ) as text:
        engine.load(path, floating=True)
    assert len(text.value.diagnostics) == 1


def test_a_spherical_joint_turns_about_any_axis(tmp_path: Path) -> None:
    resistance = '<limit effort="3" velocity="4"/><dynamics damping="0.5" friction="0.25"/>'
    inside = '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/>' + resistance
    joints = joint("s", "a", "b", "spherical", inside), joint("r", "b", "c")
    model = engine.load(write(tmp_path / "ball.urdf", *map(link, "abc"), *joints))
    assert (model.nq, model.nv, model.q_slice("r"), model.v_slice("r")) == (5, 4, slice(4, 5), slice(3, 4))
    assert model.coordinate_names == ("s.wx", "s.wy", "s.wz", "r")
    assert model.diagnostics == ()
    np.testing.assert_array_equal(model.velocity_limit, [4, 4, 4, np.inf])
    np.testing.assert_array_equal(model.effort_limit, [3, 3, 3, np.inf])
    np.testing.assert_array_equal(model.damping, [0.5, 0.5, 0.5, 0])
    np.testing.assert_array_equal(model.friction, [0.25, 0.25, 0.25, 0])
    axis, angle = np.array([0.6, 0, -0.8]), 0.7
    q = [*np.sin(angle / 2) * axis, np.cos(angle / 2), 0]
    pose = engine.link_poses(model, q)[1]
    np.testing.assert_allclose(pose[:3, 3], [1, 2, 3])
    turned = lie.rotation_from_rpy([0.1, 0.2, 0.3]) @ lie.exp([*angle * axis, 0, 0, 0])[0]
    np.testing.assert_allclose(pose[:3, :3], turned, atol=1e-12)


LIMITS = '<limit lower="{}" upper="{}" effort="{}" velocity="{}"/><dynamics damping="{}" friction="{}"/>'


def test_limits_and_resistance_are_kept_per_velocity(tmp_path: Path) -> None:
    path = write(
        tmp_path / "limits.urdf",
        *map(link, "abcd"),
        joint("r", "a", "b", "revolute", LIMITS.format(-1, 2, 3, 4, 5, 6)),
        joint("c", "b", "c", "continuous", LIMITS.format(-1, 2, 30, 40, 0.5, 0.6)),
        joint("p", "c", "d", "prismatic", LIMITS.format(0, 0.5, 7, 8, 9, 10)),
    )
    model = engine.load(path)
    assert model.lower.tolist() == [-1, -math.inf, 0]
    assert model.upper.tolist() == [2, math.inf, 0.5]
    assert model.effort_limit.tolist() == [3, 30, 7]
    assert model.velocity_limit.tolist() == [4, 40, 8]
    assert model.damping.tolist() == [5, 0.5, 9]
    assert model.friction.tolist() == [6, 0.6, 10]


@pytest.fixture
def gripper(tmp_path: Path) -> Path:
    """b follows a, and c follows b: ``q_b = -2 q_a + 0.1``, ``q_c = 0.5 q_b + 0.2``."""
    of_b, of_a = '<mimic joint="b" multiplier="0.5" offset="0.2"/>', '<mimic joint="a" multiplier="-2" offset="0.1"/>'
    return write(
        tmp_path / "gripper.urdf",
        *map(link, "wxyz"),
        joint("c", "w", "x", "revolute", LIMITS.format(-9, 0.5, 1, 5, 3, 4) + of_b),
        joint("b", "x", "y", "revolute", LIMITS.format(-1, 9, 1, 6, 5, 7) + of_a),
        joint("a", "y", "z", "revolute", LIMITS.format(-5, 5, 2, 9, 1, 2)),
    )


def test_mimic_of_a_mimic_is_followed_exactly(gripper: Path, rng: np.random.Generator) -> None:
    model, free = engine.load(gripper), engine.load(gripper, mimic=False)
    assert [(entry.name, entry.leader) for entry in model.joints] == [("c", "a"), ("b", "a"), ("a", None)]
    assert (model.nq, model.nv, free.nv) == (1, 1, 3)
    assert [entry.q for entry in model.joints] == [slice(0, 0), slice(0, 0), slice(0, 1)]
    assert not free.has_mimic
    a = float(model.random(rng)[0])
    b = -2 * a + 0.1
    np.testing.assert_allclose(
        engine.link_poses(model, [a]), engine.link_poses(free, [0.5 * b + 0.2, b, a]), atol=1e-14
    )
    assert [str(entry) for entry in model.diagnostics] == [
        "line 6: warning: <mimic> of joint 'c': follows 'b', which itself mimics 'a'; -1 · a + 0.25 is used"
    ]


def test_followers_bring_their_limits_and_resistance(gripper: Path) -> None:
    model = engine.load(gripper)
    np.testing.assert_allclose([model.lower[0], model.upper[0]], [-0.25, 0.55])
    np.testing.assert_allclose(model.velocity_limit, [6 / 2])
    np.testing.assert_allclose(model.effort_limit, [2])
    np.testing.assert_allclose(model.damping, [1 + 4 * 5 + 1 * 3])
    np.testing.assert_allclose(model.friction, [2 + 2 * 7 + 1 * 4])


def test_a_held_joint_stays_at_its_neutral_position(tmp_path: Path) -> None:
    frame = '<origin xyz="0 0 1" rpy="0 0 1"/><axis xyz="1 0 0"/><limit lower="{}" upper="2" effort="1" velocity="1"/>'
    path = write(
        tmp_path / "held.urdf",
        link("a"), link("b"), link("c", ""), link("d", ""),
        joint("j", "a", "b"),
        joint("turn", "b", "c", "revolute", frame.format(0.5)),
        joint("slide", "c", "d", "prismatic", frame.format(0.3)),
    )  # fmt: skip
    model = engine.load(path)
    assert model.joint_names == ("j",)
    R = lie.rotation_from_rpy([0, 0, 1]) @ lie.rotation_from_rpy([0.5, 0, 0])
    c, d = engine.link_poses(model, [0.0])[2:]
    np.testing.assert_allclose(c[:3, :3], R, atol=1e-12)
    np.testing.assert_allclose(d[:3, 3], [0, 0, 1] + R @ ([0, 0, 1] + 0.3 * lie.rotation_from_rpy([0, 0, 1])[:, 0]))


def test_a_link_is_as_heavy_as_what_is_fixed_to_it(tmp_path: Path) -> None:
    light, heavy = (
        write(tmp_path / f"{name}.urdf", link("a"), link("b", ""), link("c", inside), link("d"),
              joint("turns", "a", "b"), joint("holds", "b", "c", "fixed"), joint("on", "c", "d"))
        for name, inside in (("light", ""), ("heavy", INERTIAL))
    )  # fmt: skip
    reported = [entry.problem for entry in engine.load(light).diagnostics]
    assert "it moves, and neither it nor what is fixed to it has mass" in reported
    assert engine.load(heavy).diagnostics == ()


def test_visuals_keep_shape_pose_and_colour(tmp_path: Path) -> None:
    shapes = {
        '<box size="1 2 3"/>': ("box", (1, 2, 3)),
        '<cylinder radius="1" length="2"/>': ("cylinder", (1, 2)),
        '<capsule radius="1" length="2"/>': ("capsule", (1, 2)),
        '<sphere radius="4"/>': ("sphere", (4,)),
        '<mesh filename="m.stl" scale="1 -1 1"/>': ("mesh", (1, -1, 1)),
        '<mesh filename="m.stl"/>': ("mesh", (1, 1, 1)),
        '<sphere radius="5"/>': ("sphere", (5,)),
    }
    visual = (
        '<visual><origin xyz="1 0 0" rpy="0 0 0.5"/><geometry>{}</geometry><material name="{}">{}</material></visual>'
    )
    paint = '<color rgba="0 1 0 0.5"/>'
    materials = [("red", ""), ("own", paint), ("own", ""), ("", paint), ("wood", ""), ("red", paint)]
    inside = "".join(visual.format(shape, *given) for shape, given in zip(shapes, materials, strict=False))
    inside += '<visual><geometry><sphere radius="5"/></geometry></visual>'
    wood = '<material name="wood"><texture filename="wood.png"/></material>'
    (tmp_path / "m.stl").touch()
    path = write(
        tmp_path / "r.urdf",
        '<material name="red"><color rgba="1 0 0 1"/></material>',
        wood,
        link("a", inside + INERTIAL),
    )
    model = engine.load(path)
    assert model.diagnostics == ()
    assert [(entry.shape, entry.size) for entry in model.visuals] == list(shapes.values())
    red, green = (1, 0, 0, 1), (0, 1, 0, 0.5)
    assert [entry.color for entry in model.visuals] == [red, green, green, green, None, green, None]
    assert model.visuals[4].mesh == str(tmp_path / "m.stl")
    np.testing.assert_allclose(model.visuals[0].pose[:3, :3], lie.rotation_from_rpy([0, 0, 0.5]))


def test_the_address_of_a_file_is_read_as_one(tmp_path: Path) -> None:
    mesh = tmp_path / "zwei Fälle" / "m.stl"
    mesh.parent.mkdir()
    mesh.touch()
    visual = f'<visual><geometry><mesh filename="{mesh.as_uri()}"/></geometry></visual>'
    assert "%20" in visual
    model = engine.load(write(tmp_path / "r.urdf", link("a", INERTIAL + visual)))
    assert Path(str(model.visuals[0].mesh)).samefile(mesh)


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("package://hand/meshes/m.stl", "beside"),
        ("package://hand/meshes/m.stl", "above"),
        ("package://hand/meshes/m.stl", "ROS_PACKAGE_PATH"),
        ("package://hand/meshes/m.stl", "AMENT_PREFIX_PATH"),
        ("package://hand/meshes/m.stl", "package_dirs"),
        ("package://hand/meshes/m.stl", "the package itself"),
        ("../meshes/m.stl", "above"),
        ("file://{}", "package_dirs"),
    ],
)
def test_meshes_are_found(name: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    folder = {"above": tmp_path / "hand" / "urdf"}.get(where, tmp_path / "robot")
    share = elsewhere / "share"
    package = {"above": tmp_path, "beside": folder, "AMENT_PREFIX_PATH": share}.get(where, elsewhere) / "hand"
    mesh = package / "meshes" / "m.stl"
    mesh.parent.mkdir(parents=True)
    mesh.touch()
    for variable in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        monkeypatch.setenv(variable, os.pathsep.join(["/nowhere", str(elsewhere)]) if where == variable else "")
    given = {"package_dirs": [elsewhere], "the package itself": [package]}.get(where, [])
    visual = f'<visual><geometry><mesh filename="{name.format(mesh)}"/></geometry></visual>'
    model = engine.load(write(folder / "r.urdf", link("a", INERTIAL + visual)), package_dirs=given)
    assert model.diagnostics == ()
    assert Path(str(model.visuals[0].mesh)).samefile(mesh)


def test_a_missing_mesh_stays_named(tmp_path: Path) -> None:
    visual = '<visual><geometry><mesh filename="package://hand/m.stl"/></geometry></visual>'
    model = engine.load(write(tmp_path / "r.urdf", link("a", INERTIAL + visual * 2)))
    assert [entry.mesh for entry in model.visuals] == ["package://hand/m.stl"] * 2
    assert len(model.diagnostics) == 1


XACRO = """<?xml version="1.0"?>
<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:property name="mass" value="2.5"/>
<xacro:macro name="part" params="name"><link name="${name}"><inertial><mass value="${2*mass}"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></xacro:macro>
<xacro:part name="a"/><xacro:part name="b"/>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 ${mass}"/></joint></robot>"""


def test_xacro_is_expanded(tmp_path: Path) -> None:
    pytest.importorskip("xacrodoc")
    path = tmp_path / "r.urdf.xacro"
    path.write_text(XACRO)
    model = engine.load(path)
    assert model.mass.tolist() == [5]
    (axis,) = model.diagnostics
    assert axis.element == "<axis> of joint 'j'"
    assert "line is that of the expanded text" in axis.fix
    assert axis.of_expanded_text
    lines = engine.expand_xacro(path).text.decode().splitlines()
    assert axis.line is not None
    assert 'xyz="0 0 2.5"' in lines[axis.line - 1]


def test_xacro_that_cannot_be_expanded_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("xacrodoc")
    path = tmp_path / "r.xacro"
    path.write_text(XACRO.replace("2*mass", "2*weight"))
    with pytest.raises(ModelError, match=r"xacro cannot expand r\.xacro: .*weight"):
        engine.load(path)


def test_xacro_without_xacrodoc_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xacrodoc", None)
    path = tmp_path / "r.urdf.xacro"
    path.write_text(XACRO)
    with pytest.raises(ModelError, match=r"needs? .*xacrodoc, which is not installed; pip install xacrodoc"):
        engine.load(path)


def chain(path: Path, n: int) -> Path:
    parts = [link("l0", "")]
    for i in range(n):
        parts += [
            link(f"l{i + 1}"),
            joint(
                f"j{i}", f"l{i}", f"l{i + 1}", "revolute", '<origin xyz="0 0 0.1"/>' + LIMITS.format(-1, 1, 1, 1, 0, 0)
            ),
        ]
    return write(path, *parts)


def test_long_chains_load_fast_and_in_linear_memory(tmp_path: Path) -> None:
    peaks = []
    for n in (500, 1000):
        path = chain(tmp_path / f"{n}.urdf", n)
        start = time.process_time()
        model = engine.load(path)
        assert time.process_time() - start < 0.5
        assert (model.nv, model.diagnostics) == (n, ())
        tracemalloc.start()
        engine.load(path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2.2 * peaks[0]
