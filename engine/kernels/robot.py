"""The constants of a robot that kernels are written out for."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline
from engine.compile.operations import shaped
from engine.model import Model
from engine.model.layout import HOME_POSITION, pack

PARENT, KIND, Q_START, V_START, TILTED = range(5)
ENTER, LEAVE = 0, 1
_TILTED = 8
"""Non-zero entries of a home rotation from which on a body is tilted."""
_ROUNDING = 4e-16
"""The rounding error of 0 and ±1 in rotations by quarter turns."""


class Robot(NamedTuple):
    """A robot's tree and constants, see `engine.model.layout.Packed`, and the order of its bodies in passes."""

    tree: NDArray[np.int64]
    """(n, 5), by columns `PARENT` to `TILTED`: parent, kind, first entries in q and v, and 1 if the home rotation is
    tilted."""
    bodies: NDArray[np.floating]
    """(n, CONSTANTS): home rotation and position, mass, first moment, inertia."""
    gravity: NDArray[np.floating]
    """(3,), m/s²."""
    walk: NDArray[np.int64]
    """(2 n, 2): body, and ENTER or LEAVE; a body is entered after its parent and left after its subtree."""


@lru_cache(maxsize=64)
def robot_of(model: Model) -> Robot:
    """Return a model's constants for kernels; entries of rotations within rounding of 0 and ±1 become these."""
    packed = pack(model)
    bodies = packed.constants[:-1].copy()
    rotation = bodies[:, :HOME_POSITION]
    rounded = np.round(rotation)
    bodies[:, :HOME_POSITION] = np.where(np.abs(rotation - rounded) < _ROUNDING, rounded, rotation)
    tilted = np.count_nonzero(bodies[:, :HOME_POSITION], 1) >= _TILTED
    tree = np.column_stack([packed.topology, tilted.astype(np.int64)])
    return Robot(tree, bodies, packed.constants[-1, :3].copy(), _walk(model.parent))


def pattern(robot: Robot) -> Robot:
    """The common part of robots of one shape: constants that are 0, 1 or −1; NaN marks the others."""

    def common(x: NDArray[np.floating]) -> NDArray[np.floating]:
        return np.where(np.isin(x, (0.0, 1.0, -1.0)), x, np.nan)

    return robot._replace(bodies=common(robot.bodies), gravity=common(robot.gravity))


def constants(robot: Robot, dtype: str) -> NDArray[np.floating]:
    """Return the constants that `with_constants` takes."""
    return np.concatenate([robot.bodies.ravel(), robot.gravity]).astype(dtype)


@inline
def with_constants(pattern, numbers):
    """The robot of a pattern with the constants `numbers`."""
    bodies, gravity = pattern.bodies, pattern.gravity
    n = bodies.shape[0] * bodies.shape[1]
    return Robot(pattern.tree, shaped(bodies, numbers, 0), shaped(gravity, numbers, n), pattern.walk)


def _walk(parent: NDArray[np.int64]) -> NDArray[np.int64]:
    children: list[list[int]] = [[] for _ in range(len(parent) + 1)]
    for i, parent_of_i in enumerate(parent):
        children[int(parent_of_i)].append(i)  # the world's, −1, is the last list
    order, stack = [], [(i, ENTER) for i in reversed(children[-1])]
    while stack:
        i, event = stack.pop()
        order.append((i, event))
        if event == ENTER:
            stack.append((i, LEAVE))
            stack.extend((j, ENTER) for j in reversed(children[i]))
    return np.array(order, np.int64).reshape(-1, 2)
