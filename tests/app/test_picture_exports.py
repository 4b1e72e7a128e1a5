"""Pictures of the view, and films of the run, in any size."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QDialog, QDialogButtonBox, QMessageBox
from test_time import load, play
from windows import case, name_file, type_in, wait

import engine
from app.features import session_text
from app.features.appearance import Appearance
from app.features.attaching import BatchView, Generating, Reloading, RunExports, SceneView, UndoView
from app.features.contact_view import ContactView
from app.features.link_hiding import LinkHiding
from app.features.overlay_view import OverlayView
from app.gl.distance import End
from app.panels.picture_dialogs import FilmDialog, FilmOrder, PictureDialog
from app.picture.shot import Shot
from app.picture.studio import NO_ENCODER, Studio, times
from app.simulation.batch_spread import BatchSpread
from app.window import Window


@pytest.fixture
def exports(window) -> RunExports:
    return window.features[RunExports]


def answer(monkeypatch, kind: type[QDialog], path: Path, fill) -> None:
    """Have a dialog filled in and accepted, and the file's name given."""

    def exec_(dialog: QDialog) -> int:
        fill(dialog)
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr(kind, "exec", exec_)
    name_file(monkeypatch, path)


def finish(qtbot, exports: RunExports) -> None:
    wait(qtbot, lambda: not exports.writing.running)


def test_a_picture_has_the_size_that_is_asked_for(qtbot, window, exports, tmp_path, monkeypatch):
    assert not exports.pictures.picture.isEnabled()
    load(qtbot, window)
    path = tmp_path / "arm.png"
    answer(monkeypatch, PictureDialog, path, lambda dialog: dialog.choice.choose((321, 234)))
    exports.pictures.picture.trigger()
    finish(qtbot, exports)
    assert "321 × 234 pixels written to arm.png" in window.statusBar().currentMessage()
    with Image.open(path) as picture:
        assert picture.mode == "RGB"
        assert picture.size == (321, 234)
        assert np.ptp(np.asarray(picture)) > 100


def test_a_picture_that_needs_much_memory_says_so_before_it_is_drawn(qtbot, window):
    dialog = PictureDialog(window, (640, 480), 16384)
    qtbot.addWidget(dialog)
    dialog.choice.choose((3840, 2160))
    assert dialog.choice.note.text() == ""
    dialog.choice.choose((16384, 16384))
    assert dialog.choice.note.text().startswith("16384 × 16384 pixels need about 16 GB of memory while they are drawn")


def test_the_name_of_another_ending_is_kept_with_a_hint(qtbot, window, exports, tmp_path):
    load(qtbot, window)
    exports.pictures.save_picture(str(tmp_path / "arm.txt"), (32, 32), False)
    finish(qtbot, exports)
    said = "32 × 32 pixels written to arm.txt, which is a PNG image: other programs expect .png"
    assert window.statusBar().currentMessage() == said
    with Image.open(tmp_path / "arm.txt") as picture:
        assert picture.format == "PNG"


def test_the_list_of_sizes_follows_what_is_typed(qtbot, window):
    dialog = PictureDialog(window, (321, 235), 8192)
    choice = dialog.choice
    assert choice.known.currentText() == "current view, 321 × 235"
    type_in(qtbot, choice.width_box, 1280)
    assert (choice.known.currentIndex(), choice.known.placeholderText()) == (-1, "other size")
    type_in(qtbot, choice.height_box, 720)
    assert choice.known.currentText() == "1280 × 720"
    film = FilmDialog(window, (321, 235), 8192, (0.0, 1.0))
    assert film.order.size == (320, 234), "a video has even sides"


