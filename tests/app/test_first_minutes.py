"""First use: held arms, automatic time steps, dropped files, keys, and the window's position."""

import subprocess
import sys

import numpy as np
import pytest
from PyQt6.QtCore import QRect, Qt
from PyQt6.QtWidgets import QApplication, QDoubleSpinBox, QFileDialog, QToolButton, QTreeView
from test_window import drop
from windows import choose_rows, press, wait, wait_loaded

from app.desktop import dialogs, theme
from app.features.appearance import Appearance
from app.features.compare_view import CompareView
from app.features.controller_view import ControllerView
from app.features.diagnostics_view import DiagnosticsView
from app.features.ground_view import GroundView
from app.features.run_exports import RunExports
from app.features.sessions import Sessions
from app.features.simulation_choices import SimulationChoices
from app.features.status import Status
from app.panels.joints import DRIVE, VALUE
from app.panels.run_dialog import RECORDED
from app.panels.stacked_plot import LOWEST, StackedPlot
from app.panels.timing import TimingPanel
from app.simulation.messages import Stopped
from engine.files import ROBOTS


def test_an_arm_is_held_when_it_plays_until_it_is_let_go_and_held_again(qtbot, opened):
    window = opened(ROBOTS / "arm7.urdf")
    assert window.run.hold.isChecked()
    q = window.joints.table.q.copy()
    qtbot.keyClick(window, Qt.Key.Key_Space)
    wait(qtbot, lambda: window.workbench.robot.time > 0.5)
    assert np.degrees(np.abs(window.joints.table.q - q).max()) < 1
    qtbot.keyClick(window, Qt.Key.Key_H)
    wait(qtbot, lambda: np.degrees(np.abs(window.joints.table.q - q).max()) > 20)
    press(qtbot, window, window.run.hold)

    def rests() -> bool:
        frame = window.workbench.robot.newest
        return frame is not None and window.run.hold.isChecked() and np.abs(frame.v).max() < 1e-3

    wait(qtbot, rests)
    target = window.workbench.robot.newest.target
    assert np.degrees(np.abs(window.joints.table.q - target).max()) < 1
    assert np.degrees(np.abs(window.joints.table.q - q).max()) > 5


def test_two_files_dropped_open_the_first_and_name_the_other(qtbot, window):
    assert drop(window, ROBOTS / "pendulum.urdf", ROBOTS / "scara.urdf")
    assert "scara.urdf did not" in window.statusBar().currentMessage()
    wait_loaded(qtbot, window)
    assert window.workbench.path.endswith("pendulum.urdf")


def focus(qtbot, widget) -> None:
    widget.setFocus(Qt.FocusReason.TabFocusReason)
    wait(qtbot, widget.hasFocus)


def test_keys_of_the_window_act_whatever_has_the_focus(qtbot, opened):
    window = opened()
    press(qtbot, window, window.docks["Compare"].toggleViewAction())
    panel, bench = window.feature(CompareView).panel, window.workbench
    form, spin = panel.form, panel.form.length
    for widget in (form.algorithm_box, form.measure, form.links, spin, panel.start_button, window.joints):
        focus(qtbot, widget)
        qtbot.keyClick(widget, Qt.Key.Key_Space)
        assert bench.robot.playing, widget
        qtbot.keyClick(widget, Qt.Key.Key_Space)
        assert not bench.robot.playing
        before = bench.robot.time
        qtbot.keyClick(widget, Qt.Key.Key_S)
        wait(qtbot, lambda before=before: bench.robot.time > before)
        qtbot.keyClick(widget, Qt.Key.Key_R)
        wait(qtbot, lambda: bench.robot.time == 0)
    assert not window.feature(CompareView).panel.running


def test_return_presses_what_has_the_focus(qtbot, opened):
    window = opened()
    press(qtbot, window, window.docks["Compare"].toggleViewAction())
    box = window.feature(CompareView).panel.form.algorithm_box
    focus(qtbot, box)
    qtbot.keyClick(box, Qt.Key.Key_Return)
    wait(qtbot, box.list.isVisible)
    before = box.list.item(0).checkState()
    qtbot.keyClick(box.list, Qt.Key.Key_Space)
    assert box.list.item(0).checkState() != before
    qtbot.keyClick(box.list, Qt.Key.Key_Return)
    assert not box.list.isVisible()
    focus(qtbot, window.feature(CompareView).panel.start_button)
    pressed = []
    window.feature(CompareView).panel.start_button.clicked.disconnect()
    window.feature(CompareView).panel.start_button.clicked.connect(lambda: pressed.append(1))
    qtbot.keyClick(window.feature(CompareView).panel.start_button, Qt.Key.Key_Return)
    assert pressed == [1]


