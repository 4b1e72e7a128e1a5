"""Room for the contacts of one pair of shapes, and for what finding them takes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.cpu.rigid_body.spatial import add, scale, store3
from engine.cpu.runtime.native import inline
from engine.scene.points import KEPT
from engine.scene.shapes import Shapes


class Found(NamedTuple):
    """Contacts of a pair of shapes, of which the leading ones count.

    `at` (4, 3) is the place in the world, midway between the two surfaces, `normal` (4, 3) points from the second shape
    to the first, `gap` (4,) is the distance, m, negative where they overlap, `feature` (4,) says which corners or edges
    they are: a contact that goes on keeps it.
    """

    at: NDArray[np.floating]
    normal: NDArray[np.floating]
    gap: NDArray[np.floating]
    feature: NDArray[np.int64]


def room(_shapes: Shapes) -> Found:
    """Room for one pair of these shapes at a time."""
    return Found(np.zeros((KEPT, 3)), np.zeros((KEPT, 3)), np.zeros(KEPT), np.zeros(KEPT, np.int64))


@inline
def put(found, slot, x, n, gap, feature):
    """A contact into its slot."""
    store3(found.at[slot], 0, 1, x)
    store3(found.normal[slot], 0, 1, n)
    found.gap[slot], found.feature[slot] = gap, feature


@inline
def put_between(found, slot, x, n, gap, radius, feature):
    """The contact of a ball of that radius about x, from whose surface the other's is the gap away against n."""
    put(found, slot, add(x, scale(-(radius + 0.5 * gap), n)), n, gap, feature)
