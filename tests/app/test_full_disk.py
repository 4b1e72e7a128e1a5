"""A full disk: existing files are unchanged, nothing blocks, and the window reports it in a sentence."""

import sys
from contextlib import contextmanager

import pytest
from windows import case, play_for, wait, wait_loaded

import engine
from app.features.attaching import LogView, PlotsView, PoseMenu, RunExports, Sessions, UndoView
from app.features.autosaved_runs import AutosavedRuns
from app.panels.picture_dialogs import FilmOrder
from app.recording import autosave

resource = pytest.importorskip("resource", reason="files are bounded by the limits of Unix")

pytestmark = pytest.mark.usefixtures("no_modules_kept")
ROOM = 1000  # bytes of each file
FULL = "File too large"
"""The system's message for a file that exceeds its limit, instead of "No space left on device"."""


@contextmanager
def full(room: int = ROOM):
    """No file of this process grows beyond that."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def played(qtbot, opened):
    window = opened(engine.find_robot("arm7"))
    window.run.play.trigger()
    wait(qtbot, lambda: window.workbench.robot.time > 0.4)
    window.run.play.trigger()
    wait(qtbot, lambda: not window.workbench.robot.playing and len(window.workbench.replay.chosen) > 10)
    return window


def write_table(window, path):
    window.features[RunExports].write(path, "csv")


def write_run(window, path):
    window.features[RunExports].write(path, "npz")


def write_picture(window, path):
    window.features[RunExports].pictures.save_picture(path, (64, 48), transparent=False)


def write_film(window, path):
    window.features[RunExports].pictures.save_film(path, FilmOrder((160, 120), 10.0, 1.0, 0.0, 0.3))


def write_session(window, path):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("app.features.sessions.ask_path", lambda *_: path)
        window.features[Sessions].save_as.trigger()


def test_what_was_in_a_file_stays_where_there_is_no_room(qtbot, played, tmp_path):
    log, path = played.features[LogView], tmp_path / "old"
    path.write_text("as it was")
    for write in (write_table, write_run, write_picture, write_film, write_session):
        log.entries.clear()
        with case(write.__name__):
            with full():
                write(played, str(path))
                wait(qtbot, lambda: not played.features[RunExports].writing.running)
            assert FULL in log.text, log.text
            assert "[Errno" not in log.text
            assert path.read_text() == "as it was"
            assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []
            play_for(qtbot, played, 0.01)


def test_a_table_of_plots_stays_as_it_was(played, tmp_path, monkeypatch):
    panel = played.features[PlotsView].panel
    reported = []
    panel.message.connect(reported.append)
    path = tmp_path / "plots.csv"
    path.write_text("as it was")
    monkeypatch.setattr("app.desktop.dialogs.ask_path", lambda *_: str(path))
    monkeypatch.setattr("app.panels.plot_saving.table", lambda *_: "1,2\n" * 5000)
    with full():
        panel.saving.menu.actions()[0].trigger()
    assert reported == [f"{path} was not written: {FULL}"]
    assert path.read_text() == "as it was"


def test_runs_that_find_no_room_are_told_while_it_plays_and_kept_once_there_is_some(
    qtbot, make_window, tmp_path, monkeypatch
):
    monkeypatch.setattr(autosave, "PERIOD", 0.05)
    window = make_window()
    window.kept = AutosavedRuns(window, tmp_path / "runs")
    window.open(engine.find_robot("arm7"))
    wait_loaded(qtbot, window)
    window.run.play.trigger()
    wait(qtbot, lambda: window.workbench.robot.time > 0.2)
    with full():
        wait(qtbot, lambda: window.statusBar().currentMessage() == f"runs are not kept: {FULL}")
        assert window.workbench.robot.playing
    wait(qtbot, lambda: window.statusBar().currentMessage() == "")
    assert FULL in window.features[LogView].text
    window.close()
    (last,) = autosave.saved_runs(tmp_path / "runs")
    assert not (last / autosave.CUT_SHORT).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="the limits of Unix")
def test_a_generated_robot_that_finds_no_room_leaves_no_folders(qtbot, make_window, tmp_path, monkeypatch):
    monkeypatch.setattr(autosave, "PERIOD", 0.02)
    attempts, fill = [], autosave._RobotsRuns._fill

    def counted(runs, folder):
        attempts.append(folder)
        return fill(runs, folder)

    monkeypatch.setattr(autosave._RobotsRuns, "_fill", counted)
    window = make_window()
    window.kept = AutosavedRuns(window, tmp_path / "runs")
    window.workbench.open(engine.chain(20))
    wait_loaded(qtbot, window)
    with full():
        window.run.play.trigger()
        wait(qtbot, lambda: window.kept.autosave.problem == f"runs are not kept: {FULL}")
        before = len(attempts)
        wait(qtbot, lambda: len(attempts) > before + 5)
        assert len(list((tmp_path / "runs").iterdir())) <= 1
    window.close()


def test_a_saved_pose_whose_undoing_cannot_be_written_stays(arm):
    menu, undo, bar = arm.features[PoseMenu], arm.features[UndoView], arm.statusBar()

    def poses() -> list[str]:
        menu.menu.aboutToShow.emit()
        return [each.text() for each in menu.menu.actions()]

    reported = f"the poses cannot be written to {arm.settings.fileName()}; make that file writable"
    with full(10):
        menu.keep("reach")
        assert bar.currentMessage() == reported
    assert "reach" not in poses()
    assert not undo.undo.isEnabled()
    menu.keep("reach")
    assert bar.currentMessage() == "pose saved: Simulation › Pose › reach"
    with full(10):
        undo.undo.trigger()
        assert bar.currentMessage() == reported
    assert "reach" in poses()
    undo.redo.trigger()
    undo.undo.trigger()
    assert bar.currentMessage() == "Undone: Save pose reach"
    assert "reach" not in poses()
    with full(10):
        undo.redo.trigger()
        assert bar.currentMessage() == reported
    assert "reach" not in poses()
