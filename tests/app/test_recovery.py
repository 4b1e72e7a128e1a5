"""Crashed runs: their report, and the recovery offered by the next start."""

import json
import os
import subprocess
import sys
import threading
from datetime import datetime
from pathlib import Path

import pytest
from PyQt6.QtCore import QTimer
from test_time import load, play
from windows import name_file, started, wait

import engine
from app.desktop.crash import FAULT, KEPT, SESSION, CrashedRun, Reports
from app.features.autosaved_runs import AutosavedRuns
from app.features.log_view import LogView
from app.features.recovery import Recovery
from app.features.sessions import Sessions
from app.recording import autosave, run_files


@pytest.fixture
def reports(tmp_path) -> Reports:
    reports = Reports(tmp_path / "reports")
    yield reports
    reports.end()


def raised(words):
    try:
        raise RuntimeError(words)
    except RuntimeError as fault:
        return fault


def test_a_report_says_what_where_and_on_which_machine(reports):
    reports.log_text = lambda: "12:00 opened arm7"
    path = reports.write(raised("the wheel came off"), "the window's thread")
    text = path.read_text()
    for words in ("the wheel came off", "test_recovery.py", engine.__version__, "numpy", "12:00 opened arm7"):
        assert words in text
    assert "the window's thread" in text.splitlines()[0]


def test_only_the_newest_reports_are_kept(reports):
    kinds = [type(f"Fault{number}", (RuntimeError,), {}) for number in range(KEPT + 3)]
    paths = [reports.write(kind("x"), "a test") for kind in kinds]
    assert reports.reports() == paths[3:]


def test_a_fault_that_comes_again_and_again_has_one_report(reports):
    cause = reports.write(raised("the cause"), "a test")
    kept = [reports.write(ZeroDivisionError("another"), "a test")]
    texts = [path.read_text() for path in (cause, *kept)]
    for number in range(KEPT + 3):
        assert reports.write(raised(f"again, {number}"), "a test") == cause
    assert reports.reports() == [cause, *kept]
    assert [path.read_text() for path in reports.reports()] == texts


def test_a_run_that_ended_well_leaves_nothing(reports):
    reports.remember({"robot": "arm7.urdf", "begun": 0.0})
    reports.install()
    reports.end()
    assert Reports(reports.folder).previous_crash() is None
    assert list(reports.folder.iterdir()) == []
    assert sys.excepthook is sys.__excepthook__


def test_a_crashed_run_is_reported_once(reports):
    reports.remember({"robot": "arm7.urdf", "begun": 0.0})
    report = reports.write(raised("x"), "a test")
    following = Reports(reports.folder)
    assert following.previous_crash() == CrashedRun({"robot": "arm7.urdf", "begun": 0.0}, report)
    assert following.previous_crash() is None


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"begun": "then"}', "[" * 10**4])
def test_a_session_that_cannot_be_read_is_none(reports, text):
    (reports.folder / SESSION).write_text(text)
    left = reports.previous_crash()
    assert left is None


