"""Spatial algebra on scalars in tuples, which compile to registers.

A vector is 3 numbers, a matrix 9 by rows, a symmetric one its upper triangle (xx xy xz yy yz zz). A symmetric 6×6 ``[A
B; Bᵀ C]`` is the three blocks A (6), B (9), C (6). In workspaces of L robots, numbers are interleaved: number k of a
row begins at ``k · L``.
"""

from __future__ import annotations

from engine.compile import inline
from engine.compile.operations import reciprocal

ZERO6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
ZERO9 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@inline
def load3(row, start=0, L=1):
    return row[start], row[start + L], row[start + 2 * L]


@inline
def load6(row, start=0, L=1):
    return row[start], row[start + L], row[start + 2 * L], row[start + 3 * L], row[start + 4 * L], row[start + 5 * L]


@inline
def load9(row, start=0, L=1):
    a, b = load6(row, start, L), load3(row, start + 6 * L, L)
    return a[0], a[1], a[2], a[3], a[4], a[5], b[0], b[1], b[2]


@inline
def store3(row, x, start=0, L=1):
    row[start], row[start + L], row[start + 2 * L] = x[0], x[1], x[2]


@inline
def store6(row, x, start=0, L=1):
    store3(row, (x[0], x[1], x[2]), start, L)
    store3(row, (x[3], x[4], x[5]), start + 3 * L, L)


@inline
def store9(row, x, start=0, L=1):
    store6(row, (x[0], x[1], x[2], x[3], x[4], x[5]), start, L)
    store3(row, (x[6], x[7], x[8]), start + 6 * L, L)


@inline
def add(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inline
def sub(a, b):
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inline
def scale(k, a):
    return k * a[0], k * a[1], k * a[2]


@inline
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inline
def columns(A):
    return (A[0], A[3], A[6]), (A[1], A[4], A[7]), (A[2], A[5], A[8])


@inline
def transpose(A):
    return A[0], A[3], A[6], A[1], A[4], A[7], A[2], A[5], A[8]


@inline
def full(A):
    """The nine numbers of a symmetric matrix."""
    return A[0], A[1], A[2], A[1], A[3], A[4], A[2], A[4], A[5]


@inline
def mul(A, x):
    return (
        A[0] * x[0] + A[1] * x[1] + A[2] * x[2],
        A[3] * x[0] + A[4] * x[1] + A[5] * x[2],
        A[6] * x[0] + A[7] * x[1] + A[8] * x[2],
    )


@inline
def mul_t(A, x):
    """Aᵀ x."""
    return mul(transpose(A), x)


@inline
def matmul(A, B):
    a, b, c = (A[0], A[1], A[2]), (A[3], A[4], A[5]), (A[6], A[7], A[8])
    x, y, z = (B[0], B[3], B[6]), (B[1], B[4], B[7]), (B[2], B[5], B[8])
    return dot(a, x), dot(a, y), dot(a, z), dot(b, x), dot(b, y), dot(b, z), dot(c, x), dot(c, y), dot(c, z)


@inline
def rotated_about_z(R, s, o):
    """R times the rotation about z by the angle of sine s and cosine o."""
    u, v, w = columns(R)
    x, y = add(scale(o, u), scale(s, v)), add(scale(o, v), scale(-s, u))
    return x[0], y[0], w[0], x[1], y[1], w[1], x[2], y[2], w[2]


@inline
def rotate_symmetric(R, A):
    """R A Rᵀ for symmetric A."""
    t = matmul(R, full(A))
    t0, t1, t2 = (t[0], t[1], t[2]), (t[3], t[4], t[5]), (t[6], t[7], t[8])
    r0, r1, r2 = (R[0], R[1], R[2]), (R[3], R[4], R[5]), (R[6], R[7], R[8])
    return dot(t0, r0), dot(t0, r1), dot(t0, r2), dot(t1, r1), dot(t1, r2), dot(t2, r2)


@inline
def cross_matrix(r, A):
    """[r] A."""
    return (
        r[1] * A[6] - r[2] * A[3], r[1] * A[7] - r[2] * A[4], r[1] * A[8] - r[2] * A[5],
        r[2] * A[0] - r[0] * A[6], r[2] * A[1] - r[0] * A[7], r[2] * A[2] - r[0] * A[8],
        r[0] * A[3] - r[1] * A[0], r[0] * A[4] - r[1] * A[1], r[0] * A[5] - r[1] * A[2],
    )  # fmt: skip


@inline
def inertia_shifted(r, A, B, C):
    """Tᵀ [A B; Bᵀ C] T, with T the shift of twists by r: an inertia about a point r away."""
    PC = cross_matrix(r, full(C))
    B2 = plus(B, PC)
    P, Q = cross_matrix(r, transpose(B)), cross_matrix(r, transpose(B2))
    A = (
        A[0] + P[0] + Q[0], A[1] + P[1] + Q[3], A[2] + P[2] + Q[6],
        A[3] + P[4] + Q[4], A[4] + P[5] + Q[7], A[5] + P[8] + Q[8],
    )  # fmt: skip
    return A, B2, C


@inline
def inertia_to_parent(R, r, A, B, C):
    """Xᵀ [A B; Bᵀ C] X with X = Ad((R, r)⁻¹): an inertia in the parent's frame."""
    A, C = rotate_symmetric(R, A), rotate_symmetric(R, C)
    B = matmul(matmul(R, B), transpose(R))
    return inertia_shifted(r, A, B, C)


@inline
def plus(a, b):
    """The sum of two tuples of 3, 6 or 9 numbers."""
    if len(a) == 3:
        return add(a, b)
    if len(a) == 6:
        return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]
    return (
        a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5], a[6] + b[6], a[7] + b[7],
        a[8] + b[8],
    )  # fmt: skip


