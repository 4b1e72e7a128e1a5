"""Drafts, which are drawn while something moves and time is short: coarser pictures of the same."""

from __future__ import annotations

import numpy as np
import pytest
from test_gl import ARM, SIZE, _pixels, _target

import engine
from app.gl import context
from app.gl.camera import Camera
from app.gl.scene import Scene


@pytest.mark.usefixtures("gl")
def test_drafts_show_the_same_but_coarser(tmp_path):
    from app.gl.renderer import DETAILS, Renderer

    robot_file = tmp_path / "arm.urdf"
    robot_file.write_text(ARM, encoding="utf-8")
    arm = engine.load(robot_file)
    poses = engine.link_poses(arm, [0.6])
    camera = Camera()
    camera.fit(*Scene(arm).bounds(poses))
    with context.offscreen():
        _target(*SIZE)
        renderer, pictures = Renderer(), []
        renderer.set_scene(Scene(arm))
        for detail in range(len(DETAILS)):
            renderer.draw(camera, poses, *SIZE, detail)
            pictures.append(_pixels(*SIZE)[..., :3].astype(int))
        renderer.set_scene(None)
        renderer.draw(camera, None, *SIZE)
        empty = _pixels(*SIZE)[..., :3].astype(int)
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
    # At the same resolution, the draft with smooth edges is nearer to the full picture where the robot's edges are.
    steep = np.abs(np.diff(pictures[0].sum(-1), axis=0, prepend=0)) > 100
    assert DETAILS[-2] == DETAILS[-1]
    smooth, stepped = (((each - pictures[0])[steep] ** 2).mean() for each in pictures[-2:])
    assert smooth < 0.85 * stepped
