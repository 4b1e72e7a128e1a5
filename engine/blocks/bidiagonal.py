"""Block 1: block bi-diagonal systems ``(I − Γ) x = b``, where Γ has A₁ … Aₙ₋₁ below its diagonal.

The rows ``xᵢ = Aᵢ xᵢ₋₁ + bᵢ`` are a recursion from the base, and for the transpose from the tip. Rows compose as affine
maps x ↦ A x + b, so both are scans ([Y] (3)–(5)) of 2⌈log₂ n⌉ steps.

A is (batch, n, m, m), its first entry unused; b and x are (batch, n, m), or (batch, n, m, k) for k right-hand sides.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.blocks.arrays import t
from engine.blocks.scan import Arrays, scan
from engine.lie import Array


def solve(A: Array, b: Array, sweep: Callable[..., Arrays] = scan) -> Array:
    """Solve ``xᵢ = Aᵢ xᵢ₋₁ + bᵢ``, x₀ = b₀. `sweep` is `scan`, or `loop` for the sequential recursion."""
    (x,) = sweep(join, (A, _columns(A, b)), _apply, _first)
    return x.reshape(b.shape)


def solve_transposed(A: Array, b: Array, sweep: Callable[..., Arrays] = scan) -> Array:
    """Solve ``(I − Γ)ᵀ x = b``: ``xᵢ = Aᵢ₊₁ᵀ xᵢ₊₁ + bᵢ``, xₙ₋₁ = bₙ₋₁."""
    after = np.concatenate([t(A[:, 1:]), t(A[:, :1])], 1)  # the last block is unused
    (x,) = sweep(lambda before, behind: join(behind, before), (after, _columns(A, b)), _apply, _first, reverse=True)
    return x.reshape(b.shape)


def _columns(A: Array, b: Array) -> Array:
    return b if b.ndim == A.ndim else b[..., None]


def join(left: Arrays, right: Arrays) -> Arrays:
    """Compose two affine maps: A₂(A₁ x + b₁) + b₂."""
    (A1, b1), (A2, b2) = left, right
    return A2 @ A1, A2 @ b1 + b2


def _apply(maps: Arrays, x: Arrays) -> Arrays:
    A, b = maps
    return (A @ x[0] + b,)


def _first(maps: Arrays) -> Arrays:
    return (maps[1],)
