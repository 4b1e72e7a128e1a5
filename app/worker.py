"""The simulation, in a thread of its own.

Two channels lead out of it. *Snapshots* are the state for drawing: the latest wins, those that nobody
fetched are overwritten, and their buffers are used again. *Events* are what must not be missed: they
come in order and stay until they are fetched. Commands lead in through a queue, and are obeyed
between two bursts of steps.

While it plays, each tick owes the simulated time that has passed on the wall since the last one,
times the speed. The tick pays in bursts of steps of a few milliseconds each, inside compiled code
that has let go of the interpreter's lock, until the debt is paid or its deadline has come. A debt that
a slow model cannot pay is forgiven: the robot then moves slower than asked, and the snapshot says by how much.
"""

from __future__ import annotations

import math
import queue
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

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
    Refused,
    Settings,
    Snapshot,
    Stopped,
)

TICK = 1 / 60  # s, from one tick to the next
RESTING = 1 / 20  # s, instead, while nothing moves: nothing is to be seen of it
UNSEEN = 1 / 10  # s, while nobody sees the window
STILL = 1e-5  # rad or m, by which no coordinate may have moved for `CALM` s of wall time: then nothing moves
CALM = 0.5
DEADLINE = 0.72  # of a tick: wall time that it may spend on steps
LONGER = 0.080  # s of it after a tick that could not pay its debt: time to simulate rather than to show
BURST = 0.004  # s that one call into compiled code may last
LONG_BURST = 0.012  # s, in such a tick: after each call the thread waits for the interpreter's lock
PATIENCE = 0.001  # s of rest after a tick that could not pay its debt
PARTING = 0.8  # s that `close` waits for a thread that is loading a file
MEMORY = 0.5  # s of wall time over which the achieved speed is measured


