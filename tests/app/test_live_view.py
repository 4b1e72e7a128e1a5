"""A script's simulation in the window: exact to the bit, whatever happens to the script and the window."""

import json
import os
import re
import signal
import time

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QDialog
from windows import frames_of, wait, wait_loaded

import engine
import main
from app.features import plots_view
from app.features.autosaved_runs import AutosavedRuns
from app.features.batch_view import BatchView
from app.features.diagnostics_view import DiagnosticsView
from app.features.drive_view import DriveView
from app.features.gravity_view import GravityView
from app.features.live_view import LiveView
from app.features.palette import PaletteView
from app.features.plots_view import PlotsView
from app.features.robot_view import RobotView
from app.features.run_exports import RunExports
from app.features.simulation_choices import SimulationChoices
from app.features.status import Status
from app.features.time_view import TimeView
from app.panels.run_dialog import RunDialog
from app.plotting.catalogue import catalogue
from app.plotting.quantities import CONTACTS, EFFORTS
from app.plotting.recorded_curves import Wanted, evaluate
from app.recording import autosave, run_files

pytestmark = pytest.mark.usefixtures("runtime")


@pytest.fixture
def connect(qtbot, window):
    """Has the window show the script that began last, as its menu does."""

    def act():
        view, replay = window.features[LiveView], window.workbench.replay
        before = replay.growing
        view.action.trigger()
        # The run of a script that is over at once has come and gone between two looks at the reader.
        wait(qtbot, lambda: view.reader is not None or replay.growing is not before)
        wait_loaded(qtbot, window)
        return view

    return act


def newest(recording):
    run = recording.runs[-1]
    return recording.frame(run, run.last).checkpoint


def test_the_window_has_the_states_of_the_script_to_the_bit(qtbot, window, start, connect):
    process, folder = start("quadruped", 1500, "states")
    view, replay = connect(), window.workbench.replay
    wait(qtbot, lambda: replay.frame.time > 0.1)
    assert (replay.follows, process.poll()) == (True, None)
    wait(qtbot, lambda: view.reader is None)
    run, recording = replay.growing, replay.recording
    assert (replay.runs, replay.frame.index) == ((run,), run.last)
    assert replay.frame.checkpoint.steps == 1500
    with np.load(folder.with_suffix(".npz")) as states:
        for frame in frames_of(recording, run)[1:]:
            for name in "qv":
                own = states[f"{name}{frame.checkpoint.steps}"]
                assert np.array_equal(getattr(frame.checkpoint, name).view("u8"), own.view("u8"))
    assert len(run) > 30


def test_what_acts_on_the_robot_is_disabled_for_a_reason_while_the_script_drives(qtbot, window, start, connect):
    process, _ = start("quadruped", 10, "fast", "waits", "moon")
    before = window.run.gravity.toolTip()
    view, bench = connect(), window.workbench
    wait(qtbot, lambda: bench.replay.frame.checkpoint.steps == 10)
    run, drive, batch = window.run, window.features[DriveView], window.feature(BatchView).panel
    acting = (
        window.features[GravityView].entries["Moon"],
        run.gravity,
        run.hold,
        run.reset,
        window.feature(SimulationChoices).algorithm_menu,
        window.joints,
        drive.form,
        batch.robots,
        batch.slider,
        batch.pose,
        batch.mass,
        batch.friction,
        batch.seed,
        batch.again,
    )
    assert not any(each.isEnabled() for each in acting)
    assert batch.coloring.isEnabled(), "it only changes the picture"
    assert batch.arrangement.isEnabled()
    reason = "shown_script.py drives the robot"
    assert {each.toolTip() for each in acting} == {f"{reason}; press Branch here (Ctrl+B) to continue from it"}
    assert window.feature(Status).note_label.text() == reason
    with pytest.raises(ValueError, match=f"{reason}; to move joints press Branch here"):
        bench.joints.set_coordinate(6, 0.1)
    assert window.feature(Status).step_button.text() == "1 ms  implicit"
    assert window.features[GravityView].form.kind.currentText() == "Moon"
    assert window.features[TimeView].bar.state.text() == "live: shown_script.py"
    palette = window.features[PaletteView]
    for words, name in (("floating base", "Floating base"), ("algorithm crba", "CRBA"), ("moon", "Gravity: Moon")):
        palette.show()
        palette.palette.line.setText(words)
        entry = palette.palette.list.topLevelItem(0)
        assert (entry.isDisabled(), entry.text(1)) == (True, reason)
        qtbot.keyClick(palette.palette.line, Qt.Key.Key_Return)
        assert window.statusBar().currentMessage().startswith(f"{name}: {reason}; press Branch here")
        palette.palette.close()
    assert bench.robot.settings.algorithm == "auto"
    window.features[TimeView].branch.trigger()
    assert all(each.isEnabled() for each in acting)
    assert run.gravity.toolTip() == before
    process.stdin.write("\n")
    process.stdin.flush()
    wait(qtbot, lambda: view.reader is None)


