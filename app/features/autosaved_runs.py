"""File › Open last run, and Earlier runs: unsaved runs from a window closed or killed, or with another robot since."""

from __future__ import annotations

from pathlib import Path

from PyQt6.QtCore import QObject, QStandardPaths, QTimer
from PyQt6.QtWidgets import QMenu

from app.desktop.actions import MESSAGE, make_action, offer, say_empty
from app.features.log_view import LogView
from app.features.window_type import Window
from app.recording import autosave, run_files
from app.recording.autosave import Autosave, Origin
from app.simulation.messages import Loaded

POLL_INTERVAL = 500  # ms between two checks whether saving fails


class AutosavedRuns(QObject):
    """Saves the runs of one window in folders in `root`."""

    def __init__(self, window: Window, root: Path):
        super().__init__(window)
        self._window, self._bench, self._reported = window, window.workbench, ""
        self.autosave = Autosave(root, window.workbench.replay.recording)
        window.workbench.keep_runs(self.autosave)
        self.action = make_action(window, "Open &last run", self._open, "Ctrl+Shift+T")
        window.menus.file.insertAction(window.files.recent_menu.menuAction(), self.action)
        self.menu = QMenu("Earlier ru&ns", window, toolTipsVisible=True)
        self.menu.aboutToShow.connect(self._fill)
        window.menus.file.insertMenu(window.files.recent_menu.menuAction(), self.menu)
        window.menus.file.aboutToShow.connect(self._refresh)
        window.menus.file.aboutToHide.connect(lambda: self.action.setEnabled(True))  # a run may exist soon
        window.loaded.connect(self._set_robot)
        window.refreshed.connect(self._show_problem)
        self._timer = QTimer(self, timeout=self._show_problem)
        self._timer.start(POLL_INTERVAL)
        window.closing.connect(self._close)
        if (last := self.last) is not None:
            text = f"the last run was saved ({autosave.words(last)}): File › Open last run"
            if (last / autosave.CUT_SHORT).exists():
                text += "; its end is missing: the program stopped before it was written"
            window.feature(LogView).add(text)
            window.statusBar().showMessage(text, MESSAGE)

    @property
    def last(self) -> Path | None:
        """The newest folder to which no window writes."""
        folders = autosave.saved_runs(self.autosave.root)
        return folders[0] if folders else None

    def _refresh(self) -> None:
        last = self.last
        offer(self.action, (last is not None, "no run has been kept"))
        tip = "the runs recorded last and not exported"
        self.action.setToolTip(f"Open {tip if last is None else autosave.words(last)} (Ctrl+Shift+T)")

    def _fill(self) -> None:
        self.menu.clear()
        for folder in autosave.saved_runs(self.autosave.root)[1:]:
            action = self.menu.addAction(autosave.words(folder))
            action.setToolTip(str(folder))
            action.triggered.connect(lambda _, folder=folder: self._window.open(folder))
        if self.menu.isEmpty():
            say_empty(self.menu, "No runs before the last one")

    def _open(self) -> None:
        if (last := self.last) is not None:
            self._window.open(last)
        else:
            self._window.statusBar().showMessage("no run was saved yet", MESSAGE)

    def _set_robot(self, event: Loaded) -> None:
        bench = self._bench
        folder = Path(event.path) if event.path.endswith(run_files.KEPT_SUFFIX) else None
        folders = bench.opening.package_dirs
        self.autosave.set_robot(Origin(event.model, bench.path, bench.robot.floating, folders, folder))
        if folder is not None:
            text = "the run is opened; press Branch here (Ctrl+B) to continue from it"
            self._window.statusBar().showMessage(text, MESSAGE)

    def _show_problem(self) -> None:
        """Show an error while it lasts; other messages meanwhile remain."""
        problem, bar = self.autosave.problem, self._window.statusBar()
        if problem == self._reported:
            return
        if problem:
            bar.showMessage(problem)
        elif bar.currentMessage() == self._reported:
            bar.clearMessage()
        self._reported = problem

    def _close(self) -> None:
        self._timer.stop()
        self._bench.pause()
        self.autosave.close()


def place() -> Path:
    """Return the platform's folder for application data."""
    return Path(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.AppLocalDataLocation)) / "runs"
