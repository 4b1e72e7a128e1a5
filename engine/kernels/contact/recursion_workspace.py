"""The workspace of the articulated-body recursion for one robot: what its passes store of each body, and their flow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline
from engine.kernels.contact.body_pairs import BodyPairs
from engine.kernels.contact.mimics import PASSED_ON, Mimics
from engine.kernels.limbs import Limbs, limbs
from engine.kernels.spatial import load3, load6, load9, store6, store9
from engine.kernels.world import RIGID_FIRST_MOMENT, RIGID_INERTIA, RIGID_MASS
from engine.model import PRISMATIC, WORLD

TO_PARENT, HAS_WAITING = 0, 1
"""Columns of `Tree.flow` and `Tree.loaded`: by which way a body's inertia and wrench reach its parent; 1 where those of
other limbs wait for it."""
IN_REGISTERS, IN_SUMS = 1, 2
"""In registers, to the body before it in the same limb; or in its row of `sums`, which a body of another limb adds."""
_SUMS = 42


class Tree(NamedTuple):
    """The workspace of the passes, for n bodies."""

    limbs: Limbs
    flow: NDArray[np.int64]  # (n, 2): by which way a body's terms reach its parent, see `TO_PARENT`
    loaded: NDArray[np.int64]  # (n, 2): the same among the bodies of Newton's steps, see `loaded_bodies`
    U: NDArray[np.floating]  # (n, 18), of M + d: I S, 6 numbers an axis
    inverse: NDArray[np.floating]  # (n, 27), of M + d: 1/D of each axis, of a free joint (I^A)⁻¹ by blocks
    G: NDArray[np.floating]  # (n, 36), of Newton's matrix: 6 numbers an axis
    t: NDArray[np.floating]  # (n, 6): of the last right-hand side
    twist: NDArray[np.floating]  # (n, 6): of bodies on which limbs hang
    sums: NDArray[np.floating]  # (n, 42): what limbs pass to each other
    inertia: NDArray[np.floating]  # (n, 21): of bodies left out of Newton's steps, what they pass on; of others, theirs
    moved: NDArray[np.floating]  # (n, 6): the twists by all impulses
    step: NDArray[np.floating]  # (n, 6): the twists by Newton's last step
    mimics: Mimics | tuple[()]
    pairs: BodyPairs | tuple[()]


def tree(parent: NDArray[np.int64], mimic: Mimics | tuple[()], pairs: BodyPairs | tuple[()]) -> Tree:
    """Return the workspace for bodies with these parents, which precede their children, mimic joints and pairs."""
    n = len(parent)
    flow = np.zeros((n, 2), np.int64)
    for i in range(n):
        flow[i, TO_PARENT] = IN_REGISTERS if parent[i] == i - 1 and parent[i] != WORLD else IN_SUMS
        if parent[i] != WORLD and parent[i] != i - 1:
            flow[parent[i], HAS_WAITING] = 1
    widths, loaded = (18, 27, 36, 6, 6, _SUMS, 21, 6, 6), np.zeros((n, 2), np.int64)
    U, inverse, G, t, twist, sums, inertia, moved, step = (np.zeros((n, width)) for width in widths)
    passes = np.any(mimic.action[:n] == PASSED_ON, 1) if mimic else np.zeros(n, np.bool_)
    return Tree(limbs(parent, passes), flow, loaded, U, inverse, G, t, twist, sums, inertia, moved, step, mimic, pairs)


@inline
def column(rotation, k):
    """Axis k of a body."""
    return rotation[k], rotation[3 + k], rotation[6 + k]


@inline
def row(A, k):
    """Row k of a 3 × 3 matrix."""
    return A[3 * k], A[3 * k + 1], A[3 * k + 2]


@inline
def axis_of(rotation):
    """The axis of a revolute or prismatic joint: z of its body."""
    return column(rotation, 2)


@inline
def has_one_axis(kind):
    """Whether a joint of this kind is revolute or prismatic."""
    return kind <= PRISMATIC


@inline
def rigid_at(rigid):
    """[A B; Bᵀ C] of a rigid body, from its numbers."""
    m, h = rigid[RIGID_MASS], load3(rigid, RIGID_FIRST_MOMENT)
    B = (0.0, -h[2], h[1], h[2], 0.0, -h[0], -h[1], h[0], 0.0)
    return load6(rigid, RIGID_INERTIA), B, (m, 0.0, 0.0, m, 0.0, m)


@inline
def store_inertia(i, A, B, C, tree):
    """Store `Tree.inertia` of body i, [A B; Bᵀ C]."""
    store6(tree.inertia[i], A)
    store9(tree.inertia[i], B, 6)
    store6(tree.inertia[i], C, 15)


@inline
def inertia_at(i, tree):
    """Load what `store_inertia` stored."""
    return load6(tree.inertia[i]), load9(tree.inertia[i], 6), load6(tree.inertia[i], 15)
