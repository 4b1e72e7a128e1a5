"""Joint friction and joint limits as rows, one a coordinate: what they ask of its velocity and its reaction.

They act on the velocity at the end of a step, v⁺. Coulomb friction of size f and the bounds lo ≤ v⁺ ≤ hi that position
and velocity limits give, lo ≤ 0 ≤ hi, hi = (upper − q)/dt at most, together ask of the force r at a joint

    v⁺ > 0: r = −f     v⁺ < 0: r = f     v⁺ = 0: |r| ≤ f     v⁺ = hi: r ≤ −f (f if hi = 0)     v⁺ = lo: r ≥ f (−f)

A row's *mode* says which of these five holds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline
from engine.step_settings import FRICTION, LOWER, NO_ROW, UPPER, VELOCITY_LIMIT

LOW, BACKWARD, STUCK, FORWARD, HIGH = range(-2, 3)  # the modes: v⁺ = lo, v⁺ < 0, v⁺ = 0, v⁺ > 0, v⁺ = hi
REST = 1e-12  # rad/s, m/s, rad or m: what counts as nothing, of a velocity and of the way to a limit


class JointRows(NamedTuple):
    """The rows of a robot: `joints` (8, nv) and `q_of_v` (nv,) are those of `StepSettings`; dt in s.

    `has_limits`: position or velocity limits act; `has_constraints`: they, or friction, do.
    """

    dt: float
    has_limits: bool
    has_constraints: bool
    q_of_v: NDArray[np.int64]
    joints: NDArray[np.floating]


class ActiveSet(NamedTuple):
    """Where the rows of a block of L robots stand, (L, nv) each: their modes, and velocities within their bounds.

    `settled` (L,) is 1 for the robots whose modes are those that their result asks for.
    """

    mode: NDArray[np.int64]
    feasible: NDArray[np.floating]
    settled: NDArray[np.int64]


@inline
def is_row(rows, j):
    """Whether friction and limits can act on coordinate j."""
    return rows.q_of_v[j] != NO_ROW


@inline
def position(rows, j, q):
    """The coordinate of velocity j for a robot at q (nq,), 0 where it has none."""
    return q[rows.q_of_v[j]] if rows.q_of_v[j] >= 0 else 0.0


@inline
def bounds(rows, j, q):
    """lo and hi of v⁺ of coordinate j from the limits, with lo ≤ 0 ≤ hi, for a robot at q (nq,)."""
    if not rows.has_limits:
        return -np.inf, np.inf
    joints, here = rows.joints, position(rows, j, q)
    below, above = joints[LOWER, j] - here, joints[UPPER, j] - here
    low, high = (below if below < -REST else 0.0) / rows.dt, (above if above > REST else 0.0) / rows.dt
    return max(-joints[VELOCITY_LIMIT, j], low), min(joints[VELOCITY_LIMIT, j], high)


@inline
def slides(mode):
    """Whether a joint in this mode moves freely under its friction; else its velocity is prescribed."""
    return abs(mode) == 1


@inline
def set_mode(mode, k, j, rows, start, active, forces):
    """Put row j of robot k into a mode, its friction into `forces`, or its lock; `start` is that of the step."""
    before, friction, v = active.mode[k, j], rows.joints[FRICTION, j], start.v[k, j]
    low, high = bounds(rows, j, start.q[k])
    forces.force[k, j] += friction * ((before if slides(before) else 0) - (mode if slides(mode) else 0))
    active.mode[k, j] = mode
    forces.locked[k, j] = 0.0 if slides(mode) else 1.0
    forces.target[k, j] = ((high if mode == HIGH else (low if mode == LOW else 0.0)) - v) / rows.dt


@inline
def initial_mode(v, low, high, f):
    """The mode of a row as the step begins at velocity v: held where it rests or is as fast as it may be."""
    mode, rests = FORWARD if v >= 0.0 else BACKWARD, abs(v) <= REST
    if (rests and high == 0.0) or (not rests and v >= high - REST):
        mode = HIGH
    elif (rests and low == 0.0) or (not rests and v <= low + REST):
        mode = LOW
    elif rests and f > 0.0:
        mode = STUCK
    return mode


@inline
def feasible_mode(after, low, high, f):
    """The mode of a row with v⁺ = `after`, within its bounds."""
    mode = FORWARD if after >= 0.0 else BACKWARD
    if after == high:
        mode = HIGH
    elif after == low:
        mode = LOW
    elif after == 0.0 and f > 0.0:
        mode = STUCK
    return mode


@inline
def released(mode, r, f, low, high, slack):
    """The mode that a held row asks for, given the force r that holding it takes."""
    if mode == STUCK:
        return BACKWARD if r > f + slack else (FORWARD if r < -f - slack else mode)
    if mode == HIGH:
        if r <= (-f if high > 0.0 else f) + slack:
            return mode
        return FORWARD if high > 0.0 else BACKWARD
    if r >= (f if low < 0.0 else -f) - slack:
        return mode
    return BACKWARD if low < 0.0 else FORWARD


@inline
def stopped(mode, after, f, low, high, slack):
    """The mode that a sliding row asks for, given its v⁺."""
    if after > high + slack:
        return HIGH
    if after < low - slack:
        return LOW
    return STUCK if f > 0.0 and mode * after < -slack else mode


@inline
def pull(mode, r, f, low):
    """How far beyond its friction a held row pulls."""
    return abs(r) - f if mode == STUCK else abs(r - (f if (mode == LOW) == (low < 0.0) else -f))


@inline
def sliding_interval(mode, low, high, f):
    """Where v⁺ may lie while a row slides: on its own side of rest, where there is friction."""
    if f > 0.0:
        return (0.0, high) if mode == FORWARD else (low, 0.0)
    return low, high
