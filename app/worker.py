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
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

import engine

TICK = 1 / 60  # s, from one tick to the next
DEADLINE = 0.012  # s of wall time that a tick may spend on steps
LONGER = 0.040  # s of it after a tick that could not pay its debt: time to simulate rather than to show
BURST = 0.004  # s that one call into compiled code may last
PATIENCE = 0.001  # s of rest after a tick that could not pay its debt
MEMORY = 0.5  # s of wall time over which the achieved speed is measured


class Snapshot:
    """The state at one moment, in buffers that are used again."""

    def __init__(self, model: engine.Model):
        self.time = 0.0
        """Simulated time, s."""
        self.q = np.zeros(model.nq)
        self.v = np.zeros(model.nv)
        self.link_poses = np.zeros((len(model.link_names), 4, 4))
        self.phases = np.full(len(engine.PHASES), math.nan)
        """Seconds of each of `engine.PHASES` in the last step; NaN where none was taken since the last snapshot."""
        self.factor = math.nan
        """Simulated seconds per wall second, measured; NaN while paused or not yet known."""


class Latest:
    """Hands snapshots from one thread to another: the latest wins, neither side waits for the other."""

    def __init__(self, model: engine.Model):
        self.back = Snapshot(model)
        """The writer's own, to fill before `publish`."""
        self._middle, self._front = Snapshot(model), Snapshot(model)
        self._fresh = False
        self._lock = threading.Lock()

    def publish(self) -> None:
        """Make the filled buffer the latest; whatever was there unfetched is dropped."""
        with self._lock:
            self.back, self._middle = self._middle, self.back
            self._fresh = True

    def withdraw(self) -> None:
        """Take back what nobody fetched."""
        with self._lock:
            self._fresh = False

    def take(self) -> Snapshot | None:
        """The latest snapshot, valid until the next `take`; None if there is none since the last."""
        with self._lock:
            if not self._fresh:
                return None
            self._front, self._middle, self._fresh = self._middle, self._front, False
            return self._front


@dataclass(frozen=True)
class Settings:
    """How a simulation is set up."""

    dt: float = 1e-3
    integrator: str = "semi-implicit"
    gravity: bool = True
    algorithm: str = "auto"


@dataclass(frozen=True)
class Loaded:
    """A robot was loaded and stands ready, paused at time zero. Its snapshots come through `frames`."""

    model: engine.Model
    path: str
    frames: Latest
    gravity: bool
    algorithm: str
    why: str


@dataclass(frozen=True)
class Refused:
    """A file was not loaded; the robot before it is still there."""

    path: str
    diagnostics: tuple[engine.Diagnostic, ...]


@dataclass(frozen=True)
class Stopped:
    """The run ended by itself: the state is no longer finite, or a fault in the program."""

    message: str
    detail: str = ""


@dataclass(frozen=True)
class LimitsReached:
    """Joint coordinates that have just come to a position limit."""

    time: float
    names: tuple[str, ...]


@dataclass(frozen=True)
class Configured:
    """The settings in force from now on. `refusal`: why those asked for are not, in a sentence; else empty."""

    settings: Settings
    algorithm: str
    why: str
    refusal: str = ""


