"""Pulling at links in the window, by the mouse."""

import numpy as np
import pytest
from PyQt6.QtCore import QPoint, Qt
from windows import shown_time, wait

import engine
from app.features.dragging import Dragging, force_text

LEFT, RIGHT, CTRL = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton, Qt.KeyboardModifier.ControlModifier


def place_of(qtbot, window, link: int) -> QPoint:
    """A place of the picture where that link is seen, close to its frame."""
    wait(qtbot, lambda: window.workbench.shown is not None)
    viewport = window.viewport
    near = viewport.place(viewport.view().poses[link, :3, 3])
    places = np.mgrid[4 : viewport.width() : 8, 4 : viewport.height() : 8].reshape(2, -1).T
    away = np.hypot(*(places - (near.x(), near.y())).T)
    for x, y in places[np.argsort(away, kind="stable")].tolist():
        hit = viewport.under(x, y)
        if hit is not None and hit.link == link:
            return QPoint(x, y)
    raise AssertionError("it is not in sight")


@pytest.mark.parametrize(("button", "keys"), [(RIGHT, Qt.KeyboardModifier.NoModifier), (LEFT, CTRL)])
def test_a_drag_pulls_the_link_and_tells_the_force(qtbot, opened, button, keys):
    window = opened(engine.find_robot("double_pendulum"))
    drag = window.features[Dragging]
    bench, link = window.workbench, len(window.workbench.robot.model.link_names) - 1
    window.run.play.trigger()
    start, camera = place_of(qtbot, window, link), window.viewport.camera.azimuth
    qtbot.mousePress(window.viewport, button, keys, start)
    assert drag.hold.link == link
    wait(qtbot, lambda: bench.robot.newest.pull is not None)
    here = drag.hold.target.copy()
    qtbot.mouseMove(window.viewport, start + QPoint(60, -40))
    assert not np.array_equal(drag.hold.target, here)
    wait(
        qtbot,
        lambda: drag.layer.text.endswith(" N") and drag.layer.isVisible() and np.abs(bench.robot.newest.v).max() > 0.01,
    )
    assert drag.layer.text.startswith(bench.robot.model.link_names[link])
    qtbot.mouseRelease(window.viewport, button, keys, start + QPoint(60, -40))
    assert drag.hold is None
    assert not drag.layer.isVisible()
    wait(qtbot, lambda: bench.robot.newest.pull is None)
    assert window.viewport.camera.azimuth == camera  # the camera stays


def test_what_stands_fast_is_not_pulled_and_a_plain_drag_turns_the_camera(qtbot, opened):
    window = opened(engine.find_robot("double_pendulum"))
    drag, base = window.features[Dragging], place_of(qtbot, window, 0)
    qtbot.mousePress(window.viewport, RIGHT, pos=base)
    qtbot.mouseRelease(window.viewport, RIGHT, pos=base)
    assert drag.hold is None
    assert "is fixed; pull a link" in window.statusBar().currentMessage()
    before = window.viewport.camera.azimuth
    qtbot.mousePress(window.viewport, LEFT, pos=base)
    qtbot.mouseMove(window.viewport, base + QPoint(30, 0))
    qtbot.mouseRelease(window.viewport, LEFT, pos=base + QPoint(30, 0))
    assert window.viewport.camera.azimuth != before


def test_paused_in_a_drag_it_says_what_is_missing(qtbot, opened):
    window = opened(engine.find_robot("double_pendulum"))
    drag, link = window.features[Dragging], len(window.workbench.robot.model.link_names) - 1
    window.run.play.trigger()
    start = place_of(qtbot, window, link)
    qtbot.mousePress(window.viewport, RIGHT, pos=start)
    window.run.play.trigger()
    qtbot.mouseMove(window.viewport, start + QPoint(9, 0))
    assert "press Space" in window.statusBar().currentMessage()
    wait(qtbot, lambda: drag.layer.text.endswith("paused"))
    qtbot.mouseRelease(window.viewport, RIGHT, pos=start)


def test_in_a_recorded_moment_it_says_how_to_go_on(qtbot, opened):
    window = opened(engine.find_robot("double_pendulum"))
    drag, bench = window.features[Dragging], window.workbench
    wait(qtbot, lambda: not bench.computation.compiling)
    qtbot.keyClick(window, Qt.Key.Key_Space)
    wait(qtbot, lambda: bench.robot.time > 0.1 and shown_time(window) != "0.000 s")
    qtbot.keyClick(window, Qt.Key.Key_Home)
    wait(qtbot, lambda: shown_time(window) == "0.000 s")
    hint = ""

    def told() -> bool:  # the picture of the frame comes after its time
        nonlocal hint
        place = place_of(qtbot, window, len(bench.robot.model.link_names) - 1)
        qtbot.mousePress(window.viewport, RIGHT, pos=place)
        hint = window.statusBar().currentMessage()
        held = drag.hold is not None
        qtbot.mouseRelease(window.viewport, RIGHT, pos=place)
        return bool(hint) and not held

    wait(qtbot, told)
    assert bench.replay.active
    assert drag.hold is None
    assert "to pull links press Branch here (Ctrl+B) to continue from it, or End" in hint
    assert "Space" not in hint


def test_forces_are_written_in_three_digits():
    assert force_text(np.array([0.0, 3.0, 4.0])) == "5 N"
    assert force_text(np.array([12.345, 0.0, 0.0])) == "12.3 N"
    assert force_text(np.array([0.0, 0.0, 4321.0])) == "4.32 kN"
    assert force_text(np.array([0.0, 2.84e8, 0.0])) == "284 MN"
    assert force_text(np.array([1.93e-6, 0.0, 0.0])) == "1.93 µN"


def test_a_reset_lets_go_and_the_rest_of_the_drag_moves_nothing(qtbot, opened):
    window = opened(engine.find_robot("double_pendulum"))
    drag, link = window.features[Dragging], len(window.workbench.robot.model.link_names) - 1
    start, camera = place_of(qtbot, window, link), window.viewport.camera
    window.run.play.trigger()
    qtbot.mousePress(window.viewport, RIGHT, pos=start)
    wait(qtbot, lambda: drag.layer.text.endswith(" N"))
    qtbot.keyClick(window, Qt.Key.Key_R)
    wait(qtbot, lambda: not drag.layer.isVisible())
    before = camera.azimuth, camera.target.copy()
    qtbot.mouseMove(window.viewport, start + QPoint(60, -40))
    wait(qtbot, lambda: window.workbench.robot.newest.time > 0.1)
    assert not drag.layer.isVisible()
    assert camera.azimuth == before[0]
    np.testing.assert_array_equal(camera.target, before[1])
    qtbot.mouseRelease(window.viewport, RIGHT, pos=start + QPoint(60, -40))
    assert drag.hold is None
    qtbot.mousePress(window.viewport, RIGHT, pos=place_of(qtbot, window, link))
    wait(qtbot, lambda: drag.layer.text.endswith(" N"))
    qtbot.mouseRelease(window.viewport, RIGHT, pos=start)
