"""Which link a ray meets: against the shapes' own equations, and Möller and Trumbore's test of every triangle."""

from __future__ import annotations

import time

import numpy as np
import pytest
import trimesh

import engine
from app.gl import mesh
from app.gl.camera import Camera
from app.gl.picking import pick, ray
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


def test_the_nearer_link_is_met_and_the_point_lies_on_it(balls):
    content, poses = Scene(balls).content, engine.link_poses(balls, balls.neutral())
    hit = pick(content, poses, (3.0, 0.0, 0.0), (-1.0, 0.0, 0.0))
    assert balls.link_names[hit.link] == "near"
    assert hit.distance == pytest.approx(2.7, abs=2e-3)
    np.testing.assert_allclose(hit.point, (0.3, 0.0, 0.0), atol=2e-3)
    beside = pick(content, poses, (3.0, 0.4, 0.0), (-1.0, 0.0, 0.0))  # past the near one
    assert balls.link_names[beside.link] == "far"
    assert np.linalg.norm(beside.point - (-2.0, 0.2, 0.0)) == pytest.approx(0.5, abs=4e-3)
    assert pick(content, poses, (3.0, 0.8, 0.0), (-1.0, 0.0, 0.0)) is None
    assert pick(content, poses, (3.0, 0.0, 0.0), (1.0, 0.0, 0.0)) is None  # it is behind


def test_a_place_in_the_picture_is_the_ray_that_is_drawn_there(rng):
    camera = Camera(azimuth=0.7, elevation=0.4, distance=2.5)
    for size in ((1280, 720), (500, 900)):
        eye, _ = ray(camera, size, (0, 0))
        for point in rng.uniform(-0.5, 0.5, (20, 3)):
            clip = camera.projection(size[0] / size[1]) @ camera.view() @ np.append(point, 1.0)
            place = (clip[0] / clip[3] + 1) / 2 * size[0], (1 - clip[1] / clip[3]) / 2 * size[1]
            _, direction = ray(camera, size, place)
            np.testing.assert_allclose(direction, (point - eye) / np.linalg.norm(point - eye), atol=1e-5)


def test_it_agrees_with_a_test_of_every_triangle_in_any_pose(rng):
    model = engine.load(engine.find_robot("arm7"))
    content = Scene(model).content
    hits = 0
    for q in model.random(rng, 10):
        poses = engine.link_poses(model, q)
        matrices = content.matrices(poses).astype(float)
        whole = [
            trimesh.Trimesh(made.vertices, made.faces, process=False).apply_transform(matrix)
            for matrix, made in zip(matrices, (content.meshes[k] for k in content.instances.mesh), strict=True)
        ]
        lower, upper = content.bounds(poses)
        for _ in range(10):
            eye = rng.normal(size=3) * 3 + (lower + upper) / 2
            aim = rng.uniform(lower, upper) - eye
            aim /= np.linalg.norm(aim)
            found = pick(content, poses, eye, aim)
            expected = min(_nearest(each, eye, aim) for each in whole)
            assert (np.inf if found is None else found.distance) == pytest.approx(expected, abs=1e-5)
            hits += found is not None
    assert hits > 10


def _nearest(shape: trimesh.Trimesh, eye: np.ndarray, aim: np.ndarray) -> float:
    """Möller and Trumbore's test of all triangles: how far the first is."""
    a, b, c = np.moveaxis(shape.triangles, 1, 0)
    h = np.cross(aim, c - a)
    det = np.einsum("ij,ij->i", b - a, h)
    with np.errstate(all="ignore"):
        u = np.einsum("ij,ij->i", eye - a, h) / det
        across = np.cross(eye - a, b - a)
        v, t = across @ aim / det, np.einsum("ij,ij->i", c - a, across) / det
        return float(t[(u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0)].min(initial=np.inf))


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
