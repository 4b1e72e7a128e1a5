"""The suite `contact`: what it makes of residuals and of what was asked."""

import numpy as np
import pytest

from engine.bench.peers.peer import Missing
from engine.bench.suites import contact, contact_cases
from engine.bench.suites.command import SUITES


def test_a_histogram_counts_every_step_in_its_bin_up_to_the_bound():
    found = contact_cases.histogram([0.0, 1e-9, 1.1e-9, 1e-8, 1e-5, 3.0])
    assert list(found["histogram"].values()) == [2, 2, 0, 1, 1]
    assert found["steps"] == 6
    assert found["worst"] == 3.0
    assert found["share ≤ 1e-8, %"] == pytest.approx(400 / 6)


def test_a_must_says_what_of_it_is_met():
    most, least = contact.Must(1e-7, 1e-9), contact.Must(99.9, 100.0, least=True)
    assert [most.met(x) for x in (1e-10, 1e-8, 1e-6, np.nan)] == ["aim", "must", "nothing", "nothing"]
    assert [least.met(x) for x in (100.0, 99.95, 99.0)] == ["aim", "must", "nothing"]
    assert (str(most), str(least)) == ("≤ 1e-07", "≥ 99.9")


def test_what_is_finished_is_answered_as_it_is_and_what_falls_short_is_told(monkeypatch):
    def missing(_seconds):
        raise Missing("MuJoCo is not installed")

    monkeypatch.setattr(contact_cases, "speed", lambda _seconds: {"quadruped, µs a step": 9.0})
    monkeypatch.setitem(contact.PEERS, "speed", missing)
    keys = list(contact.TITLES)
    rows = {key: {"key": key} for key in keys if key != "speed"}
    *kept, measured = SUITES["contact"].run(0.01, rows)
    assert [row["key"] for row in (*kept, measured)] == keys
    assert len(keys) == SUITES["contact"].most
    assert kept == list(rows.values())
    assert measured["musts"]["quadruped, µs a step"]["met"] == "nothing"
    assert measured["peers"] == {"mujoco": {"missing": "MuJoCo is not installed"}}
    assert "FALLS SHORT in quadruped, µs a step" in SUITES["contact"].line(measured)
    shown = SUITES["contact"].show([measured])
    assert "| standing, on one core: quadruped, µs a step | 9 | ≤ 8 | **no** | MuJoCo is not installed |" in shown


def test_what_a_case_measures_is_measured():
    """The two shortest cases themselves: what they find is what was asked."""
    found = contact_cases.bounces()
    assert set(found) == set(contact.MUSTS["bounces"])
    assert max(found.values()) <= 1.0
    for name, must in contact.MUSTS["ramp-box"].items():
        assert must.met(contact_cases.ramp("box", 0.8)[name]) == "aim"
