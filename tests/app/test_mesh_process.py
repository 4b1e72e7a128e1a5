"""Mesh files read, and made coarser, in a process of its own."""

import multiprocessing
import re
import threading
from pathlib import Path

import numpy as np
import pytest
import trimesh
from windows import wait

import engine
from app.features.scene_view import SceneView
from app.gl import levels, mesh_process, scene
from app.gl.mesh_process import MeshReader
from app.gl.scene import Scene

TWO = """<robot name="meshes"><link name="base">
  <visual><geometry><mesh filename="{file}"/></geometry></visual>
  <visual><geometry><mesh filename="missing.stl"/></geometry></visual>
</link></robot>"""


@pytest.fixture
def load(tmp_path):
    """Loads a robot with the given mesh file, and with one that is missing."""

    def load(file: str) -> engine.Model:
        path = tmp_path / "meshes.urdf"
        path.write_text(TWO.format(file=file), encoding="utf-8")
        return engine.load(path)

    return load


def test_a_process_of_its_own_reads_the_same(load, tmp_path):
    trimesh.creation.icosphere(4).export(tmp_path / "ball.stl")
    here, apart, reported = Scene(model := load("ball.stl")), Scene(model), []
    here.read()
    apart.load(lambda: reported.append(apart.update()), apart=True, simplify=True)
    apart.wait()
    assert apart.ready
    assert apart.diagnostics == here.diagnostics
    np.testing.assert_array_equal(apart.meshes[0].vertices, here.meshes[0].vertices)
    assert apart.meshes[1] is scene.MISSING
    assert reported == [True, True, False]  # two files, and the coarse ball for small pictures
    refined = apart.content.levels[0]
    assert len(refined) == len(levels.SHARES)
    assert not any(level.crude for level in refined)


def test_a_mesh_in_millimetres_without_a_scale_is_reported(tmp_path):
    """Once, also where the next scene takes the mesh over; the same mesh with a scale is not."""
    arm = Path("robots/arm7.urdf").read_text("utf-8")
    trimesh.creation.box((40.0, 40.0, 120.0)).export(tmp_path / "tool.stl")
    found = {}
    for scale in ("", ' scale="0.001 0.001 0.001"'):
        tool = f'<link name="tool"><visual><geometry><mesh filename="tool.stl"{scale}/></geometry></visual></link>'
        last = re.findall(r'<link name="([^"]+)"', arm)[-1]
        joint = f'<joint name="t" type="fixed"><parent link="{last}"/><child link="tool"/></joint></robot>'
        (tmp_path / "arm.urdf").write_text(arm.replace("</robot>", tool + joint), "utf-8")
        before = Scene(model := engine.load(tmp_path / "arm.urdf")).read()
        after = Scene(model, before=before).read()
        assert after.diagnostics == before.diagnostics
        found[scale] = before.diagnostics
    (huge,) = found.pop("")
    assert re.fullmatch(r"it is 120 m large, \d+ times the distances between the robot's joints", huge.problem)
    assert "0.001" in huge.fix
    assert list(found.values()) == [[]]


def test_a_scene_takes_over_the_files_that_have_not_changed(load, tmp_path):
    trimesh.creation.box().export(tmp_path / "cube.stl")
    before = Scene(model := load("cube.stl")).read()
    after = Scene(model, before=before)
    assert after.meshes[0] is before.meshes[0]  # drawn at once, not reloaded
    assert after.progress == (1, 2)
    after.read()
    assert after.meshes[0] is before.meshes[0]
    assert after.diagnostics == before.diagnostics  # the missing file is looked for again
    trimesh.creation.icosphere(1).export(tmp_path / "cube.stl")
    changed = Scene(model, before=after)
    assert changed.progress == (0, 2)
    changed.read()
    assert len(changed.meshes[0].faces) > len(before.meshes[0].faces)


def test_meshes_that_are_not_made_coarser_yet_are_drawn_and_read_again(load, tmp_path, monkeypatch):
    trimesh.creation.icosphere(4).export(tmp_path / "ball.stl")
    ready, go = threading.Event(), threading.Event()
    read = mesh_process.read

    def last(path):
        if ready.is_set():
            go.wait(60)
        ready.set()
        return read(path)

    monkeypatch.setattr(mesh_process, "read", last)
    before = Scene(model := load("ball.stl"))
    before.load(lambda: None)
    assert ready.wait(60)
    while not before.update():
        pass
    after = Scene(model, before=before)
    assert after.meshes[0] is before.meshes[0]
    go.set()
    after.load(apart=True, simplify=True)
    after.wait()
    assert not any(level.crude for level in after.content.levels[0])


def test_what_a_killed_reader_has_not_read_is_read_here(load, tmp_path, monkeypatch):
    trimesh.creation.box().export(tmp_path / "cube.stl")

    def dying(*arguments):
        made = MeshReader(*arguments)
        made.end()
        return made

    monkeypatch.setattr(scene, "MeshReader", dying)
    built = Scene(load("cube.stl"))
    built.load(apart=True, simplify=True)
    built.wait()
    assert built.ready
    assert built.meshes[0].faces.shape == (12, 3)


def test_closing_ends_the_reader_at_once(load, tmp_path):
    trimesh.creation.icosphere(6).export(tmp_path / "ball.stl")
    built, begun = Scene(load("ball.stl")), threading.Event()
    built.load(begun.set, apart=True, simplify=True)
    assert begun.wait(60)  # it has read, and simplifies for seconds
    (reader,) = built._readers
    built.close()
    assert reader._process.exitcode != 0, "it was let come to its end"
    assert not [child for child in multiprocessing.active_children() if child.name == "mesh reader"]


def test_a_robot_keeps_its_meshes_when_an_object_is_added(qtbot, opened, tmp_path):
    trimesh.creation.icosphere(3).export(tmp_path / "ball.stl")
    arm = engine.find_robot("pendulum").read_text(encoding="utf-8")
    start = arm.index("<geometry>", arm.index("<visual"))
    end = arm.index("</geometry>", start)
    path = tmp_path / "arm.urdf"
    path.write_text(f'{arm[:start]}<geometry><mesh filename="ball.stl"/>{arm[end:]}', encoding="utf-8")
    window, reading = opened(path), []
    wait(qtbot, lambda: window.viewport.reading is None)
    window.loaded.connect(lambda _: reading.append(window.viewport.reading))
    window.features[SceneView].add("box", True)
    wait(qtbot, lambda: len(window.workbench.robot.parts) == 1 and not window.workbench.opening.loading)
    assert reading == [None]
