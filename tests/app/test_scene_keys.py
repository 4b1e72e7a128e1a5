"""Keys that act on the object selected in the Scene dock or in the picture."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from test_scene_view import CTRL, entry, scene, seen_at, settled
from windows import type_in, wait

import engine
from app.features.edits_in_turn import WAITS
from app.features.object_places import beside
from app.features.shortcuts_sheet import shortcuts
from app.features.undo_view import UndoView

__all__ = ["scene"]


def test_delete_removes_the_selected_object_from_list_and_picture(qtbot, window, scene):
    panel = scene.panel
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


def test_delete_removes_all_that_are_selected_in_one_step(qtbot, window, scene):
    panel, bench = scene.panel, window.workbench
    for name in ("Obstacle: box", "Obstacle: ball", "Obstacle: box", "Free body: cube", "Free body: ball"):
        entry(scene, name)
        settled(qtbot, scene)
    panel.choose(1)
    panel.list.setFocus()
    for _ in range(2):
        qtbot.keyClick(panel.list, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert panel.rows == [1, 2, 3]
    assert scene.duplicating.isEnabled()
    qtbot.keyClick(panel.list, Qt.Key.Key_Delete)
    wait(qtbot, lambda: len(bench.robot.parts) == 1)
    settled(qtbot, scene)
    assert [each.name for each in scene.objects] == ["Box 1", "ball"]
    qtbot.keyClick(window, Qt.Key.Key_Z, CTRL)
    wait(qtbot, lambda: len(scene.objects) == 5)
    settled(qtbot, scene)
    panel.list.setFocus()
    qtbot.keyClick(panel.list, Qt.Key.Key_A, CTRL)
    assert panel.rows == [0, 1, 2, 3, 4]
    qtbot.keyClick(window.viewport, Qt.Key.Key_Delete)
    wait(qtbot, lambda: not scene.objects)


def test_ctrl_d_duplicates_the_selected_object_from_list_and_picture(qtbot, window, scene):
    panel, bench = scene.panel, window.workbench
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


def test_several_selected_objects_are_highlighted_and_duplicated_in_one_step(qtbot, window, scene):
    """One was highlighted, and none could be duplicated."""
    bench, panel = window.workbench, scene.panel
    for each in ("Obstacle: box", "Obstacle: ball", "Free body: cube"):
        entry(scene, each)
        settled(qtbot, scene)

    def highlighted() -> int:
        wait(qtbot, lambda: window.viewport.view().extras.world.count == len(scene.obstacles))
        look = window.viewport.view().extras.appearance
        return len({look.chosen, *look.others} - {-1})

    scene.choose(0)
    assert highlighted() == 1
    panel.list.setFocus()
    qtbot.keyClick(panel.list, Qt.Key.Key_A, CTRL)
    assert highlighted() == 3
    qtbot.keyClick(panel.list, Qt.Key.Key_D, CTRL)
    wait(qtbot, lambda: len(bench.robot.parts) == 2)
    settled(qtbot, scene)
    before = ["Box 1", "Ball 2"]
    assert [each.name for each in scene.objects] == [*before, "Box 3", "Ball 4", "cube", "cube 2"]
    boxes = [(each.pose[1, 3] - each.extent[1], each.pose[1, 3] + each.extent[1]) for each in scene.objects]
    assert all(one[1] <= other[0] or other[1] <= one[0] for one, other in itertools.combinations(boxes[2:4], 2))
    window.features[UndoView].undo.trigger()
    wait(qtbot, lambda: len(scene.objects) == 3)


@pytest.mark.parametrize(("first", "second"), [(0, 2), (1, 2), (2, 1), (2, 0)])
def test_a_click_with_ctrl_adds_a_free_body_to_the_selection(qtbot, scene, first, second):
    """The body's link, selected with it in the picture, took the others away."""
    for each in ("Obstacle: box", "Free body: ball", "Free body: cube"):
        entry(scene, each)
        settled(qtbot, scene)
    listed = scene.panel.list
    for row, keys in ((first, Qt.KeyboardModifier.NoModifier), (second, CTRL)):
        place = listed.visualItemRect(listed.item(row)).center()
        qtbot.mouseClick(listed.viewport(), Qt.MouseButton.LeftButton, keys, place)
    assert scene.panel.rows == sorted((first, second))