@inline
def minus(a, b):
    """The difference of two tuples of 9 numbers."""
    return (
        a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5], a[6] - b[6], a[7] - b[7],
        a[8] - b[8],
    )  # fmt: skip


@inline
def cross_right(A, r):
    """−A [r] of a 3 × 3 matrix: r × each row."""
    x, y, z = r
    return (
        y * A[2] - z * A[1], z * A[0] - x * A[2], x * A[1] - y * A[0],
        y * A[5] - z * A[4], z * A[3] - x * A[5], x * A[4] - y * A[3],
        y * A[8] - z * A[7], z * A[6] - x * A[8], x * A[7] - y * A[6],
    )  # fmt: skip


@inline
def damping_at(r, omega):
    """The blocks of Eᵀ Ω E, E = [−[r] 1]: a damping Ω of the velocity of a place r away."""
    r_omega = cross_matrix(r, omega)
    return cross_right(r_omega, r), r_omega, cross_right(omega, r), omega


@inline
def shifted(r, a, b, c, d):
    """Tᵀ [a b; c d] T, with T the shift of twists by r: any 6 × 6 matrix about a point r away."""
    r_d = cross_matrix(r, d)
    corner = plus(plus(a, cross_right(b, r)), cross_matrix(r, plus(c, cross_right(d, r))))
    return corner, plus(b, r_d), plus(c, cross_right(d, r)), d


@inline
def minus_outer(A, x, y):
    """A − x yᵀ of a 3 × 3 matrix."""
    return (
        A[0] - x[0] * y[0], A[1] - x[0] * y[1], A[2] - x[0] * y[2],
        A[3] - x[1] * y[0], A[4] - x[1] * y[1], A[5] - x[1] * y[2],
        A[6] - x[2] * y[0], A[7] - x[2] * y[1], A[8] - x[2] * y[2],
    )  # fmt: skip


@inline
def upper(A):
    """The upper triangle of a symmetric 3 × 3 matrix."""
    return A[0], A[1], A[2], A[4], A[5], A[8]


@inline
def inverse(A):
    """A⁻¹ of a 3 × 3 matrix, by its cofactors."""
    a, b, c = (A[0], A[1], A[2]), (A[3], A[4], A[5]), (A[6], A[7], A[8])
    x, y, z = cross(b, c), cross(c, a), cross(a, b)
    k = 1.0 / dot(a, x)
    x, y, z = scale(k, x), scale(k, y), scale(k, z)
    return x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]