Event = Loaded | Refused | Stopped | LimitsReached | Configured


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
        self._newest_open = 0
        self._known: Latest | None = None
        self._model: engine.Model | None = None
        self._simulation: engine.Simulation | None = None
        self._frames: Latest | None = None
        self._settings = Settings()
        self._time_before = 0.0  # simulated before the present Simulation took over
        self._playing = self._quitting = self._changed = False
        self._speed = 1.0
        self._owed = self._step_cost = self._last_tick = 0.0
        self._achieved = _Achieved()
        self._at_limit = np.zeros(0, bool)
        # A daemon only for a program that dies before it can close: `close` ends the thread and waits.
        self._thread = threading.Thread(target=self._run, name="simulation", daemon=True)
        self._thread.start()

    # Called from any thread.

    def open(
        self,
        source: str | engine.Model,
        settings: Settings,
        floating: bool = False,
        package_dirs: tuple[str, ...] = (),
    ) -> None:
        """Load a file, or take a ready model, and replace the robot.

        Gravity starts off on a floating base, and the algorithm is chosen anew.
        """
        self._newest_open += 1
        self._commands.put(partial(self._open, self._newest_open, source, settings, floating, package_dirs))

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
        """Put q[q] to `value` (rad or m), and the velocities v to rest."""
        self._command(partial(self._set_coordinate, q, v, value))

    def set_speed(self, speed: float) -> None:
        """Simulated seconds asked for per wall second."""
        self._commands.put(partial(self._set_speed, speed))

    def configure(self, settings: Settings) -> None:
        """Go on from the present state and time under other settings."""
        self._commands.put(partial(self._configure, settings))

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
        """End the thread, and wait until it has."""
        self._commands.put(self._quit)
        self._thread.join()

    # Called from the worker's thread only.

    def _run(self) -> None:
        while not self._quitting:
            try:
                self._obey()
                if self._playing:
                    self._tick()
                if self._changed:
                    self._publish()
            except engine.Diverged as stop:
                self._stop(Stopped(str(stop)))
            except Exception as fault:  # the thread must live on, and the user must hear of it
                self._stop(Stopped(f"the simulation stopped: {fault}", traceback.format_exc()))

    def _obey(self) -> None:
        """Wait for a command, or while playing for the next tick; then obey all that are there."""
        try:
            self._commands.get(timeout=self._rest() if self._playing else None)()
            while not self._quitting:
                self._commands.get_nowait()()
        except queue.Empty:
            return

    def _rest(self) -> float:
        if self._owed > self._settings.dt:
            return PATIENCE
        return max(PATIENCE, self._last_tick + TICK - time.perf_counter())

    def _open(
        self,
        number: int,
        source: str | engine.Model,
        settings: Settings,
        floating: bool,
        package_dirs: tuple[str, ...],
    ) -> None:
        if number != self._newest_open:
            return  # a later one is on its way
        path = source if isinstance(source, str) else source.source or source.name
        try:
            model = self._load(source, package_dirs, floating=floating) if isinstance(source, str) else source
            gravity = not any(joint.kind == "floating" for joint in model.joints)
            settings = Settings(settings.dt, settings.integrator, gravity)
            simulation = _simulation(model, settings)
            simulation.step(1)  # compiles what is not compiled yet, before anyone waits for a picture
            simulation.reset()
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
        self._events.put(Loaded(model, path, self._frames, gravity, simulation.algorithm, simulation.why))

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
        self._owed, self._last_tick = 0.0, time.perf_counter()
        self._achieved = _Achieved()

    def _pause(self) -> None:
        self._playing = False
        self._changed = True

    def _step(self, count: int) -> None:
        self._pause()
        if self._simulation is not None:
            self._burst(count)

    def _reset(self, q: np.ndarray) -> None:
        if self._simulation is not None:
            self._simulation.reset(q[None])
            self._restart_clock(0.0)

    def _set_coordinate(self, q: int, v: tuple[int, ...], value: float) -> None:
        if self._simulation is not None:
            self._simulation.q[0, q] = value
            self._simulation.v[0, list(v)] = 0.0
            self._changed = True

    def _set_speed(self, speed: float) -> None:
        self._speed = speed
        self._owed = 0.0
        self._achieved = _Achieved()

    def _configure(self, settings: Settings) -> None:
        if self._model is None or self._simulation is None:
            self._settings = settings
            return
        before, refusal = self._simulation, ""
        try:
            after = _simulation(self._model, settings)
            after.reset(before.q.copy(), before.v.copy())
            self._simulation, self._settings = after, settings
            self._frames.withdraw()  # its phases would be taken for the new settings'
            self._restart_clock(self._time_before + before.time)
        except ValueError as fault:
            refusal = str(fault)
        now = self._simulation
        self._events.put(Configured(self._settings, now.algorithm, now.why, refusal))

    def _quit(self) -> None:
        self._quitting = True

    def _stop(self, event: Stopped) -> None:
        self._playing = self._changed = False
        self._events.put(event)

    def _tick(self) -> None:
        """Pay the simulated time owed since the last tick, as far as the deadline allows."""
        dt, now = self._settings.dt, time.perf_counter()
        elapsed, self._last_tick = now - self._last_tick, now
        deadline = LONGER if self._owed >= dt else DEADLINE
        self._owed = min(self._owed + self._speed * elapsed, self._speed * 2 * TICK + dt)
        while self._owed >= dt:
            affordable = int(BURST / self._step_cost) if self._step_cost else 1
            count = max(1, min(int(self._owed / dt), affordable))
            self._burst(count)
            self._owed -= count * dt
            if time.perf_counter() - now > deadline or not self._commands.empty():
                break

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
        frame.link_poses[:] = engine.link_poses(self._model, frame.q)
        frame.factor = self._achieved.mark(time.perf_counter(), frame.time) if self._playing else math.nan
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


def _simulation(model: engine.Model, settings: Settings) -> engine.Simulation:
    model = model if settings.gravity else model.with_gravity((0.0, 0.0, 0.0))
    return engine.Simulation(model, dt=settings.dt, integrator=settings.integrator, algorithm=settings.algorithm)


def _refusal(path: str, fault: OSError | ValueError) -> engine.Diagnostic:
    reason = (fault.strerror or str(fault)) if isinstance(fault, OSError) else str(fault)
    cure = "check the path and that the file may be read" if isinstance(fault, OSError) else "correct the file"
    return engine.Diagnostic("error", None, Path(path).name, reason, cure)
