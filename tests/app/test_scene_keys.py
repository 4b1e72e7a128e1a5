"""Keys that act on the object selected in the Scene dock or in the picture."""

from PyQt6.QtCore import Qt
from test_scene_view import CTRL, entry, scene, settled
from windows import wait

from app.features.shortcuts_sheet import shortcuts

__all__ = ["scene"]


def test_delete_removes_the_selected_object_from_list_and_picture(qtbot, scene):
    window, panel = scene._window, scene.panel
    for name in ("Obstacle: box", "Obstacle: ball"):
        entry(scene, name)
    settled(qtbot, scene)
    panel.list.setFocus()
    qtbot.keyClick(panel.list, Qt.Key.Key_Delete)
    settled(qtbot, scene)
    (box,) = window.workbench.robot.settings.scene.obstacles
    assert box.shape == "box"
    panel.choose(0)
    window.viewport.setFocus()
    qtbot.keyClick(window.viewport, Qt.Key.Key_Delete)
    settled(qtbot, scene)
    assert not window.workbench.robot.settings.scene.obstacles
    qtbot.keyClick(window.viewport, Qt.Key.Key_Delete)  # of nothing


def test_ctrl_d_duplicates_the_selected_object_from_list_and_picture(qtbot, scene):
    window, panel, bench = scene._window, scene.panel, scene._bench
    entry(scene, "Free body: cube")
    settled(qtbot, scene)
    for count, focused in enumerate((panel.list, window.viewport, panel.duplicate, panel.mass), 2):
        focused.setFocus()
        qtbot.keyClick(focused, Qt.Key.Key_D, CTRL)
        wait(qtbot, lambda count=count: len(bench.robot.parts) == count)
        settled(qtbot, scene)
    assert "Ctrl+D" in panel.duplicate.toolTip()
    assert {("Duplicate object", "Ctrl+D"), ("Remove object", "Del")} <= {
        (each.name, each.keys) for each in shortcuts(window)
    }


def test_keys_act_on_what_is_selected_in_the_picture(qtbot, scene):
    window, panel = scene._window, scene.panel
    entry(scene, "Obstacle: box")
    scene.action.trigger()  # with the dock closed
    window.selection.choose(1)  # a link of the robot
    assert not scene.removing.isEnabled()
    qtbot.keyClick(window.viewport, Qt.Key.Key_Delete)
    assert len(scene.obstacles) == 1
    scene.choose(0)
    qtbot.keyClick(window.viewport, Qt.Key.Key_Z, CTRL)
    assert not scene.obstacles
    assert panel.row == -1
    assert not scene.duplicating.isEnabled()
