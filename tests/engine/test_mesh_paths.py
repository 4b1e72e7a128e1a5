"""Where the meshes that a robot's file names may lie: in its folders, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

import engine

INERTIAL = '<inertial><mass value="2"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>'


def write(path: Path, link: str) -> Path:
    path.write_text(f'<robot name="r">{link}</robot>', encoding="utf-8")
    return path


def link(name: str, inside: str) -> str:
    return f'<link name="{name}">{inside}</link>'


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("../meshes/m.stl", True), ("../../other/m.stl", False), ("../meshes/../../other/m.stl", False),
        ("{}/robot/meshes/m.stl", True), ("{}/other/m.stl", False), ("file://{}/other/m.stl", False),
        ("package://robot/meshes/m.stl", True), ("package://robot/../other/m.stl", False),
        ("package://robot/{}/other/m.stl", False), ("package:///other/m.stl", True),
        ("package://../other/m.stl", False), ("package://other/m.stl", True),
        ("file://%2e%2e/%2e%2e/other/m.stl", False), ("../../meshes/m.stl", True),
        ("../../meshes/../other/m.stl", False),
    ],
)  # fmt: skip
def test_a_mesh_cannot_lie_outside_the_robots_folders(name: str, read: bool, tmp_path: Path) -> None:
    for folder in ("robot/meshes", "other", "meshes"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "m.stl").touch()
    visual = f'<visual><geometry><mesh filename="{name.format(tmp_path)}"/></geometry></visual>'
    path = tmp_path / "robot" / "urdf" / "r.urdf"
    path.parent.mkdir()
    model = engine.load(write(path, link("a", INERTIAL + visual)))
    assert Path(str(model.visuals[0].mesh)).is_absolute() == read
    assert len(model.diagnostics) == (not read)
    given = engine.load(path, package_dirs=[tmp_path / "other"])
    assert Path(str(given.visuals[0].mesh)).is_absolute() or "package" in name


@pytest.mark.parametrize(
    "name", ["file://{}/arms/meshes/m.stl", "{}/arms/meshes/m.stl", "file://package://arms/meshes/m.stl"]
)
@pytest.mark.parametrize("packaged", [True, False])
def test_a_mesh_may_lie_in_another_package_as_xacro_writes_it(name: str, packaged: bool, tmp_path: Path) -> None:
    for package in ("arms", "cell"):
        (tmp_path / package / "meshes").mkdir(parents=True)
        (tmp_path / package / "urdf").mkdir()
        if packaged:
            (tmp_path / package / "package.xml").touch()
    (tmp_path / "arms" / "meshes" / "m.stl").touch()
    visual = f'<visual><geometry><mesh filename="{name.format(tmp_path)}"/></geometry></visual>'
    model = engine.load(write(tmp_path / "cell" / "urdf" / "r.urdf", link("a", INERTIAL + visual)))
    assert Path(str(model.visuals[0].mesh)).is_absolute() == (packaged or "package://" in name)


def test_a_mesh_that_is_missing_is_not_read_from_where_the_program_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collision = '<collision><geometry><mesh filename="m.obj"/></geometry></collision>'
    (tmp_path / "robot").mkdir()
    model = engine.load(write(tmp_path / "robot" / "r.urdf", link("a", INERTIAL + collision)), floating=True)
    (tmp_path / "m.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"the collision mesh m\.obj was not found"):
        engine.Simulation(model, scene=engine.Scene())


def test_meshes_of_a_robot_without_a_package_may_stand_some_folders_up(tmp_path: Path) -> None:
    """One of a package stays in it."""
    folder, shared = tmp_path / "a" / "b" / "c" / "d" / "e", tmp_path / "a" / "meshes" / "m.stl"
    folder.mkdir(parents=True)
    for place in (shared, tmp_path / "meshes" / "m.stl"):
        place.parent.mkdir()
        place.touch()

    def found(name: str) -> str:
        visual = f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'
        return str(engine.load(write(folder / "r.urdf", link("a", INERTIAL + visual))).visuals[0].mesh)

    assert found("../../../../meshes/m.stl") == str(shared)
    assert found("../../../../../meshes/m.stl") == "../../../../../meshes/m.stl"
    (folder.parent / "package.xml").touch()
    assert found("../../../../meshes/m.stl") == "../../../../meshes/m.stl"
