"""The Scene dock: obstacles, bodies and robots added by buttons, numbers and the mouse, and saved."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from PyQt6.QtCore import QPoint, QPointF, Qt
from PyQt6.QtGui import QColor
from PyQt6.QtWidgets import QApplication, QColorDialog
from windows import case, name_file, started, type_in, wait

import engine
from app.features.attaching import GroundView, Placing, SceneView, Sessions, TimeView

RIGHT, SHIFT, CTRL = Qt.MouseButton.RightButton, Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


def shown(qtbot, window, name: str) -> None:
    """A picture to be looked at, in the folder that CATENA_PICTURES names."""
    if folder := os.environ.get("CATENA_PICTURES"):
        wait(qtbot, lambda: window.viewport.detail[0] == 1.0)
        window.grab().save(str(Path(folder) / f"{name}.png"))


@pytest.fixture
def scene(qtbot, arm) -> SceneView:
    view = arm.features[SceneView]
    view.action.trigger()
    wait(qtbot, view.panel.isVisible)
    return view


def entry(view: SceneView, text: str) -> None:
    """Press an entry of the button Add."""
    next(action for action in view.adding.actions() if action.text() == text).trigger()


def settled(qtbot, view: SceneView) -> None:
    bench = view.panel.window().workbench
    wait(
        qtbot, lambda: not bench.opening.loading and not bench.computation.compiling and bench.robot.newest is not None
    )


def seen_at(window, point) -> QPoint:
    place = window.viewport.place(point)
    return QPointF(place).toPoint()


def dragged(qtbot, window, start: QPoint, by: QPoint, keys=Qt.KeyboardModifier.NoModifier) -> None:
    qtbot.mousePress(window.viewport, RIGHT, keys, start)
    for share in (0.5, 1.0):
        qtbot.mouseMove(window.viewport, start + QPoint(round(share * by.x()), round(share * by.y())))
        moved(window, start + QPoint(round(share * by.x()), round(share * by.y())), keys)
    qtbot.mouseRelease(window.viewport, RIGHT, keys, start + by)


def moved(window, at: QPoint, keys) -> None:
    """As `mouseMove`, which knows no keys."""
    from PyQt6.QtCore import QEvent
    from PyQt6.QtGui import QMouseEvent

    none = Qt.MouseButton.NoButton
    where = window.viewport.mapToGlobal(at)
    event = QMouseEvent(QEvent.Type.MouseMove, QPointF(at), QPointF(where), none, RIGHT, keys)
    QApplication.sendEvent(window.viewport, event)


def test_the_joint_rows_of_a_body_have_the_numbers_of_the_scene_panel(qtbot, window, scene):
    bench, panel, table = window.workbench, scene.panel, window.joints.table
    entry(scene, "Free body: cube")
    settled(qtbot, scene)
    for box, value in zip((*panel.place, panel.turn[2]), (0.5, 0.2, 0.3, 40), strict=True):
        type_in(qtbot, box, value)
    wait(qtbot, lambda: bench.surroundings.part_pose(0)[0, 1] == pytest.approx(-np.sin(np.radians(40))))
    entry(scene, "Obstacle: box")
    scene.duplicate(1)  # at a turned pose of its own
    settled(qtbot, scene)
    wait(qtbot, lambda: len(bench.robot.parts) == 2)
    for number in (0, 1):
        scene.choose(1 + number)
        rows = [k for k, row in enumerate(table.rows) if row.name.startswith(bench.robot.parts[number].prefix)]
        shown = [table.rows[k].value(table.q) for k in rows]
        np.testing.assert_allclose(shown[:3], [box.value() for box in panel.place], atol=1e-4)
        np.testing.assert_allclose(np.degrees(shown[3:]), [box.value() for box in panel.turn], atol=1e-2)
    window.joints.move_to(rows[0], 0.7)
    wait(qtbot, lambda: panel.place[0].value() == pytest.approx(0.7))
    window.joints.move_to(rows[5], 1.0)
    wait(qtbot, lambda: panel.turn[2].value() == pytest.approx(np.degrees(1.0), abs=0.01))
    assert panel.place[0].value() == pytest.approx(0.7)


def test_an_obstacle_is_added_sized_turned_duplicated_and_removed(qtbot, window, scene):
    bench, panel = window.workbench, scene.panel
    entry(scene, "Obstacle: box")
    assert [each.shape for each in scene.obstacles] == ["box"]
    assert scene.obstacles[0].pose[2, 3] == pytest.approx(scene.obstacles[0].size[2] / 2)  # it stands on the ground
    type_in(qtbot, panel.sizes[0], 0.4)
    type_in(qtbot, panel.place[1], -0.3)
    type_in(qtbot, panel.turn[2], 90)
    (box,) = scene.obstacles
    assert box.size[0] == 0.4
    assert box.pose[1, 3] == -0.3
    np.testing.assert_allclose(box.pose[:3, :3], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-12)
    wait(qtbot, lambda: window.viewport.view().extras.world.count == 1)
    qtbot.mouseClick(panel.duplicate, Qt.MouseButton.LeftButton)
    assert len(scene.obstacles) == 2
    assert panel.row == 1
    entry(scene, "Obstacle: ball")
    shown(qtbot, window, "obstacles")
    qtbot.mouseClick(panel.remove, Qt.MouseButton.LeftButton)
    assert [each.shape for each in scene.obstacles] == ["box", "box"]
    settled(qtbot, scene)
    assert bench.robot.time == 0
    window.features[GroundView].shapes[1].trigger()  # a slope
    assert len(scene.obstacles) == 2


def test_an_obstacle_is_moved_by_the_mouse(qtbot, window, scene):
    entry(scene, "Obstacle: box")
    window.viewport.fit()
    wait(qtbot, lambda: window.viewport.overlays.world is not None and window.viewport.overlays.world.count == 1)
    pose = scene.obstacles[0].pose.copy()
    top = pose[:3, 3] + [0, 0, scene.obstacles[0].size[2] / 2]
    dragged(qtbot, window, seen_at(window, top), QPoint(-40, 25))
    after = scene.obstacles[0].pose
    assert np.linalg.norm(after[:2, 3] - pose[:2, 3]) > 0.02
    assert after[2, 3] == pose[2, 3]
    dragged(qtbot, window, seen_at(window, after[:3, 3]), QPoint(0, -40), SHIFT)
    assert scene.obstacles[0].pose[2, 3] > after[2, 3] + 0.02
    dragged(qtbot, window, seen_at(window, scene.obstacles[0].pose[:3, 3]), QPoint(60, 0), CTRL)
    assert scene.obstacles[0].pose[0, 0] == pytest.approx(np.cos(np.radians(30)), abs=0.02)
    place, before = seen_at(window, scene.obstacles[0].pose[:3, 3]), scene.obstacles[0].pose
    qtbot.mousePress(window.viewport, RIGHT, pos=place)
    moved(window, place + QPoint(30, 0), Qt.KeyboardModifier.NoModifier)
    assert not np.array_equal(window.features[Placing].grip.now, before)
    qtbot.keyClick(window.viewport, Qt.Key.Key_Escape)
    moved(window, place + QPoint(60, 0), Qt.KeyboardModifier.NoModifier)
    qtbot.mouseRelease(window.viewport, RIGHT, pos=place + QPoint(60, 0))
    assert scene.obstacles[0].pose is before
    assert window.viewport.overlays.world.poses[0] == pytest.approx(before)
    scene.choose(-1)
    qtbot.mouseClick(window.viewport, Qt.MouseButton.LeftButton, pos=place)
    assert scene.panel.row == 0
    shown(qtbot, window, "moved")
    window.run.step.trigger()
    wait(qtbot, lambda: window.workbench.replay.chosen is not None and len(window.workbench.replay.chosen) > 1)
    window.workbench.replay.show(0)
    dragged(qtbot, window, place, QPoint(60, 0))
    assert scene.obstacles[0].pose is before
    assert "is shown; to move objects press Branch here" in window.statusBar().currentMessage()


def test_a_cube_is_added_weighed_moved_dropped_and_reset(qtbot, window, scene):
    bench, panel = window.workbench, scene.panel
    bench.joints.set_coordinate(0, 0.5)
    wait(qtbot, lambda: bench.robot.newest.q[0] == 0.5)
    entry(scene, "Free body: cube")
    settled(qtbot, scene)
    assert [each.name for each in scene.objects] == ["cube"]
    assert bench.robot.model.joint_names[-1] == "cube/floating_base"
    assert panel.list.currentItem().text().startswith("cube · ")
    wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.q[0] == 0.5)  # the arm is where it was
    type_in(qtbot, panel.mass, -3)
    assert window.statusBar().currentMessage() == "Mass: -3 is below the minimum; 1e-06 is set instead"
    wait(qtbot, lambda: bench.robot.model.mass[-1] == 1e-6)
    settled(qtbot, scene)
    assert window.statusBar().currentMessage() == "Mass: -3 is below the minimum; 1e-06 is set instead"
    type_in(qtbot, panel.mass, 0.25)
    settled(qtbot, scene)
    wait(qtbot, lambda: bench.robot.model.mass[-1] == 0.25)
    wait(qtbot, lambda: bench.robot.newest is not None)
    type_in(qtbot, panel.place[2], 0.4)
    wait(qtbot, lambda: bench.surroundings.part_pose(0)[2, 3] == pytest.approx(0.4))
    window.viewport.fit()
    start = bench.surroundings.part_pose(0)[:3, 3]
    dragged(qtbot, window, seen_at(window, start), QPoint(30, 0))
    wait(qtbot, lambda: np.linalg.norm(bench.surroundings.part_pose(0)[:2, 3] - start[:2]) > 0.01)
    placed = bench.surroundings.part_pose(0)
    shown(qtbot, window, "cube")
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.newest.time > 0.6)
    window.run.play.trigger()
    half = panel.sizes[2].value() / 2
    wait(qtbot, lambda: bench.surroundings.part_pose(0)[2, 3] == pytest.approx(half, abs=1e-3))  # it lies on the ground
    window.run.reset.trigger()
    wait(qtbot, lambda: np.allclose(bench.surroundings.part_pose(0), placed))
    shown(qtbot, window, "cube after reset")
    qtbot.mouseClick(panel.remove, Qt.MouseButton.LeftButton)
    settled(qtbot, scene)
    wait(qtbot, lambda: bench.robot.model.nv == 7)
    assert not bench.robot.parts


def test_a_robot_and_a_body_of_files_come_beside_it_and_stay_when_the_file_is_read_again(
    qtbot, window, scene, tmp_path, monkeypatch
):
    bench, file = window.workbench, tmp_path / "brick.urdf"
    file.write_text(engine.to_urdf(engine.free_body("box", (0.2, 0.1, 0.06), 2.0, "brick")))
    name_file(monkeypatch, file)
    entry(scene, "Robot or body on a free base…")
    wait(qtbot, lambda: len(bench.robot.parts) == 1)
    settled(qtbot, scene)
    name_file(monkeypatch, engine.find_robot("pendulum"))
    entry(scene, "Robot on a fixed base…")
    wait(qtbot, lambda: len(bench.robot.parts) == 2)
    settled(qtbot, scene)
    assert [each.name for each in scene.objects] == ["brick", "pendulum"]
    shown(qtbot, window, "beside")
    window.run.floating.trigger()
    wait(qtbot, lambda: not bench.opening.loading and bench.robot.model.joint_names[0] == "floating_base")
    assert [each.name for each in scene.objects] == ["brick", "pendulum"]
    scene.add_robot(str(tmp_path / "nothing.urdf"), free=True)
    wait(qtbot, lambda: "nothing.urdf: " in window.statusBar().currentMessage())


def test_a_session_keeps_what_is_around_the_robot(qtbot, window, scene, tmp_path):
    bench = window.workbench
    entry(scene, "Obstacle: cylinder")
    entry(scene, "Free body: cube")
    settled(qtbot, scene)
    pose = bench.surroundings.part_pose(0).copy()
    pose[:3, 3] += [0.1, -0.2, 0.3]
    bench.surroundings.place_part(0, pose)
    wait(qtbot, lambda: np.allclose(bench.surroundings.part_pose(0), pose))
    path, names = tmp_path / "a.catena", bench.robot.model.joint_names
    window.features[Sessions].save(str(path))
    window.open(engine.find_robot("pendulum"))
    wait(qtbot, lambda: bench.robot.model.name == "pendulum" and not bench.opening.loading)
    window.features[Sessions].open(str(path))
    wait(qtbot, lambda: bench.robot.model.joint_names == names and not bench.opening.loading)
    wait(qtbot, lambda: bench.robot.newest is not None and np.allclose(bench.surroundings.part_pose(0), pose))
    assert [each.shape for each in scene.obstacles] == ["cylinder"]
    assert [each.name for each in scene.objects] == ["Cylinder 1", "cube"]


def test_the_last_run_has_what_was_beside_the_robot(qtbot, make_window, tmp_path):
    """The run is of a window that was closed; a session's recording has it too, to the bit."""
    window = started(make_window, tmp_path / "runs")
    window.open(engine.find_robot("arm7"))
    bench, view = window.workbench, window.features[SceneView]
    wait(qtbot, lambda: bench.robot.model is not None and bench.robot.newest is not None)
    view.add("sphere", False)
    view.add("box", True)
    settled(qtbot, view)
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.newest.time > 0.2)
    window.run.play.trigger()
    wait(qtbot, lambda: not bench.robot.playing)
    path = tmp_path / "with.catena"
    assert window.features[Sessions].save(str(path))
    wait(qtbot, lambda: "recording" in json.loads(path.read_text("utf-8")))
    names, q = bench.robot.model.joint_names, bench.robot.newest.q.copy()
    window.close()
    for opened in ("last run", "session"):
        window = started(make_window, tmp_path / "runs")
        bench, view = window.workbench, window.features[SceneView]
        if opened == "session":
            window.features[Sessions].open(str(path))
        else:
            window.kept.action.trigger()
        wait(qtbot, lambda bench=bench: bench.robot.model is not None and not bench.opening.loading)
        assert bench.robot.model.joint_names == names
        assert bench.source == str(engine.find_robot("arm7"))
        if opened == "last run":
            bench.branch()
        wait(qtbot, lambda bench=bench: bench.robot.newest is not None and np.array_equal(bench.robot.newest.q, q))
        wait(qtbot, lambda view=view: [each.name for each in view.objects] == ["Ball 1", "cube"])
        window.run.play.trigger()
        wait(qtbot, lambda bench=bench: bench.robot.newest.time > 0.3)
        window.close()


