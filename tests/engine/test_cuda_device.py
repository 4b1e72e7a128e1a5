"""Without a usable GPU: the reason in one sentence, and the CPU if permitted."""

import contextlib
import importlib.util
import re
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import engine
from engine.cuda import dynamics
from engine.cuda.runtime import arrays, clock, device
from engine.selection import choice, shipped, timings


class CudaError(RuntimeError):
    """Stands in for CuPy's exception of that name."""


def fake_cupy(count=1, driver=13000, runtime=13000, capability=(9, 0), error=None, free=1 << 30, nvrtc=True):
    def get_count():
        if error:
            raise CudaError(error)
        return count

    def get_version():
        if not nvrtc:
            raise RuntimeError("no file libnvrtc.so.13")
        return 13, 0

    facts = {
        "name": b"a GPU",
        "major": capability[0],
        "minor": capability[1],
        "multiProcessorCount": 132,
        "totalGlobalMem": 1 << 37,
    }
    module = ModuleType("cupy")
    module.__version__ = "14.0.0"
    module.get_default_memory_pool = lambda: SimpleNamespace(free_bytes=lambda: 0)
    module.cuda = SimpleNamespace(
        Device=lambda: SimpleNamespace(attributes={"ClockRate": 1980000}),
        nvrtc=SimpleNamespace(getVersion=get_version),
        runtime=SimpleNamespace(
            CUDARuntimeError=CudaError,
            getDeviceCount=get_count,
            driverGetVersion=lambda: driver,
            runtimeGetVersion=lambda: runtime,
            getDevice=lambda: 0,
            getDeviceProperties=lambda _: facts,
            memGetInfo=lambda: (free, 1 << 37),
        ),
    )
    return module


@pytest.fixture
def with_cupy(monkeypatch):
    """A machine with such a CuPy, or without any."""

    def make(**facts):
        shipped.table.cache_clear()
        found = importlib.util.find_spec
        monkeypatch.setattr(
            importlib.util,
            "find_spec",
            lambda name: (None if facts.get("missing") else object()) if name == "cupy" else found(name),
        )
        if not facts.get("missing"):
            monkeypatch.setitem(sys.modules, "cupy", fake_cupy(**facts))
        device.why_not.cache_clear()
        device.properties.cache_clear()

    yield make
    monkeypatch.undo()
    device.why_not.cache_clear()
    device.properties.cache_clear()


REASONS = [
    ({"missing": True}, r"CuPy is not installed; install the extra"),
    ({"count": 0}, r"CUDA finds no device; check that nvidia-smi lists one"),
    (
        {"error": "cudaErrorNoDevice: no CUDA-capable device"},
        r"CUDA cannot be used \(cudaErrorNoDevice: no CUDA-capable device\)",
    ),
    ({"driver": 12020}, r"the NVIDIA driver supports CUDA 12\.2 and this CuPy was built for 13\.0; update the driver"),
    ({"nvrtc": False}, r"CUDA's compiler NVRTC cannot be loaded \(no file libnvrtc\.so\.13\); install the CUDA "),
    ({"capability": (6, 1)}, r"the GPU has compute capability 6\.1 and at least 7\.0 is needed"),
]


@pytest.mark.parametrize(("facts", "sentence"), REASONS)
def test_cuda_is_refused_with_the_reason(with_cupy, facts, sentence):
    with_cupy(**facts)
    model = engine.chain(3)
    with pytest.raises(RuntimeError, match=rf"^device 'cuda' cannot be used: {sentence}"):
        engine.ForwardDynamics(model, device="cuda")
    with pytest.raises(RuntimeError, match=sentence):
        engine.Simulation(model, device="cuda")
    with pytest.raises(RuntimeError, match=sentence):
        engine.forward_dynamics(model, np.zeros(3), np.zeros(3), np.zeros(3), device="cuda")


@pytest.mark.parametrize(("facts", "sentence"), REASONS)
def test_auto_goes_on_with_the_cpu_and_says_why(with_cupy, facts, sentence):
    with_cupy(**facts)
    model = engine.chain(10)
    fd = engine.ForwardDynamics(model, batch=4096)
    assert fd.device == "cpu"
    assert fd(np.zeros(10), np.zeros(10), np.zeros(10)).shape == (10,)
    assert re.search(f"; on the CPU, since {sentence}", fd.why)


