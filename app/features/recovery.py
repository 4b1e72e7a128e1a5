"""What the window does about runs that end badly: it notes what is open, tells of faults, and offers what was left."""

from __future__ import annotations

import math
import time
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from PyQt6.QtCore import QLockFile, QObject, QStandardPaths, Qt, QUrl, pyqtSignal
from PyQt6.QtWidgets import QMessageBox

from app.desktop.crash import LOCK, Left, Reports, numbered
from app.desktop.reasons import reason
from app.features.kept_runs import KeptRuns
from app.features.log_view import LogView
from app.recording.keeping import words
from app.recording.run_files import is_passing
from app.simulation.messages import Loaded

if TYPE_CHECKING:
    from app.window import Window


MOST = 8  # programs at a time that note what they have open


class Recovery(QObject):
    """Belongs to one window; `left` is what the run before it left, which is offered at once."""

    _failed = pyqtSignal(str, object)  # from any thread

    def __init__(self, window: Window, reports: Reports, left: Left | None, runs: KeptRuns | None = None):
        """`runs` has the run that was going on, if it was kept."""
        super().__init__(window)
        self._window, self._reports, self._begun, self._runs = window, reports, time.time(), runs
        self.box: QMessageBox | None = None
        self._log = cast(LogView, window.features[LogView])
        reports.told = lambda: self._log.text
        reports.heard = self._failed.emit
        self._failed.connect(self._tell)
        window.loaded.connect(self._note)
        window.closing.connect(reports.end)
        self._remember({"begun": self._begun})
        if left is not None:
            self._offer(left)

    def _note(self, event: Loaded) -> None:
        bench = self._window.workbench
        session: dict[str, Any] = {"begun": self._begun, "floating": bench.floating}
        if bench.source is not None and not is_passing(event.path):
            session["robot"] = event.path
        self._remember(session)

    def _remember(self, session: dict[str, Any]) -> None:
        try:
            self._reports.remember(session)
        except OSError as fault:
            self._log.add(f"crash recovery is off: {reason(fault)}")

    def _tell(self, fault: str, report: Path | None) -> None:
        self._window.statusBar().showMessage(f"internal error: {fault}; Help › Log says where the report is")
        self._log.add("no report could be written" if report is None else f"a report is in {report}")

    def _offer(self, left: Left) -> None:
        robot = str(left.session.get("robot", ""))
        window = self._window
        box = self.box = QMessageBox(window)
        box.setIcon(QMessageBox.Icon.Warning)
        box.setWindowTitle("Catena")
        box.setText("Catena ended unexpectedly last time.")
        told = [f"{escape(Path(robot).name)} was open."] if robot else []
        if left.report is not None:
            link = QUrl.fromLocalFile(str(left.report)).toString()
            told.append(f'A report is in <a href="{link}">{escape(str(left.report))}</a>.')
        box.setTextFormat(Qt.TextFormat.RichText)
        box.setInformativeText("<br>".join(told))
        if robot:
            again = box.addButton(f"&Open {Path(robot).name} again", QMessageBox.ButtonRole.AcceptRole)
            floating = bool(left.session.get("floating", False))
            again.clicked.connect(lambda: window.files.open(robot, floating=floating))
            box.setDefaultButton(again)
        last = None if self._runs is None else self._runs.last
        if self._runs is not None and last is not None:
            run = box.addButton(f"Open last &run: {words(last)}", QMessageBox.ButtonRole.AcceptRole)
            run.clicked.connect(self._runs.action.trigger)
            box.setDefaultButton(run)
        box.addButton(QMessageBox.StandardButton.Close)
        box.open()


class Care(NamedTuple):
    """The reports, what a run before left, and what keeps other programs from them as long as it lives."""

    reports: Reports
    left: Left | None
    lock: QLockFile | None


def begin(folder: Path | None = None) -> Care:
    """The reports in a folder, by default the platform's place, and what was left last by a run that ended badly.

    Each program that runs has a session of its own there. Of several that ended badly this one takes the place of the
    last; the others' sessions stay for the next starts.
    """
    if folder is None:
        place = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.AppLocalDataLocation)
        folder = Path(place) / "reports"
    reports, left, lock = Reports(folder, MOST + 1), None, None
    noted = {number: Reports(folder, number).noted() for number in range(1, MOST + 1)}
    begun = {number: -math.inf if found is None else found[1] for number, found in noted.items()}
    for number in sorted(begun, key=begun.__getitem__, reverse=True):
        lock = _lock(folder, number)
        if lock is not None:
            reports = Reports(folder, number)
            left = reports.left()
            break
    reports.install()
    return Care(reports, left, lock)


def _lock(folder: Path, number: int) -> QLockFile | None:
    """The lock of the program of that number, held; None where another has it, or there can be none."""
    lock = QLockFile(str(folder / numbered(LOCK, number)))
    lock.setStaleLockTime(0)
    return lock if lock.tryLock(0) else None
