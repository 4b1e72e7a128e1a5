"""Unsaved recordings are available again after the window was closed, killed, or opened another robot."""

import dataclasses
import shutil
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PyQt6.QtCore import QLockFile, Qt
from test_time import load, play
from test_worker import until
from windows import HEARD, started, wait, wait_loaded
from windows import frames_of as frames

import engine
from app.features.attaching import LogView, TimeView
from app.recording import autosave, run_files
from app.recording.autosave import Autosave, Origin
from app.simulation.messages import Settings
from app.simulation.recorder import Opened, Recorder
from app.simulation.running import for_new, running_of

Key, Ctrl = Qt.Key, Qt.KeyboardModifier.ControlModifier
PARTING = autosave.PARTING  # other programs may take the processor: it is counted in seconds of work


@pytest.fixture
def start(make_window, tmp_path, monkeypatch):
    monkeypatch.setattr(autosave, "PARTING", 60.0)
    return partial(started, make_window, tmp_path / "runs")


def open_last(qtbot, window):
    window.kept.action.trigger()
    wait_loaded(qtbot, window)
    wait(qtbot, lambda: window.workbench.replay.active)
    wait(qtbot, window.features[TimeView].branch.isEnabled)  # the window has seen it, too
    return window.workbench.replay


def assert_same_frames(ones, others):
    assert len(ones) == len(others)
    for one, other in zip(ones, others, strict=True):
        assert one.time == other.time
        np.testing.assert_array_equal(one.checkpoint.q, other.checkpoint.q)
        np.testing.assert_array_equal(one.checkpoint.v, other.checkpoint.v)


def test_a_run_that_is_closed_in_the_middle_is_there_at_the_next_start(qtbot, start):
    window = start()
    window.kept.action.trigger()
    assert window.statusBar().currentMessage() == "no run was saved yet"
    recording = load(qtbot, window)
    play(qtbot, window, 0.4)
    qtbot.keyClick(window, Key.Key_Left)
    qtbot.keyClick(window, Key.Key_B, Ctrl)
    wait(qtbot, lambda: len(recording.runs) == 2)
    window.run.play.trigger()
    wait(qtbot, lambda: window.workbench.robot.time > 0.7)
    began, work, closed = time.perf_counter(), time.process_time(), window.workbench.robot.time
    window.close()
    assert time.process_time() - work < PARTING
    assert time.perf_counter() - began < HEARD
    first, branch = recording.runs
    window = start()
    assert "the last run was saved (arm7, of" in window.features[LogView].text
    assert "missing" not in window.features[LogView].text
    replay = open_last(qtbot, window)
    assert [run.left for run in replay.runs] == [None, branch.left]
    assert window.workbench.robot.model.name == "arm7"
    assert "Branch here" in window.statusBar().currentMessage()
    assert replay.frame.time == replay.recording.span(replay.runs[1])[1] > 0.65
    assert not replay.playing
    assert_same_frames(frames(recording, first), frames(replay.recording, replay.runs[0]))
    read = frames(replay.recording, replay.runs[1])
    assert_same_frames(frames(recording, branch)[: len(read)], read)
    assert read[-1].time >= closed  # but not what was simulated after the window had gone
    assert window.workbench.recent[0].endswith("arm7.urdf")
    qtbot.keyClick(window, Key.Key_B, Ctrl)
    wait(qtbot, lambda: not replay.active)
    window.run.step.trigger()
    wait(qtbot, lambda: window.workbench.robot.time > read[-1].time)
    end = window.workbench.robot.time
    window.close()
    replay = open_last(qtbot, start())
    assert len(replay.runs) == 3
    assert replay.frame.time == pytest.approx(end)


