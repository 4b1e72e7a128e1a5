"""`StepSettings`: what a simulation's steps are made for, checked, as the stepper of every device reads it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from engine import validation
from engine.model import Model
from engine.parameters import Parameters
from engine.validation import Array

INTEGRATORS = ("semi-implicit", "rk4", "implicit")
PHASES = ("kinematics", "bias", "inertia recursion", "acceleration", "integration")
DIVERGED = 1e12  # a velocity that no robot has

LOWER, UPPER, VELOCITY_LIMIT, EFFORT_LIMIT, DAMPING, FRICTION, KP, KD = range(8)  # rows of `StepSettings.joints`


@dataclass(frozen=True)
class StepSettings:
    """How the robots of a batch are stepped, see `Simulation`; kp and kd are (1, nv) or (batch, nv)."""

    model: Model
    batch: int
    dt: float
    integrator: str
    algorithm: str
    limits: bool
    dtype: str
    timed: bool
    kp: Array
    kd: Array
    parameters: Parameters | None

    @cached_property
    def joints(self) -> Array:
        """What is known of the coordinates: (1, 8, nv), or (batch, 8, nv) where robots differ in it."""
        model, own = self.model, self.parameters or self.model
        rows = max(len(self.kp), len(self.kd), 1 if self.parameters is None else self.batch)
        limits = (model.lower, model.upper, model.velocity_limit, own.effort_limit)
        table = (*limits, own.damping, own.friction, self.kp, self.kd)
        return np.stack([np.broadcast_to(x, (rows, model.nv)) for x in table], 1).astype(float)

    @property
    def has_limits(self) -> bool:
        """Position or velocity limits act."""
        return self.limits and bool(np.any(self.model.bounded | np.isfinite(self.model.velocity_limit)))

    @property
    def has_constraints(self) -> bool:
        """They, or friction, do."""
        return self.has_limits or bool(np.any(self.joints[:, FRICTION] > 0))

    @cached_property
    def free(self) -> np.ndarray:
        """(joints, 2): where the coordinates and the velocities of each free joint start."""
        starts = [(joint.q.start, joint.v.start) for joint in self.model.joints if joint.kind == "floating"]
        return np.array(starts, np.int64).reshape(-1, 2)


def gains(model: Model, batch: int, name: str, value: ArrayLike | None) -> Array:
    """Gains (1, nv) or (batch, nv), 0 by default; one number is that of every joint that is not free.

    Raises ValueError for negative ones and those of free joints.
    """
    if value is None:
        return np.zeros((1, model.nv))
    if np.ndim(value) == 0:
        value = np.where(model.q_of_v < 0, 0.0, value)
    array, _ = validation.batched(name, value, model.nv, "one gain for each velocity")
    if len(array) not in (1, batch):
        raise ValueError(f"{name} has {len(array)} rows; expected one or {batch}, the batch")
    free = (model.q_of_v < 0) & np.any(array != 0, 0)
    if np.any(free):
        raise ValueError(
            f"{name} is not 0 for {model.coordinate_names[int(np.argmax(free))]}; a free joint takes no gains"
        )
    if np.any(array < 0):
        where = tuple(int(index) for index in np.argwhere(array < 0)[0])
        raise ValueError(f"{name}{list(where)} is {array[where]}; a gain cannot be negative")
    return array
