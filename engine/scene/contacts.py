"""`Contacts`: the contacts of a simulation's robots in its last step."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.scene.contact_tolerances import STICKING_SPEED, STICKING_SPEED_SINGLE

Array = NDArray[np.floating]


class Contacts(NamedTuple):
    """The contacts of a batch: of robot k the first `number[k]` of C entries are valid, the others undefined.

    `link` (batch, C) is the index of the robot's link, `point` (batch, C, 3) the contact point in the world, m,
    `normal` (batch, C, 3) points from the other surface to the link, `gap` (batch, C) is the distance at the start of
    the step, m, negative for an overlap, `impulse` (batch, C, 3) the impulse on the link, N s, `slip` (batch, C) the
    tangential speed after the step, m/s, `wrench` (batch, C, 6) the impulse about the link's origin in its axes at the
    start of the step, N m s and N s. `other` (batch, C) is the other surface: −1 the ground, −2 − k obstacle k of the
    scene, else the index of another link of the robot; `other_wrench` (batch, C, 6) is then the impulse on that link,
    and 0 on ground and obstacles. `residual` (batch,) is the residual of the contact law, relative to the step's
    largest velocity, at least `VELOCITY_FLOOR`; `worst` (batch,) is the largest residual of all steps of the last call.
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

    def on_host(self) -> Contacts:
        """Return the contacts in NumPy arrays, copied from a GPU."""
        return Contacts(*map(_on_host, self))

    def of_robot(self, robot: int) -> Contacts:
        """Return the contacts of one robot, (1, number), in NumPy arrays."""
        number, rows = int(_on_host(self.number[robot])), slice(robot, robot + 1)
        return Contacts(*(_on_host(x[rows, :number] if x.ndim > 1 else x[rows]) for x in self))

    def wrenches(self, shape: tuple[int, int, int], dt: float) -> Array:
        """Those of all contacts of arrays on the host, over dt, added up by link: shape (batch, links, 6), N m, N."""
        total = np.zeros(shape)
        active = np.arange(self.link.shape[1]) < self.number[:, None]
        robots, places = np.nonzero(active)
        np.add.at(total, (robots, self.link[robots, places]), self.wrench[robots, places] / dt)
        robots, places = np.nonzero(active & (self.other >= 0))
        np.add.at(total, (robots, self.other[robots, places]), self.other_wrench[robots, places] / dt)
        return total

    def states(self, robot: int) -> tuple[Literal["open", "stick", "slip"], ...]:
        """Of each contact of a robot: "open" where nothing presses, "slip" where it moves along, or "stick"."""
        impulse, normal, slip, number = (
            _on_host(x[robot]) for x in (self.impulse, self.normal, self.slip, self.number)
        )
        pressing = np.sum(impulse * normal, -1)
        moving = np.where(
            slip > (STICKING_SPEED if slip.dtype == np.float64 else STICKING_SPEED_SINGLE), "slip", "stick"
        )
        return tuple(np.where(pressing <= 0, "open", moving)[:number].tolist())


def _on_host(x: Any) -> np.ndarray:
    """Return a NumPy array of one that may be on a GPU."""
    return np.asarray(x.get() if hasattr(x, "get") else x)
