"""File › Open study: the results of a study as charts, and the clicked sample's run on the timeline."""

from __future__ import annotations

import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

from PyQt6.QtCore import QObject, QTimer
from PyQt6.QtWidgets import QMessageBox

import engine
from app.desktop import dialogs, theme
from app.desktop.actions import MESSAGE, make_action
from app.desktop.dialogs import ask_path
from app.desktop.docks import BOTTOM, Dock
from app.features import session_text
from app.features.diagnostics_view import DiagnosticsView
from app.features.run_exports import RunExports
from app.features.study_running import StudyRunning
from app.features.window_type import Window
from app.jobs.study_opening import Opened, SampleRun, StudyOpening, folder_of
from app.panels.study import StudyPanel
from app.recording.run_files import KEPT_SUFFIX
from app.simulation.messages import Loaded, Refused

CHECK_INTERVAL = 1000  # ms between two checks for more results of a study that runs, and RARER times a reading at least
RARER = 10
POLL_INTERVAL = 30  # ms between two checks whether results are read or a run is computed
HEIGHT, LOW, WHOLE = 400, 230, 720
"""px of the dock: its height, that with a message alone, and the width in which a chart has most of it."""
FILES = "Studies (*.toml study.json);;All files (*)"
TABLES = "Tables (*.csv *.parquet)"


