"""What passes between a chain's chunks, for `dca`: twists outwards, five quantities inwards, accelerations outwards.

An *element* is the five quantities of a sub-chain as an array (18, 8): rows [I | p], [Φ | b] and [Y], six of each; the
numbers past those pad a row to a vector. For neighbours 1 and 2, with a the acceleration before 1 and F the force on
the far end of 2, the acceleration between them is

    a_m = (1 + Y₁I₂)⁻¹ (Φ₁ a − Y₁ (Φ₂ᵀF + p₂) + b₁) = Z a + z − Kᵀ F,   K = Φ₂ (1 + Y₁I₂)⁻¹ Y₁

and I₂ a_m + p₂ + Φ₂ᵀF the force. Only what joining makes of I and p is used in the end: accelerations taken from such a
system would carry the rounding of its large forces (`dca`).
"""

from __future__ import annotations

import numpy as np

from engine.cpu.chains import chunks as at
from engine.cpu.chains.lanes import load, store
from engine.cpu.rigid_body.workspace import EIGHT
from engine.cpu.runtime.numba_kernels import inline, kernel
from engine.kernels.spatial import add, load3, load9, motion_to_child, store3

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
        o, v = motion_to_child(R, p, o, v)
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
def join(one, two, out, K, M):
    """The element `out` of the sub-chain made of neighbours `one` and `two`.

    ``Φ = Φ₂ Z``, ``b = b₂ + Φ₂ z``, ``Y = Y₂ + K Φ₂ᵀ``, ``I = I₁ + Φ₁ᵀ I₂ Z``, ``p = p₁ + Φ₁ᵀ (p₂ + I₂ z)``.
    K (6, 8) and M (6, 32) are scratch.
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
        store(K[r], 0, k)
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
            y = y + load(M[s], 0, EIGHT) * K[r, s]
        store(out[r], 0, inertia)
        store(out[12 + r], 0, y)


@kernel
def join_chunks(chunk, lanes, suffix, own, K, M):
    """suffix[k], (L, 18, 8): the element of a block's chunk k and all that follow it; the last three are scratch."""
    L = len(lanes)
    _element(chunk, L - 1, L, suffix[L - 1])
    for k in range(L - 2, -1, -1):
        _element(chunk, k, L, own)
        join(own, suffix[k + 1], suffix[k], K, M)


@kernel
def join_blocks(suffix, span, K, M):
    """span[t], (T, 18, 8): the element of block t and all blocks that follow it."""
    last = span.shape[0] - 1
    span[last] = suffix[last, 0]
    for t in range(last - 1, -1, -1):
        join(suffix[t, 0], span[t + 1], span[t], K, M)


@kernel
def distal(chunk, lanes, suffix, following, tip, whole, K, M):
    """I and p of all that lies distal to each chunk of a block; `following` is the element of the blocks behind it.

    Behind the block at the tip (`tip`) is nothing. `whole` (18, 8) is scratch too.
    """
    L = len(lanes)
    for k in range(L):
        if k == L - 1 and tip:
            for r in range(21):
                chunk[(at.I + r) * L + k] = 0.0
            for r in range(6):
                chunk[(at.FORCE + r) * L + k] = 0.0
            continue
        element = suffix[min(k + 1, L - 1)]
        if k == L - 1:
            element = following
        elif not tip:
            join(element, following, whole, K, M)
            element = whole
        for r in range(6):
            for s in range(r, 6):
                half = 0.5 * (element[r, s] + element[s, r])
                chunk[(at.I + _BLOCKS[r, s]) * L + k] = half
            chunk[(at.FORCE + r) * L + k] = element[r, 6]
        for r in range(3):
            for s in range(3):
                half = 0.5 * (element[r, 3 + s] + element[3 + s, r])
                chunk[(at.I + _BLOCKS[r, 3 + s]) * L + k] = half


@kernel
def carry_acceleration(chunk, lanes, a, settle):
    """An acceleration (6,) from before a block's chunks to behind them; `settle` keeps what it is before each."""
    L = len(lanes)
    for k in range(L):
        if settle:
            for r in range(6):
                chunk[(at.A + r) * L + k] = a[r]
        x0, x1, x2, x3, x4, x5 = a[0], a[1], a[2], a[3], a[4], a[5]
        for r in range(6):
            y = chunk[(at.DRIFT + r) * L + k]
            y += chunk[(at.PHI + r) * L + k] * x0 + chunk[(at.PHI + 6 + r) * L + k] * x1
            y += chunk[(at.PHI + 12 + r) * L + k] * x2 + chunk[(at.PHI + 18 + r) * L + k] * x3
            a[r] = y + chunk[(at.PHI + 24 + r) * L + k] * x4 + chunk[(at.PHI + 30 + r) * L + k] * x5
