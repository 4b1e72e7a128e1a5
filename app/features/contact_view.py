"""Contacts in the window: their overlay, and a status bar warning of inexact contact forces."""

from __future__ import annotations

import time

from PyQt6.QtWidgets import QLabel

import engine
from app.desktop import theme
from app.desktop.actions import make_action
from app.desktop.settings import setting
from app.features.window_type import Window
from app.simulation.messages import Snapshot

TIP = (
    "Contact points and forces: green sticks, violet slips.\n"
    "Arrows are in proportion up to the robot's weight, 0.6 of its height, and a larger force stays below its height"
)
READ = 2.0  # s that a residual remains displayed
MISSED = (
    "Contact forces are not exact: since the last frame a step left a residual of {:.1e} of the maximum velocity,\n"
    "above the tolerance of {:.0e}. A smaller time step may help."
)


class ContactView:
    """Shows contacts until the user turns them off, which is remembered; without contacts nothing is drawn."""

    def __init__(self, window: Window):
        self._settings, self._viewport = window.settings, window.viewport
        self.action = make_action(window, "Co&ntacts", self._set_shown, tip=TIP, checkable=True)
        self.action.setChecked(setting(self._settings, "contacts", True))
        window.menus.overlays.put(self.action)
        window.framed.connect(self.show)
        self.label = QLabel()
        theme.tint(self.label, "warning")
        window.bar.add_note(self.label)
        self._until = 0.0

    def _set_shown(self, on: bool) -> None:
        self._settings.setValue("contacts", on)
        self._viewport.show_contacts(on)

    def show(self, frame: Snapshot) -> None:
        """Show a residual above the tolerance, and keep it displayed for `READ` s."""
        residual = frame.residual
        if residual > engine.CONTACT_TOLERANCE:
            self._until = time.perf_counter() + READ
            self.label.setText(f"contact residual {residual:.0e}")
            self.label.setToolTip(MISSED.format(residual, engine.CONTACT_TOLERANCE))
        elif time.perf_counter() > self._until or frame.time == 0:
            self.label.clear()
