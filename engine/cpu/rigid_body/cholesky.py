"""The factorisation M = L Lᵀ of a mass matrix on a CPU, and the systems that L solves."""

from __future__ import annotations

import numpy as np

from engine.compile import kernel


@kernel
def cholesky(M):
    """Replace M (n, n), symmetric and positive definite, by its Cholesky factor."""
    n = M.shape[0]
    for j in range(n):
        for k in range(j):
            M[j, j] -= M[j, k] * M[j, k]
        M[j, j] = np.sqrt(M[j, j])
        for i in range(j + 1, n):
            for k in range(j):
                M[i, j] -= M[i, k] * M[j, k]
            M[i, j] /= M[j, j]


@kernel
def substitute(L, b):
    """b ← (L Lᵀ)⁻¹ b, (n,)."""
    n = L.shape[0]
    for i in range(n):
        for k in range(i):
            b[i] -= L[i, k] * b[k]
        b[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            b[i] -= L[k, i] * b[k]
        b[i] /= L[i, i]
