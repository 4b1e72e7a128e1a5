"""Contacts between two moving bodies in the recursion: six unknowns a pair of bodies, for any number of contacts.

A pair's contacts act by one wrench F on its first body and −F on its second, about one place. ρ is the relative twist
there, the first body's minus the second's; with K = Σ Eᵀ Ω E and s of the contacts, F = s − K ρ. Newton's matrix H
without the pairs is that of `newton`; Woodbury's formula adds them:

    (1 + K Z) F = s − K ρ₀,    Z = J H⁻¹ Jᵀ,    ρ₀ = J H⁻¹ r

where J takes velocities to all ρ. Z and ρ₀ come from the inward pass: beside its inertia and wrench, a body passes on,
for each pair on whose path it lies, the dependence on F and the dependence of ρ on its acceleration:

    f = I a + p + u F,    ρ = wᵀ a + Z F + ρ₀
    without an axis S:   u − x α/D,  w − z β/D,  Z − β α/D,  ρ₀ + β q     x = I S, z = Iᵀ S, α = Sᵀ u, β = Sᵀ w

Where both sides of a pair meet, their terms are added. Once F is known, the wrenches make another inward pass with the
axes' columns x of the first (`newton_matrix`). A pair with one contact needs only a force at its place, three unknowns;
one with K = 0 needs none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline, kernel
from engine.kernels.bodies import ZERO
from engine.kernels.spatial import ZERO6, ZERO9, add, cross, dot, load3, load9, plus, scale, store3, store9, sub, upper
from engine.model import REVOLUTE, WORLD

MAX_PAIRS, ALL_PAIRS = 100, 1500
"""The maximum numbers of pairs of bodies that touch at a time on a GPU, where each robot has memory of its own for
them, and on a CPU, or on either for robots with very many contacts."""
TOUCH, UNKNOWNS = 0, 1
"""`BodyPairs.counts`: touching pairs, and unknowns of the present step."""
ALL = 6
_JOINED, _NONE = -2, -ALL


class BodyPairs(NamedTuple):
    """The workspace for P touching pairs of n bodies, of which the leading ones are in use, and for their unknowns.

    Side 2 j of pair j belongs to its first body, 2 j + 1 to its second. Index n of bodies is the world.
    """

    counts: NDArray[np.int64]  # (2,): touching pairs, and unknowns of the present step
    body: NDArray[np.int64]  # (P, 2): the pair's bodies
    arm: NDArray[np.floating]  # (P, 6): from the origins of both to the pair's place
    contact: NDArray[np.int64]  # (P,): the first contact of its list, which continues in `ProblemArrays.next_contact`
    first: NDArray[np.int64]  # (P,): 3 where only a force is unknown, else 0
    begin: NDArray[np.int64]  # (P,): the index of its unknowns if there were six
    stiffness: NDArray[np.floating]  # (P, 36): K by blocks
    s: NDArray[np.floating]  # (P, 6)
    u: NDArray[np.floating]  # (2 P, 36): of a side, at `side_body`: the wrench per unit F
    w: NDArray[np.floating]  # (2 P, 36): ρ per acceleration of that body
    side_body: NDArray[np.int64]  # (2 P,)
    head: NDArray[np.int64]  # (n + 1,): the first of the sides at a body, −1 for none
    next_side: NDArray[np.int64]  # (2 P,): the one after it
    alpha: NDArray[np.floating]  # (6 P,) by unknown: Sᵀ u of the axis being eliminated
    beta: NDArray[np.floating]  # (6 P,): Sᵀ w
    rho: NDArray[np.floating]  # (6 P,): ρ₀
    wrench: NDArray[np.floating]  # (6 P,): F
    Z: NDArray[np.floating]  # (6 P, 6 P)
    system: NDArray[np.floating]  # (6 P, 6 P): 1 + K Z
    body_wrench: NDArray[np.floating]  # (n, 6): the wrench of all pairs on a body
    column: NDArray[np.floating]  # (n, 36): x of a joint's axes
    inverse: NDArray[np.floating]  # (n, 6): their 1/D
    passed_on: NDArray[np.floating]  # (nv, 2, 6 P): Σ α and Σ β of a mimicked coordinate's joints below, see `mimics`


def body_pairs(bodies: int, nv: int, pairs: int) -> BodyPairs:
    """Return the workspace for up to this many pairs."""
    n, P = bodies, max(pairs, 1)
    M = ALL * P
    counts, body, side_body, head = (np.zeros(shape, np.int64) for shape in (2, (P, 2), 2 * P, n + 1))
    contact, first, begin, following = (np.zeros(size, np.int64) for size in (P, P, P, 2 * P))
    alpha, beta, rho, wrench = np.zeros((4, M))
    return BodyPairs(
        counts, body, np.zeros((P, 6)), contact, first, begin, np.zeros((P, 36)), np.zeros((P, 6)),
        np.zeros((2 * P, 36)), np.zeros((2 * P, 36)), side_body, head, following, alpha, beta, rho, wrench,
        np.zeros((M, M)), np.zeros((M, M)), np.zeros((n, 6)), np.zeros((n, 36)), np.zeros((n, 6)), np.zeros((nv, 2, M)),
    )  # fmt: skip


@inline
def add_contact(i, a, b, x, bodies, p, pairs):
    """Add contact i, at a place x, to the pair of bodies a and b; return whether there is room."""
    j, count = 0, pairs.counts[TOUCH]
    while j < count and (pairs.body[j, 0] != a or pairs.body[j, 1] != b):
        j += 1
    if j == pairs.body.shape[0]:
        return False
    if j == count:
        pairs.counts[TOUCH], pairs.body[j, 0], pairs.body[j, 1], pairs.first[j] = count + 1, a, b, 3
        store3(pairs.arm[j], sub(x, load3(bodies.position[a])))
        store3(pairs.arm[j], sub(x, load3(bodies.position[b])), 3)
        p.next_contact[i] = -1
    else:
        pairs.first[j], p.next_contact[i] = 0, pairs.contact[j]
    pairs.contact[j] = i
    return True


@inline
def relative_velocity(j, k, twists, p, pairs):
    """The relative velocity of contact k of pair j in its frame, the first body's minus the second's, from all
    twists."""
    a, b, arm = twists[pairs.body[j, 0]], twists[pairs.body[j, 1]], load3(p.arm[k])
    other = add(sub(arm, load3(pairs.arm[j])), load3(pairs.arm[j], 3))
    one = add(load3(a, 3), cross(load3(a), arm))
    u, F = sub(one, add(load3(b, 3), cross(load3(b), other))), p.frame[k]
    return dot(load3(F), u), dot(load3(F, 3), u), dot(load3(F, 6), u)


@inline
def clear_pair_wrenches(pairs):
    """Clear the wrenches on bodies."""
    for i in range(pairs.body_wrench.shape[0]):
        store3(pairs.body_wrench[i], ZERO)
        store3(pairs.body_wrench[i], ZERO, 3)


@inline
def add_pair_wrench(j, n, f, pairs):
    """Add a wrench about the place of pair j to its first body, and subtract it from the second."""
    a, b = pairs.body_wrench[pairs.body[j, 0]], pairs.body_wrench[pairs.body[j, 1]]
    r, q = load3(pairs.arm[j]), load3(pairs.arm[j], 3)
    store3(a, add(load3(a), add(n, cross(r, f))))
    store3(a, add(load3(a, 3), f), 3)
    store3(b, sub(load3(b), add(n, cross(q, f))))
    store3(b, sub(load3(b, 3), f), 3)


@inline
def any_touch(tree):
    """Whether any bodies touch each other."""
    return len(tree.pairs) > 0 and tree.pairs.counts[TOUCH] > 0


@inline
def with_pair_wrench(i, n, f, tree):
    """The wrench (n, f) of body i plus the wrenches of its pairs."""
    if any_touch(tree):
        n, f = sub(n, load3(tree.pairs.body_wrench[i])), sub(f, load3(tree.pairs.body_wrench[i], 3))
    return n, f


@inline
def have_unknowns(tree):
    """Whether any pair has unknowns in this step."""
    return len(tree.pairs) > 0 and tree.pairs.counts[UNKNOWNS] > 0


@inline
def _begin_side(side, body, arm, sign, pairs):
    """Set u and w of a body: the wrench per unit F and ρ per twist; `sign` is 1 for the first body, −1 for the
    second."""
    u, w = pairs.u[side], pairs.w[side]
    for c in range(3):
        e = (sign if c == 0 else 0.0), (sign if c == 1 else 0.0), (sign if c == 2 else 0.0)
        moment = cross(arm, e)
        store3(w, e, 6 * c)
        store3(w, ZERO, 6 * c + 3)
        store3(w, moment, 18 + 6 * c)
        store3(w, e, 21 + 6 * c)
    for k in range(36):
        u[k] = -w[k]
    pairs.side_body[side], pairs.next_side[side], pairs.head[body] = body, pairs.head[body], side


@inline
def clear(pairs):
    """Clear the wrenches, unknowns and sides."""
    clear_pair_wrenches(pairs)
    pairs.counts[UNKNOWNS] = 0
    for i in range(pairs.head.size):
        pairs.head[i] = -1


@inline
def clear_stiffness(j, pairs):
    """Clear K of pair j."""
    pairs.begin[j] = _NONE
    for k in range(36):
        pairs.stiffness[j, k] = 0.0


@inline
def add_unknowns(j, moment, force, pairs):
    """Add the unknowns of pair j, and its s about its place."""
    arm, base, first = pairs.arm[j], pairs.counts[UNKNOWNS], pairs.first[j]
    pairs.begin[j], pairs.counts[UNKNOWNS] = base - first, base + ALL - first
    store3(pairs.s[j], moment)
    store3(pairs.s[j], force, 3)
    _begin_side(2 * j, pairs.body[j, 0], load3(arm), 1.0, pairs)
    _begin_side(2 * j + 1, pairs.body[j, 1], load3(arm, 3), -1.0, pairs)


@kernel
def clear_sums(tree):
    """Clear Z, ρ₀ and the terms of mimicked coordinates."""
    pairs = tree.pairs
    M = pairs.counts[UNKNOWNS]
    for k in range(M):
        pairs.rho[k] = 0.0
        for c in range(M):
            pairs.Z[k, c] = 0.0
    if len(tree.mimics) > 0:
        for y in range(pairs.passed_on.shape[0]):
            for k in range(M):
                pairs.passed_on[y, 0, k], pairs.passed_on[y, 1, k] = 0.0, 0.0


@inline
def store_column(i, k, x, y, reciprocal, pairs):
    """Store the column (x, y) and 1/D of axis k of body i's joint."""
    store3(pairs.column[i], x, 6 * k)
    store3(pairs.column[i], y, 6 * k + 3)
    pairs.inverse[i, k] = reciprocal


