"""Panels of a form and its results in narrow docks: one part at a time, without a bar to scroll sideways."""

import pytest
from PyQt6.QtCore import QSize, Qt
from PyQt6.QtWidgets import QApplication, QLabel, QScrollArea
from windows import wait

from app.desktop.side_by_side import SideBySide
from app.features.attaching import CompareView, StudyView

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
