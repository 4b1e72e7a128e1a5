"""Names of keyframes are stored with their runs, wherever the runs come from."""

import os
from datetime import UTC, datetime
from functools import partial

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QInputDialog
from test_autosave import assert_same_frames, driven, frames, open_last
from test_run_files import open_run
from test_time import load, play
from windows import started, wait

import engine
from app.features.time_view import TimeView
from app.recording import autosave, run_files

Key, Ctrl = Qt.Key, Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def start(make_window, tmp_path):
    return partial(started, make_window, tmp_path / "runs")


def test_kept_runs_say_from_when_to_when_they_are(tmp_path):
    folder = tmp_path / f"2026-11-28 16.43.01.5 arm{run_files.KEPT_SUFFIX}"
    folder.mkdir()
    assert autosave.words(folder) == "arm, of 2026-11-28 16:43"
    (folder / f"1{run_files.SUFFIX}").touch()
    written = datetime(2026, 11, 28, 16, 46, tzinfo=UTC).astimezone()
    os.utime(folder / f"1{run_files.SUFFIX}", (0, written.timestamp()))
    assert autosave.words(folder) == f"arm, of 2026-11-28 16:43 to {written:%H:%M}"


def newest(recording):
    run = recording.runs[-1]
    return recording.frame(run, run.last).checkpoint


def test_names_of_keyframes_are_kept_with_their_runs(qtbot, start, monkeypatch):
    window = start()
    recording = load(qtbot, window)
    play(qtbot, window, 0.4)
    menu = window.features[TimeView].keyframes
    for name in ("Reach", "Grip"):
        qtbot.keyClick(window, Key.Key_Left)
        qtbot.keyClick(window, Key.Key_K)
        monkeypatch.setattr(QInputDialog, "getText", lambda *_, name=name, **__: (name, True))
        menu.aboutToShow.emit()
        rename = next(each for each in menu.actions()[0].menu().actions() if each.text() == "&Rename…")
        rename.trigger()
    qtbot.keyClick(window, Key.Key_B, Ctrl)
    wait(qtbot, lambda: len(recording.runs) == 2)
    window.run.step.trigger()
    wait(qtbot, lambda: recording.runs[-1].last >= recording.runs[-1].own)
    reported = [(each.name, each.frame.time) for each in menu.all]
    window.close()
    window = start()
    replay = open_last(qtbot, window)
    keyframes = window.features[TimeView].keyframes
    assert [(each.name, each.frame.time) for each in keyframes.all] == reported
    assert [name for name, _ in reported] == ["Grip", "Reach"]
    assert all(each.run is replay.runs[0] for each in keyframes.all)
    # As a newer one of the same window: other runs are numbered as they were.
    assert [run.number for run in replay.runs] == [1, 2]
    (folder,) = window.kept.autosave.root.glob(f"*{run_files.KEPT_SUFFIX}")
    junk = '[1, "x", 3], 5, [1, 1e999, "far"], [9, 0.1, "of no run"]'
    (folder / run_files.KEYFRAME_FILE).write_text(f'[{junk}, [1, {reported[0][1]}, "Lift"]]')
    window = start()
    open_last(qtbot, window)
    keyframes = window.features[TimeView].keyframes
    assert [(each.name, each.frame.time, each.run.number) for each in keyframes.all] == [("Lift", reported[0][1], 1)]


def test_names_that_are_given_in_the_last_run_stay_with_it(qtbot, start):
    window = start()
    load(qtbot, window)
    play(qtbot, window, 0.3)
    qtbot.keyClick(window, Key.Key_K)
    window.close()
    window = start()
    open_last(qtbot, window)
    window.features[TimeView].bar.track.seek_requested.emit(0.1)
    qtbot.keyClick(window, Key.Key_K)
    reported = window.features[TimeView].keyframes.entries
    assert len(reported) == 2
    window.close()
    window = start()
    open_last(qtbot, window)
    assert window.features[TimeView].keyframes.entries == reported
    (folder,) = autosave.saved_runs(window.kept.autosave.root)
    # What continues from it has them in a folder of its own.
    qtbot.keyClick(window, Key.Key_B, Ctrl)
    window.run.step.trigger()
    wait(qtbot, lambda: not window.workbench.replay.active)
    wait(qtbot, lambda: (run := window.workbench.replay.runs[-1]).left is not None and run.last >= run.own)
    window.close()
    assert [run_files.named_in(each) for each in autosave.saved_runs(folder.parent)] == [reported, reported]


