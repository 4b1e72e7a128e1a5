"""A small window: secondary panels give way, and the essential ones stay complete."""

import pytest
from PyQt6.QtCore import QPoint, QSize, Qt
from PyQt6.QtGui import QFontMetrics
from PyQt6.QtWidgets import QInputDialog, QLabel, QLineEdit, QMainWindow, QScrollArea, QStyleOptionViewItem
from windows import press, slider_position, wait

import engine
from app.acting.coordinates import coordinates
from app.acting.drives import Drive
from app.desktop import type_scale
from app.desktop.docks import NARROW_WIDTH, SIDE_WIDTH
from app.desktop.message_bar import EDGE, MessageBar, two_lines
from app.desktop.numbers import si_text
from app.features.attaching import (
    BatchView,
    CompareView,
    ContactView,
    ControllerView,
    Dragging,
    DriveView,
    SceneView,
    Status,
    TimeView,
    TimingView,
    WrenchView,
)
from app.panels.diagnostics import ELEMENT_WIDTH, DiagnosticsPanel
from app.panels.joint_sliders import row_height
from app.panels.joint_table import DRIVE, common_ending
from app.panels.joints import (
    NAME,
    NO_JOINTS,
    NO_ROBOT,
    SLIDER,
    SLIDER_FAIR,
    SLIDER_LEAST,
    SLIDER_WIDE,
    VALUE,
    JointPanel,
)

SMALL = QSize(1000, 650)


def test_long_names_leave_their_sliders_enough_room(qtbot, opened):
    window = opened(engine.find_robot("humanoid"))
    window.resize(SMALL)
    table = window.joints
    wait(qtbot, lambda: table.verticalScrollBar().isVisible() and table.width() < 450)
    assert table.columnWidth(SLIDER) >= SLIDER_LEAST
    assert table.columnWidth(NAME) > table.columnWidth(VALUE)
    name = max((row.name for row in table.table.rows), key=table.fontMetrics().horizontalAdvance)
    row = [each.name for each in table.table.rows].index(name)
    assert name in table.table.index(row, NAME).data(Qt.ItemDataRole.ToolTipRole)


def test_long_names_lose_their_common_ending_before_what_tells_them_apart(qtbot):
    model, table = engine.load(engine.find_robot("humanoid")), JointPanel()
    qtbot.addWidget(table)
    table.resize(700, 500)
    table.show()
    table.set_rows(coordinates(model), model.neutral())

    def names() -> list[str]:
        return [table.table.index(k, NAME).data() for k in range(table.table.rowCount())]

    assert names() == [row.label for row in table.table.rows]
    table.resize(280, 500)
    wait(qtbot, lambda: "left_hip_pitch…" in names())
    assert "…base.x" in names()
    room, advance = table.columnWidth(NAME), table.fontMetrics().horizontalAdvance
    assert all(advance(name) + 10 < room for name in ("left_hip_pitch…", *names()) if not name.endswith("…"))


@pytest.mark.parametrize("size", [SMALL, QSize(1280, 800)])
def test_sliders_beside_a_free_base_are_wide_enough_to_be_used(qtbot, opened, size):
    """Its numbers, in mm, and its names are the widest of their columns."""
    window = opened(engine.find_robot("quadruped"))
    window.resize(size)
    table = window.joints
    wait(qtbot, lambda: window.width() == size.width() and table.columnWidth(SLIDER) >= SLIDER_WIDE)
    pitch = next(k for k, row in enumerate(table.table.rows) if row.label == "floating_base.pitch")
    assert table.table.index(pitch, NAME).data() == "floating_base.pitch"
    assert "floating_base.pitch" in table.table.index(pitch, NAME).data(Qt.ItemDataRole.ToolTipRole)


def test_columns_of_numbers_are_as_wide_as_their_widest(arm):
    table = arm.joints
    narrow, advance = table.columnWidth(DRIVE), table.fontMetrics().horizontalAdvance
    assert table.columnWidth(VALUE) < advance("-0000.0 mm") + 14
    assert narrow < advance("→ ~ -000.0 °") + 14
    arm.joints.show_drives({0: Drive("target", 0.0, "sine", 0.1, 1.0)})
    assert table.columnWidth(DRIVE) > narrow
    for k, row in enumerate(table.table.rows):
        arm.workbench.joints.set_coordinate(k, row.lower)
        table.table.q[row.q] = row.lower
        for column in (VALUE, DRIVE):
            cell, option = table.table.index(k, column), QStyleOptionViewItem()
            table.initViewItemOption(option)
            assert table.itemDelegate().sizeHint(option, cell).width() <= table.columnWidth(column)


