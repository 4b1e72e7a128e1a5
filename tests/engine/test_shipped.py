"""The reference timings: the choice on a machine without measurements, and their scaling."""

import math

import pytest

import engine
from engine.cpu.runtime import core_speed
from engine.cpu.runtime.cores import cores
from engine.selection import choice, shipped, timings
from engine.selection.timings import Case, Measurements, Row


@pytest.fixture(autouse=True)
def fresh(nothing_measured):
    shipped.table.cache_clear()
    yield nothing_measured
    shipped.table.cache_clear()


def test_every_table_that_ships_is_whole_and_serves_calls_and_steps():
    tables = shipped.machines()
    assert [table["machine"]["device"] for table in tables] == ["cpu", "cpu", "cuda"]
    for rows in (table["rows"] for table in tables):
        assert {row.work for row in rows} == {"call", "step"}
        assert {row.shape for row in rows} == {"chain", "tree"}
        assert all(math.isfinite(row.seconds) and row.seconds > 0 for row in rows)


def test_a_machine_that_was_never_measured_chooses_by_the_nearest_of_ours():
    table = shipped.table()
    name, why = choice.choose(engine.chain(2000))
    assert name in engine.algorithms(engine.chain(2000))
    assert f"{table.origin}; " in why
    assert "--measure-choice" in why
    assert not timings.load().rows


def test_what_was_measured_here_comes_first():
    rows = (Row("chain", 1, 1, "float64", "jsiia", 1e-6, 0.0), Row("chain", 1, 1, "float64", "abia", 1e-3, 0.0))
    Measurements(timings.table_path(), rows).save()
    assert choice.choose(engine.chain(1)).algorithm == "jsiia"
    assert "on this machine" in choice.choose(engine.chain(1)).why


def test_the_probe_stretches_times_and_fewer_multiprocessors_make_a_batch_larger(tmp_path, monkeypatch):
    rows = [
        Row("chain", 8, batch, "float64", "abia", seconds, 0.0)
        for batch, seconds in ((1, 1e-6), (64, 2e-6), (4096, 1e-4))
    ]
    monkeypatch.setattr(shipped, "FILE", tmp_path / "choice.json")
    for count, kept in ((1, rows), (64, []), (64, rows)):  # the second of a machine takes the place of the first
        machine = {"device": "cpu", "name": f"{count} cores", "cores": count, "probe": 2e-3}
        shipped.write(Measurements(tmp_path, tuple(kept)), machine)
    assert len(shipped.machines()) == 2
    monkeypatch.setattr(core_speed, "seconds", lambda: 6e-3)
    table = shipped.table()
    assert table.rows == tuple(rows)
    assert table.seconds("abia", Case("chain", 8, 1, "float64")) == pytest.approx(3e-6)
    assert table.origin == f"on {1 if cores() < 8 else 64} cores and scaled to this machine by 3"
    half = Measurements(tmp_path, tuple(rows), share=2.0)
    assert half.seconds("abia", Case("chain", 8, 2048, "float64")) == pytest.approx(1e-4)
    assert half.seconds("abia", Case("chain", 8, 1, "float64")) == 1e-6


def test_the_probe_takes_less_than_a_fifth_of_a_second():
    core_speed.seconds.cache_clear()
    first, second = core_speed.seconds(), core_speed.seconds()
    assert first == second
    assert 1e-6 < first < 0.2 / 7