def test_names_that_are_given_beside_a_branch_of_the_last_run_are_kept_with_it(qtbot, start):
    """Though the branch did not leave the run that they are of."""
    window = start()
    recording = load(qtbot, window)
    play(qtbot, window, 0.2)
    window.run.reset.trigger()
    play(qtbot, window, 0.2)
    assert len(recording.runs) == 2
    window.close()
    replay = open_last(qtbot, window := start())
    qtbot.keyClick(window, Key.Key_B, Ctrl)
    window.run.step.trigger()
    wait(qtbot, lambda: (run := replay.runs[-1]).left is not None and run.last >= run.own)
    assert (replay.runs[-1].number, replay.runs[-1].left[0]) == (3, 2)
    window.features[TimeView].bar.run_chosen.emit(1)
    qtbot.keyClick(window, Key.Key_K)
    reported = window.features[TimeView].keyframes.entries
    assert [number for number, *_ in reported] == [1]
    window.close()
    replay = open_last(qtbot, window := start())
    assert window.features[TimeView].keyframes.entries == reported
    assert [run.number for run in replay.runs] == [1, 2, 3]


def test_names_that_are_given_where_a_branch_begins_are_kept_without_a_step_of_it(qtbot, start):
    window = start()
    recording = load(qtbot, window)
    play(qtbot, window, 0.2)
    for number in (2, 3):  # a branch, and one of that
        qtbot.keyClick(window, Key.Key_Left)
        qtbot.keyClick(window, Key.Key_B, Ctrl)
        wait(qtbot, lambda number=number: (run := recording.runs[-1]).number == number and run.left is not None)
    qtbot.keyClick(window, Key.Key_K)
    (moment,) = window.features[TimeView].keyframes.all
    assert moment in window.features[TimeView].keyframes.seen_in(recording.runs[-1])
    time = moment.frame.time
    window.close()
    open_last(qtbot, window := start())
    assert window.features[TimeView].keyframes.entries == ((1, time, "Keyframe 1"),)


def test_names_that_are_given_in_a_run_from_a_file_are_kept(qtbot, start, tmp_path):
    path = tmp_path / "swing.npz"
    recording, _ = driven("double_pendulum", 50)
    run = recording.runs[0]
    facts = run_files.facts(recording.frame(run, 0).setup, "double_pendulum", False, ())
    engine.save_run(path, recording, run, facts | {run_files.KEYFRAMES: [[1, 0.01, "Known"]]}, run_files.describe)
    window = start()
    open_run(qtbot, window, path)
    window.features[TimeView].bar.track.seek_requested.emit(0.03)
    qtbot.keyClick(window, Key.Key_K)
    reported = window.features[TimeView].keyframes.entries
    assert [name for *_, name in reported] == ["Known", "Keyframe 2"]
    window.close()
    replay = open_last(qtbot, window := start())
    assert window.features[TimeView].keyframes.entries == reported
    assert_same_frames(frames(replay.recording, replay.runs[0]), frames(recording, run))


def test_a_pose_that_has_a_name_is_kept_without_a_step(qtbot, start):
    """Each of several, though a pose that has none is forgotten with the next one."""
    window = start()
    recording = load(qtbot, window)
    angles = [0.25, 0.5, 0.75]
    for angle in angles:
        q = window.workbench.robot.initial.copy()
        q[0] = angle
        window.workbench.posing.pose(q)
        wait(qtbot, lambda angle=angle: newest(recording).q[0, 0] == angle)
        if angle != 0.5:
            qtbot.keyClick(window, Key.Key_K)
    reported = window.features[TimeView].keyframes.entries
    window.close()
    open_last(qtbot, window := start())
    keyframes = window.features[TimeView].keyframes
    assert keyframes.entries == reported
    assert [each.frame.checkpoint.q[0, 0] for each in keyframes.all] == [0.25, 0.75]
