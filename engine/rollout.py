"""`rollout`: a whole motion in one call; and the recorder of a run in stretches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from engine import validation
from engine.controller import Controller
from engine.device_arrays import on_device, to_host
from engine.divergence import Diverged
from engine.logged import Logged, logged_of, names_in, table_of_logged
from engine.model import Model
from engine.parameters import Parameters
from engine.real_numbers import reals
from engine.scene import Scene
from engine.simulation import Simulation
from engine.validation import Array

KEPT = ("q", "v", "tau")
"""The arrays of a motion that can be kept."""


@dataclass(frozen=True)
class Trajectory:
    """States at `time` (samples,): q (samples, nq), v and tau (samples, nv); a batch adds a leading axis.

    `tau` is the control during the step that ends at the sample; of a recorded run it is the drives' effort, including
    gains. The first sample is the start. Arrays that were not kept are None. q, v and tau are arrays of the
    simulation's device and number type, `time` is NumPy's. `wrench` (samples, links, 6) are the external wrenches in
    that step, as `Simulation.wrench`, on the links of a recorded run that have any: `wrench_links`. `logged` (samples,
    names) are the numbers that were logged in that step under `logged_names`, see `Simulation.logged`, NaN where one
    had none; None if there are no names. They are the program's, and not those of one robot of a batch.
    """

    time: Array
    q: Any
    v: Any
    tau: Any
    wrench: Any = None
    wrench_links: tuple[str, ...] = ()
    logged: Array | None = None
    logged_names: tuple[str, ...] = ()


def rollout(
    model: Model,
    q0: Any,
    v0: Any = None,
    controls: Any = None,
    *,
    steps: int | None = None,
    dt: float = 1e-3,
    integrator: str = "semi-implicit",
    algorithm: str = "auto",
    limits: bool = True,
    every: int = 1,
    device: str | None = None,
    dtype: str = "float64",
    kp: ArrayLike | None = None,
    kd: ArrayLike | None = None,
    target: Any = None,
    parameters: Parameters | None = None,
    keep: Sequence[str] = KEPT,
    threads: int | None = None,
    scene: Scene | None = None,
) -> Trajectory:
    """The motion from q0 (nq,) or (batch, nq) and v0, by default rest, with every `every`-th state.

    `controls` are generalized forces: (steps, nv) for all robots, (batch, steps, nv), or (nv,) held for `steps` steps;
    none means zero. `target` (nv,) or (batch, nv) is held, by default the start; other arguments are those of
    `Simulation`. Only arrays that `keep` names are recorded. Raises `Diverged` like `Simulation`, with all earlier
    samples as its `trajectory`.
    """
    rows = [len(x) for x in (q0, v0) if np.ndim(x) == 2]
    single, batch = not rows, max(rows, default=1)
    sequence, steps = _controls(model, controls, batch, steps)
    dt = validation.time_step(dt)
    if every < 1 or steps < 1 or steps % every:
        raise ValueError(f"every is {every} and steps {steps}; expected steps to be a positive multiple of every")
    validation.integer("steps", steps, 1, validation.MAX_STEPS)
    for name in keep:
        validation.one_of("keep", name, KEPT)
    simulation = Simulation(
        model, batch, dt, integrator, algorithm, limits=limits, q=q0, v=v0, device=device, dtype=dtype, kp=kp, kd=kd,
        parameters=parameters, timed=False, threads=threads, scene=scene,
    )  # fmt: skip
    if target is not None:
        simulation.target[:] = simulation.array(_target(model, target, batch))
    sequence, samples, held = simulation.array(sequence), steps // every + 1, sequence.shape[1] == 1
    if held:
        simulation.tau[:] = sequence[:, 0]
    record = [
        simulation.empty(batch, samples, width) if name in keep else None
        for name, width in (("q", model.nq), ("v", model.nv))
    ]
    tau = None
    if "tau" in keep:
        shown = sequence if held else np.concatenate([sequence[:, :1], sequence[:, every - 1 :: every]], 1)
        tau = np.broadcast_to(shown, (batch, samples, model.nv))
    time = np.arange(samples) * (dt * every)

    def kept(samples: int) -> Trajectory:
        parts = (None if x is None else x[0, :samples] if single else x[:, :samples] for x in (*record, tau))
        q, v, tau_kept = parts
        return Trajectory(time[:samples], q, v, tau_kept)

    try:
        simulation.advance(steps, None if held else sequence, every, (record[0], record[1]))
        simulation.check()
    except Diverged as error:
        error.trajectory = kept(1 + (simulation.steps - 1) // every)
        raise
    return kept(samples)


def _controls(model: Model, controls: Any, batch: int, steps: int | None) -> tuple[Any, int]:
    """Return controls as (1 or batch, steps, nv), or (1, 1, nv) if constant; and the number of steps."""
    array: Any = np.zeros(model.nv) if controls is None else controls
    if not on_device(array):
        try:
            array = reals(array)
        except (TypeError, ValueError) as error:
            raise TypeError(f"controls are generalized forces, numbers of {model.nv} velocities ({error})") from None
        if not np.all(np.isfinite(array)):
            raise ValueError("controls holds a number that is not finite; every control must be finite")
    if array.ndim == 1 and steps is None:
        raise ValueError("steps is not given; expected the number of steps, since the controls do not say it")
    count = array.shape[-2] if array.ndim in (2, 3) else steps
    fits = array.ndim in (1, 2) or (array.ndim == 3 and len(array) == batch)
    if count is None or not fits or array.shape[-1] != model.nv or steps not in (None, count):
        expected = f"(nv,), (steps, nv) or (batch, steps, nv) with nv {model.nv}, batch {batch}"
        raise ValueError(
            f"controls has shape {np.shape(array)}; expected {expected}" + (f", steps {steps}" if steps else "")
        )
    return array.reshape((1,) * (3 - array.ndim) + array.shape), count


def _target(model: Model, target: Any, batch: int) -> Any:
    """Return a target unchanged, if it is (nv,) or (1 or batch, nv)."""
    if not on_device(target):
        target, _ = validation.as_batch("target", target, model.nv, "where the gains pull to")
    if target.shape not in ((model.nv,), (1, model.nv), (batch, model.nv)):
        raise ValueError(f"target has shape {np.shape(target)}; expected ({model.nv},) or ({batch}, {model.nv})")
    return target


class Recorder:
    """Runs a simulation in short stretches, with callbacks in between; keeps states and timings, on the host.

    `controls` are (1 or batch, steps, nv) or None; with `keep` false only the timings are kept. A `controller` of one
    robot supplies them during the run. After `run`, also one ended by an exception, `trajectory` and `controls` are
    those of the completed steps and `phases` the median seconds of a step's phases.
    """

    def __init__(
        self,
        simulation: Simulation,
        steps: int,
        every: int = 1,
        controls: Array | None = None,
        keep: bool = True,
        controller: Controller | None = None,
    ):
        self._simulation, self._steps, self._every, self._controls = simulation, steps, every, controls
        self._controller = controller
        if controller is not None:
            controller.wait()
            self._held = controller.every(simulation.dt)
            self._controls = np.zeros((1, steps, simulation.model.nv)) if keep else None
        model, samples = simulation.model, steps // every if keep else 0
        self._keep, self._logged = keep, list[Logged | None]()  # what was logged in each step
        self._q, self._v = (np.empty((simulation.batch, samples + 1, width)) for width in (model.nq, model.nv))
        self._q[:, 0], self._v[:, 0] = map(to_host, (simulation.q, simulation.v))
        self._phases: list[dict[str, float]] = []
        self._samples, self._done = 1, 0

    @property
    def controls(self) -> Array | None:
        """(1 or batch, steps, nv): those of the completed steps."""
        return None if self._controls is None else self._controls[:, : self._done]

    def run(self, report: Callable[[int], None], seconds: float = 0.05) -> None:
        """Take all steps; `report` is called with the number completed about every `seconds` of wall time."""
        if self._controller is not None:
            self._run_controlled(self._controller, report, seconds)
            return
        stretch, done = self._every, 0
        while done < self._steps:
            n = min(stretch, self._steps - done)
            start = perf_counter()
            self._advance(done, n)
            elapsed = perf_counter() - start
            done = self._done = done + n
            stretch = max(1, int(n * seconds / max(elapsed, 1e-6)) // self._every) * self._every
            report(done)

    def _run_controlled(self, controller: Controller, report: Callable[[int], None], seconds: float) -> None:
        """Take all steps, in stretches of constant control, recording every state for the controller."""
        simulation, done, reported = self._simulation, 0, perf_counter()
        while done < self._steps:
            n = min(self._held, self._steps - done)
            (q,), (v,) = map(to_host, (simulation.q, simulation.v))
            effort = controller(simulation.time, q, v)
            if self._controls is not None:
                self._controls[:, done : done + n] = effort
                self._logged += [logged_of(controller.logged)] * n
            record = simulation.empty(1, n + 1, q.size), simulation.empty(1, n + 1, v.size)
            sound, failure = self._advanced(n, simulation.array(np.tile(effort, (1, n, 1))), 1, record)
            sampled = np.arange(done + 1, done + sound + 1)
            sampled = sampled[sampled % self._every == 0]
            if self._keep:
                self._q[:, sampled // self._every], self._v[:, sampled // self._every] = (
                    to_host(states)[:, sampled - done] for states in record
                )
            self._samples += len(sampled) if self._keep else 0
            done = self._done = done + sound
            if failure:
                raise failure
            if perf_counter() > reported + seconds or done == self._steps:
                reported = perf_counter()
                self._phases.append(simulation.phases)
                report(done)

    def _advance(self, done: int, n: int) -> None:
        simulation, samples = self._simulation, n // self._every
        controls = None if self._controls is None else simulation.array(self._controls[:, done : done + n])
        record = None
        if self._keep:
            rows, widths = (simulation.batch, samples + 1), (self._q.shape[2], self._v.shape[2])
            record = simulation.empty(*rows, widths[0]), simulation.empty(*rows, widths[1])
        sound, failure = self._advanced(n, controls, self._every, record)
        self._phases.append(simulation.phases)
        if record:
            samples = sound // self._every
            here, part = slice(self._samples - 1, self._samples + samples), slice(samples + 1)
            self._q[:, here], self._v[:, here] = (to_host(x)[:, part] for x in record)
            self._samples += samples
        if failure:
            self._done += sound
            raise failure

    def _advanced(
        self, n: int, controls: Any, every: int, record: tuple[Any, Any] | None
    ) -> tuple[int, Diverged | None]:
        """Return how many of n steps were finite, and the divergence that ended them."""
        simulation, before = self._simulation, self._simulation.steps
        try:
            simulation.advance(n, controls, every, record)
            simulation.check()
        except Diverged as failure:
            return simulation.steps - 1 - before, failure
        return n, None

    @property
    def end(self) -> float:
        """The time of the last step taken, s."""
        return float(self._done * self._simulation.dt)

    def phases(self) -> dict[str, float]:
        """The median over the timed steps of each phase, s."""
        names = self._simulation.phases if not self._phases else self._phases[0]
        return {name: float(np.median([sample[name] for sample in self._phases] or [0.0])) for name in names}

    def trajectory(self) -> Trajectory:
        """The record so far; for one robot without the batch axis."""
        n, every, batch = self._samples, self._every, self._simulation.batch
        tau = np.zeros((batch, n, self._simulation.model.nv))
        if self._controls is not None:
            tau[:, 0] = self._controls[:, 0]
            tau[:, 1:] = self._controls[:, every - 1 :: every][:, : n - 1]
        time = np.arange(n) * (every * self._simulation.dt)
        q, v, tau = (x[0] if batch == 1 else x for x in (self._q[:, :n], self._v[:, :n], tau))
        logged = [*self._logged[:1], *self._logged[every - 1 :: every]][:n]
        names = names_in(logged)
        table = table_of_logged(logged, names) if names else None
        return Trajectory(time, q, v, tau, logged=table, logged_names=names)
