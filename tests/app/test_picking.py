"""Which link a ray meets: against the shapes' own equations, and Möller and Trumbore's test of every triangle."""

import time

import numpy as np
import pytest
import trimesh

import engine
from app.gl import mesh
from app.gl.picking import pick
from app.gl.scene import Scene

BALLS = """<robot name="balls">
  <link name="near"><visual><geometry><sphere radius="0.3"/></geometry></visual></link>
  <link name="far"><visual><origin xyz="0 0.2 0"/><geometry><sphere radius="0.5"/></geometry></visual></link>
  <joint name="fixed" type="fixed"><parent link="near"/><child link="far"/><origin xyz="-2 0 0"/></joint>
</robot>"""


@pytest.fixture
def balls(tmp_path) -> engine.Model:
    path = tmp_path / "balls.urdf"
    path.write_text(BALLS, encoding="utf-8")
    return engine.load(str(path))


def test_a_click_on_two_million_triangles_is_answered_at_once(balls):
    scene = Scene(balls)
    fine = trimesh.creation.icosphere(8, radius=0.3)  # 1.3 million, twice
    made = mesh.assemble(fine.vertices, fine.vertices / 0.3, fine.faces)
    parts = [made] * len(scene.content.meshes)
    object.__setattr__(scene.content, "meshes", parts)
    poses = engine.link_poses(balls, balls.neutral())
    _ = made.blocks  # which the process that reads a mesh works out
    times = []
    for _ in range(5):
        began = time.thread_time()
        hit = pick(scene.content, poses, (3.0, 0.01, 0.02), (-1.0, 0.0, 0.0))
        times.append(time.thread_time() - began)
    assert hit is not None
    assert hit.distance == pytest.approx(3 - np.sqrt(0.09 - 5e-4), abs=1e-5)
    assert min(times) < 0.02
