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
        assert window.features[LessonView].panel.lesson is None
        qtbot.keyClick(palette.line, Qt.Key.Key_Down)
        assert not palette.list.currentItem().isDisabled()
        palette.close()


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


def test_it_is_as_high_as_its_commands(qtbot, arm):
    palette = opened_palette(qtbot, arm)
    wait(qtbot, lambda: palette.list.verticalScrollBar().maximum() > 0)  # of all commands
    tall = palette.height()
    for words in ("batch", "qwertz"):
        palette.line.setText(words)
        rows = palette.list.topLevelItemCount()
        assert palette.list.height() < (rows + 0.5) * palette.list.sizeHintForRow(0) + 4
        wait(qtbot, lambda: palette.height() < tall - 100)
        assert palette.list.verticalScrollBar().maximum() == 0
    palette.line.clear()
    wait(qtbot, lambda: palette.height() == tall)


def test_its_keys_select_what_was_typed(qtbot, arm):
    palette = opened_palette(qtbot, arm)
    qtbot.keyClicks(palette.line, "ghost")
    qtbot.keyClick(palette.line, Qt.Key.Key_P, CTRL | SHIFT)
    qtbot.keyClicks(palette.line, "batch")
    assert palette.line.text() == "batch"


def test_the_reason_of_a_disabled_command_stands_below_its_words(qtbot, window):
    palette = opened_palette(qtbot, window)
    qtbot.keyClicks(palette.line, "play")
    assert palette.reason.isHidden()
    qtbot.keyClick(palette.line, Qt.Key.Key_Return)
    assert palette.reason.isVisible()
    assert NO_ROBOT in palette.reason.text()
    wait(qtbot, lambda: palette.reason.height() >= palette.reason.heightForWidth(palette.reason.width()))
    qtbot.keyClicks(palette.line, "b")
    assert palette.reason.isHidden()
