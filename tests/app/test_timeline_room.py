"""What the timeline shows where there is little room for it."""

import os

import pytest
from PyQt6.QtGui import QAction
from PyQt6.QtWidgets import QApplication, QToolButton, QWidget

from app.desktop import theme
from app.panels.timeline import Timeline


@pytest.mark.parametrize(("width", "moves", "named"), [(460, 5, 2), (340, 3, 0)])
def test_a_long_name_of_a_run_is_cut_before_buttons_are_hidden(qtbot, width, moves, named):
    """It hid the ends and the keyframes, and in a narrower window all buttons but Play."""
    icon = theme.icon("play")
    bar = Timeline([QAction(icon, "Play")] * 5, [QAction(icon, "Branch here"), QAction(icon, "Keyframes")])
    around = QWidget()
    qtbot.addWidget(around)
    bar.setParent(around)
    around.resize(900, 100)
    around.show()
    bar.show_memory(2**20, 2**29, 2**29)
    bar.show_runs([(4, "Run 4, from run 1 at 0.73 s"), (5, "Run 5, from run 4 at 1.58 s")], 5)
    bar.resize(width, bar.sizeHint().height())
    bar.show_time(6.592, 6.592, False)
    QApplication.processEvents()
    assert bar.runs.isVisible()
    buttons = [each for each in bar.findChildren(QToolButton) if each.isVisible()]
    assert sum(each.text() == "Play" for each in buttons) == moves
    assert sum(each.text() in ("Branch here", "Keyframes") for each in buttons) == named
    assert bar.runs.view().minimumWidth() > bar.runs.width()
    if folder := os.environ.get("CATENA_PICTURES"):
        bar.grab().save(f"{folder}/timeline {width}.png")
