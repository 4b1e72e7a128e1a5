"""The limbs of a tree, for passes in which the threads of a warp each take one limb."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline
from engine.compile.operations import parallel_range
from engine.model import WORLD


class Limbs(NamedTuple):
    """The limbs of a tree, by level: the bodies of a limb form a serial chain and follow each other in the order of
    bodies.

    Level k has the limbs `level[k]` to `level[k + 1]`, all attached to limbs of earlier levels; limb m has the bodies
    `begin[m]` to `end[m]` − 1. `child[first_child[i]:first_child[i + 1]]` are the first bodies of the limbs on body i,
    the last first, without the next body of its own limb.
    """

    level: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    first_child: NDArray[np.int64]
    child: NDArray[np.int64]


def limbs(parent: NDArray[np.int64], passes: NDArray[np.bool_]) -> Limbs:
    """Return the limbs of bodies with these parents, which precede their children.

    `passes` (n,) marks bodies that pass coordinates on, see `mimics`. Limbs that begin with such a body and share a
    parent are on different levels.
    """
    begins = [i for i in range(len(parent)) if parent[i] != i - 1 or parent[i] == WORLD]
    ends, limb_of, depths = [*begins[1:], len(parent)], np.zeros(len(parent), np.int64), list[int]()
    last_level: dict[int, int] = {}  # of bodies on which such limbs hang, the last one's level
    for m, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        limb_of[begin:end], parent_body = m, int(parent[begin])
        depth = 0 if parent_body == WORLD else depths[limb_of[parent_body]] + 1
        if passes[begin]:
            depth = last_level[parent_body] = max(depth, last_level.get(parent_body, -1) + 1)
        depths.append(depth)
    order = np.argsort(depths, kind="stable")
    level = np.searchsorted(np.array(depths)[order], np.arange(max(depths, default=-1) + 2))
    attached = [[c for c in reversed(begins) if parent[c] == i] for i in range(len(parent))]
    return Limbs(
        level.astype(np.int64), np.array(begins, np.int64)[order], np.array(ends, np.int64)[order],
        np.cumsum([0, *map(len, attached)]), np.array([c for x in attached for c in x] or [0], np.int64),
    )  # fmt: skip


@inline
def outward(limbs: Limbs) -> Iterator[int]:
    """The limbs from the base on; the threads of a robot divide the limbs of a level among them."""
    for level in range(limbs.level.size - 1):
        for k in parallel_range(limbs.level[level + 1] - limbs.level[level]):
            yield limbs.level[level] + k


@inline
def inward(limbs: Limbs) -> Iterator[int]:
    """The limbs from the tips on; the threads of a robot divide the limbs of a level among them."""
    for level in range(limbs.level.size - 2, -1, -1):
        for k in parallel_range(limbs.level[level + 1] - limbs.level[level]):
            yield limbs.level[level] + k
