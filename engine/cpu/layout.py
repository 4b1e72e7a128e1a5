"""How a model and a block of robots lie in memory for the kernels.

``topology`` (n, 4) int64: parent, kind, where the body's q and v start.
``constants`` (n + 1, 22) float: home rotation (9, by rows), home position (3), mass, first moment (3),
rotational inertia (xx xy xz yy yz zz); the row after the last holds the gravity vector.
``w`` (n, WIDTH · L) float: the workspace of a block of L robots, a row a body, the quantities below,
each L numbers wide.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.model import Model

# fmt: off
R = 0         # 9  rotation of T_i
P = 9         # 3  position of T_i
Q = 12        # 1  coordinate
QD = 13       # 1  its velocity q̇
V = 14        # 6  twist
C = 20        # 6  c = ad_V S q̇; before that, a free joint's q̇
I = 26        # 21 articulated or composite inertia: A (6), B (9), C (6); once handed on, seen from the parent
B = 47        # 6  bias force p; follows I, so that both go to the parent in one sweep
U = 53        # 6  U = I S; a free joint's τ before and q̈ after
TAU = 59      # 1  τ
D = 60        # 1  SᵀU + E
DINV = 61     # 1  1/D, or 0 where the joint is locked
UD = 62       # 1  u/D, or the prescribed acceleration where it is locked
A = 63        # 6  acceleration
QDD = 69      # 1  q̈
E = 70        # 1  added to the diagonal of the mass matrix
LOCK = 71     # 1  1 where the acceleration is prescribed, else 0
TARGET = 72   # 1  the prescribed acceleration
REACTION = 73 # 1  the force that prescribing it takes
WIDTH = 74
# fmt: on

ONE: tuple[int, ...] = (0,)
EIGHT: tuple[int, ...] = (0,) * 8


class Packed(NamedTuple):
    """The arrays of a model that kernels read, see the module."""

    topology: NDArray[np.int64]
    constants: NDArray[np.floating]


class PackedCoupling(NamedTuple):
    """G and g₀ as gathers: number i of the tree is ``factor[i] · x[index[i]] + offset[i]``."""

    q_index: NDArray[np.int64]
    q_factor: NDArray[np.floating]
    q_offset: NDArray[np.floating]
    v_index: NDArray[np.int64]
    v_factor: NDArray[np.floating]
    v_offset: NDArray[np.floating]


@lru_cache(maxsize=64)
def pack_coupling(model: Model, dtype: str = "float64") -> PackedCoupling:
    """The model's coupling for the kernels, made once per model and number type."""
    c = model.coupling
    factors = (c.q_scale.astype(dtype), c.q_offset.astype(dtype), c.v_scale.astype(dtype))
    return PackedCoupling(c.q_index, factors[0], factors[1], c.v_index, factors[2], np.zeros(len(c.v_index), dtype))


@lru_cache(maxsize=64)
def pack(model: Model, dtype: str = "float64") -> Packed:
    """The model's arrays for the kernels, made once per model and number type."""
    n = len(model.parent)
    constants = np.zeros((n + 1, 22))
    constants[:n, :9] = model.home_rotation.reshape(n, 9)
    constants[:n, 9:12] = model.home_position
    constants[:n, 12] = model.mass
    constants[:n, 13:16] = model.first_moment
    rows, columns = np.triu_indices(3)
    constants[:n, 16:] = model.inertia[:, rows, columns]
    constants[n, :3] = model.gravity
    topology = np.stack([model.parent, model.kind, model.q_start, model.v_start], 1)
    return Packed(np.ascontiguousarray(topology), constants.astype(dtype))


def workspace(bodies: int, lanes: tuple[int, ...], dtype: str = "float64") -> NDArray[np.floating]:
    """A workspace for a block of robots, zeroed."""
    return np.zeros((bodies, WIDTH * len(lanes)), dtype)
