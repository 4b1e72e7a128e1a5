"""A GPU that is lost, or out of memory, during a run of the shell: everything simulated until then is kept."""

import json

import numpy as np
import pytest

import engine
from engine import cli, run_command
from engine.cuda.runtime import device
from engine.cuda.runtime.compiler import CompileError
from tests.app.pretended_gpu import CUDARuntimeError, OutOfMemoryError


class Vanishing(engine.Simulation):
    """Turns out to be on a GPU that is gone after some stretches: nothing of it can be read from then on."""

    left: int
    fault: Exception

    def advance(self, *args, **options):
        if Vanishing.left == 0:
            self.device = "cuda"
            raise Vanishing.fault
        Vanishing.left -= 1
        super().advance(*args, **options)

    def energy(self):
        if self.device == "cuda":
            raise Vanishing.fault
        return super().energy()

    @property
    def phases(self):
        if self.device == "cuda":
            raise Vanishing.fault
        return super().phases


@pytest.mark.parametrize("stretches", [3, 0])
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (OutOfMemoryError("Out of memory allocating 9 bytes"), "Out of memory allocating 9 bytes"),
        (CUDARuntimeError("cudaErrorDevicesUnavailable: gone\nmore"), "cudaErrorDevicesUnavailable: gone"),
        (OutOfMemoryError(), "OutOfMemoryError"),
    ],
    ids=["memory", "taken away", "without words"],
)
def test_the_trajectory_so_far_is_kept_and_a_sentence_says_so(tmp_path, monkeypatch, capsys, fault, words, stretches):
    monkeypatch.setattr(run_command, "Simulation", Vanishing)
    Vanishing.fault, Vanishing.left = fault, stretches
    out = tmp_path / "run.npz"
    done = cli.main(["run", "double_pendulum", "--seconds", "1e4", "--dt", "1e-3", "--out", str(out), "--json"])
    output = capsys.readouterr()
    assert done == 1
    assert output.err.startswith(f"the GPU failed ({words}); what was simulated until ")
    assert len(output.err.splitlines()) == 1
    result = json.loads(output.out)
    assert words in result["failure"]
    assert result["energy_end_J"] is None
    with np.load(out) as kept:
        end = kept["time"][-1]
        assert np.all(np.isfinite(kept["q"]))
        assert len(kept["q"]) == len(kept["time"])
    assert f"until {end:g} s is kept" in output.err
    assert (end > 0) == bool(stretches)


def test_a_fault_of_the_program_in_a_run_on_a_gpu_is_no_gpus(monkeypatch, tmp_path):
    monkeypatch.setattr(run_command, "Simulation", Vanishing)
    Vanishing.fault, Vanishing.left = RuntimeError("a fault in the program"), 1
    with pytest.raises(RuntimeError, match="a fault in the program"):
        cli.main(["run", "double_pendulum", "--seconds", "1e4", "--dt", "1e-3", "--out", str(tmp_path / "run.npz")])


def test_what_the_gpus_compiler_does_not_take_is_no_fault_of_the_program():
    """With a broken CUDA installation the window continues on the CPU, and says why."""

    class NVRTCError(RuntimeError):
        __module__ = "cupy_backends.cuda.libs.nvrtc"

    with pytest.raises(CompileError) as reported:
        raise CompileError("step.cu does not compile: …") from NVRTCError("6")
    assert device.gpu_failed(reported.value)
    assert not device.gpu_failed(CompileError("step.cu does not compile: …"))


@pytest.mark.gpu
def test_cupys_and_cudas_own_errors_are_known():
    from cupy.cuda import driver, memory, nvrtc, runtime

    for kind in (runtime.CUDARuntimeError, driver.CUDADriverError, nvrtc.NVRTCError, memory.OutOfMemoryError):
        assert device.gpu_failed(kind.__new__(kind))
    assert not device.gpu_failed(RuntimeError("a fault in the program"))


def test_a_fault_of_the_cpu_is_no_gpus(monkeypatch, tmp_path):
    def fail(*_, **__):
        raise RuntimeError("a fault in the program")

    monkeypatch.setattr(engine.Simulation, "advance", fail)
    with pytest.raises(RuntimeError, match="a fault in the program"):
        cli.main(["run", "double_pendulum", "--seconds", "1", "--out", str(tmp_path / "run.npz")])
