"""If a GPU is lost, or out of memory, while the window plays, the CPU continues and the run is kept.

A bug of the program while a GPU simulates is reported as such.
"""

from itertools import product

import numpy as np
import pytest
from pretended_gpu import CUDARuntimeError, OutOfMemoryError
from windows import case, frames_of, wait

import engine
from app.features.log_view import LogView

FAULTS = [OutOfMemoryError("Out of memory allocating 9 bytes"), CUDARuntimeError("cudaErrorDevicesUnavailable: gone")]


@pytest.fixture
def on_gpu(qtbot, pretended_gpu, opened):
    window = opened(engine.find_robot("double_pendulum"))
    bench = window.workbench
    wait(qtbot, lambda: "cuda" not in bench.computation.device_refusals)
    bench.configuring.set_device("cuda")
    wait(qtbot, lambda: bench.computation.device == "cuda")
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.3 and bool(pretended_gpu.launches))
    return window


@pytest.mark.parametrize("where", ["launch", "flight"])
@pytest.mark.parametrize("fault", FAULTS, ids=["memory", "taken away"])
def test_the_cpu_goes_on_and_the_run_so_far_is_kept(qtbot, on_gpu, pretended_gpu, monkeypatch, fault, where):
    bench = on_gpu.workbench
    recording, run = bench.replay.recording, bench.replay.chosen
    before = frames_of(recording, run)
    step = pretended_gpu.step

    def gone(simulation, n=1):
        if simulation.device == "cuda":
            raise fault
        step(simulation, n)

    if where == "launch":
        monkeypatch.setattr(pretended_gpu, "step", gone)
    else:
        pretended_gpu.fault_in_flight = fault
    wait(qtbot, lambda: bench.computation.device == "cpu")
    message = on_gpu.statusBar().currentMessage()
    assert message == f"switched to the CPU: the GPU failed ({fault})"
    failed = bench.robot.time
    wait(qtbot, lambda: bench.robot.time > failed + 0.2)
    assert bench.robot.playing
    assert bench.robot.settings.device == "cpu"
    assert list(recording.runs) == [run]
    for frame in before:
        again = recording.frame(run, frame.index)
        assert again.time == frame.time
        np.testing.assert_array_equal(again.checkpoint.q, frame.checkpoint.q)
    times = [frame.time for frame in frames_of(recording, run)]
    assert np.all(np.diff(times) >= 0)
    assert times[-1] > before[-1].time + 0.1


def test_one_that_fails_at_rest_is_told_at_the_next_touch(qtbot, on_gpu, pretended_gpu):
    bench = on_gpu.workbench
    on_gpu.run.play.trigger()
    wait(qtbot, lambda: not bench.robot.playing)
    pretended_gpu.fault_in_flight = FAULTS[1]
    now = bench.robot.time
    bench.step()
    wait(qtbot, lambda: bench.computation.device == "cpu")
    bench.step()
    wait(qtbot, lambda: bench.robot.time > now)
    assert "the GPU failed" in on_gpu.statusBar().currentMessage()


def test_a_fault_of_the_program_is_told_as_such(qtbot, on_gpu, pretended_gpu, monkeypatch):
    faults = (RuntimeError("no kernel abia<double>"), KeyError("tau"), TypeError())
    for where, fault in product(("launch", "flight"), faults):
        with case(where, repr(fault)), monkeypatch.context() as patch:
            one_is_told_and_it_plays_on(qtbot, on_gpu, pretended_gpu, patch, where, fault)


def one_is_told_and_it_plays_on(qtbot, window, pretended_gpu, patch, where: str, fault: Exception) -> None:
    bench, log = window.workbench, window.features[LogView]
    step = pretended_gpu.step
    log.entries.clear()

    def wrong(*_):
        raise fault

    if where == "launch":
        patch.setattr(pretended_gpu, "step", wrong)
    else:
        pretended_gpu.fault_in_flight = fault
    wait(qtbot, lambda: not bench.robot.playing)
    message = window.statusBar().currentMessage()
    assert message == f"the simulation stopped: {str(fault) or 'TypeError'}"
    assert "the GPU failed" not in message
    assert bench.computation.device == "cuda"
    assert [entry.text for entry in log.entries if entry.detail] == [message], "told again and again"
    patch.setattr(pretended_gpu, "step", step)
    pretended_gpu.fault_in_flight = None
    stopped = bench.robot.time
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > stopped + 0.1)
    assert bench.computation.device == "cuda"
