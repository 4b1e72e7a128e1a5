"""Runs of `main.py run` in the window."""

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from test_run_files import open_run
from test_time import play
from windows import wait

from app.simulation.running import gains_of
from engine.cli import main as command


def test_a_headless_run_opens_and_plays(qtbot, window, tmp_path, capsys):
    path = tmp_path / "run.npz"
    assert command(["run", "humanoid", "--seconds", "0.4", "--every", "20", "--hold", "--out", str(path)]) == 0
    capsys.readouterr()
    run = open_run(qtbot, window, path)
    assert len(run) == np.load(path)["time"].size
    replay = window.workbench.replay
    wait(qtbot, lambda: not replay.playing)
    np.testing.assert_array_equal(replay.frame.checkpoint.q[0], np.load(path)["q"][-1])
    qtbot.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: not window.workbench.replay.active)
    wait(qtbot, lambda: not window.workbench.computation.compiling)
    play(qtbot, window, 0.05)
    branch = replay.recording.runs[-1]
    assert branch.left == (run.number, pytest.approx(0.4))
    assert window.workbench.robot.time > 0.45 - 1e-9


@pytest.mark.parametrize("words", [[], ["--hold"], ["--dt", "0.002", "--gravity", "0", "0", "-1.62"]])
def test_a_headless_run_is_shown_and_gone_on_from_as_it_was_made(qtbot, window, tmp_path, words):
    path = tmp_path / "run.npz"
    assert command(["run", "arm7", "--seconds", "0.3", "--out", str(path), *words]) == 0
    run, bench = open_run(qtbot, window, path), window.workbench
    made = bench.replay.recording.frame(run, run.last).setup

    def is_said() -> bool:
        settings = bench.robot.settings
        held, gravity = settings.held and not settings.driven, settings.under_gravity(bench.robot.model).gravity
        return (
            held == bool(made.settings.kp.any())
            and settings.dt == made.settings.dt
            and np.array_equal(gravity, made.model.gravity)
        )

    assert is_said()
    wait(qtbot, lambda: window.run.hold.isChecked() == ("--hold" in words))
    qtbot.keyClick(window, Qt.Key.Key_End)
    bench.branch()
    wait(qtbot, lambda: bench.replay.recording.runs[-1].left is not None)
    assert is_said()
    kp, kd = gains_of(bench.robot.model, bench.robot.settings)
    np.testing.assert_array_equal([kp, kd], [made.settings.kp[0], made.settings.kd[0]])
