"""Widgets that Tab reaches show the focus, and let Space play."""

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QAbstractSpinBox, QApplication, QComboBox, QLineEdit, QPlainTextEdit, QTreeWidget, QWidget
from windows import case, type_in, wait

import engine
from app.features.attaching import BatchView, DriveView, PlotsView, SceneView
from app.window import Window

pytestmark = pytest.mark.usefixtures("runtime")
CHECKED = Qt.ItemDataRole.CheckStateRole
DOCKS = ("Scene", "Robot", "Plots", "Compare", "Batch", "Forces", "Ghost", "Joints", "Timing", "Diagnostics")


def picture(widget: QWidget) -> np.ndarray:
    image = widget.grab().toImage()
    bits = image.constBits()
    bits.setsize(image.sizeInBytes())
    return np.frombuffer(bits, np.uint8).copy()


def stops(dock: QWidget) -> list[QWidget]:
    """Return the widgets that Tab reaches in a dock; a box's line edit counts as the box."""
    found = [each for each in dock.findChildren(QWidget) if each.isVisible() and each.isEnabled()]
    found = [each for each in found if each.focusPolicy() & Qt.FocusPolicy.TabFocus]
    return [each for each in found if not isinstance(each.parent(), QAbstractSpinBox | QComboBox)]


def test_tab_comes_to_nothing_that_is_out_of_sight(qtbot, opened):
    window = opened(engine.ROBOTS / "arm7.urdf")
    window.resize(1280, 800)
    window.docks["Compare"].show()
    window.docks["Plots"].show()
    wait(qtbot, window.docks["Plots"].isVisible)
    for key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
        window.viewport.setFocus()
        came = []
        while len(came) < 60 and (not came or came[-1] is not window.viewport):
            qtbot.keyClick(QApplication.focusWidget(), key)
            came.append(QApplication.focusWidget())
            place = came[-1].mapTo(window, came[-1].rect().center())
            assert window.rect().contains(place), f"{key} {type(came[-1]).__name__} {came[-1].accessibleName()} {place}"
        assert came[-1] is window.viewport, key
        assert window.joints in came, key


def test_the_focus_is_seen_and_space_plays(qtbot, opened):
    window = opened(engine.ROBOTS / "quadruped.urdf")
    window.resize(1600, 1000)
    for title in DOCKS:
        dock = window.docks[title]
        was_there = not dock.isHidden()
        dock.show()
        dock.raise_()
        wait(qtbot, dock.isVisible)
        with case(title):
            look_at_stops(qtbot, window, stops(dock))
        dock.setVisible(was_there)


def look_at_stops(qtbot, window: Window, there: list[QWidget]) -> None:
    assert there
    for each in there:
        window.viewport.setFocus()
        wait(qtbot, lambda each=each: window.viewport.hasFocus() and each.isEnabled())
        before = picture(each)
        each.setFocus(Qt.FocusReason.TabFocusReason)
        wait(qtbot, lambda: QApplication.focusWidget() is not window.viewport)
        assert not np.array_equal(picture(each), before), f"{type(each).__name__} {each.accessibleName()}"
        if not isinstance(each, QLineEdit | QPlainTextEdit):
            playing = window.workbench.robot.playing
            qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Space)
            assert window.workbench.robot.playing is not playing, f"{type(each).__name__} {each.accessibleName()}"
            window.run.play.trigger()


def test_return_makes_no_check_box_of_a_heading(qtbot, arm):
    arm.docks.show_in_front("Robot")
    headings = 0
    for tree in arm.findChildren(QTreeWidget):
        items = [tree.topLevelItem(k) for k in range(tree.topLevelItemCount() if tree.isVisible() else 0)]
        for item in [each for each in items if each.data(0, CHECKED) is None]:
            tree.setFocus()
            tree.setCurrentItem(item)
            qtbot.keyClick(tree, Qt.Key.Key_Return)
            assert item.data(0, CHECKED) is None, item.text(0)
            headings += 1
    assert headings


