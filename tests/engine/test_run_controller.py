"""`run --controller`: a user's function drives the robot, the same way each time."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import run_command
from engine.cli import main
from engine.controller import LATE_CALL, LATE_LOADING
from engine.rollout import Recorder

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "docs" / "controller.py")


def run(capsys, *words: str) -> tuple[int, dict, str]:
    code = main(["run", "double_pendulum", "--json", "--seconds", "0.3", *words])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else {}, err


def test_it_drives_the_robot_bit_for_bit_and_the_efforts_run_it_again(capsys, tmp_path):
    kept = []
    for name in ("one", "two"):
        code, result, _ = run(
            capsys, "--controller", EXAMPLE, "--dt", "0.001", "--every", "3", "--out", str(tmp_path / f"{name}.npz")
        )
        assert code == 0
        assert result["steps"] == 300
        kept.append(np.load(tmp_path / f"{name}.npz"))
    one, two = kept
    assert all(np.array_equal(one[name], two[name]) for name in ("q", "v", "tau", "controls"))
    assert one["q"].shape == (101, 2)
    model = engine.load(engine.find_robot("double_pendulum"))
    again = engine.rollout(
        model,
        one["q"][0],
        controls=one["controls"],
        dt=1e-3,
        every=3,
        integrator=json.loads(str(one["settings"]))["integrator"],
    )
    np.testing.assert_array_equal(again.q, one["q"])


def test_what_fails_is_told_and_what_was_done_is_kept(capsys, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def control(t, q, v):\n    return q / (t < 0.1)\n", encoding="utf-8")
    code, result, message = run(capsys, "--controller", str(path), "--dt", "0.001", "--out", str(tmp_path / "part.npz"))
    assert code == 1
    assert "control returned" in message
    assert result["failure"]
    with np.load(tmp_path / "part.npz") as part:
        assert len(part["q"]) == result["steps"] + 1 == 101
        assert len(part["controls"]) == result["steps"], "and none of steps that were not done"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
@pytest.mark.parametrize(
    ("text", "reported", "rows"),
    [
        ("def control(t, q, v):\n    while t > 0.0095:\n        pass\n    return 0 * q\n", LATE_CALL, 11),
        ("while True:\n    pass\n", LATE_LOADING, 0),
    ],
    ids=["in a call", "while it is loaded"],
)
@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_one_that_does_not_return_is_told_of_and_ctrl_c_ends_it(tmp_path, text, reported, rows):
    path, out = tmp_path / "hang.py", tmp_path / "part.npz"
    path.write_text(text, encoding="utf-8")
    words = ["run", "double_pendulum", "--dt", "0.001", "--seconds", "1", "--controller", path, "--out", out]
    whole = [sys.executable, "main.py", *map(str, words)]
    with subprocess.Popen(whole, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stderr.readline() == f"{reported.format('hang.py')}; Ctrl+C ends the run\n"
        program.send_signal(signal.SIGINT)
        assert program.communicate()[1] == "interrupted\n"
    assert program.returncode == 130
    assert out.exists() == bool(rows)
    if rows:
        with np.load(out) as part:
            assert len(part["q"]) == rows, "what was simulated is kept"


def test_without_a_file_no_efforts_are_kept(capsys, monkeypatch):
    made = []
    monkeypatch.setattr(run_command, "Recorder", lambda *words: made.append(Recorder(*words)) or made[-1])
    assert run(capsys, "--controller", EXAMPLE, "--dt", "0.001")[0] == 0
    assert made[0].controls is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--controller", "nowhere.py"], "no such file"),
        (["--controller", EXAMPLE, "--batch", "2"], "drives one robot"),
        (["--controller", EXAMPLE, "--controls", "x.npy"], "exclude each other"),
        (["--controller", EXAMPLE, "--dt", "0.003"], "not a whole number of time steps"),
    ],
)
def test_calls_that_are_wrong_are_refused(capsys, words, message):
    code, _, err = run(capsys, *words)
    assert code == 2
    assert message in err
