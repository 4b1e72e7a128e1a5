"""Simulate a batch of a study's samples, and reduce each run to the kept quantities.

Inputs are a `Group` and a `Task`, the result is a `Batch`. A sample's bits do not depend on the rest of the batch, on
threads or on processes: everything outside the engine's step is computed elementwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.compilation import Compilation
from engine.controller import ControllerError
from engine.device_arrays import to_host
from engine.parameters import Parameters
from engine.recording.files import how_made
from engine.scene import put_down
from engine.simulation import Simulation
from engine.study.controlling import Driver
from engine.study.description import Description, KeptNumber, StudyAxis
from engine.study.frames import Frames, Vector, plus, turned_back
from engine.study.plan import Group, Task
from engine.study.quantities import MEASURED, Instant, Quantity
from engine.validation import Array

ROBOT_VARIABLES = ("mass", "payload", "damping", "joint_friction", "kp", "kd", "slope", "gravity")
"""Variables that change the robots' parameters, rather than initial state or pushes."""


@dataclass(frozen=True, eq=False)
class Batch:
    """The results of samples (N,): `columns` (N,) by name, NaN or false for robots that `diverged` (N,).

    `diverged_at` (N,) is in s. `trajectories` has time (looks,), q (looks, nq), v and tau (looks, nv) of those to
    be kept; `made` has the simulation settings of each, in the form of a run file. `seconds` is the wall time.
    """

    task: Task
    columns: dict[str, NDArray[Any]]
    diverged: NDArray[np.bool_]
    diverged_at: Array
    seconds: float = 0.0
    trajectories: dict[int, tuple[Array, Array, Array, Array]] = field(default_factory=dict)
    made: dict[int, dict[str, Any]] = field(default_factory=dict)

    def of(self, task: Task) -> Batch:
        """Return the batch with that task, which a worker need not send back."""
        return replace(self, task=task)


def simulate(
    study: Description, group: Group, task: Task, threads: int | None = None, paths: bool = False, alone: bool = False
) -> Batch:
    """Step these samples from start to end; keep the trajectories that the study names, or all with `paths`.

    `alone`: this process does nothing else and can be killed, so a controller may run in it.

    Raises ValueError for values that no robot can have, and RuntimeError if a controller fails.
    """
    if group.program is None:
        return _as_fits(study, group, task, threads, paths)
    began, batches = perf_counter(), []
    with group.program.placed() as path, Driver(path, group.model, study.seed, alone) as driver:
        for one in map(task.only, range(len(task.samples))):
            parameters = {axis.of: float(one.values[axis.name][0]) for axis in study.axes if axis.what == "parameter"}
            try:
                driver.begin(int(one.samples[0]), parameters)
                batches.append(_stepped(study, group, one, threads, paths, driver))
            except ControllerError as error:
                raise RuntimeError(f"sample {int(one.samples[0])}: {error}") from None
    return _joined(task, batches, perf_counter() - began)


