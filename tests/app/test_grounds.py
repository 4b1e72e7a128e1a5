"""The drawn ground agrees with the chosen one: planes of any slope, height fields and obstacles."""

import json

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtTest import QTest
from test_collision_shapes import pixels
from test_contacts import seen
from windows import name_file, number_typed, wait

import engine
from app.features import session_scene
from app.features.attaching import BatchView, GroundView, SceneView, UndoView
from app.gl import frame
from app.gl.camera import Camera
from app.gl.world import FEW, world_of
from app.picture.crowd import ARRANGEMENTS
from app.simulation import grounds
from app.simulation.batch_spread import BatchSpread

QUADRUPED = engine.ROBOTS / "quadruped.urdf"


@pytest.fixture
def standing(shown):
    return shown(QUADRUPED)


def choose(qtbot, window, shape: int) -> None:
    """Press an entry of Simulation › Terrain, and wait until the robot stands there."""
    view = window.features[GroundView]
    assert view.menu.menuAction() in window.menus.simulation.actions()
    before = window.workbench.robot.newest.q.copy()
    view.shapes[shape].trigger()
    robot = window.workbench.robot
    wait(qtbot, lambda: not np.array_equal(robot.newest.q, before) and robot.newest.time == 0)


def test_a_slope_is_drawn_under_the_feet(qtbot, standing):
    flat = pixels(standing)
    choose(qtbot, standing, 1)
    view = standing.viewport.view()
    normal = np.array(standing.workbench.robot.settings.scene.ground.normal)
    np.testing.assert_allclose(view.extras.world.plane, [*normal, 0.0])
    assert normal[2] == pytest.approx(np.cos(np.radians(10)))
    assert np.abs(pixels(standing) - flat).max() > 30
    choose(qtbot, standing, 0)
    assert np.abs(pixels(standing) - flat).max() < 20


def test_a_height_field_hides_what_lies_below_it_and_is_shaded(qtbot, standing):
    choose(qtbot, standing, 2)
    field = standing.workbench.robot.settings.scene.ground
    assert isinstance(field, engine.HeightField)
    # A point of the ground beside the robot is drawn in the ground's colour; a pixel of the empty picture is darker.
    size = standing.viewport.robot_size
    standing.viewport.see(Camera(np.zeros(3), 4 * size, 0.5, 0.9))
    shown = pixels(standing)
    places = np.array([[0.9, 0.9], [-0.9, 0.9], [0.9, -0.9]]) * size
    colors = []
    for place, height in zip(places, field.height(places), strict=True):
        row, column = seen(standing, np.append(place, height))
        colors.append(shown[row - 2 : row + 3].reshape(5, -1, 3)[:, column - 2 : column + 3].mean())
    standing.run.ground.trigger()
    wait(qtbot, lambda: standing.viewport.view().extras.world is None)
    empty = pixels(standing)
    assert min(colors) > empty.mean() + 8
    assert np.ptp(shown.astype(float).mean(1)) > 5


def test_obstacles_stand_where_the_scene_has_them(qtbot, standing):
    plain_links = len(standing.viewport.view().poses)
    standing.features[GroundView].shapes[3].trigger()
    wait(qtbot, lambda: standing.viewport.view().extras.world.obstacles is not None)
    view, obstacles = standing.viewport.view(), standing.workbench.robot.settings.scene.obstacles
    assert len(obstacles) == 5
    assert len(view.poses) == plain_links + len(obstacles)
    content = view.content
    for k, obstacle in enumerate(obstacles):
        here = content.instances.link == plain_links + k
        corners = content.hulls[here].reshape(-1, 3) + view.poses[plain_links + k, :3, 3]
        lower = np.asarray(obstacle.pose)[:3, 3] - np.array(obstacle.size) / 2
        np.testing.assert_allclose(corners.min(0), lower, atol=1e-6)
    last = np.asarray(obstacles[-1].pose)[:3, 3] + [0, 0, obstacles[-1].size[2] / 2]
    standing.viewport.see(Camera(last, 3.0, -0.6, 0.7))
    row, column = seen(standing, last)
    color = pixels(standing)[row].reshape(-1, 3)[column]
    assert color[0] > color[2] + 15  # sand, on a bluish ground


