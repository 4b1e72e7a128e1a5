"""The device that the automatic choice takes, from made-up tables of both: no GPU is needed."""

import pytest

import engine
from engine.cuda.runtime import device as gpu
from engine.selection import choice, timings
from engine.selection.steppers import ALGORITHMS, devices_serving
from engine.selection.timings import Measurements, Row

SECONDS = {"cpu": {"abia": 4e-4, "dca": 1e-4}, "cuda": {"abia": 9e-4, "dca": 2e-4, "cfa": 5e-5}}
CHAIN = engine.chain(1000)


@pytest.fixture
def both(nothing_measured, monkeypatch):
    """A GPU on which CFA is the fastest call, and of the steps DCA-ABA."""
    monkeypatch.setattr(gpu, "why_not", lambda: None)

    def table(device):
        rows = [
            Row("chain", 1000, batch, dtype, name, seconds * batch, 1e-14, work)
            for name, seconds in SECONDS[device].items()
            for batch in (1, 64)
            for dtype in ("float64", "float32")
            for work in ("call", "step")
            if work == "call"
            or (name in ALGORITHMS[device] and name != "cfa" and (device, dtype) != ("cpu", "float32"))
        ]
        return Measurements(nothing_measured / device, tuple(rows), device=device)

    monkeypatch.setattr(timings, "load", table)
    return table


@pytest.mark.usefixtures("both")
def test_the_faster_device_is_taken_for_calls_and_for_steps():
    assert choice.place(CHAIN) == ("cuda", "; on cuda, by 100 µs on cpu and 50 µs on cuda")
    steps = {"cpu": ("abia", "dca"), "cuda": ("abia", "dca")}
    assert choice.place(CHAIN, among=steps, work="step") == ("cpu", "; on cpu, by 100 µs on cpu and 200 µs on cuda")
    assert choice.place(CHAIN, algorithm="abia").device == "cpu"


@pytest.mark.usefixtures("both")
def test_single_precision_is_simulated_where_it_can_be_however_small():
    short = engine.chain(2)

    def place(algorithm: str, dtype: str) -> choice.DeviceChoice:
        return choice.place(short, "auto", algorithm, 1, dtype, devices_serving(short, None, dtype, algorithm), "step")

    assert place("auto", "float32") == ("cuda", "; on cuda, which alone does this")
    assert place("abia", "float32").device == "cuda"
    assert place("auto", "float64").device == "cpu"


@pytest.mark.usefixtures("both")
def test_a_scene_moves_the_automatic_device_to_the_cpu():
    scene = engine.Scene(ground=engine.Plane())
    assert engine.Simulation(engine.chain(300), device="auto", scene=scene).device == "cpu"


@pytest.mark.usefixtures("both")
def test_an_algorithm_a_device_lacks_does_not_choose_that_device():
    assert choice.place(CHAIN, algorithm="cfa").device == "cuda"
    assert choice.place(CHAIN, algorithm="cfa", among={"cpu": ("abia",), "cuda": ("abia",)}).device == "cpu"


def test_where_there_is_no_gpu_a_large_batch_tells_why(nothing_measured, monkeypatch):
    monkeypatch.setattr(gpu, "why_not", lambda: "CUDA finds no device")
    assert not timings.load("cpu").rows
    assert choice.place(CHAIN) == ("cpu", "; on the CPU, since CUDA finds no device")
    assert choice.place(engine.chain(3)) == ("cpu", "")
    assert nothing_measured.is_dir()
