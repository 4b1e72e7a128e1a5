"""The viewport: looked at, turned and closed as a user does."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from PyQt6.QtCore import QEvent, QPoint, QPointF, Qt
from PyQt6.QtGui import QMouseEvent, QWheelEvent
from PyQt6.QtWidgets import QApplication

import engine
from app.gl.renderer import DETAILS
from app.viewport import EASE, EASY, SMOOTH, STILL, Viewport

ROBOT = """<robot name="robot">
  <link name="base"/>
  <link name="body">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <visual><geometry><box size="0.4 0.4 0.4"/></geometry></visual>
    {more}
  </link>
  <joint name="slide" type="prismatic">
    <parent link="base"/><child link="body"/><axis xyz="1 0 0"/>
    <limit lower="-9" upper="9" effort="1" velocity="1"/>
  </joint>
</robot>
"""
MESH = '<visual><geometry><mesh filename="palm.stl"/></geometry></visual>'


@pytest.fixture
def robot(tmp_path):
    """Loads the robot above, with more of its visuals."""

    def load(more: str = "") -> engine.Model:
        path = tmp_path / "robot.urdf"
        path.write_text(ROBOT.format(more=more), encoding="utf-8")
        return engine.load(path)

    return load


@pytest.fixture
def viewport(qtbot):
    made = Viewport()
    qtbot.addWidget(made)
    made.resize(320, 240)
    with qtbot.waitExposed(made), qtbot.waitSignal(made.drawn):
        made.show()
    yield made
    made.close()


def colors(viewport: Viewport) -> np.ndarray:
    """(height, width, 3): what it shows."""
    image = viewport.picture().convertToFormat(viewport.picture().Format.Format_RGB888)
    data = image.constBits().asarray(image.sizeInBytes())
    rows = np.array(data, np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).astype(int)


def drag(qtbot, viewport: Viewport, button, by: QPoint, keys=Qt.KeyboardModifier.NoModifier) -> None:
    start = viewport.rect().center()
    qtbot.mousePress(viewport, button, keys, start)
    where, none = QPointF(start + by), Qt.MouseButton.NoButton
    # qtbot.mouseMove knows no buttons and no keys.
    QApplication.sendEvent(
        viewport, QMouseEvent(QEvent.Type.MouseMove, where, viewport.mapToGlobal(where), none, button, keys)
    )
    qtbot.mouseRelease(viewport, button, keys, start + by)


def test_empty_it_tells_what_to_do(viewport, robot):
    (hint,) = [child for child in viewport.children() if hasattr(child, "text")]
    assert hint.isVisible()
    assert "Open a URDF" in hint.text()
    viewport.set_model(robot())
    assert not hint.isVisible()
    viewport.set_model(None)
    assert hint.isVisible()


def test_a_robot_is_shown_and_moves(qtbot, viewport, robot):
    empty = colors(viewport)
    model = robot()
    with qtbot.waitSignal(viewport.drawn) as shown:
        viewport.set_model(model)
        viewport.set_poses(engine.link_poses(model, [0.0]))
    assert shown.args[0] > 0
    at_home = colors(viewport)
    assert np.abs(at_home - empty).max() > 60
    with qtbot.waitSignal(viewport.drawn):
        viewport.set_poses(engine.link_poses(model, [0.4]))
    assert np.abs(colors(viewport) - at_home).max() > 60
    assert viewport.upload_seconds > 0


def test_poses_of_another_robot_are_refused(viewport, robot):
    viewport.set_model(robot())
    with pytest.raises(ValueError, match=r"\(5, 4, 4\)"):
        viewport.set_poses(np.zeros((5, 4, 4)))


def test_the_mouse_orbits_pans_and_zooms(qtbot, viewport, robot):
    viewport.set_model(robot())
    camera = viewport.camera
    fitted = camera.distance
    azimuth, target = camera.azimuth, camera.target
    drag(qtbot, viewport, Qt.MouseButton.LeftButton, QPoint(40, 10))
    assert camera.azimuth < azimuth
    np.testing.assert_array_equal(camera.target, target)
    azimuth = camera.azimuth
    drag(qtbot, viewport, Qt.MouseButton.MiddleButton, QPoint(40, 0))
    once = camera.target
    assert not np.array_equal(once, target)
    drag(qtbot, viewport, Qt.MouseButton.LeftButton, QPoint(40, 0), Qt.KeyboardModifier.ShiftModifier)
    np.testing.assert_allclose(camera.target - once, once - target)
    assert camera.azimuth == azimuth
    where = QPointF(viewport.rect().center())
    none = Qt.KeyboardModifier.NoModifier
    wheel = QWheelEvent(
        where, where, QPoint(), QPoint(0, 240), Qt.MouseButton.NoButton, none, Qt.ScrollPhase.NoScrollPhase, False
    )
    QApplication.sendEvent(viewport, wheel)
    assert camera.distance < fitted
    qtbot.mouseDClick(viewport, Qt.MouseButton.LeftButton)
    np.testing.assert_allclose(camera.target, target)
    camera.zoom(3)
    qtbot.keyClick(viewport, Qt.Key.Key_F)
    assert camera.distance > fitted / 2


def test_following_keeps_the_robot_in_the_middle(viewport, robot):
    model = robot()
    viewport.set_model(model)
    viewport.set_poses(engine.link_poses(model, [0.5]))
    target = viewport.camera.target
    viewport.set_poses(engine.link_poses(model, [1.5]))
    np.testing.assert_array_equal(viewport.camera.target, target)
    viewport.follow = True
    viewport.set_poses(engine.link_poses(model, [3.5]))
    np.testing.assert_allclose(viewport.camera.target - target, [2, 0, 0], atol=1e-12)


def test_a_broken_mesh_is_told_once(qtbot, viewport, robot, tmp_path):
    (tmp_path / "palm.stl").write_bytes(b"no mesh")
    told = []
    viewport.diagnostics.connect(told.append)
    viewport.set_model(robot(MESH))
    qtbot.waitUntil(lambda: bool(told))
    with qtbot.waitSignal(viewport.drawn):
        viewport.update()
    assert [[found.element for found in found] for found in told] == [["mesh palm.stl"]]


def test_closing_ends_its_threads_and_it_can_be_shown_again(qtbot, viewport, robot):
    viewport.set_model(robot(MESH))
    viewport.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "mesh loader"]
    with qtbot.waitSignal(viewport.drawn):
        viewport.show()
    assert np.ptp(colors(viewport)) > 60


@pytest.fixture
def details(viewport, robot, monkeypatch):
    """The details of the frames drawn, on a processor that takes `details.seconds[detail]` for each."""

    class Details(list):
        seconds = np.full(len(DETAILS), 2 * SMOOTH)

    drawn, renderer = Details(), viewport._renderer

    def draw(*arguments) -> None:
        drawn.append(arguments[-1])
        renderer.draw_seconds = float(drawn.seconds[arguments[-1]])

    viewport.set_model(robot())
    viewport.set_poses(engine.link_poses(robot(), [0.0]))
    renderer.software = True
    monkeypatch.setattr(renderer, "draw", draw)
    viewport.grab()
    return drawn


def move(viewport: Viewport, model: engine.Model, frames: int) -> None:
    """Draw so many frames of a robot that moves without a rest."""
    for frame in range(frames):
        viewport.set_poses(engine.link_poses(model, [1e-3 * (frame + 1)]))
        viewport.grab()


def test_what_moves_loses_detail_until_it_is_smooth_and_regains_it(viewport, robot, details):
    model = robot()
    move(viewport, model, 10)
    assert max(details) == len(DETAILS) - 1
    assert details[-10:] == sorted(details[-10:])
    details.seconds[:] = EASY / 2
    details.clear()
    move(viewport, model, EASE * len(DETAILS))
    assert details[-1] == 1
    assert details == sorted(details, reverse=True)


def test_a_detail_that_fits_stays(viewport, robot, details):
    details.seconds[2:] = 0.5 * (EASY + SMOOTH)
    move(viewport, robot(), 2 * EASE)
    assert len(set(details[-EASE:])) == 1
    assert details[-1] < len(DETAILS) - 1


def test_the_full_picture_waits_for_the_hand(qtbot, viewport, robot, details):
    center = viewport.rect().center()
    qtbot.mousePress(viewport, Qt.MouseButton.LeftButton, pos=center)
    move(viewport, robot(), 3)
    qtbot.wait(3 * STILL)
    assert details[-1] > 0
    qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=center)
    qtbot.waitUntil(lambda: details[-1] == 0)


def test_the_full_picture_waits_for_a_simulation_that_still_sends_poses(qtbot, viewport, robot, details):
    model = robot()
    move(viewport, model, 3)
    for _ in range(2 * STILL // 50):
        viewport.set_poses(engine.link_poses(model, [3e-3]))
        qtbot.wait(50)
    assert details[-1] > 0
    qtbot.waitUntil(lambda: details[-1] == 0)
