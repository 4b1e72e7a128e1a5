"""The window, pressed as a user presses it."""

import re
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from PyQt6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PyQt6.QtGui import QDragEnterEvent, QDropEvent
from PyQt6.QtWidgets import QAbstractButton, QApplication, QDoubleSpinBox
from windows import ANSWER, LOOKS, answers, press, shown_time, slider_position, wait, wait_loaded

import engine
from app.desktop import dialogs
from app.desktop.docks import SIDE_WIDTH
from app.features.attaching import CompareView, DiagnosticsView, SimulationChoices, TimingView
from app.features.status import FALL_NOTE, GRAVITY_NOTE, Status
from app.panels.history import BEFORE
from app.panels.joints import SLIDER, VALUE
from app.panels.stacked_plot import StackedPlot
from app.window import Window
from engine.files import ROBOTS

BROKEN = """<robot name="broken">
  <link name="base"/>
  <link name="arm">
    <inertial><mass value="-1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <joint name="hinge" type="continuous">
    <parent link="base"/><child link="missing"/>
  </joint>
</robot>
"""
STIFF = """<robot name="stiff">
  <link name="base"/>
  <link name="bob">
    <inertial>
      <origin xyz="0 0 -1"/><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/>
    </inertial>
  </link>
  <joint name="hinge" type="continuous">
    <parent link="base"/><child link="bob"/><axis xyz="0 1 0"/><dynamics damping="1e5"/>
  </joint>
</robot>
"""


@pytest.fixture
def broken(tmp_path) -> Path:
    path = tmp_path / "broken.urdf"
    path.write_text(BROKEN, encoding="utf-8")
    return path


