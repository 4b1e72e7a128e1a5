"""Crash recovery: note the open robot, report errors, and offer to reopen it after a crash."""

from __future__ import annotations

import math
import time
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from PyQt6.QtCore import QLockFile, QObject, QStandardPaths, Qt, QUrl, pyqtSignal
from PyQt6.QtWidgets import QMessageBox

from app.desktop.crash import LOCK, CrashedRun, Reports, numbered_name
from app.features.autosaved_runs import AutosavedRuns
from app.features.log_view import LogView
from app.features.sessions import Sessions
from app.features.window_type import Window
from app.reasons import reason
from app.recording.autosave import saved_runs, words
from app.recording.run_files import is_passing
from app.simulation.messages import Loaded

TWO_WAYS = "The session is as last saved; the last run goes up to the end, without camera and second robot."
MAX_PROGRAMS = 8  # programs running at once that note their open robots


class Recovery(QObject):
    """Belongs to one window; `left` is the crashed run's session, offered at once."""

    _failed = pyqtSignal(str, object)  # from any thread

    def __init__(self, window: Window, reports: Reports, left: CrashedRun | None, runs: AutosavedRuns | None = None):
        """`runs` offers the interrupted run, if it was saved."""
        super().__init__(window)
        self._window, self._reports, self._begun, self._runs = window, reports, time.time(), runs
        self.box: QMessageBox | None = None
        self._log = window.feature(LogView)
        reports.log_text = lambda: self._log.text
        reports.on_report = self._failed.emit
        self._failed.connect(self._show_error)
        window.loaded.connect(self._note)
        window.closing.connect(reports.end)
        self._session: dict[str, Any] = {"begun": self._begun}
        self._remember()
        window.refreshed.connect(self._note_files)
        if left is not None:
            self._offer(left)

    def _note(self, event: Loaded) -> None:
        bench = self._window.workbench
        self._session = {"begun": self._begun, "floating": bench.robot.floating}
        if bench.source is not None and not is_passing(event.path):
            self._session |= {"robot": event.path, "xacro_args": bench.opening.xacro_args(event.path)}
        self._remember()

    def _note_files(self) -> None:
        """Note the open session, and where this window's runs are kept, which need not be the last after a crash."""
        folder, path = None if self._runs is None else self._runs.autosave.folder, self._window.feature(Sessions).path
        files = {"session": str(Path(path).absolute()) if path else ""} | ({"runs": str(folder)} if folder else {})
        if not files.items() <= self._session.items():
            self._session |= files
            self._remember()

    def _remember(self) -> None:
        try:
            self._reports.remember(self._session)
        except OSError as error:
            self._log.add(f"crash recovery is off: {reason(error)}")

    def _show_error(self, problem: str, report: Path | None) -> None:
        self._window.statusBar().showMessage(f"internal error: {problem}; Help › Log says where the report is")
        self._log.add("no report could be written" if report is None else f"a report is in {report}")

    def _offer(self, left: CrashedRun) -> None:
        robot, session = str(left.session.get("robot", "")), str(left.session.get("session", ""))
        session = session if session and Path(session).is_file() else ""
        window = self._window
        box = self.box = QMessageBox(window)
        box.setIcon(QMessageBox.Icon.Warning)
        box.setWindowTitle("Catena")
        box.setText("Catena ended unexpectedly last time.")
        reported = [f"{escape(Path(session or robot).name)} was open."] if robot else []
        if left.report is not None:
            link = QUrl.fromLocalFile(str(left.report)).toString()
            name = escape(str(left.report))
            reported.append(f'Its last report, of {left.report_time}, is in <a href="{link}">{name}</a>.')
        box.setTextFormat(Qt.TextFormat.RichText)
        box.setInformativeText("<br>".join(reported))
        if robot:
            name = Path(session or robot).name.replace("&", "&&")
            again = box.addButton(f"&Open {name} again", QMessageBox.ButtonRole.AcceptRole)
            floating = bool(left.session.get("floating", False))
            again.clicked.connect(lambda: window.files.open(session or robot, floating=floating))
            xacro_args = left.session.get("xacro_args")
            window.workbench.opening.set_xacro_args(robot, xacro_args if isinstance(xacro_args, dict) else {})
            box.setDefaultButton(again)
        saved = [] if self._runs is None else saved_runs(self._runs.autosave.root)
        if saved:  # those of the window that crashed, or else the last ones
            folder = next((each for each in saved if str(each) == left.session.get("runs")), saved[0])
            run = box.addButton(f"Open last &run: {words(folder)}", QMessageBox.ButtonRole.AcceptRole)
            run.clicked.connect(lambda: window.open(folder))
            if session:
                reported.append(TWO_WAYS)
            else:
                box.setDefaultButton(run)
            if len(saved) > 1:
                reported.append("File › Earlier runs has others.")
            box.setInformativeText("<br>".join(reported))
        box.addButton(QMessageBox.StandardButton.Close)
        box.open()


class Care(NamedTuple):
    """The reports, the previous crash if any, and the lock that reserves them for this program."""

    reports: Reports
    left: CrashedRun | None
    lock: QLockFile | None


def begin(folder: Path | None = None) -> Care:
    """Install reports in a folder, by default the platform's, and find the last crashed run.

    Each running program has its own session there. After several crashes this program takes over the latest; the other
    sessions remain for the next starts.
    """
    if folder is None:
        place = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.AppLocalDataLocation)
        folder = Path(place) / "reports"
    reports, left, lock = Reports(folder, MAX_PROGRAMS + 1), None, None
    noted = {number: Reports(folder, number).saved_session() for number in range(1, MAX_PROGRAMS + 1)}
    begun = {number: -math.inf if session is None else session[1] for number, session in noted.items()}
    for number in sorted(begun, key=begun.__getitem__, reverse=True):
        lock = _lock(folder, number)
        if lock is not None:
            reports = Reports(folder, number)
            left = reports.previous_crash()
            break
    reports.install()
    return Care(reports, left, lock)


def _lock(folder: Path, number: int) -> QLockFile | None:
    """Acquire the lock of the program with this number; None if it is taken or cannot be made."""
    lock = QLockFile(str(folder / numbered_name(LOCK, number)))
    lock.setStaleLockTime(0)
    return lock if lock.tryLock(0) else None
