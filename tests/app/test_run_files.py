"""Runs that are exported from the window, and opened in it."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QDialog, QLabel
from test_time import load, play
from windows import choose_rows, in_simulation, name_file, wait, wait_loaded

import engine
from app.features.attaching import GroundView, RunExports, TimeView
from app.panels.run_dialog import INTERVAL, RECORDED, STEPS, RunDialog
from app.recording import run_files
from app.simulation.batch_spread import BatchSpread
from app.window import Window
from engine.cli import main as command


@pytest.fixture
def exports(window) -> RunExports:
    return window.features[RunExports]


def export(qtbot, window: Window, action, path: Path, monkeypatch, choice: int = RECORDED, interval=10.0) -> None:
    """Use an entry of File › Export, and answer its dialogs."""
    name_file(monkeypatch, path)
    choose_rows(monkeypatch, choice, interval)
    wait(qtbot, action.isEnabled)
    action.trigger()
    exports = window.features[RunExports]
    assert exports.stop.isEnabled() == (choice != RECORDED)
    wait(qtbot, lambda: not exports.writing.running)


def open_run(qtbot, window: Window, path: Path) -> engine.Run:
    window.open(path)
    wait_loaded(qtbot, window)
    wait(qtbot, lambda: window.workbench.replay.active)
    return window.workbench.replay.recording.runs[0]


def test_a_run_is_exported_opened_and_gone_on_from(qtbot, window, exports, tmp_path, monkeypatch):
    assert not exports.trajectory.isEnabled()
    recording = load(qtbot, window, "quadruped")
    play(qtbot, window, 0.5)
    path = tmp_path / "walk.npz"
    export(qtbot, window, exports.trajectory, path, monkeypatch)
    assert "rows written to walk.npz" in window.statusBar().currentMessage()
    (run,) = recording.runs
    written = [recording.frame(run, index).checkpoint for index in range(len(run))]
    load(qtbot, window, "arm7")
    run = open_run(qtbot, window, path)
    assert window.workbench.robot.model.name == "quadruped"
    assert Path(window.workbench.path).name == "quadruped.urdf"
    assert window.workbench.recent[0] == str(path)
    replay = window.workbench.replay
    assert replay.playing, "it plays at once"
    wait(qtbot, lambda: not replay.playing)
    assert len(run) == len(written)
    for index, computed in recording.resimulate(run, 5):
        np.testing.assert_array_equal(computed.q, written[index].q)
        np.testing.assert_array_equal(computed.v, written[index].v)
    assert recording.frame(run, 3).setup.about == window.workbench.robot.settings
    replay.show(6)
    qtbot.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: recording.runs[-1].left is not None)
    assert len(recording.runs) == 2, "the file's run and the branch"
    play(qtbot, window, 0.1)
    branch = recording.runs[-1]
    for index, computed in recording.resimulate(branch, 2):
        np.testing.assert_array_equal(computed.q, recording.frame(branch, index).checkpoint.q)


@pytest.fixture
def run_file(tmp_path) -> Path:
    """A run of half a second that `main.py run` wrote."""
    path = tmp_path / "run.npz"
    assert command(["run", "arm7", "--seconds", "0.5", "--every", "20", "--out", str(path)]) == 0
    return path


def test_end_goes_to_the_last_moment_of_an_opened_run(qtbot, window, run_file):
    run = open_run(qtbot, window, run_file)
    replay, view = window.workbench.replay, window.features[TimeView]
    qtbot.keyClick(window, Qt.Key.Key_Home)
    assert replay.frame.index == run.first
    assert view.last.text() == "Go to &end"
    qtbot.keyClick(window, Qt.Key.Key_End)
    assert replay.active
    assert (replay.run, replay.frame.index) == (run, run.last)
    assert not view.last.isEnabled()
    assert view.bar.state.text() == "recorded"
    assert view.bar.runs.count() == 1
    for key in (Qt.Key.Key_End, Qt.Key.Key_Right):
        qtbot.keyClick(window, key)
        assert (replay.run, replay.frame.index) == (run, run.last), "there is nothing after it"
    assert "the recorded run ends here: press Branch here" in window.statusBar().currentMessage()
    qtbot.keyClick(window, Qt.Key.Key_Space)
    assert replay.playing, "from its beginning"


@pytest.mark.parametrize("changed", [False, True])
def test_what_goes_on_from_an_opened_run_has_a_present(qtbot, window, run_file, changed):
    open_run(qtbot, window, run_file)
    replay, view = window.workbench.replay, window.features[TimeView]
    wait(qtbot, lambda: not window.workbench.computation.compiling)
    window.workbench.configuring.set_gravity(not changed)
    qtbot.keyClick(window, Qt.Key.Key_End)
    qtbot.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: replay.recording.runs[-1].left is not None)
    play(qtbot, window, 0.05)
    names = [view.bar.runs.itemText(k) for k in range(view.bar.runs.count())]
    assert names == ["Run 1", "Run 2, from run 1 at 0.50 s"]
    qtbot.keyClick(window, Qt.Key.Key_Home)
    assert view.last.text() == "Go to &end"
    qtbot.keyClick(window, Qt.Key.Key_End)
    assert not replay.active


def test_a_reset_in_an_opened_run_begins_another(qtbot, window, run_file):
    open_run(qtbot, window, run_file)
    bench = window.workbench
    wait(qtbot, lambda: not bench.computation.compiling)
    qtbot.keyClick(window, Qt.Key.Key_R)
    assert not bench.replay.active
    play(qtbot, window, 0.05)
    assert [run.number for run in bench.replay.runs] == [1, 2]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (ValueError("the run's arrays take 5.0 GB"), "nothing was written: the run's arrays take 5.0 GB"),
        (MemoryError(), "nothing was written: it does not fit into memory"),
    ],
)
def test_an_export_that_is_too_large_is_told_in_a_sentence(qtbot, window, exports, fault, words):
    def work(_: object) -> str:
        raise fault

    exports.begin(work, "writing …")
    wait(qtbot, lambda: not exports.writing.running)
    assert window.statusBar().currentMessage() == words


@pytest.mark.parametrize("shape", [1, 2], ids=["slope", "rough"])
def test_a_run_goes_on_upon_the_ground_that_it_was_on(qtbot, window, exports, tmp_path, monkeypatch, shape):
    load(qtbot, window, "quadruped")
    bench = window.workbench
    window.features[GroundView].shapes[shape].trigger()
    chosen = bench.robot.settings.scene.ground
    play(qtbot, window, 0.2)
    path = tmp_path / "walk.npz"
    export(qtbot, window, exports.trajectory, path, monkeypatch)
    assert "rows written to walk.npz" in window.statusBar().currentMessage()
    window.features[GroundView].shapes[0].trigger()
    load(qtbot, window, "quadruped")
    level = window.viewport.overlays.world
    open_run(qtbot, window, path)
    wait(qtbot, lambda: window.viewport.overlays.world is not level)
    qtbot.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: not bench.replay.active and _same_ground(bench.robot.settings.scene.ground, chosen))
    window.refresh()
    assert window.features[GroundView].shapes[shape].isChecked()
    assert window.viewport.overlays.world is not level
    bench.configuring.set_dt(7e-4)
    wait(qtbot, lambda: not bench.replay.active and bench.robot.settings.dt == 7e-4 and not bench.computation.compiling)
    play(qtbot, window, 0.05)
    run = bench.replay.recording.runs[-1]
    assert _same_ground(bench.replay.recording.frame(run, run.last).setup.settings.scene.ground, chosen)


def _same_ground(one: engine.Plane | engine.HeightField, other: engine.Plane | engine.HeightField) -> bool:
    if isinstance(one, engine.Plane) or isinstance(other, engine.Plane):
        return one == other
    return np.array_equal(one.heights, other.heights) and one.cell == other.cell


def test_an_export_says_which_run_it_has(qtbot, window, exports, tmp_path, monkeypatch):
    recording = load(qtbot, window)
    play(qtbot, window, 0.3)
    qtbot.keyClick(window, Qt.Key.Key_Left)
    left = window.workbench.replay.frame.time
    qtbot.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: len(recording.runs) == 2)
    play(qtbot, window, 0.2)
    branch = recording.runs[-1]
    end = recording.span(branch)[1]
    extent = f"run 2, one of 2, 0.00 to {end:.2f} s, until {left:.2f} s that of run 1"
    titles = []
    choose_rows(monkeypatch, RECORDED)
    for action, name in ((exports.trajectory, "branch.npz"), (exports.table, "branch.csv")):
        path = tmp_path / name
        monkeypatch.setattr("app.features.run_exports.ask_path", lambda *a, path=path: titles.append(a[1]) or str(path))
        wait(qtbot, action.isEnabled)
        action.trigger()
        words = f"{len(branch)} rows written to {name}: {extent}"
        wait(qtbot, lambda words=words: window.statusBar().currentMessage() == words)
    assert titles == ["Export run 2, one of 2"] * 2
    times = np.load(tmp_path / "branch.npz")["time"]
    assert (times[0], times[-1], len(times)) == (0.0, end, len(branch))


def test_a_floating_robots_run_opens_floating(qtbot, window, exports, tmp_path, monkeypatch):
    window.files.open(engine.find_robot("arm7"), floating=True)
    wait_loaded(qtbot, window)
    wait(qtbot, lambda: not window.workbench.computation.compiling)
    play(qtbot, window, 0.1)
    path = tmp_path / "float.npz"
    export(qtbot, window, exports.trajectory, path, monkeypatch)
    load(qtbot, window, "scara")
    open_run(qtbot, window, path)
    assert window.workbench.robot.floating
    assert window.workbench.robot.model.nq == 14


def test_a_table_is_exported(qtbot, window, exports, tmp_path, monkeypatch):
    recording = load(qtbot, window)
    play(qtbot, window, 0.2)
    path = tmp_path / "run.csv"
    export(qtbot, window, exports.table, path, monkeypatch)
    rows = list(csv.reader(path.read_text("utf-8").splitlines()))
    assert len(rows) == 1 + len(recording.runs[0])
    assert rows[0][:2] == ["time [s]", f"q:{window.workbench.robot.model.joint_names[0]} [rad]"]


def test_each_step_is_exported_with_what_held_and_pulled(qtbot, window, exports, tmp_path, monkeypatch):
    recording, bench = load(qtbot, window), window.workbench
    bench.forces.set(bench.robot.model.link_names.index("link7"), np.array([0.0, 0, 0, 60.0, 0, 0]), world=False)
    wait(qtbot, lambda: in_simulation(bench, lambda running: running.wrench is not None))  # whose code is there
    play(qtbot, window, 0.3)
    (run,), paths = recording.runs, [tmp_path / name for name in ("run.csv", "run.npz", "coarse.npz")]
    export(qtbot, window, exports.table, paths[0], monkeypatch, STEPS)
    export(qtbot, window, exports.trajectory, paths[1], monkeypatch, STEPS)
    export(qtbot, window, exports.trajectory, paths[2], monkeypatch, INTERVAL, 20.0)
    names, *rows = list(csv.reader(paths[0].read_text("utf-8").splitlines()))
    table = dict(zip(names, np.array(rows, float).T, strict=True))
    last = recording.frame(run, run.last)
    assert len(rows) == last.checkpoint.steps + 1
    np.testing.assert_allclose(np.diff(table["time [s]"]), last.setup.settings.dt)
    assert max(abs(table[f"tau:{name} [N m]"][-1]) for name in bench.robot.model.joint_names) > 10, (
        "its motors hold against it"
    )
    assert table["wrench:link7.fx [N]"][-1] == 60.0
    with np.load(paths[1]) as whole, np.load(paths[2]) as coarse:
        np.testing.assert_array_equal(whole["q"], np.array(rows, float)[:, 1 : 1 + bench.robot.model.nq])
        np.testing.assert_array_equal(whole["wrench"][-1, 0], [0, 0, 0, 60, 0, 0])
        np.testing.assert_allclose(np.diff(coarse["time"][-8:]), 0.02, atol=1e-9)
    again = open_run(qtbot, window, paths[1])
    assert len(again) == len(rows)


@pytest.mark.parametrize("name", ["run.txt", "run.CSV"])
def test_a_table_is_a_table_whatever_its_name(qtbot, window, exports, tmp_path, monkeypatch, name):
    load(qtbot, window)
    play(qtbot, window, 0.1)
    export(qtbot, window, exports.table, tmp_path / name, monkeypatch)
    assert (tmp_path / name).read_text("utf-8").startswith("time [s],q:")


def test_a_folder_that_is_not_there_is_told(qtbot, window, exports, tmp_path, monkeypatch):
    load(qtbot, window)
    play(qtbot, window, 0.1)
    export(qtbot, window, exports.trajectory, tmp_path / "none" / "run.npz", monkeypatch)
    assert "there is no folder" in window.statusBar().currentMessage()
    monkeypatch.setattr(engine, "resample", lambda *_: pytest.fail("the run was computed for a file that cannot be"))
    export(qtbot, window, exports.table, tmp_path / "none" / "run.csv", monkeypatch, STEPS)
    assert "run.csv" not in window.statusBar().currentMessage().partition("none")[0]
    assert "there is no folder" in window.statusBar().currentMessage()


def test_the_moments_of_a_run_keep_their_names(qtbot, window, exports, tmp_path, monkeypatch):
    load(qtbot, window)
    play(qtbot, window, 0.3)
    qtbot.keyClick(window, Qt.Key.Key_Left)
    qtbot.keyClick(window, Qt.Key.Key_K)
    keyframes = window.features[TimeView].keyframes
    (here,) = keyframes.entries
    export(qtbot, window, exports.trajectory, tmp_path / "run.npz", monkeypatch)
    open_run(qtbot, window, tmp_path / "run.npz")
    ((number, time, name),) = keyframes.entries
    assert (time, name) == (here[1], "Keyframe 1")
    assert number == window.workbench.replay.runs[0].number
    qtbot.keyClick(window, Qt.Key.Key_Right, Qt.KeyboardModifier.ControlModifier)
    assert window.workbench.replay.frame.time == time
    assert not run_files.named_keyframes("none") + run_files.named_keyframes([3, [1, "x", "y"], [1, 2]])


def test_a_branch_takes_the_names_of_what_led_to_it(qtbot, window, exports, tmp_path, monkeypatch):
    recording = load(qtbot, window)
    play(qtbot, window, 0.5)
    time_view = window.features[TimeView]
    for moment in (0.1, 0.4):
        time_view.bar.track.seek_requested.emit(moment)
        qtbot.keyClick(window, Qt.Key.Key_K)
    time_view.bar.track.seek_requested.emit(0.3)
    qtbot.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: len(recording.runs) == 2 and not window.workbench.replay.active)
    window.run.step.trigger()
    branch = recording.runs[1]
    wait(qtbot, lambda: branch.last >= branch.own)
    early = time_view.keyframes.entries[0]
    export(qtbot, window, exports.trajectory, tmp_path / "branch.npz", monkeypatch)
    open_run(qtbot, window, tmp_path / "branch.npz")
    (run,) = window.workbench.replay.runs[:1]
    assert time_view.keyframes.entries == ((run.number, *early[1:]),)


def test_a_generated_robot_goes_with_its_run(qtbot, window, exports, tmp_path, monkeypatch, capsys):
    """No file keeps it: its text is in the run's."""
    window.workbench.open(engine.chain(5, 3, prismatic=0.5))
    wait(qtbot, lambda: window.workbench.robot.model is not None)
    play(qtbot, window, 0.2)
    path = tmp_path / "run.npz"
    export(qtbot, window, exports.trajectory, path, monkeypatch)
    saved = engine.read_run(path)
    assert saved.settings["robot"] == ""
    inertia, upper = window.workbench.robot.model.inertia, window.workbench.robot.model.upper
    run = open_run(qtbot, window, path)
    assert len(run) == len(saved.trajectory.time)
    np.testing.assert_array_equal(window.workbench.robot.model.inertia, inertia)
    np.testing.assert_array_equal(window.workbench.robot.model.upper, upper)
    assert window.workbench.recent[0] == str(path)
    export(qtbot, window, exports.trajectory, tmp_path / "again.npz", monkeypatch)
    assert engine.read_run(tmp_path / "again.npz").settings["urdf"] == saved.settings["urdf"]
    assert command(["repeat", str(path)]) == 0
    assert "the same to the bit" in capsys.readouterr().out
    assert command(["repeat", str(path), "--robot", "scara"]) != 0


