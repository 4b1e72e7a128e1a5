"""A user's controller in a process of its own: called at regular steps, with its efforts held in between.

The loop processes commands while it waits for the controller, so a function that hangs blocks neither it nor the
window. A controller that fails pauses the run; after that the robot plays on without its efforts, until the file is
saved again, a reset, or another time step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

import engine
from app.simulation.attachments import Attachment, Poster
from app.simulation.messages import ControllerChanged, Event, Snapshot
from app.simulation.running import Running

SHORT = 0.02  # s to wait for a result before commands are processed
MAX_LINES = 2000  # printed lines that are kept for the window
LATE = 1.0  # s until a missing result is reported
NEWEST_WEIGHT = 0.2  # of the newest call in the average duration


class Controlling(Attachment):
    """The controller, in the simulation thread; all robots of a batch receive robot 0's efforts."""

    def __init__(self) -> None:
        self.send_event: Callable[[Event], None]
        """Sends an event; set before any method is called."""
        self._controller: engine.Controller | None = None
        self.loading = False
        """Whether the file's execution has neither ended nor failed yet."""
        self._path = ""
        self._requested = self._again = False  # whether a call is pending; whether the file has to be executed first
        self._left = 0  # steps for which the last efforts are still held
        self._since, self._late = 0.0, False  # the time of the call, and whether it was reported as late
        self._cost: tuple[float, float] | None = None  # see `Snapshot.control`
        self._of: tuple[engine.Model, float] | None = None  # the robot and the time step
        self.printed: deque[tuple[float | None, str]] = deque(maxlen=MAX_LINES)
        """The newest lines that the file has printed, with the time of the call, s, None while it was loaded."""

    @property
    def inputs(self) -> str:
        """The file whose efforts act, empty if there is none."""
        return "" if self._controller is None else self._path

    def load(self, path: str, running: Running) -> None:
        """Let the file's controller drive the robot from its current state."""
        self.unload(running)
        self._path = path
        self._begin(running)

    def reload(self, running: Running) -> None:
        """Reload the saved file, also after a failure."""
        if self._path:
            self._begin(running)

    def unload(self, running: Running) -> None:
        """Remove the controller, and set the efforts to zero."""
        had, self._path = self._path, ""
        self.close()
        if had:
            running.set_all("tau", np.zeros_like(running.tau))
            running.simulation.logged = {}
            self.send_event(ControllerChanged(""))

    def close(self) -> None:
        """End the process."""
        self.loading, self._cost = False, None
        if self._controller is not None:
            self._controller.end()
        self._controller = None

    def _begin(self, running: Running) -> None:
        self._left, self._requested, self._again = 0, False, False
        self._since, self._late, self._cost = perf_counter(), False, None
        try:
            if self._controller is None:
                self._controller = engine.Controller(self._path, running.simulation.model, printed=self.printed.extend)
            else:
                self._controller.load()
        except engine.ControllerError as error:
            self._fail(error, running)
        else:
            self.loading = True
            self.send_event(ControllerChanged(self._path))

    def check_file(self, running: Running) -> None:
        """Report a file that fails to load, or takes long, while no step asks for it."""
        controller = self._controller
        if controller is None or not self.loading:
            return
        try:
            if controller.loaded:
                controller.every(running.simulation.dt)
                self._report_ready()
            else:
                self._report_late(loading=True)
        except engine.ControllerError as error:
            self._fail(error, running)

    def _report_ready(self) -> None:
        self.loading = False
        if self._late:
            self._late = False
            self.send_event(ControllerChanged(self._path))

    def _fail(self, error: engine.ControllerError, running: Running) -> None:
        self.close()
        running.set_all("tau", np.zeros_like(running.tau))
        running.simulation.logged = {}
        self.send_event(ControllerChanged(self._path, str(error), error.detail, line=error.line))

    def after_jump(self, running: Running) -> None:
        """Execute the file again at time zero, so that a run repeats; otherwise continue from the new state.

        One that has failed is executed again also for another time step, which may be what it failed for.
        """
        before, self._of = self._of, (running.simulation.model, running.simulation.dt)
        self._left, self._requested, self._again = 0, False, running.time == 0
        if not self._path or before is None or before[0] is not self._of[0]:
            return
        if self._controller is None and (self._again or before != self._of):
            self._begin(running)
        self.loading |= before != self._of  # `check_file` reports a step that does not suit it

    def most_steps(self, running: Running) -> int | None:
        if self._controller is None or self._left or self._again:
            return self._left or None
        try:
            return self._controller.every(running.simulation.dt) if self._controller.loaded else None
        except engine.ControllerError:
            return None  # `before_steps` reports it

    def before_steps(self, running: Running, count: int) -> bool:
        controller = self._controller
        if controller is None:
            return True
        if self._again:
            self._begin(running)
            return False
        if not self._left:
            try:
                self._left = self._drive(controller, running)
            except engine.ControllerError as error:
                self._fail(error, running)
                raise
        return count <= self._left

    def _drive(self, controller: engine.Controller, running: Running) -> int:
        """Apply the controller's efforts once available; return the number of steps to hold them, 0 until then."""
        if not controller.loaded:
            self._report_late(loading=True)
            return 0
        every = controller.every(running.simulation.dt)
        if not self._requested:
            time, *_ = running.state()
            q, v = running.present()
            controller.ask(time, q[0], v[0])
            self._requested, self._since = True, perf_counter()
        tau = controller.answer(SHORT)
        if tau is None:
            self._report_late()
            return 0
        self._requested = False
        took = perf_counter() - self._since
        average = took if self._cost is None else self._cost[0] + NEWEST_WEIGHT * (took - self._cost[0])
        self._cost = average, every * running.simulation.dt
        self._report_ready()
        running.set_all("tau", tau)
        if controller.logged or running.simulation.logged:
            _log(controller, running.simulation)
        return every

    def _report_late(self, loading: bool = False) -> None:
        if not self._late and perf_counter() - self._since > LATE:
            self._late = True
            self.send_event(ControllerChanged(self._path, late=True, loading=loading))

    def after_steps(self, running: Running, count: int) -> None:  # noqa: ARG002
        self._left = max(0, self._left - count)

    def show(self, frame: Snapshot) -> None:
        frame.control = self._cost


