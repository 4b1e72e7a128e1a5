"""A part of `tests/night.py`: the seeds from `CATENA_SEED` on, and those that found something once."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import night

from tests.seeds import OTHER

SECONDS = 0.5


def test_random_robots_lose_no_number(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["night.py", "--seconds", str(SECONDS), "--seed", str(OTHER)])
    assert night.main() == 0, capsys.readouterr().out


@pytest.mark.parametrize("seed", [1, 1000])
def test_a_seed_repeats_a_robot_and_its_motion(seed):
    one, other = night.made(seed), night.made(seed)
    assert one.words == other.words
    assert night.faults(one) == night.faults(other) == []
    assert one.simulation.q.tobytes() == other.simulation.q.tobytes()


def test_a_finding_is_told_with_its_seed(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["night.py", "--seed", "1", "--one"])
    monkeypatch.setattr(night, "faults", lambda _: ["a number was lost"])
    assert night.main() == 1
    output = capsys.readouterr().out
    assert output.startswith("seed 1 (")
    assert "a number was lost" in output
    assert "1 runs in " in output
