"""A broken CuPy, or one without driver, GPU or compiler, is reported in a sentence, and the CPU is used."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

import engine
import main
from engine.cuda.runtime import device


class CudaError(RuntimeError):
    """Stands in for CuPy's exceptions."""


def fails(error):
    def call(*_arguments):
        raise error

    return call


@pytest.fixture
def cupy(monkeypatch):
    """A CuPy that seems to be there, which the test breaks."""
    properties = {"major": 9, "minor": 0}
    runtime = SimpleNamespace(
        getDeviceCount=lambda: 1, driverGetVersion=lambda: 13000, runtimeGetVersion=lambda: 13000,
        getDeviceProperties=lambda _: properties, getDevice=lambda: 0,
    )  # fmt: skip
    module = ModuleType("cupy")
    module.cuda = SimpleNamespace(runtime=runtime, nvrtc=SimpleNamespace(getVersion=lambda: (13, 0)))
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setattr(device, "installed", lambda: True)
    for function in (device.why_not, device.properties):
        function.cache_clear()
    yield module
    for function in (device.why_not, device.properties):
        function.cache_clear()


def breaks(name, error):
    return lambda cupy: setattr(cupy.cuda.runtime, name, fails(error))


FAULTS = {
    "no driver": (breaks("getDeviceCount", CudaError("cudaErrorInsufficientDriver: too old\nmore")),
                  r"CUDA cannot be used \(cudaErrorInsufficientDriver: too old\); check that nvidia-smi"),
    "no GPU visible": (breaks("getDeviceCount", CudaError("cudaErrorNoDevice: no CUDA-capable device is detected")),
                       r"CUDA cannot be used \(cudaErrorNoDevice"),
    "none at all": (lambda cupy: setattr(cupy.cuda.runtime, "getDeviceCount", lambda: 0), "CUDA finds no device"),
    "a driver's library that is none": (breaks("driverGetVersion", OSError("libcuda.so.1: bad magic")),
                                        r"CUDA cannot be used \(libcuda.so.1: bad magic\)"),
    "an old driver": (lambda cupy: setattr(cupy.cuda.runtime, "driverGetVersion", lambda: 11040),
                      r"the NVIDIA driver supports CUDA 11\.4 and this CuPy was built for 13\.0"),
    "a GPU that fails": (breaks("getDeviceProperties", CudaError("cudaErrorUnknown")), "CUDA cannot be used"),
    "no compiler": (lambda cupy: setattr(cupy.cuda.nvrtc, "getVersion", fails(RuntimeError("no libnvrtc.so"))),
                    r"NVRTC cannot be loaded \(no libnvrtc.so\)"),
    "half removed": (lambda cupy: delattr(cupy, "cuda"), "CuPy is not whole"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_gpu_that_cannot_be_used_is_told_in_a_sentence_and_the_cpu_taken(cupy, fault, capsys):
    harm, reported = FAULTS[fault]
    harm(cupy)
    reason = engine.why_no_gpu()
    assert reason is not None
    assert "\n" not in reason
    with pytest.raises(device.NoGpu, match=reported):
        engine.Simulation(engine.chain(2), device="cuda")
    assert engine.Simulation(engine.chain(2), device="auto").device == "cpu"
    assert main.main(["run", "double_pendulum", "--seconds", "0.02", "--device", "auto"]) == 0
    assert main.main(["run", "double_pendulum", "--seconds", "0.02", "--device", "cuda"]) == 2
    assert capsys.readouterr().err == f"catena run: device 'cuda' cannot be used: {reason}\n"


RAISED = (
    ImportError("libcudart.so.13: no such file\nmore"), ValueError("numpy.dtype size changed"), OSError("bad magic"),
    RuntimeError("the driver is broken"), AttributeError("module has no attribute 'x'"), SyntaxError("invalid"),
)  # fmt: skip


@pytest.mark.parametrize("error", RAISED)
def test_a_cupy_that_cannot_be_imported_is_told_whatever_it_raises(cupy, monkeypatch, error):
    class Finder:
        @staticmethod
        def find_spec(name, *_arguments):
            if name == "cupy":
                raise error

    monkeypatch.delitem(sys.modules, "cupy")
    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    assert isinstance(cupy, ModuleType)
    reason = engine.why_no_gpu() or ""
    assert reason.startswith(f"CuPy cannot be imported ({str(error).splitlines()[0]}); install")
    assert engine.Simulation(engine.chain(2), device="auto").device == "cpu"
