"""Friction and restitution of the scene in the window."""

from PyQt6.QtCore import Qt
from windows import type_in, wait

from app.features.ground_view import GroundView
from app.simulation import grounds

CTRL = Qt.KeyboardModifier.ControlModifier


def test_typed_coefficients_reach_the_simulation_are_undone_and_outlive_a_terrain(qtbot, arm):
    arm.docks["Scene"].show()
    wait(qtbot, arm.docks["Scene"].isVisible)
    bench, view = arm.workbench, arm.features[GroundView]

    def simulated():
        scene = bench.robot.settings.scene
        return scene.friction, scene.restitution

    usual, _ = simulated()
    type_in(qtbot, view.surface.restitution, "0.5")
    wait(qtbot, lambda: simulated() == (usual, 0.5))
    type_in(qtbot, view.surface.friction, "0.3")
    wait(qtbot, lambda: simulated() == (0.3, 0.5))
    view.choose(grounds.SLOPE)
    wait(qtbot, lambda: bench.robot.settings.scene.ground.normal[2] < 1)
    assert simulated() == (0.3, 0.5)
    for expected in ((0.3, 0.5), (usual, 0.5), (usual, 0.0)):
        qtbot.keyClick(arm, Qt.Key.Key_Z, CTRL)
        wait(qtbot, lambda expected=expected: simulated() == expected)
    assert (view.surface.friction.value(), view.surface.restitution.value()) == (usual, 0.0)
