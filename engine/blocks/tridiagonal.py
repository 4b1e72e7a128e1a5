"""Block 2: symmetric block tri-diagonal systems ``A x = R`` by odd-even elimination.

A has the blocks D₁ … Dₙ on its diagonal and U₁ … Uₙ₋₁ beside it, as in [Y] (18). One step subtracts multiples of the
two neighbouring rows from each row, which couples it to the rows two places away; the next step eliminates those. After
⌈log₂ n⌉ steps all rows are decoupled. All rows take every step in parallel.

D is (batch, n, m, m), U is (batch, n − 1, m, m) and R is (batch, n, m) or (batch, n, m, k) for k right-hand sides; A is
positive definite.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.blocks import symmetric
from engine.blocks.arrays import symmetrised, t
from engine.blocks.stages import stage
from engine.lie import Array


class Elimination(NamedTuple):
    """The elimination of a matrix: (E, K) of each of the ⌈log₂ n⌉ steps, and the remaining D."""

    steps: list[tuple[Array, Array]]
    D: Array


def solve(D: Array, U: Array, R: Array) -> Array:
    """Solve A x = R for x: [Y] Algorithm 2."""
    return substitute(eliminate(D, U), R)


def eliminate(D: Array, U: Array) -> Elimination:
    """Apply the steps of [Y] (19) to the matrix, j = 1, 2, …: coupling distance s = 2ʲ⁻¹ becomes 2s.

    Uᵢ couples row i with row i + s; there are n − s of them before a step and max(n − 2s, 0) after. E has Eᵢ, of row
    i, at index i, and K has Kᵢ₊ₛ, of row i + s.
    """
    n, s, steps = D.shape[1], 1, []
    while s < n:
        E = t(symmetric.solve(D[:, s:], t(U)))  # Dᵢ₊ₛ Eᵢᵀ = Uᵢᵀ
        K = t(symmetric.solve(D[:, : n - s], U))  # Dᵢ Kᵢ₊ₛᵀ = Uᵢ
        # [Y] (19), first line: Dᵢ − Eᵢ Uᵢᵀ − Kᵢ Uᵢ₋ₛ
        D = symmetrised(_both(D, E @ t(U), K @ U))
        # [Y] (19), second line: −Eᵢ Uᵢ₊ₛ
        U = -(E[:, : max(n - 2 * s, 0)] @ U[:, s:])
        steps.append((E, K))
        stage("eliminate", range(n), D, U)
        s *= 2
    return Elimination(steps, D)


def substitute(elimination: Elimination, R: Array) -> Array:
    """Solve A x = R for x, with A already eliminated.

    Algorithm 2 changes R in place. Its lines 10 and 11 write one row for two different i, and line 10 reads rows that
    another i may have changed. All reads of a step must therefore precede its writes, here and, for D, in lines 7 and
    8.
    """
    steps, D = elimination
    x = R if R.ndim == D.ndim else R[..., None]
    for E, K in steps:
        n, k = x.shape[1], E.shape[1]
        # [Y] (19), third line: Rᵢ − Eᵢ Rᵢ₊ₛ − Kᵢ Rᵢ₋ₛ
        x = _both(x, E @ x[:, n - k :], K @ x[:, :k])
        stage("substitute", range(n), x)
    x = symmetric.solve(D, x)
    stage("solve", range(x.shape[1]), x)
    return x.reshape(R.shape)


def _both(x: Array, upper: Array, lower: Array) -> Array:
    """Subtract `upper` from the first rows of x and `lower` from the last."""
    x, k = x.copy(), upper.shape[1]
    x[:, :k] -= upper
    x[:, x.shape[1] - k :] -= lower
    return x
