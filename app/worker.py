"""The simulation, in a thread of its own.

Two channels lead out of it. *Snapshots* are the state for drawing: the latest wins, those that nobody fetched are
overwritten, and their buffers are used again. *Events* are what must not be missed: they come in order and stay until
they are fetched. Commands lead in through a queue, and are obeyed between two bursts of steps.

While it plays, each tick owes the simulated time that has passed on the wall since the last one, times the speed. The
tick pays in bursts of steps of a few milliseconds each, inside compiled code that has let go of the interpreter's
lock, until the debt is paid or its deadline has come. A debt that a slow model cannot pay is forgiven: the robot then
moves slower than asked, and the snapshot says by how much.

On a GPU a tick pays with one launch of as many steps as its deadline allows by the GPU's clock, and the frame after
them is fetched once it is there; commands are obeyed meanwhile. A simulation for a GPU compiles as it is made: another
thread makes it, while the present one plays on. Where a GPU fails, the CPU goes on from the last state known.
"""

from __future__ import annotations

import math
import queue
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

import engine
from app.compiling import Compiler
from app.messages import (
    Compiling,
    Configured,
    Event,
    Latest,
    LimitsReached,
    Loaded,
    Preparing,
    Refused,
    Settings,
    Stopped,
)
from app.motion_watch import AchievedSpeed, LimitWatch, RestWatch
from app.pace import Pace
from app.preparing import Outcome, Preparation, made
from app.running import Running, for_new, held_joints, running_of, settled, simulation_of

PARTING = 0.8  # s that `close` waits for a thread that is loading a file
LOOK = 0.0005  # s between two looks at whether a GPU's frame is there
GPU_FAULTS = (RuntimeError, MemoryError)  # what a GPU, its driver and its compiler raise


