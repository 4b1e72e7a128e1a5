"""Simulation › Pose a link: a link's pose in numbers, to which inverse kinematics moves the joints."""

from __future__ import annotations

import numpy as np
from PyQt6.QtCore import QPoint

import engine
from app.desktop.actions import NO_ROBOT, make_action, offer
from app.features.hand_posing import left_text
from app.features.window_type import Window
from app.panels.link_pose import LinkPoseForm
from app.simulation.messages import Loaded, Snapshot

HELP = (
    "Or by the mouse, while the simulation is paused: drag a link with the right button, or with Ctrl and the left "
    "one, and its joints follow; or click it, and drag an arrow or a ring."
)
TIP = "Give a link a pose in numbers; or drag it in the picture with the right button, or with Ctrl, while paused"
SELECT = "Select a link that can move"
NOT_NOW = "Pause the simulation to pose the link; a recorded frame, or a robot of a batch, cannot be posed"
FIXED = "No joint moves this link"
CORNER = 12  # px from the picture's corner
ROUNDS = 25  # most calls of inverse kinematics for one pose, each of some 10 ms


class TypedPose:
    """Opens the form for the selected link, and passes its poses to `Posing`."""

    def __init__(self, window: Window):
        self._window, self._bench, self._selection = window, window.workbench, window.selection
        self.form = LinkPoseForm(window, HELP)
        self._shown: tuple[int, np.ndarray] | None = None  # the link, and the q (nq,) whose pose the form has
        self.action = make_action(window, "P&ose a link…", self._open, tip=TIP)
        window.menus.simulation.put(self.action)
        self.form.link_chosen.connect(self._selection.choose)
        self.form.asked.connect(self._move)
        self._selection.changed.connect(lambda _: self._show())
        window.loaded.connect(self._on_loaded)
        window.refreshed.connect(self._refresh)
        window.framed.connect(self._follow)

    def _refresh(self) -> None:
        offer(self.action, (self._bench.robot.model is not None, NO_ROBOT))
        self._show()

    def _on_loaded(self, event: Loaded) -> None:
        links = np.flatnonzero(event.model.link_body >= 0).tolist()
        self.form.set_links(links, [event.model.link_names[link] for link in links])
        self._shown = None

    def _open(self) -> None:
        model = self._bench.robot.model
        if self._selection.link < 0 and (moving := np.flatnonzero(model.link_body >= 0)).size:
            self._selection.choose(int(moving[-1]))
        self._shown = None
        if not self.form.isVisible():
            self.form.move(self._window.viewport.mapToGlobal(QPoint(CORNER, CORNER)))
        self.form.show()
        self.form.raise_()
        self._show()

    def _follow(self, _: Snapshot) -> None:
        if self._bench.robot.placed is None:  # else the frame does not show it yet
            self._show()

    def _show(self) -> None:
        """Show the pose of the selected link, unless the numbers typed for it still hold."""
        if not self.form.isVisible():
            return
        link, robot = self._selection.link, self._bench.robot
        possible = self._bench.posing.can_pose(link)
        if not possible or robot.newest is None:
            self._shown = None
            moves = link >= 0 and robot.model is not None and robot.model.link_body[link] >= 0
            still = not robot.playing and not self._bench.replay.active and robot.settings.spread.robots == 1
            self.form.show_pose(link, None, SELECT if link < 0 else FIXED if still or not moves else NOT_NOW)
        elif self._shown is None or self._shown[0] != link or not np.array_equal(self._shown[1], robot.q):
            self._shown = link, robot.q
            self.form.show_pose(link, np.asarray(engine.link_poses(robot.model, robot.q)[link], float), "")

    def _move(self, target: np.ndarray) -> None:
        link, posing = self._selection.link, self._bench.posing
        if not posing.can_pose(link):
            return
        posing.take_link(link)
        result, nearest = posing.move_link(target), np.inf
        for _ in range(ROUNDS):
            if not left_text(result) or result.distance + result.angle > 0.999 * nearest:
                break
            nearest = result.distance + result.angle
            result = posing.move_link(target)
        posing.release_link()
        self._shown = link, self._bench.robot.q
        left = left_text(result).removeprefix(", ")
        self.form.outcome.setText(f"As near as its joints can come: {left}" if left else "The link is there.")
        self._window.refresh()