def test_the_dialog_promises_the_rows_that_are_written(qtbot, window, exports, tmp_path, monkeypatch):
    """Also of a run in which the batch changed: what came before is said to be left out."""
    recording, bench = load(qtbot, window), window.workbench
    play(qtbot, window, 0.2)
    bench.configuring.set_spread(BatchSpread(robots=3))
    wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.settings.spread.robots == 3)
    play(qtbot, window, 0.2)
    promised = []
    name_file(monkeypatch, tmp_path / "run.csv")

    def exec_(dialog: RunDialog) -> int:
        promised.extend([dialog.choices.button(STEPS).text(), *(each.text() for each in dialog.findChildren(QLabel))])
        dialog.choices.button(STEPS).click()
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr(RunDialog, "exec", exec_)
    wait(qtbot, exports.table.isEnabled)
    exports.table.trigger()
    wait(qtbot, lambda: not exports.writing.running)
    rows = len((tmp_path / "run.csv").read_text("utf-8").splitlines()) - 1
    assert f"{rows:,} rows" in promised[0]
    run = recording.runs[-1]
    begin = recording.span(run)[0]
    left = recording.frame(run, engine.first_resampled(recording, run)).time - begin
    assert left > 0.1
    assert f"Without the first {left:.3g} s, in which the batch had another size." in promised


