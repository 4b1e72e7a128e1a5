"""The pose in which a robot is at first: the neutral one, or a named one where that cannot be the robot's own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import engine

PREFERRED = ("home", "default", "standing")
"""Names of poses that are meant to be begun in, the likeliest first."""


class Start(NamedTuple):
    """The name of a robot's first pose, and the coordinates because of which it is not the neutral one."""

    pose: str
    outside: tuple[str, ...] = ()


def start_of(model: engine.Model) -> Start:
    """How a robot that is no composed one begins: where zero is outside its limits, in a pose that its SRDF names."""
    outside = tuple(model.coordinate_names[v] for v in np.flatnonzero((model.lower > 0) | (model.upper < 0)))
    names = list(model.group_states)
    if not outside or not names:
        return Start("neutral")
    return Start(next((name for name in PREFERRED if name in names), names[0]), outside)


def first_pose(model: engine.Model) -> np.ndarray:
    """q (nq,) in which a robot is at first, before it is put down; each part of a composed one as it is alone."""
    q = model.neutral()
    for part in model.parts or (engine.Part(model, prefix=""),):
        pose = start_of(part.model).pose
        if pose != "neutral":
            q = model.pose(f"{part.prefix}{pose}", q)
    return q
