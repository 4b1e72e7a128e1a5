"""Simulation › Self-collision: contacts between the robot's links."""

from __future__ import annotations

from app.desktop.actions import NO_ROBOT, acts_on_robot, check, make_action, offer
from app.features.window_type import Window

TIP = "Contacts between links, but for neighbours and shapes that touch in the neutral pose"
NO_SHAPES = "The robot's file has no <collision> shapes"


class SelfCollisionView:
    """Toggles self-collision, for robots with collision shapes."""

    def __init__(self, window: Window):
        self._bench = window.workbench
        self.action = make_action(
            window, "Self-&collision", self._bench.configuring.set_self_collision, tip=TIP, checkable=True
        )  # fmt: skip
        acts_on_robot(self.action)
        window.menus.simulation.put(self.action)
        window.refreshed.connect(self._refresh)

    def _refresh(self) -> None:
        model = self._bench.robot.model
        bare = model is not None and not model.collisions
        on = self._bench.robot.settings.scene.self_collision
        offer(self.action, (model is not None, NO_ROBOT), (on or not bare, NO_SHAPES))  # it can always be turned off
        self.action.setToolTip(NO_SHAPES if bare else TIP)
        check(self.action, on)
