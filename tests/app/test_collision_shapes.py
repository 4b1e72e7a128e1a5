"""Collision shapes, shown over the robot from the View menu and hidden again."""

import numpy as np
import pytest
import trimesh
from PyQt6.QtCore import Qt
from PyQt6.QtGui import QImage
from windows import wait

import engine
from app.features.diagnostics_view import DiagnosticsView
from app.gl import context, meshfile
from app.gl.batch import Batch
from app.gl.camera import Camera
from app.gl.edges import Edges
from app.gl.renderer import Renderer
from app.gl.scene import COLLIDING, MISSING, Scene
from app.gl.view import View

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
ROBOT = """<robot name="robot">
  <link name="base">
    <visual><geometry><box size="0.3 0.3 0.1"/></geometry></visual>
    <collision><geometry><box size="0.34 0.34 0.14"/></geometry></collision>
  </link>
  <link name="arm">{inertial}
    <visual><origin xyz="0 0 0.3"/><geometry><mesh filename="arm.stl"/></geometry></visual>
    <collision><origin xyz="0 0 0.3"/><geometry><mesh filename="arm.stl"/></geometry></collision>
    <collision><origin xyz="0 0 0.6"/><geometry><sphere radius="0.15"/></geometry></collision>
    {more}
  </link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
</robot>"""
HULL = '<collision><geometry><mesh filename="{}"/></geometry></collision>'


@pytest.fixture
def model(tmp_path):
    """Loads a robot with two collision shapes of its own, one that is drawn as well, and more."""

    def load(more: str = "") -> engine.Model:
        trimesh.creation.cylinder(0.06, 0.5).export(tmp_path / "arm.stl")
        path = tmp_path / "robot.urdf"
        path.write_text(ROBOT.format(inertial=INERTIAL, more=more), encoding="utf-8")
        return engine.load(path)

    return load


def test_a_scene_has_them_once_they_are_asked_for(model):
    built = Scene(model()).read()
    assert len(built.instances.link) == 2
    built.show_collisions(True)
    assert built.ready  # the mesh that both share is not reloaded
    colliding = np.all(built.instances.color == np.float32(COLLIDING), axis=1)
    assert sorted(built.instances.link[colliding].tolist()) == [0, 1, 1]
    assert built.content.see_through
    assert not built.content.one_sided.all()
    built.show_collisions(False)
    assert len(built.instances.link) == 2
    assert not built.content.see_through


def test_their_meshes_are_read_when_they_are_first_shown(model, tmp_path, monkeypatch):
    trimesh.creation.box().export(tmp_path / "hull.stl")
    files, whole = [], meshfile.read
    monkeypatch.setattr(meshfile, "read", lambda path: (files.append(str(path)), whole(path))[1])
    reported = []
    built = Scene(model(HULL.format("hull.stl") + HULL.format("none.stl")))
    built.load(lambda: reported.append(1))
    built.wait()
    assert [name.rpartition("/")[2] for name in files] == ["arm.stl"]
    built.show_collisions(True)
    assert not built.ready
    before = len(built.meshes)
    built.show_collisions(False)  # while they are being read
    built.show_collisions(True)
    built.wait()
    assert built.ready
    assert len(built.meshes) == before + 2
    assert sum(each is MISSING for each in built.meshes) == 1
    assert [name.rpartition("/")[2] for name in files] == ["arm.stl", "hull.stl"]
    assert len(reported) == 3
    built.close()


def pixels(window) -> np.ndarray:
    """(height, width, 3): what the viewport shows, drawn in full."""
    image = window.viewport.picture().convertToFormat(QImage.Format.Format_RGB888)
    rows = np.array(image.constBits().asarray(image.sizeInBytes()), np.uint8)
    return rows.reshape(image.height(), image.bytesPerLine())[:, : 3 * image.width()].astype(int)


def choose(qtbot, window, action) -> None:
    """Open the menu of overlays and click an entry."""
    menu = window.menus.overlays
    menu.popup(window.mapToGlobal(window.rect().center()))
    wait(qtbot, menu.isVisible)
    qtbot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(action).center())