@pytest.mark.parametrize("robots", [1, 3])
def test_of_a_run_with_states_alone_only_these_are_offered_and_a_table_says_whose(
    qtbot, window, exports, tmp_path, monkeypatch, robots
):
    path, shown = tmp_path / "kept.npz", []
    call = ["run", "pendulum", "--seconds", "0.2", "--every", "10", "--batch", str(robots), "--out", str(path)]
    assert command(call) == 0
    window.open(path)
    wait(qtbot, lambda: window.workbench.replay.chosen is not None and exports.table.isEnabled())
    name_file(monkeypatch, tmp_path / "run.csv")

    def exec_(dialog: RunDialog) -> int:
        shown.append([dialog.choices.button(each).isEnabled() for each in (STEPS, INTERVAL, RECORDED)])
        shown.append(dialog.seconds)
        shown.append("\n".join(each.text() for each in dialog.findChildren(QLabel)))
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr(RunDialog, "exec", exec_)
    exports.table.trigger()
    wait(qtbot, lambda: not exports.writing.running)
    assert shown[:2] == [[False, False, True], None]
    assert "states at these times alone" in shown[2]
    assert ("robot 0 of 3" in shown[2]) == (robots == 3)
    assert len((tmp_path / "run.csv").read_text("utf-8").splitlines()) - 1 == 21
    reported = window.statusBar().currentMessage()
    assert reported.startswith("21 rows written to run.csv: " + "robot 0 of 3, " * (robots == 3) + "the run")


