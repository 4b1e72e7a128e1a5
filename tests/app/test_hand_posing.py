"""Posing the robot by hand in the window: links that are dragged, and the handles of the selected one."""

import math
from itertools import pairwise

import numpy as np
import pytest
from PyQt6.QtCore import QPoint, QPointF, QRectF, Qt
from PyQt6.QtGui import QImage
from PyQt6.QtWidgets import QWidget
from test_dragging import place_of
from windows import wait

import engine
from app.features.attaching import Dragging, UndoView
from app.features.hand_posing import HandPosing, left_text
from app.gl.camera import Camera
from app.gl.picking import ray, seen_at
from app.picture.handles import ARROW, RING, Drag, Handle, shape, under
from app.picture.labels import LabelLayer
from app.simulation.batch_spread import BatchSpread

LEFT, RIGHT, CTRL = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton, Qt.KeyboardModifier.ControlModifier
NONE = Qt.KeyboardModifier.NoModifier


@pytest.fixture
def arm(qtbot, arm):
    wait(qtbot, lambda: not arm.viewport.reading)
    arm.workbench.posing.pose(np.array([0.2, 0.5, 0.1, 1.0, 0.2, 0.6, 0.0]))
    wait(qtbot, lambda: arm.workbench.robot.newest.q[1] == 0.5)
    arm.viewport.fit()
    return arm


def drag(qtbot, window, start: QPoint, by: QPoint, button=RIGHT, keys=NONE, steps: int = 6) -> None:
    """Press there, move in steps, and release."""
    qtbot.mousePress(window.viewport, button, keys, start)
    for k in range(1, steps + 1):
        qtbot.mouseMove(window.viewport, start + by * k / steps)
    qtbot.mouseRelease(window.viewport, button, keys, start + by)


def pose(window, link: int) -> np.ndarray:
    """(4, 4): where a link is, at the q that the workbench knows."""
    return np.asarray(engine.link_poses(window.workbench.robot.model, window.workbench.actions.state.q)[link])


def handle_place(window, kind: str, axis: int) -> QPoint:
    """A place of the picture where a handle is grasped, and no other."""
    posing = window.features[HandPosing]
    wanted, seen = Handle(kind, axis), posing.handles.shape
    line = seen.lines[wanted]
    ways = np.concatenate([line[:1] + share * (line[1:2] - line[:1]) for share in np.linspace(0.3, 1, 30)])
    for x, y in line if kind == RING else ways:
        place = QPoint(round(x), round(y))
        if under(seen, np.array([place.x(), place.y()])) == wanted and window.viewport.rect().contains(place):
            return place
    raise AssertionError("it is not in sight")


@pytest.mark.parametrize(("button", "keys"), [(RIGHT, NONE), (LEFT, CTRL)])
def test_a_dragged_link_follows_the_cursor_and_goes_back_in_one_step(qtbot, arm, button, keys):
    bench, viewport, link = arm.workbench, arm.viewport, len(arm.workbench.robot.model.link_names) - 1
    before, camera = bench.robot.newest.q.copy(), viewport.camera.azimuth
    start, by = place_of(qtbot, arm, link), QPoint(-40, 30)
    hit = viewport.under(start.x(), start.y())
    T = pose(arm, link)
    point = T[:3, :3].T @ (hit.point - T[:3, 3])
    drag(qtbot, arm, start, by, button, keys)
    T = pose(arm, link)
    seen = viewport.place(T[:3, :3] @ point + T[:3, 3])
    assert np.hypot(seen.x() - (start + by).x(), seen.y() - (start + by).y()) < 0.5
    wait(qtbot, lambda: np.array_equal(bench.robot.newest.q, bench.actions.state.q))
    assert viewport.camera.azimuth == camera
    assert np.all((bench.robot.newest.q >= bench.robot.model.lower) & (bench.robot.newest.q <= bench.robot.model.upper))
    np.testing.assert_allclose(bench.robot.newest.target, bench.robot.newest.q)
    undo = arm.features[UndoView]
    assert undo.undo.text() == f"&Undo Pose {bench.robot.model.link_names[link]}"
    qtbot.keyClick(arm, Qt.Key.Key_Z, CTRL)
    wait(qtbot, lambda: np.array_equal(bench.robot.newest.q, before))
    qtbot.keyClick(arm, Qt.Key.Key_Y, CTRL)
    wait(qtbot, lambda: not np.array_equal(bench.robot.newest.q, before))


