"""The classical Runge-Kutta step of one robot; quaternions by projection (Hairer, Lubich, Wanner 2006, IV.4).

Friction and limits then correct the velocity at the step's end. Steps with contacts are semi-implicit Euler's: stages
ignore contacts, and would pass through them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline
from engine.compile.operations import parallel_range
from engine.kernels.joint_constraints import slides
from engine.kernels.joint_motion import advance_ball, rates
from engine.kernels.quaternions import normalise
from engine.step_settings import LOWER, UPPER

_WEIGHT, _NEXT_NODE = (1.0, 2.0, 2.0, 1.0), (0.5, 0.5, 1.0, 0.0)
"""Six times the weight of each stage; the node of the stage after it: its time in the step, in units of dt."""


class Stages(NamedTuple):
    """The state at a stage and weighted sums of rates, for a block of L robots; q (L, nq), v (L, nv)."""

    q: NDArray[np.floating]
    v: NDArray[np.floating]
    q_rate: NDArray[np.floating]
    q_sum: NDArray[np.floating]
    v_sum: NDArray[np.floating]


def stages(lanes: int, nq: int, nv: int) -> Stages:
    """Return the workspace of a block of L robots."""
    q, v = (lanes, nq), (lanes, nv)
    return Stages(*(np.zeros(shape) for shape in (q, v, q, q, v)))


@inline
def begin_stages(q, v, k, stages):
    """Begin the stages of robot k of a block at its q (nq,), v (nv,)."""
    for j in parallel_range(q.size):
        stages.q[k, j], stages.q_sum[k, j] = q[j], 0.0
    for j in parallel_range(v.size):
        stages.v[k, j], stages.v_sum[k, j] = v[j], 0.0


@inline
def add_stage(stage, q, v, qdd, k, rows, rotations, stages):
    """Add the rates at a stage, q̈ (nv,) among them, to the sums, and move on to the next stage."""
    weight, next_node = _WEIGHT[stage], _NEXT_NODE[stage]
    rates(stages.q[k], stages.v[k], stages.q_rate[k], rows.q_of_v, rotations)
    for j in parallel_range(q.size):
        stages.q_sum[k, j] += weight * stages.q_rate[k, j]
        stages.q[k, j] = q[j] + next_node * rows.dt * stages.q_rate[k, j]
    for j in parallel_range(v.size):
        stages.v_sum[k, j] += weight * qdd[j]
        stages.v[k, j] = v[j] + next_node * rows.dt * qdd[j]


@inline
def end_stages(q, v, k, rows, rotations, stages):
    """Set v to v⁺, and the stage's q to q⁺, both without friction and limits."""
    free, balls = rotations
    for j in parallel_range(q.size):
        stages.q[k, j] = q[j] + rows.dt / 6.0 * stages.q_sum[k, j]
    for j in parallel_range(v.size):
        v[j] += rows.dt / 6.0 * stages.v_sum[k, j]
    for f in parallel_range(free.shape[0]):
        normalise(stages.q[k], free[f, 0] + 3)
    for f in parallel_range(balls.shape[0]):
        normalise(stages.q[k], balls[f, 0])


@inline
def accept_coordinates(q, q_next, v, mode, rows, rotations):
    """Set q to the stages' coordinates `q_next`, but to q ⊕ dt v⁺ for a joint that was held or would pass its limit."""
    for j in parallel_range(v.size):
        index = rows.q_of_v[j]
        if index >= 0:
            held = rows.has_constraints and not slides(mode[j])
            outside = rows.has_limits and not (rows.joints[LOWER, j] <= q_next[index] <= rows.joints[UPPER, j])
            if held or outside:
                q_next[index] = q[index] + rows.dt * v[j]
    balls = rotations.balls
    for f in parallel_range(balls.shape[0]):
        a, c = balls[f, 0], balls[f, 1]
        held = not (slides(mode[c]) and slides(mode[c + 1]) and slides(mode[c + 2]))
        if rows.has_constraints and held:
            for r in range(4):
                q_next[a + r] = q[a + r]
            advance_ball(q_next, a, v, c, rows.dt)
    for j in parallel_range(q.size):
        q[j] = q_next[j]
