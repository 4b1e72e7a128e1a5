"""Fit: the robot, and the objects that were placed around it, are in the view."""

import itertools
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from windows import type_in, wait

import engine
from app.features.scene_view import SceneView
from app.picture.crowd import Crowd


@pytest.mark.parametrize("added", ["Obstacle: box", "Free body: cube"])
def test_fit_shows_the_robot_and_an_object_far_from_it(qtbot, arm, added):
    scene, viewport, bench = arm.features[SceneView], arm.viewport, arm.workbench
    scene.action.trigger()
    next(action for action in scene.adding.actions() if action.text() == added).trigger()
    wait(qtbot, lambda: len(scene.objects) == 1 and not bench.opening.loading and not bench.computation.compiling)
    far = np.array([3.0, -9.0, 0.5])
    for box, value in zip(scene.panel.place, far, strict=True):
        type_in(qtbot, box, value)
    wait(qtbot, lambda: np.allclose(scene.objects[0].pose[:3, 3], far))
    wait(
        qtbot, lambda: not bench.opening.loading and not bench.computation.compiling and bench.robot.newest is not None
    )
    viewport.see(replace(viewport.camera, target=np.zeros(3), distance=1.0))
    assert not viewport.rect().contains(viewport.place(far).toPoint())
    qtbot.keyClick(arm, Qt.Key.Key_F)
    half = max(scene.objects[0].size) / 2
    lower, _ = viewport.robot_bounds
    for corner in itertools.product(*zip(np.minimum(far - half, lower), far + half, strict=True)):
        assert viewport.rect().contains(viewport.place(np.array(corner)).toPoint())
    assert viewport.camera.distance < 5 * np.linalg.norm(far)
    if folder := os.environ.get("CATENA_PICTURES"):
        viewport.picture().save(str(Path(folder) / f"fitted {added.split()[-1]}.png"))


def test_all_robots_of_a_batch_are_in_view_once_their_meshes_have_come(arm):
    viewport, model = arm.viewport, arm.workbench.robot.model
    viewport.set_model(model)  # as one that begins with the recorded robots of a run
    poses = np.asarray(engine.link_poses(model, np.zeros((5, model.nq))), np.float32)
    crowd = Crowd()
    crowd.set_size(*viewport.robot_bounds)
    batch = crowd.batch(poses, np.zeros(5), np.zeros(5), np.zeros(5, bool))
    viewport.set_poses(poses[0], batch)
    lower, upper = batch.bounds(0.0)
    for corner in itertools.product(*zip(lower, upper, strict=True)):
        assert viewport.rect().contains(viewport.place(np.array(corner)).toPoint())


def test_a_free_body_that_is_kilometres_away_is_not_fitted(shown):
    robot, cube = engine.load(engine.find_robot("arm7")), engine.free_body("box", (0.1, 0.1, 0.1), 1.0, "body")
    window = shown(engine.compose(engine.Part(robot, prefix=""), engine.Part(cube, prefix="cube/")))
    viewport, model = window.viewport, window.workbench.robot.model
    viewport.fit()
    near, q = viewport.camera.distance, model.neutral()
    for away, fitted in ((4700.0, False), (5.0, True)):
        q[robot.nq] = away
        viewport.set_poses(engine.link_poses(model, q))
        viewport.fit()
        assert (viewport.camera.distance > 2 * near) == fitted
        assert viewport.camera.distance < 20 * near
