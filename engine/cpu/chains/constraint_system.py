"""CFA's linear system of one serial chain: from joint torques τ to accelerations M⁻¹ τ, by the constraint forces.

H = (I − Γ) J⁻¹ (I − Γ)ᵀ takes joint forces F to the accelerations across the joints ([Y] (10)). A free joint satisfies
Wᵀ H F = 0 with F = S τ + W F_c: five equations for its five constraint forces. A simulation step adds two kinds of
joints whose force along their own axis, F_S, is unknown too:

    with an inertia E > 0 on its axis: F_S = τ − E q̈, q̈ = Sᵀ H F        held: Sᵀ H F = 0

With F_S = τ + s z and B = [W, s S] all three are rows of one system,

    (Bᵀ H B + diag(0, k)) x = −Bᵀ H S τ,  x = (F_c, z)        (s, k) = (√E, 1), or (1, 0) for a held joint

of 6 × 6 blocks, symmetric and positive definite: the sixth row says √E q̈ + z = 0, or q̈ = 0. Nothing is divided by E.
Where E = 0 the sixth row and column are those of the identity, which leaves the free joint's five equations. E only
scales a row and a column, which does not affect the accuracy of the elimination (Higham 2002, section 10.1): it may
have any size, 1e-12 beside 1e12.

The system is block tridiagonal, and eliminated sequentially from the base by D = L δ Lᵀ,
the least work on one core. Odd-even elimination does twice as much for
every row in each of its ⌈log₂ n⌉ steps, which pays on many processors. It takes no square root, so that a pivot that
rounding has made negative, as on long chains that resist bending, only costs digits, which refinement (`cfa`) restores.

``blocks`` (n, WIDTH) float: the quantities below, a row a joint. In DIAGONAL, BESIDE and what follows from them, the
sixth coordinate of a wrench or a twist is that along the joint's axis: for a revolute joint, the third and the sixth
are swapped.
"""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.cpu.rigid_body import workspace as slot
from engine.kernels.robot import KIND
from engine.kernels.spatial import (
    add,
    cross,
    cross_matrix,
    full,
    load3,
    load6,
    load9,
    matmul,
    mul,
    mul_t,
    plus,
    rotate_symmetric,
    scale,
    store3,
    store6,
    sub,
    transform_force,
    transform_motion,
    transpose,
)
from engine.model import REVOLUTE, layout

# fmt: off
CENTRE = 0      # 3  centre of mass
INVERSE = 3     # 6  inverse of the rotational inertia about it
LIGHTNESS = 9   # 1  1/mass
DIAGONAL = 10   # 36 H_ii
BESIDE = 46     # 36 −H_{i,i+1}
PIVOT = 82      # 36 below its diagonal L, on it 1/δ, of the block D that elimination leaves: D = L δ Lᵀ
COUPLING = 118  # 36 −L⁻¹ Bᵢᵀ H_{i,i+1} Bᵢ₊₁
SCALE = 154     # 1  s
X = 155         # 6  the right-hand side, then the solution
FORCE = 161     # 6  F
MOTION = 167    # 6  J⁻¹ (I − Γ)ᵀ F
WIDTH = 173
# fmt: on


@inline
def _inverse3(S):
    """The inverse of a symmetric 3×3 matrix."""
    x, y, z = S[3] * S[5] - S[4] * S[4], S[2] * S[4] - S[1] * S[5], S[1] * S[4] - S[2] * S[3]
    d = 1.0 / (S[0] * x + S[1] * y + S[2] * z)
    return (
        d * x,
        d * y,
        d * z,
        d * (S[0] * S[5] - S[2] * S[2]),
        d * (S[1] * S[2] - S[0] * S[4]),
        d * (S[0] * S[3] - S[1] * S[1]),
    )


@inline
def _mobility(c, A, m):
    """J⁻¹ = [A Bᵀ; B C] of a body with centre of mass c, the inverse A of the inertia about it, and inverse mass m."""
    B = cross_matrix(c, full(A))
    C = cross_matrix(c, transpose(B))
    return full(A), B, (C[0] + m, C[1], C[2], C[3], C[4] + m, C[5], C[6], C[7], C[8] + m)


@inline
def _over_J(row, n, f):
    """J⁻¹ (n, f)."""
    c = load3(row, CENTRE)
    o = mul(full(load6(row, INVERSE)), sub(n, cross(c, f)))
    return o, add(scale(row[LIGHTNESS], f), cross(c, o))


@inline
def _places(kind):
    """The indices of angular and linear coordinates, with that along the joint's axis as the sixth."""
    revolute = kind == REVOLUTE
    return (0, 1, 5 if revolute else 2), (3, 4, 2 if revolute else 5)