@pytest.mark.usefixtures("scene")
def test_a_session_whose_parts_cannot_be_opens_without_them(qtbot, window, tmp_path):
    path = tmp_path / "a.catena"
    window.features[Sessions].save(str(path))
    session = json.loads(path.read_text("utf-8"))
    for junk in ([7], [{"robot": "nobody", "prefix": "", "pose": [0, 0, 0], "options": {}}], "all"):
        path.write_text(json.dumps(session | {"parts": junk}), "utf-8")
        window.open(engine.find_robot("pendulum"))
        wait(qtbot, lambda: window.workbench.robot.model.name == "pendulum" and not window.workbench.opening.loading)
        assert "part of the session" not in window.statusBar().currentMessage()
        window.features[Sessions].open(str(path))
        wait(qtbot, lambda: window.workbench.robot.model.name == "arm7" and not window.workbench.opening.loading)
        assert "part of the session cannot be read: " in window.statusBar().currentMessage(), junk
        assert not window.workbench.robot.parts


def test_another_robot_is_in_the_list_when_the_dock_opens_again(qtbot, window, scene):
    entry(scene, "Free body: cube")
    settled(qtbot, scene)
    wait(qtbot, lambda: len(scene.objects) == 1)
    window.docks["Scene"].hide()
    window.open(engine.find_robot("quadruped"))
    wait(qtbot, lambda: window.workbench.robot.model.name == "quadruped")
    settled(qtbot, scene)
    window.docks["Scene"].show()
    wait(qtbot, scene.panel.isVisible)
    assert scene.panel.list.count() == 0


