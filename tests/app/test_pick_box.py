"""A box that shows the selected items, and its list over the window."""

import pytest
from PyQt6.QtCore import QPoint, Qt
from PyQt6.QtWidgets import QApplication
from windows import press, wait

from app.features.compare_view import CompareView
from app.panels.pick_box import Checked, PickBox, Unchecked
from app.window import Window


def test_it_names_what_is_ticked(qtbot):
    box = PickBox("robots")
    qtbot.addWidget(box)
    items = [box.add(name, name) for name in ("arm", "dog", "man")]
    assert box.text == "no robots"
    for item, text in zip(items, ("arm", "arm, dog", "all 3 robots"), strict=True):
        item.setCheckState(Checked)
        assert (box.text, box.toolTip()) == (text, text)
    items[0].setHidden(True)
    items[1].setCheckState(Unchecked)
    assert box.text == "man"


@pytest.mark.parametrize("size", [(1280, 800), (1000, 650)])
@pytest.mark.parametrize("which", ["robot_box", "algorithm_box"])
def test_all_entries_are_seen_at_once_and_the_form_is_whole(qtbot, opened, size, which):
    """The list showed five of ten robots at 800 px; a box's list has the screen."""
    window: Window = opened()
    window.resize(*size)
    press(qtbot, window, window.docks["Compare"].toggleViewAction())
    form = window.feature(CompareView).panel.form
    wait(qtbot, lambda: form.isVisible() and window.docks["Compare"].height() > 200)
    seen = window.feature(CompareView).panel.form.seconds
    corner = seen.mapTo(window, QPoint(seen.width(), seen.height()))
    wait(qtbot, lambda: not window.docks["Compare"].widget().verticalScrollBar().isVisible())
    assert corner.y() < window.statusBar().y()
    box = getattr(form, which)
    qtbot.mouseClick(box, Qt.MouseButton.LeftButton)
    wait(qtbot, box.list.isVisible)
    assert not box.list.verticalScrollBar().isVisible()
    assert all(box.list.viewport().rect().contains(box.list.visualItemRect(item)) for item in box.entries)
    assert QApplication.primaryScreen().geometry().contains(box.popup.frameGeometry())
    before = [item.checkState() for item in box.entries]
    qtbot.keyClick(box.list, Qt.Key.Key_Down)
    qtbot.keyClick(box.list, Qt.Key.Key_Space)
    assert [k for k, item in enumerate(box.entries) if item.checkState() != before[k]] == [1]
    qtbot.keyClick(box.list, Qt.Key.Key_Escape)
    assert not box.popup.isVisible()
    assert not window.workbench.robot.playing


def test_names_that_have_no_room_are_counted_instead_of_cut(qtbot):
    seen = []
    for names in (("a robot with a long name", "another with a long name"), ("some other long name", "and one more")):
        box = PickBox("robots")
        qtbot.addWidget(box)
        for name in names:
            box.add(name, name, checked=True)
        box.add("not this", "")
        box.resize(150, 28)
        box.refresh()
        assert box.toolTip() == ", ".join(names)
        seen.append(box.grab().toImage())
    assert seen[0] == seen[1]  # "2 robots"


def test_the_form_is_wider_where_the_results_have_room(qtbot, opened):
    window = opened()
    window.resize(1600, 900)
    press(qtbot, window, window.docks["Compare"].toggleViewAction())
    form = window.feature(CompareView).panel.form
    wait(qtbot, lambda: form.isVisible() and form.robot_box.width() > 280)
