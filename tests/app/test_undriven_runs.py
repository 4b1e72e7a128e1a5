"""Runs that a controller drove, and that are continued without it."""

from dataclasses import asdict

import pytest
from PyQt6.QtCore import Qt
from test_autosave import open_last
from test_run_files import open_run
from windows import in_simulation, play_for, settle, started, wait, wait_loaded

import engine
from app.features.attaching import ControllerView, Reloading, RunExports, Sessions, TimeView, UndoView
from app.recording import run_files
from app.simulation.batch_spread import BatchSpread
from app.simulation.messages import Settings
from app.simulation.recorder import Recorder
from engine.cli import main as command

ROBOT = engine.find_robot("double_pendulum")
Key, Ctrl = Qt.Key, Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def own(tmp_path):
    """A controller's file: efforts that no drive has by itself."""
    path = tmp_path / "own.py"
    path.write_text("def control(t, q, v):\n    return [3 + t, -1]\n")
    return path


@pytest.fixture
def driven(qtbot, make_window, tmp_path, own):
    """A window with a run of 2 ms steps, by another integrator and on the Moon, whose joints a controller drives."""
    window = started(make_window, tmp_path / "runs")
    window.open(ROBOT)
    wait_loaded(qtbot, window)
    bench = window.workbench
    bench.configuring.set_dt(2e-3)
    bench.configuring.set_integrator("rk4")
    bench.configuring.set_gravity_vector((0.0, 0.0, -1.62))
    wait(qtbot, lambda: in_simulation(bench, lambda running: running.simulation.settings.integrator) == "rk4")
    window.features[ControllerView].load(str(own))
    play_for(qtbot, window, 0.3)
    settle(qtbot, window)
    assert bench.robot.newest.tau[1] == -1
    return window


def branch(qtbot, window):
    """Branch here by its key."""
    bench = window.workbench
    qtbot.keyClick(window, Key.Key_B, Ctrl)
    wait(qtbot, lambda: not bench.replay.active and not bench.computation.compiling)
    wait(qtbot, lambda: bench.replay.recording.runs[-1].left is not None)


def is_told(window, path) -> bool:
    text = (
        f"{path} drove the joints and does not now: load it by Simulation › Controller, or hold the joints by Hold (H)"
    )
    return window.statusBar().currentMessage().endswith(f" s; {text}")


def test_the_last_run_shows_its_settings_and_goes_on_without_the_efforts_of_its_controller(
    qtbot, driven, own, make_window, tmp_path
):
    before = driven.workbench.robot.settings
    driven.close()
    window = started(make_window, tmp_path / "runs")
    open_last(qtbot, window)
    bench = window.workbench
    assert asdict(bench.robot.settings) == asdict(before)
    assert not bench.robot.settings.held
    wait(qtbot, lambda: not window.run.hold.isChecked())
    branch(qtbot, window)
    assert is_told(window, own)
    play_for(qtbot, window, 0.1)
    assert not bench.robot.newest.tau.any()
    assert is_told(window, own)
    assert not bench.controller.path, "it does not run by itself"


@pytest.mark.parametrize("branched", [False, True])
def test_the_next_robot_does_not_take_the_steps_of_a_run(qtbot, driven, make_window, tmp_path, branched):
    driven.close()
    window = started(make_window, tmp_path / "runs")
    open_last(qtbot, window)
    window.kept.action.trigger()
    wait_loaded(qtbot, window)
    if branched:
        branch(qtbot, window)
        play_for(qtbot, window, 0.05)
        window.features[Reloading].reload()  # which keeps them
        wait_loaded(qtbot, window)
    settings = window.workbench.robot.settings
    assert (settings.automatic, settings.dt, settings.integrator) == (False, 2e-3, "rk4")
    window.open(engine.find_robot("arm7"))
    wait(qtbot, lambda: window.workbench.robot.model.name == "arm7")
    settings, suggested = window.workbench.robot.settings, engine.suggested_step(window.workbench.robot.model, True)
    assert settings.automatic
    assert (settings.dt, settings.integrator) == (suggested.dt, suggested.integrator)
    window.workbench.configuring.set_dt(4e-3)  # the user's own choice stays
    window.open(engine.find_robot("scara"))
    wait(qtbot, lambda: window.workbench.robot.model.name == "scara")
    assert (window.workbench.robot.settings.automatic, window.workbench.robot.settings.dt) == (False, 4e-3)
    stays = "the time step of 4 ms stays as set for the robot before; the menu Simulation has others"
    assert stays in window.statusBar().currentMessage()


