"""M = Lᵀ D L along the tree: factors without fill-in (Featherstone 2005), for one robot's mass matrix.

``above`` (nv,) is the velocity before each one on the path to the base, −1 for none: L has non-zeros on that path only.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline, kernel
from engine.model import Model


@lru_cache(maxsize=64)
def velocities_above(model: Model) -> NDArray[np.int64]:
    """`above` of a model; with mimic joints each velocity has all earlier ones on its path."""
    if model.has_mimic:
        return np.arange(-1, model.nv - 1)
    above = np.empty(model.nv, np.int64)
    last = np.full(len(model.parent) + 1, -1, np.int64)  # of each body; the world's at the end
    width = np.diff(np.append(model.v_start, model.nv))
    for body, parent in enumerate(model.parent):
        start, count = model.v_start[body], width[body]
        above[start : start + count] = [last[parent], *range(start, start + count - 1)][:count]
        last[body] = start + count - 1
    return above


@kernel
def factorise(M, above):
    """Replace the lower triangle of M (nv, nv) by L, without its unit diagonal, and D on the diagonal."""
    for k in range(M.shape[0] - 1, -1, -1):
        i = above[k]
        while i >= 0:
            share = M[k, i] / M[k, k]
            j = i
            while j >= 0:
                M[i, j] -= share * M[k, j]
                j = above[j]
            M[k, i] = share
            i = above[i]


@inline
def solve_transposed(L, above, x):
    """x (nv,) ← L⁻ᵀ x."""
    for i in range(x.size - 1, -1, -1):
        value = x[i]
        if value != 0.0:
            j = above[i]
            while j >= 0:
                x[j] -= L[i, j] * value
                j = above[j]


@inline
def solve_lower(L, above, x):
    """x (nv,) ← L⁻¹ x."""
    for i in range(x.size):
        j = above[i]
        while j >= 0:
            x[i] -= L[i, j] * x[j]
            j = above[j]


@inline
def solve(L, above, x):
    """x (nv,) ← M⁻¹ x, after `factorise`."""
    solve_transposed(L, above, x)
    for i in range(x.size):
        x[i] /= L[i, i]
    solve_lower(L, above, x)
