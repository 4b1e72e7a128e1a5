"""The efforts of joints: gains and damping, explicit and implicit, within the effort limit, less friction.

The force of a row is the control and gains, clipped to the effort limit, less damping and friction:

    drive = τ + kp (target − q) − kd v     force = clamp(drive, ±limit) − d v − f

"implicit" takes damping and gains at the end of the step, v + dt q̈ and q + dt (v + dt q̈): q + dt v replaces q, and the
mass matrix's diagonal grows by dt (d + kd + dt kp), where a clipped effort has no gains in this step. Every kernel uses
these functions; `StepSettings.effort` is the law on NumPy arrays, and `cuda/constraints/joint_forces.cuh` in CUDA.
"""

from __future__ import annotations

import numpy as np

from engine.compile import inline
from engine.compile.operations import parallel_range
from engine.kernels.joint_constraints import friction, slides
from engine.kernels.joint_rows import is_row, may_be_held, position
from engine.step_settings import DAMPING, EFFORT_LIMIT, KD, KP


@inline
def drive(rows, j, tau, target, q, v, dt, implicit):
    """The control tau and the gains of coordinate j at q and v, without the effort limit."""
    if not is_row(rows, j):
        return tau
    next_position = q + dt * v if implicit else q
    return tau + (rows.joints[KP, j] * (target - next_position) - rows.joints[KD, j] * v)


@inline
def without_friction(rows, j, drive, v):
    """The force of coordinate j with that drive at velocity v, without its friction."""
    limit = rows.joints[EFFORT_LIMIT, j]
    if limit < np.inf:
        drive = min(max(drive, -limit), limit)
    return drive - rows.joints[DAMPING, j] * v


@inline
def _added_inertia(rows, j, drive, dt):
    """The inertia that implicit damping and gains add to coordinate j."""
    gain_inertia, limit = dt * (rows.joints[KD, j] + dt * rows.joints[KP, j]), rows.joints[EFFORT_LIMIT, j]
    if limit < np.inf:
        gain_inertia = gain_inertia if abs(drive) <= limit else 0.0
    return dt * rows.joints[DAMPING, j] + gain_inertia


@inline
def joint_forces(robots, q, v, rows, forces, implicit):
    """Compute the joints' forces, without friction, into `forces`, with the implicit part's diagonal."""
    for k in range(v.shape[0]):
        for j in parallel_range(v.shape[1]):
            drive_force = drive(
                rows, j, robots.tau[k, j], robots.target[k, j], position(rows, j, q[k]), v[k, j], rows.dt, implicit
            )
            forces.force[k, j] = without_friction(rows, j, drive_force, v[k, j])
            forces.added_inertia[k, j] = 0.0
            if implicit and is_row(rows, j):
                forces.added_inertia[k, j] = _added_inertia(rows, j, drive_force, rows.dt)


@inline
def is_stiff(forces, j):
    """Whether a velocity may be held, or has added inertia."""
    if len(forces) == 1:
        return False
    rows = forces.rows
    adds_inertia = rows.joints[DAMPING, j] > 0.0 or rows.joints[KP, j] > 0.0 or rows.joints[KD, j] > 0.0
    return may_be_held(rows, j) or (forces.known.implicit and adds_inertia and is_row(rows, j))


@inline
def _drive(inputs, j):
    rows, q = inputs.rows, position(inputs.rows, j, inputs.q)
    return drive(rows, j, inputs.tau[j], inputs.target[j], q, inputs.v[j], rows.dt, inputs.known.implicit)


@inline
def force_without_friction(inputs, j):
    """A joint's force without its friction."""
    return without_friction(inputs.rows, j, _drive(inputs, j), inputs.v[j])


@inline
def joint_force(forces, j):
    """The force on the joint of velocity j."""
    if len(forces) == 1:
        return forces.tau[j]
    force, f = force_without_friction(forces, j), friction(forces.rows.joints, j, forces.v[j])
    if may_be_held(forces.rows, j):
        return force - (f * forces.mode[j] if slides(forces.mode[j]) else 0.0)
    return force


@inline
def added_inertia(inputs, j):
    """The inertia that implicit damping and gains add to a joint."""
    rows = inputs.rows
    return _added_inertia(rows, j, _drive(inputs, j), rows.dt) if inputs.known.implicit else 0.0
