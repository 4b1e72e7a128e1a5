"""The bodies that Newton's steps are about: those on which anything acts, and those between these and the base.

All others hang on one of these as they did before anything acted: of them the articulated inertia is all that a step
needs, which the factors of M + d have. How they move follows from the impulses in the end, by `newton.respond`.
"""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.kernels.contact.body_pairs import TOUCH, touch
from engine.kernels.contact.mimics import STAYS
from engine.kernels.contact.recursion import GATHERS, NEXT, TO_PARENT, WAITS, dofs, handed_inertia, rigid_at
from engine.kernels.spatial import add, full, load6, load9, mul, mul_t, plus, store6, store9
from engine.model import WORLD

LEFT_OUT, ACTS = -1, 0
"""`Tree.loaded[:, TO_PARENT]` of a body that is left out, and of one that is not, until it is known how it hands on."""


@inline
def keep_composite(i, A, B, C, tree):
    """[A B; Bᵀ C] of body i with the bodies that are left out and hang on it."""
    store6(tree.composite[i], 0, 1, A)
    store9(tree.composite[i], 6, 1, B)
    store6(tree.composite[i], 15, 1, C)


@inline
def composite_at(i, tree):
    """The same from where it is kept."""
    return load6(tree.composite[i], 0, 1), load9(tree.composite[i], 6, 1), load6(tree.composite[i], 15, 1)


@inline
def momentum(i, omega, velocity, tree):
    """What a motion of body i takes, with the bodies that are left out and hang on it."""
    A, B, C = composite_at(i, tree)
    return add(mul(full(A), omega), mul(B, velocity)), add(mul_t(B, omega), mul(full(C), velocity))


@inline
def _begin(topology, bodies, p, tree):
    """Bodies by themselves, of which those with contacts or mimicked coordinates are not left out."""
    for i in range(topology.shape[0]):
        A, B, C = rigid_at(bodies.rigid[i])
        keep_composite(i, A, B, C, tree)
        tree.loaded[i, TO_PARENT], tree.loaded[i, GATHERS] = (ACTS if p.head[i] >= 0 else LEFT_OUT), 0
        if len(tree.mimics) > 0 and (tree.mimics.waits[i] != 0 or tree.mimics.role[i] == STAYS):
            tree.loaded[i, TO_PARENT] = ACTS
    if touch(tree):
        for j in range(tree.pairs.counts[TOUCH]):
            tree.loaded[tree.pairs.body[j, 0], TO_PARENT] = ACTS
            tree.loaded[tree.pairs.body[j, 1], TO_PARENT] = ACTS


@inline
def _has_row(i, joints, topology, p):
    """Whether any of the joint rows is of body i's joint."""
    first, found = topology[i, 3], False
    for j in range(joints):
        found = found or first <= p.joint[j] < first + dofs(topology[i, 1])
    return found


@kernel
def leave_out_unloaded(joints, topology, bodies, p, tree):
    """`Tree.loaded` and `Tree.composite`, after `factorise`, for the contacts and joint rows of a problem."""
    _begin(topology, bodies, p, tree)
    for i in range(topology.shape[0] - 1, -1, -1):
        parent, own = topology[i, 0], tree.loaded[i]
        if own[TO_PARENT] == LEFT_OUT and not _has_row(i, joints, topology, p):
            for k in range(6):
                tree.t[i, k] = 0.0
            if parent != WORLD:
                (A, B, C), (a, b, c) = composite_at(parent, tree), handed_inertia(i, tree)
                keep_composite(parent, plus(A, a), plus(B, b), plus(C, c), tree)
        elif parent == WORLD:
            own[TO_PARENT] = ACTS
        else:
            above = tree.loaded[parent]
            own[TO_PARENT] = NEXT if parent == i - 1 else WAITS
            above[GATHERS] = 1 if parent != i - 1 or above[GATHERS] == 1 else 0
            above[TO_PARENT] = ACTS
