"""The meshes that a robot's file names are read from its folders, and from nowhere else."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import engine
from engine.urdf import mesh_paths

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
        ("package://robot/{}/other/m.stl", False), ("package:///other/m.stl", False),
        ("package://../other/m.stl", False), ("package://other/m.stl", False),
        ("package://marked/m.stl", True), ("package:///marked/m.stl", True),
        ("file://%2e%2e/%2e%2e/other/m.stl", False), ("../../meshes/m.stl", True),
        ("../../meshes/../other/m.stl", False),
    ],
)  # fmt: skip
def test_a_mesh_cannot_lie_outside_the_robots_folders(name: str, read: bool, tmp_path: Path) -> None:
    for folder in ("robot/meshes", "other", "meshes", "marked"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "m.stl").touch()
    (tmp_path / "marked" / "package.xml").touch()
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
    assert Path(str(model.visuals[0].mesh)).is_absolute() == packaged


@pytest.fixture
def meshes_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    """Whether a robot at a place finds a mesh by a name; all below a folder that is home's."""
    monkeypatch.setenv("HOME", str(tmp_path / "users" / "me"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "users" / "me"))

    def found(robot: str, mesh: str, name: str) -> bool:
        for file in (tmp_path / robot, tmp_path / mesh):
            file.parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / mesh).touch()
        visual = f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'
        model = engine.load(write(tmp_path / robot, link("a", INERTIAL + visual)))
        assert len(model.diagnostics) == (model.visuals[0].mesh == name)
        return model.visuals[0].mesh == str(tmp_path / mesh)

    return found


def test_a_stray_folder_of_the_name_is_no_package(tmp_path: Path, meshes_found: Callable[..., bool]) -> None:
    """Such as one that another program left where all of them write."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    for robot in ("shared/r.urdf", "shared/mine/r.urdf", "shared/mine/urdf/r.urdf", "shared/mine/urdf/x/r.urdf"):
        assert not meshes_found(robot, "shared/parts/tip.stl", "package://parts/tip.stl"), robot
    (shared / "parts" / "package.xml").touch()
    for robot in ("shared/r.urdf", "shared/mine/r.urdf"):
        assert meshes_found(robot, "shared/parts/tip.stl", "package://parts/tip.stl")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_home_and_folders_that_are_anybodys_are_no_packages(tmp_path: Path, meshes_found: Callable[..., bool]) -> None:
    for folder, mesh in (("users/me", "secret"), ("users", "other/secret"), ("public", "secret")):
        (tmp_path / "public").mkdir(exist_ok=True, mode=0o777)
        (tmp_path / "public").chmod(0o777)
        name = Path(folder).name
        for robot in (f"{folder}/r.urdf", f"{folder}/a/r.urdf", f"{folder}/a/b/r.urdf", f"{folder}/a/b/c/r.urdf"):
            assert not meshes_found(robot, f"{folder}/{mesh}", f"package://{name}/{mesh}"), robot
            up = "/".join([".."] * (robot.count("/") - folder.count("/") - 1))
            own = not up
            assert meshes_found(robot, f"{folder}/{mesh}", f"{up}/{mesh}" if up else mesh) == own, robot


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such folder")
def test_a_folder_at_the_root_is_no_package() -> None:
    """Whatever its mode."""
    assert mesh_paths.is_shared(Path("/usr"))
    assert not mesh_paths.is_shared(Path("/usr/lib"))
    assert mesh_paths.Resources("/usr/a/r.urdf").packages("usr") == []
    assert mesh_paths.Resources("/usr/lib/r.urdf").packages("lib") == [Path("/usr/lib")]


@pytest.mark.parametrize(
    ("robot", "mesh", "marked"),
    [
        ("my_robot/urdf/r.urdf", "my_robot/meshes/m.stl", False),
        ("my_robot/r.urdf", "my_robot/meshes/m.stl", False),
        ("bundle/r.urdf", "bundle/my_robot/meshes/m.stl", False),
        ("src/my_robot/urdf/arms/left/r.urdf", "src/my_robot/meshes/m.stl", True),
        ("src/cell/urdf/r.urdf", "src/my_robot/meshes/m.stl", True),
    ],
)
def test_packages_are_found_around_a_robot(
    robot: str, mesh: str, marked: bool, tmp_path: Path, meshes_found: Callable[..., bool]
) -> None:
    """Downloads are recognised by their layout; ROS builds by their ``package.xml``."""
    assert meshes_found(f"home/{robot}", f"home/{mesh}", "package://my_robot/meshes/m.stl") != marked
    (tmp_path / "home" / mesh).parent.with_name("package.xml").touch()
    assert meshes_found(f"home/{robot}", f"home/{mesh}", "package://my_robot/meshes/m.stl")


def test_robots_of_others_find_their_meshes(example_robots: list[Path]) -> None:
    panda = engine.load(next(path for path in example_robots if path.name == "panda.urdf"))
    assert {Path(str(visual.mesh)).is_file() for visual in panda.visuals} == {True}
