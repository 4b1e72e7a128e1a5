"""Drafts, which are drawn while something moves and time is short: coarser pictures of the same."""

import numpy as np
import pytest
from test_gl import ARM, SIZE, pixels_of, target_of

import engine
from app.gl import context
from app.gl.camera import Camera
from app.gl.edges import Edges
from app.gl.scene import Scene
from app.gl.view import View


@pytest.mark.usefixtures("gl")
def test_drafts_show_the_same_but_coarser(tmp_path, monkeypatch):
    from app.gl.renderer import DETAILS, Renderer

    robot_file = tmp_path / "arm.urdf"
    robot_file.write_text(ARM, encoding="utf-8")
    arm = engine.load(robot_file)
    poses = engine.link_poses(arm, [0.6])
    camera = Camera()
    camera.fit(*Scene(arm).bounds(poses))
    with context.offscreen():
        target_of(*SIZE)
        renderer, pictures = Renderer(), []
        view = View(Scene(arm).content, poses, camera, 0.0, SIZE)
        for detail in range(len(DETAILS)):
            renderer.draw(view, detail)
            pictures.append(pixels_of(*SIZE)[..., :3].astype(int))
        with monkeypatch.context() as patched:
            patched.setattr(Edges, "smooth", lambda _, canvas, _doors: canvas)
            renderer.draw(view, len(DETAILS) - 1)
            jagged = pixels_of(*SIZE)[..., :3].astype(int)
        renderer.draw(View(None, None, camera, 0.0, SIZE))
        empty = pixels_of(*SIZE)[..., :3].astype(int)
        renderer.release()
    robot = np.abs(pictures[0] - empty).max(-1) > 60
    assert robot.sum() > 2000
    # Among what is opaque, the faces of the box, no pixel is left out as of the glass.
    rows, columns = np.nonzero(robot)
    low = slice(rows.min() + 27, rows.min() + 43), slice(columns.min() + 40, columns.min() + 90)
    assert robot[low].all()
    for drawn in pictures[1:]:
        assert np.abs(drawn - pictures[0])[low].max() < 90
    for drawn in pictures[1:]:
        away = np.abs(drawn - pictures[0])
        assert away.max() > 0
        assert away[robot].mean() < 0.3 * np.abs(empty - pictures[0])[robot].mean()
    # With smooth edges the coarsest draft is nearer to the full picture where the robot's edges are.
    steep = np.abs(np.diff(pictures[0].sum(-1), axis=0, prepend=0)) > 100
    smooth, stepped = (((each - pictures[0])[steep] ** 2).mean() for each in (pictures[-1], jagged))
    assert smooth < 0.85 * stepped


@pytest.mark.usefixtures("gl")
def test_the_lines_of_the_ground_are_no_heavier_in_drafts():
    from app.gl.renderer import DETAILS, Renderer

    camera = Camera(elevation=1.5)
    with context.offscreen():
        target_of(*SIZE)
        renderer, ink = Renderer(), []
        for detail in range(len(DETAILS)):
            renderer.draw(View(None, None, camera, 0.0, SIZE), detail)
            tint = np.ptp(pixels_of(*SIZE)[..., :3].astype(float), axis=-1)
            ink.append((tint - np.median(tint)).clip(8).sum() - 8 * tint.size)  # of the axes, red and green
        renderer.release()
    assert max(ink) < 1.2 * ink[0]
