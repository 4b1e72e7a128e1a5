"""Mesh files read, and made coarser, in a process of its own."""

from __future__ import annotations

import multiprocessing
import threading

import numpy as np
import pytest
import trimesh

import engine
from app.gl import levels, scene
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
    here, apart, told = Scene(model := load("ball.stl")), Scene(model), []
    here.load()
    here.wait()
    apart.load(lambda: told.append(apart.update()), apart=True, simplify=True)
    apart.wait()
    assert apart.ready
    assert apart.diagnostics == here.diagnostics
    np.testing.assert_array_equal(apart.meshes[0].vertices, here.meshes[0].vertices)
    assert apart.meshes[1] is scene.MISSING
    assert told == [True, True, False]  # two files, and what stands for the ball where it is small
    refined = apart.content.levels[0]
    assert len(refined) == len(levels.SHARES)
    assert not any(level.crude for level in refined)


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