def test_a_branch_goes_on_as_the_script_does(qtbot, window, start, connect):
    _, folder = start("quadruped", 400, "states", "steady")
    view, bench = connect(), window.workbench
    wait(qtbot, lambda: view.reader is None)
    run, recording = bench.replay.growing, bench.replay.recording
    bench.replay.show(run.last // 2, run)
    begins = bench.replay.frame.checkpoint.steps
    assert 0 < begins < 380
    bench.branch()
    for k in range(10):
        bench.step()
        wait(qtbot, lambda k=k: newest(recording).steps == begins + k + 1)
    ours = newest(recording)
    with np.load(folder.with_suffix(".npz")) as states:
        assert np.array_equal(ours.q.view("u8"), states[f"q{ours.steps}"].view("u8"))


def test_looking_back_stops_following_and_end_follows_again(qtbot, window, start, connect):
    start("double_pendulum", 10**6, "forever")
    connect()
    replay = window.workbench.replay
    wait(qtbot, lambda: len(replay.growing) > 20)
    qtbot.keyClick(window, Qt.Key.Key_Left)
    shown, last = replay.frame.index, replay.growing.last
    wait(qtbot, lambda: replay.growing.last > last + 20)
    assert (replay.frame.index, replay.follows) == (shown, False)
    qtbot.keyClick(window, Qt.Key.Key_End)
    wait(qtbot, lambda: replay.frame.index > last + 20)
    assert replay.follows


def test_its_run_is_plotted_exported_and_kept_like_any_other(qtbot, window, start, connect, tmp_path, monkeypatch):
    saving = AutosavedRuns(window, tmp_path / "runs").autosave
    _, folder = start("quadruped", 500, "states")
    view, bench = connect(), window.workbench
    wait(qtbot, lambda: view.reader is None)
    run, recording = bench.replay.growing, bench.replay.recording
    effort = next(each for each in catalogue(bench.robot.model) if each.kind in EFFORTS)
    force = next(each for each in catalogue(bench.robot.model) if each.kind in CONTACTS)
    wanted = Wanted(run, run.first, run.last, 0, (effort, force), bench.robot.coordinates)
    _, values = evaluate(recording, wanted, range(1, run.last + 1))
    assert np.all(np.isfinite(values))
    assert np.any(values[:, 0])
    assert np.any(values[:, 1])
    asked: list[RunDialog] = []
    monkeypatch.setattr(RunDialog, "exec", lambda dialog: asked.append(dialog) or QDialog.DialogCode.Rejected)
    window.features[RunExports].trajectory.trigger()
    offered = [each.isEnabled() for each in asked[0].choices.buttons()]
    assert (offered, asked[0].seconds) == ([False, False, True], None)  # the recorded frames alone
    window.features[RunExports].write(str(tmp_path / "run.npz"), "npz", 0.0)
    wait(qtbot, lambda: not window.features[RunExports].writing.running)
    wait(qtbot, (tmp_path / "run.npz").exists)
    saved = engine.read_run(tmp_path / "run.npz")
    assert saved.trajectory.time.tolist() == [frame.time for frame in frames_of(recording, run)]
    with np.load(folder.with_suffix(".npz")) as states:
        assert np.array_equal(saved.trajectory.q[-1], states["q500"][0])
    saving.close()
    (kept,) = autosave.saved_runs(tmp_path / "runs")
    read = engine.recording_of_parts(run_files.read(str(kept)), bench.robot.model)
    assert frames_of(read, read.runs[0])[-1].checkpoint.steps == 500


def test_its_plots_go_on_while_it_runs_and_have_what_came_before(qtbot, window, start, connect):
    start("double_pendulum", 10**6, "forever")
    connect()
    replay, panel = window.workbench.replay, window.features[PlotsView].panel
    wait(qtbot, lambda: len(replay.growing) > 50)
    effort = next(each for each in catalogue(window.workbench.robot.model) if each.kind in EFFORTS)
    window.docks["Plots"].toggleViewAction().trigger()
    panel.plot(effort)

    def curve():
        series = panel.series[effort]
        there = np.isfinite(series.value)
        return series.time[there], series.value[there]

    wait(qtbot, lambda: len(curve()[0]) > 40 and curve()[0][0] < 0.1)
    end = curve()[0][-1]
    wait(qtbot, lambda: curve()[0][-1] > end + 0.5)
    assert replay.follows
    times, values = curve()
    wanted = Wanted(replay.growing, 0, 0, 0, (effort,), window.workbench.robot.coordinates)
    index = replay.recording.at(replay.growing, times[-5])
    ((time,), ((value,),)) = evaluate(replay.recording, wanted, [index])
    assert (time, value) == (times[-5], values[-5])


@pytest.mark.parametrize("when", ["before it connects", "as it connects"])
def test_a_plot_has_all_frames_of_a_script_that_had_begun(qtbot, window, start, connect, monkeypatch, when):
    """Also frames that are too many for one update, and although the window's own simulation has samples at 0 s."""
    monkeypatch.setattr(plots_view, "AT_ONCE", 3)
    start("double_pendulum", 10**6, "forever")
    window.open(engine.find_robot("double_pendulum"))
    wait_loaded(qtbot, window)
    bench, panel = window.workbench, window.features[PlotsView].panel
    energy = next(each for each in catalogue(bench.robot.model) if each.label == "kinetic energy")
    window.docks["Plots"].toggleViewAction().trigger()
    if when == "before it connects":
        panel.plot(energy)
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 1)
    connect()
    if when == "as it connects":
        panel.plot(energy)
    replay = bench.replay
    wait(qtbot, lambda: len(replay.growing) > 60)
    recorded = [frame.time for frame in frames_of(replay.recording, replay.growing)[:40]]
    wait(qtbot, lambda: np.isin(recorded, panel.series[energy].time).all())