def test_a_branch_of_a_branch_without_steps_is_kept(qtbot, start):
    window = start()
    recording = load(qtbot, window)
    play(qtbot, window, 0.4)
    for count in (2, 3):
        qtbot.keyClick(window, Key.Key_Left)
        qtbot.keyClick(window, Key.Key_B, Ctrl)
        wait(qtbot, lambda count=count: len(recording.runs) == count and not window.workbench.replay.active)
    window.run.step.trigger()
    first, empty, branch = recording.runs
    assert (len(empty), branch.left[0]) == (empty.own - empty.first, empty.number)
    wait(qtbot, lambda: branch.last >= branch.own)
    window.close()
    assert window.kept.autosave.problem == ""
    replay = open_last(qtbot, start())
    assert [run.left for run in replay.runs] == [None, (1, branch.left[1])]
    assert_same_frames(frames(recording, first), frames(replay.recording, replay.runs[0]))
    assert_same_frames(frames(recording, branch), frames(replay.recording, replay.runs[1]))


def test_a_window_that_is_killed_leaves_its_runs(qtbot, start, monkeypatch, tmp_path):
    monkeypatch.setattr(autosave, "PERIOD", 0.05)
    window = start()
    recording = load(qtbot, window)
    play(qtbot, window, 0.4)
    (run,) = recording.runs
    root = tmp_path / "runs"
    wait(qtbot, lambda: root.exists() and read_again(root) == len(run))
    (growing,) = root.iterdir()
    qtbot.keyClick(window, Key.Key_K)
    wait(qtbot, lambda: run_files.named_in(growing) == window.features[TimeView].keyframes.entries != ())
    assert autosave.saved_runs(root) == []
    other = tmp_path / "after" / growing.name
    shutil.copytree(growing, other, ignore=shutil.ignore_patterns("lock"))
    assert autosave.saved_runs(other.parent) == [other]
    window.close()


def read_again(root):
    (folder,) = root.iterdir()
    saved = run_files.read(str(folder))
    model = engine.load(engine.find_robot(saved[-1].settings["robot"]))
    return len(engine.recording_of_parts(saved, model).runs[-1])


def test_a_run_of_a_robot_without_joints_is_kept(qtbot, start, tmp_path):
    path = tmp_path / "body.urdf"
    path.write_text('<robot name="body"><link name="body"/></robot>')
    window = start()
    load(qtbot, window, path)
    play(qtbot, window, 0.2)
    end = window.workbench.robot.time
    window.close()
    assert window.kept.autosave.problem == ""
    replay = open_last(qtbot, window := start())
    assert replay.frame.time == pytest.approx(end, abs=0.03)
    qtbot.keyClick(window, Key.Key_B, Ctrl)
    play(qtbot, window, 0.1)
    window.close()
    assert window.kept.autosave.problem == ""


def test_another_robot_leaves_the_run_of_the_one_before(qtbot, start):
    window = start()
    load(qtbot, window)
    play(qtbot, window, 0.2)
    end = window.workbench.robot.time
    load(qtbot, window, "double_pendulum")
    wait(qtbot, lambda: window.kept.last is not None)
    replay = open_last(qtbot, window)
    assert window.workbench.robot.model.name == "arm7"
    assert replay.frame.time == pytest.approx(end, abs=0.03)
    for robot in ("double_pendulum", "scara"):
        load(qtbot, window, robot)
        play(qtbot, window, 0.1)
    window.kept.menu.aboutToShow.emit()
    (earlier,) = window.kept.menu.actions()
    assert earlier.text().startswith("arm7, of ")
    earlier.trigger()
    wait(qtbot, lambda: window.workbench.robot.model.name == "arm7" and window.workbench.replay.active)


def test_a_generated_robot_is_kept_with_its_run(qtbot, start, tmp_path, monkeypatch):
    window = start()
    window.workbench.open(engine.chain(5, 3))
    wait(qtbot, lambda: window.workbench.robot.model is not None)
    play(qtbot, window, 0.2)
    window.close()
    replay = open_last(qtbot, window := start())
    assert len(window.workbench.robot.model.joints) == 5
    assert replay.frame.time > 0.1
    assert window.workbench.recent == []
    monkeypatch.setattr("app.features.sessions.ask_path", lambda *_: pytest.fail("a file was asked for"))
    qtbot.keyClick(window, Key.Key_S, Ctrl)
    assert "a temporary file only, which no session can name" in window.statusBar().currentMessage()
    qtbot.keyClick(window, Key.Key_B, Ctrl)
    window.run.step.trigger()
    wait(qtbot, lambda: not replay.active and len(replay.recording.runs) == 2)
    window.close()
    newest = autosave.saved_runs(tmp_path / "runs")[0]
    assert (newest / run_files.ROBOT).exists()


