"""`StepSettings`: the checked settings of a simulation's steps, read by the steppers of every device."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from engine import validation
from engine.model import FREE, SPHERICAL, Model
from engine.parameters import Parameters
from engine.scene import Pairs, Scene
from engine.scene.pairs import NO_PAIRS
from engine.validation import Array

INTEGRATORS = ("semi-implicit", "rk4", "implicit")

NO_POSITION, NO_ROW = -1, -2  # in `StepSettings.q_of_v`
LOWER, UPPER, VELOCITY_LIMIT, EFFORT_LIMIT, DAMPING, FRICTION, KP, KD = range(8)  # rows of `StepSettings.joints`


State = tuple[Array, Array]
"""Numbers of q (batch, nq) and v (batch, nv)."""


class Rotations(NamedTuple):
    """First indices of the coordinates and the velocities of each free and each ball joint, (joints, 2) each."""

    free: np.ndarray
    balls: np.ndarray


@dataclass(frozen=True)
class StepSettings:
    """The settings of a batch's steps, see `Simulation`; kp and kd are (1, nv) or (batch, nv)."""

    model: Model
    batch: int
    dt: float
    integrator: str
    algorithm: str
    _: KW_ONLY
    kp: Array
    kd: Array
    limits: bool = True
    dtype: str = "float64"
    timed: bool = True
    parameters: Parameters | None = None
    freezes: bool = False
    """A robot that diverges keeps its state before that step, and the others continue."""
    scene: Scene | None = None
    pairs: Pairs = NO_PAIRS
    """The pairs of shapes that may touch in the scene."""
    threads: int | None = None
    """The most CPU threads that share a batch; None: as many as pay."""
    wrenches: bool = False
    """Steps take external wrenches from the first on."""

    @cached_property
    def joints(self) -> Array:
        """The parameters of the coordinates: (1, 8, nv), or (batch, 8, nv) where robots differ."""
        model, source = self.model, self.parameters or self.model
        rows = max(len(self.kp), len(self.kd), 1 if self.parameters is None else self.batch)
        limits = (model.lower, model.upper, model.velocity_limit, source.effort_limit)
        table = (*limits, source.damping, source.friction, self.kp, self.kd)
        return np.stack([np.broadcast_to(x, (rows, model.nv)) for x in table], 1).astype(float)

    def effort(self, q: Array, v: Array, tau: Array, target: Array) -> Array:
        """Return the drives' efforts (batch, nv), N m or N: tau plus gains, within the limits.

        q is (batch, nq), the others (batch, nv).
        """
        clipped: Array = np.clip(self._pull(q, v, tau, target), -self._effort_limit, self._effort_limit)
        return clipped

    def applied(self, before: State, after: State, tau: Array, target: Array) -> Array:
        """Return a step's efforts, (batch, nv), N m or N, from q (batch, nq) and v (batch, nv) before and after it.

        With "implicit" it is the effort at the step's end, unless the one at `before`, with q advanced by dt v, is
        beyond the limit.
        """
        q, v = before
        if self.integrator != "implicit":
            return self.effort(q, v, tau, target)
        scalar, q_of_v, ahead = self.model.q_of_v >= 0, self.model.q_of_v, q.copy()
        ahead[:, q_of_v[scalar]] += self.dt * v[:, scalar]
        drive = self._pull(ahead, v, tau, target)
        clipped: Array = np.clip(drive, -self._effort_limit, self._effort_limit)
        return np.where(drive == clipped, self._pull(*after, tau, target), clipped)

    @property
    def _effort_limit(self) -> Array:
        return self.joints[:, EFFORT_LIMIT]

    def _pull(self, q: Array, v: Array, tau: Array, target: Array) -> Array:
        """Return tau plus gains, (batch, nv), without limits: `drive` of `engine.kernels.gains_and_damping`."""
        rows, q_of_v = self.joints, self.model.q_of_v
        ahead = np.where(q_of_v >= 0, target - q[:, q_of_v], 0.0)
        pull: Array = tau + rows[:, KP] * ahead - rows[:, KD] * v
        return pull

    @property
    def has_limits(self) -> bool:
        """Whether position or velocity limits act."""
        return self.limits and bool(np.any(self.model.bounded | np.isfinite(self.model.velocity_limit)))

    @property
    def has_constraints(self) -> bool:
        """Whether limits or friction act."""
        return self.has_limits or bool(np.any(self.joints[:, FRICTION] > 0))

    @cached_property
    def q_of_v(self) -> np.ndarray:
        """(nv,): the index in q of a velocity's coordinate.

        NO_POSITION for an axis of a ball joint, which has none; NO_ROW for a free joint's velocities, which have no
        limit, friction, damping or gain.
        """
        return np.where(self.model.constrained, self.model.q_of_v, NO_ROW)

    @cached_property
    def rotations(self) -> Rotations:
        """The indices of the joints with quaternions."""

        def starts(kind: int) -> np.ndarray:
            pairs = [(joint.q.start, joint.v.start) for joint in self.model.joints if joint.type.bodies == (kind,)]
            return np.array(pairs, np.int64).reshape(-1, 2)

        return Rotations(starts(FREE), starts(SPHERICAL))


def gains(model: Model, batch: int, name: str, value: ArrayLike | None) -> Array:
    """Return gains (1, nv) or (batch, nv), 0 by default; a scalar applies to every coordinate that can have it.

    A free joint takes none, and a ball joint no kp, since its quaternion is not a scalar coordinate. Raises ValueError
    for those and for negative ones.
    """
    takes = model.q_of_v >= 0 if name == "kp" else model.constrained
    if value is None:
        return np.zeros((1, model.nv))
    single = np.ndim(value) == 0
    value = np.full(model.nv, value) if single else value
    array, _ = validation.as_batch(name, value, model.nv, "one gain for each velocity")
    array = np.where(takes, array, 0.0) if single else array
    if len(array) not in (1, batch):
        raise ValueError(f"{name} has {len(array)} rows; expected one or {batch}, the batch")
    refused = ~takes & np.any(array != 0, 0)
    if np.any(refused):
        first = int(np.argmax(refused))
        rule = "a ball joint takes kd alone" if model.constrained[first] else "a free joint takes no gains"
        raise ValueError(f"{name} is not 0 for {model.coordinate_names[first]}; {rule}")
    if np.any(array < 0):
        where = tuple(int(index) for index in np.argwhere(array < 0)[0])
        raise ValueError(f"{name}{list(where)} is {array[where]}; a gain cannot be negative")
    return array