@inline
def unknowns_at(i, pairs):
    """The unknowns of pairs with a side at body i: side, component of F, and the index among all unknowns."""
    side = pairs.head[i]
    while side >= 0:
        base = pairs.begin[side // 2]
        for c in range(pairs.first[side // 2], ALL):
            yield side, c, base + c
        side = pairs.next_side[side]


@kernel
def eliminate_axis_from_pairs(i, kind, e, factors, row, pairs):
    """Eliminate an axis e of body i, rotation or translation, from the terms that pairs pass on.

    `factors` are I S, Sᵀ I/D, 1/D and q. `row` is the velocity whose α and β other joints of the coordinate have left,
    or −1.
    """
    x, y, z, w, reciprocal, q = factors
    offset = 0 if kind == REVOLUTE else 3
    for side, c, k in unknowns_at(i, pairs):
        u, v = pairs.u[side], pairs.w[side]
        a, b = dot(e, load3(u, 6 * c + offset)), dot(e, load3(v, 6 * c + offset))
        if row >= 0:
            a, b = a + pairs.passed_on[row, 0, k], b + pairs.passed_on[row, 1, k]
        pairs.alpha[k], pairs.beta[k] = a, b
        store3(u, sub(load3(u, 6 * c), scale(reciprocal * a, x)), 6 * c)
        store3(u, sub(load3(u, 6 * c + 3), scale(reciprocal * a, y)), 6 * c + 3)
        store3(v, sub(load3(v, 6 * c), scale(b, z)), 6 * c)
        store3(v, sub(load3(v, 6 * c + 3), scale(b, w)), 6 * c + 3)
    for _, _, k in unknowns_at(i, pairs):
        b = pairs.beta[k]
        pairs.rho[k] += b * q
        for _, _, other in unknowns_at(i, pairs):
            pairs.Z[k, other] -= reciprocal * b * pairs.alpha[other]


@kernel
def store_coordinate(i, kind, e, row, pairs):
    """Store α and β of a coordinate that moves body i along e and is eliminated at an ancestor."""
    offset = 0 if kind == REVOLUTE else 3
    for side, c, k in unknowns_at(i, pairs):
        pairs.passed_on[row, 0, k] += dot(e, load3(pairs.u[side], 6 * c + offset))
        pairs.passed_on[row, 1, k] += dot(e, load3(pairs.w[side], 6 * c + offset))


@kernel
def pass_on(i, parent, arm, pairs):
    """Pass the pairs' terms at body i to its parent, and add them to the terms of the other side where both meet."""
    side, target = pairs.head[i], parent if parent != WORLD else pairs.head.size - 1
    while side >= 0:
        following, other = pairs.next_side[side], side + 1 - 2 * (side % 2)
        u, w, meets = pairs.u[side], pairs.w[side], pairs.side_body[other] == target
        for c in range(pairs.first[side // 2], ALL):
            n, f = add(load3(u, 6 * c), cross(arm, load3(u, 6 * c + 3))), load3(u, 6 * c + 3)
            m, g = add(load3(w, 6 * c), cross(arm, load3(w, 6 * c + 3))), load3(w, 6 * c + 3)
            if meets:
                n, f = add(n, load3(pairs.u[other], 6 * c)), add(f, load3(pairs.u[other], 6 * c + 3))
                m, g = add(m, load3(pairs.w[other], 6 * c)), add(g, load3(pairs.w[other], 6 * c + 3))
            for_u, for_w = pairs.u[other if meets else side], pairs.w[other if meets else side]
            store3(for_u, n, 6 * c)
            store3(for_u, f, 6 * c + 3)
            store3(for_w, m, 6 * c)
            store3(for_w, g, 6 * c + 3)
        if meets:
            pairs.side_body[side] = _JOINED
        else:
            pairs.side_body[side], pairs.next_side[side], pairs.head[target] = target, pairs.head[target], side
        side = following


@inline
def _block(M, row, col):
    """A 3 × 3 block of a matrix, by rows."""
    return (
        M[row, col], M[row, col + 1], M[row, col + 2], M[row + 1, col], M[row + 1, col + 1], M[row + 1, col + 2],
        M[row + 2, col], M[row + 2, col + 1], M[row + 2, col + 2],
    )  # fmt: skip


@inline
def mobility(j, pairs):
    """The blocks [E F; Fᵀ H] of Z that pair j has with itself."""
    base, E, F = pairs.begin[j], ZERO6, ZERO9
    if pairs.first[j] == 0:
        E, F = upper(_block(pairs.Z, base, base)), _block(pairs.Z, base, base + 3)
    return E, F, upper(_block(pairs.Z, base + 3, base + 3))


@inline
def add_stiffness(K, a, b, c, d):
    """Add [a b; c d] to K."""
    store9(K, plus(load9(K), a))
    store9(K, plus(load9(K, 9), b), 9)
    store9(K, plus(load9(K, 18), c), 18)
    store9(K, plus(load9(K, 27), d), 27)


@inline
def _stiffness_index(k, c):
    """The index of element (k, c) of K."""
    return 9 * (2 * (k // 3) + c // 3) + 3 * (k % 3) + c % 3


@kernel
def solve(pairs):
    """Solve for F of all pairs with unknowns, by elimination with partial pivoting; leave only their wrenches in
    `body_wrench`."""
    M, A, x = pairs.counts[UNKNOWNS], pairs.system, pairs.wrench
    for j in range(pairs.counts[TOUCH]):
        base, first, K = pairs.begin[j], pairs.first[j], pairs.stiffness[j]
        if base != _NONE:
            for k in range(first, ALL):
                row = base + k
                for c in range(M):
                    A[row, c] = 0.0
                A[row, row], x[row] = 1.0, pairs.s[j, k]
                for c in range(first, ALL):
                    stiff = K[_stiffness_index(k, c)]
                    x[row] -= stiff * pairs.rho[base + c]
                    for d in range(M):
                        A[row, d] += stiff * pairs.Z[base + c, d]
    _eliminate_all(M, A, x)
    clear_pair_wrenches(pairs)
    for j in range(pairs.counts[TOUCH]):
        base, first = pairs.begin[j], pairs.first[j]
        if base != _NONE:
            n = ZERO
            if first == 0:
                n = load3(x, base)
            add_pair_wrench(j, n, load3(x, base + 3), pairs)


@inline
def _eliminate_all(M, A, x):
    """x ← A⁻¹ x, for the leading M rows of both."""
    for k in range(M):
        best = k
        for i in range(k + 1, M):
            best = i if abs(A[i, k]) > abs(A[best, k]) else best
        if best != k:
            for c in range(k, M):
                A[k, c], A[best, c] = A[best, c], A[k, c]
            x[k], x[best] = x[best], x[k]
        reciprocal = 1.0 / A[k, k]
        for i in range(k + 1, M):
            factor = A[i, k] * reciprocal
            if factor != 0.0:
                for c in range(k + 1, M):
                    A[i, c] -= factor * A[k, c]
                x[i] -= factor * x[k]
    for k in range(M - 1, -1, -1):
        for c in range(k + 1, M):
            x[k] -= A[k, c] * x[c]
        x[k] /= A[k, k]
