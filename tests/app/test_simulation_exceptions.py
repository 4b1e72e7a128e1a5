"""An exception in the simulation's thread is reported, the run is kept, and the robot can continue."""

from windows import case, wait

import engine
from app.simulation.running import Running
from app.window import Window


def test_a_fault_in_a_step_is_told_and_the_thread_lives_on(qtbot, opened, monkeypatch):
    window = opened(engine.find_robot("double_pendulum"))
    window.run.play.trigger()
    wait(qtbot, lambda: window.workbench.robot.time > 0.2)
    for fault, words in (
        (RuntimeError("lost"), "lost"),
        (MemoryError(), "it does not fit into memory"),
        (MemoryError("lost"), "lost"),
        (ArithmeticError(), "ArithmeticError"),
        (SystemExit("lost"), "lost"),
        (KeyError("gone"), "gone"),
    ):
        with case(repr(fault)):
            fail_and_go_on(qtbot, window, monkeypatch, fault, words)


def fail_and_go_on(qtbot, window: Window, monkeypatch, fault: BaseException, words: str) -> None:
    bench, advance = window.workbench, Running.advance
    run, frames = bench.replay.chosen, len(bench.replay.chosen)
    window.statusBar().clearMessage()

    def fail(*_):
        raise fault

    monkeypatch.setattr(Running, "advance", fail)
    wait(qtbot, lambda: not bench.robot.playing)
    assert "the simulation stopped: " in window.statusBar().currentMessage()
    assert words in window.statusBar().currentMessage()
    monkeypatch.setattr(Running, "advance", advance)
    stopped = bench.robot.time
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > stopped + 0.1)
    assert list(bench.replay.recording.runs) == [run]
    assert len(run) > frames
