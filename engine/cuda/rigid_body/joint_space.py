"""The joint-space inertia matrix in kernels: a row for each velocity, along its path to the root.

M = Lᵀ D L has no fill-in between branches (Featherstone 2005; 2008, table 6.3), so row k has entries for k and for its
ancestors only. Mimic joints couple branches: CᵀMC has entries beside the paths of the robot's tree, and paths are then
those of its elimination tree (Liu 1990), which contain all fill-in.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from engine.model import Model
from engine.model.joints import NV


@dataclass(frozen=True, eq=False)
class MassMatrixRows:
    """The rows of M, (nv,) each.

    The entries of a row are contiguous: the right-hand side, then, from the root on, one for each velocity of the path,
    the diagonal last.
    """

    parent: np.ndarray
    """The parent velocity on the path, a lower index; -1 at the root."""

    @cached_property
    def level(self) -> np.ndarray:
        """The index of the diagonal's entry in the row: 1 at the root."""
        level = np.ones(len(self.parent), np.int64)
        for k, above in enumerate(self.parent):
            if above >= 0:
                level[k] = level[above] + 1
        return level

    @cached_property
    def start(self) -> np.ndarray:
        """The first entry of each row."""
        width = self.level + 1
        return np.asarray(np.cumsum(width) - width, np.int64)

    @cached_property
    def numbers(self) -> int:
        """The number of entries of all rows."""
        return int((self.level + 1).sum())


@lru_cache(maxsize=64)
def rows(model: Model) -> MassMatrixRows:
    """Return the rows of a model's matrix."""
    parent = tree_velocities(model)
    return MassMatrixRows(_eliminated(parent, model.coupling.v_index, model.nv) if model.has_mimic else parent)


def tree_velocities(model: Model) -> np.ndarray:
    """Return (tree_nv,): for each velocity of the tree its parent on the path to the root, or -1."""
    last = model.v_start + NV[model.kind] - 1
    parent = np.arange(model.tree_nv) - 1
    parent[model.v_start] = np.where(model.parent >= 0, last[model.parent], -1)
    return parent


def _eliminated(tree: np.ndarray, index: np.ndarray, nv: int) -> np.ndarray:
    """Return the elimination tree of CᵀMC, from the last velocity to the first."""
    before: list[set[int]] = [set() for _ in range(nv)]
    for r in range(len(tree)):
        c = int(tree[r])
        while c >= 0:
            low, high = sorted((int(index[r]), int(index[c])))
            before[high].add(low)
            c = int(tree[c])
    parent = np.full(nv, -1, np.int64)
    for k in range(nv - 1, -1, -1):
        before[k].discard(k)
        if before[k]:
            parent[k] = above = max(before[k])
            before[above] |= before[k]
    return parent