def test_a_picture_may_have_nothing_behind_the_robot(qtbot, window, exports, tmp_path, monkeypatch):
    load(qtbot, window)
    path = tmp_path / "arm.png"

    def fill(dialog: PictureDialog) -> None:
        dialog.choice.choose((400, 300))
        dialog.transparent.setChecked(True)

    answer(monkeypatch, PictureDialog, path, fill)
    exports.pictures.picture.trigger()
    finish(qtbot, exports)
    with Image.open(path) as picture:
        pixels = np.asarray(picture)
    assert pixels.shape == (300, 400, 4)
    opaque, clear = (pixels[..., 3] == 255).mean(), (pixels[..., 3] == 0).mean()
    assert 0.02 < opaque < 0.5
    assert clear > 0.4
    assert opaque + clear > 0.95, "what is in between are the robot's edges"
    shown = np.asarray(window.viewport.view_of((400, 300)).poses)
    assert shown.shape == window.viewport.view().poses.shape
    pale = pixels[(pixels[..., 3] > 100) & (pixels[..., 3] < 200)]
    assert pale[:, :3].mean() > 60, "edges are not darkened by a background"


def test_a_picture_and_a_video_show_no_selection(qtbot, window, exports, tmp_path):
    load(qtbot, window)
    bench, viewport = window.workbench, window.viewport

    def saved() -> np.ndarray:
        exports.pictures.save_picture(str(tmp_path / "arm.png"), (400, 300), False)
        finish(qtbot, exports)
        with Image.open(tmp_path / "arm.png") as picture:
            return np.asarray(picture)

    plain = saved()
    window.selection.choose(2)
    view = viewport.view()
    assert (view.extras.appearance.chosen, len(view.extras.labels)) == (2, 1)
    np.testing.assert_array_equal(saved(), plain)
    view = viewport.shot.view_of(bench.robot.newest, (400, 300))
    assert (view.extras.appearance.chosen, view.extras.labels) == (-1, ())
    assert viewport.view().extras.appearance.chosen == 2

    window.selection.choose(-1)
    bench.configuring.set_spread(BatchSpread(3, 0.2))
    wait(qtbot, lambda: bench.robot.newest.batch is not None and viewport.view().batch is not None)
    plain = saved()
    bench.select_robot(2)
    wait(qtbot, lambda: "robot 2" in [label.text for label in viewport.view().extras.labels])
    assert viewport.view().batch.tints[2, 3] > 0
    np.testing.assert_array_equal(saved(), plain)
    taken = window.feature(BatchView).batch_of(bench.robot.newest, selected=False)
    assert not taken.tints.any()


def order(end: float, rate: float = 30.0) -> FilmOrder:
    return FilmOrder((161, 120), rate, 1.0, 0.0, end)


def test_a_film_shows_the_run(qtbot, window, exports, tmp_path, monkeypatch):
    av = pytest.importorskip("av", reason="PyAV is not installed (extra video)")
    load(qtbot, window, "quadruped")
    play(qtbot, window, 0.3)
    path = tmp_path / "run.mp4"

    def fill(dialog: FilmDialog) -> None:
        assert dialog.order.end == pytest.approx(window.workbench.robot.time, abs=1e-3)
        dialog.choice.choose((161, 120))
        dialog.end.setValue(0.2)
        dialog.speed.setCurrentIndex(dialog.speed.findText("0.5 ×"))

    answer(monkeypatch, FilmDialog, path, fill)
    exports.pictures.film.trigger()
    finish(qtbot, exports)
    assert "13 frames written to run.mp4" in window.statusBar().currentMessage()
    with av.open(str(path)) as film:
        stream = film.streams.video[0]
        assert stream.average_rate == 30
        pictures = [frame.to_ndarray(format="rgb24") for frame in film.decode(stream)]
    assert len(pictures) == 13
    assert pictures[0].shape == (120, 160, 3)
    assert np.ptp(pictures[0]) > 100


def test_a_film_of_no_length_cannot_be_saved(qtbot, window):
    film = FilmDialog(window, (160, 120), 8192, (0.0, 2.8))
    save = film.buttons.button(QDialogButtonBox.StandardButton.Save)
    assert save.isEnabled()
    type_in(qtbot, film.start, 45)
    type_in(qtbot, film.end, 10)
    assert not save.isEnabled()
    assert "set a start before the end" in film.note.text()
    type_in(qtbot, film.start, 1)
    assert save.isEnabled()
    assert (film.order.start, film.order.end) == (1.0, 2.8)
    film.deleteLater()