def test_few_bodies_do_not_even_ask_for_a_gpu(monkeypatch):
    monkeypatch.setattr(device, "why_not", lambda: pytest.fail("asked"))
    assert engine.ForwardDynamics(engine.chain(7)).device == "cpu"


def test_a_gpu_that_will_do_is_described(with_cupy):
    with_cupy()
    assert device.available()
    assert device.architecture() == "sm_90"
    assert device.describe() == {
        "name": "a GPU", "capability": "9.0", "multiprocessors": 132, "clock": 1980000, "memory": 1 << 37,
        "driver": "13.0", "cuda": "13.0", "cupy": "14.0.0",
    }  # fmt: skip


def test_what_does_not_fit_is_refused_with_the_bytes_needed_and_free(with_cupy):
    with_cupy(free=1000)
    device.require_memory(1000, "a batch of 3 robots")
    with pytest.raises(
        MemoryError, match=r"a batch of 3 robots needs 1001 bytes on the GPU \(0 MiB\) and 1000 are free"
    ):
        device.require_memory(1001, "a batch of 3 robots")


def test_auto_goes_on_with_the_cpu_where_memory_does_not_suffice(with_cupy, monkeypatch):
    with_cupy(free=1000)
    monkeypatch.setattr(dynamics, "kernels", lambda *_: device.require_memory(1001, "the workspace"))
    model = engine.chain(10)
    fd = engine.ForwardDynamics(model, batch=4096)
    assert fd.device == "cpu"
    assert re.search(r"; on the CPU, since the workspace needs 1001 bytes on the GPU .* and 1000 are free", fd.why)
    assert np.all(np.isfinite(fd(np.zeros(10), np.zeros(10), np.zeros(10))))
    with pytest.raises(MemoryError, match="the workspace needs 1001 bytes"):
        engine.ForwardDynamics(model, batch=4096, device="cuda")


def test_an_array_that_does_not_fit_is_refused_with_the_bytes_too(with_cupy):
    def empty(*_):
        raise MemoryError("CuPy's words")

    with_cupy(free=1000)
    sys.modules["cupy"].empty = empty
    with pytest.raises(MemoryError, match=r"a float32 array of shape \(300, 7\) needs 8400 bytes .* 1000 are free"):
        arrays.empty((300, 7), "float32")
    with pytest.raises(MemoryError, match="CuPy's words"):
        arrays.empty((3, 7), "float32")


def test_the_cpu_refuses_arrays_on_the_gpu():
    x, model = SimpleNamespace(__dlpack_device__=lambda: (2, 0)), engine.chain(3)
    with pytest.raises(TypeError, match="q is on the GPU, and these dynamics are on the CPU"):
        engine.ForwardDynamics(model)(x, x, x)
    with pytest.raises(TypeError, match="on the GPU and the simulation on the CPU; give device='cuda'"):
        engine.Simulation(model, q=x, device="cpu")


def test_auto_takes_the_gpu_by_size_or_by_what_was_measured(with_cupy, monkeypatch):
    with_cupy()
    model = engine.chain(10)
    assert choice.place(model, batch=20).device == "cpu"
    assert choice.place(model, batch=20000).device == "cuda"
    rows = {"cpu": 1e-4, "cuda": 5e-5}
    tables = {
        where: timings.Measurements(
            timings.table_path("cpu"),
            tuple(timings.Row("chain", links, 64, "float64", "abia", seconds, 1e-15) for links in (1, 10, 100)),
        )
        for where, seconds in rows.items()
    }
    monkeypatch.setattr(timings, "load", tables.__getitem__)
    placed = choice.place(model, batch=64)
    assert placed == ("cuda", "; on cuda, by 100 µs on cpu and 50 µs on cuda")
    assert choice.place(model, "cpu", batch=64) == ("cpu", "")
    assert choice.place(model, batch=64, algorithm="cfa").device == "cpu"


def test_arrays_on_the_host_are_not_on_the_gpu():
    for x in (np.zeros(3), [0.0], (1.0,), 3.0):
        assert not arrays.on_device(x)
    assert arrays.on_device(SimpleNamespace(__dlpack_device__=lambda: (2, 0)))
    assert arrays.on_device(SimpleNamespace(__dlpack_device__=lambda: (13, 0)))  # managed memory
    assert not arrays.on_device(SimpleNamespace(__dlpack_device__=lambda: (1, 0)))


