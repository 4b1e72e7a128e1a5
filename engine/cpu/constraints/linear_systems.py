"""Dense linear systems of some dozens of unknowns, as small kernels need them: LU with row pivoting."""

from __future__ import annotations

from engine.cpu.runtime.native import kernel


@kernel
def factorise(A, pivots, n):
    """A (N, N), its leading n × n block, into L and U in place; `pivots` (N,) says which row came to each place.

    Answers whether every pivot is a number other than nought.
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
    """b (N,), its leading n numbers, into the solution, by what `factorise` left."""
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
