"""Plots › Save › Numbers of each step: the plotted quantities at every step of the run, which is simulated again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

import engine
from app.desktop.actions import NO_RUN
from app.desktop.dialogs import ask_path
from app.features.picture_exports import BUSY
from app.features.run_exports import RunExports
from app.features.window_type import Window
from app.panels.plots import PlotsPanel
from app.plotting.plot_files import table
from app.plotting.recorded_curves import AT_ONCE, Wanted, evaluate
from app.plotting.series import CAPACITY, Series
from app.recording.run_files import identify

NOTHING = "no quantity is plotted; tick one in the list of Plots"


class _Stopped(Exception):
    """Raised when the user cancels."""


class PlotTable:
    """Writes the table in the thread of the exports."""

    def __init__(self, window: Window, panel: PlotsPanel):
        self._window, self._bench, self._panel = window, window.workbench, panel
        self._exports = window.feature(RunExports)
        panel.saving.each_step.triggered.connect(self._ask)

    def _ask(self) -> None:
        run = self._bench.replay.chosen
        conditions = (not self._exports.writing.running, BUSY), (run is not None and len(run) > 1, NO_RUN)
        for met, reason in (*conditions, (bool(self._panel.quantities), NOTHING)):
            if not met:
                self._panel.message.emit(f"nothing was written: {reason}")
                return
        title = f"Save the numbers of {identify(run, self._bench.replay.runs)}"
        if path := ask_path(self._window, title, "plots.csv", "Comma-separated values (*.csv)", "csv"):
            self._exports.begin(self._writer(path, run), f"writing {Path(path).name} …", stoppable=True)

    def _writer(self, path: str, run: engine.Run) -> Callable[[threading.Event], str]:
        """Return a function that writes the table in a thread, and returns a message on the result."""
        recording, name, quantities = self._bench.replay.recording, Path(path).name, self._panel.quantities
        rows, robot, (_, end) = self._bench.robot.coordinates, self._bench.replay.robot, recording.span(run)
        which = identify(run, self._bench.replay.runs)

        def work(stop: threading.Event) -> str:
            def report_time(time: float) -> None:
                if stop.is_set():
                    raise _Stopped
                self._exports.report_progress(f"{name}: {time:.1f} of {end:.1f} s")

            try:
                steps, source, _ = engine.resample(recording, run, look_up=report_time)
                wanted = Wanted(source, source.first, source.last, robot, quantities, rows)
                lines = {each: Series(max(len(source), CAPACITY)) for each in quantities}
                for first in range(source.first, source.last + 1, AT_ONCE):
                    time, values = evaluate(steps, wanted, range(first, min(first + AT_ONCE, source.last + 1)))
                    report_time(float(time[-1]))
                    for line, value in zip(lines.values(), values.T, strict=True):
                        line.extend(time, np.ascontiguousarray(value))
            except _Stopped:
                return f"stopped: {name} was not written"
            with engine.replacing(path) as file:
                file.write(table(lines).encode())
            return f"{len(source)} steps written to {name}: {which}"

        return work
