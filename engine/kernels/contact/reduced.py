"""The bodies that Newton's steps are about: those on which anything acts, and those between these and the base.

All others hang on one of these as they did before anything acted: of them the articulated inertia is all that a step
needs, which the factors of M + d have. How they move follows from the impulses in the end, by `newton.respond`.
"""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.compile.operations import spread
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
def _begin(topology, p, tree):
    """No body is left out on which contacts or joint rows act, or that has a part in mimicked coordinates."""
    for i in spread(topology.shape[0]):
        acts = p.head[i] >= 0
        for k in range(topology[i, 3], topology[i, 3] + dofs(topology[i, 1])):
            acts = acts or p.right[k] > 0.0
        tree.loaded[i, TO_PARENT], tree.loaded[i, GATHERS] = (ACTS if acts else LEFT_OUT), 0
        if len(tree.mimics) > 0 and (tree.mimics.waits[i] != 0 or tree.mimics.role[i] == STAYS):
            tree.loaded[i, TO_PARENT] = ACTS
    if touch(tree):
        for j in range(tree.pairs.counts[TOUCH]):
            tree.loaded[tree.pairs.body[j, 0], TO_PARENT] = ACTS
            tree.loaded[tree.pairs.body[j, 1], TO_PARENT] = ACTS


@inline
def _compose(i, topology, bodies, tree):
    """The inertia of body i with the bodies that are left out and hang on it."""
    A, B, C = rigid_at(bodies.rigid[i])
    for hung in range(tree.limbs.first_child[i], tree.limbs.first_child[i + 1]):
        if tree.loaded[tree.limbs.child[hung], TO_PARENT] == LEFT_OUT:
            a, b, c = handed_inertia(tree.limbs.child[hung], tree)
            A, B, C = plus(A, a), plus(B, b), plus(C, c)
    if i + 1 < topology.shape[0] and topology[i + 1, 0] == i and tree.loaded[i + 1, TO_PARENT] == LEFT_OUT:
        a, b, c = handed_inertia(i + 1, tree)
        A, B, C = plus(A, a), plus(B, b), plus(C, c)
    keep_composite(i, A, B, C, tree)


@kernel
def leave_out_unloaded(topology, bodies, p, tree):
    """`Tree.loaded` and `Tree.composite`, after `factorise`, for the contacts of a problem and its rows of joints.

    `right` is not 0 for the velocities that have such rows.
    """
    _begin(topology, p, tree)
    for i in range(topology.shape[0] - 1, -1, -1):
        parent, own = topology[i, 0], tree.loaded[i]
        if own[TO_PARENT] != LEFT_OUT and parent != WORLD:
            above = tree.loaded[parent]
            own[TO_PARENT] = NEXT if parent == i - 1 else WAITS
            above[GATHERS] = 1 if parent != i - 1 or above[GATHERS] == 1 else 0
            above[TO_PARENT] = ACTS
    for i in spread(topology.shape[0]):
        if tree.loaded[i, TO_PARENT] != LEFT_OUT:
            _compose(i, topology, bodies, tree)
        else:
            for k in range(6):
                tree.t[i, k] = 0.0
