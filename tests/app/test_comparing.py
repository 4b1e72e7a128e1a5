"""The thread that a comparison runs in, and what the form gives it."""

import time
from collections.abc import Callable, Iterator

from PyQt6.QtCore import Qt

import engine
from app.features.compare_view import CompareView
from app.jobs.comparing import Comparing, Report

HALF = engine.ComparisonResult((), 0.5, None, "half")


class Scripted:
    """A measurement that reports once, and then follows the script."""

    def __init__(self, then: Callable[[Callable[[], bool]], None], command: str = "main.py compare"):
        self.then, self.words = then, command

    def run(self, stop: Callable[[], bool]) -> Iterator[engine.ComparisonResult]:
        yield HALF
        self.then(stop)

    def command(self) -> str:
        if not self.words:
            raise ValueError("it is in no file")
        return self.words


def last(comparing: Comparing) -> Report:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        report = comparing.poll()
        if report is not None and report.over:
            return report
        time.sleep(0.002)
    raise AssertionError("it is never over")


def test_an_error_in_a_measurement_is_told_and_what_was_found_stays():
    def fail(_stop: Callable[[], bool]) -> None:
        raise RuntimeError("the cable is out")

    comparing = Comparing()
    comparing.start(lambda: Scripted(fail, ""))
    report = last(comparing)
    assert report.problem.startswith("RuntimeError: the cable is out (")
    assert report.found is HALF
    assert report.no_command == "it is in no file"
    comparing.close()


def test_what_cannot_be_measured_is_told_in_one_sentence():
    comparing = Comparing()
    comparing.start(lambda: engine.Comparison(("no such robot",)))
    report = last(comparing)
    assert "no such robot" in report.problem
    assert report.found is None
    comparing.close()


def test_stop_is_heard_and_a_second_start_meanwhile_does_nothing():
    def wait_for(stop: Callable[[], bool]) -> None:
        while not stop():
            time.sleep(0.001)

    comparing = Comparing()
    comparing.start(lambda: Scripted(wait_for))
    comparing.start(lambda: Scripted(wait_for, "another"))
    comparing.stop()
    report = last(comparing)
    assert (report.stopped, report.command, comparing.running) == (True, "main.py compare", False)
    comparing.close()


def test_a_chain_that_is_shown_is_measured_once(opened):
    form = opened(engine.chain(6)).feature(CompareView).panel.form
    form.chain.setCheckState(Qt.CheckState.Checked)
    form.length.setValue(6)
    assert [model.name for model in form.request()().robots] == ["chain6"]
    form.length.setValue(5)
    assert [model.name for model in form.request()().robots] == ["chain6", "chain5"]
    opened(engine.chain(5, seed=1))  # another chain of that name
    assert [model.name for model in form.request()().robots] == ["chain5", "chain5"]
