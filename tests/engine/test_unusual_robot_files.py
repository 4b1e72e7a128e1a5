"""Robots' files in odd places: pipes, devices, folders, names that are no text, and files that change or vanish."""

import json
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import engine
import main

ROOT = Path(__file__).parents[2]
unix = pytest.mark.skipif(os.name == "nt", reason="Windows has neither such devices nor such names")


def one_link(mesh: str = "") -> str:
    """A robot of one moving link, with a mesh to touch where one is named."""
    shape = f'<collision><geometry><mesh filename="{mesh}"/></geometry></collision>' if mesh else ""
    return (
        f'<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" '
        f'iyy="1" iyz="0" izz="1"/></inertial>{shape}</link><joint name="j" type="continuous"><parent link="a"/>'
        '<child link="b"/><axis xyz="1 0 0"/></joint></robot>'
    )


def tetrahedron() -> bytes:
    """A binary STL."""
    corners = np.eye(4, 3, dtype="f4")
    faces = [corners[[i, j, k]] for i, j, k in ((0, 1, 2), (0, 3, 1), (0, 2, 3), (1, 3, 2))]
    return bytes(80) + struct.pack("<I", 4) + b"".join(bytes(12) + face.tobytes() + bytes(2) for face in faces)


@unix
@pytest.mark.parametrize("words", [["check"], ["check", "--fix", "OUT"], ["repeat"], ["bench", "--against"]])
def test_a_device_is_told_to_be_none_of_the_files_that_are_read(words, capsys, tmp_path):
    """Of /dev/zero they would read for ever."""
    fix = [str(tmp_path / "out") if word == "OUT" else word for word in words]
    place = 1 if words[0] == "check" else len(fix)
    assert main.main([*fix[:place], "/dev/zero", *fix[place:]]) in (1, 2)
    told = capsys.readouterr()
    assert "it is a device, and no file" in told.out + told.err
    with pytest.raises(engine.ModelError, match="it is a device, and no file"):
        engine.load(engine.find_robot("arm7"), srdf="/dev/zero")


