"""A robot that is nowhere in the picture: which way it is, and a click that shows it."""

from dataclasses import replace

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from windows import wait

import engine
from app.features.out_of_view import OutOfView
from app.features.reloading import Reloading
from app.gl.camera import Camera
from app.gl.picking import fit_until_seen, seen_at, way_to, way_to_tiny

CUBE = np.array([list(np.ndindex(2, 2, 2))]) - 0.5


@pytest.mark.parametrize(
    ("aside", "way"), [((0.0, 9.0), (1, 0)), ((0.0, -9.0), (-1, 0)), ((9.0, 0.0), (0, -1)), ((-9.0, 0.0), (0, 1))]
)
def test_the_way_to_what_is_beside_the_picture(aside, way):
    camera = Camera(np.zeros(3), 5.0, azimuth=0.0, elevation=0.0)  # looks along −x; y is to the right
    up, right = aside
    there = np.array([0.0, right, up])
    found = way_to(camera, (800, 500), CUBE + there)
    assert found == pytest.approx(way, abs=1e-6)


def test_the_way_to_what_is_behind_the_camera_is_a_way_all_the_same():
    camera = Camera(np.zeros(3), 5.0, azimuth=0.0, elevation=0.0)
    there = np.array([20.0, 0.3, 0.0])
    found = way_to(camera, (800, 500), CUBE + there)
    assert np.linalg.norm(found) == pytest.approx(1.0)


@pytest.mark.parametrize("distance", [0.2, 5.0, 500.0])
def test_what_is_partly_in_the_picture_or_around_the_eye_is_in_it(distance):
    camera = Camera(np.array([0.4, 0.3, 0.2]), distance, azimuth=0.7, elevation=0.3)
    assert way_to(camera, (800, 500), CUBE) is None


def base_row(window, name: str) -> int:
    return next(k for k, row in enumerate(window.workbench.robot.coordinates) if row.label.endswith(name))


def in_picture(window) -> bool:
    viewport = window.viewport
    corners = np.array(viewport.robot_bounds)
    places = seen_at(viewport.camera, (viewport.width(), viewport.height()), [*corners, corners.mean(0)])
    return bool(np.all((places > 0) & (places < [viewport.width(), viewport.height()])))


def test_a_robot_set_high_by_a_number_is_pointed_at_and_shown_by_a_click(qtbot, opened):
    window = opened(engine.find_robot("quadruped"))
    button = window.features[OutOfView].button
    wait(qtbot, lambda: window.workbench.robot.newest is not None and in_picture(window))
    window.joints.moved.emit(base_row(window, "z"), 30.0)
    wait(qtbot, button.isVisible)
    assert button.text() == "↑  Show the robot"
    assert button.y() < window.viewport.height() / 4
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: not button.isVisible())
    assert in_picture(window)
    assert window.viewport.hasFocus()  # so that keys continue to turn the camera


def test_a_camera_that_was_turned_away_is_told_too(qtbot, arm):
    button, camera = arm.features[OutOfView].button, arm.viewport.camera
    wait(qtbot, lambda: arm.workbench.robot.newest is not None)
    arm.viewport.see(replace(camera, target=camera.target + 40 * camera.axes()[0]))
    wait(qtbot, button.isVisible)
    assert button.text().startswith("←")
    arm.resize(arm.width() - 60, arm.height() - 40)
    wait(qtbot, lambda: arm.viewport.rect().contains(button.geometry()))
    qtbot.keyClick(arm, Qt.Key.Key_F)
    wait(qtbot, lambda: not button.isVisible())


def test_a_robot_is_pointed_at_as_soon_as_none_of_it_is_seen(qtbot, arm):
    """A box around all of it lies in the picture for long, since the arm is bent around the view."""
    button, viewport = arm.features[OutOfView].button, arm.viewport
    wait(qtbot, lambda: arm.workbench.robot.newest is not None)
    arm.workbench.posing.pose(np.array([0.0, 1.5, 0.0, 1.5, 0.0, 0.0, 0.0]))
    arm.viewport.see(replace(viewport.camera, azimuth=-np.pi / 2, elevation=0.0))
    wait(qtbot, lambda: arm.workbench.robot.placed is None)
    lower, upper = viewport.robot_bounds
    corner = np.array([(lower[0] + upper[0]) / 2, (lower[1] + upper[1]) / 2, lower[2] + 0.1])
    viewport.see(replace(viewport.camera, target=corner, distance=0.2))
    wait(qtbot, button.isVisible)
    places = seen_at(viewport.camera, (viewport.width(), viewport.height()), [*viewport.robot_bounds])
    assert np.all(places.min(0) < 0)
    assert np.all(places.max(0) > [viewport.width(), viewport.height()])  # the box is around the picture


def test_a_robot_of_a_few_pixels_is_pointed_at(qtbot, arm):
    button, viewport = arm.features[OutOfView].button, arm.viewport
    wait(qtbot, lambda: arm.workbench.robot.newest is not None)
    viewport.see(replace(viewport.camera, distance=250 * viewport.robot_size))
    wait(qtbot, button.isVisible)
    viewport.see(replace(viewport.camera, distance=30 * viewport.robot_size))
    wait(qtbot, lambda: not button.isVisible())