@pytest.mark.parametrize("by_handle", [False, True])
def test_escape_puts_the_pose_and_the_setpoints_back(qtbot, arm, by_handle):
    bench, viewport, link = arm.workbench, arm.viewport, len(arm.workbench.robot.model.link_names) - 1
    bench.joints.set_gains(1, (100.0, 10.0))  # too soft for its load
    arm.run.play.trigger()
    wait(qtbot, lambda: bench.robot.newest.q[1] > 0.55)
    arm.run.play.trigger()
    wait(qtbot, lambda: not bench.robot.playing)
    start = place_of(qtbot, arm, link)
    if by_handle:
        arm.selection.choose(link)
        wait(qtbot, lambda: arm.features[HandPosing].handles.shape is not None)
        start = handle_place(arm, ARROW, 2)
    undo, camera = arm.features[UndoView].stack.count(), viewport.camera.azimuth
    before, target = bench.actions.state.q, bench.robot.newest.target.copy()
    button = LEFT if by_handle else RIGHT
    qtbot.mousePress(viewport, button, pos=start)
    for k in (10, 25):
        qtbot.mouseMove(viewport, start + QPoint(-k, k))
    wait(qtbot, lambda: not np.array_equal(bench.robot.newest.q, before))
    qtbot.keyClick(viewport, Qt.Key.Key_Escape)
    qtbot.mouseMove(viewport, start + QPoint(-60, 60))
    qtbot.mouseRelease(viewport, button, pos=start + QPoint(-60, 60))
    wait(qtbot, lambda: np.array_equal(bench.robot.newest.q, before))
    qtbot.mouseMove(viewport, start)
    wait(qtbot, lambda: np.array_equal(bench.robot.newest.target, target))
    assert arm.selection.link == (link if by_handle else -1)
    assert (arm.features[UndoView].stack.count(), viewport.camera.azimuth) == (undo, camera)
    assert arm.features[HandPosing].line.isHidden()


def test_two_drags_at_once_are_two_steps_back(qtbot, arm):
    undo, link = arm.features[UndoView], len(arm.workbench.robot.model.link_names) - 1
    many = undo.stack.count()
    for _ in range(2):
        drag(qtbot, arm, place_of(qtbot, arm, link), QPoint(12, 8))
        wait(qtbot, lambda: np.array_equal(arm.workbench.robot.newest.q, arm.workbench.actions.state.q))
    assert undo.stack.count() == many + 2


def test_out_of_reach_it_says_by_how_much(qtbot, arm):
    link = len(arm.workbench.robot.model.link_names) - 1
    start, posing = place_of(qtbot, arm, link), arm.features[HandPosing]
    arm.viewport.camera.zoom(0.3)
    start = place_of(qtbot, arm, link)
    qtbot.mousePress(arm.viewport, RIGHT, pos=start)
    qtbot.mouseMove(arm.viewport, start + QPoint(8, 0))
    qtbot.mouseMove(arm.viewport, QPoint(5, 5))
    assert "out of reach" in posing.line.text
    assert posing.line.isVisible()
    qtbot.mouseRelease(arm.viewport, RIGHT, pos=QPoint(5, 5))
    assert not posing.line.isVisible()


def test_a_dragged_link_is_named_once(qtbot, arm):
    link = len(arm.workbench.robot.model.link_names) - 1
    name, start = arm.workbench.robot.model.link_names[link], place_of(qtbot, arm, link)

    def named() -> bool:
        arm.viewport.repaint()
        return name in [label.text for label in arm.viewport.view().extras.labels]

    arm.selection.choose(link)
    wait(qtbot, named)
    qtbot.mousePress(arm.viewport, RIGHT, pos=start)
    qtbot.mouseMove(arm.viewport, start + QPoint(8, 0))
    qtbot.mouseMove(arm.viewport, start + QPoint(20, 0))
    assert arm.features[HandPosing].line.text.startswith(name)
    assert not named()
    qtbot.mouseRelease(arm.viewport, RIGHT, pos=start + QPoint(20, 0))
    wait(qtbot, named)


