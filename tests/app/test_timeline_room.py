"""What the timeline shows where there is little room for it."""

import os

import pytest
from PyQt6.QtGui import QAction
from PyQt6.QtWidgets import QApplication, QToolButton, QVBoxLayout, QWidget

from app.desktop import theme
from app.panels.timeline import Timeline


@pytest.fixture
def around(qtbot, window) -> QWidget:  # noqa: ARG001, a window sets the font
    """A widget whose child is as wide as it is set to be at once."""
    widget = QWidget()
    qtbot.addWidget(widget)
    widget.resize(900, 100)
    widget.show()
    return widget


@pytest.fixture
def bar(around) -> Timeline:
    icon = theme.icon("play")
    bar = Timeline([QAction(icon, "Play")] * 5, [QAction(icon, "Branch here"), QAction(icon, "Keyframes")])
    bar.setParent(around)
    bar.show()
    bar.show_memory(2**20, 2**29, 2**29)
    return bar


def test_nothing_is_cut_where_a_recorded_moment_has_more_to_tell(qtbot, bar):
    bar.show_runs([(1, "Run 1"), (2, "Run 2, from run 1")], 2)
    for width in range(160, 800, 20):
        bar.resize(width, bar.sizeHint().height())
        for live in (True, False):
            bar.show_time(12.189, 104.243, live)
            QApplication.processEvents()
            told = [bar.time, bar.memory, bar.state, bar.runs, *bar.findChildren(QToolButton)]
            cut = [each for each in told if each.isVisible() and each.width() < each.sizeHint().width()]
            assert not cut, (width, live, [(each, each.width(), each.sizeHint().width()) for each in cut])
            assert bar.runs.isVisible() or width < 300
    bar.resize(160, bar.height())
    bar.left_out.aboutToShow.emit()
    with qtbot.waitSignal(bar.run_chosen) as chosen:
        bar.left_out.actions()[0].menu().actions()[0].trigger()
    assert chosen.args == [1]


@pytest.mark.parametrize(("width", "moves", "named"), [(460, 5, 2), (340, 3, 0)])
def test_a_long_name_of_a_run_is_cut_before_buttons_are_hidden(bar, width, moves, named):
    """It hid the ends and the keyframes, and in a narrower window all buttons but Play."""
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


def test_it_fits_once_where_what_it_hides_is_higher_than_the_rest(qtbot, around, bar):
    """As with larger text: each label that was hidden or shown had it fitted again, without an end."""
    column = QVBoxLayout(around)
    column.addWidget(bar)
    column.addStretch(1)
    bar.memory.setStyleSheet("font-size: 60px")
    for width in range(900, 300, -20):
        around.resize(width, 200)
        qtbot.waitUntil(lambda: bar.height() == bar.sizeHint().height())
    assert bar.memory.isHidden()
