"""Measuring for the automatic choice from the window: the thread, and the timing panel."""

import threading
import time
from collections.abc import Callable

import pytest
from PyQt6.QtCore import Qt
from windows import HEARD, answers, press, wait

import engine
from app.features.attaching import CompareView, Status, TimingView
from app.jobs.measuring import Measuring, Progress
from app.panels.measure_prompt import UNMEASURED
from app.window import Window
from engine.selection import timings
from engine.selection.timings import Measurements, Row

PATIENCE = 60.0  # s


class Scripted:
    """A measurement of four cases that waits after the first until it is let go; by it, jsiia is the fastest."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.fault = fault
        self.go = threading.Event()

    def __call__(self, progress: Callable[[int, int], None], *, stop: Callable[[], bool]) -> Measurements | None:
        progress(1, 4)
        while not self.go.wait(0.002):
            if stop():
                return None
        if self.fault:
            raise self.fault
        times = {"abia": 2e-6, "jsiia": 1e-6}
        rows = [Row("chain", 8, 1, "float64", name, seconds, 1e-15, "step") for name, seconds in times.items()]
        table = Measurements(timings.table_path(), tuple(rows))
        table.save()
        progress(4, 4)
        return table


pytestmark = pytest.mark.usefixtures("nothing_measured")


def last(measuring: Measuring) -> Progress:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        progress = measuring.poll()
        if progress is not None and progress.over:
            return progress
        time.sleep(0.002)
    raise AssertionError("it is never over")


def begin(qtbot, window: Window, measure: Scripted) -> None:
    """Press the button, and wait for the first case."""
    prompt = window.feature(TimingView).panel.prompt
    prompt.measuring = Measuring(measure)
    qtbot.mouseClick(prompt.button, Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: prompt.progress.value() == 250)


def test_stop_is_heard_and_leaves_nothing():
    measuring = Measuring(Scripted())
    measuring.start()
    measuring.start()
    assert sum(thread.name == "measurement" for thread in threading.enumerate()) == 1
    measuring.stop()
    assert last(measuring) == Progress(over=True, stopped=True)
    assert not measuring.running
    assert not engine.measured()


def test_a_stop_that_comes_when_all_is_done_is_too_late():
    scripted = Scripted()
    measuring = Measuring(lambda progress, *, stop: (scripted.go.wait(PATIENCE), progress(4, 4), stop()))
    measuring.start()
    measuring.stop()
    scripted.go.set()
    assert last(measuring) == Progress(1.0, over=True)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (PermissionError(13, "Permission denied", "/cache"), "the measurement was not kept: Permission denied"),
        (RuntimeError("the cable is out"), "RuntimeError: the cable is out ("),
    ],
)
def test_an_error_is_told_and_the_button_stays(qtbot, opened, fault, words):
    window = opened(engine.find_robot("arm7"))
    measure = Scripted(fault)
    begin(qtbot, window, measure)
    measure.go.set()
    prompt = window.feature(TimingView).panel.prompt
    wait(qtbot, window.run.play.isEnabled)
    assert prompt.text.text().startswith(words)
    assert prompt.button.isVisible()
    assert prompt.button.text() == "Measure"
    begin(qtbot, window, Scripted())  # once more


def test_the_choice_is_made_anew_by_what_was_measured(qtbot, arm):
    timing = arm.feature(TimingView).panel
    assert timing.prompt.text.text() == UNMEASURED
    assert not timing.why.isVisible()
    qtbot.keyClick(arm, Qt.Key.Key_Space)
    wait(qtbot, lambda: arm.workbench.robot.time > 0.02)
    measure = Scripted()
    begin(qtbot, arm, measure)
    assert not arm.workbench.robot.playing
    assert not arm.run.play.isEnabled()
    assert not arm.feature(CompareView).panel.isEnabled()
    assert timing.prompt.button.text() == "Stop"
    measure.go.set()
    wait(qtbot, timing.why.isVisible)
    assert not timing.prompt.isVisible()
    assert arm.feature(Status).algorithm_button.text() == "CRBA (auto)"
    assert "1 µs a step beside 2 µs for ABA" in timing.why.text()
    assert timing.why.text().endswith("this run's own are timed below")  # else two durations of a step contradict
    begun = arm.workbench.robot.time
    wait(qtbot, lambda: arm.workbench.robot.playing and arm.workbench.robot.time > begun + 0.02)  # as before
    assert arm.run.play.isEnabled()
    assert arm.feature(CompareView).panel.isEnabled()


def test_stop_leaves_the_offer_and_what_was_paused_stays_so(qtbot, arm):
    begin(qtbot, arm, Scripted())
    qtbot.mouseClick(arm.feature(TimingView).panel.prompt.button, Qt.MouseButton.LeftButton)
    wait(qtbot, arm.run.play.isEnabled)
    assert arm.feature(TimingView).panel.prompt.text.text() == UNMEASURED
    assert not arm.feature(TimingView).panel.prompt.progress.isVisible()
    assert not arm.workbench.robot.playing


def test_it_goes_on_while_another_robot_is_opened_which_stays_paused(qtbot, opened):
    window = opened(engine.find_robot("arm7"))
    qtbot.keyClick(window, Qt.Key.Key_Space)
    measure = Scripted()
    begin(qtbot, window, measure)
    opened(engine.find_robot("scara"))
    assert window.feature(TimingView).panel.prompt.progress.isVisible()
    assert not window.run.play.isEnabled()
    measure.go.set()
    wait(qtbot, lambda: window.feature(Status).algorithm_button.text() == "CRBA (auto)")
    assert not window.workbench.robot.playing
    assert window.run.play.isEnabled()


def test_nothing_is_offered_where_it_would_change_nothing(qtbot, arm):
    arm.workbench.configuring.set_algorithm("jsiia")
    wait(qtbot, lambda: arm.feature(TimingView).panel.why.text() == "chosen by you")
    assert arm.feature(TimingView).panel.why.isVisible()
    assert not arm.feature(TimingView).panel.prompt.isVisible()


def test_it_waits_for_the_end_of_a_comparison(qtbot, arm):
    press(qtbot, arm, arm.docks["Compare"].toggleViewAction())
    arm.feature(CompareView).panel.start()
    prompt = arm.feature(TimingView).panel.prompt
    qtbot.mouseClick(prompt.button, Qt.MouseButton.LeftButton)
    assert "a comparison is running" in prompt.text.text()
    assert not prompt.measuring.running
    arm.feature(CompareView).panel.stop()
    wait(qtbot, lambda: not arm.feature(CompareView).panel.comparing.running)
    begin(qtbot, arm, Scripted())


def test_closing_ends_the_measurement(qtbot, opened):
    before = set(threading.enumerate())
    window = opened(engine.find_robot("arm7"))
    begin(qtbot, window, Scripted())
    window.close()
    assert not [thread for thread in set(threading.enumerate()) - before if thread.name == "measurement"]
    assert not engine.measured()


def test_the_window_answers_while_the_engine_measures(qtbot, arm):
    prompt = arm.feature(TimingView).panel.prompt
    qtbot.mouseClick(prompt.button, Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: prompt.progress.value() > 0)
    assert answers(qtbot, 50, 90)
    assert prompt.measuring.running
    begun = time.perf_counter()
    qtbot.mouseClick(prompt.button, Qt.MouseButton.LeftButton)
    wait(qtbot, arm.run.play.isEnabled)
    assert time.perf_counter() - begun < HEARD
    assert not engine.measured()


def test_stop_is_heard_at_once_while_nothing_is_compiled_yet(qtbot, opened, monkeypatch, tmp_path):
    monkeypatch.setenv("CATENA_CACHE_DIR", str(tmp_path / "empty"))
    window = opened(engine.find_robot("arm7"))
    prompt = window.feature(TimingView).panel.prompt
    qtbot.mouseClick(prompt.button, Qt.MouseButton.LeftButton)
    qtbot.wait(500)  # wherever it is by then
    begun = time.perf_counter()
    qtbot.mouseClick(prompt.button, Qt.MouseButton.LeftButton)
    wait(qtbot, window.run.play.isEnabled)
    assert time.perf_counter() - begun < HEARD
