"""The timing panel in the window: times of steps and frames, and measuring for the automatic choice."""

from __future__ import annotations

import engine
from app.desktop.docks import NARROW_WIDTH, RIGHT, Dock
from app.features.compare_view import CompareView
from app.features.window_type import Window
from app.panels.timing import TimingPanel
from app.simulation.messages import Configured, Event, Snapshot


class TimingView:
    """Fills the panel, and pauses the simulation while the algorithms are measured."""

    def __init__(self, window: Window):
        self._window, self._bench, self.panel = window, window.workbench, TimingPanel()
        self._play_after: engine.Model | None = None  # the robot that plays on after the measurement
        window.docks.add(Dock("Timing", self.panel, RIGHT, beside="Joints", least=NARROW_WIDTH))
        self.panel.measure_asked.connect(self._measure)
        self.panel.measured.connect(self._measured)
        window.viewport.drawn.connect(self._drawn)
        window.loaded.connect(lambda _: self.panel.clear_all())
        window.framed.connect(self._show)
        window.happened.connect(self._on_event)
        window.refreshed.connect(self._refresh)
        window.closing.connect(self.panel.close_thread)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Configured) and (event.algorithm, event.device) == self.panel.taken_by:
            self.panel.clear()

    def _show(self, frame: Snapshot) -> None:
        if frame.phases and not frame.recorded:  # replayed frames were counted when simulated
            self.panel.add_step(frame.phases, self._bench.speed)
        self.panel.add_spent(frame.spent)

    def _drawn(self, seconds: float) -> None:
        upload = self._window.viewport.upload_seconds
        self.panel.add_frame(upload, seconds - upload)

    def _refresh(self) -> None:
        by, settings = self._bench.computation, self._bench.robot.settings
        self.panel.show_algorithm(by.algorithm, by.device, settings, by.why, by.unmeasured)

    def _measure(self) -> None:
        """Measure for the automatic choice; pause the simulation meanwhile."""
        if self._window.feature(CompareView).panel.running:
            self.panel.refuse_to_measure("a comparison is running; stop it or wait until it ends")
            return
        self._play_after = self._bench.robot.model if self._bench.robot.playing else None
        self._bench.pause()
        self.panel.start_measuring()
        self._window.refresh()

    def _measured(self) -> None:
        self._bench.configuring.choose_algorithm_again()
        if self._play_after is self._bench.robot.model and not self._bench.opening.loading:
            self._bench.play()