@inline
def axis_column(A, B, C, axis):
    """U = I S = (x, y) of I = [A B; Bᵀ C] and an axis."""
    if axis == 0:
        return (A[0], A[1], A[2]), (B[0], B[1], B[2])
    if axis == 1:
        return (A[1], A[3], A[4]), (B[3], B[4], B[5])
    if axis == 2:
        return (A[2], A[4], A[5]), (B[6], B[7], B[8])
    return (B[2], B[5], B[8]), (C[2], C[4], C[5])


@inline
def minus_rank_one(A, B, C, x, y, d):
    """[A B; Bᵀ C] − d U Uᵀ with U = (x, y): the articulated-body step."""
    g, h = scale(d, x), scale(d, y)
    A = (
        A[0] - g[0] * x[0], A[1] - g[0] * x[1], A[2] - g[0] * x[2],
        A[3] - g[1] * x[1], A[4] - g[1] * x[2], A[5] - g[2] * x[2],
    )  # fmt: skip
    C = (
        C[0] - h[0] * y[0], C[1] - h[0] * y[1], C[2] - h[0] * y[2],
        C[3] - h[1] * y[1], C[4] - h[1] * y[2], C[5] - h[2] * y[2],
    )  # fmt: skip
    b0, b1 = sub((B[0], B[1], B[2]), scale(g[0], y)), sub((B[3], B[4], B[5]), scale(g[1], y))
    b2 = sub((B[6], B[7], B[8]), scale(g[2], y))
    return A, (b0[0], b0[1], b0[2], b1[0], b1[1], b1[2], b2[0], b2[1], b2[2]), C


@inline
def _factor3(S):
    """L and 1/D of a symmetric positive definite 3×3 = L D Lᵀ."""
    i0 = reciprocal(S[0])
    l10, l20 = S[1] * i0, S[2] * i0
    i1 = reciprocal(S[3] - l10 * S[1])
    e = S[4] - l10 * S[2]
    l21 = e * i1
    return i0, l10, l20, i1, l21, reciprocal(S[5] - l20 * S[2] - l21 * e)


@inline
def _solve3(F, b):
    """S⁻¹ b by the factors of S."""
    y = b[1] - F[1] * b[0]
    x2 = (b[2] - F[2] * b[0] - F[4] * y) * F[5]
    x1 = y * F[3] - F[4] * x2
    return b[0] * F[0] - F[1] * x1 - F[2] * x2, x1, x2


@inline
def solve6(A, B, C, n, f):
    """[A B; Bᵀ C]⁻¹ (n, f) by the Schur complement of C."""
    F, b0, b1, b2 = _factor3(C), (B[0], B[1], B[2]), (B[3], B[4], B[5]), (B[6], B[7], B[8])
    x, y, z = _solve3(F, b0), _solve3(F, b1), _solve3(F, b2)
    S = (
        A[0] - dot(b0, x), A[1] - dot(b0, y), A[2] - dot(b0, z),
        A[3] - dot(b1, y), A[4] - dot(b1, z), A[5] - dot(b2, z),
    )  # fmt: skip
    o = _solve3(_factor3(S), sub(n, (dot(x, f), dot(y, f), dot(z, f))))
    return o, _solve3(F, sub(f, mul_t(B, o)))


@inline
def transform_motion(R, p, o, v):
    """X (o, v) with X = Ad((R, p)⁻¹): a twist or acceleration in the child's frame."""
    return mul_t(R, o), mul_t(R, add(v, cross(o, p)))


@inline
def transform_force(R, p, n, f):
    """Xᵀ (n, f): a wrench in the parent's frame."""
    f = mul(R, f)
    return add(mul(R, n), cross(p, f)), f


@inline
def momentum(m, h, inertia, w, v):
    """J V of a rigid body: mass m, first moment h, rotational inertia (9)."""
    return add(mul(inertia, w), cross(h, v)), add(scale(m, v), cross(w, h))