@pytest.mark.parametrize(
    ("names", "ending"),
    [
        (["left_hip_joint", "left_knee_joint"], "_joint"),
        (["a_left_joint", "b_left_joint"], "_left_joint"),
        (["joint1", "joint2"], ""),
        (["hip_joint", "joint"], ""),
        (["hip_joint"], ""),
        ([], ""),
    ],
)
def test_the_common_ending_of_names_leaves_something_of_each(names, ending):
    assert common_ending(names) == ending


@pytest.mark.parametrize("opened_first", [False, True])
@pytest.mark.parametrize(("title", "share"), [("Scene", 0.42), ("Robot", 0.45)])
def test_a_dock_on_the_left_leaves_the_picture_almost_half_of_the_window(qtbot, arm, title, share, opened_first):
    """Also where the docks had more room before the window became small."""
    arm.resize(1440, 900)
    arm.docks[title].toggleViewAction().trigger()
    wait(qtbot, lambda: arm.docks["Joints"].width() > 400)
    wide = arm.docks[title].width()
    if not opened_first:
        arm.docks[title].toggleViewAction().trigger()
    arm.resize(SMALL)
    if not opened_first:
        arm.docks[title].toggleViewAction().trigger()
    wait(qtbot, lambda: arm.viewport.width() >= share * arm.width() - 5)
    assert arm.docks["Joints"].width() >= NARROW_WIDTH
    assert arm.joints.columnWidth(SLIDER) >= SLIDER_FAIR
    assert arm.docks[title].width() <= wide
    arm.docks[title].toggleViewAction().trigger()
    wait(qtbot, lambda: arm.docks["Joints"].width() > 400)  # as before, since there is room again
    arm.docks["Timing"].raise_()
    arm.docks[title].toggleViewAction().trigger()
    table = arm.feature(TimingView).panel.view
    wait(qtbot, lambda: arm.docks["Timing"].width() < 350)
    assert not table.isColumnHidden(1)
    assert sum(map(table.columnWidth, range(1, 4))) + 110 <= table.viewport().width()
    arm.resizeDocks([arm.docks["Timing"]], [365], Qt.Orientation.Horizontal)
    wait(qtbot, lambda: arm.docks["Timing"].width() >= 360)
    assert sum(map(table.columnWidth, range(1, 4))) + 110 <= table.viewport().width()
    arm.docks["Joints"].raise_()
    wait(qtbot, lambda: arm.docks["Joints"].toggleViewAction().isChecked())
    arm.resizeDocks([arm.docks["Joints"]], [420], Qt.Orientation.Horizontal)  # as by dragging the edge
    arm.docks["Timing"].raise_()
    arm.docks["Joints"].raise_()
    qtbot.wait(50)
    assert arm.docks["Joints"].width() > 400


def test_what_has_no_room_beside_the_timeline_is_in_a_menu(qtbot, opened):
    view = opened().features[TimeView]
    bar = view.bar
    bar.setFixedWidth(1200)
    wait(qtbot, bar._more.isHidden)
    bar.setFixedWidth(200)
    wait(qtbot, lambda: bar._more.isVisibleTo(bar))
    bar.left_out.aboutToShow.emit()
    left_out = bar.left_out.actions()
    assert left_out == [view.first, view.back, view.forward, view.last, view.branch,
                        view.keyframes.menuAction()]  # fmt: skip
    assert all(action.text() for action in left_out)
    assert [button.defaultAction() for button in bar._moves if button.isVisibleTo(bar)] == [view.play]


