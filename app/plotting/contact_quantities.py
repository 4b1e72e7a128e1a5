"""Quantities of a link's contacts: whether something presses on it, how fast it slips, and the share of friction used.

Free of Qt.
"""

from __future__ import annotations

import numpy as np

import engine
from app.acting.loaded_robot import alone
from app.simulation.contacts import ContactForces, Contacts

Array = np.ndarray
IN_CONTACT, SLIP_SPEED, FRICTION_USED = "in contact", "slip speed", "friction used"
OF_LINK_CONTACTS = (IN_CONTACT, SLIP_SPEED, FRICTION_USED)

LEGS = 1 / 3
"""The share of a robot's height, from below, in which its feet are, in the neutral pose."""


def feet_of(model: engine.Model) -> set[int]:
    """Return the links that a robot on legs stands on: the lowest with a shape on each outermost body, if it is low."""
    robot = alone(model)
    if not robot.collisions:
        return set()
    links = np.unique([shape.link for shape in robot.collisions]).astype(int)
    bodies = robot.link_body[links]
    links, bodies = links[bodies >= 0], bodies[bodies >= 0]
    inner = set[int]()
    for body in bodies.tolist():
        while (body := int(robot.parent[body])) >= 0 and body not in inner:
            inner.add(body)
    height = engine.link_poses(robot, robot.neutral())[:, 2, 3]
    lowest = height[links].min()
    low = height <= lowest + LEGS * (height.max() - lowest)
    feet = dict[int, int]()
    for link, body in zip(links.tolist(), bodies.tolist(), strict=True):
        if body not in inner and low[link] and (body not in feet or height[link] < height[feet[body]]):
            feet[body] = link
    return set(feet.values()) if len(feet) > 1 else set()


class LinkContacts:
    """Evaluates the contacts of links in samples of a robot; the links' coefficients of friction are computed once."""

    def __init__(self, model: engine.Model):
        self._model = model
        self._scene: engine.Scene | None = None
        self._friction = np.zeros(0)

    def values(self, contact: ContactForces | None, link: int) -> Array:
        """Return the numbers of `OF_LINK_CONTACTS` (3,) for a link in a sample; NaN where it has none.

        They are 1 where something presses on the link, else 0; the largest speed at which what presses slips, m/s; and
        Σ|f_t| / Σ μ f_n over that, 1 where all of it slips, from the tangential and normal forces f_t, f_n and the
        coefficients μ.
        """
        if contact is None:
            return np.full(3, np.nan)
        at, none = contact.contacts, np.array([0.0, np.nan, np.nan])
        if at is None or contact.scene is None:
            return none
        normal = np.einsum("ij,ij->i", at.force, at.normal)
        pressing = ((at.link == link) | (at.other == link)) & (normal > 0)
        if not pressing.any():
            return none
        along = np.linalg.norm(at.force - normal[:, None] * at.normal, axis=1)[pressing].sum()
        slip = np.where(at.state == "slip", at.slip, 0.0)[pressing]
        most = (self._coefficients(contact.scene, at) * normal)[pressing].sum()
        return np.array([1.0, slip.max(), along / most if most else np.nan])

    def _coefficients(self, scene: engine.Scene, at: Contacts) -> Array:
        """Return the coefficient of friction of contacts, (C,): the smaller of those of the two surfaces."""
        if scene is not self._scene:
            self._scene, self._friction = scene, _friction_of_links(self._model, scene)
        around = [scene.friction, *(scene.friction if each.friction is None else each.friction
                                    for each in scene.obstacles)]  # fmt: skip
        of_other = np.concatenate([self._friction, around[::-1]])  # −1 is the ground, −2 − k obstacle k
        coefficient: Array = np.minimum(self._friction[at.link], of_other[at.other])
        return coefficient


def _friction_of_links(model: engine.Model, scene: engine.Scene) -> Array:
    """Return each link's coefficient of friction, (links,); NaN if its shapes have different ones, or it has none."""
    found: dict[int, set[float]] = {}
    for shape in model.collisions:
        own = scene.friction if shape.friction is None else shape.friction
        found.setdefault(shape.link, set()).add(own)
    friction = np.full(len(model.link_names), np.nan)
    for link, values in found.items():
        if len(values) == 1:
            friction[link] = next(iter(values))
    return friction