def test_a_broken_robot_beside_is_refused_on_one_line(qtbot, window, scene, tmp_path):
    path = tmp_path / "beam.urdf"
    path.write_text('<robot name="beam"><link name="a"/><link name="a"/><joint name="j" type="odd"/></robot>')
    scene.add_robot(str(path), False)
    bar = window.statusBar()
    wait(qtbot, lambda: "beam.urdf" in bar.currentMessage() and "error" in bar.currentMessage())
    assert "\n" not in bar.currentMessage()
    assert len(bar.currentMessage()) <= 160
    assert not scene.objects


def test_a_file_that_is_no_robot_is_told_of_in_one_sentence(qtbot, arm, tmp_path):
    path = tmp_path / "cube.obj"
    path.write_text("# a cube\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    arm.features[SceneView].add_robot(str(path), free=True)
    reported = "cube.obj, line 1: XML: the file is a mesh; give the URDF that names it"
    wait(qtbot, lambda: arm.statusBar().currentMessage() == reported)


def test_a_right_click_where_no_menu_is_offered_does_nothing(qtbot, window, scene):
    """The window, to which such a click is passed on, was taken for a watched widget."""
    for widget in (scene.panel.note, scene.panel.surface, window.statusBar(), window.features[TimeView].bar, window):
        qtbot.mouseClick(widget, RIGHT, pos=QPoint(2, 2))
        assert QApplication.activePopupWidget() is None


@pytest.fixture
def far_mesh(tmp_path) -> Path:
    """A tetrahedron of 0.3 m whose origin is 5 m from it, as a file from a CAD assembly has it."""
    path = tmp_path / "far.obj"
    corners = np.array([[5, -2, 1], [5.3, -2, 1], [5, -1.7, 1], [5, -2, 1.3]])
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + ["f 1 3 2", "f 1 2 4", "f 2 3 4", "f 1 4 3"]
    path.write_text("\n".join(lines))
    return path


def test_a_mesh_in_millimetres_is_said_to_be_large_and_leaves_the_robot_in_view(
    qtbot, window, scene, monkeypatch, tmp_path
):
    path, viewport = tmp_path / "bracket.obj", window.viewport
    path.write_text("v 0 0 0\nv 200 0 0\nv 0 150 0\nv 0 0 100\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3")
    name_file(monkeypatch, path)
    distance = viewport.camera.distance
    entry(scene, "Obstacle: mesh…")
    wait(qtbot, lambda: len(scene.obstacles) == 1)
    assert "bracket.obj is 200 m large; if its file is in millimetres" in window.statusBar().currentMessage()
    assert viewport.camera.distance == distance
    scene.panel.choose(0)
    for box in scene.panel.sizes:
        type_in(qtbot, box, "0.001")
    wait(qtbot, lambda: scene.objects[0].size == (0.001, 0.001, 0.001))


@pytest.mark.parametrize("where", ["at the robot", "beside it", "at the sky", "slope"])
def test_a_mesh_is_put_on_the_ground_where_the_camera_looks(qtbot, window, scene, monkeypatch, far_mesh, where):
    bench, viewport = window.workbench, window.viewport
    bench.configuring.set_ground(True)
    if where == "slope":
        bench.set_scene(engine.Scene(engine.slope(0.3)))
    window.refresh()
    if where == "beside it":
        viewport.camera.target = np.array([2.0, 3.0, 0.0])
    elif where == "at the sky":
        viewport.camera.elevation = -0.3
    name_file(monkeypatch, far_mesh)
    entry(scene, "Obstacle: mesh…")
    wait(qtbot, lambda: len(scene.obstacles) == 1)
    (mesh,) = scene.obstacles
    low, high = np.array([5.0, -2.0, 1.0]) + mesh.pose[:3, 3], np.array([5.3, -1.7, 1.3]) + mesh.pose[:3, 3]
    if where == "slope":
        under = [-np.tan(0.3) * x for x in (low[0], high[0])]
        assert low[2] == pytest.approx(max(under))
    else:
        assert low[2] == pytest.approx(0.0)
    if where == "beside it":
        np.testing.assert_allclose((low + high)[:2] / 2, (2.0, 3.0), atol=1e-9)
    robot = viewport.robot_bounds
    assert np.any(low[:2] >= robot[1][:2] - 1e-9) or np.any(high[:2] <= robot[0][:2] + 1e-9), "clear of the robot"
    for corner in (low, high):
        assert viewport.rect().contains(viewport.place(corner).toPoint())
    entry(scene, "Obstacle: mesh…")
    wait(qtbot, lambda: len(scene.obstacles) == 2)
    apart = np.abs(scene.obstacles[1].pose[:2, 3] - mesh.pose[:2, 3])
    assert apart.max() >= 0.3 - 1e-9, "clear of the first"


def test_a_mesh_that_cannot_be_read_is_told_and_not_added(qtbot, window, scene, monkeypatch, tmp_path):
    face = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 1/1 2/2 9/3\n"
    for name, text, why in (
        ("bad.obj", "v 0 0 nan\n", "it has vertices that are not finite, or too far away to compute with"),
        ("bad.obj", face, "a face in line 5 names vertex 9, and it has 3 vertices; export it again"),
        ("bad.stl", "words\n", "holds no triangles; select a mesh that has some"),
    ):
        path, reported = tmp_path / name, f"{name}: {why}"
        path.write_text(text)
        name_file(monkeypatch, path)
        entry(scene, "Obstacle: mesh…")
        with case(reported):
            wait(qtbot, lambda reported=reported: window.statusBar().currentMessage() == reported)
        assert not scene.obstacles


def test_colour_and_friction_of_objects_are_set_kept_and_undone(qtbot, window, scene, monkeypatch, tmp_path):
    bench, panel, red = window.workbench, scene.panel, QColor.fromRgbF(0.9, 0.1, 0.1)
    monkeypatch.setattr(QColorDialog, "getColor", lambda *_: red)
    entry(scene, "Obstacle: box")
    assert panel.friction.value() == bench.robot.settings.scene.friction
    type_in(qtbot, panel.friction, 0.25)
    qtbot.mouseClick(panel.color, Qt.MouseButton.LeftButton)
    (box,) = scene.obstacles
    assert (box.friction, box.color) == (0.25, pytest.approx(red.getRgbF()))
    drawn = window.viewport.overlays.world.obstacles.instances.color
    np.testing.assert_allclose(drawn, [red.getRgbF()], atol=1e-6)
    entry(scene, "Free body: cube")
    settled(qtbot, scene)
    scene.choose(1)
    type_in(qtbot, panel.friction, 0.1)
    settled(qtbot, scene)
    wait(qtbot, lambda: bench.robot.parts[0].model.collisions[0].friction == 0.1)
    scene.choose(1)
    qtbot.mouseClick(panel.color, Qt.MouseButton.LeftButton)
    settled(qtbot, scene)
    wait(qtbot, lambda: bench.robot.parts[0].model.visuals[0].color == pytest.approx(red.getRgbF()))
    shown(qtbot, window, "colour_friction")
    path = tmp_path / "own.catena"
    window.features[Sessions].save(str(path))
    for check in (
        lambda: bench.robot.parts[0].model.visuals[0].color != pytest.approx(red.getRgbF()),
        lambda: bench.robot.parts[0].model.collisions[0].friction is None,
        lambda: not bench.robot.parts,
        lambda: scene.obstacles[0].color is None,
        lambda: scene.obstacles[0].friction is None,
    ):
        settled(qtbot, scene)
        qtbot.keyClick(window, Qt.Key.Key_Z, CTRL)
        wait(qtbot, check)
    window.files.open(path)
    wait(qtbot, lambda: len(bench.robot.parts) == 1 and scene.obstacles[0].friction == 0.25)
    assert scene.obstacles[0].color == pytest.approx(red.getRgbF())
    (cube,) = bench.robot.parts
    assert cube.model.collisions[0].friction == 0.1
    assert cube.model.visuals[0].color == pytest.approx(red.getRgbF())
