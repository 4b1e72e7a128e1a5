"""The automatic choice where Numba's part is not compiled: nobody waits half a minute for a first answer."""

from __future__ import annotations

import pytest
from test_compilation import fresh

import engine
from engine.cpu import dynamics
from engine.cpu.runtime import numba_code
from engine.cpu.runtime.cores import cores
from engine.selection import choice, timings
from engine.selection.timings import Measurements, Row

LONG = engine.chain(1000)


@pytest.fixture
def cold(nothing_measured, monkeypatch):
    """DCA-ABA four times as fast as ABIA, and not compiled."""
    rows = [
        Row("chain", 1000, 1, "float64", name, seconds, 1e-14, work)
        for work in ("call", "step")
        for name, seconds in (("abia", 4e-4), ("dca", 1e-4), ("cfa", 4e-3))
    ]
    Measurements(timings.table_path(), tuple(rows)).save()
    monkeypatch.setattr(dynamics, "at_hand", lambda algorithm, _dtype, _work: algorithm != "dca")
    return nothing_measured


@pytest.mark.usefixtures("cold")
def test_what_is_not_compiled_waits_and_why_tells_what_it_would_take():
    awaited = (
        f"measured for 1000-link chains on this machine; dca on up to {cores()} threads would take 100 µs, but is not "
        'compiled yet, which takes half a minute, once: algorithm="dca" does it'
    )
    fd, simulation = engine.ForwardDynamics(LONG, device="cpu"), engine.Simulation(LONG)
    assert (fd.algorithm, fd.why) == ("abia", f"abia: 400 µs beside 4 ms for cfa, {awaited}")
    assert (simulation.algorithm, simulation.why) == ("abia", f"abia: 400 µs beside 4 ms for cfa a step, {awaited}")
    assert choice.choose(LONG, "dca").algorithm == "dca"


def test_once_it_is_compiled_what_is_made_from_then_on_takes_it(cold, monkeypatch):
    before = engine.ForwardDynamics(LONG, device="cpu")
    monkeypatch.setattr(dynamics, "at_hand", lambda *_: True)
    assert choice.choose(LONG).algorithm == "dca"
    assert before.algorithm == "abia"
    assert list(cold.rglob("choice-*"))


@pytest.mark.usefixtures("cold")
def test_where_nothing_else_serves_it_is_compiled_at_once():
    assert choice.choose(LONG, among=("dca",)).algorithm == "dca"
    assert choice.choose(LONG, soon=False).algorithm == "dca"


@pytest.mark.usefixtures("cold")
def test_a_window_compiles_first_what_it_would_take():
    others = engine.Compilation(engine.Simulation(LONG)).others()
    awaited = [other.name for other in others if other._code.algorithm == "dca"]
    assert [other.name for other in others][: len(awaited)] == awaited


def test_a_note_is_for_all_processes_of_the_same_versions_and_settings(monkeypatch, tmp_path):
    monkeypatch.setenv("CATENA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(numba_code, "_noted", set())
    assert not numba_code.at_hand("a-kind")
    numba_code.note("a-kind")
    assert numba_code.at_hand("a-kind")
    monkeypatch.setattr(numba_code, "_noted", set())
    assert numba_code.at_hand("a-kind")
    monkeypatch.setattr(numba_code, "_noted", set())
    monkeypatch.setenv("NUMBA_OPT", "1")
    assert not numba_code.at_hand("a-kind")


def test_the_first_answer_for_a_long_chain_loads_no_numba(tmp_path):
    said = fresh(
        tmp_path,
        """
import engine, sys
model = engine.chain(2000)
zero = [0.0] * 2000
engine.forward_dynamics(model, zero, zero, zero, device="cpu")
engine.Simulation(model).step(1)
assert "numba" not in sys.modules
print(engine.ForwardDynamics(model, device="cpu").algorithm, engine.Simulation(model).algorithm)
""",
    )
    assert said.split() == ["abia", "abia"]


def test_code_that_is_on_disk_is_taken_by_the_next_process():
    engine.ForwardDynamics(LONG, algorithm="dca", device="cpu", threads=1)
    engine.Simulation(LONG, algorithm="dca").step(1)
    for work in ("call", "step"):
        numba_code._noted.discard(f"dca-{work}-float64")
        assert numba_code.at_hand(f"dca-{work}-float64")


def test_what_makes_the_code_is_asked_once(monkeypatch):
    """The choice asks at every call whether code is at hand; reading versions took three times as long as the call."""
    numba_code.at_hand("a kind that is not there")

    def read_again(_name):
        raise AssertionError("versions were read again")

    monkeypatch.setattr("importlib.metadata.version", read_again)
    assert not numba_code.at_hand("a kind that is not there")