@pytest.mark.parametrize("robots", [1, 3])
def test_the_dialog_says_how_many_robots_and_bytes_and_the_progress_names_the_writing(
    qtbot, window, exports, tmp_path, monkeypatch, robots
):
    load(qtbot, window, "quadruped")
    window.workbench.configuring.set_spread(BatchSpread(robots))
    play(qtbot, window, 0.3)
    wait(qtbot, lambda: window.workbench.replay.newest is not None and exports.trajectory.isEnabled())
    reported, sizes, report = [], {}, exports.report_progress
    monkeypatch.setattr(exports, "report_progress", lambda text: (reported.append(text), report(text)))
    name_file(monkeypatch, tmp_path / "run.npz")

    def exec_(dialog: RunDialog) -> int:
        for choice in (RECORDED, STEPS):
            dialog.choices.button(choice).click()
            sizes[choice] = dialog.total.text()
        reported.append("\n".join(each.text() for each in dialog.findChildren(QLabel)))
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr(RunDialog, "exec", exec_)
    exports.trajectory.trigger()
    wait(qtbot, lambda: not exports.writing.running)
    words, *progress = reported
    assert ("All 3 robots are written." in words) == (robots == 3)
    about = [float(re.fullmatch(r"About (\d+) MB before compression\.", sizes[k])[1]) for k in (RECORDED, STEPS)]
    with np.load(tmp_path / "run.npz") as file:
        written = sum(file[name].nbytes for name in file.files) / 1e6
    assert about[0] <= about[1] == pytest.approx(max(1.0, written), rel=0.5, abs=0.6)
    assert "the file is being written" in progress[-1]
    times = [re.search(r"([\d.]+) of ([\d.]+) s", each) for each in progress[:-1]]
    assert all(float(each[1]) <= float(each[2]) for each in times)


def test_an_export_into_a_folder_that_takes_no_files_names_both_and_what_to_do(qtbot, window, exports, monkeypatch):
    load(qtbot, window, "pendulum")
    play(qtbot, window, 0.1)

    def fail(*_: object) -> None:
        raise FileNotFoundError(2, "No such file or directory", "/proc/x.npz")

    monkeypatch.setattr(engine, "require_place", fail)
    exports.write("/proc/x.npz", "npz")
    wait(qtbot, lambda: not exports.writing.running)
    words = window.statusBar().currentMessage()
    assert words.startswith("nothing was written: x.npz cannot be written to /proc: No such file or directory; choose")
