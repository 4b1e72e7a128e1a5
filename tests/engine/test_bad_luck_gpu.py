"""A GPU that is taken away, or has no memory left, in the midst of a run of the shell: what was simulated is kept."""

from __future__ import annotations

import json

import numpy as np
import pytest

import engine
from engine import cli, run_command


class OutOfMemoryError(MemoryError):
    """As CuPy's."""


class CUDARuntimeError(RuntimeError):
    """As CuPy's."""


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
    said = capsys.readouterr()
    assert done == 1
    assert said.err.startswith(f"the GPU failed ({words}); what was simulated until ")
    assert len(said.err.splitlines()) == 1
    result = json.loads(said.out)
    assert words in result["failure"]
    assert result["energy_end_J"] is None
    with np.load(out) as kept:
        end = kept["time"][-1]
        assert np.all(np.isfinite(kept["q"]))
        assert len(kept["q"]) == len(kept["time"])
    assert f"until {end:g} s is kept" in said.err
    assert (end > 0) == bool(stretches)


def test_a_fault_of_the_cpu_is_no_gpus(monkeypatch, tmp_path):
    def fail(*_, **__):
        raise RuntimeError("a fault in the program")

    monkeypatch.setattr(engine.Simulation, "advance", fail)
    with pytest.raises(RuntimeError, match="a fault in the program"):
        cli.main(["run", "double_pendulum", "--seconds", "1", "--out", str(tmp_path / "run.npz")])
