"""Comparisons on the GPU, and its clock: with stubs, and on a GPU if there is one."""

import itertools
import json
import sys
from time import perf_counter
from types import SimpleNamespace

import numpy as np
import pytest

import engine
import main
from engine.bench.compare import candidate, command, comparison, user_algorithms
from engine.cuda.runtime import arrays, clock, device


def last(comparison):
    return list(comparison.run())[-1]


class Here:
    """In place of processes: all is done in this one, where stubs stand."""

    def __init__(self, count):
        self.count = count

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def __len__(self):
        return self.count

    def __getitem__(self, _):
        return self

    def starting(self, _):
        return iter(())

    def work(self, function, *arguments, stop):
        return itertools.takewhile(lambda _: not stop(), function(*arguments))


@pytest.fixture
def here(monkeypatch):
    for module in (command, comparison):
        monkeypatch.setattr(module, "Children", Here)


@pytest.mark.usefixtures("here")
def test_without_a_gpu_its_candidates_say_so(monkeypatch):
    monkeypatch.setattr(device, "why_not", lambda: "CUDA finds no device")
    rows = last(engine.Comparison(["arm7"], ["abia"], ["cuda", "cpu"], seconds=0.01)).rows
    assert [(row.device, row.verdict, row.reason) for row in rows] == [
        ("cuda", "refused", "CUDA finds no device"), ("cpu", "ok", ""),
    ]  # fmt: skip


class Gpu:
    """A GPU in simulated time: what is launched on a stream ends after what was there before; the host continues."""

    def __init__(self):
        self.now, self.ends = 0.0, {"null": 0.0, "other": 0.0}
        runtime = SimpleNamespace(deviceSynchronize=lambda: self.wait(max(self.ends.values())))
        current = SimpleNamespace(get_current_stream=lambda: "null", runtime=runtime, Event=lambda: Event(self))
        current.get_elapsed_time = lambda start, end: (end.at - start.at) * 1e3
        self.cupy = SimpleNamespace(cuda=current)

    def wait(self, until):
        self.now = max(self.now, until)

    def launch(self, seconds, stream="null"):
        self.now += 1e-6
        self.ends[stream] = max(self.now, self.ends[stream]) + seconds


class Event:
    def __init__(self, gpu):
        self.gpu, self.at = gpu, None

    def record(self, stream):
        self.at = max(self.gpu.now, self.gpu.ends[stream])

    def synchronize(self):
        self.gpu.wait(self.at)


@pytest.fixture
def gpu(monkeypatch):
    found = Gpu()
    monkeypatch.setitem(sys.modules, "cupy", found.cupy)
    clock._events.cache_clear()
    yield found
    clock._events.cache_clear()


def test_the_device_timer_ends_when_the_device_does(gpu):
    assert clock.device_seconds(lambda: gpu.launch(0.02), 5) == pytest.approx(0.02, rel=1e-3)
    assert gpu.now == pytest.approx(0.1, rel=1e-3)


def test_users_work_on_streams_of_their_own_is_counted(gpu, monkeypatch, tmp_path):
    path = tmp_path / "streams.py"
    path.write_text(
        "DEVICES = ('cuda',)\n\n\ndef late(model, q, v, tau):\n    GPU.launch(0.02, 'other')\n    return ANSWER\n"
    )
    model = engine.chain(3)
    at = candidate.sample_states(model, 2, 0)
    found = user_algorithms.load(user_algorithms.FunctionName(path, "late"))
    found.function.__globals__.update(GPU=gpu, ANSWER=engine.forward_dynamics(model, *at))
    monkeypatch.setattr(user_algorithms, "load", lambda _: found)
    monkeypatch.setattr(device, "why_not", lambda: None)
    monkeypatch.setattr(arrays, "to_device", lambda x: x)
    monkeypatch.setattr(candidate, "perf_counter", lambda: gpu.now)
    late = candidate.Candidate(model, "chain3", f"{path}:late", "late", "cuda", "float64", 2, True)
    late.attempt(lambda: late.prepare(at))
    assert (late.verdict, late.reason) == ("ok", "")
    host, on_device = late.time_turn()
    assert host >= 0.02
    assert on_device >= 0.02
    here = candidate.Candidate(model, "chain3", f"{path}:late", "late", "cpu", "float64", 2, True)
    here.attempt(lambda: here.prepare(at))
    assert (here.verdict, here.reason) == ("refused", "streams.py does not name 'cpu' in DEVICES")