def test_the_stairs_begin_in_front_of_the_robot_and_are_in_view(standing):
    standing.features[GroundView].shapes[3].trigger()
    viewport, obstacles = standing.viewport, standing.workbench.robot.settings.scene.obstacles
    front = viewport.robot_bounds[1][0]
    first, last = (np.asarray(each.pose)[:3, 3] for each in (obstacles[0], obstacles[-1]))
    assert front < first[0] - obstacles[0].size[0] / 2 < front + 0.2 * viewport.robot_size
    side = np.array([0.0, obstacles[-1].size[1] / 2, 0.0])
    assert np.cos(viewport.camera.azimuth) < 0  # they rise away from the eye
    for place in (first, last, last + side, last - side):
        assert viewport.rect().contains(viewport.place(place).toPoint())


def typed(form, name: str, value: float) -> None:
    """Type a number into the form, whose label says that name and whose box its unit."""
    label = next(each for each in form.labels if each.text() == name and each.isVisible())
    label.buddy().setFocus()
    label.buddy().selectAll()
    QTest.keyClicks(label.buddy(), str(value))
    QTest.keyClick(label.buddy(), Qt.Key.Key_Return)


def test_numbers_of_the_terrain_are_typed_in_the_scene_panel(qtbot, standing):
    view, bench = standing.features[GroundView], standing.workbench
    next(each for each in view.menu.actions() if each.text() == "S&ettings…").trigger()
    form = view.form
    assert standing.docks["Scene"].isVisible()
    assert [label.isVisible() for label in form.labels] == [False] * len(form.labels)
    choose(qtbot, standing, 1)
    assert (form.kind.currentText(), form.boxes[0].text()) == ("Slope", "10°")
    typed(form, "Angle", 25)
    assert bench.robot.settings.scene.ground.normal[2] == pytest.approx(np.cos(np.radians(25)))
    typed(form, "Uphill", 90)
    assert bench.robot.settings.scene.ground.normal[1] == pytest.approx(-np.sin(np.radians(25)))
    form.kind.setCurrentText("Stairs")
    form.kind.textActivated.emit("Stairs")
    typed(form, "Rise", 0.03)
    typed(form, "Steps", 3)
    assert [each.size[2] for each in bench.robot.settings.scene.obstacles] == pytest.approx([0.03, 0.06, 0.09])
    assert form.boxes[1].suffix() == " m"
    form.kind.textActivated.emit("Rough")
    assert not bench.robot.settings.scene.obstacles
    typed(form, "Height", 0.07)
    assert np.abs(bench.robot.settings.scene.ground.heights).max() == pytest.approx(0.07)
    standing.features[UndoView].undo.trigger()
    assert np.abs(bench.robot.settings.scene.ground.heights).max() > 0.08
    standing.features[UndoView].undo.trigger()
    assert (form.kind.currentText(), view.shapes[3].isChecked()) == ("Stairs", True)
    assert form.boxes[1].value() == pytest.approx(0.03)
    assert form.boxes[0].value() == 3
    view.choose(grounds.FLAT)  # the steps that came back go with the stairs
    assert bench.robot.settings.scene == engine.Scene()
    assert standing.features[SceneView].objects == ()


def test_stairs_of_a_session_are_stairs_again_beside_what_else_there_is(standing):
    view, bench, form = standing.features[GroundView], standing.workbench, standing.features[GroundView].form
    other = engine.Obstacle("box", (0.1, 0.1, 0.1), (-1.0, 0.0, 0.05))
    scene = engine.Scene(obstacles=(other, *engine.stairs(4, 0.03, 0.25, 0.8, 0.451)))
    bench.set_scene(session_scene.read(json.loads(json.dumps(session_scene.write(scene)))))
    next(each for each in view.menu.actions() if each.text() == "S&ettings…").trigger()
    standing.refresh()
    assert view.shapes[3].isChecked()
    assert [box.value() for box in form.boxes] == pytest.approx([4, 0.03, 0.25, 0.8, 0.451])
    typed(form, "Steps", 2)
    assert [each.size[2] for each in bench.robot.settings.scene.obstacles] == pytest.approx([0.1, 0.03, 0.06])
    view.choose(grounds.FLAT)
    assert [each.size for each in bench.robot.settings.scene.obstacles] == [other.size]