def test_meshes_that_are_still_to_come_are_told_in_the_status_bar(arm, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(type(arm.viewport), "reading", (3, 12))
        arm.viewport.read_on.emit()
    assert arm.feature(Status).loading_label.text() == "Loading meshes: 3 of 12"
    arm.viewport.read_on.emit()
    assert arm.feature(Status).loading_label.text() == ""


def test_a_joint_at_its_limit_says_why_it_is_amber(qtbot, arm):
    tip = arm.joints.table.index(1, NAME)
    wait(qtbot, lambda: arm.workbench.robot.newest is not None)
    assert "at a limit" not in tip.data(Qt.ItemDataRole.ToolTipRole)
    arm.workbench.joints.set_coordinate(1, arm.workbench.robot.coordinates[1].upper)
    wait(qtbot, lambda: tip.data(Qt.ItemDataRole.ToolTipRole).endswith("at a limit"))


def test_a_table_without_joints_says_why_it_is_empty(qtbot, make_window):
    panel = make_window().joints
    assert panel.nothing == NO_ROBOT
    panel.set_rows((), panel.table.q)
    assert panel.nothing == NO_JOINTS
    panel = JointPanel()
    qtbot.addWidget(panel)
    panel.resize(SIDE_WIDTH, 200)
    words = panel.grab().toImage()
    panel.nothing = ""
    assert panel.grab().toImage() != words


def test_the_batch_panel_is_no_wider_than_its_dock(make_window):
    window = make_window()
    bar = window.docks["Batch"].findChild(QScrollArea).verticalScrollBar().sizeHint().width()
    assert window.feature(BatchView).panel.minimumSizeHint().width() + bar <= SIDE_WIDTH


def test_a_drives_form_stands_at_its_row_and_is_seen_whole(qtbot, opened):
    window = opened(engine.find_robot("humanoid"))
    window.resize(SMALL)
    table, form = window.joints, window.features[DriveView].form
    wait(qtbot, lambda: table.verticalScrollBar().isVisible())
    last = table.table.rowCount() - 1
    for row in (6, last, 8):
        table.scrollTo(table.table.index(row, NAME))
        qtbot.mouseClick(
            table.viewport(), Qt.MouseButton.LeftButton, pos=table.visualRect(table.table.index(row, NAME)).center()
        )
        wait(qtbot, form.isVisible)
        assert form.y() == table.rowViewportPosition(row) + row_height()
        assert table.viewport().rect().contains(form.geometry())
        assert form.height() == table.rowHeight(row) - row_height()
        handle = slider_position(table, row, table.table.rows[row].value(table.table.q))
        assert table.rowViewportPosition(row) < handle.y() < form.y()
    scrolled = table.verticalScrollBar()
    before, where = form.y(), scrolled.value()
    scrolled.setValue(where - 20)
    assert form.y() == before + 20
    qtbot.mouseClick(form.away, Qt.MouseButton.LeftButton)
    assert not form.isVisible()
    assert {table.rowHeight(row) for row in range(last + 1)} == {row_height()}


def test_the_joint_that_keys_have_come_to_is_seen(qtbot, opened):
    table = opened(engine.find_robot("arm7")).joints
    wait(qtbot, lambda: table.isVisible())
    table.setFocus()
    pictures = []
    for row in (1, 2):
        table.setCurrentIndex(table.table.index(row, NAME))
        pictures.append(table.grab(table.visualRect(table.table.index(2, NAME))).toImage())
    assert pictures[0] != pictures[1]


def test_no_panel_scrolls_sideways_for_the_sake_of_its_own_bar(qtbot, arm):
    arm.resize(SMALL)
    view = arm.features[WrenchView]
    press(qtbot, arm, view.action)
    scroller = arm.docks["Forces"].findChild(QScrollArea)
    arm.docks["Forces"].setFloating(True)
    arm.docks["Forces"].resize(SIDE_WIDTH, 140)
    wait(qtbot, lambda: scroller.verticalScrollBar().isVisible())
    wait(qtbot, lambda: view.panel.width() == scroller.viewport().width())
    assert not scroller.horizontalScrollBar().isVisible()


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.000396, 3, "396 µm"),
        (0.0, 3, "0 m"),
        (6.2e-4, 1, "600 µm"),
        (0.9996, 3, "1 m"),
        (-1234.0, 3, "-1.23 km"),
        (2e-16, 3, "2e-16 m"),
        (float("nan"), 3, "nan m"),
    ],
)
def test_numbers_are_told_with_the_prefix_of_their_unit(value, digits, text):
    assert si_text(value, "m", digits) == text


