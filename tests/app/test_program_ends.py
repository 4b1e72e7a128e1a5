"""Ends of the program, as processes of its own: closed in each state, and killed while it plays."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from test_missing_screen import started
from windows import HEARD, wait, wait_loaded

from app.features import recovery
from app.features.autosaved_runs import AutosavedRuns
from app.recording import autosave

PROGRAM = Path(__file__).with_name("ending_program.py")
CLOSED = 2.0  # s of work until the window is closed
LOOP = """import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)  # {mark}"])
open({started!r}, "w").close()
while True:
    pass
"""


def processes(mark: str) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if mark in line]


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("state", ["playing", "loading", "compare", "film", "controller"])
def test_closed_in_any_state_it_ends_at_once_and_leaves_no_process(tmp_path, state):
    mark = str(tmp_path)
    (tmp_path / "loop.py").write_text(LOOP.format(mark=mark, started=str(tmp_path / "started")))
    ended = started(str(PROGRAM), state, mark)
    reports = [path.read_text(errors="replace") for path in (tmp_path / "reports").iterdir()]
    assert (ended.returncode, ended.stderr, reports) == (0, "", [])
    work, waited = map(float, ended.stdout.split())
    assert work < CLOSED
    assert waited < HEARD
    assert not (tmp_path / "film.mp4").exists()
    if sys.platform.startswith("linux"):
        assert processes(mark) == []


@pytest.mark.skipif(sys.platform == "win32", reason="a signal of Unix")
def test_killed_while_it_plays_it_offers_run_and_robot_at_the_next_start(qtbot, make_window, tmp_path):
    ended = started(str(PROGRAM), "killed", str(tmp_path))
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    care = recovery.begin(tmp_path / "reports")
    care.reports.end()
    assert care.left.session["robot"].endswith("arm7.urdf")
    window = make_window()
    window.kept = AutosavedRuns(window, tmp_path / "runs")
    assert "the last run was saved (arm7, of" in window.statusBar().currentMessage()
    (folder,) = autosave.saved_runs(tmp_path / "runs")
    window.kept.action.trigger()
    wait_loaded(qtbot, window)
    wait(qtbot, lambda: window.workbench.replay.active)
    assert window.workbench.robot.model.name == "arm7"
    assert window.workbench.replay.frame.time > 0.05
    assert folder.exists()
