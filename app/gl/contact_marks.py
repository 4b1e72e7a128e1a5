"""`Marks`: the drawing of contacts: a disc at each point, a pin along its normal, an arrow along its force."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.gl import mesh

Floats = NDArray[np.floating]

ROD, HEAD = mesh.cylinder(1.0, 1.0, sides=16, steps=0), mesh.cone(sides=16)
"""The meshes of marks: z from −1/2 to 1/2 and from 0 to 1."""
COLORS = {"open": (0.55, 0.58, 0.62, 1.0), "stick": (0.10, 0.75, 0.45, 1.0), "slip": (0.76, 0.45, 1.0, 1.0)}
PIN_COLOR = (0.92, 0.94, 0.97, 1.0)
LENGTH, MAX_LENGTH = 0.6, 1.0
"""The length of an arrow for the robot's weight, and that which no arrow reaches, in robot sizes, as below."""
ARROW = 0.009
"""The radius of an arrow's shaft; its head is `WIDER` times as wide, and `SLENDER` times as long as it is wide."""
WIDER, SLENDER = 2.4, 2.6
DISC, FLAT = 0.019, 0.004
"""The radius and thickness of a disc."""
PIN, PIN_LENGTH = 0.003, 0.06
COVERED = 0.2
"""The largest radius of a disc, in the radius of what touches there, so that marks hide no small body."""


@dataclass(frozen=True, eq=False)
class Marks:
    """Copies of `ROD` and `HEAD`: `poses` (…, 4, 4), including scale, and `colors` (…, 4).

    `ends` (2, C, 3) are the start and end points of the C arrows, m, and `state` (C,) the contacts' states.
    """

    rods: NDArray[np.float32]
    rod_colors: NDArray[np.float32]
    heads: NDArray[np.float32]
    head_colors: NDArray[np.float32]
    ends: Floats
    state: NDArray[np.str_]


def marks(
    point: Floats, normal: Floats, force: Floats, state: NDArray[np.str_], weight: float, size: float,
    body: Floats | float = np.inf,
) -> Marks:  # fmt: skip
    """Return the marks of contacts at points (C, 3), m, with normals (C, 3), forces (C, 3), N, and states (C,).

    A force equal to the robot's `weight`, N, has the length `LENGTH` times the robot's `size`, m. Arrows are in
    proportion up to it; that of a larger force is longer still, but stays below `MAX_LENGTH`. `body` (C,), m, is the
    radius of the smaller link at each contact, which limits the marks' thickness.
    """
    every = np.minimum(np.full(len(point), size), COVERED / DISC * np.asarray(body))
    strength = np.linalg.norm(force, axis=1)
    pressing = strength > 1e-6 * weight
    direction = np.where(pressing[:, None], force / np.maximum(strength, 1e-30)[:, None], normal)
    length = size * lengths(strength / weight)
    ends = np.stack([point, point + length[:, None] * direction])
    # A short arrow is thinner too, so that its head is never longer than half of it.
    radius = np.minimum(ARROW * every, length / (2 * WIDER * SLENDER))
    head = WIDER * SLENDER * radius
    color = np.array([COLORS[each] for each in COLORS], np.float32)[
        np.argmax(state[:, None] == np.array(list(COLORS)), axis=1)
    ]
    shafts = along(point + (length - head)[:, None] / 2 * direction, direction, (length - head), radius)[pressing]
    heads = along(point + (length - head)[:, None] * direction, direction, head, WIDER * radius)[pressing]
    discs = along(point, normal, FLAT * every, DISC * every)
    pins = along(point + PIN_LENGTH / 2 * size * normal, normal, PIN_LENGTH * every, PIN * every)
    pin_colors = np.broadcast_to(np.array(PIN_COLOR, np.float32), color.shape)
    return Marks(
        np.concatenate([discs, pins, shafts]).astype(np.float32),
        np.concatenate([color, pin_colors, color[pressing]]),
        heads.astype(np.float32),
        color[pressing],
        ends,
        state,
    )


def joined(one: Marks, other: Marks) -> Marks:
    """Return the marks of both."""
    names = "rods", "rod_colors", "heads", "head_colors"
    parts = (np.concatenate([getattr(one, name), getattr(other, name)]) for name in names)
    return Marks(*parts, np.concatenate([one.ends, other.ends], 1), np.concatenate([one.state, other.state]))


def lengths(share: Floats) -> Floats:
    """Return the lengths of arrows, in robot sizes, for forces in multiples of the robot's weight."""
    rest = MAX_LENGTH - LENGTH
    beyond = LENGTH * np.maximum(share - 1.0, 0.0)
    length: Floats = LENGTH * np.minimum(share, 1.0) + rest * beyond / (rest + beyond)
    return length


def distance(one: Marks | None, other: Marks | None) -> float:
    """Return the largest distance of any mark from the nearest of the other set, m, in either direction.

    Infinite if the number of contacts or a state differs. The order of contacts does not matter, since it may change.
    """
    if one is other:
        return 0.0
    if one is None or other is None or len(one.state) != len(other.state):
        return np.inf
    away = np.linalg.norm(one.ends[:, :, None] - other.ends[:, None], axis=3).max(0)
    away[one.state[:, None] != other.state] = np.inf
    return float(max(away.min(0).max(), away.min(1).max()))


def along(center: Floats, direction: Floats, length: Floats, radius: Floats) -> Floats:
    """(C, 4, 4): map a mesh's origin to `center` and z to `direction`, (C, 3) each, with that length and radius."""
    side = np.cross(np.eye(3)[np.argmin(np.abs(direction), axis=1)], direction)
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    poses = np.zeros((len(direction), 4, 4))
    poses[:, :3, 0], poses[:, :3, 1] = radius[:, None] * side, radius[:, None] * np.cross(direction, side)
    poses[:, :3, 2], poses[:, :3, 3], poses[:, 3, 3] = length[:, None] * direction, center, 1.0
    return poses
