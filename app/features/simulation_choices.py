"""Exclusive choices for the simulation, as actions: integrator, time step, algorithm and device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from PyQt6.QtGui import QAction, QActionGroup
from PyQt6.QtWidgets import QInputDialog, QMenu

import engine
from app.acting.computation import ALGORITHMS
from app.desktop.actions import ALGORITHM_TIPS, NO_ROBOT, acts_on_robot, algorithm_name, check, device_name, offer
from app.desktop.numbers import seconds_of
from app.features.window_type import Window
from app.workbench import DEVICES

OTHER = "&Other…"
STEP_REACH = (1e-6, 0.1)  # s
TIME_STEPS = (5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2e-3, 5e-3)  # s


INTEGRATOR_TIPS = {
    "semi-implicit": "Semi-implicit (symplectic) Euler: the new velocity moves the coordinates",
    "rk4": "Classical Runge-Kutta method, of fourth order while neither friction nor a limit acts",
    "implicit": "Semi-implicit Euler with joint damping and gains at the end of the step: stable for any of them",
}


class SimulationChoices:
    """Exclusive choices of integrator, time step, algorithm and device, in menus."""

    def __init__(self, window: Window):
        self._window, self._bench = window, (bench := window.workbench)
        self.integrators, self.time_steps, self.algorithms, self.devices = (QActionGroup(window) for _ in range(4))
        self.chosen = QAction("Automatic", window, checkable=True, triggered=self._choose)
        for name in ("auto", *ALGORITHMS):
            self._add(self.algorithms, name, partial(bench.configuring.set_algorithm, name))
        for name in DEVICES:
            self._add(self.devices, name, partial(bench.configuring.set_device, name))
        for name in engine.INTEGRATORS:
            self._add(self.integrators, name, partial(bench.configuring.set_integrator, name))
        for dt in TIME_STEPS:
            self._add(self.time_steps, f"{dt * 1e3:g} ms", partial(bench.configuring.set_dt, dt))
        self.other = QAction(OTHER, self.time_steps, checkable=True, toolTip="Type a time step with its unit")
        self.other.triggered.connect(self._ask_step)
        self._fill_menus(window.menus.simulation)
        window.refreshed.connect(self._refresh)

    def _add(self, group: QActionGroup, text: str, choose: Callable[[], None]) -> None:
        action = QAction(text, group, checkable=True)
        action.setData(text)
        action.triggered.connect(lambda: choose())  # without Qt's argument
        action.triggered.connect(self.show)

    def _choose(self) -> None:
        self._bench.configuring.choose_step()
        self.show()

    def _ask_step(self) -> None:
        """Ask for a time step until one can be taken, or the user cancels."""
        text, note = f"{self._bench.robot.settings.dt * 1e3:g} ms", ""
        while True:
            label = f"{note}Time step with its unit, as in 0.4 ms:"
            text, accepted = QInputDialog.getText(self._window, "Time step", label, text=text)
            if not accepted:
                break
            try:
                self._bench.configuring.set_dt(seconds_of(text, *STEP_REACH))
                break
            except ValueError as error:
                note = f"{error}.\n\n"
        self.show()

    def _fill_menus(self, menu: QMenu) -> None:
        self.algorithm_menu, self.device_menu = menu.addMenu("&Algorithm"), menu.addMenu("&Device")
        for each, group in ((self.algorithm_menu, self.algorithms), (self.device_menu, self.devices)):
            each.addActions(group.actions())
            each.setToolTipsVisible(True)
        self.step_menu = menu.addMenu("&Time step and integrator")
        self.step_menu.setToolTipsVisible(True)
        self.step_menu.addAction(self.chosen)
        acts_on_robot(self.algorithm_menu, self.device_menu, self.step_menu)
        for group in (self.time_steps, self.integrators):
            self.step_menu.addSeparator()
            self.step_menu.addActions(group.actions())

    def _refresh(self) -> None:
        self.show()
        for menu in (self.algorithm_menu, self.device_menu):
            offer(menu, (self._bench.robot.model is not None, NO_ROBOT))

    def show(self, *_: object) -> None:
        """Check the current choices, and enable those that the robot supports."""
        settings = self._bench.robot.settings
        check(self.chosen, settings.automatic)
        for action, dt in zip(self.time_steps.actions(), (*TIME_STEPS, None), strict=True):
            check(action, dt == settings.dt)
        is_other = settings.dt not in TIME_STEPS
        check(self.other, is_other)
        self.other.setText(f"Other: {settings.dt * 1e3:g} ms…" if is_other else OTHER)
        for action in self.integrators.actions():
            check(action, action.text() == settings.integrator)
            action.setToolTip(INTEGRATOR_TIPS[action.text()])
        computation = self._bench.computation
        _show(self.algorithms, settings.algorithm, computation.algorithm_refusals, algorithm_name, ALGORITHM_TIPS)
        _show(self.devices, settings.device, computation.device_refusals, device_name)


def _show(
    group: QActionGroup,
    chosen: str,
    refusals: Mapping[str, str],
    label: Callable[[str], str],
    tips: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Check the current entry; disabled ones show the reason briefly beside their names and fully in the tooltip."""
    for action in group.actions():
        name = action.data()
        why = refusals.get(name, "")
        check(action, name == chosen)
        offer(action, (not why, why))
        action.setText(f"{label(name)}\t{why.split(';')[0]}" if why else label(name))
        action.setToolTip(why or tips.get(name, label(name)))