def test_machine_code_that_fails_is_reported(tmp_path):
    """The process dies as from a bug in a kernel; the next one finds where it was."""
    code = f"""
import faulthandler
from pathlib import Path
from app.desktop.crash import Reports
reports = Reports(Path({str(tmp_path)!r}))
reports.install()
reports.remember({{"robot": "arm7.urdf", "begun": 0.0}})
faulthandler._sigsegv()
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, check=False)
    assert done.returncode != 0
    assert (tmp_path / FAULT).stat().st_size > 0
    left = Reports(tmp_path).previous_crash()
    assert left is not None
    assert "Segmentation fault" in left.report.read_text()
    assert left.session["robot"] == "arm7.urdf"


def test_the_window_lives_on_after_a_fault_and_tells_of_it(qtbot, window, reports, monkeypatch):
    monkeypatch.setattr(sys, "__excepthook__", lambda *_: None)
    Recovery(window, reports, None)
    hook, thread_hook = sys.excepthook, threading.excepthook
    reports.install()
    try:
        sys.excepthook(ValueError, raised("in a slot"), None)
        thread = threading.Thread(target=lambda: 1 / 0, name="simulation")
        thread.start()
        thread.join()
        wait(qtbot, lambda: "division by zero" in window.features[LogView].text)
    finally:
        sys.excepthook, threading.excepthook = hook, thread_hook
    message = window.features[LogView].text
    assert "in a slot" in message
    assert all(report.name in message for report in reports.reports())
    assert "Help › Log" in window.statusBar().currentMessage()
    assert len(reports.reports()) == 2
    assert "in simulation" in reports.reports()[-1].read_text()


def test_what_is_open_is_noted_and_a_close_forgets_it(qtbot, window, reports):
    Recovery(window, reports, None)
    window.open(engine.find_robot("double_pendulum"))
    session = reports.folder / SESSION
    wait(qtbot, lambda: "robot" in json.loads(session.read_text()))
    assert json.loads(session.read_text())["robot"].endswith("double_pendulum.urdf")
    window.close()
    assert not session.exists()


def test_the_next_run_offers_the_robot_and_the_report(qtbot, window, reports):
    robot = str(engine.find_robot("double_pendulum"))
    report = reports.write(raised("x"), "a test")
    os.utime(report, (0, 1.0e9))  # long before the end, of an error that the run survived
    recovery = Recovery(window, reports, CrashedRun({"robot": robot, "floating": False}, report))
    box = recovery.box
    assert box.isVisible()
    assert "double_pendulum.urdf" in box.informativeText()
    assert report.name in box.informativeText()
    assert f"Its last report, of {datetime.fromtimestamp(1.0e9):%Y-%m-%d %H:%M}, is in " in box.informativeText()
    again = next(button for button in box.buttons() if "again" in button.text())
    QTimer.singleShot(0, again.click)
    wait(qtbot, lambda: window.workbench.robot.model is not None)
    assert window.workbench.robot.model.name == "double_pendulum"


def test_the_next_run_offers_the_run_that_was_kept(window, reports, tmp_path, monkeypatch):
    kept = tmp_path / "2026-11-22 18.07.31.123456 arm7.runs"
    kept.mkdir()
    runs, opened = AutosavedRuns(window, tmp_path), []
    monkeypatch.setattr(window, "open", opened.append)
    robot = str(engine.find_robot("double_pendulum"))
    box = Recovery(window, reports, CrashedRun({"robot": robot}, None), runs).box
    words = [button.text().replace("&", "") for button in box.buttons()]
    assert "Open last run: arm7, of 2026-11-22 18:07" in words
    assert "Open double_pendulum.urdf again" in words
    assert "run" in box.defaultButton().text()
    box.defaultButton().click()
    assert opened == [kept]


def test_the_next_run_offers_the_session_that_was_open(qtbot, make_window, reports, tmp_path, monkeypatch):
    name_file(monkeypatch, tmp_path / "day & night.catena")
    window, noted = make_window(), reports.folder / SESSION
    Recovery(window, reports, None)
    load(qtbot, window, "double_pendulum")
    window.features[Sessions].save_action.trigger()
    left = json.loads(noted.read_text())
    assert left["session"] == str(tmp_path / "day & night.catena")
    window.close()
    (tmp_path / "2026-11-22 18.07.31.123456 arm7.runs").mkdir()
    again = make_window()
    box = Recovery(again, reports, CrashedRun(left, None), AutosavedRuns(again, tmp_path)).box
    assert "day &amp; night.catena was open." in box.informativeText()
    assert "last run goes up to the end" in box.informativeText()
    assert box.defaultButton().text() == "&Open day && night.catena again"
    box.defaultButton().click()
    wait(qtbot, lambda: again.features[Sessions].path == left["session"])
    load(qtbot, again, "scara")
    assert json.loads(noted.read_text())["session"] == ""
    again.close()
    Path(left["session"]).unlink()
    box = Recovery(make_window(), reports, CrashedRun(left, None)).box
    assert "double_pendulum.urdf was open." in box.informativeText()


def test_the_run_that_ended_last_is_the_last_however_early_it_began(tmp_path):
    names = ("2026-11-22 18.07.31.123456 early.runs", "2026-11-22 18.09.00.000000 late.runs")
    early, late = (tmp_path / name for name in names)
    for folder, ended in ((early, 2.0e9), (late, 1.9e9)):
        folder.mkdir()
        part = folder / f"000000{run_files.SUFFIX}"
        part.touch()
        os.utime(part, (ended, ended))
    assert autosave.saved_runs(tmp_path) == [early, late]


def test_the_run_of_the_window_that_was_killed_is_offered_before_a_later_one(
    qtbot, make_window, reports, tmp_path, monkeypatch
):
    monkeypatch.setattr(autosave, "PERIOD", 0.05)
    killed = started(make_window, tmp_path / "runs")
    Recovery(killed, reports, None, killed.kept)
    load(qtbot, killed, "scara")
    play(qtbot, killed, 0.1)
    noted = reports.folder / SESSION
    wait(qtbot, lambda: "runs" in json.loads(noted.read_text()))
    session = json.loads(noted.read_text())
    killed.close()
    other = started(make_window, tmp_path / "runs")
    load(qtbot, other, "double_pendulum")
    play(qtbot, other, 0.1)
    other.close()
    window = started(make_window, tmp_path / "runs")
    box = Recovery(window, reports, CrashedRun(session, None), window.kept).box
    assert box.defaultButton().text().startswith("Open last &run: scara, of ")
    box.defaultButton().click()
    wait(qtbot, lambda: window.workbench.replay.active)
    assert window.workbench.robot.model.name == "scara"


def test_a_run_that_had_nothing_open_offers_no_robot(window, reports):
    recovery = Recovery(window, reports, CrashedRun({}, None))
    assert [button.text().replace("&", "") for button in recovery.box.buttons()] == ["Close"]
    recovery.box.close()
