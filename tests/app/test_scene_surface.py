"""Friction and restitution of the scene in the window."""

from PyQt6.QtCore import QPoint, Qt
from windows import type_in, wait

from app.features.ground_view import GroundView
from app.features.scene_view import SceneView
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
    undone = []
    for expected in ((0.3, 0.5), (usual, 0.5), (usual, 0.0)):
        qtbot.keyClick(arm, Qt.Key.Key_Z, CTRL)
        wait(qtbot, lambda expected=expected: simulated() == expected)
        undone.append(arm.statusBar().currentMessage())
    assert undone[1:] == ["Undone: Friction 0.3", "Undone: Restitution 0.5"]  # what was changed alone
    assert (view.surface.friction.value(), view.surface.restitution.value()) == (usual, 0.0)


def test_the_numbers_of_the_scene_stand_in_three_columns(qtbot, arm):
    arm.resize(1000, 650)
    arm.docks.show_in_front("Scene")
    scene = arm.features[SceneView]
    panel = scene.panel
    arm.features[GroundView].choose(grounds.STAIRS)
    wait(qtbot, lambda: panel.terrain.boxes[4].isVisible() and panel.list.count() == 5)
    scene.choose(0)
    wait(qtbot, panel.form.isVisible)
    qtbot.wait(50)
    columns = (
        (panel.terrain.boxes[0], panel.terrain.boxes[3], panel.gravity.boxes[0], panel.place[0]),
        (panel.terrain.kind, panel.terrain.boxes[1], panel.gravity.boxes[1], panel.place[1]),
        (panel.terrain.boxes[2], panel.surface.friction, panel.surface.restitution, panel.gravity.kind, panel.place[2]),
    )
    for column in columns:
        lefts = [box.mapTo(panel, QPoint()).x() for box in column]
        assert max(lefts) - min(lefts) <= 3