def test_a_generated_robot_that_was_kept_goes_on_to_the_same_bits(qtbot, start):
    """With slides, which a file must limit, and turned joints and inertias, which its decimals round."""
    window, model = start(), engine.tree(12, 3, prismatic=0.4, spherical=0.2)
    window.workbench.open(model)
    wait(qtbot, lambda: window.workbench.robot.model is model)
    play(qtbot, window, 0.2)
    window.close()
    for _ in range(2):  # the second time as a branch of the first, whose folder has another's robot
        replay = open_last(qtbot, window := start())
        again = window.workbench.robot.model
        for field in dataclasses.fields(model):
            if isinstance(before := getattr(model, field.name), np.ndarray):
                np.testing.assert_array_equal(getattr(again, field.name), before, err_msg=field.name)
        frame, ends = replay.frame, set()
        how = frame.setup.settings
        for robot in (model, again):
            simulation = engine.Simulation(robot, 1, how.dt, how.integrator, how.algorithm, kp=how.kp, kd=how.kd)
            simulation.restore(frame.checkpoint)
            simulation.step(100)
            ends.add(simulation.q.tobytes() + simulation.v.tobytes())
        assert len(ends) == 1
        qtbot.keyClick(window, Key.Key_B, Ctrl)
        window.run.step.trigger()
        wait(qtbot, lambda replay=replay: not replay.active and len(replay.recording.runs) > 1)
        window.close()


def test_runs_whose_robot_went_with_its_folder_are_told_of_and_not_kept_without_it(keeper, tmp_path):
    """Other windows may have kept newer ones since it was opened."""
    passing = tmp_path / "runs" / f"gone{run_files.KEPT_SUFFIX}" / run_files.ROBOT
    recording, running = driven("double_pendulum", 5)
    model = dataclasses.replace(running.model, source=str(passing))
    mine = keeper(recording)
    mine.hand_over(engine.Recording(), model, ())
    mine.set_robot(Origin(model, str(passing), False, ()))
    assert not mine.close()
    assert mine.problem.startswith("runs are not kept: ")
    assert not list((tmp_path / "runs").iterdir())


def test_a_run_from_a_file_is_kept_once_something_goes_on_from_it(qtbot, start, tmp_path):
    from test_run_files import open_run

    path, root = tmp_path / "swing.npz", tmp_path / "runs"
    recording, _ = driven("double_pendulum", 50)
    facts = run_files.facts(recording.frame(recording.runs[0], 0).setup, "double_pendulum", False, ())
    engine.save_run(path, recording, recording.runs[0], facts, run_files.describe)
    window = start()
    open_run(qtbot, window, path)
    window.close()
    assert autosave.saved_runs(root) == []
    window = start()
    open_run(qtbot, window, path)
    window.features[TimeView].bar.track.seek_requested.emit(0.03)
    qtbot.keyClick(window, Key.Key_B, Ctrl)
    window.run.step.trigger()
    wait(qtbot, lambda: not window.workbench.replay.active and window.workbench.robot.time > 0.03)
    window.close()
    replay = open_last(qtbot, start())
    first, branch = replay.runs
    assert branch.left[0] == first.number
    assert len(first) == len(recording.runs[0])


def driven(name, steps):
    model = engine.load(engine.find_robot(name))
    running, recorder = running_of(model, for_new(model, Settings(automatic=True))), Recorder()
    recorder.after_jump(running)
    for _ in range(steps):
        recorder.before_steps(running, 1)
        running.advance(1)
        recorder.after_steps(running, 1)
        recorder._over = False
    return recorder.recording, running


