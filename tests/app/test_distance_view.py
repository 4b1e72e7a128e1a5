"""The distance between two points that are clicked in the picture."""

import os
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PyQt6.QtCore import QPoint, Qt
from PyQt6.QtGui import QColor
from test_collision_shapes import pixels
from test_commands_at_hand import press
from test_dragging import place_of
from test_robot_panel import on_screen
from test_run_files import open_run
from test_scene_view import entry, seen_at, settled
from windows import wait

from app.desktop import theme
from app.desktop.context_menus import LINK, Clicked
from app.features.attaching import DistanceView, SceneView
from app.simulation.batch_spread import BatchSpread
from engine import cli

LEFT = Qt.MouseButton.LeftButton


def ground_in(window) -> QPoint:
    """A place of the picture where only the ground is seen."""
    view, viewport = window.features[DistanceView], window.viewport
    for y in range(viewport.height() - 90, 4, -20):
        for x in range(60, viewport.width(), 40):
            end = view.under(QPoint(x, y).toPointF())
            if end is not None and end.link < 0 and end.obstacle < 0:
                return QPoint(x, y)
    raise AssertionError("no ground is in sight")


def measured(qtbot, window, *places: QPoint) -> np.ndarray:
    """Measure between two places of the picture by M and two clicks; the vector, m."""
    qtbot.keyClick(window, Qt.Key.Key_M)
    assert window.features[DistanceView].action.isChecked()
    for place in places:
        qtbot.mouseClick(window.viewport, LEFT, pos=place)
    assert not window.features[DistanceView].action.isChecked()
    return window.features[DistanceView].vector


def test_a_distance_from_a_link_to_the_ground_is_drawn_and_follows_the_robot(qtbot, arm):
    view, hand, plain = arm.features[DistanceView], arm.workbench.robot.model.link_names.index("hand"), pixels(arm)
    at, below = place_of(qtbot, arm, hand), ground_in(arm)
    first = arm.viewport.under(at.x(), at.y()).point
    vector = measured(qtbot, arm, at, below)
    assert arm.selection.link == -1
    np.testing.assert_allclose(view.ends[1].point, first + vector, atol=1e-9)
    assert (first + vector)[2] == pytest.approx(0, abs=1e-9)
    assert (np.abs(pixels(arm) - plain) > 30).mean() > 2e-4
    length = f"{np.linalg.norm(vector):.3g} m"
    labels = [text for text, *_ in arm.viewport.view().extras.labels]
    assert labels in ([length], [f"{1e3 * np.linalg.norm(vector):.3g} mm"])
    assert view.button.isVisible()
    assert view.button.text().startswith(labels[0])
    assert "hand to the ground" in view.button.toolTip()
    for width in (260, 900):  # the numbers stay whole in a narrow picture
        arm.viewport.resize(width, 400)
        assert arm.viewport.rect().contains(view.button.geometry())
        assert ("\n" in view.button.text()) == (width < 300)
    arm.workbench.joints.set_coordinate(1, 0.7)
    wait(qtbot, lambda: not np.allclose(view.vector, vector, atol=1e-3))
    pose = arm.workbench.robot.newest.link_poses[hand]
    np.testing.assert_allclose(pose[:3, :3] @ view.ends[0].point + pose[:3, 3] + view.vector, first + vector)
    arm.viewport.setFocus()
    qtbot.keyClick(arm.viewport, Qt.Key.Key_Escape)
    assert not view.ends
    assert not view.button.isVisible()
    assert not arm.viewport.view().extras.labels


@pytest.mark.parametrize("dark", [True, False], ids=["dark", "light"])
def test_the_line_stands_out_from_what_it_crosses_in_both_themes(qtbot, qapp, arm, dark):
    """In the light theme it was an olive hairline."""
    theme.apply(qapp, dark=dark)
    try:
        plain = pixels(arm)
        at, below = place_of(qtbot, arm, arm.workbench.robot.model.link_names.index("hand")), ground_in(arm)
        measured(qtbot, arm, at, below)
        drawn = pixels(arm)
        if folder := os.environ.get("CATENA_PICTURES"):
            arm.grab().save(f"{folder}/distance {dark}.png")
        plain, drawn = (each.reshape(len(each), -1, 3) for each in (plain, drawn))
        there = np.abs(drawn - plain).max(-1) > 30
        length = np.hypot(at.x() - below.x(), at.y() - below.y()) * drawn.shape[1] / arm.viewport.width()
        crossed, seen = (QColor(*np.median(each[there], axis=0).astype(int)).name() for each in (plain, drawn))
        assert there.sum() > 6 * length  # px wide
        assert theme.contrast(crossed, seen) > 4.5
    finally:
        theme.apply(qapp)


