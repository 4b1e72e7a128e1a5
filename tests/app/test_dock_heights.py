"""Docks at the bottom: heights of their own, no more than a part of the window, and no window wider than its screen."""

from itertools import combinations
from types import SimpleNamespace

import pytest
from PyQt6.QtCore import QPoint, QRect, QSize, Qt
from PyQt6.QtWidgets import QAbstractButton, QDockWidget, QTabBar, QToolButton
from windows import play_for, wait

import engine
from app.desktop import theme
from app.desktop.docks import HIGHEST, LEFT, RIGHT
from app.features.attaching import SceneView, SecondRobotView, ShortcutsSheet, StudyView
from app.panels.diagnostics import WHOLE
from app.panels.second_robot import EMPTY
from app.window import Window

AT_SCALE_2 = QSize(960, 600)
"""The size of a screen with 1920 × 1200 pixels."""


def show(qtbot, window: Window, title: str, on: bool = True) -> None:
    if not on:
        window.docks[title].hide()
    elif not (action := window.docks[title].toggleViewAction()).isChecked():
        action.trigger()
    wait(qtbot, lambda: not window.docks._fitting.isActive())


@pytest.mark.parametrize(
    "titles", [("Plots",), ("Robot", "Plots"), ("Plots", "Compare", "Diagnostics"), ("Ghost", "Plots")]
)
def test_no_dock_lies_over_another_in_a_small_window(qtbot, opened, titles):
    window = opened(engine.find_robot("arm7"))
    window.resize(AT_SCALE_2)
    for title in titles:
        show(qtbot, window, title)
    qtbot.wait(50)
    assert window.size() == AT_SCALE_2
    seen = [
        dock.geometry()
        for dock in window.findChildren(QDockWidget)
        if dock.isVisible() and dock.isAncestorOf(window.childAt(dock.geometry().center()))
    ]
    assert len(seen) >= 2
    assert not any(one.intersects(other) for one, other in combinations([*seen, window.centralWidget().geometry()], 2))
    assert all(window.rect().contains(each) for each in seen)


@pytest.mark.parametrize("title", ["Ghost", "Study", "Diagnostics", "Lesson", "Plots", "Timing", "Robot"])
def test_no_dock_enlarges_a_small_window_and_all_of_it_can_be_reached(qtbot, opened, title):
    window, size = opened(engine.find_robot("arm7")), QSize(900, 500)
    window.resize(size)
    show(qtbot, window, title)
    show(qtbot, window, "Study")
    window.docks[title].raise_()
    area = window.docks[title].widget()
    panel = area.widget()
    wait(qtbot, lambda: panel.isVisible() and panel.height() >= panel.minimumSizeHint().height())
    assert window.size() == size
    assert window.rect().contains(window.docks[title].geometry())
    bars = area.horizontalScrollBar(), area.verticalScrollBar()

    def reach_all() -> bool:
        hidden = panel.width() - area.viewport().width(), panel.height() - area.viewport().height()
        return [bar.maximum() for bar in bars] == [max(0, each) for each in hidden]

    wait(qtbot, reach_all)


def test_the_buttons_of_a_study_are_scrolled_to_in_a_low_dock(qtbot, opened):
    window = opened(engine.find_robot("arm7"))
    window.resize(AT_SCALE_2)
    show(qtbot, window, "Study")
    panel = window.feature(StudyView).panel
    panel.show_none("Reading …")  # without a study only the hint is there
    panel.export.setEnabled(True)
    bar = window.docks["Study"].widget().verticalScrollBar()
    wait(qtbot, lambda: panel.isVisible() and panel.height() > 150 and bar.maximum() == 0)
    wait(qtbot, lambda: panel.export.isVisible() and panel.export.visibleRegion().isEmpty())
    panel.chart.setFocus()
    qtbot.keyClick(panel.chart, Qt.Key.Key_Backtab)
    assert panel.export.hasFocus()
    wait(qtbot, lambda: panel.export.visibleRegion().boundingRect().height() == panel.export.height())
    assert panel.chart.visibleRegion().boundingRect().height() == panel.chart.height()


