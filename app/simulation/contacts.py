"""The contacts of the robot that is looked at, as a snapshot tells of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import engine


@dataclass(frozen=True, eq=False)
class Contacts:
    """C contacts: of the links `link` (C,); `point` (C, 3) in the world, m; `normal` (C, 3) towards that link.

    `force` (C, 3) on that link, N; `state` (C,) is "open", "stick" or "slip" for each; `other` (C,) is the index of
    another of the robot's links, on which the opposite force acts, and negative where there is none.
    """

    point: np.ndarray
    normal: np.ndarray
    force: np.ndarray
    state: np.ndarray
    link: np.ndarray
    other: np.ndarray

    def on(self, link: int) -> np.ndarray:
        """(F, 3): the forces on a link, in the world, N."""
        return np.concatenate([self.force[self.link == link], -self.force[self.other == link]])


def contacts_of(touches: engine.Touches | None, dt: float, robot: int) -> Contacts | None:
    """Those of a robot of the batch in the last step, which took dt; None where it touched nothing."""
    found = None if touches is None else touches.of_robot(robot)
    if found is None or found.number[0] == 0:
        return None
    return Contacts(
        found.point[0].copy(),
        found.normal[0].copy(),
        found.impulse[0] / dt,
        np.array(found.states(0)),
        found.link[0].copy(),
        found.other[0].copy(),
    )


class ContactForces(NamedTuple):
    """Forces (F, 3) in the world, N, on links (F,); the `number` of contacts, and the residual of their impulses.

    A contact of two of the robot's links has a force on each.
    """

    link: np.ndarray
    force: np.ndarray
    number: int
    residual: float


def contact_forces(touches: engine.Touches, dt: float, robot: int) -> ContactForces:
    """Those of a robot of the batch in the last step, which took dt."""
    found = touches.of_robot(robot)
    force, other = found.impulse[0] / dt, found.other[0]
    inner = other >= 0
    links = np.concatenate([found.link[0], other[inner]])
    return ContactForces(links, np.concatenate([force, -force[inner]]), int(found.number[0]), float(found.residual[0]))