def _log(controller: engine.Controller, simulation: engine.Simulation) -> None:
    try:
        simulation.logged = controller.logged
    except ValueError as problem:  # the files that drove this run have logged too many names together
        raise engine.ControllerError(f"{controller.path.name}: {problem}") from None


class ControllerControls:
    """The window's interface to `Controlling`; `ControllerChanged` reports results."""

    def __init__(self, controlling: Controlling, worker: Poster):
        self._controlling, self._worker = controlling, worker
        self.path = self.problem = ""
        """The file, empty if there is none; and its error, empty if there is none."""
        self.late = False
        """Whether the simulation has been waiting for the controller for a while."""

    def load(self, path: str | Path) -> None:
        """Let the function `control` of a file drive the robot."""
        resolved = self.path = str(Path(path).resolve())
        self._worker.change(lambda running: self._controlling.load(resolved, running))

    def reload(self) -> None:
        """Reload the file."""
        self._worker.change(lambda running: self._controlling.reload(running))

    def check_file(self) -> None:
        """Have a file that fails to load reported while the simulation is paused."""
        if self._controlling.loading:
            self._worker.change(lambda running: self._controlling.check_file(running))

    def unload(self) -> None:
        """Remove the controller."""
        if self.path:
            self._worker.change(lambda running: self._controlling.unload(running))

    @property
    def drives(self) -> bool:
        """Whether a controller drives the joints, which one that has failed does not."""
        return bool(self.path) and not self.problem

    def printed(self) -> list[tuple[float | None, str]]:
        """Return the lines that the file has printed since the last call, see `Controlling.printed`."""
        lines = self._controlling.printed
        return [lines.popleft() for _ in range(len(lines))]

    def drop_efforts(self) -> None:
        """Set the efforts to zero, of which those of a recorded frame were a controller's."""
        self._worker.change(lambda running: running.set_all("tau", np.zeros_like(running.tau)))

    def close(self) -> None:
        """End its process."""
        self._worker.change(lambda _: self._controlling.close())

    def update_from(self, event: ControllerChanged) -> None:
        """Take the state from an event."""
        self.path, self.problem, self.late = event.path, event.problem, event.late
