"""The suite of the choice's regret: algorithms that count as one, and its report."""

import pytest

from engine.bench.suites import measure
from engine.selection.timings import Case, Row
from tests.bench import regret

CASE = Case("tree", 12, 20, "float64")


def measured(**seconds):
    """A stand-in for `measure.measure` on a machine without a GPU."""
    return lambda case, _where: [
        Row(*case[:3], case.dtype, name.partition("_")[0], time, 1e-15, name.partition("_")[2])
        for name, time in seconds.items()
    ]


@pytest.fixture
def chosen(monkeypatch):
    """The row of one case, of which `abia` is chosen, by these times."""
    monkeypatch.setattr(regret.gpu, "available", lambda: False)
    monkeypatch.setattr(regret, "CASES", (CASE,))
    monkeypatch.setattr(regret, "_chosen", lambda *_: "abia on cpu")

    def row(**seconds):
        monkeypatch.setattr(measure, "measure", measured(**seconds))
        return next(regret.run(1.0))

    return row


def test_names_of_the_same_code_count_as_one_and_others_do_not(chosen):
    """Steps of twenty small trees are the ABA's by either name; calls are not, and JSIIA never is."""
    row = chosen(abia_call=2e-6, dca_call=1e-6, abia_step=4e-6, dca_step=2e-6, jsiia_step=3e-6)
    assert row["call"]["regret"] == pytest.approx(2)
    assert row["step"]["regret"] == pytest.approx(1)
    assert row["step"]["us"] == {"abia on cpu": 4.0, "dca on cpu": 2.0, "jsiia on cpu": 3.0}
    row = chosen(abia_call=1e-6, abia_step=4e-6, dca_step=3e-6, jsiia_step=2e-6)
    assert row["step"]["regret"] == pytest.approx(1.5)
    assert regret.line(row) == "tree-12x20: call abia on cpu, 1.00 × the fastest; step abia on cpu, 1.50 × the fastest"
    assert regret.table([row]).title == "worst 1.50; 1 of 2 above 1.25"


def test_dca_aba_of_a_large_robot_is_no_aba():
    large = CASE._replace(links=300)
    names = ["abia on cpu", "dca on cpu"]
    assert regret.alike(large, "step", "dca on cpu", names) == ["dca on cpu"]
    assert regret.alike(CASE, "step", "dca on cpu", names) == names
