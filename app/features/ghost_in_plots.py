"""Curves of the ghost in the plots: over a recorded run where it is a recorded run itself, else why there are none."""

from __future__ import annotations

from collections.abc import Callable

from PyQt6.QtCore import QTimer

import engine
from app.features.ghost_view import GhostView
from app.features.window_type import Window
from app.jobs.background import Background
from app.panels.plots import PlotsPanel
from app.plotting.ghost_curves import GhostCurves, GhostRun, evaluate, nothing
from app.plotting.quantities import GHOST, Quantity
from app.plotting.series import Series

POLL_INTERVAL = 100  # ms between two checks for computed curves
NO_GHOST = "no ghost is shown: Shift+G shows one"
NOT_RECORDED = "a simulated ghost is not recorded, as one of Time › Compare with run is"
APART = "the ghost's run has no time in common with this one"


class GhostInPlots:
    """Computes the ghost's curves in a thread."""

    def __init__(self, window: Window, panel: PlotsPanel, changed: Callable[[], None]):
        self._ghosts, self._bench, self._panel, self._changed = (
            window.feature(GhostView), window.workbench, panel, changed,
        )  # fmt: skip
        self._curves, self._series = nothing(""), dict[str, Series]()  # by kind
        self._wanted: GhostRun | None = None
        self._work: Background[GhostCurves] = Background("ghost curves", nothing)
        self._timer = QTimer(window, interval=POLL_INTERVAL, timeout=self._poll)
        self._ghosts.recorded_changed.connect(self._forget)
        window.closing.connect(self._end)

    def _end(self) -> None:
        self._timer.stop()
        self._work.close()

    def _forget(self) -> None:
        self._wanted, self._curves = None, nothing("")
        self._work.stop()
        self._changed()

    def curves(self, run: engine.Run) -> dict[Quantity, Series]:
        """Return the plotted curves of a recorded ghost over a run's time, as far as they are computed."""
        ghost, plotted = self._ghosts.recorded, [each for each in self._panel.quantities if each.subject == GHOST]
        if ghost is None or not plotted:
            return {}
        wanted = self._wanted
        if wanted is None or (wanted.run, wanted.last, wanted.ghost) != (run, run.last, ghost):
            self._wanted = GhostRun(run, run.last, ghost)
            self._work.stop()
            self._begin()
        found = self._curves
        if found.wanted is None or (found.wanted.run, found.wanted.ghost) != (run, ghost):
            return {}
        return {each: self._series[each.kind] for each in plotted}

    def explain(self, recorded: bool) -> None:
        """Say in the heads of plots of the ghost why their curves are empty, in a `recorded` run or live."""
        for chart in self._panel.charts:
            of_ghost = [each for each in chart.quantities if each.subject == GHOST]
            empty = bool(of_ghost) and not any(len(self._panel.series[each]) for each in of_ghost)
            chart.reason = self._reason(recorded) if empty else ""

    def _reason(self, recorded: bool) -> str:
        if self._ghosts.recorded is None:
            return NOT_RECORDED if recorded else NO_GHOST if self._ghosts.state is None else ""
        done = self._curves.wanted is not None and self._curves.wanted is self._wanted
        return self._curves.problem or (APART if recorded and done else "")

    def _begin(self) -> None:
        if (wanted := self._wanted) is not None:
            self._work.run(lambda stop: evaluate(self._bench.replay.recording, wanted, stop))
            self._timer.start()

    def _poll(self) -> None:
        if (found := self._work.poll()) is not None:
            if found.problem or found.wanted is self._wanted:
                self._curves, values = found, {"ghost deviation": found.deviation, "ghost energy": found.energy}
                self._series = {kind: Series().filled(found.time, each) for kind, each in values.items()}
                self._changed()
            else:
                self._begin()
        if not self._work.running:
            self._timer.stop()
