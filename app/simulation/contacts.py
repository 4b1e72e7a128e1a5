"""The contacts of the selected robot, as stored in a snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import engine


@dataclass(frozen=True, eq=False)
class Contacts:
    """C contacts: links `link` (C,); `point` (C, 3), m, world; `normal` (C, 3) towards that link.

    `force` (C, 3), N, acts on that link; `state` (C,) is "open", "stick" or "slip", and `slip` (C,) the tangential
    speed, m/s; `other` (C,) is the robot's other link in contact, which receives the opposite force, −1 the ground or
    −2 − k obstacle k of the scene.
    """

    point: np.ndarray
    normal: np.ndarray
    force: np.ndarray
    state: np.ndarray
    link: np.ndarray
    other: np.ndarray
    slip: np.ndarray

    def on(self, link: int) -> np.ndarray:
        """Return the forces (F, 3) on a link, N, world frame."""
        return np.concatenate([self.force[self.link == link], -self.force[self.other == link]])


def contacts_of(touches: engine.Contacts | None, dt: float, robot: int) -> Contacts | None:
    """Return one robot's contacts in the last step, of length dt; None if it touched nothing."""
    contacts = None if touches is None else touches.of_robot(robot)
    if contacts is None or contacts.number[0] == 0:
        return None
    return Contacts(
        contacts.point[0].copy(),
        contacts.normal[0].copy(),
        contacts.impulse[0] / dt,
        np.array(contacts.states(0)),
        contacts.link[0].copy(),
        contacts.other[0].copy(),
        contacts.slip[0].copy(),
    )


class ContactForces(NamedTuple):
    """Forces (F, 3), N, world frame, on links (F,); the number of contacts; the residual of their impulses.

    A contact between two of the robot's links has one force on each. `contacts` are what they act at, None if nothing,
    and `scene` is what they were computed with.
    """

    link: np.ndarray
    force: np.ndarray
    number: int
    residual: float
    contacts: Contacts | None = None
    scene: engine.Scene | None = None


def contact_forces(touches: engine.Contacts, scene: engine.Scene | None, dt: float, robot: int) -> ContactForces:
    """Return one robot's contact forces in the last step, of length dt, in a scene."""
    contacts = touches.of_robot(robot)
    force, other = contacts.impulse[0] / dt, contacts.other[0]
    inner = other >= 0
    links = np.concatenate([contacts.link[0], other[inner]])
    both, number, residual = np.concatenate([force, -force[inner]]), int(contacts.number[0]), contacts.residual[0]
    return ContactForces(links, both, number, float(residual), contacts_of(touches, dt, robot), scene)