def drop(window: Window, *paths: Path) -> bool:
    """Drag files over the window and let go; whether it would take them."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    copy, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(200, 200), copy, data, left, none)
    enter.ignore()
    QApplication.sendEvent(window, enter)
    if enter.isAccepted():
        QApplication.sendEvent(window, QDropEvent(QPointF(200, 200), copy, data, left, none))
    return enter.isAccepted()


def test_without_a_robot_there_is_nothing_to_play(window):
    assert not window.run.play.isEnabled()
    assert window.files.open_action.isEnabled()
    assert window.windowTitle() == "Catena"


def test_open_through_the_dialog(qtbot, window, monkeypatch):
    path = str(ROBOTS / "scara.urdf")
    monkeypatch.setattr(dialogs, "ask_file", lambda *_: path)
    qtbot.keyClick(window, Qt.Key.Key_O, Qt.KeyboardModifier.ControlModifier)
    assert "scara.urdf" in window.feature(Status).loading_label.text()
    wait_loaded(qtbot, window)
    model = window.workbench.robot.model
    assert window.windowTitle().startswith(model.name)
    assert window.feature(Status).size_label.text() == f"nq {model.nq}  nv {model.nv}"
    assert window.joints.table.rowCount() == model.nv


def test_open_a_shipped_robot_and_find_it_among_the_recent_ones(qtbot, window, make_window):
    robots = {action.text(): action for action in window.files.robots_menu.actions()}
    assert {path.stem.replace("_", " ") for path in ROBOTS.glob("*.urdf")} == set(robots)
    robots["pendulum"].trigger()
    wait_loaded(qtbot, window)
    window.close()
    again = make_window()
    again.files.recent_menu.aboutToShow.emit()
    assert again.files.recent_menu.toolTipsVisible()  # the folder, which the names leave out
    assert again.files.recent_menu.actions()[0].toolTip() == str(ROBOTS / "pendulum.urdf")
    again.files.recent_menu.actions()[0].trigger()
    wait_loaded(qtbot, again)
    assert again.workbench.robot.model.name == window.workbench.robot.model.name


@pytest.mark.parametrize("how", ["button", "key"])
def test_play_and_pause(qtbot, opened, how):
    window = opened()

    def toggle() -> None:
        if how == "button":
            press(qtbot, window, window.run.play)
        else:
            qtbot.keyClick(window, Qt.Key.Key_Space)

    toggle()
    assert window.workbench.robot.playing
    wait(qtbot, lambda: window.workbench.robot.time > 0.05 and "achieved" in window.speed.achieved.text())
    toggle()
    assert not window.workbench.robot.playing
    wait(qtbot, lambda: window.speed.achieved.text() == "of real time")
    stopped = window.workbench.robot.time
    press(qtbot, window, window.run.step)
    wait(qtbot, lambda: window.workbench.robot.time != stopped)
    assert window.workbench.robot.time == pytest.approx(stopped + 1e-3, abs=1e-9)


def test_step_by_button_and_both_keys(qtbot, opened):
    window = opened()
    press(qtbot, window, window.run.step)
    qtbot.keyClick(window, Qt.Key.Key_S)
    qtbot.keyClick(window, Qt.Key.Key_Right)
    wait(qtbot, lambda: shown_time(window) == "0.003 s")


def test_slide_a_joint_then_step_then_reset(qtbot, opened):
    window = opened()
    panel, bench = window.joints, window.workbench
    target = np.radians(60)
    qtbot.mousePress(panel.viewport(), Qt.MouseButton.LeftButton, pos=slider_position(panel, 0, 0.0).toPoint())
    qtbot.mouseMove(panel.viewport(), slider_position(panel, 0, target).toPoint())
    qtbot.mouseRelease(panel.viewport(), Qt.MouseButton.LeftButton, pos=slider_position(panel, 0, target).toPoint())
    wait(qtbot, lambda: abs(bench.robot.initial[0] - target) < 0.05)
    placed = bench.robot.initial[0]
    assert panel.table.data(panel.table.index(0, VALUE)).startswith(f"{np.degrees(placed):.1f}")
    for _ in range(20):
        qtbot.keyClick(window, Qt.Key.Key_S)
    wait(qtbot, lambda: shown_time(window) == "0.020 s")
    assert panel.table.q[0] != placed
    press(qtbot, window, window.run.reset)
    wait(qtbot, lambda: shown_time(window) == "0.000 s" and panel.table.q[0] == placed)
    qtbot.keyClick(window, Qt.Key.Key_R)
    wait(qtbot, lambda: panel.table.q[0] == 0.0)


def test_a_joint_held_during_play_stays_in_the_hand(qtbot, opened):
    window = opened()
    panel = window.joints
    place = slider_position(panel, 0, np.radians(90)).toPoint()
    qtbot.keyClick(window, Qt.Key.Key_Space)
    qtbot.mousePress(panel.viewport(), Qt.MouseButton.LeftButton, pos=place)
    begun = window.workbench.robot.time
    wait(qtbot, lambda: window.workbench.robot.time > begun + 0.3)
    assert np.degrees(panel.table.q[0]) == pytest.approx(90, abs=3)
    qtbot.mouseRelease(panel.viewport(), Qt.MouseButton.LeftButton, pos=place)
    wait(qtbot, lambda: abs(np.degrees(panel.table.q[0]) - 90) > 10)


def test_type_a_number(qtbot, opened):
    window = opened()
    panel = window.joints
    panel.setCurrentIndex(panel.table.index(1, VALUE))
    panel.edit(panel.table.index(1, VALUE))
    box = panel.findChild(QDoubleSpinBox)
    box.setValue(30.0)
    qtbot.keyClick(box, Qt.Key.Key_Return)
    wait(qtbot, lambda: window.workbench.robot.initial[1] == pytest.approx(np.radians(30)))


def test_drop_a_good_file(qtbot, window):
    assert drop(window, ROBOTS / "pendulum.urdf")
    wait_loaded(qtbot, window)
    assert window.workbench.path.endswith("pendulum.urdf")
    assert not window.docks["Diagnostics"].isVisible()
    assert window.feature(DiagnosticsView).panel.summary.text() == "pendulum.urdf: no problems"
    window.viewport.diagnostics.emit([engine.Diagnostic("warning", 3, "mesh", "cannot be read", "put it there")])
    assert window.feature(DiagnosticsView).panel.summary.text() == "pendulum.urdf: 1 warning"


def test_drop_a_bad_file_shows_its_faults_and_leaves_the_robot(qtbot, opened, broken):
    window = opened()
    model = window.workbench.robot.model
    assert drop(window, broken)
    wait(qtbot, window.docks["Diagnostics"].isVisible)
    assert window.workbench.robot.model is model
    panel = window.feature(DiagnosticsView).panel
    assert panel.summary.text() == "broken.urdf was not loaded: 2 errors"
    lines = {each.line for each in panel.diagnostics}
    assert {4, 7} <= lines
    row = next(row for row, each in enumerate(panel.diagnostics) if each.line == 4)
    panel.list.setCurrentItem(panel.list.topLevelItem(row))
    assert 'mass value="-1"' in panel.excerpt.toPlainText()
    panel.copy()
    assert "broken.urdf: line 4: error" in QApplication.clipboard().text()
    assert "broken.urdf was not loaded" in window.statusBar().currentMessage()
    qtbot.keyClick(window, Qt.Key.Key_Space)
    assert window.statusBar().currentMessage() == ""
    wait(qtbot, lambda: window.workbench.robot.time > 0.02)


def test_something_that_is_no_file_is_not_taken(window):
    words = QMimeData()  # Qt's event does not keep it alive
    words.setText("no file")
    copy, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(5, 5), copy, words, left, none)
    enter.ignore()
    QApplication.sendEvent(window, enter)
    assert not enter.isAccepted()


def test_a_file_that_is_not_there_is_told(qtbot, window, tmp_path):
    window.open(tmp_path / "absent.urdf")
    wait(qtbot, window.docks["Diagnostics"].isVisible)
    assert window.feature(DiagnosticsView).panel.count == 1


def test_a_robot_with_a_free_base_stands_on_the_ground(qtbot, opened):
    window = opened(ROBOTS / "quadruped.urdf")
    assert window.run.gravity.isChecked()
    assert window.run.ground.isChecked()
    assert window.run.ground.isEnabled()
    assert window.feature(Status).note_label.text() == ""
    window.workbench.set_speed(4.0)
    qtbot.keyClick(window, Qt.Key.Key_Space)
    wait(qtbot, lambda: window.workbench.robot.time > 1.0)
    assert abs(window.joints.table.q[2]) < 0.02
    window.run.ground.trigger()
    wait(qtbot, lambda: window.feature(Status).note_label.text() == FALL_NOTE)
    wait(qtbot, lambda: window.joints.table.q[2] < -0.1)


def test_a_floating_robot_without_shapes_starts_without_gravity_and_says_so(qtbot, opened, tmp_path):
    bare = re.sub("<collision>.*?</collision>", "", (ROBOTS / "quadruped.urdf").read_text("utf-8"))
    (tmp_path / "bare.urdf").write_text(bare, "utf-8")
    window = opened(tmp_path / "bare.urdf")
    assert not window.run.ground.isEnabled()
    assert not window.run.gravity.isChecked()
    assert window.feature(Status).note_label.text() == GRAVITY_NOTE
    press(qtbot, window, window.run.gravity)
    wait(qtbot, lambda: window.feature(Status).note_label.text() == FALL_NOTE)
    qtbot.keyClick(window, Qt.Key.Key_Space)
    base = window.workbench.robot.model.joint_names.index("floating_base")
    assert base == 0
    wait(qtbot, lambda: window.joints.table.q[2] < -0.01)


def test_the_speed_slider_is_logarithmic(opened):
    window = opened()
    for place, speed in ((window.speed.slider.minimum(), 0.1), (0, 1.0), (window.speed.slider.maximum(), 10.0)):
        window.speed.slider.setValue(place)
        assert window.workbench.speed == pytest.approx(speed)
        assert window.speed.requested.text() == f"{speed:.2f} ×"


def test_choosing_integrator_and_time_step(qtbot, opened):
    window = opened()
    choices, robot = window.feature(SimulationChoices), window.workbench.robot
    next(action for action in choices.integrators.actions() if action.text() == "rk4").trigger()
    next(action for action in choices.time_steps.actions() if action.text() == "5 ms").trigger()
    assert (robot.settings.integrator, robot.settings.dt) == ("rk4", 5e-3)
    press(qtbot, window, window.run.step)
    wait(qtbot, lambda: shown_time(window) == "0.005 s")


def test_follow_and_fit_reach_the_viewport(qtbot, opened):
    window = opened()
    camera = window.viewport.camera
    camera.zoom(3.0)
    near = camera.distance
    qtbot.keyClick(window, Qt.Key.Key_F)
    assert window.viewport.camera.distance != near
    press(qtbot, window, window.view_controls.follow)
    assert window.viewport.follow


def test_the_timing_panel_names_every_phase_and_fills_its_columns(qtbot, opened):
    window = opened()
    qtbot.keyClick(window, Qt.Key.Key_Space)
    window.docks["Timing"].raise_()
    panel = window.feature(TimingView).panel
    table, frames = panel.table, panel.frame_table
    wait(qtbot, lambda: bool(np.all(np.isfinite(table.seconds[:, :BEFORE]))) and panel.steps.count > 5)
    names = [each.data(each.index(row, 0)) for each in (table, frames) for row in range(each.rowCount())]
    phases = [name for name in engine.PHASES["cpu"]["abia"] if name != "constraints"]  # of which it has none
    assert names == ["Step", *phases, "Frame", "steps", "poses", "upload", "draw"]
    for each in (table, frames):
        wait(qtbot, lambda each=each: all(each.data(each.index(row, 2)) != "–" for row in range(each.rowCount())))


def test_a_diverged_run_is_shown_and_reset_revives_it(qtbot, opened, tmp_path):
    path = tmp_path / "stiff.urdf"
    path.write_text(STIFF, encoding="utf-8")
    window = opened(path)
    assert window.workbench.robot.settings.integrator == "implicit"  # which holds also this robot
    integrators = window.feature(SimulationChoices).integrators.actions()
    next(action for action in integrators if action.text() == "semi-implicit").trigger()
    wait(qtbot, lambda: window.feature(Status).loading_label.text() == "")
    window.joints.moved.emit(0, 1.0)
    qtbot.keyClick(window, Qt.Key.Key_Space)
    wait(qtbot, window.docks["Diagnostics"].isVisible)
    assert not window.workbench.robot.playing
    (told,) = window.feature(DiagnosticsView).panel.diagnostics
    assert "diverged" in told.problem
    assert "dt" not in told.problem + told.fix  # as scripts have it
    assert told.fix.startswith("press Reset, then select a time step below ")
    assert window.feature(Status).findings_button.isVisible()
    qtbot.keyClick(window, Qt.Key.Key_R)
    wait(qtbot, lambda: shown_time(window) == "0.000 s")
    assert not window.feature(Status).findings_button.isVisible()
    assert not window.docks["Diagnostics"].isVisible()


def test_a_thousand_rows_are_painted_only_in_sight(opened):
    window = opened(engine.chain(1000))
    panel = window.joints
    assert panel.table.rowCount() == 1000
    assert not panel.findChildren(QDoubleSpinBox)

    def painted() -> float:
        begun = time.perf_counter()
        panel.grab()
        return time.perf_counter() - begun

    assert any(painted() < ANSWER for _ in range(LOOKS))
    assert panel.columnWidth(SLIDER) > 60


def test_a_minimised_window_shows_nothing_until_it_is_back(qtbot, opened):
    window = opened()
    window.showMinimized()
    window.workbench.play()
    for _ in range(20):
        with qtbot.waitSignal(window._timer.timeout):
            pass
    assert window.workbench.robot.time == 0.0
    window.showNormal()
    wait(qtbot, lambda: window.workbench.robot.time > 0.1)


def pictures_in(qtbot, window, seconds: float) -> int:
    """Return the number of pictures drawn in `seconds`."""
    before, end = window.feature(TimingView).panel.frames.count, time.perf_counter() + seconds
    wait(qtbot, lambda: time.perf_counter() > end)
    return window.feature(TimingView).panel.frames.count - before


def test_the_window_answers_while_a_thousand_links_move(qtbot, opened):
    # The chain's axes are upright, so it needs a gravity that is not; it swings for minutes without diverging.
    window = opened(engine.chain(1000, straight=True).with_gravity((3.0, 0.0, -9.0)))
    qtbot.keyClick(window, Qt.Key.Key_Space)
    wait(qtbot, lambda: window.workbench.robot.time > 0.02)
    begun = window.workbench.robot.time
    assert answers(qtbot, 50, 50)
    # Some ten frames per second, since the simulation comes first; of two loaded cores three still.
    assert any(pictures_in(qtbot, window, 2.0) >= 6 for _ in range(LOOKS))
    # Without a graphics card, drawing takes the processor too; without drawing, hardly a wait may be longer.
    window.viewport.hide()
    assert answers(qtbot, 100, 95)
    assert window.workbench.robot.playing
    assert window.workbench.robot.time > begun


@pytest.mark.parametrize("when", ["idle", "playing", "loading"])
def test_closing_leaves_no_thread(qtbot, make_window, when):
    before = set(threading.enumerate())
    window = make_window()
    window.open(ROBOTS / "humanoid.urdf")
    if when != "loading":
        wait_loaded(qtbot, window)
    if when == "playing":
        qtbot.keyClick(window, Qt.Key.Key_Space)
        wait(qtbot, lambda: window.workbench.robot.time > 0.02)
    window.close()
    assert set(threading.enumerate()) <= before


def test_the_window_keeps_its_layout(make_window):
    window = make_window()
    window.docks["Timing"].hide()
    window.close()
    assert not make_window().docks["Timing"].isVisible()


def test_a_small_window_leaves_the_panels_their_room(qtbot, opened):
    window = opened(ROBOTS / "humanoid.urdf")
    window.resize(900, 600)
    wait(qtbot, lambda: window.width() == 900)
    assert window.height() == 600
    panel = window.feature(TimingView).panel
    plots = panel.findChildren(StackedPlot)
    assert all(plot.y() >= panel.view.geometry().bottom() for plot in plots if plot.isVisible())
    assert window.joints.columnWidth(SLIDER) > 60
    press(qtbot, window, window.docks["Compare"].toggleViewAction())
    wait(qtbot, window.feature(CompareView).panel.isVisible)
    window.resize(900, 600)
    wait(qtbot, lambda: window.joints.width() >= SIDE_WIDTH)
    assert window.joints.columnWidth(SLIDER) > 60
    assert window.width() < 1100


def test_the_buttons_that_close_a_panel_can_be_seen(qtbot, window):
    for name in ("qt_dockwidget_closebutton", "qt_dockwidget_floatbutton"):
        button = window.docks["Joints"].findChild(QAbstractButton, name)
        picture = button.grab().toImage()
        lightest = max(
            picture.pixelColor(x, y).lightness() for x in range(picture.width()) for y in range(picture.height())
        )
        assert lightest > 100
    qtbot.mouseClick(
        window.docks["Joints"].findChild(QAbstractButton, "qt_dockwidget_closebutton"), Qt.MouseButton.LeftButton
    )
    assert not window.docks["Joints"].isVisible()


def test_the_times_of_another_robots_frames_are_forgotten(opened):
    window = opened()
    window.feature(TimingView).panel.add_frame(90.0, 90.0)
    opened(ROBOTS / "pendulum.urdf")
    assert np.all(window.feature(TimingView).panel.frames.samples < 90)


def test_pressing_keys_in_the_panels_still_plays(qtbot, opened):
    window = opened()
    window.joints.setFocus(Qt.FocusReason.OtherFocusReason)
    qtbot.keyClick(window.joints, Qt.Key.Key_Space)
    assert window.workbench.robot.playing
    QApplication.sendEvent(window.joints, QEvent(QEvent.Type.Leave))


def test_what_was_not_opened_is_still_said_when_the_robot_is(qtbot, window):
    assert drop(window, ROBOTS / "arm6.urdf", ROBOTS / "scara.urdf")
    wait(qtbot, lambda: window.workbench.robot.model is not None)
    beside = "scara.urdf did not: File › Open second robot (Ctrl+Alt+O) has one beside it"
    message = f"one robot at a time: arm6.urdf opens, {beside}"
    wait(qtbot, lambda: window.statusBar().currentMessage() == message)
