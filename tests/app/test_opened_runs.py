"""Runs that are opened: refused files, robots that have moved, the command `view`, settings of other versions."""

import json
from pathlib import Path

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from test_run_files import open_run
from test_scene_view import entry, settled
from windows import type_in, wait

import engine
import main
from app.features.batch_view import BatchView
from app.features.diagnostics_view import DiagnosticsView
from app.features.scene_view import SceneView
from app.features.time_view import TimeView
from app.panels.batch import ONE
from app.recording import run_files
from app.simulation.batch_spread import BatchSpread
from app.simulation.messages import Settings


def test_a_file_that_is_no_run_is_refused(qtbot, window, tmp_path):
    path = tmp_path / "bad.npz"
    np.savez(path, time=np.zeros(3))
    window.open(path)
    wait(qtbot, lambda: len(window.feature(DiagnosticsView).panel.diagnostics) == 1)
    assert "bad.npz contains no run: it lacks the array" in window.feature(DiagnosticsView).panel.diagnostics[0].problem


def write_run(path: Path, robot: str, names: str) -> Path:
    """Three frames of a robot at rest, in a file that names its robot so."""
    model = engine.load(engine.find_robot(robot))
    q, v = np.tile(model.neutral(), (3, 1)), np.zeros((3, model.nv))
    settings = np.array(json.dumps({"robot": names, "dt": 1e-3}))
    np.savez(path, time=np.arange(3) * 0.1, q=q, v=v, tau=v, settings=settings)
    return path


def test_a_robot_that_has_moved_is_named(qtbot, window, tmp_path):
    path = write_run(tmp_path / "run.npz", "arm7", "gone/arm7.urdf")
    window.open(path)
    wait(qtbot, lambda: len(window.feature(DiagnosticsView).panel.diagnostics) == 1)
    (found,) = window.feature(DiagnosticsView).panel.diagnostics
    assert "the robot of run.npz is not at gone/arm7.urdf" in found.problem
    window.workbench.opening.set_robot_of_run(path, "arm7")
    assert len(open_run(qtbot, window, path)) == 3


def test_a_robot_that_is_named_for_one_run_is_not_that_of_others(qtbot, window, tmp_path):
    bench, path = window.workbench, write_run(tmp_path / "run.npz", "arm7", "gone/arm7.urdf")
    bench.opening.set_robot_of_run(path, "arm7")
    open_run(qtbot, window, path)
    open_run(qtbot, window, write_run(tmp_path / "other.npz", "scara", "scara"))
    assert bench.robot.model.name == "scara"
    open_run(qtbot, window, path)
    assert bench.robot.model.name == "arm7"


def test_a_run_that_is_larger_than_the_recording_limit_leaves_the_limit_as_it_is(qtbot, window, tmp_path):
    recording, time = window.workbench.replay.recording, window.feature(TimeView)
    recording.budget = 100
    assert len(open_run(qtbot, window, write_run(tmp_path / "run.npz", "arm7", "arm7"))) == 3
    assert (recording.budget, time.budget) == (100, 0)
    assert recording.room >= recording.bytes > 1000
    wait(qtbot, lambda: "limit 0 MB, and 0 MB with a run from a file, beyond it" in time.bar.memory.toolTip())
    window.open(engine.find_robot("scara"))
    wait(qtbot, lambda: window.workbench.robot.model.name == "scara" and len(recording.runs) == 1)
    assert recording.room == 100


def test_the_command_view_plays_a_run(monkeypatch, capsys, tmp_path):
    path = tmp_path / "run.npz"
    path.touch()
    opened = []
    monkeypatch.setattr("app.no_screen", lambda: False)
    monkeypatch.setattr("app.show_window", lambda *words: opened.append(words) or 0)
    assert main.main(["view", str(path), "--robot", "arm7"]) == 0
    assert main.main([str(path)]) == 0
    assert opened == [(str(path), [], False, "arm7"), (str(path), [], False, "")]
    assert main.main(["view", str(tmp_path / "none.npz")]) == 2
    assert "there is no file" in capsys.readouterr().err