@pytest.mark.parametrize("name", ["Obstacle: box", "Free body: ball"])
def test_a_copy_takes_the_first_free_place_beside_its_object(qtbot, scene, name):
    entry(scene, name)
    settled(qtbot, scene)
    for row in (0, 0, 1):
        scene.choose(row)
        qtbot.keyClick(scene.panel.list, Qt.Key.Key_D, CTRL)
        settled(qtbot, scene)
    width, first = 2 * scene.objects[0].extent[1], scene.objects[0].pose[:3, 3]
    places = [each.pose[:3, 3] - first for each in scene.objects]
    np.testing.assert_allclose(places, [[0, 1.5 * width * step, 0] for step in range(4)], atol=1e-9)


@pytest.mark.parametrize(("key", "names"), [(Qt.Key.Key_D, ["cube", "cube 2"]), (Qt.Key.Key_Z, [])])
def test_keys_while_the_first_object_is_added_say_that_they_wait_for_it(qtbot, window, scene, key, names):
    entry(scene, "Free body: cube")
    qtbot.keyClick(window, key, CTRL)
    assert window.workbench.opening.loading
    assert window.statusBar().currentMessage() == WAITS
    wait(qtbot, lambda: not window.workbench.opening.loading and not scene.turns.waiting)
    assert [each.name for each in scene.objects] == names


def test_what_is_asked_for_while_a_body_is_added_is_done_in_turn(qtbot, window, scene):
    bench = window.workbench

    def names() -> list[str]:
        wait(qtbot, lambda: not bench.opening.loading and not scene.turns.waiting)
        return [each.name for each in scene.objects]

    entry(scene, "Free body: cube")
    entry(scene, "Free body: ball")
    entry(scene, "Obstacle: box")
    assert names() == ["Box 1", "cube", "ball"]
    scene.choose(1)
    for _ in range(3):
        qtbot.keyClick(scene.panel.list, Qt.Key.Key_D, CTRL)
    assert bench.opening.loading
    qtbot.keyClick(scene.panel.list, Qt.Key.Key_Delete)  # of the third copy
    assert names() == ["Box 1", "cube", "ball", "cube 2", "cube 3"]
    qtbot.keyClick(scene.panel.list, Qt.Key.Key_D, CTRL)
    qtbot.keyClick(window, Qt.Key.Key_Z, CTRL)
    qtbot.keyClick(window, Qt.Key.Key_Z, CTRL)
    assert names() == ["Box 1", "cube", "ball", "cube 2", "cube 3", "cube 4"]


def test_a_copy_of_a_robot_stands_clear_of_it(qtbot, window, scene):
    scene.add_robot(engine.find_robot("pendulum"), False)
    wait(qtbot, lambda: len(window.workbench.robot.parts) == 1)
    settled(qtbot, scene)
    scene.choose(0)
    qtbot.keyClick(scene.panel.list, Qt.Key.Key_D, CTRL)
    wait(qtbot, lambda: len(window.workbench.robot.parts) == 2)
    settled(qtbot, scene)
    (_, one), (other, _) = (window.viewport.part_bounds(k) for k in (0, 1))
    assert one[1] < other[1]