def test_shortcut_keys_are_part_of_a_unit_once_a_number_is_typed(qtbot, arm):
    bench, drives = arm.workbench, arm.features[DriveView]
    drives.choose(0)
    box = drives.form.value
    box.setFocus()
    wait(qtbot, box.hasFocus)
    qtbot.keyClick(box, Qt.Key.Key_S)
    wait(qtbot, lambda: bench.robot.time > 0)  # a step: nothing was typed yet
    stepped = bench.robot.time
    box.selectAll()
    qtbot.keyClicks(box, "1 rad")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    wait(qtbot, lambda: bench.robot.drive_of(0).value == pytest.approx(1.0, abs=1e-3))
    assert (bench.robot.time, bench.robot.playing) == (stepped, False)
    qtbot.keyClick(box, Qt.Key.Key_Home)  # once Return has entered it, all but what begins another
    wait(qtbot, lambda: bench.replay.active)
    box.setFocus()
    qtbot.keyClick(box, Qt.Key.Key_Return)
    qtbot.keyClick(box, Qt.Key.Key_5)
    assert box.text().startswith("5")
    shown = bench.replay.frame.index
    qtbot.keyClick(box, Qt.Key.Key_End)
    assert bench.replay.active
    assert bench.replay.frame.index == shown
    qtbot.keyClick(box, Qt.Key.Key_Escape)
    qtbot.keyClick(box, Qt.Key.Key_Return)
    qtbot.keyClick(box, Qt.Key.Key_End)
    wait(qtbot, lambda: not bench.replay.active)
    qtbot.keyClick(box, Qt.Key.Key_Space)
    wait(qtbot, lambda: bench.robot.playing)


def test_after_return_in_a_number_field_every_letter_is_a_shortcut(qtbot, arm):
    """P began "pi", with which the number was gone."""
    arm.docks.show_in_front("Batch")
    box = arm.features[BatchView].panel.pose
    qtbot.mouseDClick(box.lineEdit(), Qt.MouseButton.LeftButton)
    qtbot.keyClicks(box, "20")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    text = box.text()
    qtbot.keyClick(box, Qt.Key.Key_P)
    wait(qtbot, arm.docks["Plots"].isVisible)
    assert box.text() == text
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, "pi/9 rad")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert box.value() == pytest.approx(20.0)


@pytest.mark.parametrize("by_mouse", [True, False])
def test_no_letter_of_words_typed_into_a_number_field_is_a_shortcut(qtbot, arm, by_mouse):
    """The blank of "half a metre" played, and the rest went to the next field, of which a digit would have changed."""
    bench, box = arm.workbench, arm.features[SceneView].panel.surface.friction
    arm.docks.show_in_front("Scene")
    if by_mouse:
        qtbot.mouseDClick(box.lineEdit(), Qt.MouseButton.LeftButton)
        qtbot.mouseRelease(box.lineEdit(), Qt.MouseButton.LeftButton)  # which a double click leaves out
    else:
        box.setFocus()
    wait(qtbot, box.hasFocus)
    before = box.value()
    for letter in "half a metre" + "six right" * by_mouse:
        qtbot.keyClick(box, letter)
        assert box.hasFocus(), letter
        assert (box.value(), bench.robot.playing, bench.robot.time) == (before, False, 0), letter
    qtbot.keyClick(box, Qt.Key.Key_Return)
    qtbot.keyClick(box, Qt.Key.Key_Space)
    wait(qtbot, lambda: bench.robot.playing)


def test_undo_after_a_number_was_entered_undoes_it_and_while_one_is_typed_the_typing(qtbot, arm):
    bench, drives, control = arm.workbench, arm.features[DriveView], Qt.KeyboardModifier.ControlModifier
    drives.choose(0)
    box, before = drives.form.value, bench.robot.drive_of(0)
    type_in(qtbot, box, "30")
    wait(qtbot, lambda: bench.robot.drive_of(0) != before)
    entered = bench.robot.drive_of(0)
    assert box.hasFocus()
    qtbot.keyClicks(box, "5")
    qtbot.keyClick(box, Qt.Key.Key_Z, control)
    assert bench.robot.drive_of(0) == entered
    qtbot.keyClick(box, Qt.Key.Key_Return)
    qtbot.keyClick(box, Qt.Key.Key_Z, control)
    wait(qtbot, lambda: bench.robot.drive_of(0) == before)
    qtbot.keyClick(box, Qt.Key.Key_Z, control | Qt.KeyboardModifier.ShiftModifier)
    wait(qtbot, lambda: bench.robot.drive_of(0) == entered)


def test_the_key_of_the_plots_leads_to_their_search_field(qtbot, arm):
    plots = arm.features[PlotsView]
    qtbot.keyClick(arm, Qt.Key.Key_P)
    wait(qtbot, plots.panel.list.search.hasFocus)
    qtbot.keyClicks(plots.panel.list.search, "contact")
    assert plots.panel.list.search.text() == "contact"
    plots.action.trigger()
    wait(qtbot, arm.viewport.hasFocus)


def test_escape_ends_full_screen_and_else_the_selection(qtbot, arm):
    arm.selection.choose(4)
    qtbot.keyClick(arm, Qt.Key.Key_F11)
    wait(qtbot, arm.isFullScreen)
    qtbot.keyClick(arm.viewport, Qt.Key.Key_Escape)
    wait(qtbot, lambda: not arm.isFullScreen())
    assert arm.selection.link == 4
    arm.joints.setFocus()
    qtbot.keyClick(arm.joints, Qt.Key.Key_Escape)
    assert arm.selection.link == -1
