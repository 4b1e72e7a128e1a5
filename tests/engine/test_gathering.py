"""A robot's files, gathered so that they can be put anywhere."""

from pathlib import Path

import numpy as np
import pytest
import trimesh

import engine

URDF = """<?xml version="1.0"?>
<robot name="arm">
  <link name="base">
    <visual><geometry><mesh filename="package://arm_pack/meshes/a%20b.stl"/></geometry></visual>
    <visual><geometry><mesh scale="1 1 1" filename='../meshes/box &amp; lid.obj'/></geometry></visual>
    <visual><geometry><mesh filename="package://elsewhere/gone.stl"/></geometry></visual>
  </link>
</robot>
"""


@pytest.fixture
def package(tmp_path) -> Path:
    """A package with a robot of three meshes, one with a material and a texture, and one that is missing."""
    root = tmp_path / "arm_pack"
    for name in ("urdf", "meshes", "textures"):
        (root / name).mkdir(parents=True)
    (root / "package.xml").write_text("<package><name>arm_pack</name></package>")
    box = trimesh.creation.box((0.1, 0.2, 0.3))
    (root / "meshes" / "a%20b.stl").write_bytes(box.export(file_type="stl"))
    (root / "meshes" / "box & lid.obj").write_text("mtllib red.mtl\n" + box.export(file_type="obj"))
    (root / "meshes" / "red.mtl").write_text("newmtl red\nmap_Kd ../textures/red.png\n")
    (root / "textures" / "red.png").write_bytes(b"png")
    (root / "urdf" / "arm.urdf").write_text(URDF)
    return root / "urdf" / "arm.urdf"


def test_meshes_with_their_materials_are_named_from_the_urdf_and_missing_ones_are_told(package, tmp_path):
    gathered = engine.gather_robot(package)
    assert gathered.missing == ("package://elsewhere/gone.stl",)
    names = {name.partition("/")[2].partition("/")[2] for name in gathered.files}
    assert names == {"meshes/a%20b.stl", "meshes/box & lid.obj", "meshes/red.mtl", "textures/red.png"}
    there = tmp_path / "elsewhere"
    there.mkdir()
    (there / "arm.urdf").write_bytes(gathered.text)
    for name, file in gathered.files.items():
        (there / name).parent.mkdir(parents=True, exist_ok=True)
        (there / name).write_bytes(file.read_bytes())
    before, after = engine.load(package), engine.load(there / "arm.urdf")
    found = [Path(each.mesh).name for each in after.visuals if each.mesh and Path(each.mesh).is_file()]
    assert found == ["a%20b.stl", "box & lid.obj"]
    assert [len(model.visuals) for model in (before, after)] == [len(before.visuals)] * 2


def test_a_xacro_file_is_expanded_with_its_arguments(tmp_path):
    pytest.importorskip("xacrodoc")
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(
        '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="m" default="1"/><link name="a">'
        '<inertial><mass value="$(arg m)"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        "</robot>"
    )
    (tmp_path / "plain.urdf").write_bytes(engine.gather_robot(path, xacro_args={"m": "7"}).text)
    one = engine.load(tmp_path / "plain.urdf", floating=True)
    np.testing.assert_array_equal(one.mass, engine.load(path, floating=True, xacro_args={"m": "7"}).mass)
    assert 7.0 in one.mass


def test_a_file_that_is_no_robot_is_refused(tmp_path):
    (tmp_path / "no.urdf").write_bytes(b"\0\1\2")
    with pytest.raises(engine.ModelError, match=r"no\.urdf cannot be read"):
        engine.gather_robot(tmp_path / "no.urdf")