def test_a_robot_is_added_clear_of_the_robot_and_its_copy_has_the_whole_name(qtbot, window, scene, tmp_path):
    """Its origin was put there as if it were no larger than a new obstacle; its mesh is 1 m long behind that."""
    (tmp_path / "long.obj").write_text("v -1 0 0\nv 0 0.2 0\nv 0 0 0.2\nv 0 0 0\nf 1 2 3\nf 1 4 2\nf 1 3 4\nf 2 4 3\n")
    visual = '<visual><geometry><mesh filename="long.obj"/></geometry></visual><inertial>'
    text = Path(engine.find_robot("quadruped")).read_text("utf-8").replace("<inertial>", visual, 1)
    (tmp_path / "go1.urdf").write_text(text.replace('"quadruped"', '"go1"'))
    robot = window.viewport.robot_bounds
    scene.add_robot(str(tmp_path / "go1.urdf"), False)
    wait(qtbot, lambda: len(window.workbench.robot.parts) == 1)
    settled(qtbot, scene)
    wait(qtbot, lambda: np.ptp(window.viewport.part_bounds(0), axis=0)[0] > 1.0)
    assert window.viewport.part_bounds(0)[0][0] > robot[1][0]
    scene.choose(0)
    qtbot.keyClick(scene.panel.list, Qt.Key.Key_D, CTRL)
    wait(qtbot, lambda: len(window.workbench.robot.parts) == 2)
    assert [each.name for each in scene.objects] == ["go1", "go1 2"]


def test_an_object_in_a_bowl_is_copied_beside_it_there():
    cube, bowl = np.array([[0.0, 0, 0], [1, 1, 1]]), np.array([[-9.0, -9, -1], [9, 9, 4]])
    below = np.array([[-5.0, -5, -1], [5, 5, 0]])
    assert beside(tuple(cube), [tuple(bowl), tuple(below)], 0.0) == 1.5
    wall = np.array([[-9.0, 2.2, 0], [9, 3.2, 4]])
    assert beside(tuple(cube), [tuple(wall)], 0.0) == 4.5


@pytest.mark.parametrize("name", ["cube", "ball", "cylinder", "capsule"])
def test_a_body_keeps_its_density_in_another_size(qtbot, window, scene, name):
    entry(scene, f"Free body: {name}")
    settled(qtbot, scene)
    scene.choose(0)
    panel, before = scene.panel, scene.objects[0]
    for box, size in zip(panel.sizes, before.size, strict=False):
        type_in(qtbot, box, 2 * size)
        settled(qtbot, scene)
        wait(qtbot, lambda box=box, size=size: not scene.turns.waiting and box.value() == pytest.approx(2 * size))
    assert scene.objects[0].mass == pytest.approx(8 * before.mass, rel=1e-6)
    assert panel.mass.value() == pytest.approx(8 * before.mass, rel=1e-3)
    shape = window.workbench.robot.parts[0].model
    assert f"{8 * before.mass / scene.objects[0].volume:.4g} kg/m³" in panel.mass.toolTip()
    assert shape.mass[0] == pytest.approx(8 * before.mass, rel=1e-6)


def test_keys_act_on_what_is_selected_in_the_picture(qtbot, window, scene):
    panel = scene.panel
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


def test_a_body_that_a_right_click_selects_is_highlighted(qtbot, window, scene):
    entry(scene, "Free body: cube")
    settled(qtbot, scene)
    scene.choose(-1)
    window.selection.choose(-1)
    at = seen_at(window, window.workbench.surroundings.part_pose(0)[:3, 3])
    qtbot.mousePress(window.viewport, Qt.MouseButton.RightButton, pos=at)
    look = window.viewport.view().extras.appearance
    assert window.workbench.surroundings.root_of_part(0) in {look.chosen, *look.others}
    qtbot.mouseRelease(window.viewport, Qt.MouseButton.RightButton, pos=at)


@pytest.mark.parametrize("view", ["Isometric", "Right", "Front"])
def test_what_is_added_is_not_behind_what_was_added_before(qtbot, window, scene, view):
    """The cube stood exactly behind the box."""
    next(each for each in window.actions() if each.text().replace("&", "") == view).trigger()
    for text in ("Obstacle: box", "Free body: cube", "Free body: ball"):
        entry(scene, text)
        settled(qtbot, scene)
    for number, item in enumerate(scene.objects):
        at = seen_at(window, item.pose[:3, 3])
        assert window.viewport.rect().contains(at), item.name
        place = (at.x(), at.y())
        obstacle, link = window.viewport.obstacle_under(*place), window.viewport.under(*place)
        if number == 0:
            assert obstacle is not None
        else:
            assert link is not None, item.name
            assert window.workbench.surroundings.part_of_link(link.link) == number - 1, item.name
            assert obstacle is None or link.distance < obstacle.distance, item.name
