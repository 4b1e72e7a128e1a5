"""How a serial chain is cut into chunks, and how they lie in memory, for `dca`.

A *block* is the part of one thread: L chunks that follow one another, side by side in the lanes of vector
instructions. Row i of a block holds link i of each of its chunks; a chunk that is one link shorter begins with a link
that is not there: no mass, no displacement, no joint. In every array the L lanes of a number stand together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.cpu.chains.lanes import aligned
from engine.model import PRISMATIC, REVOLUTE, layout
from engine.model.layout import Packed

# fmt: off
# constants of a link: those of `engine.model.layout`, then
TURNS = layout.CONSTANTS  # 1 S = (0, 0, TURNS, 0, 0, SLIDES): 1 and 0, 0 and 1, or 0 and 0 for a link that is not there
SLIDES = TURNS + 1
CONSTANTS = TURNS + 2

# workspace of a link
R = 0          # 9  rotation of T_i
P = 9          # 3  its position
QD = 12        # 1  q̇; before that, q; in the end, q̈
U = 13         # 6  U = I S
G = 19         # 6  Φ S
B = 25         # 6  the link's own force, at the accelerations that velocities give
DINV = 31      # 1  1/D
UD = 32        # 1  u/D; before that, τ
WIDTH = 33

# what simulation adds to a link, in an array of its own: with E, D is SᵀU + E; a locked joint has 1/D = 0, u/D = TARGET
E = 0          # 1
LOCK = 1       # 1  not 0 where the joint is locked
TARGET = 2     # 1  the acceleration that it then has
D = 3          # 1
REACTION = 4   # 1  u; in the end, the force that the lock exerts, less τ
ADDITIONS = 5

# what is kept of a chunk
I = 0          # 21 A (6), B (9), C (6) of its articulated inertia; then of all that lies distal to it
PHI = 21       # 36 Φ, by rows; then the map of accelerations through it, by columns
Y = 57         # 21 upper triangle, by rows
FORCE = 78     # 6  p; then that of all that lies distal to it
DRIFT = 84     # 6  b; then what the map of accelerations adds
CR = 90        # 9  rotation of the last link, seen from the link before the chunk
CP = 99        # 3  its position
CV = 102       # 6  its twist, where the link before the chunk is at rest
V = 108        # 6  twist of the link before the chunk
A = 114        # 6  acceleration of that link
END = 120      # 6  acceleration that the velocities alone give the chunk's last link
CHUNK = 126
# fmt: on


class Cut(NamedTuple):
    """A chain cut into T blocks, m rows in all."""

    constants: NDArray[np.floating]
    """(m, CONSTANTS · L)."""
    links: NDArray[np.int64]
    """(m, L): which link stands there, −1 for one that is not there."""
    first: NDArray[np.int64]
    """(T + 1,): the row with which a block begins."""


def cut(packed: Packed, blocks: int, lanes: int) -> Cut:
    """A packed serial chain cut into blocks of `lanes` chunks, as equal as can be."""
    n = len(packed.topology)
    ends = np.arange(blocks * lanes + 1) * n // (blocks * lanes)
    lengths = np.diff(ends).reshape(blocks, lanes)
    rows = lengths.max(axis=1)
    first = np.concatenate([[0], np.cumsum(rows)])
    links = np.full((first[-1], lanes), -1)
    for chunk, start in enumerate(ends[:-1]):
        block, lane = divmod(chunk, lanes)
        links[first[block + 1] - lengths[block, lane] : first[block + 1], lane] = np.arange(start, ends[chunk + 1])
    fields = np.zeros((n + 1, CONSTANTS), packed.constants.dtype)
    fields[:n, :TURNS] = packed.constants[:n]
    kind = packed.topology[:, 1]
    fields[:n, TURNS], fields[:n, SLIDES] = kind == REVOLUTE, kind == PRISMATIC
    fields[n, [layout.HOME_ROTATION + k for k in (0, 4, 8)]] = 1
    constants = aligned((len(links), CONSTANTS * lanes), fields.dtype.name)
    constants[:] = np.swapaxes(fields[links], 1, 2).reshape(constants.shape)
    return Cut(constants, links, first)
