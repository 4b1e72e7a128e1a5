"""The tool bar of the plots panel, and the place of its plots."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from PyQt6.QtCore import Qt
from PyQt6.QtGui import QResizeEvent
from PyQt6.QtWidgets import QComboBox, QMenu, QScrollArea, QSizePolicy, QSplitter, QToolBar, QToolButton, QWidget

from app.plotting.quantities import LOGGED

WINDOWS = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, math.inf)  # s
WINDOW = 10.0
EACH = 8  # largest number of curves that one entry of the group menu adds
GROUPS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("Joint &positions", "joint", ("position",)),
    ("Joint &velocities", "joint", ("velocity",)),
    ("Joint &accelerations", "joint", ("acceleration",)),
    ("&Torques and forces", "joint", ("torque", "force")),
    ("Po&wer", "joint", ("power",)),
    ("Tracking e&rrors", "joint", ("error",)),
    ("&Energies", "robot", ("kinetic energy", "potential energy", "total energy")),
    ("Energy &drift", "robot", ("energy drift",)),
    ("&Momentum", "robot", ("momentum", "angular momentum")),
    ("&Contact force", "robot", ("contact force",)),
    ("C&ontroller", LOGGED, ("",)),
)


def nothing_of(subject: str, kinds: Sequence[str]) -> str:
    """Return the message where there are no quantities of a group."""
    if subject == LOGGED:
        return "no numbers are logged yet: a controller returns them beside τ, a script calls Simulation.log"
    return f"this robot has no {' or '.join(kinds)} to plot"


class PlotStack(QSplitter):
    """Plots below one another in `area`, which scrolls to one that is added."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Vertical)
        self.setChildrenCollapsible(False)
        self.area, self._count, self._at_last = QScrollArea(), 0, False
        self._newest: QWidget | None = None
        self.area.setWidget(self)
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QScrollArea.Shape.NoFrame)
        self.area.verticalScrollBar().actionTriggered.connect(self._leave_last)

    def put(self, plot: QWidget, at: int) -> None:
        """Insert a plot at an index, and scroll to it."""
        self._newest = plot
        self.insertWidget(at, plot)

    def _leave_last(self, _: int) -> None:
        """Stay where the user scrolls to."""
        self._at_last = False

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        before, self._count = self._count, self.count()
        self._at_last = self._count > before or (self._at_last and self._count == before)
        if self._at_last and self._newest is not None:  # also once its names have taken their lines
            self.area.ensureWidgetVisible(self._newest)


class PlotTools(QToolBar):
    """Buttons and the choice of a time range; the panel connects them."""

    def __init__(
        self, plot_group: Callable[[str, tuple[str, ...]], None], plot_phases: Callable[[], None], save_menu: QMenu
    ) -> None:
        super().__init__()
        self.group_menu = QMenu(self)
        for text, subject, kinds in GROUPS:
            action = self.group_menu.addAction(text)
            action.triggered.connect(lambda _, subject=subject, kinds=kinds: plot_group(subject, kinds))
        self.group_menu.addAction("&Phase plot: velocity over position").triggered.connect(lambda _: plot_phases())
        self.group_menu.addSeparator()
        self.limits = self.group_menu.addAction("Joint &limits")
        self.statistics = self.group_menu.addAction("Statistics: mi&nimum, maximum, mean, RMS")
        self.statistics.setToolTip("Of each curve over the time that is shown")
        for action in (self.limits, self.statistics):
            action.setCheckable(True)
        self.groups, self.add_plot, self.follow, self.fit, self.clear_all, self.save = (QToolButton() for _ in range(6))
        for button, text, tip in (
            (self.groups, "Groups", f"Plot a group of quantities, up to {EACH} curves"),
            (self.add_plot, "New plot", "Put the next quantity into a new plot"),
            (self.follow, "Follow", "Follow the newest samples (0 in a plot)"),
            (self.fit, "Fit", "Fit all values and the whole run"),
            (self.clear_all, "Clear", "Remove all plots"),
            (self.save, "Save", "Save numbers or a picture"),
        ):
            button.setText(text)
            button.setToolTip(tip)
        self.follow.setCheckable(True)
        self.follow.setChecked(True)
        for button, entries in ((self.groups, self.group_menu), (self.save, save_menu)):
            button.setMenu(entries)
            button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.span = QComboBox()
        for seconds in WINDOWS:
            self.span.addItem("whole run" if math.isinf(seconds) else f"{seconds:g} s", seconds)
        self.span.setCurrentIndex(WINDOWS.index(WINDOW))
        self.span.setMinimumContentsLength(5)
        self.span.setToolTip("Time range that is shown, simulated seconds")
        self.span.setAccessibleName("time range")
        space = QWidget()
        space.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        for widget in (self.groups, self.add_plot, self.span, self.follow, self.fit, space, self.save, self.clear_all):
            self.addWidget(widget)
