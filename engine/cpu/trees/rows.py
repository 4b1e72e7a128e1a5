"""A tree as rows: bodies with one coordinate each, one for each velocity of the model, in their order.

A ball or free joint has a row for each of its velocities. All but the last are massless, and each has its own axis as
z: with Q, which takes the axes x, y, z to y, z, x, the pose from one row to the next is (Q, 0), and the first row's is
the joint's times Q. The twist of a row includes the joint's rows so far; its bias c leaves out the contribution of the
rows before it in its joint (`INNER`), which have no bias among themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.robot import KIND
from engine.model import FREE, PRISMATIC, REVOLUTE, SPHERICAL, layout
from engine.model.joints import NQ, NV
from engine.model.layout import Packed

# fmt: off
# constants of a row: those of `engine.model.layout`, then
TURNS = layout.CONSTANTS  # 1 S = (0, 0, TURNS, 0, 0, SLIDES)
SLIDES = TURNS + 1
CONSTANTS = TURNS + 2

# workspace of a row
R = 0           # 9  rotation of T_i
P = 9           # 3  its position
INNER = 12      # 4  ω_x, ω_y, v_x, v_y of the rows before it in its joint
U = 16          # 6  U = I S
B = 22          # 6  its own force, at the accelerations by velocities alone
DINV = 28       # 1  1/D, or 0 where the joint is held
UD = 29         # 1  u/D, or the acceleration of a held joint
D = 30          # 1  SᵀU + added inertia
REACTION = 31   # 1  u
WIDTH = 32
# fmt: on

_Q = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


class Rows(NamedTuple):
    """n rows; arrays are (n,), except `joints`."""

    parent: NDArray[np.int64]
    """The row before, −1 for the base."""
    first: NDArray[np.int64]
    """The first row of the row's joint."""
    q: NDArray[np.int64]
    """The coordinate of the row's pose, −1 for those of ball and free joints."""
    body: NDArray[np.int64]
    """The row's body, −1 where it is massless."""
    of: NDArray[np.int64]
    """The body of the row's joint."""
    joints: NDArray[np.int64]
    """(k, 3): of each ball and free joint the first row, its first coordinate, and its kind."""


def rows(topology: NDArray[np.int64]) -> Rows:
    """Return the rows of a model's packed topology, see `layout`."""
    parent, kind, q_start, v_start = topology.T
    of = np.repeat(np.arange(len(topology)), NV[kind])
    last = v_start + NV[kind] - 1
    first = v_start[of]
    row = np.arange(len(of))
    above = np.append(last, -1)[parent[of]]
    single = (kind == REVOLUTE) | (kind == PRISMATIC)
    some = np.flatnonzero(~single)
    return Rows(
        parent=np.where(row == first, above, row - 1),
        first=first,
        q=np.where(single[of], q_start[of], -1),
        body=np.where(row == last[of], of, -1),
        of=of,
        joints=np.stack([v_start[some], q_start[some], kind[some]], 1),
    )


def row_constants(packed: Packed, rows: Rows) -> NDArray[np.floating]:
    """(n + 1, CONSTANTS): the rows' constants, and those of an empty lane."""
    n, home = len(rows.of), layout.HOME_ROTATION
    kind, carries = packed.topology[rows.of, KIND], rows.body >= 0
    table = np.zeros((n + 1, CONSTANTS), packed.constants.dtype)
    table[:n, :TURNS] = packed.constants[rows.of]
    table[:n][~carries, layout.MASS :] = 0
    inner = rows.first != np.arange(n)
    table[:n][inner, home : home + 9] = np.ravel(_Q)
    table[:n][inner, layout.HOME_POSITION : layout.MASS] = 0
    place = np.arange(n) - rows.first
    turns = (kind == REVOLUTE) | (kind == SPHERICAL) | ((kind == FREE) & (place < 3))
    table[:n, TURNS], table[:n, SLIDES] = turns, ~turns
    table[n, [home, home + 4, home + 8]] = 1
    return table


def coordinates(topology: NDArray[np.int64]) -> tuple[int, int]:
    """nq and nv of a packed topology."""
    return int(NQ[topology[:, KIND]].sum()), int(NV[topology[:, KIND]].sum())
