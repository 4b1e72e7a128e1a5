"""`rollout`: a whole motion in one call, and the file that keeps it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from engine import arguments, files
from engine.arguments import Array
from engine.model import Model
from engine.simulation import PHASES, Simulation


@dataclass(frozen=True)
class Trajectory:
    """States at `time` (samples,): q (samples, nq), v and tau (samples, nv); a batch stands in front.

    `tau` is the control during the step that ends at the sample; the first sample is the start.
    """

    time: Array
    q: Array
    v: Array
    tau: Array


def rollout(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike | None = None,
    controls: ArrayLike | None = None,
    *,
    steps: int | None = None,
    dt: float = 1e-3,
    integrator: str = "semi-implicit",
    algorithm: str = "auto",
    limits: bool = True,
    every: int = 1,
) -> Trajectory:
    """The motion from q0 (nq,) or (batch, nq) and v0, by default rest, every `every`-th state of it.

    `controls` are generalized forces: (steps, nv) for all robots, (batch, steps, nv), or (nv,) held for `steps` steps;
    none means zero. Raises `Diverged` like `Simulation`.
    """
    (q, v), single = arguments.states(model, q=q0, v=np.zeros(model.nv) if v0 is None else v0)
    sequence, steps = _controls(model, controls, len(q), steps)
    if every < 1 or steps < 1 or steps % every:
        raise ValueError(f"every is {every} and steps {steps}; expected steps to be a positive multiple of every")
    simulation = Simulation(model, len(q), dt, integrator, algorithm, limits, q, v)
    samples = steps // every
    record = np.empty((len(q), samples + 1, model.nq)), np.empty((len(q), samples + 1, model.nv))
    record[0][:, 0], record[1][:, 0] = q, v
    later = np.empty((len(q), samples, model.nq)), np.empty((len(q), samples, model.nv))
    simulation.advance(steps, sequence, every, later)
    record[0][:, 1:], record[1][:, 1:] = later
    tau = np.concatenate([sequence[:, :1], sequence[:, every - 1 :: every]], 1)
    time = np.arange(samples + 1) * (dt * every)
    return Trajectory(time, *(array[0] if single else array for array in (*record, tau)))


def _controls(model: Model, controls: ArrayLike | None, batch: int, steps: int | None) -> tuple[Array, int]:
    array = np.zeros(model.nv) if controls is None else np.asarray(controls, float)
    if array.ndim == 1:
        if steps is None:
            raise ValueError("steps is not given; expected the number of steps, since the controls do not say it")
        array = np.broadcast_to(array, (steps, *array.shape))
    if array.ndim == 2:
        array = np.broadcast_to(array, (batch, *array.shape))
    if array.ndim != 3 or array.shape[0] != batch or array.shape[2] != model.nv or steps not in (None, array.shape[1]):
        expected = f"(nv,), (steps, nv) or (batch, steps, nv) with nv {model.nv}, batch {batch}"
        raise ValueError(
            f"controls has shape {np.shape(array)}; expected {expected}" + (f", steps {steps}" if steps else "")
        )
    if not np.all(np.isfinite(array)):
        raise ValueError("controls holds a number that is not finite; every control must be finite")
    return np.ascontiguousarray(array), array.shape[1]


class Recorder:
    """Runs one robot's simulation in short stretches, so that a caller can look up; keeps states and timings.

    `controls` are (1, steps, nv) or None; with `keep` false only the timings are kept. After `run`, also one cut short
    by an exception, `trajectory` holds what was done and `phases` the median seconds of the phases of a step.
    """

    def __init__(
        self, simulation: Simulation, steps: int, every: int = 1, controls: Array | None = None, keep: bool = True
    ):
        self._simulation, self._steps, self._every, self._controls = simulation, steps, every, controls
        model, samples = simulation.model, steps // every if keep else 0
        self._keep = keep
        self._q, self._v = np.empty((1, samples + 1, model.nq)), np.empty((1, samples + 1, model.nv))
        self._q[:, 0], self._v[:, 0] = simulation.q, simulation.v
        self._phases: list[dict[str, float]] = []
        self._samples = 1

    def run(self, look_up: Callable[[int], None], seconds: float = 0.05) -> None:
        """All steps; `look_up` is told how many are done about every `seconds` of wall time."""
        stretch, done = self._every, 0
        while done < self._steps:
            n = min(stretch, self._steps - done)
            start = perf_counter()
            self._advance(done, n)
            elapsed = perf_counter() - start
            done += n
            stretch = max(1, int(n * seconds / max(elapsed, 1e-6)) // self._every) * self._every
            look_up(done)

    def _advance(self, done: int, n: int) -> None:
        model, samples = self._simulation.model, n // self._every
        controls = None if self._controls is None else np.ascontiguousarray(self._controls[:, done : done + n])
        record = np.empty((1, samples, model.nq)), np.empty((1, samples, model.nv))
        self._simulation.advance(n, controls, self._every, record if self._keep else None)
        self._phases.append(self._simulation.phases)
        if self._keep:
            first = self._samples
            self._q[:, first : first + samples], self._v[:, first : first + samples] = record
            self._samples += samples

    def phases(self) -> dict[str, float]:
        """The median over the timed steps of each phase, s."""
        return {name: float(np.median([sample[name] for sample in self._phases] or [0.0])) for name in PHASES}

    def trajectory(self) -> Trajectory:
        """What was recorded so far."""
        n, every, nv = self._samples, self._every, self._simulation.model.nv
        tau = np.zeros((n, nv))
        if self._controls is not None:
            tau[0] = self._controls[0, 0]
            tau[1:] = self._controls[0, every - 1 :: every][: n - 1]
        time = np.arange(n) * (every * self._simulation.dt)
        return Trajectory(time, self._q[0, :n], self._v[0, :n], tau)


def save(
    path: str | Path, model: Model, trajectory: Trajectory, settings: dict[str, Any], controls: Array | None = None
) -> None:
    """Write a trajectory and all it takes to run it again to an .npz file, whole or not at all.

    The file holds the arrays of `Trajectory`, `joint_names`, `coordinate_names`, `settings` as JSON text and, where
    there are any, all `controls` (1, steps, nv).
    """
    with files.replacing(path) as file:
        np.savez_compressed(
            file,
            **asdict(trajectory),
            joint_names=np.array(model.joint_names),
            coordinate_names=np.array(model.coordinate_names),
            settings=np.array(json.dumps(settings)),
            **({} if controls is None else {"controls": controls[0]}),
        )
