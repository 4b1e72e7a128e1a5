"""Panels of a form and its results in narrow docks: one part at a time, without a bar to scroll sideways."""

import pytest
from PyQt6.QtCore import QSize, Qt
from PyQt6.QtWidgets import QApplication, QLabel, QScrollArea
from windows import wait

import engine
from app.desktop.side_by_side import SideBySide
from app.features.attaching import CompareView, StudyView
from app.panels.joints import NAME

SMALL = QSize(1000, 650)


@pytest.fixture
def sides(qtbot) -> SideBySide:
    form, results = QLabel("form"), QLabel("results")
    form.setMinimumWidth(100)
    form.setMaximumWidth(120)
    results.setMinimumWidth(200)
    sides = SideBySide(("Form", "Results"), (form, results), 100, spacing=10)
    qtbot.addWidget(sides)
    sides.show()
    return sides


def seen(sides: SideBySide) -> list[bool]:
    QApplication.processEvents()
    return [sides.tabs.isVisible(), *(each.isVisible() for each in sides.parts)]


def test_parts_are_beside_each_other_where_there_is_room_and_else_behind_tabs(sides):
    assert sides.minimumSizeHint().width() == 200
    sides.resize(310, 100)
    assert seen(sides) == [False, True, True]
    sides.resize(309, 100)
    assert seen(sides) == [True, True, False]
    assert sides.parts[0].x() == 0
    sides.tabs.setCurrentIndex(1)
    assert seen(sides) == [True, False, True]
    sides.resize(310, 100)
    assert seen(sides) == [False, True, True]
    sides.show_part(1, alone=True)
    assert seen(sides) == [False, False, True]
    sides.resize(250, 100)
    assert seen(sides) == [False, False, True]
    sides.show_part(0)
    assert seen(sides) == [True, True, False]


def test_results_of_a_comparison_and_a_study_are_whole_in_a_small_window(qtbot, arm):
    arm.resize(SMALL)
    for view, title in ((arm.feature(CompareView), "Compare"), (arm.feature(StudyView), "Study")):
        arm.docks.show_in_front(title)
        wait(qtbot, view.panel.isVisible)
        arm.docks.share(Qt.Orientation.Horizontal, {"Joints": 500})
        view.panel.sides.show_part(1)
        area = arm.docks[title].findChild(QScrollArea)
        wait(qtbot, lambda panel=view.panel: panel.sides.parts[1].isVisible())
        wait(qtbot, lambda area=area: not area.horizontalScrollBar().isVisible())
        part = view.panel.sides.parts[1]
        assert part.visibleRegion().boundingRect().width() == part.width()
    assert arm.size() == SMALL


def test_names_of_joints_are_read_beside_the_scene(qtbot, opened):
    """They lost their ending, and were cut once more in the middle."""
    window = opened(engine.find_robot("humanoid"))
    window.resize(SMALL)
    wait(qtbot, lambda: window.width() == SMALL.width())
    window.docks["Scene"].toggleViewAction().trigger()
    wait(qtbot, lambda: window.docks["Joints"].width() < 350)
    table = window.joints
    names = [table.table.index(k, NAME).data() for k in range(table.table.rowCount())]
    assert "right_shoulder_pitch…" in names
    assert max(map(table.fontMetrics().horizontalAdvance, names)) <= table.columnWidth(NAME) - 10
