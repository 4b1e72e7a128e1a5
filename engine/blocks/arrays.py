"""Stacks of small matrices and vectors, with batch and link axes in front."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.lie import Array


def t(A: Array) -> Array:
    """Aᵀ of each matrix, (…, r, c) -> (…, c, r)."""
    return np.swapaxes(A, -1, -2)


def mv(A: Array, x: Array) -> Array:
    """A x, (…, r, c) and (…, c) -> (…, r)."""
    return (A @ x[..., None])[..., 0]


def dot(x: Array, y: Array) -> Array:
    """xᵀ y, (…, m) twice -> (…)."""
    product: Array = np.sum(x * y, -1)
    return product


def outer(x: Array, y: Array) -> Array:
    """x yᵀ, (…, r) and (…, c) -> (…, r, c)."""
    return x[..., :, None] * y[..., None, :]


def symmetrised(A: Array) -> Array:
    """(A + Aᵀ)/2: what of A is no rounding, where A is symmetric."""
    return (A + t(A)) / 2


def blockwise_t(A: Array) -> Array:
    """Each 3×3 block of (…, 6, 6) transposed in its place: the inverse of an adjoint Ad(R, p)."""
    blocks = A.reshape(*A.shape[:-2], 2, 3, 2, 3)
    return np.swapaxes(blocks, -1, -3).reshape(A.shape)


def identity(m: int, like: Array) -> Array:
    """The identity (m, m), of the number type and on the device of `like`."""
    one = np.zeros_like(like, shape=(m, m))
    one.reshape(-1)[:: m + 1] = 1
    return one


def to_host(x: Any) -> Array:
    """The array as NumPy's: itself, or a copy of what a GPU holds."""
    return x if isinstance(x, np.ndarray) else np.asarray(x.get())
