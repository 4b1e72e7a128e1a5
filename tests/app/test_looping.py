"""A span of a recorded run, played in a loop."""

import itertools
import math

import numpy as np
import pytest
from PyQt6.QtGui import QColor
from PyQt6.QtWidgets import QDialog
from test_time import play
from windows import name_file, wait

from app.desktop import theme
from app.features.attaching import RunExports, TimeView
from app.features.looping import BEGUN, TOO_EARLY, TOO_LATE
from app.panels.picture_dialogs import FilmDialog
from app.panels.run_dialog import RECORDED, STEPS, RunDialog
from engine import cli


@pytest.fixture
def replayed(qtbot, opened):
    """The window with a recorded run of half a second."""
    window = opened()
    play(qtbot, window, 0.5)
    window.features[TimeView].first.trigger()
    return window


def mark(window, start: float, end: float) -> None:
    view = window.features[TimeView]
    view.bar.track.seek_requested.emit(end)
    view.loop.end.trigger()
    view.bar.track.seek_requested.emit(start)
    view.loop.start.trigger()


def test_a_marked_span_is_played_again_and_again(qtbot, replayed):
    view, replay = replayed.features[TimeView], replayed.workbench.replay
    mark(replayed, 0.1, 0.2)
    _, start, end = replay.loop
    run, recording = replay.run, replay.recording
    assert (start, end) == tuple(recording.frame(run, recording.at(run, time)).time for time in (0.1, 0.2))
    assert view.loop.on.isChecked()
    assert replayed.statusBar().currentMessage().startswith(f"the loop is from {start:.3f} to {end:.3f} s; ")
    times: list[float] = []
    replayed.framed.connect(lambda frame: times.append(frame.time))
    view.play.trigger()

    def rounds() -> int:
        return sum(b < a for a, b in itertools.pairwise(times))

    wait(qtbot, lambda: rounds() >= 2)
    assert replay.playing
    assert start <= min(times) <= max(times) <= end
    view.loop.on.trigger()
    assert replay.loop is None
    wait(qtbot, lambda: not replay.playing)
    assert replay.at_end


def test_play_begins_in_the_loop_and_the_whole_run_is_one(qtbot, replayed):
    view, replay = replayed.features[TimeView], replayed.workbench.replay
    mark(replayed, 0.1, 0.2)
    view.bar.track.seek_requested.emit(0.4)
    view.play.trigger()
    assert replay.frame.time == replay.loop[1]
    view.play.trigger()
    view.loop.on.trigger()
    view.loop.on.trigger()
    assert replay.loop[1:] == replay.recording.span(replay.run)
    view.bar.track.seek_requested.emit(replay.loop[2])
    view.play.trigger()
    assert replay.frame.time == replay.loop[1]
    wait(qtbot, lambda: replay.frame.time > 0.3)
    wait(qtbot, lambda: replay.frame.time < 0.2)
    assert replay.playing


def test_an_end_before_the_start_moves_the_start_and_no_span_is_told(replayed):
    view, replay = replayed.features[TimeView], replayed.workbench.replay
    mark(replayed, 0.3, 0.4)
    view.bar.track.seek_requested.emit(0.2)
    view.loop.end.trigger()
    assert replay.loop[1:] == (replay.recording.span(replay.run)[0], replay.frame.time)
    loop = replay.loop
    view.first.trigger()
    view.loop.end.trigger()
    assert replayed.statusBar().currentMessage() == TOO_EARLY
    view.bar.track.seek_requested.emit(replay.recording.span(replay.run)[1])
    view.loop.start.trigger()
    assert replayed.statusBar().currentMessage() == TOO_LATE
    assert replay.loop == loop


def test_the_track_shows_the_loop_and_its_menu_marks_it(qtbot, replayed):
    view, replay = replayed.features[TimeView], replayed.workbench.replay
    track = view.bar.track
    wait(qtbot, track.isVisible)
    menu = replayed.menus.context.at(track, track.rect().center())
    next(each for each in menu.actions() if each.text() == "Loop &from here").trigger()
    assert replay.loop[1] == pytest.approx(0.25, abs=0.03)
    view.first.trigger()
    at = round(track.place(0.4)), 6
    looped = track.grab().toImage().pixelColor(*at)
    view.loop.on.trigger()
    plain = track.grab().toImage().pixelColor(*at)
    assert looped != plain
    assert looped.blue() > plain.blue() or QColor(theme.COLORS["accent"]).blue() < plain.blue()


