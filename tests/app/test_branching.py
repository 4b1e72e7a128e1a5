"""A branch from a recorded frame takes what acted in it: drives with their gains and setpoints, and set wrenches."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PyQt6.QtCore import QEvent, QObject, QPoint, Qt
from PyQt6.QtWidgets import QApplication, QComboBox, QToolButton
from test_drives import choose, pick
from test_time import play
from windows import in_simulation, present, press, type_in, wait

import engine
from app.acting.drives import Drive
from app.features.time_view import TimeView
from app.features.wrench_view import WrenchView
from app.panels.joints import DRIVE
from app.window import Window


class Fits(QObject):
    """Counts how often a widget lays out what is in it."""

    count = 0

    def eventFilter(self, _widget: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.LayoutRequest
        return False


WHOLE = QComboBox.SizeAdjustPolicy.AdjustToContents  # of a run's name, which is cut at a comma otherwise


def drive_cell(window: Window, row: int) -> object:
    return window.joints.table.data(window.joints.table.index(row, DRIVE))


def look(qtbot, window: Window, seconds: float) -> None:
    """Show the recorded frame of that time."""
    view, replay = window.features[TimeView], window.workbench.replay
    view.bar.track.seek_requested.emit(seconds)
    wait(qtbot, lambda: window.workbench.shown is not None and window.workbench.shown.time == replay.frame.time)


def branch(qtbot, window: Window) -> None:
    bench, frame = window.workbench, window.workbench.replay.frame
    qtbot.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: bench.robot.newest.time == frame.time and not bench.replay.active)
    wait(qtbot, lambda: in_simulation(bench, lambda running: running.settings) == bench.robot.settings)


def test_the_drive_of_a_frame_is_shown_and_taken_whole(qtbot, arm):
    bench, form = arm.workbench, choose(qtbot, arm, 0)
    bench.set_speed(4.0)
    type_in(qtbot, form.kp, "321")
    play(qtbot, arm, 0.4)
    changed, held = bench.robot.time, bench.robot.newest.q.copy()
    type_in(qtbot, form.kp, "123")
    pick(form.mode, "velocity")
    type_in(qtbot, form.value, "20")
    play(qtbot, arm, 0.6)
    assert bench.robot.newest.q[0] > 0.1
    look(qtbot, arm, 0.5 * changed)
    assert drive_cell(arm, 0) == "→ 0.0 °"
    assert (form.mode.currentData(), form.value.value(), form.kp.value()) == ("target", 0.0, 321.0)
    branch(qtbot, arm)
    assert (bench.robot.mode(0), bench.drives.known) == ("target", {})
    assert (form.mode.currentData(), form.kp.value()) == ("target", 321.0)
    play(qtbot, arm, 1.0)
    np.testing.assert_allclose(bench.robot.newest.q, held, atol=1e-4)
    bench.pause_for_replay()
    first = bench.replay.runs[0]
    bench.replay.show(bench.replay.recording.at(first, changed + 0.3), first)
    wait(qtbot, lambda: drive_cell(arm, 0) == "20.0 °/s")
    assert (form.mode.currentData(), form.kp.value()) == ("velocity", 123.0)
    branch(qtbot, arm)
    assert bench.robot.drive_of(0).value == pytest.approx(math.radians(20))
    before = bench.robot.newest.q[0]
    play(qtbot, arm, 0.3)
    assert bench.robot.newest.q[0] > before + 0.05


def test_a_drive_set_before_the_first_step_is_taken_from_the_start(qtbot, arm):
    bench, form = arm.workbench, choose(qtbot, arm, 0)
    pick(form.mode, "velocity")
    type_in(qtbot, form.value, "20")
    play(qtbot, arm, 0.5)
    qtbot.keyClick(arm, Qt.Key.Key_Home)
    wait(qtbot, lambda: drive_cell(arm, 0) == "20.0 °/s")
    branch(qtbot, arm)
    play(qtbot, arm, 0.5)
    assert bench.robot.newest.q[0] > 0.1


def test_a_branch_under_a_wave_and_gravity_compensation_repeats_bit_for_bit(qtbot, arm):
    bench, recording = arm.workbench, arm.workbench.replay.recording
    bench.joints.set_joint_drive(1, Drive("target", 0.0, "sine", 0.02, 0.5, weight=True))
    play(qtbot, arm, 0.2)
    run, odd = bench.replay.runs[-1], None
    while odd is None or odd.checkpoint.steps % 2 == 0:  # the wave is computed at every other step
        qtbot.wait(30)  # so that this frame is kept beside the next
        before = present(arm)
        bench.step()
        wait(qtbot, lambda before=before: present(arm) > before)
        odd = recording.frame(run, run.last)
    play(qtbot, arm, 0.2)
    later = recording.frame(run, odd.index + 3)
    look(qtbot, arm, odd.time)
    branch(qtbot, arm)
    for _ in range(later.checkpoint.steps - odd.checkpoint.steps):
        bench.step()
    branched = bench.replay.runs[-1]
    wait(qtbot, lambda: recording.frame(branched, branched.last).checkpoint.steps == later.checkpoint.steps)
    np.testing.assert_array_equal(recording.frame(branched, branched.last).checkpoint.q, later.checkpoint.q)


def test_drives_and_forces_of_a_recorded_frame_are_not_changed_and_the_window_says_so(qtbot, arm):
    bench, form = arm.workbench, choose(qtbot, arm, 0)
    press(qtbot, arm, arm.features[WrenchView].action)
    play(qtbot, arm, 0.3)
    look(qtbot, arm, 0.1)
    pick(form.mode, "velocity")
    assert "a recorded frame is shown; to drive joints press Branch here" in arm.statusBar().currentMessage()
    assert (form.mode.currentData(), bench.robot.mode(0)) == ("target", "target")
    type_in(qtbot, form.kp, "5")
    assert "to set gains press Branch here" in arm.statusBar().currentMessage()
    panel = arm.features[WrenchView].panel
    qtbot.mouseClick(panel.act, Qt.MouseButton.LeftButton, pos=QPoint(8, panel.act.height() // 2))
    assert "to change forces press Branch here" in arm.statusBar().currentMessage()
    assert not panel.act.isChecked()
    assert not bench.forces.wrenches


def test_a_force_that_is_shown_as_applied_acts_after_a_branch_and_else_is_not_shown(qtbot, opened):
    window = opened(engine.find_robot("pendulum"))
    view, bench = window.features[WrenchView], window.workbench
    panel = view.panel
    press(qtbot, window, view.action)
    bench.joints.set_held(False)
    bench.configuring.set_gravity(False)
    play(qtbot, window, 0.3)
    applied = bench.robot.time
    type_in(qtbot, panel.moment[1], "-0.5")
    qtbot.mouseClick(panel.act, Qt.MouseButton.LeftButton, pos=QPoint(8, panel.act.height() // 2))
    play(qtbot, window, 0.5)
    look(qtbot, window, applied - 0.1)
    wait(qtbot, lambda: panel.acting.text() == "No wrench is applied.")
    assert not panel.act.isChecked()
    branch(qtbot, window)
    assert panel.acting.text() == "No wrench is applied."
    assert window.viewport.view().extras.labels == ()
    play(qtbot, window, 0.2)
    assert bench.robot.newest.v[0] == 0
    first = bench.replay.runs[0]
    bench.pause_for_replay()
    bench.replay.show(bench.replay.recording.at(first, applied + 0.2), first)
    wait(qtbot, lambda: "(0, -0.5, 0) N m" in panel.acting.text())
    assert panel.act.isChecked()
    branch(qtbot, window)
    assert panel.acting.text() == "rod: (0, -0.5, 0) N m, world"
    before = bench.robot.newest.v[0]
    play(qtbot, window, 0.2)
    wait(qtbot, lambda: bench.robot.newest.v[0] > before + 0.01)


def test_the_list_of_runs_is_not_cut_where_it_becomes_wider_by_itself(qtbot, arm):
    bar = arm.features[TimeView].bar
    bar.show_time(0.751, 9.0, True)
    bar.show_runs([(1, "Run 1"), (2, "Run 2")], 2)
    (more,) = (each for each in bar.findChildren(QToolButton) if each.toolTip() == "Commands that have no room here")
    for width in range(200, 900, 10):
        bar.setFixedWidth(width)
        QApplication.processEvents()
        if bar.runs.isVisible() and more.isHidden() and bar.runs.sizeAdjustPolicy() == WHOLE:
            break
    bar.setFixedWidth(width + 30)
    bar.runs.setItemText(1, "Run 2, from run 1 at 0.17 s")  # whose hint of a size comes later
    wait(qtbot, lambda: bar.runs.sizeAdjustPolicy() != WHOLE)  # up to the comma
    wait(qtbot, lambda: bar.runs.isVisible() and bar.runs.width() >= bar.runs.sizeHint().width())
    bar.setFixedWidth(width + 250)
    wait(qtbot, lambda: bar.runs.sizeAdjustPolicy() == WHOLE and bar.runs.width() >= bar.runs.sizeHint().width() > 150)
    bar.setFixedWidth(100)  # where nothing fits, it stops trying
    qtbot.wait(100)
    fits = Fits(bar)
    bar.installEventFilter(fits)
    bar.runs.updateGeometry()
    qtbot.wait(100)
    assert fits.count < 4