def test_a_reset_brings_a_followed_robot_back_into_view(qtbot, opened):
    window = opened(ROBOTS / "quadruped.urdf")
    window.run.ground.trigger()
    qtbot.keyClick(window, Qt.Key.Key_Space)
    wait(qtbot, lambda: window.joints.table.q[2] < -3.0)
    window.view_controls.follow.trigger()
    qtbot.keyClick(window, Qt.Key.Key_Space)
    qtbot.keyClick(window, Qt.Key.Key_R)
    wait(qtbot, lambda: abs(window.joints.table.q[2]) < 0.001)
    wait(qtbot, lambda: abs(window.viewport.camera.target[2]) < 0.6)


def test_a_window_lies_on_its_screen_whatever_was_remembered():
    screen = QRect(0, 0, 1366, 728)
    for wanted in (QRect(0, 0, 1440, 900), QRect(2000, 1500, 800, 600), QRect(-500, -20, 800, 600)):
        assert screen.contains(dialogs.place(wanted, screen))
    for size in ((1366, 728), (1000, 650), (800, 500), (3840, 2100)):
        available = QRect(10, 20, *size)
        assert available.contains(dialogs.first_place(available))


def test_the_step_that_was_chosen_is_shown_and_can_be_changed(qtbot, opened):
    window = opened(ROBOTS / "arm7.urdf")
    button, choices = window.feature(Status).step_button, window.feature(SimulationChoices)
    assert button.text() == "1 ms  implicit (auto)"
    assert "gains hold the joints" in button.toolTip()
    window.run.hold.trigger()
    wait(qtbot, lambda: "no joint is expected to move faster" in button.toolTip())
    assert "changes the energy" in button.toolTip()
    next(action for action in choices.time_steps.actions() if action.text() == "0.5 ms").trigger()
    wait(qtbot, lambda: button.text() == "0.5 ms  implicit")
    choices.chosen.trigger()
    wait(qtbot, lambda: button.text() == "1 ms  implicit (auto)")


def test_comparing_widens_no_window_of_a_thousand_pixels(qtbot, opened):
    window = opened()
    window.resize(940, 610)
    wait(qtbot, lambda: window.width() == 940)
    assert window.toolbar.widgetForAction(window.docks["Compare"].toggleViewAction()).isVisible()
    press(qtbot, window, window.docks["Compare"].toggleViewAction())
    wait(qtbot, window.feature(CompareView).panel.isVisible)
    wait(qtbot, lambda: window.docks["Compare"].height() > 100)
    assert window.width() == 940


@pytest.mark.parametrize("dark", [True, False])
def test_the_file_dialog_shows_its_columns_whole_and_icons_that_can_be_seen(qtbot, window, dark):
    window.features[Appearance].actions["dark" if dark else "light"].trigger()
    dialog = dialogs.file_dialog(window, "Open a robot", str(ROBOTS))
    qtbot.addWidget(dialog)
    dialog.show()
    view = next(view for view in dialog.findChildren(QTreeView) if view.isVisible())
    wait(qtbot, lambda: view.model().rowCount(view.rootIndex()) > 5)
    header = view.header()
    assert sum(header.sectionSize(column) for column in range(header.count())) <= view.viewport().width() + 2
    shown = [button for button in dialog.findChildren(QToolButton) if button.isVisible()]
    assert len(shown) == 4
    entries = [view.model().index(row, 0, view.rootIndex()).data(Qt.ItemDataRole.DecorationRole) for row in (0, 5)]
    for icon in (*(button.icon() for button in shown), *entries):
        image = icon.pixmap(16).toImage()
        pixels = [image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())]
        assert any(pixel.alpha() > 100 and (pixel.lightness() > 128) == dark for pixel in pixels)


