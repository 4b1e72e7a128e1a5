"""Keyframes along the timeline of a run and of its branches."""

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QInputDialog
from test_time import load, play, scrub
from windows import wait

from app.features.time_view import TimeView


@pytest.fixture
def time_view(window) -> TimeView:
    return window.features[TimeView]


def test_a_branch_has_the_keyframes_of_what_it_goes_on_from(qtbot, window, time_view):
    ctrl = Qt.KeyboardModifier.ControlModifier
    recording = load(qtbot, window)
    before, after = time_view.jumps
    assert not before.isEnabled()
    assert not after.isEnabled()
    play(qtbot, window, 0.6)
    for moment in (0.2, 0.5):
        scrub(qtbot, time_view, moment)
        qtbot.keyClick(window, Qt.Key.Key_K)
    scrub(qtbot, time_view, 0.4)
    assert before.isEnabled()
    assert after.isEnabled()
    qtbot.keyClick(window, Qt.Key.Key_B, ctrl)
    wait(qtbot, lambda: len(recording.runs) == 2 and not window.workbench.replay.active)
    window.run.step.trigger()
    branch = recording.runs[1]
    wait(qtbot, lambda: branch.last >= branch.own)
    early, late = time_view.keyframes.all
    assert time_view.keyframes.seen_in(branch) == [early]
    assert time_view.keyframes.seen_in(late.run) == [early, late]
    qtbot.keyClick(window, Qt.Key.Key_Left, ctrl)
    replay = window.workbench.replay
    assert (replay.run, replay.frame.time) == (branch, early.frame.time)
    assert recording.frame(branch, replay.frame.index).time == early.frame.time
    wait(qtbot, lambda: not before.isEnabled() and not after.isEnabled())


def test_a_frame_has_one_keyframe_however_often_it_is_asked_for(qtbot, window, time_view):
    load(qtbot, window)
    play(qtbot, window, 0.3)
    scrub(qtbot, time_view, 0.2)
    for _ in range(2):
        qtbot.keyClick(window, Qt.Key.Key_K)
    (only,) = time_view.keyframes.all
    assert window.statusBar().currentMessage() == f"{only.name} is at {only.frame.time:.3f} s already"
    scrub(qtbot, time_view, 0.1)
    qtbot.keyClick(window, Qt.Key.Key_K)
    assert len(time_view.keyframes.all) == 2


def test_a_keyframe_whose_frame_is_dropped_stays_and_is_told_of(qtbot, window, time_view):
    recording = load(qtbot, window)
    play(qtbot, window, 0.3)
    scrub(qtbot, time_view, 0.1)
    qtbot.keyClick(window, Qt.Key.Key_K)
    qtbot.keyClick(window, Qt.Key.Key_End)
    recording.budget = recording.bytes // 3
    play(qtbot, window, 0.3)
    (only,) = time_view.keyframes.all
    assert recording.span(only.run)[0] > only.frame.time
    assert window.statusBar().currentMessage().endswith("; those with a keyframe stay in Time › Keyframes")
    time_view.keyframes.aboutToShow.emit()
    time_view.keyframes.actions()[0].menu().actions()[0].trigger()
    assert window.workbench.replay.frame is only.frame


def test_keyframes_are_told_apart_by_their_names_and_runs(qtbot, window, time_view, monkeypatch):
    """A name is given once; with several runs, an entry says whose its time is."""
    menu = time_view.keyframes
    asked, answers = [], [("Keyframe 3", True), ("Keyframe 3", True), ("Grip", True)]
    monkeypatch.setattr(QInputDialog, "getText", lambda *told, **_: (asked.append(told[2]), answers.pop(0))[1])

    def entries() -> list[str]:
        menu.aboutToShow.emit()
        return [each.text().split(" s")[-1] for each in menu.actions()]

    def rename(k: int) -> None:
        next(each for each in menu.actions()[k].menu().actions() if each.text() == "&Rename…").trigger()

    recording = load(qtbot, window)
    play(qtbot, window, 0.3)
    for moment in (0.1, 0.2):
        scrub(qtbot, time_view, moment)
        qtbot.keyClick(window, Qt.Key.Key_K)
    assert entries() == ["", ""]
    rename(0)
    assert [each.name for each in menu.all] == ["Keyframe 3", "Keyframe 2"]
    qtbot.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: len(recording.runs) == 2 and not window.workbench.replay.active)
    play(qtbot, window, 0.1)
    qtbot.keyClick(window, Qt.Key.Key_K)
    assert [each.name for each in menu.all] == ["Keyframe 3", "Keyframe 2", "Keyframe 4"]
    assert entries() == [" of run 1", " of run 1", " of run 2"]
    rename(2)
    assert [each.name for each in menu.all] == ["Keyframe 3", "Keyframe 2", "Grip"]
    first = f"at {menu.all[0].frame.time:.3f} s of run 1"
    assert asked[2].startswith(f"There is a keyframe 'Keyframe 3' already, {first}; type another name")


def test_words_on_what_play_would_do_end_when_it_begins(qtbot, window, time_view):
    recording = load(qtbot, window)
    play(qtbot, window, 0.3)
    scrub(qtbot, time_view, 0.1)
    qtbot.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: len(recording.runs) == 2 and not window.workbench.replay.active)
    assert window.statusBar().currentMessage().endswith("Play continues it from there")
    qtbot.keyClick(window, Qt.Key.Key_Space)
    assert window.statusBar().currentMessage() == ""
