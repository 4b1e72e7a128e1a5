"""A time step that the user types, with its unit."""

import pytest
from PyQt6.QtWidgets import QInputDialog
from windows import wait

from app.desktop.numbers import seconds_of
from app.features.simulation_choices import STEP_REACH, SimulationChoices
from app.features.undo_view import UndoView


@pytest.fixture
def answers(monkeypatch):
    """The answers to the next dialogs, and the questions that were asked."""
    given: list[tuple[str, bool]] = []
    requested: list[str] = []

    def ask(_window, _title, label, **_):
        requested.append(label)
        return given.pop(0)

    monkeypatch.setattr(QInputDialog, "getText", ask)
    return given, requested


def test_a_step_is_typed_simulated_and_undone(qtbot, opened, answers):
    window = opened()
    bench, other = window.workbench, window.feature(SimulationChoices).other
    assert other in window.feature(SimulationChoices).step_menu.actions()
    before = bench.robot.settings.dt
    answers[0].append((" 0.4 ms", True))
    other.trigger()
    assert bench.robot.settings.dt == 4e-4
    assert (other.text(), other.isChecked()) == ("Other: 0.4 ms…", True)
    steps = window.feature(SimulationChoices).time_steps
    assert [action for action in steps.actions() if action.isChecked()] == [other]
    assert other.actionGroup().isExclusive()  # so that the menu draws a ring, as for the steps beside it
    wait(qtbot, lambda: bench.robot.newest is not None and not bench.computation.compiling)
    bench.step()
    wait(qtbot, lambda: bench.robot.time == pytest.approx(4e-4))
    window.features[UndoView].undo.trigger()
    assert bench.robot.settings.dt == before
    window.refresh()
    assert (other.text(), other.isChecked()) == ("&Other…", False)


def test_a_bad_step_is_told_and_asked_again(opened, answers):
    window = opened()
    before = window.workbench.robot.settings.dt
    answers[0].extend([("fast", True), ("2 s", True), ("", False)])
    window.feature(SimulationChoices).other.trigger()
    assert window.workbench.robot.settings.dt == before
    assert answers[1][1].startswith(
        "'fast' is not a time with its unit; type a number and s, ms or µs, as in 0.4 ms.\n"
    )
    assert answers[1][2].startswith("2 s is outside 1.00 µs to 100 ms; type a time between them.\n")
    assert not window.feature(SimulationChoices).other.isChecked()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0.4 ms", 4e-4), ("0,4ms", 4e-4),
     ("250 us", 2.5e-4), ("250 µs", 2.5e-4), ("250 \u03bcs", 2.5e-4),
     ("1e-3 s", 1e-3), (".5 ms", 5e-4)],
)  # fmt: skip
def test_units_are_read_to_the_last_bit(text, seconds):
    assert seconds_of(text, *STEP_REACH) == seconds


@pytest.mark.parametrize("text", ["", "1", "ms", "-1 ms", "1 min", "nan s", "1e999 s", "0 ms", "1 ms 2"])
def test_what_is_no_step_is_refused(text):
    with pytest.raises(ValueError, match="type a"):
        seconds_of(text, *STEP_REACH)