def test_follow_frames_a_robot_that_is_out_of_view(qtbot, opened):
    window = opened(engine.find_robot("quadruped"))
    viewport, follow = window.viewport, window.view_controls.follow
    wait(qtbot, lambda: window.workbench.robot.newest is not None and in_picture(window))
    follow.trigger()
    seen = replace(viewport.camera)
    follow.trigger()
    assert np.array_equal(viewport.camera.target, seen.target)  # it was in view
    window.joints.moved.emit(base_row(window, "x"), 30.0)
    wait(qtbot, lambda: viewport.way_to_robot is not None)
    follow.trigger()
    assert in_picture(window)
    window.joints.moved.emit(base_row(window, "x"), 60.0)
    wait(qtbot, lambda: viewport.robot_bounds[0][0] > 50)
    assert in_picture(window)


def test_a_robot_that_is_followed_does_not_move_the_camera_by_being_opened(qtbot, opened):
    window = opened(engine.find_robot("quadruped"))
    bench, viewport = window.workbench, window.viewport
    wait(qtbot, lambda: bench.robot.newest is not None)
    window.view_controls.follow.trigger()
    window.joints.moved.emit(base_row(window, "x"), 30.0)
    wait(qtbot, lambda: viewport.robot_bounds[0][0] > 25)
    before, model = replace(viewport.camera), bench.robot.model
    window.feature(Reloading).reload()
    wait(qtbot, lambda: bench.robot.model is not model and not bench.opening.loading and bench.robot.newest is not None)
    wait(qtbot, lambda: viewport.robot_bounds[0][0] > 25)
    np.testing.assert_allclose(viewport.camera.target, before.target, atol=1e-3)


def test_a_robot_too_small_to_be_seen_is_told_too(qtbot, arm):
    button, camera = arm.features[OutOfView].button, arm.viewport.camera
    wait(qtbot, lambda: arm.workbench.robot.newest is not None)
    arm.viewport.see(replace(camera, target=camera.target + 400 * camera.axes()[0], distance=2000.0))
    wait(qtbot, button.isVisible)
    assert button.text().startswith("←")
    arm.viewport.see(replace(camera, distance=20 * camera.distance))
    wait(qtbot, lambda: not button.isVisible())


APART = """<robot name="apart"><link name="l0"><visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual></link>{}
</robot>"""
SLIDE = """
<link name="l{0}"><visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="j{0}" type="prismatic"><parent link="l0"/><child link="l{0}"/><axis xyz="{1}"/>
<limit lower="-900" upper="900" effort="1" velocity="1"/></joint>"""


def largest(window) -> float:
    """The largest number of pixels across a link in the picture, as of its box of 0.1 m."""
    viewport = window.viewport
    size = viewport.width(), viewport.height()
    at = window.workbench.robot.newest.link_poses[:, :3, 3]
    places = [seen_at(viewport.camera, size, each + CUBE[0] / 10) for each in at]
    return max(np.ptp(each, axis=0).max() for each in places if np.all((each > 0) & (each < size)))


def test_a_robot_that_fell_apart_is_shown_in_part(qtbot, opened, tmp_path):
    """Of four links over some 700 m, each has less than a pixel in a picture with all of them."""
    path = tmp_path / "apart.urdf"
    path.write_text(
        APART.format("".join(SLIDE.format(k + 1, axis) for k, axis in enumerate(("1 0 0", "0 0 -1", "0 0 1"))))
    )
    window = opened(path)
    button, viewport = window.features[OutOfView].button, window.viewport
    wait(qtbot, lambda: window.workbench.robot.newest is not None and in_picture(window))
    window.workbench.posing.pose(np.array([300.0, 300.0, 400.0]))
    wait(qtbot, lambda: viewport.robot_size > 700)
    camera = replace(viewport.camera)
    camera.fit(*viewport.robot_bounds)
    viewport.see(camera)
    assert largest(window) < 1.0
    wait(qtbot, button.isVisible)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: not button.isVisible())
    assert largest(window) > 8.0
    viewport.see(replace(camera))
    qtbot.keyClick(window, Qt.Key.Key_F)
    assert largest(window) > 8.0


def test_a_long_chain_of_which_each_link_is_less_than_a_pixel_is_seen():
    camera = Camera(np.zeros(3), 5.0, azimuth=0.0, elevation=0.0)
    chain = CUBE * [0.03, 0.1, 0.03] + np.array([[[0.0, 0.1 * (k - 500), 0.0]] for k in range(1000)])
    camera.fit(chain.min((0, 1)), chain.max((0, 1)))
    assert way_to_tiny(camera, (800, 500), chain) is None
    before = replace(camera)
    fit_until_seen(camera, (800, 500), chain)
    assert camera.distance == before.distance
    assert way_to_tiny(camera, (800, 500), chain[::100]) is not None
