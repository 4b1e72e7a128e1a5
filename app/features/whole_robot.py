"""The masses of links that are fixed to the world, which a model leaves out: its file is read with a free base."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PyQt6.QtCore import QTimer

import engine
from app.acting.loaded_robot import alone
from app.features.window_type import Window
from app.jobs.background import Background
from app.simulation.messages import Loaded

POLL_INTERVAL = 50  # ms between two checks whether the file is read


@dataclass(frozen=True)
class _Read:
    """What was read for a robot: its model on a free base, None if it has none."""

    robot: engine.Model | None
    model: engine.Model | None = None
    over: bool = True


class WholeRobot:
    """Reads the robot's file in a thread after each loading."""

    def __init__(self, window: Window, changed: Callable[[], None]):
        self._bench, self._changed = window.workbench, changed
        self.model: engine.Model | None = None
        """The open robot, without parts, on a free base, whose first body is what the file fixes to the world.

        None as long as it is unknown, for a robot with a free base, and where its file may run any Python.
        """
        self._reading: Background[_Read] = Background("whole robot", lambda _: _Read(None))
        self._timer = QTimer(window, interval=POLL_INTERVAL, timeout=self._poll)
        self._wanted: engine.Model | None = None
        window.loaded.connect(self._on_loaded)
        window.closing.connect(self._end)

    def _end(self) -> None:
        self._timer.stop()
        self._reading.close()

    def _on_loaded(self, event: Loaded) -> None:
        robot, self.model = alone(event.model), None
        fixed = robot.source is not None and bool(np.any(robot.link_body < 0))
        self._wanted = robot if fixed and not event.request.trusted else None
        self._timer.start()
        self._begin()

    def _begin(self) -> None:
        if (robot := self._wanted) is not None and not self._reading.running:
            self._reading.run(lambda _: _Read(robot, on_free_base(robot)))

    def _poll(self) -> None:
        if (read := self._reading.poll()) is not None and read.robot is self._wanted:
            self._wanted, self.model = None, read.model
            self._changed()
        self._begin()
        if self._wanted is None:
            self._timer.stop()


def on_free_base(robot: engine.Model) -> engine.Model | None:
    """Return a robot's file read with a free base; None if it cannot be, or describes another robot by now."""
    try:
        whole = engine.load(robot.source or "", **{**robot.options, "floating": True})
    except (OSError, ValueError):  # as of a base without mass
        return None
    same = whole.link_names == robot.link_names and len(whole.mass) == 1 + len(robot.mass)
    return whole if same and np.array_equal(whole.mass[1:], robot.mass) else None
