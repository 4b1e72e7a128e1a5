"""Simulation › Floating base: ticked, greyed and explained, and named where a legged robot's file fixes its root."""

from __future__ import annotations

import pytest
from windows import wait

import engine
from app.features.run_controls import FREE_ALREADY_TIP, FREE_TIP, NO_FILE_TIP
from app.features.scene_view import SceneView


@pytest.mark.parametrize(
    ("name", "ticked", "enabled", "tip"),
    [
        ("humanoid", True, False, FREE_ALREADY_TIP),
        ("quadruped", True, False, FREE_ALREADY_TIP),
        ("arm7", False, True, FREE_TIP),
        ("chain", False, False, NO_FILE_TIP),
    ],
)
def test_it_says_whether_the_base_floats_and_why_that_stays(opened, name, ticked, enabled, tip):
    action = opened(engine.chain(3) if name == "chain" else engine.find_robot(name)).run.floating
    assert (action.isChecked(), action.isEnabled(), action.toolTip()) == (ticked, enabled, tip)


def test_a_body_beside_the_robot_does_not_tick_it(qtbot, opened):
    window = opened(engine.find_robot("arm7"))
    window.features[SceneView].add("box", free=True)
    wait(qtbot, lambda: len(window.workbench.parts) == 1)
    assert window.workbench.robot.floats
    assert not window.run.floating.isChecked()
    assert window.run.floating.isEnabled()
