"""The timing panel: how the time of a step and of a frame divides, live; and why the algorithm was chosen.

After a switch of algorithm, the table shows the previous one's times beside the new ones, as long as all other
conditions stay: the robot, the speed, the time step. A line in the plot marks the switch.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from PyQt6.QtCore import QSize, Qt, QTimer
from PyQt6.QtGui import QResizeEvent
from PyQt6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

import engine
from app.desktop import theme
from app.desktop.actions import algorithm_name, algorithm_words, device_name
from app.desktop.layouts import NO_MARGINS, vertical
from app.panels.history import History
from app.panels.measure_prompt import MeasurePrompt
from app.panels.stacked_plot import LOWEST, StackedPlot
from app.panels.timing_table import FRAME_COLORS, TimingRows, TimingTable
from app.simulation.messages import SPENT, Settings

REFRESH = 500  # ms between two updates of the panel
DRAWING = ("upload", "draw")
WITHIN = "In contact, {} is part of every iteration of the contact solver: its phases cannot be timed apart."
TIMED_BELOW = "; those were steps of models without contact or drives, this run's own are timed below"
"""Added to a reason that gives the duration of a step."""


class TimingPanel(QWidget):
    """The reason for the algorithm, then the steps and the frames, each with a table and a rolling stacked plot."""

    def __init__(self) -> None:
        super().__init__()
        first = engine.PHASES["cpu"]["abia"]
        self.steps = History(tuple(engine.PHASE_MEANINGS), first)
        self.frames = History(tuple(FRAME_COLORS), (*SPENT["cpu"], *DRAWING))
        self.table, self.frame_table = TimingTable("step", self.steps), TimingTable("frame", self.frames)
        self.view, self.frame_view = (TimingRows(self.table, headed=True), TimingRows(self.frame_table, headed=False))
        self._spent: Mapping[str, float] = {}  # for the current state
        self.why, self.note, self.prompt = QLabel(textFormat=Qt.TextFormat.PlainText), QLabel(), MeasurePrompt()
        self.measure_asked, self.measured = self.prompt.requested, self.prompt.over
        self._plots = StackedPlot(self.steps, "step"), StackedPlot(self.frames, "frame")
        # Tables show all their rows before the plots grow beyond their minimum.
        steps = (self.view, 100), self.note, (self._plots[0], 1)
        frames = (self.frame_view, 100), (self._plots[1], 1)
        layout = vertical(self._heading(), *steps, *frames, 0, of=self, margins=NO_MARGINS, spacing=0)
        layout.setSizeConstraint(QVBoxLayout.SizeConstraint.SetNoConstraint)  # see minimumSizeHint
        self._drawn = (-1, -1)
        self._conditions: tuple[object, ...] = ()
        self._speed = 1.0
        self.taken_by = ("", "")
        """The algorithm and the device that compute the displayed steps."""
        self._fit_rows()
        self._timer = QTimer(self, timeout=self._refresh)
        self._timer.start(REFRESH)

    def _heading(self) -> QVBoxLayout:
        for label in (self.why, self.note):
            label.setWordWrap(True)
            theme.tint(label, "faint")
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.note.setProperty("ground", True)
        self.note.setContentsMargins(8, 2, 8, 4)
        return vertical(self.why, self.prompt, margins=(8, 6, 8, 5), spacing=2)

    def _fit_rows(self) -> None:
        """Fit the tables to their rows as far as there is space."""
        self.view.fit_rows()
        self.frame_view.fit_rows()
        self.note.setText(WITHIN.format(algorithm_name(self.taken_by[0])))
        self.note.setVisible(self.table.within_contact)
        self._fit_plots()

    def add_step(self, phases: Mapping[str, float], speed: float) -> None:
        """Add one step's phases, s by name, and the requested simulation speed."""
        if speed != self._speed:
            self._speed = speed
            self.clear()
        self.steps.add(phases)
        shown = self.steps.shown if self.steps.count > self.steps.marked + 1 else ()
        # A phase that takes no time, such as the constraints of a robot without any, has no row.
        self._show(self.steps, tuple(name for name, seconds in phases.items() if seconds > 0 or name in shown))

    def add_spent(self, spent: Mapping[str, float]) -> None:
        """Set the times, s, by the names of `SPENT`, of the work for the frames drawn from now on."""
        self._spent = spent
        self._show(self.frames, (*spent, *DRAWING))

    def add_frame(self, upload: float, draw: float) -> None:
        """Add one frame's times, s: sending the poses to the graphics card, and drawing."""
        self.frames.add({**self._spent, "upload": upload, "draw": draw})

    def _show(self, history: History, names: tuple[str, ...]) -> None:
        """Show these rows of a history in its table."""
        if history.show(names):
            (self.table if history is self.steps else self.frame_table).show_others()
            self._fit_rows()

    def clear(self) -> None:
        """Discard the steps: they were another robot's, or under other conditions."""
        self.steps.clear()
        self.frames.before[:] = np.nan
        self.table.algorithm_before = ""
        self._show_algorithms()

    def clear_all(self) -> None:
        """Discard steps and frames, for another robot."""
        self.clear()
        self.frames.clear()

    @property
    def measuring(self) -> bool:
        """Whether the algorithms are being measured."""
        return self.prompt.measuring.running

    def start_measuring(self) -> None:
        """Start to measure the algorithms."""
        self.prompt.start()

    def refuse_to_measure(self, why: str) -> None:
        """Show why nothing can be measured now."""
        self.prompt.show_error(why)

    def close_thread(self) -> None:
        """Stop the measuring thread and wait until it has ended."""
        self.prompt.close_thread()

    def minimumSizeHint(self) -> QSize:
        """Return a size without the plots, which are hidden where the tables leave too little space."""
        tables = self.view.minimumHeight() + self.frame_view.minimumHeight()
        return QSize(super().minimumSizeHint().width(), self.view.y() + tables)

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._fit_plots()

    def _fit_plots(self) -> None:
        """Hide plots that would take space from the tables, or whose axes would be unreadable."""
        self.layout().activate()
        note = self.note.heightForWidth(self.width()) if self.table.within_contact else 0
        room = self.height() - self.view.y() - self.view.maximumHeight() - self.frame_view.maximumHeight() - note
        for count, plot in enumerate(self._plots, start=1):
            plot.setVisible(room >= count * LOWEST)
        self.layout().activate()

    def _show_algorithms(self) -> None:
        self.table.headerDataChanged.emit(Qt.Orientation.Horizontal, 1, self.table.columnCount() - 1)

    def show_algorithm(self, name: str, device: str, settings: Settings, why: str, unmeasured: bool) -> None:
        """Show the algorithm and device in use and the reason in one sentence; clear the steps if settings changed.

        If nothing was measured yet, the prompt to measure replaces the reason.
        """
        conditions = settings.dt, settings.integrator, settings.gravity, settings.gravity_vector
        if conditions != self._conditions:
            self._conditions = conditions
            self.clear()
        if (name, device) != self.taken_by:
            if device != self.taken_by[1] and self.frames.count > self.frames.marked:
                self.frames.mark()
            self.taken_by = (name, device)
            if self.steps.count > self.steps.marked:
                self.steps.mark()
                self.table.algorithm_before = self.table.algorithm
            self.table.algorithm = algorithm_name(name) + (f" {device_name(device)}" if device == "cuda" else "")
            self._show_algorithms()
        figures = TIMED_BELOW if " a step " in why else ""
        self.why.setText(algorithm_words(_in_short(why.removeprefix(f"{name}: "))) + figures)
        self.why.setToolTip(algorithm_words(why) + figures)
        prompted = unmeasured or self.measuring
        self.why.setVisible(not prompted)
        self.prompt.setVisible(prompted)
        self._fit_rows()

    def _refresh(self) -> None:
        changes = (self.steps.changes, self.frames.changes)
        if changes == self._drawn or self.visibleRegion().isEmpty():  # such as behind another tab
            return
        before, self._drawn = self._drawn, changes
        self.table.refresh()
        self.frame_table.refresh()
        for plot, now, last in zip(self._plots, changes, before, strict=True):
            if now != last:
                plot.refresh()


def _in_short(why: str) -> str:
    """Shorten a reason to the grounds for the algorithm and for the device."""
    first, *others = why.split("; ")
    return "; ".join([first, *(part for part in others if part.startswith("on "))])