def test_where_the_ground_is_off_the_drawn_plane_is_measured(qtbot, arm):
    at, below = place_of(qtbot, arm, arm.workbench.robot.model.link_names.index("hand")), ground_in(arm)
    arm.workbench.configuring.set_ground(False)
    arm.refresh()
    wait(qtbot, lambda: arm.viewport.overlays.world is None)
    first = arm.viewport.under(at.x(), at.y()).point
    assert (first + measured(qtbot, arm, at, below))[2] == pytest.approx(arm.viewport.floor, abs=1e-9)


def test_an_end_on_an_obstacle_follows_it_and_the_menu_removes_the_distance(qtbot, arm):
    scene, view = arm.features[SceneView], arm.features[DistanceView]
    entry(scene, "Obstacle: box")
    settled(qtbot, scene)
    scene.choose(-1)
    arm.viewport.fit()
    box, hand = scene.obstacles[0], arm.workbench.robot.model.link_names.index("hand")
    vector = measured(qtbot, arm, place_of(qtbot, arm, hand), seen_at(arm, box.pose[:3, 3]))
    assert view.ends[1].obstacle == 0
    moved = box.pose.copy()
    moved[2, 3] += 0.5
    arm.viewport.overlays.move_obstacle(0, moved)
    np.testing.assert_allclose(view.vector - vector, [0, 0, 0.5], atol=1e-9)
    press(arm.menus.context.of(Clicked(LINK, "hand", hand)), "Remove distance")
    assert view.vector is None
    arm.viewport.overlays.move_obstacle(0, box.pose)
    measured(qtbot, arm, place_of(qtbot, arm, hand), seen_at(arm, box.pose[:3, 3]))
    scene.remove(0)
    wait(qtbot, lambda: not scene.obstacles and view.vector is None)


def test_a_distance_stays_on_its_obstacles_until_one_of_them_is_removed(qtbot, arm):
    scene, view = arm.features[SceneView], arm.features[DistanceView]
    for _ in range(3):
        entry(scene, "Obstacle: box")
        settled(qtbot, scene)
    scene.choose(-1)
    arm.viewport.fit()
    vector = measured(qtbot, arm, *(seen_at(arm, each.pose[:3, 3]) for each in scene.obstacles[1:]))
    assert [end.obstacle for end in view.ends] == [1, 2]
    for change, numbers in ((partial(scene.remove, 0), [0, 1]), (partial(entry, scene, "Obstacle: ball"), [0, 1])):
        change()
        settled(qtbot, scene)
        arm.viewport.picture()
        assert [end.obstacle for end in view.ends] == numbers
        np.testing.assert_allclose(view.vector, vector, atol=1e-9)
    moved = scene.objects[1].pose.copy()
    moved[2, 3] += 0.5
    scene.change(1, replace(scene.objects[1], pose=moved))
    settled(qtbot, scene)
    np.testing.assert_allclose(view.vector - vector, [0, 0, 0.5], atol=1e-9)
    scene.remove(1)
    settled(qtbot, scene)
    arm.viewport.picture()
    assert not view.ends
    assert not view.button.isVisible()


def test_between_two_robots_a_distance_is_measured_until_the_second_is_closed(qtbot, second):
    window, put = second
    scene, view, beside = window.viewport, window.features[DistanceView], put("humanoid")
    wait(qtbot, lambda: window.workbench.robot.newest is not None and scene.reading is None)
    content, poses = scene.overlays.second_robot
    link = int(content.instances.link[0])
    at = scene.place((poses[link] @ content.instances.local[0])[:3, 3]).toPoint()
    hand = window.workbench.robot.model.link_names.index("hand")
    vector = measured(qtbot, window, place_of(qtbot, window, hand), at)
    hit = beside.under(at.toPointF())
    assert (view.ends[0].link, view.ends[1].second) == (hand, hit.link)
    menu = window.menus.context.at(scene, at)
    assert [each.text().replace("&", "") for each in menu.actions() if each.text()] == [
        beside.model.link_names[hit.link], "Centre the view here", "Remove distance", "Copy name", "Close second robot"
    ]  # fmt: skip
    assert beside.model.link_names[hit.link] in view.button.toolTip()
    moved = poses.copy()
    moved[:, 2, 3] += 0.5
    scene.overlays.set_second_robot(content, moved)
    np.testing.assert_allclose(view.vector - vector, [0, 0, 0.5], atol=1e-9)
    press(menu, "Close second robot")
    assert not view.ends
    assert not view.button.isVisible()
    scene.picture()


