"""Solve symmetric positive definite systems: stacks of small ones, and large dense ones."""

from __future__ import annotations

import numpy as np

from engine.blocks.arrays import t
from engine.lie import Array

PANEL = 64
"""Rows of a triangular factor per block: small relative to n, large relative to a call's overhead."""


def solve(D: Array, B: Array) -> Array:
    """Return D⁻¹ B for stacks of small matrices, (…, m, m) and (…, m, k) -> (…, m, k), by D = L δ Lᵀ.

    There are m forward and m backward steps, each one operation on the whole stack: every matrix gets the same
    arithmetic on every device, independently of its neighbours. Positive definite matrices need no pivoting (N. Higham,
    "Accuracy and Stability of Numerical Algorithms" (2002), section 10.1).
    """
    m = D.shape[-1]
    W = np.concatenate([D, B], -1)
    for j in range(m - 1):
        row = W[..., j, :]
        below = row[..., j + 1 : m] / row[..., j, None]  # column j of L, read from row j: D stays symmetric
        W[..., j + 1 :, j + 1 :] -= below[..., :, None] * row[..., None, j + 1 :]
    X = W[..., m:]
    for j in reversed(range(m)):
        X[..., j, :] /= W[..., j, j, None]
        X[..., :j, :] -= W[..., :j, j, None] * X[..., j, None, :]
    return X


def solve_large(A: Array, B: Array) -> Array:
    """Return A⁻¹ B for dense matrices, (…, n, n) and (…, n, k) -> (…, n, k), by Cholesky's A = L Lᵀ.

    If A is not positive definite, NumPy raises LinAlgError, while CuPy returns NaN.
    """
    L, X = np.linalg.cholesky(A), B.copy()
    panels = [slice(start, start + PANEL) for start in range(0, A.shape[-1], PANEL)]
    for rows in panels:
        before = slice(0, rows.start)
        X[..., rows, :] = np.linalg.solve(
            L[..., rows, rows], X[..., rows, :] - L[..., rows, before] @ X[..., before, :]
        )
    for rows in reversed(panels):
        after = slice(rows.stop, None)
        known = t(L[..., after, rows]) @ X[..., after, :]
        X[..., rows, :] = np.linalg.solve(t(L[..., rows, rows]), X[..., rows, :] - known)
    return X
