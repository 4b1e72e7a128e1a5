"""The loop of the simulation thread: process commands, take the steps that are due, publish the state.

During play the steps of a tick are to cover the wall time since the last tick, times the speed. They are taken in
batches of a few milliseconds each, inside compiled code that releases the interpreter's lock, until this time is
covered or the deadline is reached. Time that a slow model cannot cover is dropped: the robot then runs slower than
requested, and the snapshot has the achieved speed.

On a GPU a tick launches as many steps at once as fit its deadline by the GPU's clock. The frame that follows is fetched
when ready; commands are processed meanwhile.

Every step is taken in `_batch`, which calls the attachments, see `app.simulation.attachments`.
"""

from __future__ import annotations

import math
import queue
import time
import traceback
from collections.abc import Callable, Mapping, Sequence

import numpy as np

import engine
from app.reasons import reason
from app.simulation.attachments import Attachment
from app.simulation.changeover import Changeover
from app.simulation.messages import EffortsCut, Event, LimitsReached, Snapshot, Stopped
from app.simulation.motion_watch import AchievedSpeed, EffortWatch, LimitWatch, RestWatch
from app.simulation.pace import Pace
from app.simulation.running import Running

POLL_INTERVAL = 0.0005  # s between polls of a GPU's frame


class Loop:
    """Runs one simulation at a time in the thread that calls `run`; commands call the other methods there."""

    def __init__(
        self,
        commands: queue.SimpleQueue[Callable[[], None]],
        send_event: Callable[[Event], None],
        attachments: Sequence[Attachment] = (),
    ):
        self.seen = True
        """Whether the published states are visible to anybody; can be set from any thread."""
        self.changeover = Changeover(send_event, commands.put, self._begun)
        self._commands, self._send_event, self._attachments = commands, send_event, attachments
        self._playing = self._quitting = self._changed = False
        self._steps_asked = 0  # single steps
        self._pace, self._achieved = Pace(), AchievedSpeed()
        self._rest_watch = RestWatch()
        self._limits: LimitWatch | None = None
        self._efforts = EffortWatch()

    @property
    def _running(self) -> Running | None:
        return self.changeover.running

    def run(self) -> None:
        """Run until `quit`."""
        while not self._quitting:
            try:
                self._turn()
            except engine.Diverged as stop:
                stop = stop.after(self._running.time_before)
                self._stop(Stopped(stop.problem, damped=stop.damped))
            except engine.ControllerError:  # already reported
                self._steps_asked = 0
                self.pause()
            except BaseException as error:  # SystemExit too: the thread must survive, and the user must see the error
                self._survive(error)

    def _survive(self, error: BaseException) -> None:
        """Continue on the CPU if a GPU failed; otherwise stop."""
        try:
            if self._running is not None and self._running.on_gpu and engine.gpu_failed(error):
                self.changeover.continue_on_cpu(error)
                return
        except Exception as another:  # the CPU fails too
            error = another
        if self._running is not None:
            self._running.lose_frame()
        self._stop(Stopped(f"the simulation stopped: {reason(error)}", "".join(traceback.format_exception(error))))

    def _turn(self) -> None:
        """Process commands, take the steps that are due, publish the state."""
        self._obey()
        if self._quitting:
            return
        requested = self._steps_asked
        if self.changeover.await_code(self._playing):
            self._steps_asked = requested
            self._pace.restart()
        if self._running is not None and self._running.waits_for_frame and self._running.ready:
            self._publish()
        self._take_requested_steps()
        if self._playing and not self.changeover.compiling:
            self._tick()
        if self._changed and not (self._running is not None and self._running.waits_for_frame):
            self._publish()

    def _obey(self) -> None:
        """Wait for a command, tick, frame or compiler; then process all queued commands."""
        try:
            self._commands.get(timeout=self._patience())()
            while not self._quitting:
                self._commands.get_nowait()()
        except queue.Empty:
            return

    def _patience(self) -> float | None:
        """Seconds until there is work without a command; None for no limit."""
        if self._running is not None and self._running.waits_for_frame:
            return POLL_INTERVAL
        if not self.changeover.compiling:
            if self._steps_asked and not self.changeover.awaits:
                return POLL_INTERVAL
            if self._playing:
                return self._pace.rest(self.changeover.settings.dt)
        return self.changeover.patience

    # Commands.

    def play(self) -> None:
        self._playing = self._running is not None
        self._pace.restart()
        self._achieved = AchievedSpeed()

    def pause(self) -> None:
        self._playing = False
        self._changed = True

    def step(self, count: int) -> None:
        """Pause, and take `count` steps once there is code for them."""
        self.pause()
        if self._running is not None:
            self._steps_asked += count
            self._take_requested_steps()

    def reset(self, q: np.ndarray, setpoints: Mapping[int, float]) -> None:
        """Reset to time zero, at rest in q (nq,), with these setpoints by velocity, else those of the pose."""
        if self._running is not None:
            self._running.reset(q)
            for v, value in setpoints.items():
                self._running.set_one("target", v, value)
            self._steps_asked = 0
            self._restart_clock()
            self._jump()

    def continue_from(self, frame: engine.RecordedFrame) -> None:
        """Pause, and continue from a recorded frame."""
        if self._running is not None:
            self.pause()
            self.changeover.continue_from(frame)

    def change(self, change: Callable[[Running], None]) -> None:
        """Call `change`, which sets the robot's inputs, or other state of `Running`."""
        if self._running is not None:
            change(self._running)
            self._changed = True

    def push(self, change: Callable[[Running], None]) -> None:
        """Call `change`, which sets external wrenches, and have steps take them from then on."""
        if self._running is not None:
            self.changeover.take_wrenches()
            self.change(change)

    def place(self, put: Callable[[np.ndarray], None], v: tuple[int, ...]) -> None:
        """Call `put` to write into q (nq,), and set v to zero there; no effect during play."""
        if self._running is not None and not self._playing:
            self._running.place(put, v)
            self._changed = True
            self._jump()

    def set_speed(self, speed: float) -> None:
        """Set the simulated seconds per wall second."""
        self._pace.speed = speed
        self._pace.forgive()
        self._achieved = AchievedSpeed()

    def quit(self) -> None:
        self.changeover.end()
        self._quitting = True

    # Consequences of commands.

    def _begun(self, other_robot: bool) -> None:
        """Restart the clock after another simulation has taken over."""
        self._steps_asked = 0
        if other_robot:
            self._limits, self._playing = LimitWatch(self.changeover.model), False
        self._restart_clock()
        self._jump()

    def _restart_clock(self) -> None:
        self._pace.restart(other_steps=True)
        self._achieved = AchievedSpeed()
        self._changed = True

    def _jump(self) -> None:
        for attachment in self._attachments:
            attachment.after_jump(self._running)

    def _stop(self, event: Stopped) -> None:
        self._playing = self._changed = False
        self._steps_asked = 0
        self._send_event(event)

    def _take_requested_steps(self) -> None:
        """Take the requested single steps, until something has to be waited for."""
        while self._steps_asked and not self._waits():
            taken = self._batch(self._steps_asked)
            if not taken:
                return
            self._steps_asked -= taken

    def _waits(self) -> bool:
        """Whether requested single steps have to wait."""
        return self.changeover.compiling or self.changeover.awaits or self._running.waits_for_frame

    def _tick(self) -> None:
        """Take the steps that are due since the last tick, as far as the deadline allows."""
        dt, running, pace = self.changeover.settings.dt, self._running, self._pace
        if running.on_gpu and (running.waits_for_frame or not pace.is_due(dt)):
            return
        budget = pace.begin_tick(dt)
        if running.on_gpu:
            if count := pace.steps(dt, budget.whole):
                pace.pay(self._batch(count) * dt)
        else:
            while count := pace.steps(dt, budget.burst):
                taken = self._batch(count)
                pace.pay(taken * dt)
                if not taken or time.perf_counter() > budget.deadline or not self._commands.empty():
                    break
        pace.set_period(self.seen, self._rest_watch.rests)

    def _batch(self, count: int) -> int:
        """Take at most `count` steps in one call; return their number, 0 if an attachment has to be waited for."""
        running = self._running
        count = min([count, *filter(None, (attachment.most_steps(running) for attachment in self._attachments))])
        varying = any(attachment.varies for attachment in self._attachments)
        if varying and any(attachment.needs_constant_inputs for attachment in self._attachments):
            count = 1
        if not all(attachment.before_steps(running, count) for attachment in self._attachments):
            return 0
        seconds = running.advance(count, self._before_next if varying else None)
        self._changed = True
        if not running.on_gpu:
            self._pace.learn(seconds / count)
            self._notify_attachments(count)
        return count

    def _before_next(self) -> None:
        for attachment in self._attachments:
            attachment.before_next(self._running)

    def _notify_attachments(self, count: int) -> None:
        for attachment in self._attachments:
            attachment.after_steps(self._running, count)

    def _watch_efforts(self, frame: Snapshot) -> None:
        """Report the joints of which more is asked than their effort limit, above all by a controller."""
        new, model = self._efforts.update(frame.time, frame.tau, frame.model), frame.model
        if self._playing and len(new):
            names = tuple(model.coordinate_names[v] for v in new)
            self._send_event(EffortsCut(frame.time, names, tuple(frame.tau[new]), tuple(model.effort_limit[new])))

    def _publish(self) -> None:
        """Publish the current state for the window's next poll."""
        self._changed = False
        if self._running is None:
            return
        frame, count = self.changeover.frames.back, self._running.under_way
        self._pace.learn(self._running.collect(frame))
        if count:
            self._notify_attachments(count)
        for attachment in self._attachments:
            attachment.show(frame)
        if not np.all(np.isfinite(frame.q)):
            return
        frame.factor = self._achieved.mark(time.perf_counter(), frame.time) if self._playing else math.nan
        self._rest_watch.update(self._running.q.ravel())
        reached = self._limits.update(self._running.q[0])
        if self._playing and reached:
            self._send_event(LimitsReached(frame.time, reached))
        self._watch_efforts(frame)
        self.changeover.frames.publish()
        if self._playing and frame.batch is not None and np.all(frame.batch.diverged):  # each is frozen
            self._stop(Stopped(f"all {len(frame.batch.diverged)} robots have diverged by {frame.time:g} s"))
