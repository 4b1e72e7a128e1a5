"""Gravity as a vector: the entries of Simulation › Gravity on, and the form in the Scene dock."""

from __future__ import annotations

from functools import partial

from PyQt6.QtGui import QActionGroup
from PyQt6.QtWidgets import QMenu

from app.desktop.actions import NO_ROBOT, acts_on_robot, check, make_action, offer
from app.features.window_type import Window
from app.panels.gravity import STANDARD, Vector
from app.panels.scene import ScenePanel


class GravityView:
    """Passes the gravity that the user selects or types to the workbench."""

    def __init__(self, window: Window):
        self._window, self._bench = window, window.workbench
        self.form = window.docks["Scene"].findChild(ScenePanel).gravity
        self.form.changed.connect(self.set)
        self.menu, group = QMenu("Gravity &vector", window), QActionGroup(window)
        self.menu.setToolTipsVisible(True)
        self.entries = {}
        for name, vector in STANDARD.items():
            tip = f"{', '.join(f'{x:g}' for x in vector)} m/s²"
            action = self.entries[name] = make_action(
                window, f"Gravity: {name}", partial(self._choose, vector), tip=tip
            )
            action.setCheckable(True)
            group.addAction(action)
            self.menu.addAction(action)
        group.setExclusionPolicy(QActionGroup.ExclusionPolicy.ExclusiveOptional)
        self.menu.addSeparator()
        tip = "Gravity along x, y and z: in the Scene panel"
        self.menu.addAction(make_action(window, "Gravity &numbers…", self._show_form, tip=tip))
        acts_on_robot(self.menu, *self.entries.values())
        window.menus.simulation.put(self.menu)
        window.refreshed.connect(self._show)

    @property
    def vector(self) -> Vector:
        """The gravity in force, m/s²."""
        model = self._bench.robot.model
        x, y, z = (0.0, 0.0, 0.0) if model is None else self._bench.robot.settings.under_gravity(model).gravity.tolist()
        return x, y, z

    def set(self, vector: Vector) -> None:
        """Set the gravity, m/s²."""
        if vector != self.vector:
            self._bench.configuring.set_gravity_vector(vector)
        self._window.refresh()

    def _choose(self, vector: Vector, *_: object) -> None:
        self.set(vector)

    def _show(self) -> None:
        there, vector = self._bench.robot.model is not None, self.vector
        offer(self.menu, (there, NO_ROBOT))
        self.form.setEnabled(there)
        for name, action in self.entries.items():
            check(action, there and STANDARD[name] == vector)
            offer(action, (there, NO_ROBOT))
        self.form.show_gravity(vector)

    def _show_form(self) -> None:
        self._window.docks.show_in_front("Scene")
        self.form.kind.setFocus()
