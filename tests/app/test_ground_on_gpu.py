"""A robot that stands on the ground on a GPU: the messages, recordings and hand-overs of the window's thread."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from pretended_gpu import CUDARuntimeError
from test_worker import Listener, until, wait_for_frame

import engine
from app.simulation.messages import Configured, Loaded, Settings, Snapshot
from app.simulation.recorder import Recorder
from app.simulation.worker import Worker

CPU, GPU = Settings(device="cpu"), Settings(device="cuda")
STANDS = engine.find_robot("quadruped")


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def standing(recorder) -> Iterator[tuple[Listener, Loaded]]:
    """A worker whose robot stands on its feet, on the CPU, and what it said when it was opened."""
    listener = Listener(worker := Worker(attachments=(recorder,)))
    worker.open(str(STANDS), CPU)
    yield listener, listener.wait_for(Loaded)[0]
    worker.close()


def on_gpu(heard: Listener, loaded: Loaded, **options) -> Configured:
    """Return the worker's reply to a request for the GPU, with the settings of the opened robot."""
    number = heard.worker.configure(replace(loaded.settings, device="cuda", **options))
    until(lambda: heard.count_of(Configured) and heard.events[-1].number == number)
    return heard.events[-1]


def settled(heard: Listener, loaded: Loaded) -> Snapshot:
    """A snapshot of the robot when it has stood for a while."""
    seen: list[Snapshot] = []
    heard.worker.play()

    def stands(frame: Snapshot) -> bool:
        if frame.time > 0.3 and frame.contacts is not None and frame.phases:
            seen.append(frame)
        return bool(seen)

    wait_for_frame(loaded.frames, stands)
    return seen[0]


def check_standing(heard: Listener, loaded: Loaded, recording: engine.Recording) -> None:
    """The feet support the robot, residuals are reported, and the recording has the contacts."""
    frame = settled(heard, loaded)
    weight = -loaded.model.gravity[2] * loaded.model.mass.sum()
    heard.worker.pause()
    assert frame.contacts is not None
    assert len(frame.contacts.force) >= 3
    assert set(frame.contacts.state) <= {"open", "stick", "slip"}
    assert {type(x) for x in vars(frame.contacts).values()} == {np.ndarray}
    assert frame.contacts.force[:, 2].sum() == pytest.approx(weight, rel=0.3)
    assert 0 < frame.residual <= 1e-6
    run = recording.runs[-1]
    last = recording.frame(run, run.last).contacts
    assert last is not None
    assert type(last.number) is np.ndarray
    assert last.number[0] >= 3


def check_standing_on_gpu(heard: Listener, loaded: Loaded, recording: engine.Recording) -> None:
    answer = on_gpu(heard, loaded)
    assert (answer.device, answer.refusal, answer.settings.ground) == ("cuda", "", True)
    check_standing(heard, loaded, recording)


@pytest.mark.usefixtures("pretended_gpu")
def test_a_robot_stands_on_the_ground_on_a_gpu(standing, recorder):
    check_standing_on_gpu(*standing, recorder.recording)


@pytest.mark.gpu
def test_a_robot_stands_on_the_ground_on_this_machines_gpu(standing, recorder):
    check_standing_on_gpu(*standing, recorder.recording)


def test_where_a_gpu_fails_a_robot_stands_on_by_the_cpu(standing, recorder, pretended_gpu):
    heard, loaded = standing
    on_gpu(heard, loaded)
    settled(heard, loaded)
    pretended_gpu.fault_in_flight = CUDARuntimeError("the driver is gone")
    until(lambda: heard.count_of(Configured) and heard.events[-1].refusal)
    assert (heard.events[-1].device, heard.events[-1].settings.ground) == ("cpu", True)
    check_standing(heard, loaded, recorder.recording)


@pytest.mark.usefixtures("pretended_gpu")
def test_an_algorithm_that_does_not_step_in_a_scene_gives_way(standing):
    _, loaded = standing
    model, scene = loaded.model, engine.Scene()
    assert engine.simulation_algorithms(model, "cuda", scene) == ("abia", "jsiia")
    assert "dca" in engine.simulation_algorithms(model, "cuda")
    assert (
        engine.simulation_refusal("dca", model, "cuda", scene) == "it does not step robots in a scene on device 'cuda'"
    )
    assert engine.simulation_refusal("dca", model, "cpu", scene) is None
