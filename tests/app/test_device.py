"""Changing the device of a running simulation, and failures of the GPU."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from pretended_gpu import CUDARuntimeError, OutOfMemoryError
from PyQt6.QtCore import Qt
from test_worker import SWINGING, Listener, until, wait_for_frame
from windows import wait

import engine
from app.features.attaching import SimulationChoices, Status, TimingView
from app.simulation.messages import Configured, Latest, Loaded, Preparing, Settings, Stopped
from app.simulation.pace import DEADLINE, LONGER, TICK
from app.simulation.worker import Worker
from app.window import Window
from engine.cuda.runtime import device
from engine.cuda.runtime.compiler import CompileError

CPU, GPU = Settings(device="cpu"), Settings(device="cuda")


@pytest.fixture
def swinging(tmp_path) -> Iterator[tuple[Listener, Latest]]:
    """A worker whose robot is a pendulum on the CPU, let go at 1 rad, and its snapshots."""
    path = tmp_path / "pendulum.urdf"
    path.write_text(SWINGING, encoding="utf-8")
    worker = Worker()
    listener = Listener(worker)
    worker.open(str(path), CPU)
    frames = listener.wait_for(Loaded)[0].frames
    worker.configure(CPU)
    worker.set_coordinate(0, (0,), 1.0)
    yield listener, frames
    worker.close()


def configured(listener: Listener, number: int) -> Configured:
    until(
        lambda: (
            listener.count_of(Configured)
            and any(isinstance(event, Configured) and event.number == number for event in listener.events)
        )
    )
    return next(event for event in listener.events if isinstance(event, Configured) and event.number == number)


def test_a_switch_while_it_plays_keeps_state_efforts_targets_and_time(swinging, pretended_gpu):
    heard, frames = swinging
    heard.worker.change(lambda running: running.set_one("tau", 0, 0.25))
    heard.worker.set_target(0, 0.5)
    heard.worker.play()
    wait_for_frame(frames, lambda frame: frame.time > 0.05)
    answer = configured(heard, heard.worker.configure(GPU))
    assert (answer.device, answer.refusal, answer.settings.device) == ("cuda", "", "cuda")
    assert heard.count_of(Preparing) == 1
    seen = []
    wait_for_frame(frames, lambda frame: seen.append((frame.time, frame.tau[0], frame.target[0])) or len(seen) == 5)
    times, efforts, targets = zip(*seen, strict=True)
    assert times[0] > 0.05
    assert all(0 <= later - sooner < 0.5 for sooner, later in itertools.pairwise(times))
    assert times[-1] > times[0], "it goes on playing"
    assert set(efforts) == {0.25}
    assert set(targets) == {0.5}
    assert pretended_gpu.launches
    answer = configured(heard, heard.worker.configure(CPU))
    assert answer.device == "cpu"
    time, _, _ = wait_for_frame(frames, lambda frame: frame.time > times[-1])
    assert time < times[-1] + 1.0
    assert heard.count_of(Stopped) == 0


def test_steps_are_the_engines_own_on_either_device(swinging, pretended_gpu):
    heard, frames = swinging
    heard.worker.step(25)
    configured(heard, heard.worker.configure(GPU))
    heard.worker.step(30)
    configured(heard, heard.worker.configure(CPU))
    heard.worker.step(45)
    now, q, v = wait_for_frame(frames, lambda frame: frame.time > 0.099)
    alone = engine.Simulation(heard.wait_for(Loaded)[0].model, q=[1.0], device="cpu")
    alone.step(100)
    assert now == pytest.approx(0.1, abs=1e-12)
    np.testing.assert_array_equal(q, alone.q[0])
    np.testing.assert_array_equal(v, alone.v[0])
    assert 30 in pretended_gpu.launches


def test_where_there_is_no_gpu_the_robot_plays_on_and_the_reason_is_told(swinging, monkeypatch):
    reason = "CUDA finds no device; check that nvidia-smi lists one"
    monkeypatch.setattr(device, "why_not", lambda: reason)
    heard, frames = swinging
    heard.worker.play()
    answer = configured(heard, heard.worker.configure(GPU))
    assert reason in answer.refusal
    assert (answer.device, answer.settings.device) == ("cpu", "cpu")
    before, _, _ = wait_for_frame(frames)
    wait_for_frame(frames, lambda frame: frame.time > before)


NOT_COMPILED = CompileError("step.cu does not compile: …")
NOT_COMPILED.__cause__ = CUDARuntimeError("NVRTC_ERROR_COMPILATION")


@pytest.mark.parametrize(
    "fault", [OutOfMemoryError("it needs 4 GiB, 1 is free"), CUDARuntimeError("no such driver"), NOT_COMPILED]
)
def test_a_gpu_that_cannot_take_it_leaves_it_where_it_is(swinging, pretended_gpu, fault):
    pretended_gpu.fault = fault
    heard, frames = swinging
    heard.worker.play()
    wait_for_frame(frames, lambda frame: frame.time > 0.02)
    answer = configured(heard, heard.worker.configure(GPU))
    assert answer.refusal == str(fault)
    assert (answer.device, answer.settings.device) == ("cpu", "cpu")
    before, _, _ = wait_for_frame(frames)
    assert before > 0.02
    wait_for_frame(frames, lambda frame: frame.time > before)


@pytest.mark.parametrize("fault", [RuntimeError("no kernel abia<double>"), KeyError("tau")], ids=repr)
def test_a_fault_of_the_program_in_making_one_is_told_as_such(swinging, pretended_gpu, fault):
    pretended_gpu.fault = fault
    heard, frames = swinging
    answer = configured(heard, heard.worker.configure(GPU))
    assert (answer.device, answer.settings.device) == ("cpu", "cpu")
    stop = heard.wait_for(Stopped)[0]
    assert stop.problem == f"the simulation stopped: {fault}"
    assert "pretended_gpu.py" in stop.detail, "no traceback to report"
    heard.worker.play()
    wait_for_frame(frames, lambda frame: frame.time > 0.02)


def test_a_fault_of_the_program_in_the_last_frame_changes_nothing_and_is_told(swinging, pretended_gpu):
    heard, _ = swinging
    configured(heard, heard.worker.configure(GPU))
    pretended_gpu.lag = 0.3  # so that the frame is under way when the CPU takes over
    heard.worker.step(5)
    pretended_gpu.fault_in_flight = RuntimeError("no frame was requested")
    answer = configured(heard, heard.worker.configure(CPU))
    assert (answer.device, answer.refusal) == ("cuda", "no frame was requested")
    assert heard.wait_for(Stopped)[0].problem == "the simulation stopped: no frame was requested"


def test_a_gpu_that_fails_in_flight_hands_over_to_the_cpu(swinging, pretended_gpu):
    heard, frames = swinging
    configured(heard, heard.worker.configure(GPU))
    heard.worker.change(lambda running: running.set_one("tau", 0, 0.25))
    heard.worker.play()
    reached, _, _ = wait_for_frame(frames, lambda frame: frame.time > 0.1)
    pretended_gpu.fault_in_flight = CUDARuntimeError("cudaErrorIllegalAddress: an illegal memory access\nand more")
    until(lambda: heard.count_of(Configured) and heard.events[-1].refusal)
    reported = heard.events[-1]
    assert reported.refusal.endswith("the GPU failed (cudaErrorIllegalAddress: an illegal memory access)")
    assert (reported.device, reported.settings.device) == ("cpu", "cpu")
    seen = []
    wait_for_frame(frames, lambda frame: seen.append((frame.time, frame.tau[0])) or frame.time > reached + 0.1)
    assert seen[0][0] >= reached, "simulated time goes back"
    assert {effort for _, effort in seen} == {0.25}
    assert heard.count_of(Stopped) == 0


def test_commands_are_obeyed_while_the_gpu_is_at_work(swinging, pretended_gpu):
    heard, frames = swinging
    configured(heard, heard.worker.configure(GPU))
    pretended_gpu.lag = 1.0
    heard.worker.play()
    until(lambda: len(pretended_gpu.launches) > 1)  # after the one that warms it
    number = heard.worker.configure(Settings(device="cuda", dt=2e-3))
    until(lambda: heard.count_of(Preparing) == 2)
    pretended_gpu.lag = 0.0
    assert configured(heard, number).settings.dt == 2e-3
    wait_for_frame(frames)


def test_a_launch_takes_no_longer_than_a_tick_may(swinging, pretended_gpu):
    heard, frames = swinging
    configured(heard, heard.worker.configure(GPU))
    heard.worker.set_speed(10.0)
    pretended_gpu.cost = 4e-4  # a quarter of the speed that is asked for
    heard.worker.play()
    factors = []
    wait_for_frame(frames, lambda frame: factors.append(frame.factor) or frame.time > 4.0)
    assert max(pretended_gpu.launches) * pretended_gpu.cost <= LONGER + 1e-9
    measured = [factor for factor in factors if np.isfinite(factor)]
    assert 0 < max(measured) < 2.6
    heard.worker.pause()
    heard.worker.set_speed(0.2)
    pretended_gpu.launches.clear()
    heard.worker.play()
    until(lambda: len(pretended_gpu.launches) > 10)
    assert max(pretended_gpu.launches[5:]) * pretended_gpu.cost <= DEADLINE * TICK + 1e-9


@pytest.mark.usefixtures("pretended_gpu")
def test_of_two_device_changes_the_last_is_applied(swinging):
    heard, _ = swinging
    heard.worker.configure(GPU)
    last = heard.worker.configure(CPU)
    assert configured(heard, last).device == "cpu"
    until(lambda: not heard.worker._loop.changeover.preparing)
    assert [event.device for event in heard.events if isinstance(event, Configured)][-1] == "cpu"


def choose(window: Window, name: str) -> None:
    next(action for action in window.feature(Status).device_button.menu().actions() if action.data() == name).trigger()


def test_the_window_switches_the_device_while_it_plays(qtbot, pretended_gpu, opened):
    opened(engine.find_robot("scara")).workbench.configuring.set_device("cpu")
    window = opened(engine.find_robot("arm7"))
    timing, bench = window.feature(TimingView).panel, window.workbench
    assert window.feature(Status).device_button.text() == "CPU"
    qtbot.keyClick(window, Qt.Key.Key_Space)
    wait(qtbot, lambda: timing.steps.count > 10)
    before = bench.robot.time
    wait(qtbot, lambda: window.feature(SimulationChoices).devices.actions()[2].isEnabled())
    choose(window, "cuda")
    wait(qtbot, lambda: bench.computation.device == "cuda" and timing.steps.count > timing.steps.marked + 10)
    assert bench.robot.playing
    assert bench.robot.time > before
    assert window.feature(Status).device_button.text() == "GPU"
    heads = [timing.table.headerData(column, Qt.Orientation.Horizontal) for column in (1, 3)]
    assert heads == ["ABA GPU\nmedian", "ABA\nbefore"]
    pretended_gpu.fault_in_flight = CUDARuntimeError("the driver is gone")
    wait(qtbot, lambda: bench.computation.device == "cpu")
    assert "the GPU failed (the driver is gone)" in window.statusBar().currentMessage()
    assert bench.robot.settings.device == "cpu"
    now = bench.robot.time
    wait(qtbot, lambda: bench.robot.time > now)


def test_what_cannot_serve_says_why_in_the_menus(qtbot, opened, monkeypatch):
    monkeypatch.setattr(device, "why_not", lambda: "CUDA finds no device; check that nvidia-smi lists one")
    window = opened(engine.find_robot("humanoid"))
    auto, cpu, gpu = window.feature(SimulationChoices).devices.actions()
    wait(qtbot, lambda: "CUDA finds no device" in gpu.text())
    assert (auto.isEnabled(), cpu.isEnabled(), gpu.isEnabled()) == (True, True, False)
    assert gpu.text() == "GPU\tCUDA finds no device"
    assert gpu.toolTip() == "CUDA finds no device; check that nvidia-smi lists one"
    cfa = next(action for action in window.feature(SimulationChoices).algorithms.actions() if action.data() == "cfa")
    assert not cfa.isEnabled()
    assert cfa.text() == "CFA\tjoint 'floating_base' is free"
    window.run.ground.trigger()
    wait(qtbot, lambda: not window.workbench.robot.settings.ground)
    window.workbench.configuring.set_device("cuda")
    wait(qtbot, lambda: "CUDA finds no device" in window.statusBar().currentMessage())
    wait(qtbot, lambda: window.workbench.robot.settings.device != "cuda")


@pytest.mark.usefixtures("pretended_gpu")
def test_the_choice_of_a_gpu_is_taken_when_a_robot_is_loaded(qtbot, opened):
    window = opened()
    wait(qtbot, lambda: window.workbench.computation.device == "cuda")  # which "auto" takes here
    assert window.feature(Status).device_button.text() == "GPU (auto)"


@pytest.mark.usefixtures("pretended_gpu")
def test_a_robot_on_the_ground_is_simulated_on_the_gpu_and_its_contacts_are_seen(qtbot, opened):
    window = opened(engine.find_robot("quadruped"))
    bench, viewport = window.workbench, window.viewport
    gpu = window.feature(SimulationChoices).devices.actions()[2]
    wait(qtbot, gpu.isEnabled)
    choose(window, "cuda")
    wait(qtbot, lambda: bench.computation.device == "cuda")
    dca = next(action for action in window.feature(SimulationChoices).algorithms.actions() if action.data() == "dca")
    wait(qtbot, lambda: not dca.isEnabled())
    assert dca.text() == "DCA-ABA\tit does not step robots in a scene on device 'cuda'"
    qtbot.keyClick(window, Qt.Key.Key_Space)
    wait(qtbot, lambda: viewport.view().marks is not None and bench.robot.time > 0.2)
    assert bench.computation.device == "cuda"
    assert len(bench.shown.contacts.point) >= 3
