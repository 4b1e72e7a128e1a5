"""Simulation › Pose: the named poses of a robot's SRDF and the neutral pose; also above the sliders."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from PyQt6.QtCore import QEvent, QObject, QRect, QTimer
from PyQt6.QtWidgets import QMenu, QToolButton

from app.desktop.actions import MESSAGE
from app.panels.joint_table import VALUE
from app.simulation.messages import Loaded
from app.simulation.starting import first_pose, start_of

if TYPE_CHECKING:
    from app.window import Window

MARGIN = 2  # px around the button in the joints' header


class PoseMenu(QObject):
    """Makes the menu and the button, and reports a start pose other than the neutral one."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._window, self._bench = window, window.workbench
        self.menu = QMenu("P&ose", window)
        self.menu.setToolTipsVisible(True)
        window.menus.simulation.put(self.menu)
        self._header = window.joints.horizontalHeader()
        self.button = QToolButton(self._header)
        self.button.setText("Pose")
        self.button.setToolTip("Poses that the robot's SRDF names, and the neutral one")
        self.button.setMenu(self.menu)
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._header.installEventFilter(self)
        self._header.sectionResized.connect(lambda *_: QTimer.singleShot(0, self._place))
        window.loaded.connect(self._take)
        window.refreshed.connect(self._refresh)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep the button over the value column."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        header, wide = self._header, self.button.sizeHint().width()
        right = header.sectionViewportPosition(VALUE) + header.sectionSize(VALUE)
        place = QRect(right - wide - MARGIN, MARGIN, wide, header.height() - 2 * MARGIN)
        self.button.setGeometry(place)

    def _take(self, event: Loaded) -> None:
        """List a new robot's poses; in a scene with other bodies, the robot's own."""
        robot = event.model.parts[0].model if event.model.parts else event.model
        self.menu.clear()
        for name in dict.fromkeys(("neutral", *robot.group_states)):
            state = robot.group_states.get(name)
            action = self.menu.addAction(name.replace("&", "&&"))
            action.setToolTip("Every joint at zero, or at its nearer limit" if state is None else _joints_of(state))
            action.triggered.connect(partial(self._set, name))
        start, scalar = start_of(robot), robot.q_of_v[robot.q_of_v >= 0]  # the base is put on the ground
        if start.outside and robot is event.model and np.allclose(event.start[scalar], first_pose(robot)[scalar]):
            first, more = start.outside[0], len(start.outside) - 1
            whose = f"{first} and {more} more" if more else first
            text = f"it starts in the pose {start.pose!r} of its SRDF, since zero is outside the limits of {whose}"
            self._window.statusBar().showMessage(text, MESSAGE)

    def _set(self, name: str, *_: object) -> None:
        self._bench.set_pose(name)
        self._window.refresh()

    def _refresh(self) -> None:
        bench = self._bench
        self.menu.setEnabled(bench.model is not None and not bench.playing and not bench.replay.active)
        self.button.setEnabled(self.menu.isEnabled())
        self.button.setVisible(bench.model is not None and bool(bench.coordinates))


def _joints_of(state: Mapping[str, tuple[float, ...]]) -> str:
    many = "1 joint" if len(state) == 1 else f"{len(state)} joints"
    return f"A pose of {many}, by the robot's SRDF"
