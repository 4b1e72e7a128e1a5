"""Dense linear systems of some dozens of unknowns inside kernels: LU and Cholesky factorisation with pivoting."""

from __future__ import annotations

import numpy as np

from engine.compile import kernel


@kernel
def factorise(A, pivots, n):
    """Factorise the leading n × n block of A (N, N) into L and U in place; `pivots` (N,) is the row permutation.

    Returns whether every pivot is finite and non-zero.
    """
    for k in range(n):
        best, row = abs(A[k, k]), k
        for i in range(k + 1, n):
            if abs(A[i, k]) > best:
                best, row = abs(A[i, k]), i
        pivots[k] = row
        if not best > 0.0:
            return False
        if row != k:
            for j in range(n):
                upper, lower = A[k, j], A[row, j]
                A[k, j] = lower
                A[row, j] = upper
        inverse = 1.0 / A[k, k]
        for i in range(k + 1, n):
            if A[i, k] != 0.0:
                share = A[i, k] * inverse
                A[i, k] = share
                for j in range(k + 1, n):
                    A[i, j] -= share * A[k, j]
    return True


@kernel
def substitute(A, pivots, n, b):
    """Replace the leading n numbers of b (N,) by the solution, after `factorise`."""
    for k in range(n):
        upper, lower = b[k], b[pivots[k]]
        b[k] = lower
        b[pivots[k]] = upper
    for k in range(n):
        for i in range(k + 1, n):
            b[i] -= A[i, k] * b[k]
    for k in range(n - 1, -1, -1):
        total = b[k]
        for j in range(k + 1, n):
            total -= A[k, j] * b[j]
        b[k] = total / A[k, k]


_NO_RANK = 1e-14  # of the largest diagonal entry: remainders below it are rounding errors


@kernel
def pivoted_cholesky(A, H, left, n):
    """Compute H (N, N), in its leading n × m block, with H Hᵀ the leading n × n block of A, positive semidefinite.

    Returns m, the rank. `left` (N,) is a work array.
    """
    greatest = 0.0
    for i in range(n):
        left[i] = A[i, i]
        greatest = max(greatest, left[i])
    rank = 0
    for k in range(n):
        best, row = _NO_RANK * greatest, -1
        for i in range(n):
            if left[i] > best:
                best, row = left[i], i
        if row < 0:
            break
        inverse = 1.0 / np.sqrt(best)
        for i in range(n):
            total = A[i, row]
            for j in range(k):
                total -= H[i, j] * H[row, j]
            H[i, k] = total * inverse
            left[i] -= H[i, k] * H[i, k]
        left[row] = 0.0
        rank = k + 1
    return rank