def test_settings_of_another_version_are_understood():
    settings = Settings(dt=5e-4, driven=frozenset({3, 1}), spread=BatchSpread(robots=4, mass=0.2))
    text = json.loads(json.dumps(run_files.describe(settings)))
    assert run_files.understand(text) == settings
    del text["ground"]
    assert run_files.understand({**text, "of_later": 1}) == settings
    assert run_files.understand(None) is None


def test_a_batch_is_refused_while_a_recorded_frame_is_shown(qtbot, window, tmp_path):
    open_run(qtbot, window, write_run(tmp_path / "run.npz", "scara", "scara"))
    bench, panel = window.workbench, window.features[BatchView].panel
    qtbot.keyClick(window, "B")
    wait(qtbot, panel.isVisible)
    type_in(qtbot, panel.robots, 64)
    reported = "a recorded frame is shown; to change the batch press Branch here (Ctrl+B) to continue from it"
    wait(qtbot, lambda: window.statusBar().currentMessage() == reported)
    assert panel.robots.value() == bench.robot.settings.spread.robots == 1
    qtbot.keyClick(window, "B", Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: not bench.replay.active)
    type_in(qtbot, panel.robots, 3)
    wait(qtbot, lambda: len(panel.map.values) == 3)
    qtbot.keyClick(window, Qt.Key.Key_Left)
    wait(qtbot, lambda: bench.replay.active)
    type_in(qtbot, panel.robots, 5)
    wait(qtbot, lambda: window.statusBar().currentMessage() == f"{reported}, or End to return to the live simulation")
    assert panel.robots.value() == 3


def open_short_run(qtbot, window, folder: Path, robots: int = 1) -> None:
    """Open a run of SCARA without ground."""
    model = engine.load(engine.find_robot("scara"))
    simulation = engine.Simulation(model, robots, dt=1e-3)
    recording = engine.Recording()
    recording.begin(simulation)
    simulation.step(3)
    recording.add(simulation)
    engine.save_run(folder / "run.npz", recording, recording.runs[0], {"robot": "scara", "dt": 1e-3})
    open_run(qtbot, window, folder / "run.npz")


@pytest.mark.parametrize("switched", [False, True])
def test_a_body_in_a_branch_of_a_run_without_ground_gets_one_unless_it_was_switched_off(
    qtbot, window, tmp_path, switched
):
    open_short_run(qtbot, window, tmp_path)
    bench, view = window.workbench, window.features[SceneView]
    qtbot.keyClick(window, "B", Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: not bench.replay.active)
    assert not bench.robot.settings.ground
    for _ in range(2 * switched):
        window.run.ground.trigger()
    entry(view, "Free body: cube")
    settled(qtbot, view)
    wait(qtbot, lambda: len(bench.robot.parts) == 1 and bench.robot.settings.ground != switched)


def test_the_batch_panel_shows_the_robots_of_a_run_once_it_comes_into_sight(qtbot, window, tmp_path):
    open_short_run(qtbot, window, tmp_path, 3)
    panel = window.features[BatchView].panel
    qtbot.keyClick(window, Qt.Key.Key_Home)
    wait(qtbot, lambda: window.workbench.shown is not None and window.workbench.shown.time == 0)
    qtbot.wait(300)  # until nothing more is drawn
    qtbot.keyClick(window, "B")
    wait(qtbot, panel.map.isVisible)
    assert len(panel.map.values) == 3
    assert panel.note.text() != ONE


@pytest.mark.parametrize("robots", [1, 3])
def test_a_branch_has_the_robots_of_its_frame(qtbot, window, tmp_path, robots):
    open_short_run(qtbot, window, tmp_path, robots)
    bench = window.workbench
    bench.configuring.set_spread(BatchSpread(64))  # as a session or an undone action may
    qtbot.keyClick(window, "B", Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: not bench.replay.active and bench.robot.settings.spread == BatchSpread(robots))
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 0.01)
    batch = bench.shown.batch
    assert (1 if batch is None else len(batch.energy)) == robots
