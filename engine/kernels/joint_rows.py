"""Joints as rows, one a coordinate, of one robot or a block: their friction and limits.

The laws are those of `engine.kernels.joint_constraints`; efforts of rows are in `engine.kernels.gains_and_damping`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline
from engine.kernels.joint_constraints import friction, held_velocity, slides, velocity_bounds
from engine.step_settings import FRICTION, LOWER, NO_ROW, UPPER, VELOCITY_LIMIT


class JointRows(NamedTuple):
    """The rows of a robot: `joints` (8, nv) and `q_of_v` (nv,) of `StepSettings`; dt in s.

    `has_limits`: position or velocity limits act; `has_constraints`: they or friction act.
    """

    dt: float
    has_limits: bool
    has_constraints: bool
    q_of_v: NDArray[np.int64]
    joints: NDArray[np.floating]


@inline
def is_row(rows, j):
    """Whether friction and limits can act on coordinate j."""
    return rows.q_of_v[j] != NO_ROW


@inline
def position(rows, j, q):
    """The coordinate of velocity j of a robot at q (nq,), 0 for one without."""
    return q[rows.q_of_v[j]] if rows.q_of_v[j] >= 0 else 0.0


@inline
def bounds(rows, j, q):
    """lo and hi of v⁺ of coordinate j from the limits, with lo ≤ 0 ≤ hi, for a robot at q (nq,)."""
    if not rows.has_limits:
        return -np.inf, np.inf
    joints = rows.joints
    lower, upper, max_speed = joints[LOWER, j], joints[UPPER, j], joints[VELOCITY_LIMIT, j]
    if lower == -np.inf and upper == np.inf:
        return -max_speed, max_speed
    return velocity_bounds(position(rows, j, q), lower, upper, max_speed, 1.0 / rows.dt)


@inline
def set_mode(mode, k, j, rows, start, active, forces):
    """Set the mode of row j of robot k, held or with its friction in `forces`; `start` is the step's initial state."""
    old_mode, v = active.mode[k, j], start.v[k, j]
    low, high = bounds(rows, j, start.q[k])
    forces.force[k, j] += friction(rows.joints, j, v) * (
        (old_mode if slides(old_mode) else 0.0) - (mode if slides(mode) else 0.0)
    )
    active.mode[k, j] = mode
    forces.held[k, j] = 0.0 if slides(mode) else 1.0
    forces.target_acceleration[k, j] = (held_velocity(mode, low, high) - v) / rows.dt


@inline
def may_be_held(rows, j):
    """Whether friction or a limit can act on coordinate j."""
    if not is_row(rows, j):
        return False
    joints = rows.joints
    limited = joints[LOWER, j] > -np.inf or joints[UPPER, j] < np.inf or joints[VELOCITY_LIMIT, j] < np.inf
    return (rows.has_limits and limited) or joints[FRICTION, j] > 0.0


@inline
def is_held(inputs, j):
    """Whether a velocity is prescribed."""
    return not slides(inputs.mode[j]) if may_be_held(inputs.rows, j) else False


@inline
def target_acceleration(inputs, j):
    """The prescribed q̈ of a held velocity."""
    low, high = bounds(inputs.rows, j, inputs.q)
    return (held_velocity(inputs.mode[j], low, high) - inputs.v[j]) * (1.0 / inputs.rows.dt)
