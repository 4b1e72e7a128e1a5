"""MuJoCo's steps of unconstrained chains, on a core and, by Warp, on a GPU."""

from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import numpy as np

from engine.bench.peers.mujoco import OnWarp, mujoco_model, warp_seconds
from engine.bench.states import State
from engine.model import Model
from engine.validation import Array

MAX_TIMED_STEPS = 200
"""Maximum number of `mj_step`s timed."""
TOGETHER = 10
"""Steps of a captured graph."""


class Steps(NamedTuple):
    """A peer's semi-implicit Euler steps from rest: their timing and results."""

    seconds: Callable[[float], float]
    """Times one step of all robots, the median over about so many seconds of runs, continuing from the last state."""
    how: str
    v: Array
    """(batch, nv): the velocities after the first steps."""
    on_core: bool
    """On one core of the host, in float64; else on the GPU, in float32."""


def steps_on_one_core(model: Model, q: Array, dt: float, steps: int) -> Steps:
    """Run `mj_step` from rest at q (batch, nq), robot by robot. Raises Missing."""
    theirs = mujoco_model(model, dt)
    import mujoco

    data = mujoco.MjData(theirs)
    v = np.empty((len(q), model.nv))
    for row, end in zip(q, v, strict=True):
        mujoco.mj_resetData(theirs, data)
        data.qpos[:] = row
        mujoco.mj_step(theirs, data, steps)
        end[:] = data.qvel

    def one() -> float:
        began = perf_counter()
        mujoco.mj_step(theirs, data, 1)
        return (perf_counter() - began) * len(q)

    def seconds(budget: float) -> float:
        times = [one()]
        while sum(times) < budget * len(q) and len(times) < MAX_TIMED_STEPS:
            times.append(one())
        return float(np.median(times))

    return Steps(seconds, "mj_step, one core, host clock, no constraints", v, True)


def steps_on_warp(model: Model, q: Array, dt: float, steps: int) -> Steps:
    """Run MuJoCo Warp's steps from rest at q (batch, nq), as captured graphs of ten. Raises Missing."""
    still = np.zeros((len(q), model.nv))
    robots = OnWarp(model, State(q, still, still), dt)
    for _ in range(steps):
        robots.step()
    v = robots.output("qvel", len(q))
    launch = robots.captured(robots.step, TOGETHER)

    def seconds(budget: float) -> float:
        once = warp_seconds(launch, 2)
        times = [warp_seconds(launch) for _ in range(int(np.clip(budget / once, 3, 25)))]
        return float(np.median(times)) / TOGETHER

    return Steps(seconds, "one GPU, captured graph, events, float32, no constraints", v, False)