def test_a_reset_of_the_script_begins_another_run(qtbot, window, start, connect):
    start("double_pendulum", 300, "resets")
    view, replay = connect(), window.workbench.replay
    wait(qtbot, lambda: view.reader is None)
    first, second = replay.runs
    assert [first.number, second.number] == [1, 2]
    assert replay.run is second
    assert replay.recording.frame(first, first.last).time > 0.1
    assert replay.frame.checkpoint.steps == 149


def test_a_script_that_is_killed_leaves_its_run(qtbot, window, start, connect):
    process, _ = start("double_pendulum", 10**6, "forever")
    view, replay = connect(), window.workbench.replay
    wait(qtbot, lambda: len(replay.growing) > 20)
    process.kill()
    wait(qtbot, lambda: view.reader is None)
    assert window.statusBar().currentMessage() == "shown_script.py has ended; its run stays on the timeline"
    assert len(replay.growing) > 20
    assert window.run.gravity.isEnabled()


@pytest.mark.parametrize("robot", ["arm7", "quadruped"])
def test_a_script_whose_simulation_diverges_is_told_and_leaves_a_run_that_can_be_shown(
    qtbot, window, start, connect, robot
):
    script, _ = start(robot, 3000, "diverges")
    window.features[RobotView].action.trigger()
    view, replay = connect(), window.workbench.replay
    wait(qtbot, lambda: view.reader is None)
    script.wait()
    message = window.statusBar().currentMessage()
    why = r"the simulation diverged at 1\.50. s, first in \w+"
    assert re.fullmatch(rf"shown_script\.py has ended: {why}; its run stays on the timeline", message)
    panel = window.features[DiagnosticsView].panel
    assert panel.isVisible()
    (told,) = panel.diagnostics
    assert re.fullmatch(why, told.problem)
    assert told.fix.startswith("in the script, halve dt (it is 0.001 s)")
    at = replay.frame.checkpoint
    assert np.isfinite(at.q).all()
    assert np.isfinite(at.v).all()
    assert at.divergences[0].all()
    qtbot.keyClick(window, "B", Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: not replay.active)
    window.run.play.trigger()
    wait(qtbot, lambda: window.workbench.robot.time > at.steps * 1e-3 + 0.05)