@dataclass
class _Achieved:
    """Simulated seconds per wall second, over the last `MEMORY` seconds."""

    marks: deque[tuple[float, float]] = field(default_factory=deque)

    def mark(self, wall: float, simulated: float) -> float:
        self.marks.append((wall, simulated))
        while wall - self.marks[0][0] > MEMORY:
            self.marks.popleft()
        elapsed = wall - self.marks[0][0]
        return (simulated - self.marks[0][1]) / elapsed if elapsed > MEMORY / 4 else math.nan


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
        self._simulation: engine.Simulation | None = None
        self._frames: Latest | None = None
        self._settings = Settings()
        self._time_before = 0.0  # simulated before the present Simulation took over
        self._playing = self._quitting = self._changed = False
        self._compiler = Compiler()
        self._compiling = False
        self._steps_asked = 0  # while it compiled
        self._speed = 1.0
        self._owed = self._step_cost = self._last_tick = 0.0
        self._achieved = _Achieved()
        self._pace = TICK  # s, until the next tick
        self._anchor, self._moved = np.zeros(0), 0.0  # where it was when it last moved, and when that was
        self._at_limit = np.zeros(0, bool)
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
        self._command(partial(self._write, "tau", v, value))

    def set_target(self, v: int, value: float) -> None:
        """Have the gains pull the joint of the velocity v to `value` (rad or m)."""
        self._command(partial(self._write, "target", v, value))

    def set_speed(self, speed: float) -> None:
        """Simulated seconds asked for per wall second."""
        self._commands.put(partial(self._set_speed, speed))

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

    # Called from the worker's thread only.

    def _run(self) -> None:
        while not self._quitting:
            try:
                self._obey()
                if not self._quitting:
                    self._await_code()
                if self._playing and not self._compiling and not self._quitting:
                    self._tick()
                if self._changed:
                    self._publish()
            except engine.Diverged as stop:
                self._stop(Stopped(str(stop)))
            except Exception as fault:  # the thread must live on, and the user must hear of it
                self._stop(Stopped(f"the simulation stopped: {fault}", traceback.format_exc()))

    def _obey(self) -> None:
        """Wait for a command, while playing for the next tick, or for a compiler; then obey all that are there."""
        try:
            ticking = self._playing and not self._compiling
            self._commands.get(timeout=self._rest() if ticking else self._compiler.patience)()
            while not self._quitting:
                self._commands.get_nowait()()
        except queue.Empty:
            return

    def _rest(self) -> float:
        if self._owed > self._settings.dt:
            return PATIENCE
        return max(PATIENCE, self._last_tick + self._pace - time.perf_counter())

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
            gravity = not any(joint.kind == "floating" for joint in model.joints)
            motors = bool(np.any(np.isfinite(model.effort_limit)))
            settings = replace(settings, gravity=gravity, algorithm="auto", held=motors, driven=frozenset())
            settings = _settled(model, settings)
            simulation = _simulation(model, settings)
        except engine.ModelError as fault:
            self._events.put(Refused(path, fault.diagnostics or (_refusal(path, fault),)))
            return
        except (OSError, ValueError) as fault:
            self._events.put(Refused(path, (_refusal(path, fault),)))
            return
        self._model, self._simulation, self._settings = model, simulation, settings
        self._frames = Latest(model)
        self._playing = False
        self._restart_clock(0.0)
        self._at_limit = np.ones(model.nv, bool)  # standing at a limit from the start is no event
        self._begin_compiling()
        self._events.put(Loaded(model, path, self._frames, settings, simulation.algorithm, simulation.why))

    def _begin_compiling(self) -> None:
        """Have made what the simulation lacks; until it is there nothing steps."""
        self._steps_asked = 0
        seconds = self._compiler.begin(self._simulation)
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
            _simulation(self._model, self._settings).step(1)  # reads the code from disk
            self._last_tick = time.perf_counter()
            if steps:
                self._burst(steps)

    def _restart_clock(self, time_before: float) -> None:
        self._time_before = time_before
        self._owed, self._last_tick, self._step_cost = 0.0, time.perf_counter(), 0.0
        self._achieved = _Achieved()
        self._changed = True

    def _for(self, robot: Latest | None, command: Callable[[], None]) -> None:
        if robot is self._frames:  # else it was meant for the robot before this one
            command()

    def _play(self) -> None:
        self._playing = self._simulation is not None
        self._owed, self._last_tick, self._pace = 0.0, time.perf_counter(), TICK
        self._achieved = _Achieved()

    def _pause(self) -> None:
        self._playing = False
        self._changed = True

    def _step(self, count: int) -> None:
        self._pause()
        if self._compiling:
            self._steps_asked += count
        elif self._simulation is not None:
            self._burst(count)

    def _reset(self, q: np.ndarray) -> None:
        if self._simulation is not None:
            self._simulation.reset(q[None])
            self._aim()
            self._steps_asked = 0
            self._restart_clock(0.0)

    def _aim(self) -> None:
        """Hold every joint where it stands."""
        simulation, scalar = self._simulation, self._model.q_of_v >= 0
        simulation.target[:, scalar] = simulation.q[:, self._model.q_of_v[scalar]]

    def _write(self, name: str, v: int, value: float) -> None:
        if self._simulation is not None:
            getattr(self._simulation, name)[0, v] = value
            self._changed = True

    def _set_coordinate(self, q: int, v: tuple[int, ...], value: float) -> None:
        if self._simulation is None:
            return
        joint = len(v) == 1
        if joint:
            self._simulation.target[0, v[0]] = value
        if not self._playing:
            self._simulation.q[0, q] = value
            self._simulation.v[0, list(v)] = 0.0
        self._changed = True

    def _set_rotation(self, put: Callable[[np.ndarray], None], v: tuple[int, ...]) -> None:
        if self._simulation is not None and not self._playing:
            put(self._simulation.q[0])
            self._simulation.v[0, list(v)] = 0.0
            self._changed = True

    def _set_speed(self, speed: float) -> None:
        self._speed = speed
        self._owed = 0.0
        self._achieved = _Achieved()

    def _configure(self, number: int, settings: Settings) -> None:
        if self._model is None or self._simulation is None:
            self._settings = settings
            return
        before, refusal = self._simulation, ""
        try:
            settings = _settled(self._model, settings)
            after = _simulation(self._model, settings)
            after.reset(before.q.copy(), before.v.copy())
            after.tau[:], after.target[:] = before.tau, before.target
            taken = _held(self._model, settings) & ~_held(self._model, self._settings)
            self._simulation, self._settings = after, settings
            # What is held from now on is held where it stands, with no effort of its own.
            after.target[0, taken], after.tau[0, taken] = after.q[0, self._model.q_of_v[taken]], 0.0
            self._begin_compiling()
            self._frames.withdraw()  # its phases would be taken for the new settings'
            self._restart_clock(self._time_before + before.time)
        except ValueError as fault:
            refusal = str(fault)
        now = self._simulation
        self._events.put(Configured(number, self._settings, now.algorithm, now.why, refusal))

    def _quit(self) -> None:
        self._compiler.close()
        self._quitting = True

    def _stop(self, event: Stopped) -> None:
        self._playing = self._changed = False
        self._events.put(event)

    def _tick(self) -> None:
        """Pay the simulated time owed since the last tick, as far as the deadline allows."""
        dt, now = self._settings.dt, time.perf_counter()
        elapsed, self._last_tick = now - self._last_tick, now
        late = self._owed >= dt
        deadline, burst = (LONGER, LONG_BURST) if late else (DEADLINE * self._pace, BURST)
        self._owed = min(self._owed + self._speed * elapsed, self._speed * (self._pace + TICK) + dt)
        while self._owed >= dt:
            affordable = int(burst / self._step_cost) if self._step_cost else 1
            count = max(1, min(int(self._owed / dt), affordable))
            self._burst(count)
            self._owed -= count * dt
            if time.perf_counter() - now > deadline or not self._commands.empty():
                break
        calm = time.perf_counter() - self._moved > CALM
        self._pace = UNSEEN if not self.seen else RESTING if calm else TICK

    def _burst(self, count: int) -> None:
        """`count` steps in one call."""
        start = time.perf_counter()
        self._simulation.step(count)
        cost = (time.perf_counter() - start) / count
        self._step_cost = cost if not self._step_cost else 0.5 * (self._step_cost + cost)
        phases = self._simulation.phases
        self._frames.back.phases[:] = [phases[name] for name in engine.PHASES]
        self._changed = True

    def _publish(self) -> None:
        """Show the present state to whoever looks next."""
        self._changed = False
        if self._simulation is None or not np.all(np.isfinite(self._simulation.q)):
            return
        frame, simulation = self._frames.back, self._simulation
        frame.time = self._time_before + simulation.time
        frame.q[:], frame.v[:] = simulation.q[0], simulation.v[0]
        frame.target[:], frame.tau[:] = simulation.target[0], simulation.tau[0]
        frame.link_poses[:] = engine.link_poses(self._model, frame.q)
        frame.factor = self._achieved.mark(time.perf_counter(), frame.time) if self._playing else math.nan
        if len(self._anchor) != len(frame.q) or np.abs(frame.q - self._anchor).max(initial=0.0) > STILL:
            self._anchor, self._moved = frame.q.copy(), time.perf_counter()
        self._watch_limits(frame)
        self._frames.publish()
        self._frames.back.phases[:] = math.nan

    def _watch_limits(self, frame: Snapshot) -> None:
        """Tell of coordinates that have come to a limit; one counts as gone from it at 1 % of its range."""
        model = self._model
        scalar = np.flatnonzero(model.q_of_v >= 0)
        q, lower, upper = frame.q[model.q_of_v[scalar]], model.lower[scalar], model.upper[scalar]
        room = np.minimum(q - lower, upper - q)
        band = np.where(np.isfinite(upper - lower), 1e-2 * (upper - lower), 1e-2)
        reached = np.flatnonzero((room <= 0.05 * band) & ~self._at_limit[scalar])
        self._at_limit[scalar[room <= 0.05 * band]] = True
        self._at_limit[scalar[room > band]] = False
        if self._playing and len(reached):
            names = tuple(model.coordinate_names[dof] for dof in scalar[reached])
            self._events.put(LimitsReached(frame.time, names))


