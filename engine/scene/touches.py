"""`Touches`: the contacts of a simulation's robots in its last step."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
RESTS = 1e-6
"""m/s: what is slower along a surface sticks."""
RESTS_SINGLE = 1e-4
"""The same in single precision."""
TOLERANCE = 1e-9
"""The residual that a step's impulses are asked to reach."""
TOLERANCE_SINGLE, BEARABLE_SINGLE = 2e-5, 1e-4
"""The same in single precision; and what may stay where the rounds of the solver leave more."""


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

    def on_host(self) -> Touches:
        """The same in NumPy arrays, which are copies where these stand on a GPU."""
        return Touches(*map(_on_host, self))

    def of_robot(self, robot: int) -> Touches:
        """Those of one robot alone, (1, …), as many as there are, in NumPy arrays."""
        number, rows = int(_on_host(self.number[robot])), slice(robot, robot + 1)
        return Touches(*(_on_host(x[rows, :number] if x.ndim > 1 else x[rows]) for x in self))

    def wrenches(self, shape: tuple[int, int, int], dt: float) -> Array:
        """Those of all contacts of arrays on the host, over dt, added up by link: shape (batch, links, 6), N m, N."""
        total = np.zeros(shape)
        acting = np.arange(self.link.shape[1]) < self.number[:, None]
        robots, places = np.nonzero(acting)
        np.add.at(total, (robots, self.link[robots, places]), self.wrench[robots, places] / dt)
        robots, places = np.nonzero(acting & (self.other >= 0))
        np.add.at(total, (robots, self.other[robots, places]), self.other_wrench[robots, places] / dt)
        return total

    def states(self, robot: int) -> tuple[Literal["open", "stick", "slip"], ...]:
        """Of each contact of a robot: "open" where nothing presses, "slip" where it moves along, or "stick"."""
        impulse, normal, slip, number = (
            _on_host(x[robot]) for x in (self.impulse, self.normal, self.slip, self.number)
        )
        pressing = np.sum(impulse * normal, -1)
        moving = np.where(slip > (RESTS if slip.dtype == np.float64 else RESTS_SINGLE), "slip", "stick")
        return tuple(np.where(pressing <= 0, "open", moving)[:number].tolist())


def _on_host(x: Any) -> np.ndarray:
    """A NumPy array of what may stand on a GPU."""
    return np.asarray(x.get() if hasattr(x, "get") else x)
