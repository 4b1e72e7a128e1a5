"""The command palette: which names it takes, and how it shows them."""

import re

import pytest
from PyQt6.QtCore import Qt
from windows import wait

import engine
from app.desktop.actions import NO_ROBOT
from app.features.lesson_view import LessonView
from app.features.palette import NOTHING, Palette, PaletteView

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


def opened_palette(qtbot, window) -> Palette:
    qtbot.keyClick(window, Qt.Key.Key_P, CTRL | SHIFT)
    return window.features[PaletteView].palette


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("Simulation > Ground", "Simulation › Ground"),
        ("simulation>ground", "Simulation › Ground"),
        ("Simulation › Ground", "Simulation › Ground"),
        ("export > picture (.png)", "File › Export › Picture (.png)"),
        ("live link", "File › Connect to script"),
        ("engine.show", "File › Connect to script"),
        ("free box", "Simulation › Add to the scene › Free body: cube"),
        ("free body: box", "Simulation › Add to the scene › Free body: cube"),
        ("obstacle sphere", "Simulation › Add to the scene › Obstacle: ball"),
        ("cube", "Simulation › Add to the scene › Free body: cube"),
        ("delete", "Edit › Remove object"),
        ("obstacle: mesh...", "Simulation › Add to the scene › Obstacle: mesh"),
    ],
)
def test_a_name_is_found_as_it_is_shown_or_meant(qtbot, arm, words, name):
    palette = opened_palette(qtbot, arm)
    palette.line.setText(words)
    assert palette.list.topLevelItem(0).data(0, Qt.ItemDataRole.UserRole) == name


def test_a_command_that_is_named_and_disabled_is_first_and_return_says_why(qtbot, opened, tmp_path):
    """And does not run another that has the same words."""
    text = engine.find_robot("double_pendulum").read_text("utf-8")
    robot = tmp_path / "mimics.urdf"
    robot.write_text(
        re.sub(r'(<joint name="elbow".*?)(</joint>)', r'\1<mimic joint="shoulder"/>\2', text, flags=re.DOTALL)
    )
    window = opened(robot)
    for words in ("dca", "DCA-ABA"):
        palette = opened_palette(qtbot, window)
        palette.line.setText(words)
        first = palette.list.topLevelItem(0)
        assert first.data(0, Qt.ItemDataRole.UserRole) == "Simulation › Algorithm › DCA-ABA"
        qtbot.keyClick(palette.line, Qt.Key.Key_Return)
        assert "mimics" in window.statusBar().currentMessage()
        assert palette.why.isVisible()
        assert palette.why.text() == window.statusBar().currentMessage()
        assert palette.list.geometry().bottom() < palette.height()
        assert palette.line.selectedText() == words  # so that other words replace it
        palette.line.deselect()
        qtbot.keyClick(
            palette.line, Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
        )
        assert palette.line.selectedText() == words
        assert window.features[LessonView].panel.lesson is None
        qtbot.keyClick(palette.line, Qt.Key.Key_Down)
        assert not palette.list.currentItem().isDisabled()
        palette.close()


def test_the_list_is_as_high_as_what_it_holds(qtbot, arm):
    palette = opened_palette(qtbot, arm)
    most = palette.height()
    for text, rows in (("free body: cube", 1), ("no such thing", 1), ("obstacle: b", 5)):
        palette.line.setText(text)
        assert palette.list.topLevelItemCount() == rows
        last = palette.list.visualItemRect(palette.list.topLevelItem(rows - 1))
        assert 0 <= palette.list.viewport().height() - last.bottom() < 3
        assert palette.list.geometry().bottom() < palette.height() < most / 2
    palette.line.clear()
    assert palette.height() == most
    assert palette.list.verticalScrollBar().maximum() > 0


def test_a_long_reason_leaves_the_name_its_room(qtbot, arm):
    arm.workbench.configuring.set_ground(False)
    arm.refresh()
    palette = opened_palette(qtbot, arm)
    tree = palette.list
    wait(qtbot, lambda: tree.columnWidth(0) > tree.viewport().width() / 2)  # in the list of all, too
    qtbot.keyClicks(palette.line, "slope")
    item = tree.topLevelItem(0)
    index = tree.indexFromItem(item)
    assert item.text(1).startswith("The ground is off")
    assert tree.columnWidth(0) >= tree.sizeHintForIndex(index).width()
    assert tree.columnWidth(1) > tree.viewport().width() / 3
    assert item.toolTip(1) == item.toolTip(0)


def test_the_palette_finds_a_command_by_words_with_typing_errors(qtbot, arm):
    palette = opened_palette(qtbot, arm)
    typing = {"lihgt": "Light", "theem dark": "Dark", "plya": "Play", "recrod": "Recording limit"}
    for text, name in typing.items():
        palette.line.setText(text)
        assert name in palette.list.topLevelItem(0).text(0), text
    palette.line.setText("qwertz")
    assert palette.list.topLevelItem(0).text(0) == NOTHING


def test_an_open_palette_offers_what_can_be_once_a_robot_is_there(qtbot, window):
    view = window.features[PaletteView]
    view.show()
    view.palette.line.setText("play")
    assert view.palette.list.topLevelItem(0).text(1) == NO_ROBOT.split(":")[0]
    window.open(engine.find_robot("pendulum"))
    wait(qtbot, lambda: not view.palette.list.topLevelItem(0).isDisabled())
