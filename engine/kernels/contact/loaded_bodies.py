"""The subtree that Newton's steps solve for: bodies with contacts or joint rows, and the bodies between them and the
base.

Newton's steps need only the articulated inertia of the other bodies, from the factors of M + d. `newton.respond`
computes their motion from the final impulses.
"""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.compile.operations import parallel_range
from engine.kernels.bodies import NV
from engine.kernels.contact.body_pairs import TOUCH, any_touch
from engine.kernels.contact.mimics import has_shared_coordinates
from engine.kernels.contact.recursion_workspace import (
    HAS_WAITING,
    IN_REGISTERS,
    IN_SUMS,
    TO_PARENT,
    inertia_at,
    rigid_at,
    store_inertia,
)
from engine.kernels.robot import KIND, PARENT, V_START
from engine.kernels.spatial import add, full, mul, mul_t, plus
from engine.model import WORLD

LEFT_OUT, LOADED = -1, 0
"""`Tree.loaded[:, TO_PARENT]` of a body that is left out, and of one that is not before its final value is known."""


@inline
def momentum(i, omega, velocity, tree):
    """The momentum of body i with the bodies on it that are left out."""
    A, B, C = inertia_at(i, tree)
    return add(mul(full(A), omega), mul(B, velocity)), add(mul_t(B, omega), mul(full(C), velocity))


@inline
def _mark_loaded(topology, p, tree):
    """Mark the bodies without contacts, joint rows or a part in mimicked coordinates as left out."""
    for i in parallel_range(topology.shape[0]):
        loaded = p.head[i] >= 0
        for k in range(topology[i, V_START], topology[i, V_START] + NV[topology[i, KIND]]):
            loaded = loaded or p.rhs[k] > 0.0
        tree.loaded[i, TO_PARENT], tree.loaded[i, HAS_WAITING] = (LOADED if loaded else LEFT_OUT), 0
        if has_shared_coordinates(i, tree):
            tree.loaded[i, TO_PARENT] = LOADED
    if any_touch(tree):
        for j in range(tree.pairs.counts[TOUCH]):
            tree.loaded[tree.pairs.body[j, 0], TO_PARENT] = LOADED
            tree.loaded[tree.pairs.body[j, 1], TO_PARENT] = LOADED


@inline
def _compose(i, topology, bodies, tree):
    """Compute the inertia of body i, including the bodies on it that are left out."""
    A, B, C = rigid_at(bodies.rigid[i])
    for index in range(tree.limbs.first_child[i], tree.limbs.first_child[i + 1]):
        if tree.loaded[tree.limbs.child[index], TO_PARENT] == LEFT_OUT:
            a, b, c = inertia_at(tree.limbs.child[index], tree)
            A, B, C = plus(A, a), plus(B, b), plus(C, c)
    if i + 1 < topology.shape[0] and topology[i + 1, PARENT] == i and tree.loaded[i + 1, TO_PARENT] == LEFT_OUT:
        a, b, c = inertia_at(i + 1, tree)
        A, B, C = plus(A, a), plus(B, b), plus(C, c)
    store_inertia(i, A, B, C, tree)


@kernel
def leave_out_unloaded(topology, bodies, p, tree):
    """Set `Tree.loaded` and `Tree.inertia` for a problem's contacts and joint rows, after `factorise`.

    `rhs` is non-zero for the velocities of joint rows.
    """
    _mark_loaded(topology, p, tree)
    for i in range(topology.shape[0] - 1, -1, -1):
        parent, flow = topology[i, PARENT], tree.loaded[i]
        if flow[TO_PARENT] != LEFT_OUT and parent != WORLD:
            parent_flow = tree.loaded[parent]
            flow[TO_PARENT] = IN_REGISTERS if parent == i - 1 else IN_SUMS
            parent_flow[HAS_WAITING] = 1 if parent != i - 1 or parent_flow[HAS_WAITING] == 1 else 0
            parent_flow[TO_PARENT] = LOADED
    for i in parallel_range(topology.shape[0]):
        if tree.loaded[i, TO_PARENT] != LEFT_OUT:
            _compose(i, topology, bodies, tree)
        else:
            for k in range(6):
                tree.t[i, k] = 0.0
