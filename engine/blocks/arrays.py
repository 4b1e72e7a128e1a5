"""Operations on stacks of small matrices and vectors, with batch and link axes in front."""

from __future__ import annotations

import numpy as np

from engine.lie import Array


def t(A: Array) -> Array:
    """Transpose each matrix, (…, r, c) -> (…, c, r)."""
    return np.swapaxes(A, -1, -2)


def mv(A: Array, x: Array) -> Array:
    """Return A x, (…, r, c) and (…, c) -> (…, r)."""
    return (A @ x[..., None])[..., 0]


def dot(x: Array, y: Array) -> Array:
    """Return xᵀ y, (…, m) twice -> (…)."""
    product: Array = np.sum(x * y, -1)
    return product


def outer(x: Array, y: Array) -> Array:
    """Return x yᵀ, (…, r) and (…, c) -> (…, r, c)."""
    return x[..., :, None] * y[..., None, :]


def symmetrised(A: Array) -> Array:
    """Return (A + Aᵀ)/2, which removes the rounding asymmetry of a symmetric A."""
    return (A + t(A)) / 2


def blockwise_t(A: Array) -> Array:
    """Transpose each 3×3 block of (…, 6, 6) in place: the inverse of an adjoint Ad(R, p)."""
    blocks = A.reshape(*A.shape[:-2], 2, 3, 2, 3)
    return np.swapaxes(blocks, -1, -3).reshape(A.shape)


def identity(m: int, like: Array) -> Array:
    """Return the identity (m, m) with the number type and device of `like`."""
    one = np.zeros_like(like, shape=(m, m))
    one.reshape(-1)[:: m + 1] = 1
    return one
