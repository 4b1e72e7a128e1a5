"""The suite of branching robots on threads: the number of bodies from which DCA-ABA is reported faster."""

import time

import pytest

from engine.bench import timer
from tests.bench import tree_threads
from tests.bench.command import SUITES
from tests.bench.trees import Case


def row(bodies, aba, **dca):
    return {"shape": "star", "bodies": bodies, "aba_us": aba, "dca_us": {count[1:]: us for count, us in dca.items()}}


def test_who_is_ahead_is_found_between_two_sizes_and_not_by_noise():
    """On one thread it is the ABA at 10 bodies, on four it never pays, on two it does from the smallest on."""
    rows = [
        row(10, 10.0, _1=9.8, _2=5.0, _4=20.0),
        row(100, 100.0, _1=50.0, _2=25.0, _4=101.0),
        row(1000, 1000.0, _1=250.0, _2=125.0, _4=999.0),
    ]
    found = tree_threads.ahead(rows)["star"]
    assert 10 < found["1"] < 20
    assert found["2"] == 10
    assert found["4"] is None
    reported = tree_threads.line({"key": "findings", "ahead": {"star": found}})
    assert reported.endswith("10 bodies on 2, no number of bodies on 4 threads")


def test_a_row_is_measured_and_told():
    found = tree_threads.measured_row(Case("comb", 100), [1], 0.01)
    assert found["residual"] < 1e-11
    assert found["speedup"]["1"] == pytest.approx(found["aba_us"] / found["dca_us"]["1"], rel=0.5)
    assert "comb-100: abia" in tree_threads.line({"key": "comb-100", **found})
    assert SUITES["tree-threads"].show([{"key": "comb-100", **found}]).row_count == 1


def test_what_comes_before_a_turn_is_not_timed():
    """Nor is it done at all before a call that is so long that it does not matter."""
    calls = []

    def call(times):
        calls.append(times)
        time.sleep(times * 1e-4)

    def long(times):
        calls.append(-times)
        time.sleep(times * 1e-2)

    samples = timer.alternate([(call, 1), (long, 1)], 4e-3, 2, before=4e-4)
    assert samples.shape == (2, 2)
    first = next(i for i, count in enumerate(calls) if count < 0)
    untimed = calls[first:].count(1)
    assert untimed >= 2
    assert calls.count(-1) == 2 + 2
