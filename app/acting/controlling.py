"""A user's controller beside the simulation: asked before the steps that its answer is held for, and never waited for.

While an answer is not there yet the loop obeys commands, so that a function that hangs keeps neither it nor the window.
One that fails pauses the run and drives the joints no more: played on, the robot goes on without its efforts, until
the file is saved again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

import engine
from app.simulation.attachments import Attachment, Poster
from app.simulation.messages import ControllerChanged, Event
from app.simulation.running import Running

SHORT = 0.02  # s for which an answer is awaited before commands are looked at
LATE = 1.0  # s after which it is reported that there is none


class Controlling(Attachment):
    """The controller, in the simulation's thread; all robots of a batch are driven as robot 0 is."""

    def __init__(self) -> None:
        self.tell: Callable[[Event], None]
        """Where events go; set before anything is called."""
        self._controller: engine.Controller | None = None
        self._path = ""
        self._asked = self._again = False  # whether an answer is under way; whether the file has to be executed first
        self._left = 0  # steps for which the last answer is held still
        self._since, self._late = 0.0, False  # when it was asked, and whether it was reported as late

    def load(self, path: str, running: Running) -> None:
        """Have the file drive the robot, from where it is."""
        self.unload(running)
        self._path = path
        self._begin(running)

    def reload(self, running: Running) -> None:
        """The file was saved: read it again, also after it has failed."""
        if self._path:
            self._begin(running)

    def unload(self, running: Running) -> None:
        """Nothing drives the robot any more."""
        had, self._path = self._path, ""
        self.close()
        if had:
            running.set_all("tau", np.zeros_like(running.tau))
            self.tell(ControllerChanged(""))

    def close(self) -> None:
        """End the process."""
        if self._controller is not None:
            self._controller.end()
        self._controller = None

    def _begin(self, running: Running) -> None:
        self._left, self._asked, self._again = 0, False, False
        self._since, self._late = perf_counter(), False
        try:
            if self._controller is None:
                self._controller = engine.Controller(self._path, running.simulation.model)
            else:
                self._controller.load()
        except engine.ControllerError as fault:
            self._fail(fault, running)
        else:
            self.tell(ControllerChanged(self._path))

    def _fail(self, fault: engine.ControllerError, running: Running) -> None:
        self.close()
        running.set_all("tau", np.zeros_like(running.tau))
        self.tell(ControllerChanged(self._path, str(fault), fault.detail))

    def jumped(self, running: Running) -> None:
        """At time zero the file is executed anew, so that a run repeats; otherwise it goes on from the new state."""
        self._left, self._asked = 0, False
        self._again = running.time == 0

    def most(self, running: Running) -> int | None:
        if self._controller is None or self._left or self._again:
            return self._left or None
        try:
            return self._controller.every(running.simulation.dt) if self._controller.loaded else None
        except engine.ControllerError:
            return None  # `before` tells of it

    def before(self, running: Running, count: int) -> bool:
        controller = self._controller
        if controller is None:
            return True
        if self._again:
            self._begin(running)
            return False
        if not self._left:
            try:
                self._left = self._drive(controller, running)
            except engine.ControllerError as fault:
                self._fail(fault, running)
                raise
        return count <= self._left

    def _drive(self, controller: engine.Controller, running: Running) -> int:
        """Have the answer act once it is there; for how many steps, 0 while it is not."""
        if not controller.loaded:
            self._report_late(loading=True)
            return 0
        every = controller.every(running.simulation.dt)
        if not self._asked:
            time, *_ = running.state()
            q, v = running.present()
            controller.ask(time, q[0], v[0])
            self._asked, self._since = True, perf_counter()
        tau = controller.answer(SHORT)
        if tau is None:
            self._report_late()
            return 0
        self._asked = False
        if self._late:
            self._late = False
            self.tell(ControllerChanged(self._path))
        running.set_all("tau", tau)
        return every

    def _report_late(self, loading: bool = False) -> None:
        if not self._late and perf_counter() - self._since > LATE:
            self._late = True
            self.tell(ControllerChanged(self._path, late=True, loading=loading))

    def after(self, running: Running, count: int) -> None:  # noqa: ARG002
        self._left = max(0, self._left - count)


class ControllerControls:
    """What the window's thread asks of `Controlling`; `ControllerChanged` tells what has become of it."""

    def __init__(self, controlling: Controlling, worker: Poster):
        self._controlling, self._worker = controlling, worker
        self.path = self.fault = ""
        """The file, empty where there is none; and how it has failed, empty while it has not."""
        self.late = False
        """Whether the simulation has been waiting for it for a while."""

    def load(self, path: str | Path) -> None:
        """Have the function `control` of a file drive the robot."""
        resolved = self.path = str(Path(path).resolve())
        self._worker.change(lambda running: self._controlling.load(resolved, running))

    def reload(self) -> None:
        """Read the file again."""
        self._worker.change(lambda running: self._controlling.reload(running))

    def unload(self) -> None:
        """Have it drive the robot no more."""
        if self.path:
            self._worker.change(lambda running: self._controlling.unload(running))

    def close(self) -> None:
        """End its process."""
        self._worker.change(lambda _: self._controlling.close())

    def take(self, event: ControllerChanged) -> None:
        """What has become of it."""
        self.path, self.fault, self.late = event.path, event.fault, event.late
