"""Settings that are damaged, folders that cannot be written to, and several windows at a time."""

import sys
from pathlib import Path

import pytest
from PyQt6.QtCore import QSettings
from windows import wait, wait_loaded

import engine
from app.desktop.crash import SESSION
from app.desktop.menus import LASTING
from app.features import appearance, camera_views, controller_view, idle_measuring, overlay_view, recovery, reloading
from app.features.autosaved_runs import AutosavedRuns
from app.features.log_view import LogView
from app.recording import autosave
from app.window import Window

SETTINGS = (
    "recent", "geometry", "layout", "dock_heights", LASTING, reloading.KEY, "plots", "contacts", "recording_megabytes",
    controller_view.RECENT, idle_measuring.KEY, appearance.KEY, overlay_view.KEY, camera_views.KEY,
)  # fmt: skip


@pytest.mark.parametrize(
    "junk",
    [
        "5",
        "-7",
        "nan",
        "[]",
        '{"a": {"target": [1,2]}}',
        "@ByteArray(xyz)",
        '"a, b"',
        "@Invalid()",
        "@Variant(\\0\\xff)",
    ],
)
def test_damaged_settings_open_the_window_all_the_same(qtbot, tmp_path, junk):
    path = tmp_path / "settings.ini"
    path.write_text("[General]\n" + "".join(f"{key}={junk}\n" for key in SETTINGS))
    window = Window(QSettings(str(path), QSettings.Format.IniFormat))
    try:
        window.show()
        window.open(engine.find_robot("double_pendulum"))
        wait_loaded(qtbot, window)
        assert window.workbench.replay.recording.budget >= 2**20
    finally:
        window.close()


@pytest.mark.parametrize("content", [b"", b"\0" * 300, b"[General\n=\n%%%\xff\xfe", b"not settings"])
@pytest.mark.usefixtures("qapp")
def test_a_settings_file_of_junk_opens_the_window_and_is_written_anew(tmp_path, content):
    path = tmp_path / "settings.ini"
    path.write_bytes(content)
    window = Window(QSettings(str(path), QSettings.Format.IniFormat))
    window.show()
    window.close()
    window.settings.sync()
    assert QSettings(str(path), QSettings.Format.IniFormat).contains("geometry")


@pytest.fixture
def begin(tmp_path, monkeypatch):
    """Start crash handling as another program would; hooks are restored at the end."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    cares = []

    def start(folder: Path = tmp_path / "reports") -> recovery.Care:
        cares.append(recovery.begin(folder))
        return cares[-1]

    yield start
    for care in cares:
        care.reports.end()


def test_two_programs_at_a_time_have_a_session_each(begin):
    first, second = begin(), begin()
    first.reports.remember({"robot": "one.urdf", "begun": 1.0})
    second.reports.remember({"robot": "two.urdf", "begun": 2.0})
    third = begin()
    assert third.left is None
    second.reports.end()
    assert (first.reports.folder / SESSION).exists()
    first.lock.unlock()  # as its end by a signal does
    assert begin().left.session["robot"] == "one.urdf"
    assert begin().left is None


def test_each_start_offers_one_of_several_killed_sessions_the_last_first(begin):
    cares, written = [begin(), begin(), begin()], {}
    for care, begun in zip(cares, (2.0, 3.0, 1.0), strict=True):
        care.reports.remember({"begun": begun})
        written[begun] = care.reports.write(RuntimeError(f"of {begun}"), "a test")
    for care in cares:
        care.lock.unlock()
    for begun in (3.0, 2.0, 1.0):
        care = begin()
        care.reports.remember({"begun": 4.0})
        assert (care.left.session["begun"], care.left.report) == (begun, written[begun])
    assert begin().left is None


def test_a_fault_is_told_where_no_report_can_be_written(qtbot, window, begin, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the place of a folder")
    monkeypatch.setattr(sys, "__excepthook__", lambda *_: None)
    care = begin(tmp_path / "file" / "reports")
    assert (care.left, care.lock) == (None, None)
    recovery.Recovery(window, care.reports, care.left)
    fault = RuntimeError("in a slot")
    sys.excepthook(RuntimeError, fault, None)
    wait(qtbot, lambda: "no report could be written" in window.features[LogView].text)
    assert "in a slot" in window.statusBar().currentMessage()
    assert "crash recovery is off" in window.features[LogView].text


def test_two_windows_keep_their_runs_apart(qtbot, make_window, tmp_path, monkeypatch):
    monkeypatch.setattr(autosave, "PERIOD", 0.05)
    monkeypatch.setattr(autosave, "KEPT", 1)
    windows = [make_window(), make_window()]
    for window, robot in zip(windows, ("arm7", "double_pendulum"), strict=True):
        window.kept = AutosavedRuns(window, tmp_path / "runs")
        window.open(engine.find_robot(robot))
        wait_loaded(qtbot, window)
        window.run.play.trigger()
    wait(qtbot, lambda: all(window.workbench.robot.time > 0.2 for window in windows))
    wait(qtbot, lambda: len(list((tmp_path / "runs").iterdir())) == 2)
    assert autosave.saved_runs(tmp_path / "runs") == []
    windows[0].close()  # which prunes, to one
    (last,) = autosave.saved_runs(tmp_path / "runs")
    assert "arm7" in last.name
    assert windows[1].kept.last == last
    windows[1].close()
    assert [window.kept.autosave.problem for window in windows] == ["", ""]
    (last,) = autosave.saved_runs(tmp_path / "runs")
    assert "double_pendulum" in last.name