def begin_film(qtbot, window: Window, exports: RunExports, folder: Path) -> None:
    """Write a film of the arm's run, and hold it after its first frames."""
    load(qtbot, window)
    play(qtbot, window, 0.2)
    hold_film(qtbot, window, exports, folder)


def hold_film(qtbot, window: Window, exports: RunExports, folder: Path) -> None:
    """Write a film of the run until it has its first frames; `go_on` has it written to its end."""
    pytest.importorskip("av", reason="PyAV is not installed (extra video)")
    exports.pictures.save_film(str(folder / "run.mp4"), order(rate=40.0, end=window.workbench.robot.time))
    wait(qtbot, lambda: "frames" in window.statusBar().currentMessage())
    exports.pictures._feeder.setInterval(3_600_000)


def go_on(exports: RunExports) -> None:
    exports.pictures._feeder.setInterval(1)


def test_a_film_that_is_stopped_leaves_no_file(qtbot, window, exports, tmp_path):
    begin_film(qtbot, window, exports, tmp_path)
    exports.stop.trigger()
    finish(qtbot, exports)
    assert "stopped" in window.statusBar().currentMessage()
    assert not [each for each in tmp_path.iterdir() if "mp4" in each.name]


def test_a_session_is_saved_beside_a_film_that_is_written(qtbot, window, exports, tmp_path, monkeypatch):
    begin_film(qtbot, window, exports, tmp_path)
    path = tmp_path / "during.catena"
    name_file(monkeypatch, path)
    qtbot.keyClick(window, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: window.statusBar().currentMessage().startswith(f"Saved {path}; "))
    assert session_text.read(str(path))["recording"] == "during.catena.npz"
    assert (tmp_path / "during.catena.npz").is_file()
    assert exports.writing.running
    exports.report_progress("run.mp4: 3 of 90 frames")
    qtbot.wait(200)
    assert window.statusBar().currentMessage().startswith("Saved "), "the film's progress hides what was saved"
    exports.stop.trigger()
    finish(qtbot, exports)


def test_quitting_asks_before_a_film_is_discarded(qtbot, window, exports, tmp_path):
    begin_film(qtbot, window, exports, tmp_path)
    assert not window.close()
    assert window.isVisible()
    box = exports.question
    assert box.isVisible()
    assert "An export is running" in box.text()
    box.button(QMessageBox.StandardButton.Cancel).click()
    assert exports.writing.running
    assert not window.close()
    reply(exports, "when it is")
    go_on(exports)
    wait(qtbot, window.isHidden)
    assert (tmp_path / "run.mp4").exists(), "it was waited for"


def test_a_film_that_is_discarded_leaves_no_file_when_the_window_closes(qtbot, window, exports, tmp_path):
    begin_film(qtbot, window, exports, tmp_path)
    assert not window.close()
    reply(exports, "Discard")
    wait(qtbot, window.isHidden)
    assert not [each for each in tmp_path.iterdir() if "mp4" in each.name]


def test_a_film_ends_with_its_robot(qtbot, window, exports, tmp_path):
    begin_film(qtbot, window, exports, tmp_path)
    window.workbench.open(engine.find_robot("scara"))
    wait(qtbot, lambda: window.workbench.robot.model.name == "scara")
    assert exports.writing.stopping
    finish(qtbot, exports)
    assert not [each for each in tmp_path.iterdir() if "mp4" in each.name]


def reply(exports: RunExports, words: str) -> None:
    """Click the button of the question that has these words."""
    next(button for button in exports.question.buttons() if words in button.text()).click()