def _settled(model: engine.Model, settings: Settings) -> Settings:
    """The settings with the step that is suggested, where that is what they ask for."""
    if not settings.automatic:
        return settings
    step = engine.suggested_step(model, settings.held)
    return replace(settings, dt=step.dt, integrator=step.integrator)


def _held(model: engine.Model, settings: Settings) -> np.ndarray:
    """(nv,): which velocities are those of joints that gains hold."""
    held = (model.q_of_v >= 0) & settings.held
    held[sorted(settings.driven)] = False
    return held


def _simulation(model: engine.Model, settings: Settings) -> engine.Simulation:
    kp, kd = engine.holding_gains(model, settings.dt, settings.integrator)
    kp[sorted(settings.driven)] = kd[sorted(settings.driven)] = 0.0
    if not settings.held:
        kp[:] = kd[:] = 0.0
    model = model if settings.gravity else model.with_gravity((0.0, 0.0, 0.0))
    return engine.Simulation(
        model, dt=settings.dt, integrator=settings.integrator, algorithm=settings.algorithm, kp=kp, kd=kd
    )


def _refusal(path: str, fault: OSError | ValueError) -> engine.Diagnostic:
    reason = (fault.strerror or str(fault)) if isinstance(fault, OSError) else str(fault)
    cure = "check the path and that the file may be read" if isinstance(fault, OSError) else "correct the file"
    return engine.Diagnostic("error", None, Path(path).name, reason, cure)
