"""What the window does about runs that end badly: it notes what is open, tells of faults, and offers what was left."""

from __future__ import annotations

import time
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from PyQt6.QtCore import QLockFile, QObject, QStandardPaths, Qt, QUrl, pyqtSignal
from PyQt6.QtWidgets import QMessageBox

from app.desktop.crash import Left, Reports
from app.features.log_view import LogView
from app.simulation.messages import Loaded

if TYPE_CHECKING:
    from app.window import Window


class Recovery(QObject):
    """Belongs to one window; `left` is what the run before it left, which is offered at once."""

    _failed = pyqtSignal(str, Path)  # from any thread

    def __init__(self, window: Window, reports: Reports, left: Left | None):
        super().__init__(window)
        self._window, self._reports, self._begun = window, reports, time.time()
        self.box: QMessageBox | None = None
        self._log = cast(LogView, window.features[LogView])
        reports.told = lambda: self._log.text
        reports.heard = self._failed.emit
        self._failed.connect(self._tell)
        window.loaded.connect(self._note)
        window.closing.connect(reports.end)
        reports.remember({"begun": self._begun})
        if left is not None:
            self._offer(left)

    def _note(self, event: Loaded) -> None:
        bench = self._window.workbench
        session: dict[str, Any] = {"begun": self._begun, "floating": bench.floating}
        if event.model.source is not None:
            session["robot"] = event.path
        self._reports.remember(session)

    def _tell(self, fault: str, report: Path) -> None:
        self._window.statusBar().showMessage(f"a fault in the program: {fault}; Help › Log says where the report is")
        self._log.add(f"a report is in {report}")

    def _offer(self, left: Left) -> None:
        robot = str(left.session.get("robot", ""))
        window = self._window
        box = self.box = QMessageBox(window)
        box.setIcon(QMessageBox.Icon.Warning)
        box.setWindowTitle("Catena")
        box.setText("Catena ended unexpectedly the last time.")
        told = [f"It had {escape(Path(robot).name)} open."] if robot else []
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
        box.addButton(QMessageBox.StandardButton.Close)
        box.open()


class Care(NamedTuple):
    """The reports, what the run before left, and what keeps other windows from them as long as it lives."""

    reports: Reports
    left: Left | None
    lock: QLockFile


def begin() -> Care | None:
    """The reports in the platform's place; None while another window takes care of them."""
    place = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.AppLocalDataLocation)
    try:
        reports = Reports(Path(place) / "reports")
        lock = QLockFile(str(reports.folder / "lock"))
        lock.setStaleLockTime(0)
        if not lock.tryLock(0):
            return None
        left = reports.left()
        reports.install()
    except OSError:  # a place that cannot be written to
        return None
    return Care(reports, left, lock)