def test_the_view_menu_shows_and_hides_them(qtbot, opened, model):
    window = opened(model().source)
    action = window.view_controls.collisions
    assert action in window.menus.overlays.actions()
    assert action.isEnabled()
    assert not action.isChecked()
    wait(qtbot, lambda: window.viewport.reading is None)
    window.viewport.camera = Camera(np.array([0.0, 0.0, 0.3]), 2.5)
    plain = pixels(window)
    choose(qtbot, window, action)
    assert action.isChecked()
    shown = pixels(window)
    green = (shown[:, 1::3] - shown[:, 0::3] > 40) & (np.abs(shown - plain)[:, 1::3] > 20)
    assert green.mean() > 0.005
    choose(qtbot, window, action)
    assert np.abs(pixels(window) - plain).max() < 20


def test_a_robot_without_any_has_nothing_to_show_and_a_later_one_keeps_the_choice(qtbot, opened, model):
    window = opened()
    assert not window.view_controls.collisions.isEnabled()
    window = opened(model().source)
    choose(qtbot, window, window.view_controls.collisions)
    opened()
    assert not window.view_controls.collisions.isEnabled()
    opened(model(HULL.format("arm.stl")).source)
    assert window.view_controls.collisions.isEnabled()
    assert window.view_controls.collisions.isChecked()
    assert len(window.viewport.view().content.instances.link) == 6


def test_they_are_remembered(make_window):
    window = make_window()
    window.view_controls.collisions.setChecked(True)
    window.close()
    again = make_window()
    assert again.view_controls.collisions.isChecked()
    again.view_controls.collisions.setChecked(False)
    again.close()
    assert not make_window().view_controls.collisions.isChecked()


def test_a_mesh_that_cannot_be_read_is_told_when_it_is_shown(qtbot, opened, model, tmp_path):
    (tmp_path / "hull.stl").write_text("no mesh")
    window = opened(model(HULL.format("hull.stl")).source)
    wait(qtbot, lambda: window.viewport.reading is None)
    assert window.feature(DiagnosticsView).panel.count == 0
    choose(qtbot, window, window.view_controls.collisions)
    wait(qtbot, lambda: window.feature(DiagnosticsView).panel.count == 1)
    assert window.feature(DiagnosticsView).panel.diagnostics[0].element == "mesh hull.stl"
    for _ in range(2):
        choose(qtbot, window, window.view_controls.collisions)
    assert window.viewport.reading is None
    assert window.feature(DiagnosticsView).panel.count == 1


@pytest.mark.usefixtures("gl")
def test_a_draft_of_one_sample_a_pixel_lets_every_other_pixel_through(model, monkeypatch):
    monkeypatch.setattr(Edges, "smooth", lambda _, canvas, _doors: canvas)  # which comes after it
    robot = model()
    built = Scene(robot, collisions=True).read()
    with context.offscreen():
        renderer = Renderer()
        camera = Camera(np.array([0.0, 0.0, 0.6]), 1.5)
        view = View(built.content, engine.link_poses(robot, [0.0]), camera, 0.0, (320, 240))
        for _ in renderer.pieces(view, detail=1):
            pass
        _, green, red, _ = np.moveaxis(renderer.pixels()[100:140, 140:180].astype(int), -1, 0)
        renderer.release()
    colliding = green - red > 40
    assert colliding.mean() == pytest.approx(0.5, abs=0.02)
    assert np.all(colliding[:, 1:] != colliding[:, :-1])


@pytest.mark.usefixtures("gl")
@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("detail", [0, 1])
def test_one_that_coincides_with_a_visual_is_seen_on_it(model, detail, batch):
    robot = model()
    poses = engine.link_poses(robot, [0.0])
    several = Batch(np.float32(poses[None]), np.zeros((1, 3), np.float32), np.zeros((1, 4), np.float32))
    with context.offscreen():
        renderer = Renderer()
        content, camera = Scene(robot, collisions=True).read().content, Camera(np.array([0.0, 0.0, 0.3]), 1.0)
        for _ in renderer.pieces(View(content, poses, camera, 0.0, (320, 240), several if batch else None), detail):
            pass
        _, green, red, _ = renderer.pixels()[110:130, 155:165].astype(int).mean((0, 1))
        renderer.release()
    assert green - red > 20