def test_all_docks_at_once_can_be_used_in_a_window_of_1280_by_800(qtbot, opened):
    window, size = opened(engine.find_robot("arm7")), QSize(1280, 800)
    window.resize(size)
    for title in [dock.windowTitle() for dock in window.findChildren(QDockWidget)]:
        show(qtbot, window, title)
    scene = window.features[SceneView]
    scene.add("box", False)  # its numbers are the tallest form
    window.docks["Scene"].raise_()
    wait(qtbot, lambda: scene.panel.form.isVisible() and scene.panel.row == 0)
    assert window.size() == size
    area = scene.panel.parent().parent()
    wait(qtbot, lambda: scene.panel.height() >= scene.panel.minimumSizeHint().height())
    assert area.verticalScrollBar().maximum() > 0
    assert scene.panel.width() <= area.viewport().width()
    scene.panel.friction.setFocus()
    qtbot.keyClick(scene.panel.friction, Qt.Key.Key_Backtab)
    wait(qtbot, lambda: area.verticalScrollBar().value() > 0)
    bars = window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    (right,) = (bar for bar in bars if "Joints" in [bar.tabText(k) for k in range(bar.count())])
    wait(qtbot, lambda: not right.tabsClosable())
    titles = [right.tabText(k) for k in range(right.count())]
    assert len(titles) == 7
    for k, title in enumerate(titles):
        assert right.tabRect(k).width() > right.fontMetrics().horizontalAdvance(title)
        window.docks[title].raise_()
        wait(qtbot, lambda k=k: right.currentIndex() == k and right.rect().contains(right.tabRect(k).center()))
        wait(qtbot, lambda title=title: window.rect().contains(window.docks[title].geometry()))
    assert any(each.isVisible() for each in right.findChildren(QToolButton))  # to the tabs beyond the bar
    window.docks["Second robot"].raise_()
    wait(qtbot, window.features[SecondRobotView].panel.note.isVisible)
    assert window.features[SecondRobotView].panel.note.text() == EMPTY
    for title in ("Batch", "Forces", "Second robot", "Lesson"):
        show(qtbot, window, title, on=False)
    wait(qtbot, right.tabsClosable)


def test_a_new_window_lies_on_a_small_screen(make_window, monkeypatch):
    screen = QRect(QPoint(), AT_SCALE_2)
    monkeypatch.setattr(Window, "screen", lambda _: SimpleNamespace(availableGeometry=lambda: screen))
    assert screen.contains(make_window().geometry())


def test_each_dock_at_the_bottom_has_a_height_of_its_own(qtbot, arm):
    arm.resize(1400, 900)
    docks, most = arm.docks, HIGHEST * 900 + 1
    show(qtbot, arm, "Plots")
    wait(qtbot, lambda: 380 < docks["Plots"].height() <= most)
    show(qtbot, arm, "Diagnostics")
    wait(qtbot, lambda: abs(docks["Diagnostics"].height() - 150) <= 8)
    docks["Plots"].raise_()
    wait(qtbot, lambda: 380 - 40 < docks["Plots"].height() <= most)  # less the tabs


def test_a_dock_that_a_window_before_had_not_shown_opens_at_its_own_height(qtbot, make_window):
    first = make_window()
    first.resize(1400, 900)
    first.open(engine.find_robot("arm7"))
    wait(qtbot, lambda: first.workbench.robot.newest is not None)
    show(qtbot, first, "Diagnostics")
    first.close()
    second = make_window()
    second.open(engine.find_robot("arm7"))
    wait(qtbot, lambda: second.workbench.robot.newest is not None)
    show(qtbot, second, "Plots")
    wait(qtbot, lambda: second.docks["Plots"].height() > 380)


