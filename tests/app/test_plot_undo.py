"""Plots that were removed come back by Undo, with their curves."""

import pytest
from plotted import tick
from PyQt6.QtCore import Qt
from PyQt6.QtTest import QTest
from test_time import play
from windows import wait

from app.features.attaching import UndoView
from app.features.plots_view import PlotsView
from app.panels.plots import PlotsPanel

Key, CTRL = Qt.Key, Qt.KeyboardModifier.ControlModifier
Left = Qt.MouseButton.LeftButton


@pytest.fixture
def plotting(qtbot, opened):
    """A window with a plot of two velocities, one of an energy and phase plots, over 0.6 s of a run."""
    window = opened()
    panel = window.features[PlotsView].panel
    qtbot.keyClick(window, Key.Key_P)
    for text in ("shoulder velocity", "elbow velocity", "total energy"):
        tick(panel, text)
    panel.plot_phases()
    play(qtbot, window, 0.6)
    return window, panel


def samples(panel: PlotsPanel) -> list[int]:
    return [len(panel.series[quantity]) for quantity in panel.quantities]


def test_clear_is_undone_and_redone(qtbot, plotting):
    window, panel = plotting
    before = panel.layout_keys
    assert [len(keys) for keys in before[:2]] == [2, 1]
    assert before[2][0] == "over:"
    QTest.mouseClick(panel.clear_all, Left)
    assert panel.layout_keys == []
    undo = window.features[UndoView]
    assert undo.undo.text() == "&Undo Remove plots"
    qtbot.keyClick(window, Key.Key_Z, CTRL)
    assert panel.layout_keys == before
    assert window.statusBar().currentMessage() == "Undone: Remove plots"
    wait(qtbot, lambda: min(samples(panel)) > 20)  # computed again from the recording
    qtbot.keyClick(window, Key.Key_Y, CTRL)
    assert panel.layout_keys == []


def test_what_was_plotted_since_stays(qtbot, plotting):
    window, panel = plotting
    before = panel.layout_keys
    panel.charts[0].names.linkActivated.emit("0")
    assert window.features[UndoView].undo.text() == "&Undo Remove plot of shoulder velocity"
    after = panel.layout_keys
    tick(panel, "centre of mass z")
    qtbot.keyClick(window, Key.Key_Z, CTRL)
    added = ["robot//centre of mass/z"]
    phases = [keys for keys in before if keys[0] == "over:"]
    assert panel.layout_keys == [*before[:2], added, *phases]
    qtbot.keyClick(window, Key.Key_Y, CTRL)
    assert panel.layout_keys == [*after[:2], added, *phases]


def test_a_curve_of_a_phase_plot_is_put_back(qtbot, plotting):
    window, panel = plotting
    before = panel.layout_keys
    panel.phases.all[0].names.linkActivated.emit("1")
    assert len(panel.layout_keys[-1]) == len(before[-1]) - 2
    qtbot.keyClick(window, Key.Key_Z, CTRL)
    assert panel.layout_keys == before
