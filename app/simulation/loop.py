"""What the simulation's thread does, over and over: obey commands, step what is due, and show what there is.

While it plays, each tick owes the simulated time that has passed on the wall since the last one, times the speed. The
tick pays in batches of steps of a few milliseconds each, inside compiled code that has let go of the interpreter's
lock, until the debt is paid or its deadline has come. A debt that a slow model cannot pay is forgiven: the robot then
moves slower than asked, and the snapshot says by how much.

On a GPU a tick pays with one launch of as many steps as its deadline allows by the GPU's clock, and the frame after
them is fetched once it is there; commands are obeyed meanwhile.

Every step is taken in `_batch`, where what is attached joins, see `app.simulation.attachments`.
"""

from __future__ import annotations

import math
import queue
import time
import traceback
from collections.abc import Callable, Sequence

import numpy as np

import engine
from app.desktop.reasons import reason
from app.simulation.attachments import Attachment
from app.simulation.changeover import Changeover
from app.simulation.messages import Event, LimitsReached, Stopped
from app.simulation.motion_watch import AchievedSpeed, LimitWatch, RestWatch
from app.simulation.pace import Pace
from app.simulation.running import Running

LOOK = 0.0005  # s between two looks at whether a GPU's frame is there


class Loop:
    """One simulation at a time, in the thread that calls `run`; all else is called from there, by commands."""

    def __init__(
        self,
        commands: queue.SimpleQueue[Callable[[], None]],
        tell: Callable[[Event], None],
        attachments: Sequence[Attachment] = (),
    ):
        self.seen = True
        """Whether anybody sees the states that it publishes; to be set from any thread."""
        self.changeover = Changeover(tell, commands.put, self._begun)
        self._commands, self._tell, self._attachments = commands, tell, attachments
        self._playing = self._quitting = self._changed = False
        self._steps_asked = 0  # beside playing
        self._pace, self._achieved = Pace(), AchievedSpeed()
        self._rest_watch = RestWatch()
        self._limits: LimitWatch | None = None

    @property
    def _running(self) -> Running | None:
        return self.changeover.running

    def run(self) -> None:
        """Until `quit`."""
        while not self._quitting:
            try:
                self._turn()
            except engine.Diverged as stop:
                self._stop(Stopped(str(stop)))
            except engine.ControllerError:  # which has been told
                self._steps_asked = 0
                self.pause()
            except BaseException as fault:  # SystemExit too: the thread must live on, and the user must hear of it
                self._survive(fault)

    def _survive(self, fault: BaseException) -> None:
        """Have the CPU go on where it was a GPU that failed; else stop."""
        try:
            if self._running is not None and self._running.on_gpu and engine.gpu_failed(fault):
                self.changeover.go_on_without_gpu(fault)
                return
        except Exception as another:  # nor can the CPU
            fault = another
        if self._running is not None:
            self._running.lose_frame()
        self._stop(Stopped(f"the simulation stopped: {reason(fault)}", "".join(traceback.format_exception(fault))))

    def _turn(self) -> None:
        """Obey, step what is due, and show what there is."""
        self._obey()
        if self._quitting:
            return
        asked = self._steps_asked
        if self.changeover.await_code(self._playing):
            self._steps_asked = asked
            self._pace.restart()
        if self._running is not None and self._running.waits_for_frame and self._running.ready:
            self._publish()
        self._take_asked()
        if self._playing and not self.changeover.compiling:
            self._tick()
        if self._changed and not (self._running is not None and self._running.waits_for_frame):
            self._publish()

    def _obey(self) -> None:
        """Wait for a command, while playing for the next tick or frame, or for a compiler; then obey all there are."""
        try:
            self._commands.get(timeout=self._patience())()
            while not self._quitting:
                self._commands.get_nowait()()
        except queue.Empty:
            return

    def _patience(self) -> float | None:
        """Seconds until there is something to do without a command; None for ever."""
        if self._running is not None and self._running.waits_for_frame:
            return LOOK
        if not self.changeover.compiling:
            if self._steps_asked and not self.changeover.awaits:
                return LOOK
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
        """Pause, and advance by `count` steps, once there is code for them."""
        self.pause()
        if self._running is not None:
            self._steps_asked += count
            self._take_asked()

    def reset(self, q: np.ndarray) -> None:
        """Back to time zero, at rest in q (nq,)."""
        if self._running is not None:
            self._running.reset(q)
            self._steps_asked = 0
            self._restart_clock()
            self._jump()

    def go_back(self, frame: engine.RecordedFrame) -> None:
        """Pause, and go on from a frame that was recorded."""
        if self._running is not None:
            self.pause()
            self.changeover.go_back(frame)

    def change(self, change: Callable[[Running], None]) -> None:
        """Have something set that acts on the robot, or is told of it."""
        if self._running is not None:
            change(self._running)
            self._changed = True

    def push(self, change: Callable[[Running], None]) -> None:
        """As `change`, for what acts by wrenches from outside, which steps take from then on."""
        if self._running is not None:
            self.changeover.take_wrenches()
            self.change(change)

    def place(self, put: Callable[[np.ndarray], None], v: tuple[int, ...]) -> None:
        """Have `put` write into q (nq,), and put v to rest; nothing during play."""
        if self._running is not None and not self._playing:
            self._running.place(put, v)
            self._changed = True
            self._jump()

    def set_speed(self, speed: float) -> None:
        """Simulated seconds asked for per wall second."""
        self._pace.speed = speed
        self._pace.forgive()
        self._achieved = AchievedSpeed()

    def quit(self) -> None:
        self.changeover.end()
        self._quitting = True

    # What follows from them.

    def _begun(self, other_robot: bool) -> None:
        """Another simulation has taken over."""
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
            attachment.jumped(self._running)

    def _stop(self, event: Stopped) -> None:
        self._playing = self._changed = False
        self._steps_asked = 0
        self._tell(event)

    def _take_asked(self) -> None:
        """The steps that were asked for beside playing, as far as nothing has to be waited for."""
        while self._steps_asked and not self._waits():
            taken = self._batch(self._steps_asked)
            if not taken:
                return
            self._steps_asked -= taken

    def _waits(self) -> bool:
        """Whether steps asked for one by one have to wait."""
        return self.changeover.compiling or self.changeover.awaits or self._running.waits_for_frame

    def _tick(self) -> None:
        """Pay the simulated time owed since the last tick, as far as the deadline allows."""
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
        """At most `count` steps in one call; how many, 0 where an attachment has to be waited for."""
        running = self._running
        count = min([count, *filter(None, (attachment.most(running) for attachment in self._attachments))])
        if not all(attachment.before(running, count) for attachment in self._attachments):
            return 0
        seconds = running.advance(count)
        self._changed = True
        if not running.on_gpu:
            self._pace.learn(seconds / count)
            self._tell_attached(count)
        return count

    def _tell_attached(self, count: int) -> None:
        for attachment in self._attachments:
            attachment.after(self._running, count)

    def _publish(self) -> None:
        """Show the present state to whoever looks next."""
        self._changed = False
        if self._running is None:
            return
        frame, count = self.changeover.frames.back, self._running.under_way
        self._pace.learn(self._running.collect(frame))
        if count:
            self._tell_attached(count)
        for attachment in self._attachments:
            attachment.show(frame)
        if not np.all(np.isfinite(frame.q)):
            return
        frame.factor = self._achieved.mark(time.perf_counter(), frame.time) if self._playing else math.nan
        self._rest_watch.look(self._running.q.ravel())
        reached = self._limits.look(self._running.q[0])
        if self._playing and reached:
            self._tell(LimitsReached(frame.time, reached))
        self.changeover.frames.publish()
