"""The arrays in which compiled kernels, on CPU and GPU, read a model.

``topology`` (n, 4) int64: parent, kind, first index of the body's q and of its v. ``constants`` (n + 1, CONSTANTS)
float: home rotation (9, row-major), home position (3), mass, first moment (3), rotational inertia (xx xy xz yy yz zz);
the row after the last holds the gravity vector.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.model import Model

HOME_ROTATION, HOME_POSITION, MASS, FIRST_MOMENT, INERTIA, CONSTANTS = 0, 9, 12, 13, 16, 22
"""The offset of each quantity in a row of `Packed.constants`, and the row's length."""


class Packed(NamedTuple):
    """The arrays of a model for the kernels; see the module."""

    topology: NDArray[np.int64]
    constants: NDArray[np.floating]


class PackedCoupling(NamedTuple):
    """C and q₀ as gathers: tree coordinate i is ``factor[i] · x[index[i]] + offset[i]``."""

    q_index: NDArray[np.int64]
    q_factor: NDArray[np.floating]
    q_offset: NDArray[np.floating]
    v_index: NDArray[np.int64]
    v_factor: NDArray[np.floating]
    v_offset: NDArray[np.floating]


@lru_cache(maxsize=64)
def pack_coupling(model: Model, dtype: str = "float64") -> PackedCoupling:
    """Return the model's coupling for the kernels, cached by model and number type."""
    c = model.coupling
    factors = (c.q_scale.astype(dtype), c.q_offset.astype(dtype), c.v_scale.astype(dtype))
    return PackedCoupling(c.q_index, factors[0], factors[1], c.v_index, factors[2], np.zeros(len(c.v_index), dtype))


@lru_cache(maxsize=64)
def pack(model: Model, dtype: str = "float64") -> Packed:
    """Return the model's arrays for the kernels, cached by model and number type."""
    n = len(model.parent)
    constants = np.zeros((n + 1, CONSTANTS))
    constants[:n, :HOME_POSITION] = model.home_rotation.reshape(n, 9)
    constants[:n, HOME_POSITION:MASS] = model.home_position
    constants[:n, MASS] = model.mass
    constants[:n, FIRST_MOMENT:INERTIA] = model.first_moment
    rows, columns = np.triu_indices(3)
    constants[:n, INERTIA:] = model.inertia[:, rows, columns]
    constants[n, :3] = model.gravity
    topology = np.stack([model.parent, model.kind, model.q_start, model.v_start], 1)
    return Packed(np.ascontiguousarray(topology), constants.astype(dtype))