def test_runs_from_a_file_are_never_where_those_of_the_robot_before_are_kept_from():
    recording, before = driven("arm7", 5)
    of_file, running = driven("double_pendulum", 5)
    recorder, shown = Recorder(), []
    recorder.recording.take_over(recording)
    recorder._running = before
    runs, runs_of_file = recording.runs, of_file.runs
    recorder.handed_over = lambda left, model, opened: shown.append((left.runs, model, opened, recorder.recording.runs))
    recorder.opened = Opened(running.model, of_file, floating=False)
    recorder.after_jump(running)
    assert shown == [(runs, running.model, runs_of_file, ())]
    assert recorder.recording.runs[:1] == runs_of_file


@pytest.fixture
def keeper(tmp_path, monkeypatch):
    monkeypatch.setattr(autosave, "PARTING", 60.0)
    monkeypatch.setattr(autosave, "PERIOD", 1000.0)
    return lambda recording: Autosave(tmp_path / "runs", recording)


def keep(keeper, name, made):
    """Runs that `Autosave` has to write, of a number of steps, or driven before."""
    recording, running = driven(name, made) if isinstance(made, int) else made
    mine = keeper(recording)
    mine.hand_over(engine.Recording(), running.model, ())
    mine.set_robot(Origin(running.model, name, False, ()))
    return mine


@pytest.mark.parametrize("fault", [IndexError, OSError, KeyError])
def test_runs_that_cannot_be_written_do_not_stop_those_of_later_robots(keeper, tmp_path, monkeypatch, fault):
    save = engine.save_part

    def refuse(path, recording, run, shown, *rest):
        if shown["robot"] == "arm7":
            raise fault("no such thing")
        return save(path, recording, run, shown, *rest)

    monkeypatch.setattr(engine, "save_part", refuse)
    recording, running = driven("arm7", 5)
    mine, left = keep(keeper, "arm7", (recording, running)), engine.Recording()
    left.take_over(recording)
    later, running = driven("double_pendulum", 5)
    recording.take_over(later)
    mine.hand_over(left, running.model, ())
    mine.set_robot(Origin(running.model, "double_pendulum", False, ()))
    began, work = time.perf_counter(), time.process_time()
    assert not mine.close()
    assert time.process_time() - work < PARTING / 2
    assert time.perf_counter() - began < HEARD, "it was tried until there was no time left"
    assert "runs are not kept: " in mine.problem
    assert "no such thing" in mine.problem
    assert [len(autosave.parts(folder)) for folder in (tmp_path / "runs").iterdir()] == [1]


def test_only_the_newest_are_kept(keeper, tmp_path):
    for _ in range(autosave.KEPT + 2):
        assert keep(keeper, "double_pendulum", 3).close()
    assert len(autosave.saved_runs(tmp_path / "runs")) == autosave.KEPT


def test_folders_that_were_renamed_are_left_alone(keeper, start, tmp_path):
    root = tmp_path / "runs"
    assert keep(keeper, "arm7", 3).close()
    (folder,) = autosave.saved_runs(root)
    others = [folder.rename(root / "zz.runs"), root / "my best arm run.runs", root / "later run.runs"]
    for other in others[1:]:
        other.mkdir()
    window = start()
    assert "was kept" not in window.features[LogView].text
    window.menus.file.aboutToShow.emit()
    assert not window.kept.action.isEnabled()
    for _ in range(autosave.KEPT + 2):
        assert keep(keeper, "double_pendulum", 3).close()
    assert all(other.exists() for other in others)
    assert len(autosave.saved_runs(root)) == autosave.KEPT
    assert autosave.words(autosave.saved_runs(root)[0]).startswith("double_pendulum, of ")


def test_what_is_kept_takes_bounded_room(keeper, tmp_path, monkeypatch):
    monkeypatch.setattr(autosave, "ROOM", 100_000)
    for _ in range(4):
        assert keep(keeper, "arm7", 100).close()
    root = tmp_path / "runs"
    sizes = [sum(path.stat().st_size for path in autosave.parts(folder)) for folder in autosave.saved_runs(root)]
    assert 1 <= len(sizes) < 4
    assert len(sizes) == 1 or sum(sizes) <= 100_000


