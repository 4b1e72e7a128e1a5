"""What passes between a chain's chunks, for `dca`: twists outwards, five quantities inwards, accelerations outwards.

An *element* is the five quantities of a sub-chain as an array (18, 8): rows [I | p], [Φ | b] and [Y], six of each; the
numbers past those pad a row to a vector. For neighbours 1 and 2, with a the acceleration before 1 and F the force on
the far end of 2, the acceleration between them is

    a_m = (1 + Y₁I₂)⁻¹ (Φ₁ a − Y₁ (Φ₂ᵀF + p₂) + b₁) = Z a + z − Kᵀ F,   K = Φ₂ (1 + Y₁I₂)⁻¹ Y₁

and I₂ a_m + p₂ + Φ₂ᵀF the force. A *record* (12, 8) keeps [Z | z] and [K] of a join until a and F are known.
"""

from __future__ import annotations

import numpy as np

from engine.cpu import chunks as at
from engine.cpu.compile import inline, kernel
from engine.cpu.layout import EIGHT
from engine.cpu.spatial import add, cross, load3, load9, mul_t, store3
from engine.cpu.vector import load, store

# where the upper triangle by rows keeps an entry of a symmetric 6×6, and where the blocks A, B, C do
_TRIANGLE = np.zeros((6, 6), np.int64)
_TRIANGLE[np.triu_indices(6)] = np.arange(21)
_TRIANGLE = np.maximum(_TRIANGLE, _TRIANGLE.T)
_BLOCKS = np.array(
    [
        [0, 1, 2, 6, 7, 8],
        [1, 3, 4, 9, 10, 11],
        [2, 4, 5, 12, 13, 14],
        [6, 9, 12, 15, 16, 17],
        [7, 10, 13, 16, 18, 19],
        [8, 11, 14, 17, 19, 20],
    ]
)


@kernel
def carry_twist(chunk, lanes, twist, settle):
    """A twist (6,) from before a block's chunks to behind them; `settle` keeps what it is before each.

    A chunk knows the twist V' of its last link on a base at rest; on one that moves it is X V + V', X leading from
    the base to the last link.
    """
    L = len(lanes)
    o, v = load3(twist, 0, 1), load3(twist, 3, 1)
    for k in range(L):
        if settle:
            store3(chunk, at.V * L + k, L, o)
            store3(chunk, (at.V + 3) * L + k, L, v)
        R, p = load9(chunk, at.CR * L + k, L), load3(chunk, at.CP * L + k, L)
        o, v = mul_t(R, o), mul_t(R, add(v, cross(o, p)))
        o = add(o, load3(chunk, at.CV * L + k, L))
        v = add(v, load3(chunk, (at.CV + 3) * L + k, L))
    store3(twist, 0, 1, o)
    store3(twist, 3, 1, v)


@inline
def _element(chunk, k, L, element):
    """The element of the chunk in lane k."""
    for r in range(6):
        for s in range(6):
            element[r, s] = chunk[(at.I + _BLOCKS[r, s]) * L + k]
            element[6 + r, s] = chunk[(at.PHI + 6 * r + s) * L + k]
            element[12 + r, s] = chunk[(at.Y + _TRIANGLE[r, s]) * L + k]
        element[r, 6], element[6 + r, 6] = chunk[(at.FORCE + r) * L + k], chunk[(at.DRIFT + r) * L + k]


@inline
def _solve(M):
    """Rows [A | B | C] of eight numbers each to [1 | A⁻¹B | A⁻¹C], by Gauss and Jordan with row pivots."""
    for c in range(6):
        pivot = c
        for r in range(c + 1, 6):
            if abs(M[r, c]) > abs(M[pivot, c]):
                pivot = r
        inverse = 1.0 / M[pivot, c]
        for part in range(3):
            x, y = load(M[pivot], part, EIGHT), load(M[c], part, EIGHT)
            store(M[pivot], part, y)
            store(M[c], part, x * inverse)
        for r in range(6):
            if r != c:
                factor = M[r, c]
                for part in range(3):
                    store(M[r], part, load(M[r], part, EIGHT) - load(M[c], part, EIGHT) * factor)


