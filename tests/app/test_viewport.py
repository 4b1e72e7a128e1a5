"""The viewport: looked at, turned and closed as a user does."""

import itertools
import threading
from dataclasses import replace

import numpy as np
import pytest
from PyQt6.QtCore import QEvent, QPoint, QPointF, Qt, QTimer
from PyQt6.QtGui import QImage, QMouseEvent, QWheelEvent
from PyQt6.QtWidgets import QApplication
from windows import screen_of

import engine
from app.gl.renderer import COSTS, DETAILS, Renderer
from app.gl.scene import Content
from app.gl.view import View
from app.picture import screens
from app.picture.pictures import Picture, PictureThread
from app.picture.screens import EASE, ROOM, SMOOTH
from app.picture.viewport import Viewport

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


both_ways = pytest.mark.parametrize("viewport", [False, True], indirect=True, ids=["as here", "as by a card"])
"""With what this computer draws by, and with what a graphics card would."""


def shown(qtbot) -> Viewport:
    made = Viewport()
    qtbot.addWidget(made)
    made.resize(320, 240)
    with qtbot.waitExposed(made), qtbot.waitSignal(made.drawn):
        made.show()
    return made


@pytest.fixture
def viewport(qtbot, monkeypatch, request):
    if getattr(request, "param", False):
        monkeypatch.setattr("app.picture.viewport.processor_draws", lambda: False)
    made = shown(qtbot)
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


@both_ways
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


@both_ways
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
    qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton)  # which a double click of qtbot's leaves out
    np.testing.assert_allclose(camera.target, target)
    camera.zoom(3)
    qtbot.keyClick(viewport, Qt.Key.Key_F)
    assert camera.distance > fitted / 2


def test_a_box_is_brought_into_view_whole(viewport, robot):
    """Also if the two corners that give it are in view, one behind the other."""
    viewport.set_model(robot())
    camera = viewport.camera
    camera.azimuth, camera.elevation = np.pi / 4, 0.0
    reach = np.array([0.6 * camera.distance, 0.6 * camera.distance, 0.01])
    box = camera.target - reach, camera.target + reach
    assert all(viewport.rect().contains(viewport.place(corner).toPoint()) for corner in box)
    viewport.bring_into_view(*box)
    seen = (viewport.place(np.array(x)).toPoint() for x in itertools.product(*zip(*box, strict=True)))
    assert all(map(viewport.rect().contains, seen))


def test_a_box_far_away_is_not_brought_into_view_beside_the_robot(viewport, robot):
    viewport.set_model(robot())
    before, far = viewport.camera, np.array([0.0, 0.0, -1000 * viewport.robot_size])
    for box in ((far - 0.1, far + 0.1), (far, -far)):  # the robot could not be seen beside the second
        viewport.bring_into_view(*box)
        assert viewport.camera is before
    viewport.bring_into_view(far / 400 - 0.1, 0.1 - far / 400)
    assert viewport.camera is not before


def test_the_ground_stays_where_a_pose_goes_through_it(qtbot, arm):
    """Also where meshes, or their levels of detail, come later."""
    viewport, bench = arm.viewport, arm.workbench
    before = viewport.floor
    bench.joints.set_coordinate(1, bench.robot.coordinates[1].upper)
    qtbot.waitUntil(lambda: viewport.robot_bounds[0][2] < before - 0.1)
    viewport._settle()
    assert viewport.floor == before


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


def test_it_knows_when_meshes_are_still_to_come(qtbot, viewport, robot, tmp_path):
    assert not viewport.reading
    (tmp_path / "palm.stl").write_bytes(b"no mesh")
    viewport.set_model(robot(MESH))
    assert viewport.reading
    qtbot.waitSignal(viewport.diagnostics).wait()
    assert not viewport.reading


@both_ways
def test_a_broken_mesh_is_told_once(qtbot, viewport, robot, tmp_path):
    (tmp_path / "palm.stl").write_bytes(b"no mesh")
    reported = []
    viewport.diagnostics.connect(reported.append)
    viewport.set_model(robot(MESH))
    qtbot.waitUntil(lambda: bool(reported))  # a process is started
    with qtbot.waitSignal(viewport.drawn):
        viewport.fit()
    assert [[found.element for found in found] for found in reported] == [["mesh palm.stl"]]


@both_ways
def test_closing_ends_its_threads_and_it_can_be_shown_again(qtbot, viewport, robot):
    viewport.set_model(robot(MESH))
    viewport.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "mesh loader"]
    with qtbot.waitSignal(viewport.drawn):
        viewport.show()
    assert np.ptp(colors(viewport)) > 60


# What is drawn, and when. Where the processor draws:


class Drawer:
    """Stands for the thread that draws: what was asked for, drawn when the test says so, in the time it says."""

    failed = False

    def __init__(self, on_picture, _):
        self.on_picture = on_picture
        self.asked: list[tuple[View, int]] = []
        self.closed = False

    def ask(self, view, detail):
        self.asked.append((view, detail))

    def deliver(self, seconds: float) -> None:
        """Have the newest drawn."""
        view, detail = self.asked[-1]
        pixels = np.zeros((4, 4, 4), np.uint8)
        image = QImage(pixels.data, 4, 4, QImage.Format.Format_RGB32)
        self.on_picture(Picture(view, detail, image, pixels, seconds, 0.0))

    def close(self):
        self.closed = True


@pytest.fixture
def drawer(qtbot, viewport, robot, monkeypatch):
    """The drawer of a viewport that shows the robot at rest, in full."""
    if not isinstance(screen_of(viewport), screens.ProcessorScreen):
        pytest.skip("a graphics card draws here")
    made = []
    monkeypatch.setattr(screens, "PictureThread", lambda *ends: made.append(Drawer(*ends)) or made[-1])
    screen_of(viewport).end()
    viewport.set_model(robot())
    viewport.set_poses(pose(robot, 0.0))
    (drawer,) = made
    drawer.deliver(0.001)
    qtbot.waitUntil(lambda: drawer.asked[-1][1] == 0)
    drawer.deliver(0.001)
    drawer.asked.clear()
    yield drawer
    screen_of(viewport).end()


def pose(robot, x: float) -> np.ndarray:
    return engine.link_poses(robot(), [x])


def move(viewport, robot, drawer, frames: int, seconds: float) -> list[int]:
    """Draw `frames` frames of a robot in constant motion; return their levels of detail."""
    places = [pose(robot, 0.1), pose(robot, 0.2)]
    for frame in range(frames):
        viewport.set_poses(places[frame % 2])
        drawer.deliver(seconds)
    return [detail for _, detail in drawer.asked]


def test_what_moves_loses_detail_until_it_is_smooth_and_regains_it(viewport, robot, drawer):
    details = move(viewport, robot, drawer, 10, 2 * SMOOTH)
    assert details[-1] == len(DETAILS) - 1
    drawer.asked.clear()
    details = move(viewport, robot, drawer, EASE * len(DETAILS), SMOOTH / 10)
    assert details[-1] == 1
    assert details == sorted(details, reverse=True)


def test_a_detail_that_fits_stays(viewport, robot, drawer):
    details = move(viewport, robot, drawer, 2 * EASE, 0.95 * SMOOTH)
    assert set(details) == {len(DETAILS) - 1}


def test_what_moves_is_as_fine_as_there_is_time_for(viewport, robot, drawer):
    """A draft in half the time that it may take has smooth edges next, and no finer ones than fit."""
    seconds, last = 0.5 * SMOOTH, len(DETAILS) - 1
    places = [pose(robot, 0.1), pose(robot, 0.2)]
    for frame in range(10 * EASE):
        viewport.set_poses(places[frame % 2])
        drawer.deliver(seconds * COSTS[drawer.asked[-1][1]] / COSTS[last])
    found = drawer.asked[-1][1]
    assert found == last - 1
    assert seconds * COSTS[found] / COSTS[last] < ROOM * SMOOTH < seconds * COSTS[found - 1] / COSTS[last]
    viewport.set_poses(places[0])
    drawer.deliver(2 * SMOOTH)
    viewport.set_poses(places[1])
    assert drawer.asked[-1][1] == last


def test_the_full_picture_waits_for_the_hand(qtbot, viewport, robot, drawer):
    center = viewport.rect().center()
    qtbot.mousePress(viewport, Qt.MouseButton.LeftButton, pos=center)
    move(viewport, robot, drawer, 3, SMOOTH / 2)
    qtbot.waitSignal(viewport._still.timeout).wait()
    assert drawer.asked[-1][1] > 0
    qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=center)
    qtbot.waitUntil(lambda: drawer.asked[-1][1] == 0)


def test_what_stands_still_is_drawn_in_full_although_poses_keep_coming(qtbot, viewport, robot, drawer):
    there = pose(robot, 0.3)
    viewport.set_poses(there)
    drawer.deliver(SMOOTH / 2)
    poses = QTimer()
    poses.timeout.connect(lambda: viewport.set_poses(there))
    poses.start(16)
    qtbot.waitUntil(lambda: drawer.asked[-1][1] == 0)
    poses.stop()


def test_what_does_not_move_is_not_drawn_again(viewport, robot, drawer):
    for _ in range(5):
        viewport.set_poses(pose(robot, 0.0) + 1e-9)
    assert not drawer.asked


