"""The subtree that Newton's steps work on: bodies with contacts or joint rows, and those between them and the base.

Newton's steps need only the articulated inertia of the other bodies, from the factors of M + d. `newton.respond`
computes their motion from the final impulses.
"""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.compile.operations import parallel_range
from engine.kernels.bodies import NV
from engine.kernels.contact.body_pairs import TOUCH, any_touch
from engine.kernels.contact.mimics import is_busy
from engine.kernels.contact.recursion import passed_inertia
from engine.kernels.contact.recursion_workspace import GATHERS, NEXT, TO_PARENT, WAITS, rigid_at
from engine.kernels.robot import KIND, PARENT, V_START
from engine.kernels.spatial import add, full, load6, load9, mul, mul_t, plus, store6, store9
from engine.model import WORLD

LEFT_OUT, ACTS = -1, 0
"""`Tree.loaded[:, TO_PARENT]` of a body that is left out, and of one that is not before its final value is known."""


@inline
def keep_composite(i, A, B, C, tree):
    """Store [A B; Bᵀ C] of body i with the articulated inertia of the bodies on it that are left out."""
    store6(tree.composite[i], A)
    store9(tree.composite[i], B, 6)
    store6(tree.composite[i], C, 15)


@inline
def composite_at(i, tree):
    """Load what `keep_composite` stored."""
    return load6(tree.composite[i]), load9(tree.composite[i], 6), load6(tree.composite[i], 15)


@inline
def momentum(i, omega, velocity, tree):
    """The momentum of body i with the bodies on it that are left out."""
    A, B, C = composite_at(i, tree)
    return add(mul(full(A), omega), mul(B, velocity)), add(mul_t(B, omega), mul(full(C), velocity))


@inline
def _begin(topology, p, tree):
    """Mark the bodies without contacts, joint rows or a part in mimicked coordinates as left out."""
    for i in parallel_range(topology.shape[0]):
        acts = p.head[i] >= 0
        for k in range(topology[i, V_START], topology[i, V_START] + NV[topology[i, KIND]]):
            acts = acts or p.right[k] > 0.0
        tree.loaded[i, TO_PARENT], tree.loaded[i, GATHERS] = (ACTS if acts else LEFT_OUT), 0
        if is_busy(i, tree):
            tree.loaded[i, TO_PARENT] = ACTS
    if any_touch(tree):
        for j in range(tree.pairs.counts[TOUCH]):
            tree.loaded[tree.pairs.body[j, 0], TO_PARENT] = ACTS
            tree.loaded[tree.pairs.body[j, 1], TO_PARENT] = ACTS


@inline
def _compose(i, topology, bodies, tree):
    """Compute the inertia of body i with that of the bodies on it that are left out."""
    A, B, C = rigid_at(bodies.rigid[i])
    for hung in range(tree.limbs.first_child[i], tree.limbs.first_child[i + 1]):
        if tree.loaded[tree.limbs.child[hung], TO_PARENT] == LEFT_OUT:
            a, b, c = passed_inertia(tree.limbs.child[hung], tree)
            A, B, C = plus(A, a), plus(B, b), plus(C, c)
    if i + 1 < topology.shape[0] and topology[i + 1, PARENT] == i and tree.loaded[i + 1, TO_PARENT] == LEFT_OUT:
        a, b, c = passed_inertia(i + 1, tree)
        A, B, C = plus(A, a), plus(B, b), plus(C, c)
    keep_composite(i, A, B, C, tree)


@kernel
def leave_out_unloaded(topology, bodies, p, tree):
    """Set `Tree.loaded` and `Tree.composite` for a problem's contacts and joint rows, after `factorise`.

    `right` is non-zero for the velocities of joint rows.
    """
    _begin(topology, p, tree)
    for i in range(topology.shape[0] - 1, -1, -1):
        parent, own = topology[i, PARENT], tree.loaded[i]
        if own[TO_PARENT] != LEFT_OUT and parent != WORLD:
            above = tree.loaded[parent]
            own[TO_PARENT] = NEXT if parent == i - 1 else WAITS
            above[GATHERS] = 1 if parent != i - 1 or above[GATHERS] == 1 else 0
            above[TO_PARENT] = ACTS
    for i in parallel_range(topology.shape[0]):
        if tree.loaded[i, TO_PARENT] != LEFT_OUT:
            _compose(i, topology, bodies, tree)
        else:
            for k in range(6):
                tree.t[i, k] = 0.0