def _as_fits(study: Description, group: Group, task: Task, threads: int | None, paths: bool) -> Batch:
    """Step the samples together, or in halves if they do not fit into memory."""
    began, count = perf_counter(), len(task.samples)
    try:
        return _stepped(study, group, task, threads, paths)
    except MemoryError:
        if count == 1:
            raise
    halves = [
        _as_fits(study, group, part, threads, paths)
        for part in (task.part(0, count // 2), task.part(count // 2, count))
    ]
    return _joined(task, halves, perf_counter() - began)


def _joined(task: Task, batches: list[Batch], seconds: float) -> Batch:
    """Concatenate the batches of a task's parts."""
    columns = {name: np.concatenate([batch.columns[name] for batch in batches]) for name in batches[0].columns}
    lost, when = (np.concatenate([getattr(batch, name) for batch in batches]) for name in ("diverged", "diverged_at"))
    trajectories = {sample: path for batch in batches for sample, path in batch.trajectories.items()}
    made = {sample: how for batch in batches for sample, how in batch.made.items()}
    return Batch(task, columns, lost, when, seconds, trajectories, made)


def _stepped(
    study: Description, group: Group, task: Task, threads: int | None, paths: bool, driver: Driver | None = None
) -> Batch:
    """Step samples together; a single one if a controller drives it."""
    began = perf_counter()
    simulation = _simulation(study, group, task, threads)
    steps = round(study.seconds / group.settings.dt)
    pushes = _Pushes(study, group, task, simulation)
    advance = pushes.advance if driver is None else partial(driver.advance, simulation, pushes.advance)
    running = [_Running(kept, quantity) for kept, quantity in zip(study.kept, group.quantities, strict=True)]
    chosen = np.flatnonzero(np.isin(task.samples, study.trajectories) | paths)
    samples_needed = len(chosen) > 0 or any(each.follows for each in running)
    stride = max(1, round(study.every / group.settings.dt)) if samples_needed else max(1, steps)
    states: list[tuple[float, Array, Array, Array]] = []
    clock = _Clock(simulation, any(quantity.kind == MEASURED for quantity in group.quantities))
    for start in range(0, steps + stride, stride):
        instant = Instant(simulation, clock.step_time)
        for each in running:
            if each.follows or start == 0 or start >= steps:
                each.take(instant)
        if len(chosen):
            q, v, tau = (np.array(to_host(x[chosen]), float) for x in (simulation.q, simulation.v, simulation.tau))
            states.append((simulation.time, q, v, tau))
        if start >= steps:
            break
        with clock:
            advance(min(stride, steps - start))
    simulation.check()
    diverged = np.array(to_host(simulation.diverged), bool)
    diverged_at = np.full(len(task.samples), np.nan)
    if np.any(diverged):
        divergences = simulation.checkpoint().divergences
        assert divergences is not None
        diverged_at[diverged] = divergences[0][diverged] * simulation.dt
    columns = {each.kept.name: each.result(diverged) for each in running}
    looks = tuple(map(np.array, zip(*states, strict=True)))
    trajectories = {int(task.samples[row]): (looks[0], *(x[:, k] for x in looks[1:])) for k, row in enumerate(chosen)}
    made = {int(task.samples[row]): _made(study, group, task.only(int(row)), threads) for row in chosen}
    return Batch(task, columns, diverged, diverged_at, perf_counter() - began, trajectories, made)  # type: ignore[arg-type]


def _made(study: Description, group: Group, task: Task, threads: int | None) -> dict[str, Any]:
    """Return the settings of one robot's simulation, from which its run can be continued."""
    return how_made(_simulation(study, group, task, threads))


def compile_steps(study: Description, group: Group, task: Task) -> None:
    """Compile the code for these samples' steps, if it is not on disk, before several processes would do so."""
    task = task if group.program is None else task.only(0)
    Compilation(_simulation(study, group, task, 1)).here()


def _simulation(study: Description, group: Group, task: Task, threads: int | None) -> Simulation:
    model, count, settings = group.model, len(task.samples), group.settings
    kp, kd = group.gains
    parameters = None
    if _differ(study, group):
        parameters = Parameters(model, count)
        kp, kd = (np.repeat(gains[None], count, 0) for gains in group.gains)
    varied = {axis.what for axis in study.axes}
    q, v = group.q, np.zeros(model.nv)  # one row for all, unless they differ: much faster to check and to copy
    if "position" in varied:
        q = np.repeat(q[None], count, 0)
    if "velocity" in varied:
        v = np.repeat(v[None], count, 0)
    slope = np.full(count, study.slope)
    for axis in study.axes:
        x = task.values[axis.name]
        if parameters is not None and axis.what in ("mass", "payload"):
            _set_masses(parameters, axis, x)
        elif parameters is not None and axis.what in ("damping", "joint_friction", "kp", "kd"):
            of = {"damping": parameters.damping, "joint_friction": parameters.friction, "kp": kp, "kd": kd}[axis.what]
            _set_of_joints(group, of, axis, x)
        elif axis.what == "position":
            q[:, model.q_slice(axis.of)] = x[:, None]
        elif axis.what == "velocity":
            v[:, model.v_slice(axis.of)] = x[:, None]
        elif axis.what == "slope":
            slope = x
        elif parameters is not None and axis.what == "gravity":
            parameters.gravity[:] = x[:, None] * (0.0, 0.0, -1.0)
    if "position" in varied and group.scene is not None:
        q = put_down(model, group.scene, q)
    if parameters is not None:
        parameters.gravity[:] = _tilted(parameters.gravity, np.radians(slope))
    return Simulation(
        model, count, settings.dt, settings.integrator, settings.algorithm, limits=study.limits, q=q, v=v,
        device=settings.device, dtype=settings.dtype, kp=kp, kd=kd, parameters=parameters, timed=False,
        threads=group.threads or threads, on_divergence="freeze", scene=group.scene, wrenches=bool(study.pushes),
    )  # fmt: skip


def _differ(study: Description, group: Group) -> bool:
    """Whether the robots of a batch have parameters of their own.

    Without a scene this is always true, since identical robots use other code, which depends on their number.
    """
    varied = any(axis.what in ROBOT_VARIABLES for axis in study.axes)
    return group.scene is None or study.slope != 0 or varied


def _tilted(gravity: Array, angle: Array) -> Array:
    """Return gravity (N, 3) in the axes of ground that rises towards −x by these angles (N,), rad."""
    c, s = np.cos(angle), np.sin(angle)
    x, y, z = gravity.T
    return np.stack([c * x - s * z, y, s * x + c * z], 1)


def _set_masses(parameters: Parameters, axis: StudyAxis, x: Array) -> None:
    model = parameters.model
    if axis.what == "payload":
        link = model.link_names.index(axis.of)
        body, p = int(model.link_body[link]), model.link_position[link]
        parameters.mass[:, body] += x
        parameters.first_moment[:, body] += x[:, None] * p
        parameters.inertia[:, body] += x[:, None, None] * (float(p @ p) * np.eye(3) - np.outer(p, p))
        return
    every = axis.of == "all"
    bodies = range(len(model.parent)) if every else [int(model.link_body[model.link_names.index(axis.of)])]
    for body in bodies:
        scale = x if axis.factor else x / model.mass[body]
        parameters.mass[:, body] *= scale
        parameters.first_moment[:, body] *= scale[:, None]
        parameters.inertia[:, body] *= scale[:, None, None]


def _set_of_joints(group: Group, of: Array, axis: StudyAxis, x: Array) -> None:
    """Set a value for one joint, or for all whose coordinates gains may affect."""
    model = group.model
    columns = np.flatnonzero(model.q_of_v >= 0)
    if axis.of != "all":
        columns = np.arange(model.nv)[model.v_slice(axis.of)]
    of[:, columns] = of[:, columns] * x[:, None] if axis.factor else x[:, None]


class _Pushes:
    """The forces on links while a batch steps: in world axes, hence rotated to the link frames at each step."""

    def __init__(self, study: Description, group: Group, task: Task, simulation: Simulation):
        self._simulation, self._pushes, self._links = simulation, study.pushes, group.links
        self._acts = False
        if not study.pushes:
            return
        count, dt = len(task.samples), group.settings.dt
        self._begin, self._end, self._force = [], [], []
        for push in study.pushes:
            values = {name: np.full(count, getattr(push, name)) for name in ("force", "direction", "begin", "duration")}
            values |= {axis.what: task.values[axis.name] for axis in study.axes
                    if axis.variable.of == "push" and axis.of == push.name}  # fmt: skip
            self._begin.append(np.rint(values["begin"] / dt))
            self._end.append(np.rint((values["begin"] + values["duration"]) / dt))
            angle = np.radians(values["direction"])
            self._force.append([simulation.array(values["force"] * f(angle)) for f in (np.cos, np.sin)])
        self._bounds = np.unique(np.concatenate([*self._begin, *self._end]))

    def advance(self, steps: int) -> None:
        """Take `steps` steps."""
        simulation, end = self._simulation, self._simulation.steps + steps
        if not self._pushes:
            simulation.step(steps)
            return
        while simulation.steps < end:
            now = simulation.steps
            later = self._bounds[self._bounds > now]
            until = int(min(end, later[0] if len(later) else end))
            active = [(b <= now) & (now < e) for b, e in zip(self._begin, self._end, strict=True)]
            if any(np.any(each) for each in active):
                forces = [
                    (link, push.at, tuple(x * simulation.array(acts.astype(float)) for x in force))
                    for link, push, force, acts in zip(self._links, self._pushes, self._force, active, strict=True)
                ]
                while simulation.steps < until:
                    self._apply(forces)
                    simulation.step(1)
                continue
            if self._acts:
                simulation.wrench[:] = 0.0
                self._acts = False
            simulation.step(until - now)

    def _apply(self, forces: list[tuple[int, tuple[float, ...], tuple[Any, ...]]]) -> None:
        """Set the wrenches of the next step, from forces along the world's x and y at points of links."""
        simulation = self._simulation
        frames = Frames(simulation.model, simulation.q, simulation.v)
        by_link: dict[int, tuple[Vector, Vector]] = {}
        for link, (a, b, c), (x, y) in forces:
            fx, fy, fz = turned_back(frames.pose(link).R, (x, y, 0.0))
            moment = (b * fz - c * fy, c * fx - a * fz, a * fy - b * fx)
            earlier = by_link.get(link)
            both = (moment, (fx, fy, fz))
            by_link[link] = both if earlier is None else (plus(earlier[0], moment), plus(earlier[1], both[1]))
        for link, (moment, force) in by_link.items():
            for k, part in enumerate((*moment, *force)):
                simulation.wrench[:, link, k] = part
        self._acts = True


class _Clock:
    """The batch's time per step: the median over the intervals between looks, without the first."""

    def __init__(self, simulation: Simulation, waits: bool):
        self._simulation, self._waits = simulation, waits
        self._times: list[float] = []

    def __enter__(self) -> None:
        self._began, self._steps = perf_counter(), self._simulation.steps

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            return
        if self._waits:  # for a GPU, which otherwise runs asynchronously
            self._simulation.check()
        self._times.append((perf_counter() - self._began) / (self._simulation.steps - self._steps))

    def step_time(self) -> float:
        """Return s; NaN before two intervals."""
        return float(np.median(self._times[1:])) if len(self._times) > 1 else np.nan


class _Running:
    """A kept number, accumulated during the run."""

    def __init__(self, kept: KeptNumber, quantity: Quantity):
        self.kept, self._quantity = kept, quantity
        self._first: Any = None
        self._now: Any = None
        self._count = 0

    @property
    def follows(self) -> bool:
        """Whether it depends on the whole run, not only on its two ends."""
        return self.kept.take in ("min", "max", "mean") or self._quantity.kind == MEASURED

    def take(self, instant: Instant) -> None:
        """Accumulate the value of the current state."""
        x, take = instant.value(self._quantity), self.kept.take
        self._count += 1
        if self._first is None:
            self._first, self._now = x + 0.0, x + 0.0
        elif take in ("min", "max"):
            self._now = (np.minimum if take == "min" else np.maximum)(self._now, x)
        else:
            self._now = self._now + x if take == "mean" else x + 0.0

    def result(self, diverged: NDArray[np.bool_]) -> NDArray[Any]:
        """(N,): the number, or whether it is within the bounds."""
        now = np.array(to_host(self._now), float)
        if self.kept.take == "mean":
            now /= self._count
        elif self.kept.take == "change":
            now -= np.array(to_host(self._first), float)
        if not self.kept.predicate:
            return np.where(diverged, np.nan, now)
        below, above = self.kept.below, self.kept.above
        inside = (now < (np.inf if below is None else below)) & (now > (-np.inf if above is None else above))
        return inside & ~diverged