@inline
def _put(row, start, rows, columns, A):
    """Store a 3×3 matrix in a 6×6 one, at these rows and columns."""
    a, b, c = start + 6 * rows[0], start + 6 * rows[1], start + 6 * rows[2]
    row[a + columns[0]], row[a + columns[1]], row[a + columns[2]] = A[0], A[1], A[2]
    row[b + columns[0]], row[b + columns[1]], row[b + columns[2]] = A[3], A[4], A[5]
    row[c + columns[0]], row[c + columns[1]], row[c + columns[2]] = A[6], A[7], A[8]


@kernel
def _set_body(row, c):
    """Compute J⁻¹ of a body about its centre of mass, from its constants."""
    m, h, I = 1.0 / c[layout.MASS], load3(c, layout.FIRST_MOMENT), load6(c, layout.INERTIA)
    x = scale(m, h)
    about = (
        I[0] - h[1] * x[1] - h[2] * x[2], I[1] + h[0] * x[1], I[2] + h[0] * x[2],
        I[3] - h[0] * x[0] - h[2] * x[2], I[4] + h[1] * x[2], I[5] - h[0] * x[0] - h[1] * x[1],
    )  # fmt: skip
    store3(row, x, CENTRE)
    store6(row, _inverse3(about), INVERSE)
    row[LIGHTNESS] = m


@kernel
def assemble(blocks, topology, constants, w):
    """Assemble H of a chain at the poses in w: H_ii = Jᵢ⁻¹ + Xᵢ Jᵢ₋₁⁻¹ Xᵢᵀ and H_{i−1,i} = −Jᵢ₋₁⁻¹ Xᵢᵀ.

    The latter is −Xᵢ⁻¹ of the former's second term, which is J⁻¹ of link i − 1 in the frame of link i.
    """
    for i in range(topology.shape[0]):
        row = blocks[i]
        _set_body(row, constants[i])
        first, last = _places(topology[i, KIND])
        A, B, C = _mobility(load3(row, CENTRE), load6(row, INVERSE), row[LIGHTNESS])
        if i > 0:
            above, R, p = blocks[i - 1], load9(w[i], slot.R), load3(w[i], slot.P)
            centre = mul_t(R, sub(load3(above, CENTRE), p))
            inverse = rotate_symmetric(transpose(R), load6(above, INVERSE))
            A1, B1, C1 = _mobility(centre, inverse, above[LIGHTNESS])
            RA, RBt = matmul(R, A1), matmul(R, transpose(B1))
            before, behind = _places(topology[i - 1, KIND])
            _put(above, BESIDE, before, first, RA)
            _put(above, BESIDE, before, last, RBt)
            _put(above, BESIDE, behind, first, plus(matmul(R, B1), cross_matrix(p, RA)))
            _put(above, BESIDE, behind, last, plus(matmul(R, C1), cross_matrix(p, RBt)))
            A, B, C = plus(A, A1), plus(B, B1), plus(C, C1)
        _put(row, DIAGONAL, first, first, A)
        _put(row, DIAGONAL, last, first, B)
        _put(row, DIAGONAL, first, last, transpose(B))
        _put(row, DIAGONAL, last, last, C)


@inline
def _factorise(row):
    """Factorise the pivot's lower triangle into L and 1/δ, in place."""
    for j in range(6):
        inverse = 1.0 / row[PIVOT + 7 * j]
        for r in range(j + 1, 6):
            share = row[PIVOT + 6 * r + j] * inverse
            for c in range(j + 1, r + 1):
                row[PIVOT + 6 * r + c] -= share * row[PIVOT + 6 * c + j]
        for r in range(j + 1, 6):
            row[PIVOT + 6 * r + j] *= inverse
        row[PIVOT + 7 * j] = inverse


@kernel
def eliminate(blocks, added_inertia, held):
    """Compute the pivots of Bᵀ H B + diag(0, k) from the base; `added_inertia` is E, (n,), as is `held`."""
    n = blocks.shape[0]
    for i in range(n):
        row, is_held = blocks[i], held[i] != 0.0
        row[SCALE] = 1.0 if is_held else np.sqrt(added_inertia[i])
        for r in range(6):
            for c in range(r + 1):
                row[PIVOT + 6 * r + c] = row[DIAGONAL + 6 * r + c] * (row[SCALE] if r == 5 else 1)
        row[PIVOT + 35] = row[PIVOT + 35] * row[SCALE] + (0.0 if is_held else 1.0)
        if i > 0:
            above = blocks[i - 1]
            for c in range(6):  # D_i − Gᵀ δ⁻¹ G with G = L⁻¹ U of the row before
                own = row[SCALE] if c == 5 else 1
                for r in range(6):
                    entry = above[BESIDE + 6 * r + c] * own * (above[SCALE] if r == 5 else 1)
                    for k in range(r):
                        entry -= above[PIVOT + 6 * r + k] * above[COUPLING + 6 * k + c]
                    above[COUPLING + 6 * r + c] = entry
            for r in range(6):
                for c in range(r + 1):
                    for k in range(6):
                        both = above[COUPLING + 6 * k + r] * above[COUPLING + 6 * k + c]
                        row[PIVOT + 6 * r + c] -= both * above[PIVOT + 7 * k]
        _factorise(row)