def test_a_click_moves_nothing_and_asks_for_the_menu(qtbot, arm):
    before, link = arm.workbench.actions.state.q, len(arm.workbench.robot.model.link_names) - 1
    place = place_of(qtbot, arm, link)
    drag(qtbot, arm, place, QPoint(1, 1))
    np.testing.assert_array_equal(arm.workbench.actions.state.q, before)
    assert arm.features[HandPosing].hold is None


def test_after_a_drag_a_reset_goes_back_to_that_pose_and_again_to_the_neutral_one(qtbot, arm):
    bench, link = arm.workbench, len(arm.workbench.robot.model.link_names) - 1
    drag(qtbot, arm, place_of(qtbot, arm, link), QPoint(-30, 20))
    posed = bench.actions.state.q
    arm.run.play.trigger()
    wait(qtbot, lambda: bench.robot.newest.time > 0.02)
    arm.run.play.trigger()
    arm.run.reset.trigger()
    wait(qtbot, lambda: bench.robot.newest.time == 0 and np.allclose(bench.robot.newest.q, posed))
    arm.run.reset.trigger()
    wait(qtbot, lambda: np.allclose(bench.robot.newest.q, bench.robot.model.neutral()))


def test_the_handles_are_those_of_the_selected_link_while_it_is_paused(qtbot, arm):
    posing = arm.features[HandPosing]
    assert not posing.handles.isVisible()
    arm.selection.choose(0)
    assert not posing.handles.isVisible()  # the base is fixed
    arm.selection.choose(6)
    assert posing.handles.isVisible()
    arm.run.play.trigger()
    wait(qtbot, lambda: not posing.handles.isVisible())
    arm.run.play.trigger()
    wait(qtbot, posing.handles.isVisible)
    arm.selection.choose(-1)
    assert not posing.handles.isVisible()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_an_arrow_shifts_the_link_along_its_axis_and_keeps_its_orientation(qtbot, arm, axis):
    link = len(arm.workbench.robot.model.link_names) - 1
    arm.selection.choose(link)
    posing, before, camera = arm.features[HandPosing], pose(arm, link), arm.viewport.camera.azimuth
    if Handle(ARROW, axis) not in posing.handles.shape.lines:
        pytest.skip("it points at the eye")
    line = posing.handles.shape.lines[Handle(ARROW, axis)]
    way = 30 * (line[1] - line[0]) / np.linalg.norm(line[1] - line[0])
    start = handle_place(arm, ARROW, axis)
    qtbot.mousePress(arm.viewport, LEFT, pos=start)
    qtbot.mouseMove(arm.viewport, start + QPoint(round(way[0]), round(way[1])))
    assert posing.handles.text.startswith(f"{'xyz'[axis]} +")
    qtbot.mouseRelease(arm.viewport, LEFT, pos=start + QPoint(round(way[0]), round(way[1])))
    after = pose(arm, link)
    np.testing.assert_allclose(after[:3, :3], before[:3, :3], atol=1e-6)
    moved = before[:3, :3].T @ (after[:3, 3] - before[:3, 3])
    assert moved[axis] > 0.005
    np.testing.assert_allclose(np.delete(moved, axis), 0.0, atol=1e-6)
    assert arm.viewport.camera.azimuth == camera


def test_a_ring_turns_the_link_about_its_axis_where_it_is(qtbot, arm):
    link = len(arm.workbench.robot.model.link_names) - 1
    arm.selection.choose(link)
    before, turned = pose(arm, link), 0
    for axis in range(3):
        if Handle(RING, axis) not in arm.features[HandPosing].handles.shape.lines:
            continue
        before, start = pose(arm, link), handle_place(arm, RING, axis)
        drag(qtbot, arm, start, QPoint(12, 12), LEFT)
        wait(qtbot, lambda: np.array_equal(arm.workbench.robot.newest.q, arm.workbench.actions.state.q))
        after = pose(arm, link)
        np.testing.assert_allclose(after[:3, 3], before[:3, 3], atol=1e-5)
        np.testing.assert_allclose(after[:3, axis], before[:3, axis], atol=1e-5)
        turned += not np.allclose(after, before, atol=1e-3)
    assert turned >= 2


