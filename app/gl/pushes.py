"""Arrows for external wrenches on links: one head for a force, two heads for a moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.gl.contact_marks import SLENDER, WIDER, along

Floats = NDArray[np.floating]

PUSH = (1.0, 0.55, 0.10, 1.0)
LENGTH, SPAN = 0.9, (0.3, 0.8)
"""The length of an arrow for the robot's weight, or that weight times the robot's size; and the limits of lengths."""
RADIUS = 0.008
"""The radius of a shaft, in robot sizes, as above."""


class Push(NamedTuple):
    """A wrench (6,) = moment, N m, and force, N, about a link's origin, in the world's axes or the link's."""

    link: int
    wrench: Floats
    world: bool


def of_links(wrench: Floats | None) -> tuple[Push, ...]:
    """Return the non-zero wrenches of (links, 6), in link axes."""
    if wrench is None:
        return ()
    return tuple(Push(link, wrench[link], world=False) for link in np.flatnonzero(wrench.any(axis=1)).tolist())


class Arrow(NamedTuple):
    """An arrow from `start` at the link's origin to `end`, (3,) each, m; `strength` in N or N m."""

    start: Floats
    end: Floats
    strength: float
    is_moment: bool


def arrows(pushes: Sequence[Push], poses: Floats, weight: float, size: float) -> list[Arrow]:
    """Return the arrows of wrenches on links at (links, 4, 4), for a robot of that weight, N, and size, m."""
    made = []
    for link, wrench, world in pushes:
        start = poses[link, :3, 3]
        turn = np.eye(3) if world else poses[link, :3, :3]
        for vector, is_moment in ((turn @ wrench[3:], False), (turn @ wrench[:3], True)):
            strength = float(np.linalg.norm(vector))
            if strength > 0:
                share = LENGTH * strength / (weight * size if is_moment else weight)
                length = size * min(max(share, SPAN[0]), SPAN[1])
                made.append(Arrow(start, start + length * vector / strength, strength, is_moment))
    return made


def shapes(made: Sequence[Arrow], size: float) -> dict[str, tuple[Floats, Floats]]:
    """Return poses (N, 4, 4) and colours (N, 4) of the arrows' rods and heads, by name in `glyphs.MESHES`."""
    if not made:
        return {}
    direction = np.array([each.end - each.start for each in made])
    length = np.linalg.norm(direction, axis=1)
    direction /= length[:, None]
    end, start = np.array([each.end for each in made]), np.array([each.start for each in made])
    radius = np.full(len(made), RADIUS * size)
    head = WIDER * SLENDER * radius
    shaft = length - head
    rods = along(start + shaft[:, None] / 2 * direction, direction, shaft, radius)
    heads = along(end - head[:, None] * direction, direction, head, WIDER * radius)
    second = np.array([each.is_moment for each in made])
    behind = along(end - 1.7 * head[:, None] * direction, direction, head, WIDER * radius)[second]
    parts = {"rod": rods, "head": np.concatenate([heads, behind])}
    return {name: (poses, np.tile(np.array(PUSH, np.float32), (len(poses), 1))) for name, poses in parts.items()}
