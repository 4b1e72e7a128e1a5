"""The column on the right: tabs that have its whole height; and what the window says of a run, said in one place."""

from __future__ import annotations

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QLabel, QTabBar, QToolButton
from windows import shown_time, wait

import engine
from app.window import Window


def in_front(window: Window) -> list[str]:
    """The titles of docks that are seen."""
    docks = window.docks._docks
    return [title for title, dock in docks.items() if dock.isVisible() and not dock.visibleRegion().isEmpty()]


def test_joints_and_timing_are_tabs_of_full_height(qtbot, opened):
    window = opened(engine.find_robot("arm7"))
    wait(qtbot, lambda: in_front(window) == ["Joints"])
    window.resize(1280, 800)
    tabs = window.findChild(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    assert [tabs.tabText(k) for k in range(tabs.count())] == ["Joints", "Timing"]
    column = window.statusBar().y() - window.toolbar.geometry().bottom()
    for title in ("Timing", "Joints"):
        window.docks[title].raise_()
        wait(qtbot, lambda title=title: in_front(window) == [title])
        assert window.docks[title].height() > column - tabs.height() - 12


@pytest.mark.parametrize("title", ["Batch", "Forces", "Ghost", "Second robot"])
def test_what_is_opened_on_the_right_has_the_whole_column_too(qtbot, opened, title):
    window = opened(engine.find_robot("arm7"))
    wait(qtbot, lambda: in_front(window) == ["Joints"])
    before = window.docks["Joints"].height()
    window.docks[title].toggleViewAction().trigger()
    wait(qtbot, lambda: in_front(window) == [title])
    assert window.docks[title].height() == before
    window.docks[title].toggleViewAction().trigger()
    wait(qtbot, lambda: in_front(window) == ["Joints"])


def test_time_algorithm_device_and_step_are_each_said_once(qtbot, opened):
    window = opened(engine.find_robot("arm7"))
    window.resize(1400, 900)
    for _ in range(7):
        qtbot.keyClick(window, Qt.Key.Key_S)
    wait(qtbot, lambda: shown_time(window) == "0.007 s")
    for title in ("Joints", "Timing"):
        window.docks[title].raise_()
        wait(qtbot, lambda title=title: in_front(window) == [title])
        said = [each.text() for kind in (QLabel, QToolButton) for each in window.findChildren(kind) if each.isVisible()]
        for words in ("0.007 s", "1 ms", "ABA (auto)", "CPU (auto)"):
            assert sum(words in text for text in said) == 1, (title, words)
        assert not any(text in ("ABA", "CPU") for text in said)