def test_rough_ground_of_a_session_has_its_numbers_again(standing):
    view, bench, form = standing.features[GroundView], standing.workbench, standing.features[GroundView].form
    scene = engine.Scene(ground=engine.rough_ground(0.08, 0.9, 42, 0.7))
    bench.set_scene(session_scene.read(json.loads(json.dumps(session_scene.write(scene)))))
    next(each for each in view.menu.actions() if each.text() == "S&ettings…").trigger()
    standing.refresh()
    assert view.shapes[2].isChecked()
    assert [box.value() for box in form.boxes if box.isVisible()] == [0.08, 0.9, 42]
    before = bench.robot.settings.scene.ground.heights
    np.testing.assert_array_equal(before, scene.ground.heights)
    typed(form, "Seed", 43)
    assert np.abs(bench.robot.settings.scene.ground.heights).max() == pytest.approx(0.08)
    assert not np.array_equal(bench.robot.settings.scene.ground.heights, before)


def test_without_ground_to_stand_on_there_is_nothing_to_choose(opened):
    window = opened()
    view = window.features[GroundView]
    assert not view.menu.isEnabled()
    assert not view.form.isEnabled()


def test_a_field_of_heights_is_read_from_a_file_and_a_bad_one_is_told(qtbot, standing, tmp_path, monkeypatch):
    heights = np.add.outer(np.zeros(5), np.linspace(0.0, 0.2, 9))
    path = tmp_path / "hill.npy"
    np.save(path, heights)
    view = standing.features[GroundView]
    name_file(monkeypatch, path)
    with number_typed(0.25):
        view.from_file.trigger()
    wait(qtbot, lambda: standing.viewport.view().extras.world.terrain is not None)
    ground = standing.workbench.robot.settings.scene.ground
    np.testing.assert_array_equal(ground.heights, heights)
    assert ground.cell == 0.25
    assert view.from_file.isChecked()
    path.write_text("no heights")
    with number_typed(0.5) as requested:
        view.from_file.trigger()
    assert not requested  # for the metres between the heights of a file that has none
    assert "hill.npy" in standing.statusBar().currentMessage()
    path.unlink()
    view.from_file.trigger()
    assert standing.statusBar().currentMessage() == "hill.npy: No such file or directory"
    assert standing.workbench.robot.settings.scene.ground is ground
    assert view.from_file.isChecked()


def test_triangles_are_those_that_robots_touch(rng):
    field = engine.HeightField(rng.uniform(0, 1, (6, 9)), 0.5, (1.0, 2.0, 3.0))
    exact, draft = world_of(engine.Scene(ground=field)).terrain
    assert draft is exact
    corners = exact.vertices.astype(float)[exact.faces]
    up = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.all(up[:, 2] > 0)
    middle = corners.mean(1)
    np.testing.assert_allclose(field.height(middle[:, :2]), middle[:, 2], atol=1e-5)


def test_a_large_field_has_fewer_triangles_in_drafts():
    field = engine.HeightField(np.zeros((700, 300)), 0.1)
    exact, draft = world_of(engine.Scene(ground=field)).terrain
    assert len(exact.faces) > 699 * 299 * 2
    assert len(draft.faces) <= 2 * (FEW + 3) ** 2
    np.testing.assert_allclose(draft.vertices.min(0), exact.vertices.min(0))


def test_a_plane_has_directions_of_its_own(rng):
    for _ in range(20):
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        u, v = frame.directions(np.append(n, 0.3))
        np.testing.assert_allclose(np.stack([u, v, n]) @ np.stack([u, v, n]).T, np.eye(3), atol=1e-12)
        np.testing.assert_allclose(np.cross(u, v), n, atol=1e-12)
    u, v = frame.directions(np.array([0.0, 0.0, 1.0, 0.0]))
    assert (u.tolist(), v.tolist()) == ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])


