"""The initial pose of a robot: neutral, or a named pose if neutral violates its limits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import engine

PREFERRED = ("home", "default", "standing")
"""Names of poses meant as initial ones, in order of preference."""


class Start(NamedTuple):
    """The name of a robot's first pose, and the coordinates that rule out the neutral one."""

    pose: str
    outside: tuple[str, ...] = ()


def start_of(model: engine.Model) -> Start:
    """Return the start of a single robot: in a pose of its SRDF if zero is outside its limits."""
    outside = tuple(model.coordinate_names[v] for v in np.flatnonzero((model.lower > 0) | (model.upper < 0)))
    names = list(model.group_states)
    if not outside or not names:
        return Start("neutral")
    return Start(next((name for name in PREFERRED if name in names), names[0]), outside)


def has_limbs(model: engine.Model) -> bool:
    """Whether several limbs of the robot hang from the world, as where a file fixes a walking robot's root to it."""
    return int(np.count_nonzero(model.parent[model.part_of_body == 0] < 0)) > 1


def first_pose(model: engine.Model) -> np.ndarray:
    """Return the initial q (nq,), before it is put down; each part of a composed robot as if alone."""
    q = model.neutral()
    for part in model.parts or (engine.Part(model, prefix=""),):
        pose = start_of(part.model).pose
        if pose != "neutral":
            q = model.pose(f"{part.prefix}{pose}", q)
    return q
