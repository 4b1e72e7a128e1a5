"""The list of quantities to plot: search, ticks by keys, and width."""

import pytest
from plotted import make_panel, tick
from PyQt6.QtCore import QRect, Qt
from PyQt6.QtTest import QTest
from PyQt6.QtWidgets import QApplication, QStyleOptionViewItem
from windows import wait

from app.features.plots_view import PlotsView
from app.panels.plots import PlotsPanel

Key = Qt.Key


def panel_of(window) -> PlotsPanel:
    return window.features[PlotsView].panel


@pytest.fixture
def panel(qtbot) -> PlotsPanel:
    return make_panel(qtbot)


def test_escape_clears_the_search_and_gives_the_keys_back(qtbot, arm):
    view = arm.features[PlotsView].panel.list
    qtbot.keyClick(arm, Key.Key_P)
    wait(qtbot, view.search.hasFocus)
    QTest.keyClicks(view.search, "joint4 torque")
    QTest.keyClick(view.search, Key.Key_Return)
    QTest.keyClick(view.search, Key.Key_Escape)
    assert view.search.text() == ""
    assert not view.search.hasFocus()
    qtbot.keyClick(QApplication.focusWidget() or arm, Key.Key_Space)
    wait(qtbot, lambda: arm.workbench.robot.playing)
    assert view.search.text() == ""


def test_the_list_is_searched_and_ticked_by_keys(panel):
    view = panel.list
    QTest.keyClicks(view.search, "weather")
    assert view.count.text() == f"none of {len(view.model.quantities)} has these words"
    view.search.clear()
    QTest.keyClicks(view.search, "joint4 torque")
    assert view.count.text() == f"1 of {len(view.model.quantities)}"
    QTest.keyClick(view.search, Key.Key_Return)
    assert [each.label for each in panel.quantities] == ["joint4 torque"]
    view.search.clear()
    QTest.keyClicks(view.search, "position joint")
    QTest.keyClick(view.search, Key.Key_Down)
    for key in (Key.Key_Return, Key.Key_Down, Key.Key_Return):
        QTest.keyClick(view.view, key)
    assert [each.label for each in panel.quantities] == ["joint4 torque", "joint1 position", "joint1 position setpoint"]
    QTest.keyClick(view.view, Key.Key_Return)
    assert [each.label for each in panel.quantities] == ["joint4 torque", "joint1 position"]
    index = view.model.index(0)
    assert view.model.data(index, Qt.ItemDataRole.CheckStateRole) == Qt.CheckState.Checked
    assert "(°)" in view.model.data(index, Qt.ItemDataRole.ToolTipRole)
    view.view.setCurrentIndex(index)
    QTest.keyClick(view.view, Key.Key_Up)
    assert QApplication.focusWidget() in (view.search, None)


def test_without_a_robot_nothing_is_found(qtbot, window):
    qtbot.keyClick(window, Key.Key_P)
    view = panel_of(window).list
    QTest.keyClicks(view.search, "elbow torque")
    assert view.count.text() == "0 quantities"


def test_space_plays_from_the_list_and_return_ticks(qtbot, opened):
    window = opened()
    panel = panel_of(window)
    qtbot.keyClick(window, Key.Key_P)
    tick(panel, "total energy")
    view = panel.list.view
    panel.list.search.clear()
    view.setFocus()
    qtbot.keyClick(view, Key.Key_Down)
    qtbot.keyClick(view, Key.Key_Space)
    wait(qtbot, lambda: window.workbench.robot.playing)
    assert [each.label for each in panel.quantities] == ["total energy"]
    qtbot.keyClick(view, Key.Key_Space)
    wait(qtbot, lambda: not window.workbench.robot.playing)
    qtbot.keyClick(view, Key.Key_Return)
    assert len(panel.quantities) == 2


def test_the_list_of_quantities_is_wider_where_there_is_room(panel):
    panel.resize(1500, 420)
    assert 300 <= panel.list.width() <= 400
    panel.resize(640, 420)
    assert panel.list.width() <= 200


def test_a_narrow_row_keeps_what_is_plotted_of_a_link(panel):
    panel.resize(500, 400)
    panel.show()
    view, texts = panel.list.view, {}
    panel.list.search.setText("hand velocity x")
    QApplication.processEvents()
    for row in range(2):
        option, index = QStyleOptionViewItem(), view.model().index(row)
        view.initViewItemOption(option)
        option.rect = QRect(0, 0, 130, 22)
        view.itemDelegate().initStyleOption(option, index)
        texts[index.data()] = option.text
    assert texts["hand velocity x"].endswith("velocity x")
    assert texts["hand angular velocity x"].endswith(" angular velocity x")
    assert texts["hand angular velocity x"] != "hand angular velocity x"


def test_what_a_search_found_is_read_whole_beside_the_narrowest_list(qtbot, panel):
    panel.resize(500, 400)
    panel.show()
    panel.list.setMaximumWidth(panel.list.minimumWidth())
    QTest.keyClicks(panel.list.search, "weather")
    count = panel.list.count
    wait(qtbot, lambda: count.width() < panel.list.minimumWidth())
    needed = count.fontMetrics().boundingRect(0, 0, count.width(), 1000, Qt.TextFlag.TextWordWrap, count.text())
    assert count.wordWrap() or count.sizeHint().width() <= count.width()
    wait(qtbot, lambda: count.height() >= needed.height())