class Worker:
    """Runs one simulation at a time in its thread. Methods only post commands, and return at once."""

    def __init__(self, load: Callable[..., engine.Model] = engine.load):
        self._load = load
        self._commands: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.seen = True
        """Whether anybody sees the states that it publishes; to be set from any thread."""
        self._newest_open = self._newest_settings = 0
        self._known: Latest | None = None
        self._model: engine.Model | None = None
        self._running: Running | None = None
        self._frames: Latest | None = None
        self._settings = Settings()
        self._playing = self._quitting = self._changed = False
        self._compiler, self._preparation = Compiler(), Preparation()
        self._compiling = False
        self._steps_asked = 0  # while it compiled
        self._pace, self._achieved = Pace(), AchievedSpeed()
        self._rest_watch = RestWatch()
        self._limits: LimitWatch | None = None
        # A daemon, since `close` does not wait for a file that is long to load.
        self._thread = threading.Thread(target=self._run, name="simulation", daemon=True)
        self._thread.start()

    # Called from any thread.

    def open(
        self,
        source: str | engine.Model,
        settings: Settings,
        floating: bool = False,
        package_dirs: tuple[str, ...] = (),
        trust_xacro: bool = False,
    ) -> None:
        """Load a file, or take a ready model, and replace the robot.

        Gravity starts off on a floating base, a robot with motors starts held, and the algorithm is chosen anew.
        """
        self._newest_open += 1
        load = partial(self._load, package_dirs=package_dirs, floating=floating, trust_xacro=trust_xacro)
        self._commands.put(partial(self._open, self._newest_open, source, settings, load))

    def play(self) -> None:
        self._command(self._play)

    def pause(self) -> None:
        self._commands.put(self._pause)

    def step(self, count: int = 1) -> None:
        """Pause, and advance by `count` steps."""
        self._command(partial(self._step, count))

    def reset(self, q: np.ndarray) -> None:
        """Back to time zero, at rest in q, (nq,); playing goes on if it was."""
        self._command(partial(self._reset, q.copy()))

    def set_coordinate(self, q: int, v: tuple[int, ...], value: float) -> None:
        """Put q[q] to `value` (rad or m), and v to rest; during play set the target of the joint alone."""
        self._command(partial(self._set_coordinate, q, v, value))

    def set_rotation(self, put: Callable[[np.ndarray], None], v: tuple[int, ...]) -> None:
        """Have `put` write a joint's rotation into q (nq,), and put v to rest; nothing during play."""
        self._command(partial(self._set_rotation, put, v))

    def set_effort(self, v: int, value: float) -> None:
        """Apply the effort `value` (N m or N) at the velocity v from now on."""
        self._command(partial(self._change, lambda running: running.set_one("tau", v, value)))

    def set_target(self, v: int, value: float) -> None:
        """Have the gains pull the joint of the velocity v to `value` (rad or m)."""
        self._command(partial(self._change, lambda running: running.set_one("target", v, value)))

    def set_speed(self, speed: float) -> None:
        """Simulated seconds asked for per wall second."""
        self._commands.put(partial(self._set_speed, speed))

    def look_at(self, robot: int) -> None:
        """Have snapshots tell of that robot of the batch."""
        self._command(partial(self._change, lambda running: running.look_at(robot)))

    def configure(self, settings: Settings) -> int:
        """Go on from the present state and time under other settings; answers the number that `Configured` bears."""
        self._newest_settings += 1
        self._command(partial(self._configure, self._newest_settings, settings))
        return self._newest_settings

    def events(self) -> list[Event]:
        """What has happened since the last call, in order."""
        happened = []
        while not self._events.empty():
            event = self._events.get()
            if isinstance(event, Loaded):
                self._known = event.frames
            happened.append(event)
        return happened

    def _command(self, command: Callable[[], None]) -> None:
        """Post a command for the robot that the caller knows of, the last one that `events` told of."""
        self._commands.put(partial(self._for, self._known, command))

    def close(self) -> None:
        """End the thread, and wait until it has; a file that is loading is waited for `PARTING` s at most.

        The process that expands a xacro file ends with the program.
        """
        self._newest_open += 1  # none of those that wait is loaded any more
        self._commands.put(self._quit)
        self._thread.join(PARTING)
        self._preparation.close(PARTING)

    # Called from the worker's thread only.

    def _run(self) -> None:
        while not self._quitting:
            try:
                self._turn()
            except engine.Diverged as stop:
                self._stop(Stopped(str(stop)))
            except Exception as fault:  # the thread must live on, and the user must hear of it
                self._survive(fault)

    def _survive(self, fault: Exception) -> None:
        """Have the CPU go on where it was a GPU that failed; else stop."""
        try:
            if self._running is not None and self._running.on_gpu and isinstance(fault, GPU_FAULTS):
                self._go_on_without_gpu(fault)
                return
        except Exception as another:  # nor can the CPU
            fault = another
        self._stop(Stopped(f"the simulation stopped: {fault}", "".join(traceback.format_exception(fault))))

    def _turn(self) -> None:
        """Obey, step what is due, and show what there is."""
        self._obey()
        if self._quitting:
            return
        self._await_code()
        if self._running is not None and self._running.waits_for_frame and self._running.ready:
            self._publish()
        if self._playing and not self._compiling:
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
        if self._playing and not self._compiling:
            return self._pace.rest(self._settings.dt)
        return self._compiler.patience

    def _open(
        self,
        number: int,
        source: str | engine.Model,
        settings: Settings,
        load: Callable[[str], engine.Model],
    ) -> None:
        if number != self._newest_open:
            return  # a later one is on its way
        path = source if isinstance(source, str) else source.source or source.name
        try:
            model = load(source) if isinstance(source, str) else source
            settings = for_new(model, settings)
            # The robot is there at once: on the CPU, unless "auto" is known to choose nothing else.
            decided = settings.device == "auto" and engine.why_no_gpu(load=False) is not None
            running = running_of(model, settings if decided else replace(settings, device="cpu"))
        except engine.ModelError as fault:
            self._events.put(Refused(path, fault.diagnostics) if fault.diagnostics else Refused.because(path, fault))
            return
        except (OSError, ValueError) as fault:
            self._events.put(Refused.because(path, fault))
            return
        self._preparation.drop()
        self._model, self._running, self._settings = model, running, settings
        self._frames, self._limits = Latest(model), LimitWatch(model)
        self._playing = False
        self._restart_clock()
        self._begin_compiling()
        self._events.put(Loaded(model, path, self._frames, running.q[0].copy(), settings, *running.choice))
        if settings.device != "cpu" and not decided:
            self._prepare(settings, self._settle_device)

    def _begin_compiling(self) -> None:
        """Have made what the simulation lacks; until it is there nothing steps."""
        self._steps_asked = 0
        seconds = self._compiler.begin(self._running.simulation)
        if seconds is not None or self._compiling:
            self._events.put(Compiling(seconds or 0.0))
        self._compiling = seconds is not None

    def _await_code(self) -> None:
        """Go on once the code is there; when there is nothing else to do, have made what may be wanted next."""
        if not self._compiling:
            self._compiler.go_on(self._playing)
        elif not self._compiler.waiting:
            self._compiling = False
            self._events.put(Compiling(0.0))
            steps, self._steps_asked = self._steps_asked, 0
            here = replace(self._settings, device="cpu", algorithm=self._running.simulation.algorithm)
            simulation_of(self._model, here).step(1)  # reads the code from disk
            self._pace.restart()
            if steps:
                self._burst(steps)

    def _restart_clock(self) -> None:
        self._pace.restart(other_steps=True)
        self._achieved = AchievedSpeed()
        self._changed = True

    def _for(self, robot: Latest | None, command: Callable[[], None]) -> None:
        if robot is self._frames:  # else it was meant for the robot before this one
            command()

    def _play(self) -> None:
        self._playing = self._running is not None
        self._pace.restart()
        self._achieved = AchievedSpeed()

    def _pause(self) -> None:
        self._playing = False
        self._changed = True

    def _step(self, count: int) -> None:
        self._pause()
        if self._compiling:
            self._steps_asked += count
        elif self._running is not None:
            self._burst(count)

    def _reset(self, q: np.ndarray) -> None:
        if self._running is not None:
            self._running.reset(q)
            self._steps_asked = 0
            self._restart_clock()

    def _change(self, change: Callable[[Running], None]) -> None:
        if self._running is not None:
            change(self._running)
            self._changed = True

    def _set_coordinate(self, q: int, v: tuple[int, ...], value: float) -> None:
        if self._running is None:
            return
        if len(v) == 1:
            self._running.set_one("target", v[0], value)

        def put(state: np.ndarray) -> None:
            state[q] = value

        if not self._playing:
            self._running.place(put, v)
        self._changed = True

    def _set_rotation(self, put: Callable[[np.ndarray], None], v: tuple[int, ...]) -> None:
        if self._running is not None and not self._playing:
            self._running.place(put, v)
            self._changed = True

    def _set_speed(self, speed: float) -> None:
        self._pace.speed = speed
        self._pace.forgive()
        self._achieved = AchievedSpeed()

    def _configure(self, number: int, settings: Settings) -> None:
        if self._model is None or self._running is None:
            self._settings = settings
            return
        settings = settled(self._model, settings)
        if self._may_take_gpu(settings):
            self._events.put(Preparing(settings.device))
            self._prepare(settings, partial(self._take_on, number))
            return
        self._preparation.drop()
        self._take_on(number, settings, made(lambda: running_of(self._model, settings)))

    def _may_take_gpu(self, settings: Settings) -> bool:
        """Whether a simulation as asked for may be one for a GPU, and so take long to make."""
        if settings.device == "cpu" or engine.why_no_gpu() is not None:
            return False
        before = self._settings
        others = (settings.device, settings.algorithm) != (before.device, before.algorithm)
        return settings.device == "cuda" or others or self._preparation.under_way or self._running.on_gpu

    def _prepare(self, settings: Settings, finish: Callable[[Settings, Outcome], None]) -> None:
        """Have a simulation made in another thread, and `finish` called with it."""
        model, frames = self._model, self._frames
        self._preparation.begin(
            lambda: running_of(model, settings),
            lambda done: self._commands.put(partial(self._for, frames, done)),
            partial(finish, settings),
        )

    def _settle_device(self, settings: Settings, outcome: Outcome) -> None:
        """Take the simulation on the device that was asked for before the robot was loaded, where it is another."""
        if not isinstance(outcome, Running) or outcome.choice != self._running.choice:
            self._take_on(0, settings, outcome)

    def _take_on(self, number: int, settings: Settings, outcome: Outcome) -> None:
        """Go on by another simulation, from where this one is, or tell why not."""
        refusal = ""
        if isinstance(outcome, Running):
            before, self._running = self._running, outcome
            try:
                before.refresh()
            except GPU_FAULTS:  # it is the GPU's that failed: from the last state known
                before.waits_for_frame = False
            outcome.carry_on(before)
            outcome.hold(held_joints(self._model, settings) & ~held_joints(self._model, self._settings))
            self._settings = settings
            self._begin_compiling()
            self._frames.withdraw()  # its phases would be taken for the new settings'
            self._restart_clock()
        else:
            refusal = str(outcome) or type(outcome).__name__
        self._tell_settings(number, refusal)

    def _tell_settings(self, number: int, refusal: str) -> None:
        self._events.put(Configured(number, self._settings, *self._running.choice, refusal))

    def _go_on_without_gpu(self, fault: Exception) -> None:
        """The CPU takes over from the last state known."""
        self._preparation.drop()
        before, settings = self._running, replace(self._settings, device="cpu")
        if settings.algorithm not in engine.simulation_algorithms(self._model, "cpu"):
            settings = replace(settings, algorithm="auto")
        self._running = running_of(self._model, settings)
        self._running.carry_on(before)
        self._settings = settings
        self._begin_compiling()
        self._restart_clock()
        reason = str(fault).strip().split("\n")[0] or type(fault).__name__
        self._tell_settings(self._newest_settings, f"on the CPU from here on: the GPU failed ({reason})")

    def _quit(self) -> None:
        self._compiler.close()
        self._quitting = True

    def _stop(self, event: Stopped) -> None:
        self._playing = self._changed = False
        self._events.put(event)

    def _tick(self) -> None:
        """Pay the simulated time owed since the last tick, as far as the deadline allows."""
        dt, running, pace = self._settings.dt, self._running, self._pace
        if running.on_gpu and (running.waits_for_frame or not pace.is_due(dt)):
            return
        budget = pace.begin_tick(dt)
        if running.on_gpu:
            if count := pace.steps(dt, budget.whole):
                running.advance(count)
                pace.pay(count * dt)
        else:
            while count := pace.steps(dt, budget.burst):
                self._burst(count)
                pace.pay(count * dt)
                if time.perf_counter() > budget.deadline or not self._commands.empty():
                    break
        pace.set_period(self.seen, self._rest_watch.rests)

    def _burst(self, count: int) -> None:
        """`count` steps in one call."""
        seconds = self._running.advance(count)
        if not self._running.on_gpu:
            self._pace.learn(seconds / count)
        self._changed = True

    def _publish(self) -> None:
        """Show the present state to whoever looks next."""
        self._changed = False
        if self._running is None:
            return
        frame = self._frames.back
        self._pace.learn(self._running.collect(frame))
        if not np.all(np.isfinite(frame.q)):
            return
        frame.factor = self._achieved.mark(time.perf_counter(), frame.time) if self._playing else math.nan
        self._rest_watch.look(self._running.q.ravel())
        reached = self._limits.look(self._running.q[0])
        if self._playing and reached:
            self._events.put(LimitsReached(frame.time, reached))
        self._frames.publish()