@pytest.mark.parametrize("kind", ["npz", "csv"])
def test_the_loop_alone_is_exported_and_repeats_to_the_bit(qtbot, replayed, tmp_path, monkeypatch, kind):
    exports, replay, path = replayed.features[RunExports], replayed.workbench.replay, tmp_path / f"loop.{kind}"
    mark(replayed, 0.1, 0.2)
    _, start, end = replay.loop
    steps = round((end - start) / replayed.workbench.robot.settings.dt)
    name_file(monkeypatch, path)

    def exec_(dialog: RunDialog) -> int:
        dialog.choices.button(RECORDED).click()
        dialog.loop.click()
        assert dialog.loop.text() == f"Only the loop, {start:.3f} to {end:.3f} s: {steps:,} steps"
        assert dialog.choices.checkedId() == STEPS  # recorded frames are exported as a whole
        assert not dialog.choices.button(RECORDED).isEnabled()
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr(RunDialog, "exec", exec_)
    (exports.trajectory if kind == "npz" else exports.table).trigger()
    wait(qtbot, lambda: not exports.writing.running)
    assert f"{steps + 1} rows written to loop.{kind}" in replayed.statusBar().currentMessage()
    if kind == "csv":
        times = [float(line.split(",")[0]) for line in path.read_text("utf-8").splitlines()[1:]]
    else:
        with np.load(path) as arrays:
            times = arrays["time"].tolist()
        assert cli.main(["repeat", str(path)]) == 0
    assert times[0] == pytest.approx(start)
    assert times[-1] == pytest.approx(end)
    assert len(times) == steps + 1


def test_the_loop_alone_is_written_as_a_video(qtbot, replayed, tmp_path, monkeypatch):
    av = pytest.importorskip("av", reason="PyAV is not installed (extra video)")
    exports, replay, path = replayed.features[RunExports], replayed.workbench.replay, tmp_path / "loop.mp4"
    mark(replayed, 0.1, 0.3)
    _, start, end = replay.loop
    name_file(monkeypatch, path)

    def exec_(dialog: FilmDialog) -> int:
        dialog.show()
        whole = replay.recording.span(replay.chosen)
        assert dialog.loop.text() == f"Only the loop, {start:.3f} to {end:.3f} s"
        dialog.loop.click()
        assert not dialog.start.isEnabled()
        dialog.loop.click()
        assert (dialog.order.start, dialog.order.end) == pytest.approx(whole, abs=1e-3)
        assert dialog.start.isEnabled()
        dialog.loop.click()
        assert (dialog.order.start, dialog.order.end) == pytest.approx((start, end), abs=1e-3)
        dialog.choice.choose((160, 120))
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr(FilmDialog, "exec", exec_)
    exports.pictures.film.trigger()
    wait(qtbot, lambda: not exports.writing.running)
    with av.open(str(path)) as film:
        count = sum(1 for _ in film.decode(film.streams.video[0]))
    assert count == math.floor(30 * (round(end, 3) - round(start, 3)) + 1e-9) + 1


def test_without_a_loop_the_dialogs_offer_none(replayed):
    dialog = RunDialog(replayed, "Export", 1.0, 1e-3, 60)
    film = FilmDialog(replayed, (160, 120), 8192, (0.0, 1.0))
    for each in (dialog, film):
        each.show()
        assert not each.loop.isVisible()
    assert dialog.span is None
    assert (film.order.start, film.order.end) == (0.0, 1.0)


@pytest.mark.parametrize(("frames", "message"), [(60, "at the times of its frames"), (1001, "one for each step")])
def test_the_dialog_says_at_which_times_a_run_was_recorded(window, frames, message):
    dialog = RunDialog(window, "Export", 1.0, 1e-3, frames)
    text = dialog.choices.button(RECORDED).text()
    assert text == f"As recorded: {frames:,} rows, {message}, without simulating again"
    dialog.interval.setValue(3.7)
    assert dialog.nearest.text() == "at the steps nearest to it, about 271 rows"


def test_a_loop_begun_at_the_live_edge_ends_where_it_is_told_to_later(qtbot, opened):
    window = opened()
    play(qtbot, window, 0.3)
    view, replay = window.features[TimeView], window.workbench.replay
    begin = replay.recording.span(replay.newest)[1]
    view.loop.start.trigger()
    assert window.statusBar().currentMessage() == BEGUN.format(begin)
    assert replay.loop is None
    play(qtbot, window, 0.3)
    view.loop.end.trigger()
    assert replay.loop == (replay.newest, begin, replay.recording.span(replay.newest)[1])
