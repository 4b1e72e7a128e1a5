"""The Scene dock while the robot moves: numbers of free bodies are taken, and what becomes of the run is said."""

from __future__ import annotations

import math

import numpy as np
import pytest
from test_scene_view import entry, scene, settled
from windows import type_in, wait

from app.features.scene_view import SceneView
from app.features.undo_view import UndoView

__all__ = ["scene"]


@pytest.fixture
def falling(qtbot, scene) -> SceneView:
    """A free body high above the ground, while the simulation plays."""
    bench = scene._bench
    entry(scene, "Free body: cube")
    settled(qtbot, scene)
    type_in(qtbot, scene.panel.place[2], 100)
    wait(qtbot, lambda: bench.surroundings.part_pose(0)[2, 3] == pytest.approx(100))
    scene._window.run.play.trigger()
    return scene


def test_numbers_of_a_body_that_moves_are_taken(qtbot, falling):
    """Its pose is another than when the panel was last refreshed."""
    bench, panel = falling._bench, falling.panel
    for box, value, taken in (
        (panel.friction, 0.31, lambda model: model.collisions[0].friction),
        (panel.mass, 0.7, lambda model: model.mass[0]),
        (panel.sizes[0], 0.25, lambda model: model.collisions[0].size[0]),
    ):
        wait(qtbot, lambda: bench.newest is not None and bench.time > 0.05)
        falling._due = math.inf  # no refresh from here
        shown = panel._objects[0].pose
        wait(qtbot, lambda shown=shown: not np.array_equal(bench.surroundings.part_pose(0), shown))
        type_in(qtbot, box, value)
        assert bench.loading
        falling._due = 0.0
        settled(qtbot, falling)
        assert taken(bench.parts[0].model) == value
        assert bench.playing
    assert falling._window.features[UndoView].undo.text() == "&Undo Resize cube"  # and not Move, although it moved
