"""Runs the study that is open: a row below its results has its progress, and begins, continues and cancels it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PyQt6.QtCore import QTimer
from PyQt6.QtWidgets import QMessageBox

import engine
from app.desktop.actions import MESSAGE
from app.desktop.dialogs import ask
from app.features.window_type import Window
from app.jobs.study_opening import Opened, folder_of
from app.jobs.study_process import StudyProcess
from app.panels.study import StudyPanel
from app.reasons import reason

POLL_INTERVAL = 200  # ms between two checks whether the study has ended


class StudyRunning:
    """Connects the row of the study panel to the study's process."""

    def __init__(self, window: Window, panel: StudyPanel):
        self._window, self._panel, self._process = window, panel, StudyProcess()
        self._study: engine.Study | None = None  # that is open, with its file and the number of finished samples
        self._path, self._done = "", 0
        self.question: QMessageBox | None = None
        self._timer = QTimer(window, interval=POLL_INTERVAL, timeout=self._poll)
        panel.run_asked.connect(self._press)
        window.closing.connect(self._close)

    def show(self, path: str, opened: Opened) -> None:
        """Show the row for what was read of a study's file or folder."""
        results = opened.results
        self._study = opened.study if results is None else results.study
        self._done = 0 if results is None else len(results.columns["sample"])
        file = Path(path) if Path(path).suffix == ".toml" else folder_of(path).with_suffix(".toml")
        self._path = str(file) if self._study is not None and file.exists() else ""
        self._refresh()

    @property
    def _runs(self) -> bool:
        return bool(self._path) and self._process.path == self._path

    def _refresh(self) -> None:
        if self._study is None or not self._path or (self._done >= self._study.count and not self._runs):
            self._panel.show_work("", "")
            return
        share = f"{self._done:,} of {self._study.count:,} samples"
        if self._runs:
            ends = self._process.cancelled
            self._panel.show_work(f"{'Cancelling' if ends else 'Running'}: {share}", "" if ends else "&Cancel study")
        elif self._process.path:
            self._panel.show_work(f"{Path(self._process.path).name} is running", "")
        else:
            self._panel.show_work(share, "&Continue study" if self._done else "&Run study")

    def _press(self) -> None:
        if self._runs:
            self._process.cancel()
        elif self._study is not None and self._study.controller is not None:
            text = f"The runs of this study are driven by {self._study.controller.name}. Run this program?"
            choices = {"&Run it": partial(self._start, self._path)}
            self.question = ask(self._window, text, choices, note=str(self._study.controller))
        else:
            self._start(self._path)
        self._refresh()

    def _start(self, path: str) -> None:
        try:
            self._process.start(path)
        except OSError as error:
            self._window.statusBar().showMessage(f"the study cannot be run: {reason(error)}", MESSAGE)
        self._timer.start()
        self._refresh()

    def _poll(self) -> None:
        if (ended := self._process.poll()) is not None:
            self._window.statusBar().showMessage(ended, MESSAGE)
            self._refresh()
        if not self._process.path:
            self._timer.stop()

    def _close(self) -> None:
        self._timer.stop()
        self._process.close()
