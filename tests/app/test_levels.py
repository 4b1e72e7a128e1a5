"""Levels of detail: their distance from the original mesh, and their selection."""

from dataclasses import replace

import numpy as np
import pytest
import trimesh

import engine
from app.gl import levels, mesh
from app.gl.camera import Camera
from app.gl.scene import Scene
from app.gl.view import View


@pytest.mark.parametrize(("shape", "size"), [("cylinder", (0.1, 0.5)), ("sphere", (0.1,)), ("capsule", (0.1, 0.4))])
def test_round_shapes_lie_as_far_from_the_finest_as_they_say(shape, size):
    recipe, _ = mesh.recipe(shape, size, 1)
    made = levels.of_recipe(recipe)
    assert [len(level.mesh.faces) for level in made] == sorted((len(level.mesh.faces) for level in made), reverse=True)
    for level in made:
        middles = level.mesh.vertices[level.mesh.faces].mean(1)
        side = np.abs(middles[:, 2]) < 1e-6 if shape == "sphere" else np.abs(middles[:, 2]) < size[1] / 4
        inside = size[0] - np.linalg.norm(middles[side][:, :2], axis=1)
        assert inside.max(initial=0.0) <= level.error + 1e-6


def test_a_simplified_ball_keeps_its_shape_and_its_normals():
    ball = trimesh.creation.icosphere(5, radius=0.2)
    made = levels.coarser_levels(mesh.from_triangles(ball.vertices, ball.faces, None))
    assert len(made) == len(levels.SHARES)
    errors = [level.error for level in made]
    assert errors == sorted(errors)
    assert errors[0] < 1e-3
    for level, share in zip(made, levels.SHARES, strict=True):
        assert len(level.mesh.faces) <= share * len(ball.faces) + 1
        outward = level.mesh.vertices / np.linalg.norm(level.mesh.vertices, axis=1, keepdims=True)
        assert np.einsum("ij,ij->i", outward, level.mesh.normals).min() > 0.9


def test_crude_levels_are_far_coarser_and_lie_no_further_than_they_say():
    ball = trimesh.creation.icosphere(5, radius=0.2)
    made = levels.crude_levels(mesh.from_triangles(ball.vertices, ball.faces, None))
    counts = [len(level.mesh.faces) for level in made]
    assert len(counts) == len(levels.CELLS)
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < 0.1 * len(ball.faces)
    for level in made:
        assert np.abs(np.linalg.norm(level.mesh.vertices, axis=1) - 0.2).max() < level.error
        assert level.mesh.closed


def test_a_crude_level_stands_in_only_until_better_ones_are_there():
    pixels = np.array([100.0])
    waiting = (levels.Level(mesh.box(1, 1, 1), 0.05, crude=True),)
    better = (levels.Level(mesh.box(1, 1, 1), 0.05),)
    assert levels.choose([waiting], pixels).tolist() == [1]
    assert levels.choose([better], pixels).tolist() == [0]


def test_better_levels_are_no_movement():
    model = engine.chain(3)
    content, poses = Scene(model).content, engine.link_poses(model, model.neutral())
    before = View(content, poses, Camera(), 0.0, (640, 400))
    refined = replace(content, levels=[() for _ in content.meshes])
    assert View(refined, poses, before.camera, 0.0, (640, 400)).pixels_from(before) == 0.0


def test_a_level_that_has_lost_a_rod_of_few_triangles_says_so():
    ball, rod = trimesh.creation.icosphere(5, radius=0.02), trimesh.creation.box((0.3, 0.02, 0.02))
    rod.apply_translation((0.2, 0, 0))
    whole = trimesh.util.concatenate([ball, rod])
    for level in levels.coarser_levels(mesh.from_triangles(whole.vertices, whole.faces, None)):
        assert level.mesh.vertices[:, 0].max() > 0.3 or level.error > 0.02


def test_colours_stay_with_their_parts():
    parts = []
    for side, color in ((-1, (255, 0, 0, 255)), (1, (0, 255, 0, 255))):
        ball = trimesh.creation.icosphere(4, radius=0.1)
        ball.apply_translation((0.2 * side, 0, 0))
        parts.append(mesh.from_triangles(ball.vertices, ball.faces, np.tile(np.array(color, np.uint8), (2562, 1))))
    for level in levels.coarser_levels(mesh.join(parts)):
        left = level.mesh.vertices[:, 0] < 0
        assert level.mesh.painted
        assert np.all(level.mesh.colors[left] == (255, 0, 0, 255))
        assert np.all(level.mesh.colors[~left] == (0, 255, 0, 255))


def test_the_coarsest_level_that_cannot_be_told_apart_is_drawn():
    model = engine.chain(3, straight=True)
    content = Scene(model).content
    poses = engine.link_poses(model, model.neutral())
    camera, picked = Camera(), []
    camera.fit(*content.bounds(poses))
    for _ in range(4):
        seen, pixels = levels.visibility(content, poses, camera, (640, 400))
        assert np.all(seen)
        picked.append(levels.choose(content.levels, pixels * levels.scales(content)))
        camera.zoom(0.25)
    assert np.all(np.diff(picked, axis=0) >= 0)
    assert picked[-1].min() > picked[0].min()
    camera.zoom(64)
    camera.target = camera.target + 100.0 * camera.axes()[0]
    seen, _ = levels.visibility(content, poses, camera, (640, 400))
    assert not np.any(seen)
