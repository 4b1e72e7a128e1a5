"""Which bodies of a tree go one after the other, and which side by side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.model import WORLD


class Limbs(NamedTuple):
    """The limbs of a tree: bodies each of which hangs on the one before. All limbs of a level hang on earlier levels.

    Limbs `level[k]` to `level[k + 1]` are of level k; limb m has the bodies from `begin[m]` to `end[m]`, which it does
    not have. On body i hang, besides that which follows in its limb, the bodies `child[first_child[i]]` …, the last
    first. So the threads of a warp take the limbs of a level together.
    """

    level: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    first_child: NDArray[np.int64]
    child: NDArray[np.int64]


def limbs(parent: NDArray[np.int64], stays: NDArray[np.bool_]) -> Limbs:
    """Those of bodies with these parents, which come before them; `stays` (n,): its joint's coordinate stays with the
    body before, see `mimics`. Limbs of which several such joints hang on one body are of levels of their own."""
    begins = [i for i in range(len(parent)) if parent[i] != i - 1 or parent[i] == WORLD]
    ends, of, depths = [*begins[1:], len(parent)], np.zeros(len(parent), np.int64), list[int]()
    met: dict[int, int] = {}  # of bodies on which such limbs hang, the last one's level
    for m, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        of[begin:end], above = m, int(parent[begin])
        depth = 0 if above == WORLD else depths[of[above]] + 1
        if stays[begin]:
            depth = met[above] = max(depth, met.get(above, -1) + 1)
        depths.append(depth)
    order = np.argsort(depths, kind="stable")
    level = np.searchsorted(np.array(depths)[order], np.arange(max(depths, default=-1) + 2))
    hanging = [[c for c in reversed(begins) if parent[c] == i] for i in range(len(parent))]
    return Limbs(
        level.astype(np.int64), np.array(begins, np.int64)[order], np.array(ends, np.int64)[order],
        np.cumsum([0, *map(len, hanging)]), np.array([c for x in hanging for c in x] or [0], np.int64),
    )  # fmt: skip
