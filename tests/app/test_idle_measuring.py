"""Measuring while the window rests: when it begins, that the first touch ends it, and that it can be turned off."""

import threading
from collections.abc import Callable

import pytest
from PyQt6.QtCore import Qt
from windows import press, wait

import engine
from app.features import idle_measuring
from app.features.attaching import CompareView, IdleMeasuring
from app.jobs.measuring import Measuring
from app.window import Window
from engine.selection import timings
from engine.selection.timings import Measurements, Row

pytestmark = pytest.mark.usefixtures("nothing_measured")


class Scripted:
    """A measurement that is half done until it is let go, or stopped."""

    def __init__(self, fault: str = "") -> None:
        self.go, self.stopped, self.begun, self.fault = threading.Event(), threading.Event(), 0, fault

    def __call__(self, progress: Callable[[int, int], None], *, stop: Callable[[], bool]) -> Measurements | None:
        self.begun += 1
        progress(2, 4)
        while not self.go.wait(0.002):
            if stop():
                self.stopped.set()
                return None
        if self.fault:
            raise OSError(self.fault)
        table = Measurements(timings.table_path(), (Row("chain", 8, 1, "float64", "abia", 2e-6, 1e-15, "step"),))
        table.save()
        return table


@pytest.fixture
def resting(monkeypatch, opened) -> tuple[Window, Scripted]:
    """A window with a robot, which has rested long enough as soon as nothing keeps it busy."""
    monkeypatch.setattr(idle_measuring, "is_disturbed", lambda: False)
    window = opened(engine.find_robot("arm7"))
    assert window.feature(IdleMeasuring)._timer.isActive()
    window.feature(IdleMeasuring)._timer.stop()  # the tests look when they are ready
    measure = Scripted()
    window.feature(IdleMeasuring).measuring = Measuring(measure)
    monkeypatch.setattr(idle_measuring, "REST", 0.05)
    return window, measure


def look_until(qtbot, window: Window, condition: Callable[[], bool]) -> None:
    def looked() -> bool:
        window.feature(IdleMeasuring).poll()
        return condition()

    wait(qtbot, looked)


def test_it_begins_at_rest_says_how_far_it_is_and_ends_with_a_table(qtbot, resting):
    window, measure = resting
    label, algorithm = window.feature(IdleMeasuring).label, window.workbench.computation.algorithm
    assert label.text() == ""
    look_until(qtbot, window, lambda: label.text() == "idle: measuring algorithms, 50%")
    assert window.run.play.isEnabled()
    assert window.workbench.computation.unmeasured
    measure.go.set()
    look_until(qtbot, window, lambda: label.text() == "")
    assert window.statusBar().currentMessage() == idle_measuring.DONE
    assert engine.measured()
    assert window.workbench.computation.algorithm == algorithm  # nothing changes under a robot that is there
    qtbot.wait(100)
    window.feature(IdleMeasuring).poll()
    assert measure.begun == 1


def test_the_window_looks_by_itself(qtbot, resting):
    window, measure = resting
    window.feature(IdleMeasuring)._timer.start()
    wait(qtbot, lambda: measure.begun == 1)


def test_a_key_ends_it_and_another_rest_begins_it_anew(qtbot, resting):
    window, measure = resting
    look_until(qtbot, window, lambda: window.feature(IdleMeasuring).measuring.running)
    qtbot.keyClick(window, Qt.Key.Key_F)
    assert measure.stopped.wait(60)
    look_until(qtbot, window, lambda: measure.begun == 2)


def test_it_neither_begins_nor_goes_on_while_it_plays(qtbot, resting):
    window, measure = resting
    look_until(qtbot, window, lambda: window.feature(IdleMeasuring).measuring.running)
    window.workbench.play()
    window.feature(IdleMeasuring).poll()
    assert measure.stopped.wait(60)
    look_until(qtbot, window, lambda: not window.feature(IdleMeasuring).measuring.running)
    qtbot.wait(100)
    window.feature(IdleMeasuring).poll()
    assert not window.feature(IdleMeasuring).measuring.running
    assert measure.begun == 1


def test_it_waits_for_a_comparison(qtbot, resting):
    window, measure = resting
    press(qtbot, window, window.docks["Compare"].toggleViewAction())
    window.feature(CompareView).panel.start()
    qtbot.wait(100)
    window.feature(IdleMeasuring).poll()
    assert measure.begun == 0
    window.feature(CompareView).panel.stop()
    wait(qtbot, lambda: not window.feature(CompareView).panel.running)
    look_until(qtbot, window, lambda: measure.begun == 1)


@pytest.mark.parametrize("obstacle", ["turned off", "measured", "disturbed"])
def test_measuring_does_not_begin_if_off_done_or_disturbed(qtbot, resting, monkeypatch, obstacle):
    window, measure = resting
    if obstacle == "turned off":
        window.feature(IdleMeasuring).action.trigger()
        assert window.settings.value(idle_measuring.KEY, True, bool) is False
    elif obstacle == "measured":
        rows = (Row("chain", 8, 1, "float64", "abia", 2e-6, 1e-15, "step"),)
        Measurements(timings.table_path(), rows).save()
    else:
        monkeypatch.setattr(idle_measuring, "is_disturbed", lambda: True)
    qtbot.wait(100)
    window.feature(IdleMeasuring).poll()
    assert measure.begun == 0


def test_turning_it_off_ends_it(qtbot, resting):
    window, measure = resting
    look_until(qtbot, window, lambda: window.feature(IdleMeasuring).measuring.running)
    window.feature(IdleMeasuring).action.trigger()
    window.feature(IdleMeasuring).poll()
    assert measure.stopped.wait(60)


def test_a_fault_is_said_once(qtbot, resting):
    window, measure = resting
    measure.fault = "the disk is full"
    measure.go.set()
    look_until(qtbot, window, lambda: "the disk is full" in window.statusBar().currentMessage())
    qtbot.wait(100)
    window.feature(IdleMeasuring).poll()
    assert measure.begun == 1


def test_closing_ends_it(qtbot, resting):
    window, measure = resting
    look_until(qtbot, window, lambda: window.feature(IdleMeasuring).measuring.running)
    window.close()
    assert measure.stopped.is_set()


def test_a_busy_machine_and_a_battery_are_disturbance(monkeypatch, tmp_path):
    monkeypatch.setattr(idle_measuring, "BATTERIES", tmp_path)
    monkeypatch.setattr(idle_measuring.os, "getloadavg", lambda: (0.0, 0.0, 0.0), raising=False)
    assert not idle_measuring.is_disturbed()
    (tmp_path / "BAT0").mkdir()
    (tmp_path / "BAT0" / "status").write_text("Discharging\n")
    assert idle_measuring.is_disturbed()
    (tmp_path / "BAT0" / "status").write_text("Charging\n")
    assert not idle_measuring.is_disturbed()
    monkeypatch.setattr(idle_measuring.os, "getloadavg", lambda: (1e3, 0.0, 0.0), raising=False)
    assert idle_measuring.is_disturbed()