def test_a_handle_does_not_cover_the_arrow_of_a_force(qtbot, arm):
    """It points the other way, and moves the link as before."""
    posing, link = arm.features[HandPosing], len(arm.workbench.robot.model.link_names) - 1
    arm.selection.choose(link)
    wait(qtbot, lambda: posing.handles.shape is not None)
    before = {axis: posing.handles.shape.lines[Handle(ARROW, axis)].copy() for axis in range(3)}
    axis = next(k for k in range(3) if Handle(ARROW, k) in posing.handles.shape.lines)
    wrench = np.zeros(6)
    wrench[3 + axis] = 25.0
    arm.workbench.wrenching.set(link, wrench, False, 0.0, math.inf)
    arm.refresh()

    def turned() -> list[bool]:
        lines = posing.handles.shape.lines
        ways = {k: np.diff(lines[Handle(ARROW, k)], axis=0)[0] @ np.diff(before[k], axis=0)[0] for k in before}
        return [ways[k] < 0 for k in range(3)]

    wait(qtbot, lambda: turned() == [k == axis for k in range(3)])
    origin = pose(arm, link)
    start = handle_place(arm, ARROW, axis)
    away = posing.handles.shape.lines[Handle(ARROW, axis)]
    step = (away[1] - away[0]) / np.linalg.norm(away[1] - away[0]) * 30
    drag(qtbot, arm, start, QPoint(*map(round, step)), LEFT)
    wait(qtbot, lambda: (origin[:3, axis] @ (pose(arm, link) - origin)[:3, 3]) < -0.005)


def test_the_handles_of_a_free_base_shift_and_turn_the_robot(qtbot, opened):
    window = opened(engine.find_robot("quadruped"))
    bench = window.workbench
    wait(qtbot, lambda: bench.robot.newest is not None and not window.viewport.reading)
    trunk = bench.robot.model.link_names.index("trunk")
    window.selection.choose(trunk)
    joint, before = bench.robot.model.joints[0], bench.actions.state.q
    start = handle_place(window, ARROW, 2)
    drag(qtbot, window, start, QPoint(0, -40), LEFT)
    wait(qtbot, lambda: np.array_equal(bench.robot.newest.q, bench.actions.state.q))
    after = bench.actions.state.q
    assert after[joint.q.start + 2] > before[joint.q.start + 2] + 0.01
    np.testing.assert_allclose(np.delete(after, joint.q.start + 2), np.delete(before, joint.q.start + 2), atol=1e-9)
    start = handle_place(window, RING, 2)
    drag(qtbot, window, start, QPoint(25, 0), LEFT)
    wait(qtbot, lambda: np.array_equal(bench.robot.newest.q, bench.actions.state.q))
    turned = bench.actions.state.q
    np.testing.assert_allclose(turned[joint.q][:3], after[joint.q][:3], atol=1e-9)
    assert abs(turned[joint.q][5]) > 0.01  # about z alone
    np.testing.assert_allclose(turned[joint.q][3:5], 0.0, atol=1e-9)
    np.testing.assert_array_equal(turned[joint.q.stop :], before[joint.q.stop :])
    for _ in range(2):
        qtbot.keyClick(window, Qt.Key.Key_Z, CTRL)
    wait(qtbot, lambda: np.allclose(bench.robot.newest.q, before))


def test_a_foot_moves_its_leg_alone(qtbot, opened):
    window = opened(engine.find_robot("quadruped"))
    bench = window.workbench
    wait(qtbot, lambda: bench.robot.newest is not None and not window.viewport.reading)
    foot, before = bench.robot.model.link_names.index("FL_foot"), bench.actions.state.q
    drag(qtbot, window, place_of(qtbot, window, foot), QPoint(10, -12))
    moved = np.flatnonzero(bench.actions.state.q != before)
    own = [bench.robot.model.q_slice(name).start for name in bench.robot.model.joint_names if name.startswith("FL_")]
    assert len(moved) > 0
    assert set(moved) <= set(own)


def test_played_in_a_drag_the_hand_lets_go(qtbot, arm):
    link, posing = len(arm.workbench.robot.model.link_names) - 1, arm.features[HandPosing]
    start = place_of(qtbot, arm, link)
    qtbot.mousePress(arm.viewport, RIGHT, pos=start)
    qtbot.mouseMove(arm.viewport, start + QPoint(20, 10))
    qtbot.keyClick(arm, Qt.Key.Key_Space)
    assert posing.hold is None
    assert not posing.line.isVisible()
    qtbot.mouseRelease(arm.viewport, RIGHT, pos=start)
    assert arm.features[Dragging].hold is None


