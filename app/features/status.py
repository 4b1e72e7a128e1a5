"""The status bar: the window's activity and the simulation's settings, as buttons that change them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QLabel, QMenu, QToolButton, QWidget

import engine
from app.desktop import theme
from app.desktop.actions import ALGORITHM_TIPS, algorithm_name, algorithm_words, device_name
from app.desktop.layouts import NO_MARGINS, horizontal
from app.features.diagnostics_view import DiagnosticsView
from app.features.simulation_choices import SimulationChoices
from app.features.window_type import Window
from app.workbench import Workbench

GRAVITY_NOTE = "gravity is off: floating base and no ground"
FALL_NOTE = "no ground: the floating base falls"
BODIES_NOTE = "no ground: free bodies fall; Simulation › Ground puts them on it"
BODIES_TIP = (
    "The first free body switches the ground on, unless the robot reaches below it in its starting pose,\n"
    "as one that hangs from its base does; where it is switched on, those links are in contact with it"
)
LOW_NOTE = "the fixed robot reaches below the ground"
LOW_TIP = (
    "Moving links are below the ground in its starting pose, and its contacts press them out, with large forces.\n"
    "Simulation › Ground switches it off; Simulation › Floating base frees the robot, which is then put on the ground"
)
SOFT = 2.0  # times, the minimum factor at which softer gains are reported
SOFT_TIP = (
    "{integrator} bounds automatic gains by the time step, so that held joints sag, {joint} most.\n"
    "Select the implicit integrator, or a step shorter than {dt:g} ms, or set gains of your own"
)
NAMED = 3  # joints that a temporary message names
PLAYS_ON = "The previous settings run until the code is compiled"
READING = "Loading meshes: {} of {}"
STEP_TIP = "Time step and integrator: click to change them"
CHOSEN_TIP = "Time step and integrator, automatic for this robot: {}\nClick to change them"


class Status:
    """The labels and buttons of a window's status bar."""

    def __init__(self, window: Window):
        self._window, self._bench = window, window.workbench
        self.loading_label, self.note_label, self.name_label, self.size_label = (
            QLabel(textFormat=Qt.TextFormat.PlainText) for _ in range(4)
        )
        theme.tint(self.note_label, "warning")
        self.findings_button = QToolButton(toolButtonStyle=Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.findings_button.setToolTip("Show or hide the diagnostics")
        choices = window.feature(SimulationChoices)
        menus = choices.step_menu, choices.algorithm_menu, choices.device_menu
        self.step_button, self.algorithm_button, self.device_button = map(_menu_button, menus)
        robot = _side_by_side(self.name_label, self.size_label)
        shown: tuple[QWidget, ...] = (
            self.loading_label,  # beside messages, which would hide it
            self.note_label,
            self.findings_button,
            robot,
            self.step_button,
            self.algorithm_button,
            self.device_button,
        )
        for each in shown:
            window.bar.addPermanentWidget(each)
        standing = self.note_label, self.loading_label
        window.bar.hide_when_narrow(robot, standing=standing)  # `robot` is shown in the title bar too
        self.findings_button.clicked.connect(window.feature(DiagnosticsView).action.trigger)
        window.viewport.read_on.connect(self._show_busy)
        window.waiting.connect(self._show_busy)
        window.refreshed.connect(self._refresh)

    def _refresh(self) -> None:
        self._show()
        self._show_busy()
        self._show_findings([each.severity for each in self._window.feature(DiagnosticsView).panel.diagnostics])

    def _show_busy(self) -> None:
        bench, reading = self._bench, self._window.viewport.reading
        text = _busy(bench) or (READING.format(*reading) if reading else "")
        self.loading_label.setText(text)
        self.loading_label.setToolTip(PLAYS_ON if bench.computation.compiling and bench.computation.plays_on else "")

    def _show(self) -> None:
        bench = self._bench
        model, settings = bench.robot.model, bench.robot.settings
        base = bench.robot.base_floats
        note = (FALL_NOTE if base else BODIES_NOTE) if settings.gravity else GRAVITY_NOTE if base else ""
        count = len(bench.robot.overloaded)
        heavy = f"{count} joint{'s sag' if count > 1 else ' sags'}: effort limit below gravity load" if count else ""
        joint, times = bench.joints.softest
        soft = f"Hold is {times:.{times < 10:d}f} × softer with {settings.integrator}" if times >= SOFT else ""
        low = LOW_NOTE if bench.reaches_below and settings.ground else ""
        note = note if bench.robot.floats and not settings.ground else low
        self.note_label.setText(note or heavy or soft)
        tip = SOFT_TIP.format(integrator=settings.integrator, dt=settings.dt * 1e3, joint=joint) if soft else ""
        tip = too_heavy(bench.robot.overloaded, every=True) if heavy else tip
        self.note_label.setToolTip({BODIES_NOTE: BODIES_TIP, LOW_NOTE: LOW_TIP}.get(note, "" if note else tip))
        self.name_label.setText(model.name if model else "no robot")
        self.size_label.setText(f"nq {model.nq}  nv {model.nv}" if model else "")
        for button in (self.step_button, self.algorithm_button, self.device_button):
            button.setVisible(model is not None)
        self.step_button.setText(f"{settings.dt * 1e3:g} ms  {settings.integrator}")
        self.step_button.setToolTip(STEP_TIP)
        if settings.automatic and model is not None:
            self.step_button.setToolTip(CHOSEN_TIP.format(_why(model, settings.held)))
            self.step_button.setText(f"{self.step_button.text()} (auto)")
        algorithm, why = bench.computation.algorithm, algorithm_words(bench.computation.why)
        self.algorithm_button.setText(_chosen(algorithm_name(algorithm), settings.algorithm))
        self.algorithm_button.setToolTip(f"{ALGORITHM_TIPS.get(algorithm, algorithm)}\n{why}")
        self.device_button.setText(_chosen(device_name(bench.computation.device), settings.device))
        self.device_button.setToolTip(f"Device of the simulation: click to change it\n{why}")

    def _show_findings(self, severities: Sequence[str]) -> None:
        """Show the number of diagnostics on their button, which is hidden if there are none."""
        self.findings_button.setVisible(bool(severities))
        self.findings_button.setText(str(len(severities)))
        self.findings_button.setIcon(theme.icon("error" if "error" in severities else "warning"))


@lru_cache(maxsize=4)
def _why(model: engine.Model, held: bool) -> str:
    """Return why a robot has its automatic time step, and what it costs."""
    step = engine.suggested_step(model, held)
    kept = held or step.integrator == "rk4"
    return step.why if kept else f"{step.why}\nIt changes the energy of a free motion a little, which rk4 keeps"


def too_heavy(names: Sequence[str], every: bool = False) -> str:
    """Return a sentence on the held joints that sag, naming the first ones, or all with `every`."""
    shown = names if every or len(names) <= NAMED + 1 else names[:NAMED]
    *others, last = [*shown, f"{len(names) - NAMED} more joints"] if len(shown) < len(names) else shown
    listed = f"{', '.join(others)} and {last}" if others else last
    return f"{listed} will sag: the effort limit is below the gravity load"


def _chosen(name: str, requested: str) -> str:
    """Return the name in use, marked if it was selected automatically."""
    return f"{name} (auto)" if requested == "auto" else name


def _busy(bench: Workbench) -> str:
    if bench.opening.loading and bench.opening.doing:
        return f"{bench.opening.doing} …"
    if bench.opening.loading:
        return f"Loading {Path(bench.opening.loading).name} …{_hull(tuple(map(Path, bench.opening.reading)))}"
    if bench.computation.compiling:
        return f"compiling (once per machine), about {max(1, round(bench.computation.compiling))} s"
    return "preparing the GPU …" if bench.computation.preparing else ""


def _hull(meshes: Sequence[Path]) -> str:
    """Return which of these collision meshes is being read; empty if none."""
    if (file := engine.mesh_being_read()) not in meshes:
        return ""
    return f" convex hull of {file.name}, {meshes.index(file) + 1} of {len(meshes)}"


def _side_by_side(*widgets: QWidget) -> QWidget:
    both = QWidget()
    horizontal(*widgets, of=both, margins=NO_MARGINS)
    return both


def _menu_button(menu: QMenu) -> QToolButton:
    button = QToolButton(popupMode=QToolButton.ToolButtonPopupMode.InstantPopup)
    button.setMenu(menu)
    button.setAutoRaise(True)
    return button
