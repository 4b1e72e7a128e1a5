"""Pinocchio, if installed, given exactly the same model: on one core and on all cores."""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from engine.bench.peers.peer import Missing, Timing, central_inertia
from engine.bench.states import State, residual, some_rows
from engine.cpu.runtime.cores import cores
from engine.model import FREE, PRISMATIC, REVOLUTE, SPHERICAL, Model
from engine.model.joints import NV
from engine.validation import Array

MAX_TIMED_ROBOTS = 4096
"""Number of robots of a larger batch on which one core is timed, repeatedly."""
ROUND = 0.05
"""Minimum seconds between two barriers of the processes, so that their cost is negligible."""
PATIENCE = 120.0
"""Seconds that processes wait for one another."""
CHECKED = 64
"""Number of robots of a batch whose results are checked."""


@dataclass(frozen=True)
class Pinocchio:
    """Pinocchio's model of one of ours, built body by body without a file."""

    model: Any
    aba: Callable[[Array, Array, Array], Array]
    order: Array
    """The index of Pinocchio's velocities in ours: its free joints have the linear part first."""

    def states(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """Convert our q, v and τ to Pinocchio's."""
        return q.copy(), v[self.order], tau[self.order]


def pinocchio_aba(model: Model) -> Pinocchio | None:
    """Return Pinocchio's articulated-body algorithm for a model without mimic joints; None if not installed."""
    try:
        import pinocchio as pin
    except ImportError:
        return None
    if model.has_mimic:
        raise ValueError(
            f"{model.name} has mimic joints, which Pinocchio's aba does not support; load it with mimic=False"
        )
    theirs, order = pin.Model(), []
    joints = {
        REVOLUTE: pin.JointModelRZ,
        PRISMATIC: pin.JointModelPZ,
        FREE: pin.JointModelFreeFlyer,
        SPHERICAL: pin.JointModelSpherical,
    }
    theirs.gravity.linear[:] = model.gravity
    for i, parent in enumerate(model.parent):
        kind, start = int(model.kind[i]), int(model.v_start[i])
        index = theirs.addJoint(
            int(parent) + 1, joints[kind](), pin.SE3(model.home_rotation[i], model.home_position[i]), f"joint{i}"
        )
        center, about_center = central_inertia(model, i)
        theirs.appendBodyToJoint(index, pin.Inertia(float(model.mass[i]), center, about_center), pin.SE3.Identity())
        run = list(range(start, start + int(NV[kind])))
        order += run[3:] + run[:3] if kind == FREE else run
    data = theirs.createData()
    return Pinocchio(theirs, lambda q, v, tau: pin.aba(theirs, data, q, v, tau), np.array(order))


def one_core(model: Model, at: State, seconds: float) -> Timing:
    """Time Pinocchio's `aba` in a Python loop over the batch, for about `seconds`. Raises Missing."""
    began = perf_counter()
    aba, states, left = _ready(model, at)
    first = perf_counter() - began
    robots = min(len(states), MAX_TIMED_ROBOTS)
    times: list[float] = []
    while sum(times) < seconds or len(times) < 3:
        start = perf_counter()
        for state in states:
            aba(*state)
        times.append(perf_counter() - start)
    return Timing(float(np.median(times)) * len(at.q) / robots, "one core, host clock", first, left)


def _ready(model: Model, at: State) -> tuple[Callable[..., Array], list[tuple[Array, Array, Array]], float]:
    """Return Pinocchio's function, its states, and the residual of its result for the first ones."""
    peer = pinocchio_aba(model)
    if peer is None:
        raise Missing("Pinocchio is not installed")
    states = [peer.states(*robot) for robot in zip(*(x[:MAX_TIMED_ROBOTS].astype(float) for x in at), strict=True)]
    result = np.empty((1, model.nv))
    result[0, peer.order] = peer.aba(*states[0])
    return peer.aba, states, float(residual(model, State(*(x[:1] for x in at)), result)[0])


def all_cores(model: Model, at: State, seconds: float) -> Timing:
    """Time Pinocchio on all cores: `abaInParallel` or processes, whichever is faster. Raises Missing."""
    processes = _processes(model, at, seconds)
    try:
        return min(_threads(model, at, seconds), processes, key=lambda timing: timing.seconds)
    except Missing:
        return processes


def _threads(model: Model, at: State, seconds: float) -> Timing:
    """Time its own parallel form, if built with OpenMP: one call for the whole batch, a thread per core."""
    import pinocchio as pin

    if not getattr(pin, "WITH_OPENMP", False):
        raise Missing("Pinocchio was built without OpenMP")
    began = perf_counter()
    peer = pinocchio_aba(model)
    assert peer is not None
    pool = pin.ModelPool(peer.model, cores())
    q, v, tau = (np.asfortranarray(x.astype(float)) for x in peer.states(at.q.T, at.v.T, at.tau.T))
    out = np.empty(v.shape, order="F")

    def call() -> None:
        pin.abaInParallel(cores(), pool, q, v, tau, out)

    call()
    first = perf_counter() - began
    result = np.empty(at.v.shape)
    result[:, peer.order] = out.T
    rows = some_rows(len(result), CHECKED)
    left = float(np.max(residual(model, State(*(x[rows] for x in at)), result[rows])))
    times: list[float] = []
    while sum(times) < seconds or len(times) < 5:
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return Timing(float(np.median(times)), f"abaInParallel, {cores()} threads, host clock", first, left)


def _processes(model: Model, at: State, seconds: float) -> Timing:
    """Time `one_core` in a process per core, with the batch split among them. Raises Missing.

    A round lasts from the first process's start to the last one's end, over several passes. Distribution of states and
    collection of results are not counted.
    """
    began = perf_counter()
    aba, states, left = _ready(model, at)
    start = perf_counter()
    for state in states:
        aba(*state)
    each = (perf_counter() - start) / len(states)
    count = min(cores(), len(at.q))
    shares = [np.arange(len(at.q))[i::count][:MAX_TIMED_ROBOTS] for i in range(count)]
    passes = math.ceil(ROUND / (each * len(shares[0])))
    rounds = max(3, int(seconds / (passes * each * len(shares[0]))))
    context = multiprocessing.get_context("spawn")  # a process that uses a GPU must not be forked
    barrier, results = context.Barrier(count), context.Queue()
    tasks = [(barrier, results, model, State(*(x[share] for x in at)), passes, rounds) for share in shares]
    processes = [context.Process(target=_worker, args=part, daemon=True) for part in tasks]
    for process in processes:
        process.start()
    spans = np.array([results.get(timeout=PATIENCE) for _ in processes])
    for process in processes:
        process.join()
    times = (spans[:, :, 1].max(0) - spans[:, :, 0].min(0)) / passes
    whole = len(at.q) / sum(len(share) for share in shares)
    how = f"{count} processes, host clock"
    return Timing(float(np.median(times)) * whole, how, perf_counter() - began, left)


def _worker(barrier: Any, results: Any, model: Model, share: State, passes: int, rounds: int) -> None:
    """Put the start and end of each round, (rounds, 2), by a clock common to all processes."""
    aba, states, _ = _ready(model, share)
    spans = np.empty((rounds, 2))
    for span in spans:
        barrier.wait(PATIENCE)
        span[0] = perf_counter()
        for _ in range(passes):
            for state in states:
                aba(*state)
        span[1] = perf_counter()
    results.put(spans)