def test_another_robot_in_a_drag_ends_it(qtbot, arm):
    link, posing = len(arm.workbench.robot.model.link_names) - 1, arm.features[HandPosing]
    start = place_of(qtbot, arm, link)
    qtbot.mousePress(arm.viewport, RIGHT, pos=start)
    qtbot.mouseMove(arm.viewport, start + QPoint(20, 10))
    arm.open(engine.find_robot("pendulum"))
    wait(qtbot, lambda: arm.workbench.robot.model.name == "pendulum" and not arm.workbench.opening.loading)
    assert posing.hold is None
    qtbot.mouseRelease(arm.viewport, RIGHT, pos=start)


def test_of_a_batch_no_robot_is_posed_by_hand(arm):
    posing = arm.features[HandPosing]
    arm.selection.choose(6)
    assert posing.handles.isVisible()
    arm.workbench.configuring.set_spread(BatchSpread(2, 0.2))
    arm.refresh()
    assert not posing.handles.isVisible()
    assert not arm.workbench.posing.can_pose(6)


def test_how_far_a_pose_is_off_is_said_in_its_unit():
    q = np.zeros(1)
    assert left_text(engine.IKResult(q, 0.0, 0.0, True)) == ""
    assert left_text(engine.IKResult(q, 0.034, 0.2, False)) == ", 34 mm out of reach"
    assert left_text(engine.IKResult(q, 1e-5, np.radians(12), False)) == ", 12.0 ° out of reach"
    assert left_text(engine.IKResult(q, 1e-5, 1e-6, False)) == ""


@pytest.mark.parametrize("parallel", [False, True])
def test_an_arrow_stays_under_the_cursor(rng, parallel):
    camera, picture = Camera(parallel=parallel), (900.0, 600.0)
    for _ in range(20):
        frame = np.eye(4)
        frame[:3, :3] = engine.rotation_from_rpy(rng.uniform(-3, 3, 3))
        frame[:3, 3] = rng.uniform(-0.3, 0.3, 3) + camera.target
        seen = shape(frame, camera, picture)
        for handle, line in seen.lines.items():
            if handle.kind != ARROW:
                continue
            start = 0.5 * (line[0] + line[1])
            held = Drag(handle, seen, camera, picture, start)
            to = start + 0.8 * (line[1] - line[0])
            amount = held.amount(to)
            shifted = seen_at(camera, picture, held.pose(amount)[None, :3, 3])[0]
            origin = seen_at(camera, picture, frame[None, :3, 3])[0]
            assert amount > 0
            across = np.array([-(line[1] - line[0])[1], (line[1] - line[0])[0]])
            assert abs((shifted - origin) @ across) < 1e-3 * (across @ across)
            eye, way = ray(camera, picture, to)
            on_line = frame[:3, 3] + frame[:3, handle.axis] * (held._first + amount)
            assert np.linalg.norm(np.cross(on_line - eye, way)) < 1e-3 * np.linalg.norm(on_line - eye)


@pytest.mark.parametrize("link", [3, 6])
def test_the_name_of_the_selected_link_is_written_beside_its_handles(qtbot, arm, link):
    arm.selection.choose(link)
    layer, posing = arm.viewport.findChild(LabelLayer), arm.features[HandPosing]
    wait(qtbot, lambda: layer.isVisible() and posing.handles.isVisible())
    image = QImage(layer.size(), QImage.Format.Format_RGBA8888)
    image.fill(Qt.GlobalColor.transparent)
    layer.render(image, flags=QWidget.RenderFlag.DrawChildren)  # without what is beneath
    seen = np.frombuffer(image.constBits().asarray(image.sizeInBytes()), np.uint8).reshape(image.height(), -1, 4)
    written = seen[..., 3] > 0
    y, x = np.nonzero(written & (written.sum(1) > 20)[:, None])  # of wide rows: not the dot at the link's frame
    left, right, top, bottom = x.min(), x.max(), y.min(), y.max()
    assert bottom - top > 10
    name = QRectF(left, top, right - left, bottom - top)
    for handle, line in posing.handles.shape.lines.items():
        steps = np.linspace(0, 1, 50)[:, None]
        for start, end in pairwise(line):
            assert not any(name.contains(QPointF(*point)) for point in start + steps * (end - start)), handle
