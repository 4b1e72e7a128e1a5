"""Curves of a second run in the plots: the recorded ghost's, dash-dotted beside those of the run that is shown."""

from __future__ import annotations

from PyQt6.QtCore import QTimer

from app.features.ghost_view import GhostView
from app.features.window_type import Window
from app.panels.plots import PlotsPanel
from app.plotting.recorded_curves import RecordedCurves, Wanted
from app.plotting.second_quantities import is_sampled
from app.plotting.series import Series

POLL_INTERVAL = 100  # ms between two checks for computed curves


class ComparedCurves:
    """Computes the plotted quantities of the recorded ghost's run, in a thread, while the plots are visible."""

    def __init__(self, window: Window, panel: PlotsPanel):
        self._ghosts, self._bench, self._panel = window.feature(GhostView), window.workbench, panel
        self._work: RecordedCurves | None = None
        self._timer = QTimer(window, timeout=self._poll)
        self._ghosts.recorded_changed.connect(self._begin)
        panel.wanted.connect(self._request)
        panel.shown.connect(self._request)
        window.closing.connect(self._end)

    def _end(self) -> None:
        self._timer.stop()
        if self._work is not None:
            self._work.close()
            self._work = None

    def _begin(self) -> None:
        self._end()
        self._panel.show_compared({}, "")
        if (ghost := self._ghosts.recorded) is not None:
            self._work = RecordedCurves(ghost.recording)
            self._request()

    def _request(self) -> None:
        ghost = self._ghosts.recorded
        quantities = tuple(filter(is_sampled, self._panel.quantities))
        if ghost is not None and self._work is not None and quantities and self._panel.isVisible():
            run = ghost.run
            self._work.want(Wanted(run, run.first, run.last, 0, quantities, self._bench.robot.coordinates))
            self._timer.start(POLL_INTERVAL)

    def _poll(self) -> None:
        ghost, work = self._ghosts.recorded, self._work
        if ghost is None or work is None:
            return
        if (curves := work.poll()) is not None:
            if curves.problem:
                self._panel.message.emit(f"{ghost.name} could not be plotted: {curves.problem}")
            columns = zip(curves.wanted.quantities, curves.values.T, strict=True)
            filled = {quantity: Series().filled(curves.time, value) for quantity, value in columns}
            self._panel.show_compared(filled, ghost.name)
        if not work.running:
            self._timer.stop()
