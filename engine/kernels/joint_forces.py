"""Forces on the joints of one robot: given ones, or those of a step with its constraints.

A step's force is the controls and gains, clipped to the effort limits, less damping and friction. `implicit` takes
damping and gains at the end of the step, v + dt q̈ and q + dt (v + dt q̈); a joint with a clipped effort has no gains
in this step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline
from engine.kernels.joint_constraints import friction, held_at, slides, velocity_bounds
from engine.kernels.robot import Robot
from engine.step_settings import (
    DAMPING,
    EFFORT_LIMIT,
    FRICTION,
    KD,
    KP,
    LOWER,
    NO_POSITION,
    NO_ROW,
    UPPER,
    VELOCITY_LIMIT,
)


class GivenForces(NamedTuple):
    """Given forces τ (nv,)."""

    tau: Any


class KnownSettings(NamedTuple):
    """The settings of a robot's steps that are known at compile time."""

    robot: Robot
    joints: NDArray[np.floating]
    """(8, nv): those of `StepSettings.joints`; infinite limits where limits are off."""
    q_of_v: NDArray[np.int64]
    """(nv,): that of `StepSettings`."""
    implicit: bool
    freezes: bool
    has_wrenches: bool
    timed: bool


class Acting(NamedTuple):
    """The inputs of a step: its settings, the initial state, each joint's mode (nv,), dt and 1/dt."""

    known: KnownSettings
    q: Any
    v: Any
    tau: Any
    target: Any
    mode: Any
    dt: Any
    rate: Any


@inline
def may_hold(known, k):
    """Whether friction or a limit can act on a velocity."""
    if known.q_of_v[k] == NO_ROW:
        return False
    joints = known.joints
    limited = joints[LOWER, k] > -np.inf or joints[UPPER, k] < np.inf or joints[VELOCITY_LIMIT, k] < np.inf
    return limited or joints[FRICTION, k] > 0.0


@inline
def is_stiff(forces, k):
    """Whether a velocity may be held, or has added inertia."""
    if len(forces) == 1:
        return False
    known = forces.known
    draws = known.joints[DAMPING, k] > 0.0 or known.joints[KP, k] > 0.0 or known.joints[KD, k] > 0.0
    return may_hold(known, k) or (known.implicit and draws and known.q_of_v[k] != NO_ROW)


@inline
def _drive(acting, k):
    """The controls and gains; implicit gains use the position that v reaches in the step."""
    known, tau, v = acting.known, acting.tau[k], acting.v[k]
    index, kp, kd = known.q_of_v[k], known.joints[KP, k], known.joints[KD, k]
    if index == NO_ROW or (kp == 0.0 and kd == 0.0):
        return tau
    here = 0.0 if index == NO_POSITION else acting.q[index]
    ahead = here + acting.dt * v if known.implicit else here
    return tau + (kp * (acting.target[k] - ahead) - kd * v)


@inline
def beside_friction(acting, k):
    """A joint's force without its friction."""
    drive, most = _drive(acting, k), acting.known.joints[EFFORT_LIMIT, k]
    if most < np.inf:
        drive = min(max(drive, -most), most)
    return drive - acting.known.joints[DAMPING, k] * acting.v[k]


@inline
def joint_force(forces, k):
    """The force on the joint of velocity k."""
    if len(forces) == 1:
        return forces.tau[k]
    force, f = beside_friction(forces, k), friction(forces.known.joints, k, forces.v[k])
    if may_hold(forces.known, k):
        return force - (f * forces.mode[k] if slides(forces.mode[k]) else 0.0)
    return force


@inline
def added_inertia(acting, k):
    """The inertia that implicit damping and gains add to a joint."""
    known, dt = acting.known, acting.dt
    if not known.implicit:
        return 0.0
    gained, most = dt * (known.joints[KD, k] + dt * known.joints[KP, k]), known.joints[EFFORT_LIMIT, k]
    if most < np.inf:
        gained = gained if abs(_drive(acting, k)) <= most else 0.0
    return dt * known.joints[DAMPING, k] + gained


@inline
def is_held(acting, k):
    """Whether a velocity is prescribed."""
    return not slides(acting.mode[k]) if may_hold(acting.known, k) else False


@inline
def bounds(acting, k):
    """lo and hi of v⁺."""
    joints, index = acting.known.joints, acting.known.q_of_v[k]
    here, most = 0.0 if index == NO_POSITION else acting.q[index], joints[VELOCITY_LIMIT, k]
    if not (joints[LOWER, k] > -np.inf or joints[UPPER, k] < np.inf):
        return -most, most
    return velocity_bounds(here, joints[LOWER, k], joints[UPPER, k], most, acting.rate)


@inline
def target_acceleration(acting, k):
    """The prescribed q̈ of a held velocity."""
    low, high = bounds(acting, k)
    return (held_at(acting.mode[k], low, high) - acting.v[k]) * acting.rate