def test_a_file_of_ones_own_is_not_sought_among_the_robots_that_ship(qtbot, window, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    folders = []
    for folder in (str(ROBOTS), ""):
        dialog = dialogs.file_dialog(window, "Open a robot", folder)
        qtbot.addWidget(dialog)
        dialog.show()
        folders.append(dialog.directory().absolutePath())
        dialog.reject()
    assert folders == [str(ROBOTS), str(tmp_path)]


def test_whatever_asks_for_a_file_does_so_in_a_dialog_with_room(qtbot, opened, monkeypatch):
    window, requested = opened(ROBOTS / "quadruped.urdf"), []
    monkeypatch.setattr(
        QFileDialog, "exec", lambda dialog: requested.append(dialog.width()) or QFileDialog.DialogCode.Rejected
    )
    choose_rows(monkeypatch, RECORDED)
    qtbot.keyClick(window, Qt.Key.Key_Space)
    exports = window.features[RunExports]
    wait(qtbot, exports.trajectory.isEnabled)
    for action in (
        window.files.open_action,
        window.features[Sessions].open_action,
        window.features[Sessions].save_action,
        window.features[ControllerView].action,
        window.features[GroundView].from_file,
        exports.trajectory,
    ):
        action.trigger()
    assert requested == [940] * 6


def test_the_length_of_the_chain_is_typed_or_stepped_by_keys(qtbot, window):
    form = window.feature(CompareView).panel.form
    form.length.setValue(777)
    assert form.chain_length == 777
    assert "777" in form.chain.text()
    assert "777" in form.robot_box.text
    form.links.setValue(form.links.minimum())
    assert form.chain_length == 1
    for _ in range(16):
        qtbot.keyClick(form.links, Qt.Key.Key_Up)
    assert form.chain_length == 2
    qtbot.keyClick(form.length, Qt.Key.Key_Up)
    assert form.chain_length == 3


def test_a_joint_is_driven_by_an_effort_or_held_at_a_target_as_its_row_says(qtbot, opened):
    window = opened(ROBOTS / "arm7.urdf")
    table = window.joints.table
    cell = table.index(1, DRIVE)
    wait(qtbot, lambda: "→" in str(table.data(cell)))
    menu = window.joints.mode_menu(1)
    assert all(each.actionGroup() is menu.actions()[0].actionGroup() for each in menu.actions())  # one or the other
    menu.actions()[1].trigger()
    wait(qtbot, lambda: table.data(cell) == "0.0 N m")
    table.setData(cell, 2.5)
    wait(qtbot, lambda: table.data(cell) == "2.5 N m")
    window.joints.mode_menu(1).actions()[0].trigger()
    wait(qtbot, lambda: "→" in str(table.data(cell)))
    table.setData(cell, 10.0)
    wait(qtbot, lambda: table.data(cell) == "→ 10.0 °")


def test_an_effort_stays_within_the_joints_limit_which_its_cell_tells(qtbot, opened):
    window = opened(ROBOTS / "arm7.urdf")
    table, most = window.joints.table, float(window.workbench.robot.model.effort_limit[1])
    cell = table.index(1, DRIVE)
    window.workbench.joints.drive(1, by_effort=True)
    wait(qtbot, lambda: table.data(cell) == "0.0 N m")
    assert f"at most {most:g} N m" in table.data(cell, Qt.ItemDataRole.ToolTipRole)
    window.joints.edit(cell)
    box = window.joints.findChild(QDoubleSpinBox)
    assert (box.minimum(), box.maximum()) == (-most, most)
    table.setData(cell, 2 * most)
    wait(qtbot, lambda: table.data(cell) == f"{most:.1f} N m")


def test_space_plays_from_the_joint_table_but_not_while_a_cell_is_edited(qtbot, opened):
    window = opened(ROBOTS / "arm7.urdf")
    window.joints.setFocus(Qt.FocusReason.OtherFocusReason)
    window.joints.setCurrentIndex(window.joints.table.index(1, VALUE))
    qtbot.keyClick(window.joints, Qt.Key.Key_Space)
    assert window.workbench.robot.playing
    qtbot.keyClick(window.joints, Qt.Key.Key_Space)
    assert not window.workbench.robot.playing
    window.joints.edit(window.joints.table.index(1, VALUE))
    box = window.joints.findChild(QDoubleSpinBox)
    wait(qtbot, box.hasFocus)
    qtbot.keyClick(box, Qt.Key.Key_Space)
    assert not window.workbench.robot.playing


def test_timing_plots_are_left_out_where_their_axes_could_not_be_read(qtbot):
    panel = TimingPanel()
    qtbot.addWidget(panel)
    with qtbot.waitExposed(panel):
        panel.show()
    shown = []
    for height in range(300, 700, 25):
        panel.resize(430, height)
        QApplication.processEvents()
        heights = [plot.height() for plot in panel.findChildren(StackedPlot) if plot.isVisible()]
        assert min(heights, default=LOWEST) >= LOWEST
        shown.append(len(heights))
    assert shown == sorted(shown)
    assert set(shown) == {0, 1, 2}


def test_what_a_timing_plot_shows_is_read_at_a_glance(qtbot):
    panel = TimingPanel()
    qtbot.addWidget(panel)
    panel.resize(430, 800)
    panel.show()
    for seconds in (1e-6, 2e-6):
        panel.add_step({"kinematics": seconds}, 1.0)
    plot = panel.findChildren(StackedPlot)[0]
    qtbot.waitUntil(lambda: plot.axis.label.toPlainText().strip() == "step, µs")
    strip = plot.grab().toImage()
    tints = {strip.pixelColor(x, y).name() for x in range(16) for y in range(strip.height())}
    assert max(theme.contrast(tint, theme.COLORS["ground"]) for tint in tints) > 10
    label = plot.axis.label.mapRectToItem(plot.axis, plot.axis.label.boundingRect())
    assert label.height() < LOWEST
    assert label.center().y() == pytest.approx(plot.axis.size().height() / 2, abs=2)


def test_compare_opens_whole_in_a_large_window_with_its_start_button_in_sight(qtbot, opened):
    window = opened()
    window.resize(1440, 900)
    press(qtbot, window, window.docks["Compare"].toggleViewAction())
    start = window.feature(CompareView).panel.start_button
    wait(qtbot, lambda: start.isVisible() and not start.visibleRegion().isEmpty())
    assert not window.docks["Compare"].widget().verticalScrollBar().isVisible()


def test_a_robot_too_weak_for_its_weight_is_told_by_its_joints_when_it_plays(qtbot, opened):
    window = opened(ROBOTS / "snake50.urdf")
    assert window.feature(Status).note_label.text() == ""
    qtbot.keyClick(window, Qt.Key.Key_Space)
    heavy = window.workbench.robot.overloaded
    assert heavy[0] == "joint2"
    assert window.statusBar().currentMessage().startswith("joint2, joint4, joint6 and ")
    assert f"{len(heavy)} joints sag" in window.feature(Status).note_label.text()
    qtbot.keyClick(window, Qt.Key.Key_H)
    assert window.feature(Status).note_label.text() == ""


def test_a_xacro_file_that_asks_for_more_opens_once_it_is_trusted(qtbot, opened, tmp_path):
    robot = tmp_path / "robot.xacro"
    robot.write_text(
        '<?xml version="1.0"?><robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        """<link name="a${len('%1000d' % 1)}"><inertial><mass value="1"/>"""
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></robot>'
    )
    window = opened()
    trust = window.feature(DiagnosticsView).panel.trust_button
    window.open(robot)
    wait(qtbot, lambda: not window.workbench.opening.loading)
    assert trust.isVisible()
    qtbot.mouseClick(trust, Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: window.workbench.robot.model is not None and window.workbench.robot.model.source == str(robot))
    assert not trust.isVisible()
    window.run.floating.trigger()  # reads the file again, trusted still
    wait(qtbot, lambda: window.workbench.robot.floats)
    window.open(robot)
    wait(qtbot, lambda: not window.workbench.opening.loading)
    assert trust.isVisible()


def test_the_window_opens_without_what_only_mesh_files_need():
    late = ("trimesh", "scipy")
    program = f"import sys, app.window; print([name for name in {late} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"


def test_the_stop_of_one_robot_says_nothing_of_the_next(qtbot, opened):
    window = opened()
    window.happened.emit(Stopped("it diverged"))
    window.open(ROBOTS / "pendulum.urdf")
    wait_loaded(qtbot, window)
    window.docks["Diagnostics"].show()
    qtbot.keyClick(window, Qt.Key.Key_Space)
    assert window.docks["Diagnostics"].isVisible()


def test_a_free_base_is_not_moved_during_play_and_the_window_says_so(qtbot, opened):
    window = opened(ROBOTS / "quadruped.urdf")
    qtbot.keyClick(window, Qt.Key.Key_Space)
    window.joints.moved.emit(2, 0.5)
    assert "pause to set it" in window.statusBar().currentMessage()


def test_an_integrator_that_softens_hold_is_told_of_while_it_does(opened, monkeypatch):
    """By how much less stiff it is than the implicit one; not where nothing is held by automatic gains."""
    window = opened(ROBOTS / "arm7.urdf")
    bench, note = window.workbench, window.feature(Status).note_label
    assert note.text() == ""
    bench.configuring.set_integrator("semi-implicit")
    window.refresh()
    name, times = bench.joints.softest
    index = [row.name for row in bench.robot.coordinates].index(name)
    assert note.text() == f"Hold is {times:.0f} × softer with semi-implicit"
    assert name in note.toolTip()
    soft, _ = bench.joints.gains(index)
    bench.configuring.set_integrator("implicit")
    assert times == pytest.approx(bench.joints.gains(index)[0] / soft)
    window.refresh()
    assert note.text() == ""
    bench.configuring.set_integrator("rk4")
    window.refresh()
    assert note.text() == f"Hold is {times:.0f} × softer with rk4"
    with monkeypatch.context() as patch:
        patch.setattr(type(bench.joints), "softest", (name, 183.4))
        window.refresh()
    assert note.text() == "Hold is 183 × softer with rk4"
    bench.configuring.set_dt(1e-4)
    window.refresh()
    assert note.text() == ""
    bench.configuring.set_dt(1e-3)
    for k in range(len(bench.robot.coordinates)):
        bench.joints.set_gains(k, (100.0, 10.0))
    window.refresh()
    assert note.text() == ""
    for k in range(len(bench.robot.coordinates)):
        bench.joints.set_gains(k, None)
    window.refresh()
    assert note.text() != ""
    window.run.hold.trigger()
    assert note.text() == ""
