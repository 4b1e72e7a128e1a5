"""`Touches`: the contacts of a simulation's robots in its last step."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
RESTS = 1e-6
"""m/s: what is slower along a surface sticks."""
TOLERANCE = 1e-9
"""The residual that a step's impulses are asked to reach."""


class Touches(NamedTuple):
    """Contacts of a batch: of robot k the leading `number[k]` of C places hold numbers, the others whatever was there.

    `link` (batch, C) is the index of the robot's link, `point` (batch, C, 3) where it touches in the world, m, `normal`
    (batch, C, 3) points from what it touches to the robot, `gap` (batch, C) is the distance as the step began, m, and
    negative where they overlap, `impulse` (batch, C, 3) what the step gave to the robot, N s, `slip` (batch, C) the
    speed along the surface after it, m/s, `wrench` (batch, C, 6) the impulse about the link's origin and along its axes
    where the step began, N m s and N s. `other` (batch, C) is what it touches: −1 the ground, −2 − k obstacle k of the
    scene, else the index of another of the robot's links; `other_wrench` (batch, C, 6) is then the impulse on that
    link, and 0 on ground and obstacles. `residual` (batch,) is how far the step's impulses are from the law of contact,
    relative to its greatest velocity; `worst` (batch,) is the greatest residual of all steps of the last call.
    """

    number: NDArray[np.int64]
    link: NDArray[np.int64]
    point: Array
    normal: Array
    gap: Array
    impulse: Array
    slip: Array
    wrench: Array
    residual: Array
    worst: Array
    other: NDArray[np.int64]
    other_wrench: Array

    def states(self, robot: int) -> tuple[Literal["open", "stick", "slip"], ...]:
        """Of each contact of a robot: "open" where nothing presses, "slip" where it moves along, or "stick"."""
        pressing = np.sum(self.impulse[robot] * self.normal[robot], -1)
        moving = np.where(self.slip[robot] > RESTS, "slip", "stick")
        return tuple(np.where(pressing <= 0, "open", moving)[: self.number[robot]].tolist())
