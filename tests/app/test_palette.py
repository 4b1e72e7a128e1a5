"""The command palette: which names it takes, and how it shows them."""

import pytest
from PyQt6.QtCore import Qt
from windows import wait

from app.features.palette import Palette, PaletteView

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
        ("obstacle: mesh...", "Simulation › Add to the scene › Obstacle: mesh"),
    ],
)
def test_a_name_is_found_as_it_is_shown_or_meant(qtbot, arm, words, name):
    palette = opened_palette(qtbot, arm)
    palette.line.setText(words)
    assert palette.list.topLevelItem(0).data(0, Qt.ItemDataRole.UserRole) == name


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
