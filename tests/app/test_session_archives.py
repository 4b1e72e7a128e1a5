"""A session with its robot in one .zip: opened where nothing else of it is; hostile archives are refused."""

import json
import shutil
import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest
import trimesh
from windows import press, wait, wait_loaded

import engine
from app.features.attaching import SessionArchiveView
from app.features.sessions import Sessions
from app.recording import session_archives

ARM = """<robot name="arm"><link name="base"/><joint name="hinge" type="revolute"><parent link="base"/>
<child link="rod"/><axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="20" velocity="9"/></joint><link name="rod">
<inertial><origin xyz="0 0 0.3"/><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
</inertial><visual><geometry><mesh filename="package://arm_pack/meshes/rod.stl"/></geometry></visual></link></robot>"""


@pytest.fixture
def robot(tmp_path) -> Path:
    """A robot in a package, with a mesh and an SRDF."""
    root = tmp_path / "here" / "arm_pack"
    (root / "meshes").mkdir(parents=True)
    (root / "package.xml").write_text("<package><name>arm_pack</name></package>")
    (root / "meshes" / "rod.stl").write_bytes(trimesh.creation.box((0.1, 0.1, 0.6)).export(file_type="stl"))
    (root / "arm.urdf").write_text(ARM)
    (root / "arm.srdf").write_text(
        '<robot name="arm"><group name="g"><joint name="hinge"/></group>'
        '<group_state name="raised" group="g"><joint name="hinge" value="0.5"/></group_state></robot>'
    )
    return root / "arm.urdf"


def saved(qtbot, window, path: Path) -> None:
    window.features[SessionArchiveView].save(str(path))
    wait(qtbot, path.is_file)
    wait(qtbot, lambda: window.statusBar().currentMessage().startswith("Saved"))


def test_it_opens_with_its_run_mesh_and_poses_where_no_other_file_of_it_is(qtbot, shown, robot, tmp_path):
    window = shown(robot)
    bench = window.workbench
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: bench.robot.time > 0.1)
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: not bench.robot.playing)
    path = tmp_path / "lesson.zip"
    saved(qtbot, window, path)
    assert "without" not in window.statusBar().currentMessage()
    q, recorded = bench.robot.newest.q.copy(), bench.replay.recording.span(bench.replay.newest)
    there = tmp_path / "there"
    there.mkdir()
    path.rename(there / path.name)
    shutil.rmtree(robot.parents[1])

    window.files.open(there / path.name)
    wait(qtbot, lambda: bench.path.startswith(str(there / "lesson")))
    wait_loaded(qtbot, window)
    wait(qtbot, lambda: window.features[Sessions].path == str(there / "lesson" / "lesson.catena"))
    wait(qtbot, lambda: bench.robot.newest is not None and np.array_equal(bench.robot.newest.q, q))
    run = bench.replay.recording.runs[0]
    assert bench.replay.recording.span(run) == recorded
    assert all(Path(each.mesh).is_relative_to(there) for each in bench.robot.model.visuals if each.mesh)
    assert "raised" in bench.robot.model.group_states


def test_the_same_archive_is_unpacked_once_and_another_one_beside_it(robot, tmp_path):
    path = tmp_path / "s.zip"
    session = {"robot": {}, "parts": [], "beside": {}, "scene": {}, "controller": "", "catena session": 2}
    session_archives.pack(str(path), session, session_archives.RobotFile(str(robot)))
    first = session_archives.unpack(str(path))
    assert (first, session_archives.unpack(str(path))) == (str(tmp_path / "s" / "s.catena"),) * 2
    Path(first).write_text("{}")
    again = session_archives.unpack(str(path))
    assert again == str(tmp_path / "s-2" / "s.catena"), "what was saved there since stays"
    assert Path(first).read_text() == "{}"
    assert json.loads(Path(again).read_text())["robot"]["path"] == "robot.urdf"
    engine.load(Path(again).with_name("robot.urdf"))


@pytest.mark.parametrize(
    "name",
    ["../out.stl", "/tmp/out.stl", "a/../../out.stl", "C:\\out.stl", "a\\..\\out.stl", "nul", "a//b", "x\n", "dir/"],
)
def test_names_that_lead_elsewhere_are_refused_and_nothing_is_written(tmp_path, name):
    path = tmp_path / "inside" / "bad.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("s.catena", "{}")
        archive.writestr(zipfile.ZipInfo(name), b"x")
    with pytest.raises(ValueError, match=r"no plain file below a folder; nothing was unpacked"):
        session_archives.unpack(str(path))
    assert [each.name for each in tmp_path.rglob("*")] == ["inside", "bad.zip"]


def test_links_doubles_bombs_and_what_is_no_archive_are_refused(tmp_path):
    path = tmp_path / "bad.zip"

    def refused(words: str) -> None:
        with pytest.raises(ValueError, match=words):
            session_archives.unpack(str(path))
        assert [each.name for each in tmp_path.iterdir()] == ["bad.zip"]

    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("s.catena", "{}")
        archive.writestr(link, "/etc/passwd")
    refused("no plain file")
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("s.catena", "A.stl", "a.stl"):
            archive.writestr(name, "{}")
    refused("'a.stl' twice")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("s.catena", "{}")
        archive.writestr("bomb", bytes(100 << 20))
    refused("would take 105 MB; of an archive of 0.1 MB at most")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("s.txt", "{}")
    refused("holds 0 sessions")
    path.write_bytes(b"PK\x03\x04 cut short")
    refused("no archive that can be read")