def test_a_run_from_a_file_knows_its_controller_also_after_a_second_export(qtbot, driven, own, window, tmp_path):
    for number in range(2):
        path, exports = tmp_path / f"run{number}.npz", driven.feature(RunExports)
        exports.write(str(path), "npz")
        wait(qtbot, lambda path=path, exports=exports: path.exists() and not exports.writing.running)
        driven = window
        open_run(qtbot, window, path)
    window.features[TimeView].last.trigger()
    branch(qtbot, window)
    assert is_told(window, own)
    play_for(qtbot, window, 0.1)
    assert not window.workbench.robot.newest.tau.any()


def test_a_branch_in_the_same_window_ends_the_efforts_of_a_stopped_controller_alone(qtbot, driven, own):
    bench, view = driven.workbench, driven.features[ControllerView]
    play_for(qtbot, driven, 0.1)
    qtbot.keyClick(driven, Key.Key_Left)
    wait(qtbot, lambda: bench.replay.active)
    branch(qtbot, driven)
    assert "Play continues it from there" in driven.statusBar().currentMessage(), "the controller drives on"
    play_for(qtbot, driven, 0.1)
    assert bench.robot.newest.tau[1] == -1
    view.end_action.trigger()
    wait(qtbot, lambda: not bench.controller.path)
    play_for(qtbot, driven, 0.1)
    (*_, run) = bench.replay.recording.runs
    last = bench.replay.recording.span(run)[1]
    assert [path for _, path in bench.controllers_of(run)] == [str(own), ""]
    bench.replay.seek(last)
    driven.refresh()
    branch(qtbot, driven)
    assert "Play continues it from there" in driven.statusBar().currentMessage(), "nothing drove this frame"
    bench.replay.seek(0.2)
    driven.refresh()
    branch(qtbot, driven)
    assert is_told(driven, own)
    play_for(qtbot, driven, 0.05)
    assert not bench.robot.newest.tau.any()


def test_a_run_of_the_command_line_names_its_controller(qtbot, window, own, tmp_path, capsys):
    path = tmp_path / "run.npz"
    words = ["run", "double_pendulum", "--seconds", "0.2", "--controller", str(own), "--out", str(path)]
    assert command(words) == 0
    capsys.readouterr()
    open_run(qtbot, window, path)
    qtbot.keyClick(window, Key.Key_End)
    branch(qtbot, window)
    assert is_told(window, own)
    play_for(qtbot, window, 0.1)
    assert not window.workbench.robot.newest.tau.any()


def test_undo_and_sessions_do_not_take_the_efforts_of_a_controller_for_drives(qtbot, driven):
    bench = driven.workbench
    bench.configuring.set_surface("friction", 0.4)
    play_for(qtbot, driven, 0.1)
    drives = driven.feature(Sessions).session()["drives"].values()
    assert {(each["mode"], each["value"]) for each in drives} == {("effort", 0.0)}
    driven.features[ControllerView].end_action.trigger()
    wait(qtbot, lambda: not bench.controller.path and not bench.robot.newest.tau.any())
    bench.joints.set_held(False)
    wait(qtbot, lambda: not bench.robot.settings.held)
    undo = driven.feature(UndoView).stack
    undo.undo()
    undo.undo()
    assert bench.robot.settings.scene.friction != 0.4
    play_for(qtbot, driven, 0.1)
    assert not bench.robot.newest.tau.any()


def test_invalid_controllers_in_a_file_are_ignored():
    found = run_files.controllers_in({"controllers": [[1.0, "b.py"], [0.5, "a.py"], [2.0], None, ["x", "y"], 3]})
    assert found == ((0.5, "a.py"), (1.0, "b.py"))
    assert run_files.controllers_in({"controllers": [[float("nan"), "a.py"]]}) == ()
    assert run_files.controllers_in({"controller": "a.py"}) == ((0.0, "a.py"),)
    assert run_files.controllers_in({"controller": None}) == run_files.controllers_in({}) == ()


def test_a_run_opens_where_its_device_algorithm_and_gains_cannot_be_had():
    model = engine.load(ROBOT)
    about = Settings(dt=2e-3, algorithm="none of this name", gains=((9, 1.0, 1.0),), driven=frozenset({1, 7}))
    simulation, recording = engine.Simulation(model, 3, dt=1e-3, integrator="rk4"), engine.Recording()
    recording.begin(simulation, 0.0, about)
    simulation.step(3)
    recording.add(simulation)
    recorder = Recorder()
    recorder.opened = run_files.Opened(model, recording, False)
    found = run_files.as_recorded(recorder, Settings())
    assert (found.dt, found.integrator, found.algorithm, found.gains) == (1e-3, "rk4", "auto", ())
    assert (found.driven, found.spread) == (frozenset({1}), BatchSpread(3))
    assert not found.automatic