class StudyView(QObject):
    """The action and the dock of a study, and its background jobs."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._window, self._findings = window, window.feature(DiagnosticsView)
        self.panel, self._opening, self._running = StudyPanel(), StudyOpening(), SampleRun()
        self._folder = tempfile.TemporaryDirectory(suffix=KEPT_SUFFIX, ignore_cleanup_errors=True)
        self._path = self._read = ""  # of the study that is wanted, and of that which is being read
        self._low = False  # the dock has a message alone
        self._wrong = False  # Diagnostics lists problems of the file that was read last
        self._parts = 0  # files with its results, as it was last read
        self._began = 0.0
        self._trusted = ""  # the folder whose controller may run
        self._next: int | None = None  # the sample that waits while another is computed
        self._shown = ""  # the status bar's message once the run is shown
        self.question: QMessageBox | None = None
        self.dock_action = window.docks.add(
            Dock("Study", self.panel, BOTTOM, "Compare", "study", "", "Results of a study", self._height, whole=WHOLE)
        )
        self.action = make_action(
            window, "Open st&udy…", self._ask, "Ctrl+Alt+S", tip="Results of main.py study, as charts and as runs"
        )
        window.menus.file.insertAction(window.files.robots_menu.menuAction(), self.action)
        for suffix in (".toml", ".results"):
            window.files.others[suffix] = self.open
        self._work = StudyRunning(window, self.panel)
        self._timer = QTimer(self, interval=POLL_INTERVAL, timeout=self._poll)
        self._checking = QTimer(self, timeout=self._check)
        self.panel.requested.connect(self.show_run)
        self.panel.export_asked.connect(self._ask_where)
        theme.signals.changed.connect(self.panel.chart.update)
        window.loaded.connect(self._show_opened_run)
        window.closing.connect(self._close)

    def open(self, path: str) -> None:
        """Read the results of a study from its file, its results folder, or a file in that folder.

        The study that is shown stays until the other has been read; it also stays if that fails.
        """
        self._window.docks.show_in_front("Study")
        self._window.statusBar().clearMessage()  # such as that another file was not loaded
        if self.panel.results is None:
            self.panel.show_none(f"Reading {folder_of(path).name} …")
        else:
            self._window.statusBar().showMessage(f"reading {folder_of(path).name} …")
        self._path = path
        self._start()

    def kept(self) -> dict[str, Any]:
        """Return the results folder of the study that is shown, for a session; empty if none is."""
        return {"study": "" if self.panel.results is None else str(self.panel.results.folder.resolve())}

    def restore(self, session: dict[str, Any]) -> None:
        """Show the results of a session's study where the session's layout has them."""
        path = session_text.study(session)
        if path and path != self.kept()["study"]:
            self._path = path
            self._start()

    def _start(self) -> None:
        """Read the study that is wanted, after one that is being read."""
        self._checking.stop()
        if not self._opening.running:
            self._read, self._began = self._path, time.perf_counter()
            self._parts = engine.StudyResults.parts(folder_of(self._path))
            self._opening.start(self._path)
        self._timer.start()

    def _check(self) -> None:
        """Read the results again if there are more of them."""
        if self.panel.isVisible() and engine.StudyResults.parts(folder_of(self._path)) != self._parts:
            self._start()

    def show_run(self, sample: int) -> None:
        """Recompute the run of a sample, and open it."""
        results = self.panel.results
        if results is None or results.study is None:
            return
        if results.study.controller is not None and self._trusted != str(results.folder):
            self._ask_for_trust(sample, results.study.controller)
            return
        if self._running.running:
            self._next = sample
            return
        self._window.statusBar().showMessage(f"computing the run of sample {sample} …")
        self._running.start(results, sample, Path(self._folder.name))
        self._timer.start()

    def _ask(self) -> None:
        results = self.panel.results
        folder = str(results.folder.parent) if results is not None else ""
        if path := dialogs.ask_file(self._window, "Open a study", folder, FILES):
            self.open(path)

    def _ask_for_trust(self, sample: int, controller: Path) -> None:
        """Ask whether the study's controller, which is user code, may run."""
        text = f"The runs of this study are driven by {controller.name}. Run this program?"
        self.question = dialogs.ask(self._window, text, {"&Run it": partial(self._trust, sample)}, note=str(controller))

    def _trust(self, sample: int) -> None:
        if self.panel.results is not None:
            self._trusted = str(self.panel.results.folder)
            self.show_run(sample)

    def _poll(self) -> None:
        if (opened := self._opening.poll()) is not None:
            if self._read == self._path:
                self._show_opened(opened)
            else:
                self._start()
        if (run := self._running.poll()) is not None:
            bar, waits = self._window.statusBar(), self._next
            self._next = None
            if waits is not None and waits != run.sample:
                self.show_run(waits)
            elif run.problem:
                bar.showMessage(f"the run of sample {run.sample} cannot be shown: {run.problem}", MESSAGE)
            else:
                differs = f"other numbers than in the results: {', '.join(run.differs[:3])}" if run.differs else ""
                self._shown = f"sample {run.sample}, {differs or 'the same numbers as in the results'}"
                self._window.open(run.path)
        if not self._opening.running and not self._running.running:
            self._timer.stop()

    def _height(self) -> int:
        return LOW if self._low else HEIGHT

    def _show_opened(self, opened: Opened) -> None:
        before, bar = self.panel.results, self._window.statusBar()
        low, self._low = self._low, opened.results is None and before is None
        if low != self._low and self.panel.isVisible() and not opened.diagnostics:  # which take its place
            self._window.docks.open_refilled("Study")
        if before is not None:
            bar.clearMessage()
        if opened.results is not None:
            self.panel.show_results(opened.results)
        elif before is None:
            self.panel.show_none(opened.problem)
        if opened.results is not None or before is None:
            self._work.show(self._read, opened)
        if opened.problem and (before is not None or opened.diagnostics):
            bar.showMessage(f"the study was not opened: {opened.problem}", MESSAGE)
        if opened.diagnostics:
            self._findings.show_refused(Refused(self._read, opened.diagnostics))
        elif self._wrong:
            self._findings.forget_stop()
        self._wrong = bool(opened.diagnostics)
        if opened.grows and (opened.results is not None or before is None):
            took = time.perf_counter() - self._began
            self._checking.start(max(CHECK_INTERVAL, int(1000 * RARER * took)))

    def _show_opened_run(self, event: Loaded) -> None:
        """Fit a sample's run in view, from its first to its last frame, with the message that opening has cleared."""
        if not self._shown:
            return
        self._window.statusBar().showMessage(self._shown, MESSAGE)
        self._shown = ""
        viewport, replay = self._window.viewport, self._window.workbench.replay
        if replay.opened and viewport.reading is None:  # its meshes are still to come, otherwise
            run = replay.runs[-1]
            end = replay.recording.frame(run, run.last).checkpoint.q[0].astype(float)
            viewport.bring_into_view(*viewport.bounds_of(engine.link_poses(event.model, end)))

    def _ask_where(self) -> None:
        results = self.panel.results
        if results is None:
            return
        name = dialogs.file_name(results.folder.stem, ".csv")
        if path := ask_path(self._window, "Export the study's results", name, TABLES, "csv"):
            self.export(path)

    def export(self, path: str) -> None:
        """Write the results as a table, .csv or .parquet, in a thread; the status bar reports how it ends."""
        results, exports = self.panel.results, self._window.feature(RunExports)
        if results is None or exports.writing.running:
            return

        def work(_: threading.Event) -> str:
            results.write(path)
            return f"{len(results.columns['sample'])} rows written to {Path(path).name}"

        exports.begin(work, f"writing {Path(path).name} …")

    def _close(self) -> None:
        self._timer.stop()
        self._checking.stop()
        self._opening.close()
        self._running.close()
        self._folder.cleanup()