@kernel
def join(one, two, record, out, M):
    """The element `out` of the sub-chain made of neighbours `one` and `two`, and the record of their join.

    ``Φ = Φ₂ Z``, ``b = b₂ + Φ₂ z``, ``Y = Y₂ + K Φ₂ᵀ``, ``I = I₁ + Φ₁ᵀ I₂ Z``, ``p = p₁ + Φ₁ᵀ (p₂ + I₂ z)``.
    M (6, 32) is scratch.
    """
    for r in range(6):
        x = load(two[0], 0, EIGHT) * one[12 + r, 0]
        for s in range(1, 6):
            x = x + load(two[s], 0, EIGHT) * one[12 + r, s]
        store(M[r], 0, x)
        store(M[r], 1, load(one[6 + r], 0, EIGHT))
        store(M[r], 2, load(one[12 + r], 0, EIGHT))
        M[r, 14] -= M[r, 6]
        M[r, r] += 1.0
    _solve(M)
    for r in range(6):
        x = load(two[r], 0, EIGHT) * 0.0
        phi, k = x, x
        for s in range(6):
            z = load(M[s], 1, EIGHT)
            x = x + z * two[r, s]
            phi = phi + z * two[6 + r, s]
            k = k + load(M[s], 2, EIGHT) * two[6 + r, s]
        store(record[r], 0, load(M[r], 1, EIGHT))
        store(record[6 + r], 0, k)
        store(out[6 + r], 0, phi)
        store(M[r], 3, x)
        out[6 + r, 6] += two[6 + r, 6]
        M[r, 30] += two[r, 6]
        for s in range(6):
            M[s, r] = two[6 + r, s]
    for r in range(6):
        inertia, y = load(one[r], 0, EIGHT), load(two[12 + r], 0, EIGHT)
        for s in range(6):
            inertia = inertia + load(M[s], 3, EIGHT) * one[6 + s, r]
            y = y + load(M[s], 0, EIGHT) * record[6 + r, s]
        store(out[r], 0, inertia)
        store(out[12 + r], 0, y)


@inline
def _between(record, two, a, force, a_m, force_m):
    """Acceleration and force where the second of two neighbours begins."""
    for r in range(6):
        x = record[r, 6]
        for s in range(6):
            x += record[r, s] * a[s] - record[6 + s, r] * force[s]
        a_m[r] = x
    for r in range(6):
        x = two[r, 6]
        for s in range(6):
            x += two[r, s] * a_m[s] + two[6 + s, r] * force[s]
        force_m[r] = x


@kernel
def join_chunks(chunk, lanes, suffix, records, own, M):
    """suffix[k], (L, 18, 8): the element of a block's chunk k and all that follow it; own and M are scratch."""
    L = len(lanes)
    _element(chunk, L - 1, L, suffix[L - 1])
    for k in range(L - 2, -1, -1):
        _element(chunk, k, L, own)
        join(own, suffix[k + 1], records[k], suffix[k], M)


@kernel
def join_blocks(suffix, span, records, ends, gravity, M):
    """Join all blocks from the tip, whose far end is free, and give each the motion and force at its ends (4, 6)."""
    last = span.shape[0] - 1
    span[last] = suffix[last, 0]
    for t in range(last - 1, -1, -1):
        join(suffix[t, 0], span[t + 1], records[t], span[t], M)
    ends[0, 0] = 0.0
    for j in range(3):
        ends[0, 0, 3 + j] = -gravity[j]
    ends[last, 1] = 0.0
    for t in range(last):
        _between(records[t], span[t + 1], ends[t, 0], ends[last, 1], ends[t + 1, 0], ends[t, 1])


@kernel
def spread(chunk, lanes, suffix, records, ends):
    """From what happens at a block's ends to what happens at those of its chunks."""
    L = len(lanes)
    a, force, a_m, force_m = ends[0], ends[1], ends[2], ends[3]
    for k in range(L):
        for r in range(6):
            chunk[(at.A + r) * L + k] = a[r]
        if k < L - 1:
            _between(records[k], suffix[k + 1], a, force, a_m, force_m)
            a, a_m = a_m, a
        else:
            force_m = force
        for r in range(6):
            chunk[(at.F + r) * L + k] = force_m[r]