@pytest.fixture
def stubs(monkeypatch):
    """The CPU plays the GPU's part, and its clock says half of what it takes."""
    real = candidate.ForwardDynamics

    def seconds(call, inner=1):
        start = perf_counter()
        for _ in range(inner):
            call()
        return (perf_counter() - start) / inner / 2

    monkeypatch.setattr(
        candidate, "ForwardDynamics", lambda model, batch, name, _, dtype: real(model, batch, name, "cpu", dtype)
    )
    for module, name, stub in (
        (device, "why_not", lambda: None),
        (device, "describe", lambda: {"name": "a GPU"}),
        (arrays, "to_device", lambda x: x),
        (arrays, "empty", np.empty),
        (clock, "synchronize", lambda: None),
        (
            clock,
            "capture_graph",
            lambda call, inner: None if "cfa" in repr(call) else lambda: [call() for _ in range(inner)],
        ),
        (clock, "device_seconds", seconds),
    ):
        monkeypatch.setattr(module, name, stub)


@pytest.mark.usefixtures("here", "stubs")
def test_both_devices_stand_side_by_side_with_their_own_clocks(capsys):
    words = ["compare", "chain:6", "--batch", "3", "--seconds"]
    assert main.main([*words, "0.01", "--algorithm", "abia"]) == 0
    message = capsys.readouterr().out
    assert "on the GPU" in message.splitlines()[0]
    assert main.main([*words, "0.1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    assert [row["device"] for row in rows] == ["cpu"] * 5 + ["cuda"] * 5
    for row in rows:
        assert row["verdict"] == "ok"
        assert (row["on_device"] is None) == (row["device"] == "cpu")
        if row["on_device"] is not None:
            assert 0.3 < row["on_device"] / row["host"] < 0.8


SPIN = '''
import cupy
import engine

DEVICES = ("cuda",)
kernel = cupy.RawKernel(r"""
extern "C" __global__ void spin(long long ns) {
    long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); while (now - start < ns);
}""", "spin")
stream = cupy.cuda.Stream(non_blocking=True)


def spin(model, q, v, tau):
    answer = engine.forward_dynamics(model, q, v, tau)
    with stream:
        kernel((1,), (1,), (cupy.int64(20_000_000),))
    return answer
'''


@pytest.mark.gpu
def test_a_kernel_that_is_held_up_is_counted_on_the_gpu(tmp_path):
    import cupy

    path = tmp_path / "held.py"
    path.write_text(SPIN)
    names = {}
    exec(SPIN, names)
    seconds = clock.device_seconds(lambda: names["kernel"]((1,), (1,), (cupy.int64(20_000_000),)), 3)
    assert seconds >= 0.0199
    row = last(engine.Comparison([engine.chain(5)], [f"{path}:spin"], ["cuda"], seconds=0.3)).rows[0]
    assert (row.verdict, row.reason) == ("ok", "")
    assert row.host >= 0.0199
    assert row.on_device >= 0.0199


@pytest.mark.gpu
def test_both_devices_are_compared_and_ours_are_right_on_each():
    rows = last(engine.Comparison([engine.chain(20)], dtypes=("float64", "float32"), batch=64, seconds=0.05)).rows
    assert {(row.device, row.dtype) for row in rows} == set(itertools.product(("cpu", "cuda"), ("float64", "float32")))
    ours = [row for row in rows if row.device == "cuda" and row.verdict == "ok"]
    assert len(ours) >= 5
    assert all(0 < row.on_device < 1.2 * row.host for row in ours)