def test_a_height_field_that_buries_a_fixed_base_is_said_and_which_it_is(qtbot, opened, tmp_path):
    path = tmp_path / "plateau.npy"
    np.save(path, np.pad(np.full((9, 9), 0.6), 4))
    window = opened(QUADRUPED)
    view = window.features[GroundView]
    with number_typed(0.2):
        view._open(str(path))
    wait(qtbot, lambda: window.features[GroundView].form.kind.currentText() == grounds.FIELD)
    assert view.form.note.text() == "plateau.npy: 17 × 17 heights, 0.2 m apart, from 0 to 0.6 m"
    assert "high where" not in window.statusBar().currentMessage()
    opened(engine.find_robot("scara"))
    wait(qtbot, lambda: "the height field is 0.6 m high where scara is" in window.statusBar().currentMessage())
    assert "the terrain stays as set for the robot before" in window.statusBar().currentMessage()
    view.choose(grounds.FLAT)
    wait(qtbot, lambda: not view.form.note.isVisibleTo(window))


def test_each_robot_of_a_batch_is_drawn_on_the_ground_that_it_touches(qtbot, standing):
    box = standing.feature(BatchView).panel.arrangement
    standing.workbench.configuring.set_spread(BatchSpread(4))
    wait(qtbot, lambda: standing.viewport.view().batch is not None)
    choose(qtbot, standing, 1)  # a slope
    normal = np.array(standing.workbench.robot.settings.scene.ground.normal)
    wait(qtbot, lambda: np.ptp(standing.viewport.view().batch.offsets[:, 2]) > 0)
    assert np.ptp(standing.viewport.view().batch.offsets[:, 0]) > 0
    np.testing.assert_allclose(standing.viewport.view().batch.offsets @ normal, 0, atol=1e-5)
    choose(qtbot, standing, 2)  # a height field, drawn once
    wait(qtbot, lambda: not standing.viewport.view().batch.offsets.any())
    assert (box.isEnabled(), box.currentText()) == (False, ARRANGEMENTS[1])
    assert "height field" in box.toolTip()
    choose(qtbot, standing, 0)
    wait(qtbot, lambda: standing.viewport.view().batch.offsets.any())
    assert (box.isEnabled(), box.currentText()) == (True, ARRANGEMENTS[0])


def test_each_robot_of_a_batch_has_its_obstacles_beside_it(qtbot, standing):
    bench = standing.workbench
    bench.configuring.set_spread(BatchSpread(4))
    wait(qtbot, lambda: standing.viewport.view().batch is not None)
    width = np.ptp(standing.viewport.view().batch.offsets[:, 1])
    pose = np.eye(4)
    pose[:3, 3] = 0, 1.2, 0.2
    red = engine.Obstacle("box", (0.4, 0.4, 0.4), pose, color=(0.9, 0.0, 0.0, 1.0))
    bench.set_scene(engine.Scene(obstacles=(red,)))
    wait(qtbot, lambda: np.ptp(standing.viewport.view().batch.offsets[:, 1]) > width)  # so that the obstacles have room
    view = standing.viewport.view()
    own = len(bench.robot.model.link_names)
    np.testing.assert_allclose(view.batch.links[:, own:, :3, 3], np.broadcast_to([0, 1.2, 0.2], (4, 1, 3)))
    (at,) = np.flatnonzero(view.content.instances.link == own)
    np.testing.assert_allclose(view.content.instances.color[at], red.color, atol=1e-6)
    picture = pixels(standing).reshape(-1, 3)
    assert np.sum((picture[:, 0] > 90) & (picture[:, 1] < 60)) > 200  # in its own colour, the selected robot's too
    bench.select_robot(3)
    wait(qtbot, lambda: standing.viewport.center.any())
    viewport, offsets = standing.viewport, standing.viewport.view().batch.offsets
    at = viewport.place(pose[:3, 3])
    assert viewport.obstacle_under(at.x(), at.y()).link == 0  # beside the selected robot
    moved = pose.copy()
    moved[:3, 3] += 5
    viewport.overlays.move_obstacle(0, moved)  # as a drag does
    np.testing.assert_array_equal(viewport.view().batch.offsets, offsets)
    np.testing.assert_allclose(viewport.view().batch.links[:, own, :3, 3], np.broadcast_to(moved[:3, 3], (4, 3)))
    view = viewport.view()
    assert standing.viewport.view().batch is view.batch  # else it would be drawn again at each look