def test_what_cannot_be_captured_is_none_and_the_capture_is_ended(monkeypatch):
    done = []

    class Stream(contextlib.nullcontext):
        def __init__(self, non_blocking):
            super().__init__()
            assert non_blocking

        def synchronize(self):
            done.append("waited")

        def begin_capture(self):
            done.append("began")

        def end_capture(self):
            done.append("ended")
            raise CudaError("the capture came to nothing")

    def call():
        done.append("called")
        if done.count("called") == 3:
            raise RuntimeError("the current stream is capturing, so D2H transfers are disallowed")

    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(Stream=Stream)))
    assert clock.capture_graph(call, 2) is None
    assert done == ["called", "waited", "began", "called", "called", "ended"]


@pytest.mark.gpu
def test_the_clock_does_not_stop_before_the_gpu_does():
    import cupy

    spin = cupy.RawKernel(
        'extern "C" __global__ void spin(long long n) { long long t = clock64(); while (clock64() - t < n) {} }', "spin"
    )
    cycles = 20_000_000
    call = lambda: spin((1,), (1,), (np.int64(cycles),))  # noqa: E731
    call()
    rate = device.properties()["clockRate"] * 1e3
    assert clock.device_seconds(call) > 0.8 * cycles / rate
    assert clock.device_seconds(call, 5) > 0.8 * cycles / rate


@pytest.mark.gpu
def test_device_arrays_are_answered_in_kind(rng):
    import cupy

    model = engine.load("robots/arm7.urdf")
    q, v, tau = model.random(rng, 5), rng.uniform(-1, 1, (5, 7)), rng.uniform(-1, 1, (5, 7))
    expected = engine.forward_dynamics(model, q, v, tau, device="cpu")
    given = [cupy.asarray(x) for x in (q, v, tau)]
    answer = engine.forward_dynamics(model, *given)
    assert isinstance(answer, cupy.ndarray)
    np.testing.assert_allclose(answer.get(), expected, rtol=1e-9, atol=1e-9)
    one = engine.forward_dynamics(model, *(x[0] for x in given))
    assert one.shape == (7,)
    host = engine.forward_dynamics(model, q, v, tau, device="cuda")
    assert isinstance(host, np.ndarray)
    np.testing.assert_allclose(host, expected, rtol=1e-9, atol=1e-9)
    out = cupy.full((5, 7), np.nan)
    fd = engine.ForwardDynamics(model, 5, device="cuda")
    assert fd(*given, out=out) is out
    with pytest.raises(TypeError, match=r"v is a numpy\.ndarray and q is on the GPU"):
        fd(given[0], v, given[2])
    np.testing.assert_array_equal(fd(given[0], given[1], given[2][0]).get()[0], answer.get()[0])
    with pytest.raises(ValueError, match="the batch sizes differ"):
        fd(given[0], given[1][:3], given[2])
    with pytest.raises(ValueError, match=r"out is a ndarray of shape \(5, 3\)"):
        fd(*given, out=cupy.zeros((5, 3)))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_inverse_dynamics_and_mass_matrix_answer_where_they_are_asked(dtype, rng):
    import cupy

    model = engine.load("robots/humanoid.urdf")
    q, v, a = model.random(rng, 5), rng.uniform(-1, 1, (5, model.nv)), rng.uniform(-1, 1, (5, model.nv))
    there = [cupy.asarray(x.astype(dtype)) for x in (q, v, a)]
    close = {"rtol": 1e-10, "atol": 1e-10} if dtype == "float64" else {"rtol": 1e-3, "atol": 1e-3}
    for answer, expected in (
        (engine.inverse_dynamics(model, *there), engine.inverse_dynamics(model, q, v, a)),
        (engine.bias(model, *there[:2]), engine.bias(model, q, v)),
        (engine.mass_matrix(model, there[0]), engine.mass_matrix(model, q)),
        (engine.mass_matrix(model, there[0][0]), engine.mass_matrix(model, q[0])),
    ):
        assert isinstance(answer, cupy.ndarray)
        assert answer.dtype == dtype
        np.testing.assert_allclose(answer.get(), expected, **close)