def test_motion_within_a_pixel_is_drawn_in_full_detail(viewport, robot, drawer):
    camera, side = viewport.camera, min(viewport.width(), viewport.height())
    pixel = 2 * np.tan(camera.fov / 2) * camera.distance / side
    viewport.set_poses(pose(robot, 0.5 * pixel))
    assert [detail for _, detail in drawer.asked] == [0]
    viewport.set_poses(pose(robot, 0.9 * pixel))
    assert len(drawer.asked) == 1  # it waits for the picture before
    drawer.deliver(0.1)
    assert [detail for _, detail in drawer.asked] == [0, 0]


def test_nothing_is_drawn_that_nobody_sees(qtbot, viewport, robot, drawer):
    viewport.showMinimized()
    drawer.asked.clear()
    for frame in range(3):
        viewport.set_poses(pose(robot, 0.1 * (frame + 1)))
    viewport.fit()
    assert not drawer.asked
    viewport.showNormal()
    viewport.repaint()
    qtbot.waitUntil(lambda: bool(drawer.asked))
    np.testing.assert_allclose(drawer.asked[-1][0].poses, pose(robot, 0.3))


def test_pictures_leave_a_simulation_that_lacks_time_some_of_it(qtbot, viewport, robot, drawer):
    viewport.modest = True
    for frame in range(20):
        viewport.set_poses(pose(robot, 0.1 * (frame + 1)))
    assert len(drawer.asked) == 1  # one is being drawn: none waits behind it
    drawer.deliver(0.02)
    assert len(drawer.asked) == 1
    qtbot.waitUntil(lambda: len(drawer.asked) == 2)
    np.testing.assert_allclose(drawer.asked[-1][0].poses, pose(robot, 2.0))


def test_keys_are_answered_while_a_picture_is_drawn(qtbot, viewport, robot, monkeypatch):
    if not isinstance(screen_of(viewport), screens.ProcessorScreen):
        pytest.skip("a graphics card draws here")
    drawing, go_on = threading.Event(), threading.Event()

    def pieces(renderer, *arguments):
        drawing.set()
        go_on.wait()
        yield from original(renderer, *arguments)

    original = Renderer.pieces
    monkeypatch.setattr(Renderer, "pieces", pieces)
    viewport.set_model(robot())
    assert drawing.wait(60)
    viewport.camera.zoom(5)
    near = viewport.camera.distance
    qtbot.keyClick(viewport, Qt.Key.Key_F)
    assert viewport.camera.distance > 2 * near
    with qtbot.waitSignal(viewport.drawn):
        go_on.set()


def test_a_full_picture_is_left_for_what_is_newer(qtbot, viewport, robot, monkeypatch):
    came, newer = [], []

    def pieces(renderer, shown, detail):
        for piece in original(renderer, shown, detail):
            if detail == 0 and not newer:
                newer.append(replace(view))
                thread.ask(newer[0], 1)
            yield piece

    viewport.set_model(robot())
    screen_of(viewport).end()
    view = viewport.view()
    original = Renderer.pieces
    monkeypatch.setattr(Renderer, "pieces", pieces)
    thread = PictureThread(came.append, lambda *reported: came.append(reported))
    thread.ask(view, 0)
    qtbot.waitUntil(lambda: bool(came))
    thread.close()
    assert [picture.view for picture in came] == newer


def test_another_robot_is_drawn_after_one_that_could_not_be(robot, viewport, qtbot, monkeypatch):
    """The drawing thread has ended with its exception; the next robot gets a new one."""
    draw = Renderer.pieces

    def fail(*_arguments):
        raise MemoryError("no room for it")

    monkeypatch.setattr(Renderer, "pieces", fail)
    with qtbot.waitSignal(viewport.diagnostics) as reported:
        viewport.set_model(robot())
    assert "no room for it" in reported.args[0][0].problem
    monkeypatch.setattr(Renderer, "pieces", draw)
    with qtbot.waitSignal(viewport.drawn):
        viewport.set_model(robot())
    assert not viewport.failed


def test_what_a_robot_reaches_is_worked_out_once_for_each_pose(viewport, monkeypatch):
    """A chain of 1000 links is 2000 shapes; that it loads asks seven times where they end."""
    asked, bounds = [], Content.bounds

    def counted(content, poses, own):
        asked.append(poses)
        return bounds(content, poses, own)

    monkeypatch.setattr(Content, "bounds", counted)
    chain = engine.chain(5)
    viewport.set_model(chain)
    viewport.fit()
    assert viewport.robot_size > 0.1
    here = [each for each in asked if each is viewport.view().poses]
    assert len(here) == 1
    upper = viewport.robot_bounds[1]
    viewport.set_poses(engine.link_poses(chain, np.full(5, 0.4)))
    assert not np.array_equal(viewport.robot_bounds[1], upper)