def drag_edge(qtbot, window: Window, title: str, down: int) -> None:
    """Drag the upper edge of a dock."""
    place = window.docks[title].geometry()
    edge = QPoint(place.center().x(), place.top() - 2)
    qtbot.mousePress(window, Qt.MouseButton.LeftButton, pos=edge)
    qtbot.mouseMove(window, edge + QPoint(0, down // 2))
    qtbot.mouseMove(window, edge + QPoint(0, down))
    wait(qtbot, lambda: window.docks[title].height() < place.height() - 0.8 * down)
    qtbot.mouseRelease(window, Qt.MouseButton.LeftButton, pos=edge + QPoint(0, down))


def low_window(qtbot, make_window, *titles: str) -> Window:
    window = make_window()
    window.resize(1000, 650)
    window.open(engine.find_robot("arm7"))
    wait(qtbot, lambda: window.workbench.robot.newest is not None)
    for title in titles:
        show(qtbot, window, title)
    assert all(window.docks[title].height() < 300 for title in titles)
    return window


@pytest.mark.parametrize("again", [False, True])
def test_a_dock_that_was_low_in_a_small_window_is_not_in_a_large_one(qtbot, make_window, again):
    """Study and Compare, tabbed; the large window is the next one, or the same."""
    window = low_window(qtbot, make_window, "Compare", "Study")
    if not again:
        window.close()
        window = make_window()
        window.open(engine.find_robot("arm7"))
        wait(qtbot, lambda: window.workbench.robot.newest is not None)
    window.resize(1840, 1140)
    wait(qtbot, lambda: 400 <= window.docks["Study"].height() <= HIGHEST * 1140)
    area = window.docks["Study"].widget()
    wait(qtbot, lambda: area.verticalScrollBar().maximum() == 0)
    window.docks["Compare"].raise_()
    wait(qtbot, lambda: HIGHEST * 1140 - 60 < window.docks["Compare"].height() <= HIGHEST * 1140)


def test_a_height_that_was_dragged_is_kept_in_the_next_window_and_when_it_grows(qtbot, make_window):
    first = low_window(qtbot, make_window, "Study")
    first.resize(1400, 900)
    wait(qtbot, lambda: first.docks["Study"].height() > 380)
    drag_edge(qtbot, first, "Study", 150)
    dragged = first.docks["Study"].height()
    assert dragged < 300
    first.resize(1400, 1000)
    show(qtbot, first, "Study")
    qtbot.wait(50)
    assert first.docks["Study"].height() == dragged
    first.close()
    second = make_window()
    second.open(engine.find_robot("arm7"))
    wait(qtbot, lambda: second.workbench.robot.newest is not None)
    second.resize(1400, 1140)
    wait(qtbot, lambda: not second.docks._fitting.isActive())
    qtbot.wait(50)
    assert abs(second.docks["Study"].height() - dragged) <= 2
    (reset,) = [each for each in second.menus.view.actions() if each.text() == "Reset layout"]
    reset.trigger()
    show(qtbot, second, "Study")
    wait(qtbot, lambda: second.docks["Study"].height() > 380)


@pytest.mark.parametrize("by_tab", [False, True])
def test_a_dock_that_is_torn_off_does_not_lie_where_it_was_docked(qtbot, arm, make_window, by_tab):
    arm.resize(1400, 900)
    for title in ("Plots", "Compare") if by_tab else ("Plots",):
        show(qtbot, arm, title)
    dock = arm.docks["Plots"]
    dock.raise_()
    wait(qtbot, lambda: dock.mapTo(arm, QPoint(0, 0)).y() > 0)
    docked = QRect(dock.mapToGlobal(QPoint(0, 0)), dock.size())
    if by_tab:
        bar = next(each for each in arm.findChildren(QTabBar) if "Plots" in map(each.tabText, range(each.count())))
        tab = next(k for k in range(bar.count()) if bar.tabText(k) == "Plots")
        qtbot.mouseDClick(bar, Qt.MouseButton.LeftButton, pos=bar.tabRect(tab).center())
    else:
        dock.findChild(QAbstractButton, "qt_dockwidget_floatbutton").click()
    wait(qtbot, dock.isFloating)
    wait(qtbot, lambda: dock.width() < docked.width())
    at = dock.geometry()
    assert at.height() < docked.height()
    assert at.top() < docked.top()
    arm.close()
    window = make_window()
    window.show()
    again = window.docks["Plots"]
    assert again.isFloating()
    assert again.size() == at.size(), "a restored one is not shrunk again"


def test_a_drag_of_a_width_sets_no_height(qtbot, make_window):
    window = low_window(qtbot, make_window, "Study")
    edge = QPoint(window.docks["Joints"].geometry().left() - 2, window.docks["Joints"].geometry().center().y())
    qtbot.mousePress(window, Qt.MouseButton.LeftButton, pos=edge)
    qtbot.mouseMove(window, edge + QPoint(-20, 0))
    qtbot.mouseMove(window, edge + QPoint(-40, 0))
    qtbot.mouseRelease(window, Qt.MouseButton.LeftButton, pos=edge + QPoint(-40, 0))
    window.resize(1840, 1140)
    wait(qtbot, lambda: window.docks["Study"].height() >= 400)


def test_diagnostics_of_one_row_leave_the_picture_most_of_a_small_window(qtbot, opened, tmp_path):
    """Where there are no lines of a file to be shown below it."""
    window = opened(engine.find_robot("arm7"))
    window.resize(QSize(1000, 650))
    wait(qtbot, lambda: window.size() == QSize(1000, 650))
    window.open(tmp_path / "missing.urdf")
    dock = window.docks["Diagnostics"]
    panel = dock.widget().widget()
    wait(qtbot, lambda: dock.isVisible() and panel.count == 1 and panel.list.isVisible())
    wait(qtbot, lambda: dock.height() == panel.height_needed() < 0.3 * 650)
    wait(qtbot, lambda: panel.list.verticalScrollBar().maximum() == 0)


def test_the_sheet_of_keys_is_no_taller_than_a_small_window(arm):
    arm.resize(AT_SCALE_2)
    sheet = arm.features[ShortcutsSheet]
    sheet.show()
    assert sheet.dialog.height() < AT_SCALE_2.height()
    sheet.dialog.close()


def test_a_height_that_was_dragged_is_kept(qtbot, arm):
    arm.resize(1400, 900)
    dock = arm.docks["Plots"]
    show(qtbot, arm, "Plots")
    wait(qtbot, lambda: dock.height() > 380)
    drag_edge(qtbot, arm, "Plots", 120)
    dragged = dock.height()
    show(qtbot, arm, "Plots", False)
    show(qtbot, arm, "Plots")
    wait(qtbot, lambda: abs(dock.height() - dragged) <= 2)


def test_panels_that_were_moved_are_back_after_a_reset(qtbot, opened):
    window = opened(engine.find_robot("arm6"))
    docks, area = window.docks, window.dockWidgetArea
    docks["Joints"].hide()
    docks["Plots"].toggleViewAction().trigger()
    docks["Plots"].setFloating(True)
    window.addDockWidget(LEFT, docks["Timing"])
    (reset,) = [each for each in window.menus.view.actions() if each.text() == "Reset layout"]
    reset.trigger()
    wait(qtbot, docks["Joints"].isVisible)
    assert (area(docks["Timing"]), area(docks["Joints"])) == (RIGHT, RIGHT)
    assert docks["Timing"] in window.tabifiedDockWidgets(docks["Joints"])
    assert not docks["Plots"].isFloating()
    assert not docks["Plots"].isVisible()
    wait(qtbot, lambda: docks["Joints"].width() == 430)


def test_a_reset_leaves_a_small_window_as_wide_as_it_is(qtbot, opened):
    """Diagnostics, hidden at first, is wider beside the docks on the right; the window grew beyond its screen."""
    window = opened(engine.find_robot("arm6"))
    window.resize(900, 650)
    wait(qtbot, lambda: window.width() == 900)
    (reset,) = [each for each in window.menus.view.actions() if each.text() == "Reset layout"]
    reset.trigger()
    wait(qtbot, lambda: window.docks["Joints"].width() == 430)
    assert window.width() == 900
    assert not window.docks["Diagnostics"].isVisible()


@pytest.mark.parametrize("title", ["Diagnostics", "Study"])
def test_a_wide_panel_extends_below_the_joints_where_it_would_be_too_narrow_beside_them(qtbot, arm, title):
    dock = arm.docks[title]
    for size, whole in ((QSize(1000, 650), True), (QSize(1500, 900), False), (QSize(1000, 650), True)):
        arm.resize(size)
        arm.docks.show_in_front(title)
        wait(qtbot, lambda size=size, whole=whole: (dock.width() > size.width() - 10) is whole)
    assert dock.width() >= WHOLE
    dock.hide()
    wait(qtbot, lambda: arm.docks["Joints"].geometry().bottom() > 550)


def test_the_scene_beside_plots_has_the_full_height_and_leaves_the_picture_its_height(qtbot, arm):
    """Whichever is opened first; where Plots would be too narrow beside it they extend below it."""
    docks, column = arm.docks, arm.docks["Joints"]
    arm.resize(1280, 800)
    for titles in (("Plots", "Scene"), ("Scene", "Plots")):
        for title in titles:
            show(qtbot, arm, title)
        wait(qtbot, lambda: docks["Scene"].height() > column.height() - 4)
        wait(qtbot, lambda: docks["Plots"].width() <= arm.centralWidget().width() + 4)
        wait(qtbot, lambda: arm.viewport.height() > 0.38 * 800)
        panel = arm.features[SceneView].panel
        assert docks["Scene"].widget().verticalScrollBar().maximum() == 0
        assert panel.list.height() > 150
        for title in titles:
            show(qtbot, arm, title, False)
    arm.resize(1000, 650)
    show(qtbot, arm, "Scene")
    show(qtbot, arm, "Plots")
    wait(qtbot, lambda: docks["Plots"].width() > arm.centralWidget().width() + 200)
    show(qtbot, arm, "Scene", False)
    wait(qtbot, lambda: docks["Plots"].height() > 0.42 * 650)


def test_branch_and_keyframes_keep_their_names_between_docks(qtbot, arm):
    """Before the recording's size and the run's end do."""
    arm.resize(1280, 800)
    play_for(qtbot, arm, 0.2)
    show(qtbot, arm, "Scene")
    show(qtbot, arm, "Plots")
    qtbot.keyClick(arm, Qt.Key.Key_Left)
    wait(qtbot, lambda: arm.workbench.replay.active)
    named = {each.text(): each for each in arm.centralWidget().findChildren(QToolButton) if each.isVisible()}
    for name in ("Branch here", "Keyframes"):
        assert named[name].toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonTextBesideIcon
        assert named[name].width() > named[name].fontMetrics().horizontalAdvance(name)


def test_docks_that_a_small_window_narrowed_are_wide_again_in_a_large_one_of_a_later_start(qtbot, make_window):
    first = make_window()
    first.open(engine.find_robot("arm7"))
    wait(qtbot, lambda: not first.workbench.opening.loading and first.workbench.robot.model is not None)
    before = first.docks["Joints"].width()
    first.resize(AT_SCALE_2)
    show(qtbot, first, "Scene")
    wait(qtbot, lambda: first.docks["Joints"].width() < before - 100)
    first.close()
    second = make_window()
    second.open(engine.find_robot("arm7"))
    wait(qtbot, lambda: not second.workbench.opening.loading and second.workbench.robot.model is not None)
    second.resize(QSize(1900, 1000))
    wait(qtbot, lambda: second.docks["Joints"].width() > before - 40)


def test_a_panel_that_is_torn_off_has_a_border_until_it_is_docked(qtbot, arm):
    """Over the picture, or another panel, its edge was not seen."""
    dock = arm.docks["Scene"]
    dock.toggleViewAction().trigger()
    wait(qtbot, dock.isVisible)

    def edges() -> set[str]:
        image = dock.grab().toImage()
        middle = image.width() // 2, image.height() // 2
        places = (0, middle[1]), (image.width() - 1, middle[1]), (middle[0], image.height() - 1)
        return {image.pixelColor(*place).name() for place in places}

    assert theme.COLORS["faint"] not in edges()
    dock.setFloating(True)
    wait(qtbot, lambda: edges() == {theme.COLORS["faint"]})
    dock.setFloating(False)
    wait(qtbot, lambda: theme.COLORS["faint"] not in edges())