def test_a_comparison_is_not_cut_off_where_the_window_is_narrow(qtbot, arm):
    arm.resize(SMALL)
    compare = arm.docks["Compare"]
    press(qtbot, arm, compare.toggleViewAction())
    scroller = compare.findChild(QScrollArea)
    wait(qtbot, lambda: compare.width() > arm.width() - 10)
    assert not scroller.horizontalScrollBar().isVisible()
    start = arm.feature(CompareView).panel.start_button
    assert scroller.viewport().rect().contains(start.rect().translated(start.mapTo(scroller.viewport(), QPoint())))
    press(qtbot, arm, compare.toggleViewAction())
    arm.resize(1920, 1080)
    press(qtbot, arm, compare.toggleViewAction())
    wait(qtbot, lambda: compare.width() < arm.width() - SIDE_WIDTH)


def test_a_message_has_the_room_that_others_can_spare(qtbot, arm):
    arm.resize(SMALL)
    bar, status = arm.statusBar(), arm.feature(Status)
    wait(qtbot, lambda: bar.width() == SMALL.width())
    beside = status.size_label, status.step_button

    def shown(text: str) -> list[bool]:
        bar.showMessage(text)
        assert bar.toolTip() == text
        return [each.isVisible() for each in beside]

    def text(wider_than: int) -> str:
        advance = bar.fontMetrics().horizontalAdvance
        return "saved " + "more " * ((wider_than - advance("saved ")) // advance("more ") + 1)

    bar.clearMessage()
    assert shown("saved") == [True, True]
    longer = text(status.size_label.parentWidget().x())
    assert shown(longer) == [False, True]
    wait(qtbot, lambda: status.step_button.x() > bar.fontMetrics().horizontalAdvance(longer) + EDGE)
    assert shown(text(bar.width())) == [False, True]
    assert status.device_button.isVisible()
    bar.clearMessage()
    assert [each.isVisible() for each in beside] == [True, True]
    assert bar.toolTip() == ""


def test_element_column_fits_its_longest_entry_up_to_a_limit(qtbot):
    panel = DiagnosticsPanel()
    qtbot.addWidget(panel)
    panel.show_file(
        "", "The controller failed", [engine.Diagnostic("error", None, "controller", "it fails", "mend it")]
    )
    assert panel.list.columnWidth(1) < 120
    panel.add([engine.Diagnostic("error", 2, "joint 'a_joint_with_a_very_long_name_indeed'", "it fails", "mend it")])
    assert panel.list.columnWidth(1) == ELEMENT_WIDTH


def test_a_dialog_for_a_name_has_room_for_its_title(qtbot):
    dialog = QInputDialog()
    qtbot.addWidget(dialog)
    dialog.setLabelText("Name:")
    dialog.show()
    assert dialog.findChild(QLineEdit).width() >= 260


def test_words_of_the_status_bar_widen_no_window(qtbot, arm):
    arm.resize(SMALL)
    bar, status = arm.statusBar(), arm.feature(Status)
    wait(qtbot, lambda: bar.width() == SMALL.width())
    for label in (status.loading_label, status.note_label):
        label.setText("of another forty letters or somewhat more")
    wait(qtbot, lambda: not status.size_label.isVisible())
    assert arm.width() == SMALL.width()
    arm.refresh()
    wait(qtbot, status.size_label.isVisible)


def test_words_that_come_and_go_leave_the_lists_of_the_status_bar_in_their_places(qtbot, arm):
    status = arm.feature(Status)
    lists = status.step_button, status.algorithm_button, status.device_button
    notes = [each for each in arm.statusBar().findChildren(QLabel) if each.parent() is not status.name_label.parent()]
    assert {arm.feature(ContactView).label, arm.feature(ControllerView).label, status.note_label} < set(notes)
    wait(qtbot, status.device_button.isVisible)
    before = [each.x() for each in lists]
    for note in notes:
        note.setText("takes 1.76 ms for 1 ms of motion")
        note.show()
        wait(qtbot, lambda note=note: note.width() > 100)
        assert [each.x() for each in lists] == before
        note.clear()


def test_a_message_without_room_takes_two_lines_and_is_cut_with_an_ellipsis(qtbot):
    bar = MessageBar(None)
    qtbot.addWidget(bar)
    metrics = bar.fontMetrics()
    words = "a message that takes two lines"
    width = metrics.horizontalAdvance(words)
    assert two_lines(words, width, metrics) == [words]
    assert two_lines(words, width - 1, metrics) == ["a message that takes two", "lines"]
    assert two_lines(f"{words} {words}", width, metrics) == [words, words]
    first, second = two_lines(f"{words} {words} {words}", width, metrics)
    assert first == words
    assert second.endswith("…")
    assert metrics.horizontalAdvance(second) <= width
    assert two_lines(words.replace(" ", "_"), width // 2, metrics)[0].endswith("…")
    bar.setSizeGripEnabled(False)
    bar.resize(width + 2 * EDGE, 33)
    seen = []
    for text in (words, f"{words} {words}"):
        bar.showMessage(text)
        seen.append(bar.grab().toImage())
    upper = seen[1].rect().adjusted(0, 0, 0, -22)  # above a single line
    assert seen[0] != seen[1]
    assert seen[0].copy(upper) != seen[1].copy(upper)


def test_an_instruction_is_read_whole_in_a_small_window(qtbot, arm):
    arm.resize(SMALL)
    bar = arm.bar
    wait(qtbot, lambda: bar.width() == SMALL.width())
    status = arm.feature(Status)
    status.note_label.setText(2 * "a standing warning, and more of it")
    wait(qtbot, lambda: status.note_label.width() > 100)
    arm.feature(Dragging).action.trigger()
    assert status.note_label.isHidden()
    bar.clearMessage()
    assert not status.note_label.isHidden()
    arm.feature(Dragging).action.trigger()
    room = arm.feature(Status).step_button.x() - 60 - 2 * EDGE  # beside a number of diagnostics
    lines = two_lines(bar.currentMessage(), room, QFontMetrics(type_scale.font("small")))
    assert not any("…" in line for line in lines)
    assert bar.toolTip() == bar.currentMessage()


def test_a_message_is_seen_in_a_window_that_opens_maximised(qtbot):
    """Its size grip has no place there, and stands at the left edge."""
    window = QMainWindow()
    qtbot.addWidget(window)
    bar = MessageBar(window)
    window.setStatusBar(bar)
    window.showMaximized()
    seen = []
    for text in ("saved", "loaded"):
        bar.showMessage(text)
        seen.append(bar.grab().toImage())
    assert seen[0] != seen[1]


def test_the_scenes_numbers_are_whole_in_a_small_window(qtbot, opened):
    """Half of 1920 × 1200, as at scale 2."""
    window = opened(engine.find_robot("scara"))
    window.resize(QSize(960, 600))
    scene = window.feature(SceneView)
    window.docks.show_in_front("Scene")
    scene.add("box", False)
    scene.choose(0)
    panel = scene.panel
    wait(qtbot, lambda: panel.form.isVisible() and panel.place[0].width() < 100)
    for box, value in zip((*panel.place, *panel.turn), (-0.1234, 9.8765, 0.5338) * 2, strict=True):
        box.setValue(value)
        assert box.text() == f"{round(value, box.decimals()):g}"


def test_facts_and_names_are_told_apart_beside_an_open_dock(qtbot, opened):
    window = opened(engine.find_robot("scara"))
    window.resize(QSize(960, 600))
    window.docks.show_in_front("Scene")
    column, advance = window.joints.parent(), window.fontMetrics().horizontalAdvance
    wait(qtbot, lambda: column.facts.isVisible() and column.width() < 300 and bool(column.facts.text()))
    values = [line.split("\t")[1] for line in column.facts.text().splitlines() if "\t" in line]
    assert "5 links, 4 joints, 4 DoF" in values
    wait(qtbot, lambda: max(map(advance, values)) + 8 < column.facts.columnWidth(1))
    window.open(engine.find_robot("humanoid"))
    table = window.joints
    wait(qtbot, lambda: len(table.table.rows) > 20 and table.verticalScrollBar().isVisible())
    names = [table.table.index(k, NAME).data() for k in range(len(table.table.rows))]
    width, spared = table.columnWidth(NAME), table.columnWidth(SLIDER) - SLIDER_LEAST
    assert spared >= 0
    assert all(not width < advance(name) + 12 <= width + spared for name in names)