def test_the_copy_of_a_script_that_diverged_stays_marked(qtbot, window, start, connect):
    start("double_pendulum", 600, "diverges", "batch")
    view, panel = connect(), window.features[BatchView].panel
    wait(qtbot, lambda: view.reader is None)
    facts = window.joint_column.facts
    wait(qtbot, lambda: "State of robot 4\ndiverged\tas last drawn" in facts.text())
    panel.map.chosen.emit(2)
    wait(qtbot, lambda: "diverged" not in facts.text())
    qtbot.keyClick(window, "B")
    wait(qtbot, lambda: panel.map.diverged.tolist() == 4 * [False] + [True])
    assert "1 of 5 diverged" in panel.count.text()


def test_a_script_goes_on_where_the_window_closes(qtbot, window, start, connect):
    process, _ = start("double_pendulum", 2000, "waits")
    connect()
    wait(qtbot, lambda: len(window.workbench.replay.growing) > 10)
    window.close()
    assert process.stdout.readline() == "done\n"
    process.communicate("\n")
    assert process.returncode == 0


def test_another_version_and_no_script_are_told_in_a_sentence(window, start, capsys):
    view, bar = window.features[LiveView], window.statusBar()
    none = "no script runs that has called engine.show(simulation, window=False)"
    view.action.trigger()
    assert bar.currentMessage() == none
    assert main.main(["connect"]) == 1
    assert capsys.readouterr().err == f"catena connect: {none}\n"
    _, folder = start("double_pendulum", 1, "waits")
    about = json.loads((folder / "about.json").read_text())
    (folder / "about.json").write_text(json.dumps(about | {"catena": "0.0.1"}))
    message = f"shown_script.py runs Catena 0.0.1, and this window is of {engine.__version__}; use one version for both"
    view.action.trigger()
    assert bar.currentMessage() == message
    assert main.main(["connect", str(folder)]) == 1
    assert capsys.readouterr().err == f"catena connect: {message}\n"
    assert main.main(["connect", str(folder / "none")]) == 1
    assert "is not a live link" in capsys.readouterr().err


def test_a_robot_whose_file_has_gone_is_told(qtbot, window, start, tmp_path):
    robot = tmp_path / "robot.urdf"
    robot.write_text(engine.find_robot("double_pendulum").read_text())
    start(robot, 1, "waits")
    robot.unlink()
    window.features[LiveView].action.trigger()
    wait(qtbot, lambda: window.workbench.findings is not None)
    (found,) = window.workbench.findings.diagnostics
    assert found.problem == f"the robot of the script is not at {robot}, where the window would read it"


def test_the_next_script_has_this_window_as_long_as_nothing_else_goes_on_here(qtbot, window, start, connect, place):
    start("double_pendulum", 50, "fast")
    view, replay = connect(), window.workbench.replay
    wait(qtbot, lambda: view.reader is None)
    window.viewport.camera.azimuth += 0.5
    azimuth, waiting = window.viewport.camera.azimuth, place / "catena" / f"{os.getpid()}.window"
    assert waiting.exists()
    _, folder = start("double_pendulum", 70, "fast", "window")
    assert (folder / waiting.name).exists()
    wait(qtbot, lambda: replay.growing is not None and replay.recording.span(replay.growing)[1] == pytest.approx(0.07))
    assert window.viewport.camera.azimuth == azimuth
    wait(qtbot, waiting.exists)
    window.workbench.branch()
    wait(qtbot, lambda: not waiting.exists())


@pytest.mark.usefixtures("qapp")
def test_show_opens_a_window_which_shows_the_next_script_too(start, place):
    def waiting():
        return [int(file.stem) for file in place.glob("catena/*.window")]

    began = time.monotonic()
    start("double_pendulum", 100, "fast", "window")
    while not waiting() and time.monotonic() < began + 60:
        time.sleep(0.05)
    (window,) = waiting()
    try:
        _, folder = start("double_pendulum", 100, "fast", "window")
        assert (folder / f"{window}.window").exists()
        while not waiting() and time.monotonic() < began + 120:
            time.sleep(0.05)
        assert waiting() == [window]
    finally:
        os.kill(window, signal.SIGTERM)
    while waiting() and time.monotonic() < began + 180:
        time.sleep(0.05)
    assert waiting() == []