def test_measuring_is_cancelled_and_drags_turn_the_view_meanwhile(qtbot, arm):
    view, at = arm.features[DistanceView], ground_in(arm)
    view.action.trigger()
    before = arm.viewport.camera.azimuth
    qtbot.mousePress(arm.viewport, LEFT, pos=at)
    qtbot.mouseMove(arm.viewport, at + QPoint(40, 0))
    qtbot.mouseRelease(arm.viewport, LEFT, pos=at + QPoint(40, 0))
    assert not view.ends
    assert arm.viewport.camera.azimuth != before
    qtbot.mouseClick(arm.viewport, LEFT, pos=ground_in(arm))
    assert len(view.ends) == 1
    qtbot.keyClick(arm.viewport, Qt.Key.Key_Escape)
    assert not view.ends
    assert not view.action.isChecked()
    qtbot.mouseClick(arm.viewport, LEFT, pos=place_of(qtbot, arm, 3))
    assert arm.selection.link == 3


def test_the_numbers_are_those_of_the_recorded_frame_that_is_shown(qtbot, arm):
    view, hand = arm.features[DistanceView], arm.workbench.robot.model.link_names.index("hand")
    arm.workbench.joints.set_held(False)
    arm.run.play.trigger()
    wait(qtbot, lambda: arm.workbench.robot.time > 0.3)
    arm.run.play.trigger()
    vector = measured(qtbot, arm, place_of(qtbot, arm, hand), ground_in(arm))
    qtbot.keyClick(arm, Qt.Key.Key_Home)
    wait(qtbot, lambda: arm.workbench.shown.time == 0)
    assert np.linalg.norm(view.vector - vector) > 0.02
    length = np.linalg.norm(view.vector)
    assert view.button.text().startswith((f"{length:.3g} m", f"{1e3 * length:.3g} mm"))
    first = arm.workbench.shown.link_poses[hand]
    at = on_screen(arm, hand)
    touched = arm.viewport.under(at.x(), at.y())
    measured(qtbot, arm, at, ground_in(arm))
    end = view.ends[0]
    assert end.link == touched.link
    np.testing.assert_allclose(first[:3, :3] @ end.point + first[:3, 3], touched.point, atol=1e-9)


def test_a_run_from_a_file_is_measured(qtbot, arm, tmp_path):
    path, model = tmp_path / "run.npz", arm.workbench.robot.model
    assert cli.main(["run", "arm7", "--seconds", "0.1", "--every", "20", "--out", str(path)]) == 0
    open_run(qtbot, arm, path)
    wait(qtbot, lambda: arm.viewport.reading is None)
    vector = measured(qtbot, arm, place_of(qtbot, arm, model.link_names.index("hand")), ground_in(arm))
    assert np.linalg.norm(vector) > 0.1


def test_in_a_batch_the_line_ends_where_the_ground_was_clicked(qtbot, arm):
    arm.workbench.configuring.set_spread(BatchSpread(4, 0.2))
    wait(qtbot, lambda: arm.viewport.view().batch is not None)
    arm.workbench.select_robot(3)
    wait(qtbot, lambda: np.allclose(arm.viewport.center, arm.viewport.view().batch.offsets[3]))
    assert np.linalg.norm(arm.viewport.center) > 0.1
    at = ground_in(arm)
    measured(qtbot, arm, at, at + QPoint(60, 0))
    balls = arm.viewport.view().extras.glyphs["ball"].poses
    camera, (width, height) = arm.viewport.camera, (arm.viewport.width(), arm.viewport.height())
    seen = camera.projection(width / height) @ camera.view() @ np.append(balls[0][:3, 3], 1.0)
    assert (0.5 + 0.5 * seen[0] / seen[3]) * width == pytest.approx(at.x(), abs=2)
    assert (0.5 - 0.5 * seen[1] / seen[3]) * height == pytest.approx(at.y(), abs=2)