@unix
def test_a_robot_may_come_through_a_pipe():
    words = [sys.executable, "main.py", "info", "/dev/stdin", "--json"]
    done = subprocess.run(words, cwd=ROOT, input=one_link(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"robot": "r"' in done.stdout


@unix
def test_a_pipe_that_never_ends_is_left(tmp_path, monkeypatch):
    pipe = tmp_path / "pipe.urdf"
    os.mkfifo(pipe)
    monkeypatch.setattr("engine.files.MAX_BYTES", 1000)
    with subprocess.Popen(["sh", "-c", f"yes > '{pipe}'"]) as endless:
        (found,) = engine.check(pipe)
        endless.wait(60)
    assert found.problem == "cannot be read: more than 0 MB come out of it"


def test_a_folder_is_told(tmp_path):
    (found,) = engine.check(tmp_path)
    assert found.problem.startswith("cannot be read: ")
    assert main.main(["info", str(tmp_path)]) == 2


@unix
@pytest.mark.parametrize("name", ["Grüße 日本", 'it\'s "q"', "two\nlines", "r\udcff\udcfe", "[/b]", "50%20 #1?"])
def test_names_of_all_kinds_serve_robots_meshes_runs_and_caches(name, tmp_path, monkeypatch, capsys):
    folder = tmp_path / name.replace("/", "")
    folder.mkdir()
    robot, out = folder / f"{folder.name}.urdf", folder / f"out {folder.name}.npz"
    mesh = "m" if "\udcff" in name else folder.name
    (folder / f"{mesh}.stl").write_bytes(tetrahedron())
    named = mesh.replace("&", "&amp;").replace('"', "&quot;").replace("\n", "&#10;")
    robot.write_text(one_link(f"{named}.stl"), "utf-8")
    assert main.main(["check", str(robot)]) == 0
    assert main.main(["run", str(robot), "--seconds", "0.02", "--ground", "--out", str(out)]) == 0
    assert main.main(["repeat", str(out)]) == 0
    told = capsys.readouterr()
    assert not told.err
    assert "the same to the bit" in told.out
    monkeypatch.setenv("CATENA_CACHE_DIR", str(folder / "cache"))
    measured = engine.selection.timings.Measurements(engine.selection.timings.table_path())
    measured.save()
    assert engine.selection.timings.load().damage is None


def test_a_robot_whose_name_is_marked_up_is_shown_as_it_is(tmp_path, capsys):
    robot = tmp_path / "robot.urdf"
    robot.write_text(one_link().replace('name="r"', 'name="[/bold]"').replace('name="j"', 'name="[/j]"'), "utf-8")
    out = tmp_path / "[red]:smile:.npz"
    for words, named in ((["info"], "[/j]"), (["run", "--seconds", "0.02", "--out", str(out)], out.name)):
        assert main.main([words[0], str(robot), *words[1:]]) == 0
        said = capsys.readouterr().out
        assert said.startswith("[/bold]: ")
        assert named in said


def test_a_mesh_that_vanishes_after_its_robot_was_read_is_told_in_a_line(tmp_path):
    robot, mesh = tmp_path / "robot.urdf", tmp_path / "mesh.stl"
    mesh.write_bytes(tetrahedron())
    robot.write_text(one_link("mesh.stl"), "utf-8")
    for harm in (mesh.unlink, lambda: mesh.write_bytes(tetrahedron()[:150])):
        mesh.write_bytes(tetrahedron())
        model = engine.load(robot)
        harm()
        with pytest.raises((OSError, ValueError), match=r"mesh\.stl") as told:
            engine.Simulation(model, scene=engine.Scene(ground=engine.Plane()))
        assert "\n" not in str(told.value)


def test_a_robot_whose_file_is_cut_short_while_it_is_read_is_told_or_whole(tmp_path):
    """An editor truncates a file while writing it: whatever was read, a problem is a diagnostic."""
    text, path = one_link().encode(), tmp_path / "robot.urdf"
    for size in range(0, len(text) + 1, 7):
        path.write_bytes(text[:size])
        if size < len(text):
            assert any(found.severity == "error" for found in engine.check(path))
    path.write_bytes(text)
    assert not engine.check(path)


@pytest.fixture(params=["pipe", "device"])
def endless(request, tmp_path):
    """Makes a file of that name whose end never comes."""
    return lambda name: _endless(tmp_path / name, request.param)


def _endless(path, kind):
    os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    return path


@unix
@pytest.mark.parametrize(
    ("words", "suffix"),
    [
        (["check", "FILE"], ".xacro"), (["info", "FILE"], ".xacro"), (["repeat", "FILE"], ".npz"),
        (["run", "quadruped", "--terrain", "FILE"], ".npy"), (["run", "arm7", "--controls", "FILE"], ".npy"),
        (["run", "arm7", "--controller", "FILE"], ".py"),
        (["run", "quadruped", "--self-collision", "--srdf", "FILE"], ".srdf.xacro"),
        (["compare", "arm7", "--algorithm", "FILE:f"], ".py"),
    ],
)  # fmt: skip
def test_what_never_ends_is_told_at_once(words, suffix, endless, monkeypatch, capfd):
    path = endless(f"odd{suffix}")
    monkeypatch.setattr("engine.files.PATIENCE", 1000)
    began = time.process_time()
    assert main.main([word.replace("FILE", str(path)) for word in words]) in (1, 2)
    assert time.process_time() - began < 5
    told = capfd.readouterr()
    assert "Traceback" not in told.out + told.err
    assert any(word in told.out + told.err for word in ("it is a device", "it is a pipe", "there is no", "is no file"))


@unix
@pytest.mark.parametrize("command", ["check", "info"])
def test_a_pipe_that_nobody_writes_to_is_left_in_the_end(command, tmp_path, monkeypatch, capfd):
    pipe = _endless(tmp_path / "odd.urdf", "pipe")
    monkeypatch.setattr("engine.files.PATIENCE", 0.2)
    assert main.main([command, str(pipe)]) == 1
    assert "no data came from this pipe for 0.2 s" in "".join(capfd.readouterr())


@unix
def test_what_a_file_names_must_be_a_file(tmp_path, endless, monkeypatch, capfd):
    """The robot of a run, its SRDF, and what a xacro file includes."""
    monkeypatch.setattr("engine.files.PATIENCE", 1000)
    out = tmp_path / "run.npz"
    assert main.main(["run", "arm7", "--seconds", "0.01", "--out", str(out)]) == 0
    with np.load(out) as file:
        arrays = dict(file)
    settings = json.loads(str(arrays["settings"]))
    for key in ("robot", "srdf"):
        path = endless(f"odd.{key}")
        changed = np.array(json.dumps({**settings, key: str(path)}))
        np.savez(out, **{**arrays, "settings": changed})
        capfd.readouterr()
        assert main.main(["repeat", str(out)]) == 2
        assert f"{path.name} is a pipe or a device" in capfd.readouterr().err
    including = tmp_path / "r.xacro"
    for tag in (f'<xacro:include filename="{path}"/>', f"<link name=\"${{load_yaml('{path}')}}\"/>"):
        including.write_text(f'<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{tag}</robot>', "utf-8")
        (found,) = engine.check(including)
        assert "which is not a regular file" in found.problem or "which lies outside" in found.problem


def test_a_file_beyond_all_robots_is_not_read(tmp_path):
    path = tmp_path / "large.urdf"
    with path.open("wb") as file:
        file.truncate(engine.files.MAX_BYTES + 1)
    (found,) = engine.check(path)
    assert found.problem == "cannot be read: more than 256 MB are in it"
