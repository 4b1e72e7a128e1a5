"""Robot features that an algorithm may not support, each with its first occurrence in a model, in words."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

import numpy as np

from engine.model.joints import FREE, PRISMATIC, SPHERICAL
from engine.model.model import Model

Feature = Literal["mimic", "floating", "trees", "still", "spherical", "prismatic", "massless", "uneven"]
SERIAL: tuple[Feature, ...] = ("mimic", "floating", "spherical", "trees", "still")
"""Features that a serial chain of 1-DoF joints on a fixed base does not have."""

_KINDS: Mapping[Feature, tuple[int, str]] = {
    "floating": (FREE, "free"),
    "spherical": (SPHERICAL, "a ball joint"),
    "prismatic": (PRISMATIC, "prismatic"),
}
"""The features that are a joint type, in words."""


UNEVEN = 1e3
"""The mass ratio, between a body and a descendant within `REACH` joints, from which a robot is uneven."""
REACH = 3


@lru_cache(maxsize=256)
def first_occurrence(feature: Feature, model: Model) -> str | None:
    """Return the first occurrence of a feature in a model, in words, or None."""
    if feature == "mimic":
        return next((f"joint {j.name!r} mimics {j.leader!r}" for j in model.joints if j.leader is not None), None)
    if feature == "still":
        return None if len(model.parent) else "it has no joint that moves"
    if feature == "trees":
        branches = np.flatnonzero(model.parent != np.arange(len(model.parent)) - 1)
        return f"{_body(model, int(model.parent[branches[0]]))} carries several branches" if len(branches) else None
    if feature == "massless":
        bodies = np.flatnonzero(~invertible(model.J))
        return f"{_body(model, int(bodies[0]))} has no mass, or no rotational inertia" if len(bodies) else None
    if feature == "uneven":
        bodies = np.flatnonzero(uneven_bodies(model.parent, model.mass))
        if not len(bodies):
            return None
        return (
            f"{_body(model, int(bodies[0]))} is {UNEVEN:g} times as heavy as one of the {REACH} that carry it, or more"
        )
    kind, word = _KINDS[feature]
    bodies = np.flatnonzero(model.kind == kind)
    return f"joint {_joint(model, int(bodies[0]))!r} is {word}" if len(bodies) else None


def serial(model: Model) -> bool:
    """Whether a model is a serial chain of 1-DoF joints on a fixed base, with at least one joint."""
    return not any(first_occurrence(feature, model) for feature in SERIAL)


def invertible(J: np.ndarray) -> np.ndarray:
    """(…,) bool: whether spatial inertias (…, 6, 6) are invertible, each scaled by its own mass and size."""
    size = np.sqrt(np.diagonal(J, axis1=-2, axis2=-1))
    size = np.where(size > 0, size, 1)
    return np.asarray(np.linalg.eigvalsh(J / size[..., :, None] / size[..., None, :])[..., 0] > 1e-13, bool)


def uneven_bodies(parent: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """(…, n) bool: which bodies have `UNEVEN` times the mass of one of their `REACH` closest ancestors, mass (…, n).

    Joining across such a ratio loses digits: the residual of DCA-ABA grows as 1e-14 times the ratio. Massless bodies
    are ignored.
    """
    heavy, above = np.zeros(mass.shape, bool), parent
    for _ in range(REACH):
        before = np.where(above >= 0, mass[..., above], 0)
        heavy |= (before > 0) & (mass >= UNEVEN * before)
        above = np.where(above >= 0, parent[above], -1)
    return heavy


def _joint(model: Model, body: int) -> str:
    return next(joint.name for joint in model.joints if joint.bodies.start <= body < joint.bodies.stop)


def _body(model: Model, body: int) -> str:
    """Return a body's name: its first link's, or its joint's for a body without links, as inside a planar joint."""
    if body < 0:
        return "the base"
    links = np.flatnonzero(model.link_body == body)
    return f"link {model.link_names[links[0]]!r}" if len(links) else f"a body of joint {_joint(model, body)!r}"
