"""What a command reports and its exit status follow from each other, and from what the engine has of the same robot."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from statuses import BROKEN, called

import engine

ROBOT = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"
ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="slide" type="prismatic"><parent link="a"/><child link="b"/>
<axis xyz="1 0 0"/><limit lower="-0.25" upper="1.5" velocity="3.5" effort="70"/></joint></robot>"""


def test_the_worst_of_several_files_decides(tmp_path: Path):
    for name, text in (("good", ROBOT), ("broken", BROKEN), ("other", ROBOT)):
        (tmp_path / f"{name}.urdf").write_text(text)
    for names in permutations(("good", "broken", "other")):
        for form in ((), ("--json",)):
            status, _, _ = called("check", *(tmp_path / f"{name}.urdf" for name in names), *form)
            assert status == 1, names
    assert called("check", tmp_path / "good.urdf", tmp_path / "other.urdf")[0] == 0


@pytest.mark.parametrize("robot", ["arm7", "quadruped", "humanoid", "slide"])
def test_info_shows_every_limit_of_every_joint(robot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "300")  # rows in one line each
    source: str | Path = robot
    if robot == "slide":
        source = tmp_path / "slide.urdf"
        source.write_text(ROBOT)
    model = engine.load(source if robot == "slide" else engine.find_robot(robot))
    _, said, _ = called("info", source)
    for joint in (x for x in model.joints if x.leader is None and x.v.stop - x.v.start == 1):
        (row,) = (line for line in said.splitlines() if line.split()[:1] == [joint.name])
        numbers = (model.lower, model.upper, model.velocity_limit, model.effort_limit, model.damping, model.friction)
        for number in (float(x[joint.v.start]) for x in numbers):
            assert not np.isfinite(number) or number == 0 or f"{number:.4g}" in row, (joint.name, number, row)


def test_a_run_repeats_its_numbers_and_says_so(tmp_path: Path):
    run = tmp_path / "run.npz"
    status, said, _ = called("run", "quadruped", "--batch", 3, "--seconds", 0.02, "--out", run, "--json")
    told = json.loads(said)
    assert status == 0
    assert told["robot_steps_per_second"] == pytest.approx(told["batch"] * told["steps"] / told["wall_seconds"])
    assert told["simulated_seconds"] == pytest.approx(told["steps"] * told["dt"])
    assert told["simulated_per_wall_second"] == pytest.approx(told["simulated_seconds"] / told["wall_seconds"])
    assert told["energy_drift_J"] == pytest.approx(told["energy_end_J"] - told["energy_start_J"])
    status, said, _ = called("repeat", run, "--json")
    assert (status, json.loads(said)["same"]) == (0, True)
    arrays = dict(np.load(run))
    arrays["v"] = arrays["v"] * (1 + 1e-9)
    np.savez(tmp_path / "other.npz", **arrays)
    for form in ((), ("--json",)):
        assert called("repeat", tmp_path / "other.npz", *form)[0] == 1
