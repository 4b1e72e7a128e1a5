"""An exception in the simulation's thread is reported, the run is kept, and the robot can continue."""

import pytest
from windows import wait

import engine
from app.simulation.running import Running


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (RuntimeError("lost"), "lost"),
        (MemoryError("lost"), "lost"),
        (MemoryError(), "it does not fit into memory"),
        (SystemExit("lost"), "lost"),
        (KeyError("lost"), "lost"),
        (ArithmeticError(), "ArithmeticError"),
    ],
    ids=repr,
)
def test_a_fault_in_a_step_is_told_and_the_thread_lives_on(qtbot, opened, monkeypatch, fault, words):
    window = opened(engine.find_robot("double_pendulum"))
    bench = window.workbench
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.2)
    advance, run = Running.advance, bench.replay.chosen
    frames = len(run)

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
