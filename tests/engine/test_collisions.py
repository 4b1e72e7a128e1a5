"""Collision shapes: read, found and named like visuals, written back, and counted."""

import dataclasses
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from conftest import EXAMPLE_ROBOTS

import engine
from engine import cli, lie

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
ARM = """<robot name="arm">
  <link name="base"><collision name="foot"><geometry><box size="1 2 3"/></geometry></collision></link>
  <link name="tip">{inertial}
    <visual name="shell"><geometry>{mesh}</geometry></visual>
    {more}
  </link>
  <joint name="j" type="continuous"><parent link="base"/><child link="tip"/><axis xyz="0 0 1"/></joint>
</robot>"""
SOLIDS = {
    '<cylinder radius="1" length="2"/>': ("cylinder", (1, 2)),
    '<capsule radius="1" length="2"/>': ("capsule", (1, 2)),
    '<sphere radius="4"/>': ("sphere", (4,)),
    '<mesh filename="package://hand/palm.stl" scale="1 -1 1"/>': ("mesh", (1, -1, 1)),
}
MESH = '<mesh filename="package://hand/palm.stl"/>'


@pytest.fixture
def load(tmp_path):
    """Loads the arm above with more in its second link; the mesh file is there, and no mesh."""

    def load(more: str, found: bool = True) -> engine.Model:
        palm = tmp_path / "hand" / "palm.stl"
        palm.parent.mkdir(exist_ok=True)
        palm.write_text("no mesh at all")
        path = tmp_path / "arm.urdf"
        mesh = MESH if found else MESH.replace("palm", "fist")
        path.write_text(ARM.format(inertial=INERTIAL, mesh=mesh, more=more), encoding="utf-8")
        return engine.load(path)

    return load


def collision(solid: str, name: str = "") -> str:
    named = f' name="{name}"' if name else ""
    return f'<collision{named}><origin xyz="1 0 0" rpy="0 0 0.5"/><geometry>{solid}</geometry></collision>'


def test_collision_shapes_keep_link_shape_size_pose_and_name(load, tmp_path):
    model = load("".join(collision(solid, f"c{k}") for k, solid in enumerate(SOLIDS)))
    assert model.diagnostics == ()
    assert all(type(entry) is engine.Collision for entry in model.collisions)
    assert [(entry.shape, entry.size) for entry in model.collisions] == [("box", (1, 2, 3)), *SOLIDS.values()]
    assert [model.link_names[entry.link] for entry in model.collisions] == ["base"] + ["tip"] * 4
    assert [entry.name for entry in model.collisions] == ["foot", "c0", "c1", "c2", "c3"]
    assert model.collisions[4].mesh == model.visuals[0].mesh == str(tmp_path / "hand" / "palm.stl")
    assert [entry.mesh for entry in model.collisions[:4]] == [None] * 4
    np.testing.assert_array_equal(model.collisions[0].pose, np.eye(4))
    np.testing.assert_allclose(model.collisions[1].pose[:3, :3], lie.rotation_from_rpy([0, 0, 0.5]))
    np.testing.assert_array_equal(model.collisions[1].pose[:3, 3], [1, 0, 0])
    assert not model.collisions[1].pose.flags.writeable
    assert model.visuals[0].name == "shell"


def test_a_mesh_that_is_missing_is_told_once_wherever_it_stands(load):
    missing = MESH.replace("palm", "fist")
    model = load(collision(missing) * 3, found=False)
    assert [entry.mesh for entry in (*model.visuals, *model.collisions[1:])] == ["package://hand/fist.stl"] * 4
    assert len(model.diagnostics) == 1
    (reported,) = load(collision(missing)).diagnostics
    assert "package://hand/fist.stl is not found" in reported.problem


def test_a_shape_that_is_none_is_left_out_and_told(load):
    model = load(collision('<cone radius="1"/>') + collision('<sphere radius="-1"/>') + collision(""))
    assert len(model.collisions) == 1
    assert len(model.diagnostics) == 3


def test_written_urdf_gives_the_same_shapes_back(tmp_path):
    model = engine.chain(4, seed=2)
    assert "<collision" not in engine.to_urdf(model)
    solids = [
        ("box", (0.1, 0.2, 0.3), None, ""), ("sphere", (0.5,), None, "a <name>"), ("cylinder", (0.1, 0.4), None, ""),
        ("capsule", (0.1, 0.4), None, "c"), ("mesh", (1.0, 2.0, 3.0), str(tmp_path / "m & n.stl"), ""),
    ]  # fmt: skip
    (tmp_path / "m & n.stl").touch()
    collisions = tuple(
        engine.Collision(k, kind, size, _pose(k), mesh=mesh, name=name)
        for k, (kind, size, mesh, name) in enumerate(solids)
    )
    path = tmp_path / "chain.urdf"
    path.write_text(engine.to_urdf(dataclasses.replace(model, collisions=collisions)), encoding="utf-8")
    again = engine.load(path)
    assert again.diagnostics == ()
    assert len(again.visuals) == len(model.visuals)
    for one, other in zip(collisions, again.collisions, strict=True):
        for part in ("link", "shape", "size", "mesh", "name"):
            assert getattr(one, part) == getattr(other, part)
        np.testing.assert_allclose(one.pose, other.pose, atol=1e-12)


def _pose(k: int) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = lie.rotation_from_rpy([0.1 * k, 0.2, -0.3]), (k, 0.5, -1)
    return pose


def test_info_counts_them(load, capsys):
    path = load(collision('<sphere radius="1"/>')).source
    assert cli.main(["info", path, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["visuals"], facts["collisions"]) == (1, 2)
    assert cli.main(["info", path]) == 0
    assert "1 shapes to draw, 2 that collide" in capsys.readouterr().out


@pytest.mark.parametrize("path", EXAMPLE_ROBOTS, ids=lambda path: path.stem)
def test_real_robots_have_all_that_their_files_say(path: Path):
    model = engine.load(path)
    root = ET.parse(path).getroot()
    for tag, shapes in (("visual", model.visuals), ("collision", model.collisions)):
        assert len(shapes) == sum(len(entry.find("geometry")) > 0 for entry in root.iterfind(f"link/{tag}"))