@pytest.mark.parametrize("opens", [False, True])
def test_what_was_asked_before_an_export_ended_can_still_be_answered(qtbot, window, exports, tmp_path, opens):
    begin_film(qtbot, window, exports, tmp_path)
    before = window.workbench.robot.model
    window.open(engine.find_robot("scara")) if opens else window.close()
    names = [button.text() for button in exports.question.buttons()]
    keys = [name[name.index("&") + 1].lower() for name in names if "&" in name]
    assert len(set(keys)) == len(keys) >= 2, names
    go_on(exports)
    finish(qtbot, exports)
    assert exports.question.isVisible()
    assert exports.question.text().startswith("The export has ended: ")
    assert "run.mp4" in exports.question.text()
    assert not any(words in each.text() for each in exports.question.buttons() for words in ("Discard", "when it"))
    reply(exports, "Open" if opens else "Quit")
    wait(qtbot, lambda: window.workbench.robot.model is not before if opens else window.isHidden())
    assert (tmp_path / "run.mp4").exists()


def test_opening_another_robot_asks_before_a_film_is_discarded(qtbot, window, exports, tmp_path):
    begin_film(qtbot, window, exports, tmp_path)
    before, scara = window.workbench.robot.model, engine.find_robot("scara")
    window.open(scara)
    assert "A video is being exported" in exports.question.text()
    exports.question.button(QMessageBox.StandardButton.Cancel).click()
    assert exports.writing.running
    assert not exports.writing.stopping
    window.open(scara)
    reply(exports, "when it is")
    assert not window.workbench.opening.loading
    go_on(exports)
    wait(qtbot, lambda: window.workbench.robot.model is not before)
    assert (tmp_path / "run.mp4").exists(), "it was waited for"


def test_all_that_replaces_the_robot_asks_before_a_film_is_discarded(qtbot, window, exports, tmp_path):
    for act, requested in (
        (lambda: window.run.floating.trigger(), "Free the root link"),
        (lambda: window.features[SceneView].add("box", free=True), "Change the objects"),
        (lambda: window.features[Reloading].action.trigger(), "Reload the robot"),
        (lambda: generate(window), "Open another robot"),
    ):
        begin_film(qtbot, window, exports, tmp_path)
        before = window.workbench.robot.model
        with case(requested):
            act()
            assert exports.question.text() == f"A video is being exported. {requested} and discard it?"
            assert not window.run.floating.isChecked()
            exports.question.button(QMessageBox.StandardButton.Cancel).click()
            assert exports.writing.running
            assert not window.workbench.opening.loading
            act()
            reply(exports, "Discard")
            wait(qtbot, lambda before=before: window.workbench.robot.model is not before)
            finish(qtbot, exports)
            assert not [each for each in tmp_path.iterdir() if "mp4" in each.name]


def generate(window: Window) -> None:
    generating = window.features[Generating]
    generating.show()
    generating.dialog.generate.click()


def test_undo_asks_before_it_replaces_the_robot_of_a_film(qtbot, window, exports, tmp_path):
    load(qtbot, window)
    window.features[SceneView].add("box", free=True)
    wait(qtbot, lambda: len(window.workbench.robot.parts) == 1 and not window.workbench.opening.loading)
    undoing, bench = window.features[UndoView], window.workbench
    play(qtbot, window, 0.2)
    hold_film(qtbot, window, exports, tmp_path)
    undoing.undo.trigger()
    exports.question.button(QMessageBox.StandardButton.Cancel).click()
    assert (undoing.undo.text(), len(bench.robot.parts), bench.opening.loading) == ("&Undo Add cube", 1, "")
    undoing.undo.trigger()
    reply(exports, "when it is")
    go_on(exports)
    wait(qtbot, lambda: not bench.robot.parts and not bench.opening.loading)
    assert (tmp_path / "run.mp4").exists(), "it was waited for"


