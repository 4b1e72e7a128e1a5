"""The Forces dock: typed wrenches act on the running robot."""

import numpy as np
from PyQt6.QtCore import QPoint, Qt
from test_collision_shapes import pixels
from windows import in_simulation, press, type_in, wait, wait_loaded

import engine
from app.features.reloading import Reloading
from app.features.undo_view import UndoView
from app.features.wrench_view import WrenchView
from app.gl.pushes import LENGTH, SPAN, Push, arrows, shapes

LEFT = Qt.MouseButton.LeftButton


def test_a_typed_force_acts_until_it_is_taken_away_or_reset(qtbot, opened):
    window = opened(engine.find_robot("pendulum"))
    view, bench = window.features[WrenchView], window.workbench
    panel = view.panel
    press(qtbot, window, view.action)
    wait(qtbot, panel.isVisible)
    assert [panel.link.itemText(k) for k in range(panel.link.count())] == ["rod"]
    bench.joints.set_held(False)
    bench.configuring.set_gravity(False)
    type_in(qtbot, panel.force[2], "3")
    assert not bench.forces.wrenches  # it does not act yet
    qtbot.mouseClick(panel.act, LEFT, pos=QPoint(8, panel.act.height() // 2))
    assert panel.acting.text() == "rod: (0, 0, 3) N, world"
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.2)
    assert bench.robot.newest.v[0] == 0
    # A force at the pivot turns nothing; a moment about its axis, −y, does.
    type_in(qtbot, panel.moment[1], "-0.5")
    assert "(0, -0.5, 0) N m" in panel.acting.text()
    wait(qtbot, lambda: bench.robot.newest.v[0] > 0.02)
    window.run.reset.trigger()
    wait(qtbot, lambda: panel.acting.text() == "No wrench is applied.")
    assert not panel.act.isChecked()
    # No frame from before the reset is at rest.
    wait(qtbot, lambda: bench.robot.time > 0.05 and bench.robot.newest.v[0] == 0)
    assert panel.moment[1].value() == -0.5  # to be used again
    qtbot.mouseClick(panel.act, LEFT, pos=QPoint(8, panel.act.height() // 2))
    wait(qtbot, lambda: bench.robot.newest.v[0] > 0.02)
    qtbot.mouseClick(panel.clear, LEFT)
    assert not bench.forces.wrenches
    before = bench.robot.time
    wait(qtbot, lambda: bench.robot.time > before + 0.1)
    speed = bench.robot.newest.v[0]
    wait(qtbot, lambda: bench.robot.time > before + 0.3)
    np.testing.assert_allclose(bench.robot.newest.v[0], speed)


def test_a_number_that_is_being_typed_stays_whatever_happens_meanwhile(qtbot, opened):
    window = opened(engine.find_robot("pendulum"))
    view = window.features[WrenchView]
    panel, box = view.panel, view.panel.force[2]
    press(qtbot, window, view.action)
    wait(qtbot, panel.isVisible)
    qtbot.mouseClick(panel.act, LEFT, pos=QPoint(8, panel.act.height() // 2))
    box.setFocus()
    wait(qtbot, box.hasFocus)
    box.selectAll()
    qtbot.keyClicks(box, "12.")
    window.refresh()  # as whenever anything is shown or pressed
    window.workbench.forces.set(0, np.arange(6.0), True)  # as when a frame with another wrench is shown
    window.refresh()
    assert box.text() == "12."
    qtbot.keyClicks(box, "5")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert box.value() == 12.5
    assert window.workbench.forces.wrenches[panel.link.currentData()].wrench[5] == 12.5


def test_it_follows_the_chosen_link_and_keeps_a_wrench_for_each(qtbot, arm):
    view, bench = arm.features[WrenchView], arm.workbench
    panel, names = view.panel, arm.workbench.robot.model.link_names
    press(qtbot, arm, view.action)
    arm.selection.choose(3)
    assert panel.link.currentText() == names[3]
    panel.axes.setCurrentIndex(1)
    type_in(qtbot, panel.force[0], "7.5")
    panel.act.click()
    assert bench.forces.wrenches[3].world is False
    np.testing.assert_array_equal(bench.forces.wrenches[3].wrench, [0, 0, 0, 7.5, 0, 0])
    arm.selection.choose(5)
    assert not panel.act.isChecked()
    assert panel.force[0].value() == 0
    panel.act.click()
    assert set(bench.forces.wrenches) == {3, 5}
    arm.selection.choose(3)
    assert panel.act.isChecked()
    panel.act.click()
    assert set(bench.forces.wrenches) == {5}
    arm.selection.choose(0)  # the base stands fast: the panel stays where it is
    assert panel.link.currentText() == names[3]


def test_another_robot_finds_no_force_of_the_one_before_and_the_same_robot_its_own(qtbot, opened):
    window = opened(engine.find_robot("arm7"))
    panel = window.features[WrenchView].panel
    type_in(qtbot, panel.force[1], -1e6)
    window.features[Reloading].reload()
    wait_loaded(qtbot, window)
    assert panel.force[1].value() == -1e6
    panel.limited.setChecked(True)
    panel.begin.setValue(27.868)
    opened(engine.find_robot("quadruped"))
    assert [box.value() for box in (*panel.force, *panel.moment, panel.begin)] == [0.0] * 7
    assert not panel.limited.isChecked()
    assert panel.link.currentText() == "trunk", "the heaviest of a robot that floats"


def test_a_robot_none_of_whose_links_can_move_says_so(opened, tmp_path):
    path = tmp_path / "body.urdf"
    path.write_text('<robot name="body"><link name="body"/></robot>')
    panel = opened(path).features[WrenchView].panel
    assert not panel.isEnabled()
    assert "No link can move." in panel.acting.text()
    opened(engine.find_robot("arm7"))
    assert panel.acting.text() == "No wrench is applied."


def test_what_is_set_stands_in_the_picture_as_an_arrow_with_its_newtons(qtbot, arm):
    bench, overlays = arm.workbench, arm.viewport.overlays
    wait(qtbot, lambda: arm.viewport.reading is None and bench.robot.newest is not None)
    plain = pixels(arm)
    link = bench.robot.model.link_names.index("hand")
    bench.forces.set(link, np.array([0.0, 0, 0, 0, 250.0, 0]), True)
    arm.refresh()
    wait(qtbot, lambda: bool(arm.viewport.view().extras.labels))
    ((text, end, *_),) = arm.viewport.view().extras.labels
    assert text == "250 N"
    along_y = np.array(end) - arm.viewport.view().poses[link, :3, 3] - arm.viewport.center
    np.testing.assert_allclose(along_y / np.linalg.norm(along_y), (0, 1, 0), atol=1e-9)
    assert (np.abs(pixels(arm) - plain) > 30).mean() > 5e-4
    arm.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.2)
    arm.run.play.trigger()
    bench.forces.clear()
    arm.refresh()
    assert arm.viewport.view().extras.labels == ()
    bench.replay.seek(0.1)  # what was recorded has it still
    wait(qtbot, lambda: [text for text, *_ in arm.viewport.view().extras.labels] == ["250 N"])
    bench.replay.leave()
    overlays.set_pushes(())


def test_forces_are_undone_and_redone_and_none_comes_back_that_a_reset_removed(qtbot, opened):
    window = opened(engine.find_robot("pendulum"))
    view, undoing = window.features[WrenchView], window.features[UndoView]
    panel, bench = view.panel, window.workbench
    press(qtbot, window, view.action)
    window.run.hold.trigger()
    before = bench.robot.settings.held
    type_in(qtbot, panel.moment[1], "-0.5")
    panel.act.click()
    wait(qtbot, lambda: undoing.undo.isEnabled())
    window.setFocus()
    qtbot.keyClick(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert window.statusBar().currentMessage() == "Undone: Force on rod"
    assert panel.acting.text() == "No wrench is applied."
    assert (panel.act.isChecked(), bench.robot.settings.held) == (False, before)
    undoing.redo.trigger()
    assert panel.acting.text() == "rod: (0, -0.5, 0) N m, world"
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.05)
    panel.act.click()
    assert undoing.stack.undoText() == "Remove the force on rod"
    undoing.undo.trigger()
    assert panel.act.isChecked()
    window.run.gravity.trigger()
    window.run.reset.trigger()
    assert not bench.forces.wrenches
    undoing.undo.trigger()  # gravity
    assert not bench.forces.wrenches
    redone = np.array([0, 0, 0, 1.0, 0, 0])
    for link in (0, 1):
        bench.wrenching.set(link, redone, True)
    bench.play()
    wait(qtbot, lambda: bench.robot.time > 0.05)
    window.run.reset.trigger()
    undoing.undo.trigger()  # the force on the second link alone
    assert not bench.forces.wrenches
    undoing.redo.trigger()
    assert [*bench.forces.wrenches] == [1]


def test_arrows_of_forces_and_moments_point_along_them_and_are_as_long_as_they_are_strong():
    poses = np.tile(np.eye(4), (2, 1, 1))
    poses[1, :3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]  # a quarter turn about z
    poses[1, :3, 3] = (1, 2, 3)
    wrench = np.array([0, 0, 4.0, 30.0, 0, 0])
    force, moment = arrows([Push(1, wrench, False)], poses, weight=60.0, size=2.0)
    np.testing.assert_allclose(force.end - force.start, (0, 2 * LENGTH * 30 / 60, 0), atol=1e-12)
    np.testing.assert_allclose(moment.end - moment.start, (0, 0, 2 * SPAN[0]), atol=1e-12)
    assert (force.strength, moment.strength, moment.is_moment) == (30.0, 4.0, True)
    (in_world, _) = arrows([Push(1, 1e3 * wrench, True)], poses, weight=60.0, size=2.0)
    np.testing.assert_allclose(in_world.end - in_world.start, (2 * SPAN[1], 0, 0), atol=1e-12)
    made = shapes([force, moment], 2.0)
    assert len(made["rod"][0]) == 2
    assert len(made["head"][0]) == 3  # a moment's arrow has two
    tips = made["head"][0] @ np.array([0, 0, 1.0, 1.0])
    np.testing.assert_allclose(tips[:2, :3], [force.end, moment.end], atol=1e-12)


def test_a_push_for_a_limited_time_is_repeated_by_the_run_after_a_reset(qtbot, opened):
    window = opened(engine.find_robot("pendulum"))
    panel, bench, labels = window.features[WrenchView].panel, window.workbench, []
    bench.joints.set_held(False)
    bench.configuring.set_gravity(False)
    dt = bench.robot.settings.dt
    press(qtbot, window, window.features[WrenchView].action)
    wait(qtbot, panel.isVisible)
    assert not panel.begin.isEnabled()
    qtbot.mouseClick(panel.limited, LEFT, pos=QPoint(8, panel.limited.height() // 2))
    type_in(qtbot, panel.moment[1], "-0.5")
    type_in(qtbot, panel.begin, "0.05")
    type_in(qtbot, panel.length, "0.1")
    panel.act.click()
    assert panel.acting.text() == "rod: (0, -0.5, 0) N m, world, from 0.05 to 0.15 s"
    for _ in range(2):
        window.run.play.trigger()
        wait(qtbot, lambda: labels.append(len(window.viewport.view().extras.labels)) or bench.robot.time > 0.2)
        window.run.play.trigger()
        run = in_simulation(bench, lambda _: bench.replay.recording.runs[-1])
        pushed = engine.recorded_trajectory(*engine.resample(bench.replay.recording, run)).wrench[:, 0, 1]
        assert np.flatnonzero(pushed).tolist() == [*range(round(0.05 / dt) + 1, round(0.15 / dt) + 1)]
        np.testing.assert_allclose(pushed[pushed != 0], -0.5)
        window.run.reset.trigger()
        wait(qtbot, lambda: bench.robot.newest.time == 0)
    assert labels[0] == labels[-1] == 0, "the arrow is there during the push only"
    assert panel.act.isChecked()
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.2)
    window.run.play.trigger()
    qtbot.mouseClick(panel.act, LEFT, pos=QPoint(8, panel.act.height() // 2))
    qtbot.mouseClick(panel.act, LEFT, pos=QPoint(8, panel.act.height() // 2))
    assert panel.begin.value() >= 0.2, "its time was over"
    qtbot.mouseClick(panel.limited, LEFT, pos=QPoint(8, panel.limited.height() // 2))
    window.run.reset.trigger()
    wait(qtbot, lambda: panel.acting.text() == "No wrench is applied.")