def test_a_folder_takes_no_more_room_than_the_recording(keeper, tmp_path, monkeypatch):
    monkeypatch.setattr(autosave, "FRAMES", 10)
    mine = keep(keeper, "arm7", made := driven("arm7", 200))
    made[0].budget = 50_000
    assert mine.close()
    (folder,) = autosave.saved_runs(tmp_path / "runs")
    assert sum(path.stat().st_size for path in autosave.parts(folder)) <= 50_000


def test_a_parting_that_is_too_short_is_told(keeper, start, tmp_path, monkeypatch):
    monkeypatch.setattr(autosave, "FRAMES", 10)
    written, save = [], engine.save_part

    def slow(*arguments, **options):
        time.sleep(0.05)
        written.append(save(*arguments, **options))
        return written[-1]

    monkeypatch.setattr(engine, "save_part", slow)
    monkeypatch.setattr(autosave, "PARTING", 0.12)
    assert not keep(keeper, "arm7", 200).close()
    assert 1 <= len(written) < 20
    until(lambda: autosave.saved_runs(tmp_path / "runs"))
    assert "its end is missing" in start().features[LogView].text


def test_a_place_that_cannot_be_written_is_told(qtbot, start, tmp_path):
    (tmp_path / "runs").write_text("a file")
    window = start()
    load(qtbot, window)
    play(qtbot, window, 0.1)
    window.kept.autosave._wake.set()
    wait(qtbot, lambda: window.kept.autosave.problem != "")
    window.refresh()
    shown = window.statusBar().currentMessage()
    assert "runs are not kept" in shown
    (tmp_path / "runs").unlink()
    window.kept.autosave._wake.set()
    wait(qtbot, lambda: window.kept.autosave.problem == "")
    assert window.statusBar().currentMessage() in (shown, "")  # a timer may have looked meanwhile
    window.refresh()
    assert window.statusBar().currentMessage() == ""


def test_a_folder_that_another_window_looks_at_is_locked_in_the_end(keeper, tmp_path, monkeypatch):
    held, mkdir = [], Path.mkdir

    def make(folder, *arguments, **options):
        mkdir(folder, *arguments, **options)
        if folder.suffix == run_files.KEPT_SUFFIX:
            held.append(QLockFile(str(folder / autosave.LOCK)))
            assert held[-1].tryLock(0)
            threading.Timer(0.2, held[-1].unlock).start()

    monkeypatch.setattr(Path, "mkdir", make)
    locked, save = [], engine.save_part

    def look(path, *arguments):
        locked.append(autosave.is_growing(path.parent))
        return save(path, *arguments)

    monkeypatch.setattr(engine, "save_part", look)
    assert keep(keeper, "arm7", 3).close()
    assert locked == [True]
    monkeypatch.setattr(autosave, "LOCKING", 20)
    mine = keep(keeper, "arm7", 3)
    assert not mine.close()
    assert mine.problem.endswith("cannot be locked")
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_a_damaged_part_is_passed_over(qtbot, start, keeper, tmp_path, monkeypatch):
    monkeypatch.setattr(autosave, "FRAMES", 10)
    assert keep(keeper, "arm7", 60).close()
    (folder,) = autosave.saved_runs(tmp_path / "runs")
    autosave.parts(folder)[1].write_bytes(b"PK")
    replay = open_last(qtbot, start())
    assert 30 <= len(replay.runs[0]) < 60


def test_what_a_long_run_leaves_to_write_is_written_in_time(keeper):
    """Which is what was recorded since it last looked; here 700 frames with contacts, ten seconds and more."""
    (recording, running), mine = driven("quadruped", 700), keep(keeper, "quadruped", 1)
    mine._present.recording, mine._present.model = recording, running.model
    mine.set_robot(Origin(running.model, "quadruped", False, ()))
    began = time.process_time()
    assert mine.close()
    assert time.process_time() - began < PARTING / 2