def test_a_film_whose_views_cannot_be_made_is_not_written(qtbot, window, exports, tmp_path, monkeypatch):
    pytest.importorskip("av", reason="PyAV is not installed (extra video)")
    load(qtbot, window)
    play(qtbot, window, 0.2)
    view_of, count = Shot.view_of, iter(range(100))

    def fail_at_the_fourth(*words: object) -> object:
        if next(count) == 3:
            raise RuntimeError("no such view")
        return view_of(*words)

    monkeypatch.setattr(Shot, "view_of", fail_at_the_fourth)
    with qtbot.captureExceptions() as faults:
        exports.pictures.save_film(str(tmp_path / "run.mp4"), order(end=0.2))
        finish(qtbot, exports)
    assert [str(fault) for _, fault, _ in faults] == ["no such view"]
    assert "stopped" in window.statusBar().currentMessage()
    assert not [each for each in tmp_path.iterdir() if "mp4" in each.name]


def test_without_an_encoder_the_way_to_one_is_told(qtbot, window, exports, monkeypatch):
    load(qtbot, window)
    play(qtbot, window, 0.1)
    monkeypatch.setitem(__import__("sys").modules, "av", None)
    exports.pictures.film.trigger()
    assert window.statusBar().currentMessage() == NO_ENCODER


def test_a_film_keeps_the_view_with_which_it_began(qtbot, window, exports):
    """Whatever is changed on the screen while it is written: camera, theme, overlays, links, contacts, distance."""
    recording = load(qtbot, window, "quadruped")
    play(qtbot, window, 0.3)
    (run,), viewport = recording.runs, window.viewport
    wait(qtbot, lambda: viewport.reading is None)
    window.feature(OverlayView).actions["names"].trigger()
    studio = Studio(viewport.font())

    def views():
        return exports.pictures.views_of(run, times(0.0, 0.3, 10.0, 1.0), (96, 72))

    expected, made = list(views()), views()
    first = next(made)
    viewport.camera.azimuth += 1.0
    viewport.follow = True
    window.feature(Appearance).choose("light")
    for each in (*window.feature(OverlayView).actions.values(), window.feature(ContactView).action):
        each.trigger()
    window.feature(LinkHiding).hide([1])
    viewport.overlays.set_distance((End(np.zeros(3), 2), End(np.zeros(3), 3)))
    try:
        with studio.open():
            for one, other in zip([first, *made], expected, strict=True):
                np.testing.assert_array_equal(studio.draw(one), studio.draw(other))
            (now, *_) = views()
            assert (studio.draw(now) != studio.draw(expected[0])).mean() > 0.5
    finally:
        window.feature(Appearance).choose("dark")
        studio.close()


def test_the_robots_of_a_film_keep_their_arrangement_and_colours(qtbot, window, exports):
    recording = load(qtbot, window)
    window.workbench.configuring.set_spread(BatchSpread(4, 0.2))
    play(qtbot, window, 0.3)
    (run,), batch = recording.runs[-1:], window.feature(BatchView)
    made = exports.pictures.views_of(run, times(0.1, 0.3, 10.0, 1.0), (64, 48))
    first = next(made)
    batch.panel.arrangement.setCurrentIndex(1)
    batch.panel.coloring.setCurrentIndex(1)
    for view in made:
        np.testing.assert_array_equal(view.batch.offsets, first.batch.offsets)
        np.testing.assert_array_equal(view.batch.tints, first.batch.tints)


def test_views_of_a_run_follow_the_robot(qtbot, window: Window, exports):
    recording = load(qtbot, window, "quadruped")
    play(qtbot, window, 0.3)
    (run,) = recording.runs
    window.viewport.follow = True
    views = list(exports.pictures.views_of(run, times(0.0, 0.3, 30.0, 1.0), (64, 48)))
    assert len(views) == 10
    root = np.flatnonzero(window.workbench.robot.model.link_body >= 0)[0]
    for view in views:
        away = view.camera.target - view.poses[root, :3, 3]
        np.testing.assert_allclose(away, views[0].camera.target - views[0].poses[root, :3, 3], atol=1e-9)
    assert any(view.marks is not None for view in views), "contacts are in it"


def test_moments_of_a_film_are_even():
    np.testing.assert_allclose(times(1.0, 2.0, 10.0, 1.0), np.linspace(1, 2, 11))
    assert len(times(0.0, 2.0, 25.0, 4.0)) == 13