@inline
def _motion(blocks, w, i, n, f, n1, f1):
    """Compute J⁻¹ (I − Γ)ᵀ F of link i into its row, from the forces (n, f) in its joint and (n1, f1) in the next."""
    if i + 1 < blocks.shape[0]:
        n1, f1 = transform_force(load9(w[i + 1], slot.R), load3(w[i + 1], slot.P), n1, f1)
        n, f = sub(n, n1), sub(f, f1)
    o, v = _over_J(blocks[i], n, f)
    store3(blocks[i], o, MOTION)
    store3(blocks[i], v, MOTION + 3)


@inline
def _across(blocks, w, i):
    """(H F)ᵢ: the motion of link i relative to the link before."""
    o, v = load3(blocks[i], MOTION), load3(blocks[i], MOTION + 3)
    if i > 0:
        above = blocks[i - 1]
        R, p = load9(w[i], slot.R), load3(w[i], slot.P)
        o1, v1 = transform_motion(R, p, load3(above, MOTION), load3(above, MOTION + 3))
        o, v = sub(o, o1), sub(v, v1)
    return o, v


@inline
def _along(topology, held, tau, i):
    """S τ of joint i, 0 for a held one, whose force is unknown."""
    if i >= tau.size:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    size, revolute = tau[i] if held[i] == 0.0 else 0.0, topology[i, KIND] == REVOLUTE
    return (0.0, 0.0, size if revolute else 0.0), (0.0, 0.0, 0.0 if revolute else size)


@kernel
def solve(blocks, topology, w, held, tau, qdd):
    """Solve (M + E) q̈ = τ (n,) for q̈ (n,) of the joints, 0 of held ones; after `eliminate`."""
    n = topology.shape[0]
    for i in range(n):
        row = blocks[i]
        (tn, tf), (tn1, tf1) = _along(topology, held, tau, i), _along(topology, held, tau, i + 1)
        _motion(blocks, w, i, tn, tf, tn1, tf1)
        o, v = _across(blocks, w, i)
        first, last = _places(topology[i, KIND])
        row[X + first[0]], row[X + first[1]], row[X + first[2]] = -o[0], -o[1], -o[2]
        row[X + last[0]], row[X + last[1]], row[X + last[2]] = -v[0], -v[1], -v[2]
        row[X + 5] *= row[SCALE]
        for r in range(6):
            if i > 0:
                for k in range(6):
                    row[X + r] += blocks[i - 1, COUPLING + 6 * k + r] * blocks[i - 1, X + k]
            for k in range(r):
                row[X + r] -= row[PIVOT + 6 * r + k] * row[X + k]
        for r in range(6):
            row[X + r] *= row[PIVOT + 7 * r]
    for i in range(n - 1, -1, -1):
        row = blocks[i]
        for r in range(5, -1, -1):
            if i + 1 < n:
                share = row[COUPLING + 6 * r] * blocks[i + 1, X]
                for k in range(1, 6):
                    share += row[COUPLING + 6 * r + k] * blocks[i + 1, X + k]
                row[X + r] += share * row[PIVOT + 7 * r]
            for k in range(r + 1, 6):
                row[X + r] -= row[PIVOT + 6 * k + r] * row[X + k]
        own = (tau[i] if held[i] == 0.0 else 0.0) + row[SCALE] * row[X + 5]
        revolute, third = topology[i, KIND] == REVOLUTE, row[X + 2]
        fn = (row[X], row[X + 1], own if revolute else third)
        ff = (row[X + 3], row[X + 4], third if revolute else own)
        store3(row, fn, FORCE)
        store3(row, ff, FORCE + 3)
        beyond = blocks[min(i + 1, n - 1)]
        _motion(blocks, w, i, fn, ff, load3(beyond, FORCE), load3(beyond, FORCE + 3))
    for i in range(n):
        row = blocks[i]
        o, v = _across(blocks, w, i)
        qdd[i] = o[2] if topology[i, KIND] == REVOLUTE else v[2]
        if held[i] != 0.0:
            qdd[i] = 0.0
        elif row[SCALE] * row[SCALE] * row[DIAGONAL + 35] > 1.0:  # q̈ = −z/s, exact to the last digits where E is large
            qdd[i] = -row[X + 5] / row[SCALE]
