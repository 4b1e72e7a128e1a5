"""The View menu's camera actions and the collision shapes."""

from __future__ import annotations

from dataclasses import replace

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QMenu

from app.desktop.actions import NO_ROBOT, make_action, offer
from app.desktop.context_menus import LINK, OBJECT, SECOND, SPACE, Clicked
from app.desktop.settings import setting
from app.features.window_type import Window
from app.simulation.messages import Snapshot

KEY = "collision_shapes"  # the settings' key


class ViewControls:
    """Actions that fit the view, follow the robot, and show collision shapes."""

    def __init__(self, window: Window):
        self._bench, self._viewport = window.workbench, window.viewport
        tip = "Fit the robot and the objects around it in the view"
        self.fit = make_action(window, "&Fit", self._viewport.fit, Qt.Key.Key_F, icon="fit", tip=tip)
        tip = "The camera follows the robot's root link"
        self.follow = make_action(window, "F&ollow", self._set_follow, icon="follow", tip=tip, checkable=True)
        self.follow.setChecked(bool(self._viewport.follow))
        tip = "Show the collision shapes"
        self._settings = window.settings
        self.collisions = make_action(window, "Collision &shapes", self._show_collisions, tip=tip, checkable=True)
        self.collisions.setChecked(setting(self._settings, KEY, False))
        window.menus.view.put(self.fit, self.follow)
        window.menus.overlays.put(self.collisions)
        self._fit_before = 0.0  # simulated s at the time of a reset
        window.run.resetting.connect(self._await_reset)
        window.framed.connect(self._show)
        window.refreshed.connect(self._refresh)
        window.menus.context.offer("view", self._put_center, LINK, SECOND, OBJECT)
        window.menus.context.offer("view", lambda menu, _: menu.addActions([self.fit, self.follow]), SPACE)

    def _put_center(self, menu: QMenu, clicked: Clicked) -> None:
        if (point := clicked.point) is not None:
            seen = self._viewport
            menu.addAction("&Centre the view here", lambda: seen.see(replace(seen.camera, target=point + seen.center)))

    def _set_follow(self, on: bool) -> None:
        """Follow the robot, from within the view."""
        self._viewport.follow = on
        if on and self._viewport.way_to_robot is not None:
            self._viewport.fit()

    def _show_collisions(self, on: bool) -> None:
        """Show or hide collision shapes, which is remembered as the other overlays are."""
        self._settings.setValue(KEY, on)
        self._viewport.show_collisions(on)

    def _await_reset(self) -> None:
        """After a reset, bring a followed robot back into view."""
        if self._bench.robot.floats and self._viewport.follow:
            self._fit_before = self._bench.robot.time

    def _show(self, frame: Snapshot) -> None:
        if frame.time < self._fit_before:
            self._fit_before = 0.0
            self._viewport.fit()

    def _refresh(self) -> None:
        model = self._bench.robot.model
        offer(self.fit, (model is not None, NO_ROBOT))
        shapes = model is not None and len(model.collisions) > 0
        offer(self.collisions, (model is not None, NO_ROBOT), (shapes, "the robot's file has no <collision> shapes"))
