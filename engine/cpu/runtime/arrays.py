"""The arrays that kernels take, and filling and copying them inside kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.compile import guard, inline
from engine.kernels.status import FITS

Array = NDArray[np.floating]


@inline
def fill(x, value):
    """Set every number of a matrix to `value`."""
    for k in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[k, j] = value


@inline
def copy_row(x, out):
    """Copy a vector."""
    for j in range(x.size):
        out[j] = x[j]


@inline
def copy(x, out):
    """Copy a matrix."""
    for k in range(x.shape[0]):
        copy_row(x[k], out[k])


@guard
def admit(_q, _v, _tau, _out):
    """Return FITS for contiguous, aligned and writeable arrays of the types it is specialised for, else
    NotImplemented."""
    return FITS
