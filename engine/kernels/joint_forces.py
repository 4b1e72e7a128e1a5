"""Forces on the joints of one robot: given ones, or those of a step with its constraints."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline
from engine.kernels.joint_constraints import friction, held_at, slides, velocity_bounds
from engine.kernels.joint_rows import added_inertia, drive, is_row, position, without_friction
from engine.kernels.robot import Robot
from engine.step_settings import DAMPING, FRICTION, KD, KP, LOWER, UPPER, VELOCITY_LIMIT


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
    if not is_row(known, k):
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
    return may_hold(known, k) or (known.implicit and draws and is_row(known, k))


@inline
def _drive(acting, k):
    known, q = acting.known, position(acting.known, k, acting.q)
    return drive(known, k, acting.tau[k], acting.target[k], q, acting.v[k], acting.dt, known.implicit)


@inline
def beside_friction(acting, k):
    """A joint's force without its friction."""
    return without_friction(acting.known, k, _drive(acting, k), acting.v[k])


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
def implicit_inertia(acting, k):
    """The inertia that implicit damping and gains add to a joint."""
    known = acting.known
    return added_inertia(known, k, _drive(acting, k), acting.dt) if known.implicit else 0.0


@inline
def is_held(acting, k):
    """Whether a velocity is prescribed."""
    return not slides(acting.mode[k]) if may_hold(acting.known, k) else False


@inline
def bounds(acting, k):
    """lo and hi of v⁺."""
    joints, fastest = acting.known.joints, acting.known.joints[VELOCITY_LIMIT, k]
    if not (joints[LOWER, k] > -np.inf or joints[UPPER, k] < np.inf):
        return -fastest, fastest
    here = position(acting.known, k, acting.q)
    return velocity_bounds(here, joints[LOWER, k], joints[UPPER, k], fastest, acting.rate)


@inline
def target_acceleration(acting, k):
    """The prescribed q̈ of a held velocity."""
    low, high = bounds(acting, k)
    return (held_at(acting.mode[k], low, high) - acting.v[k]) * acting.rate
