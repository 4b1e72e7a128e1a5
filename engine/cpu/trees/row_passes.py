"""The passes of `dca` on one row of `rows`, in any number of lanes.

S = (0, 0, turns, 0, 0, slides), so that lanes with revolute joints, prismatic ones and none take the same path. ``row``
is the workspace, ``c`` the constants. Motions (o, v, do, dv) are a twist and the acceleration by velocities alone.
`added` includes the inertias and held joints of a simulation's step.
"""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.compile.vectors import as_precise_as, double, gather, load, store, where
from engine.cpu.runtime.lanes import load3, load6, load9, put3, put9
from engine.cpu.trees import rows as slot
from engine.kernels.quaternions import rotation_from_quaternion
from engine.kernels.sines import MAX_ANGLE, nearest, quarter_turns
from engine.kernels.spatial import (
    add,
    cross,
    dot,
    full,
    inertia_to_parent,
    matmul,
    minus_rank_one,
    momentum,
    mul,
    scale,
    store3,
    store9,
    sub,
    transform_force,
    transform_motion,
)
from engine.kernels.spatial import load3 as number3
from engine.kernels.spatial import load9 as number9
from engine.model import SPHERICAL, layout


@inline
def _odd(k):
    """Non-zero where the integer k is odd."""
    return k - nearest(k * 0.5) * 2.0


@inline
def _sincos(x):
    """sin x and cos x for |x| ≤ MAX_ANGLE, to about an ulp."""
    k, s, c = quarter_turns(double(x))
    odd = _odd(k)
    sine, cosine = where(odd, c, s), where(odd, s, c)
    one = odd * odd
    sine = where(_odd((k - one) * 0.5), -sine, sine)
    cosine = where(_odd((k + one) * 0.5), -cosine, cosine)
    return as_precise_as(sine, x), as_precise_as(cosine, x)


@inline
def _axes(c, lanes):
    return load(c, slot.TURNS, lanes), load(c, slot.SLIDES, lanes)


@kernel
def _small_angles(row, c, L):
    """Reduce angles of any size among the rows' coordinates, in R, to ones near 0."""
    for k in range(L):
        x = row[slot.R * L + k]
        if abs(x) > MAX_ANGLE and c[slot.TURNS * L + k] != 0.0:
            row[slot.R * L + k] = np.arctan2(np.sin(x), np.cos(x))


@inline
def pose(row, c, of_q, lanes, q):
    """Compute T_i from q (nq,)."""
    store(row, slot.R, gather(q, of_q, lanes))
    largest = 0.0
    for k in range(len(lanes)):
        largest = max(largest, abs(row[slot.R * len(lanes) + k]))
    if not largest <= MAX_ANGLE:
        _small_angles(row, c, len(lanes))
    angle, H, p = load(row, slot.R, lanes), load9(c, layout.HOME_ROTATION, lanes), load3(c, layout.HOME_POSITION, lanes)
    turns, slides = _axes(c, lanes)
    s, o = _sincos(angle * turns)
    u, v, z = (H[0], H[3], H[6]), (H[1], H[4], H[7]), (H[2], H[5], H[8])
    x, y = add(scale(o, u), scale(s, v)), sub(scale(o, v), scale(s, u))
    put9(row, slot.R, (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]))
    put3(row, slot.P, add(p, scale(angle * slides, z)))


@inline
def _inner(row, k, L, a, b, c, d):
    row[slot.INNER * L + k], row[(slot.INNER + 1) * L + k] = a, b
    row[(slot.INNER + 2) * L + k], row[(slot.INNER + 3) * L + k] = c, d


@kernel
def joint_of_several_rows(w, i, k, L, constants, x, u, kind):
    """Compute the pose of a ball or free joint that starts at row i, lane k, and the partial twists of its rows.

    x are the joint's coordinates, u its velocities.
    """
    row, c = w[i], constants[i]
    R0, p = number9(c, layout.HOME_ROTATION * L + k, L), number3(c, layout.HOME_POSITION * L + k, L)
    _inner(w[i + 1], k, L, 0.0, u[0], 0.0, 0.0)
    _inner(w[i + 2], k, L, u[0], u[1], 0.0, 0.0)
    if kind == SPHERICAL:
        R = matmul(R0, rotation_from_quaternion(x[0], x[1], x[2], x[3]))
        store9(row, (R[1], R[2], R[0], R[4], R[5], R[3], R[7], R[8], R[6]), slot.R * L + k, L)
        store3(row, p, slot.P * L + k, L)
    else:
        R = matmul(R0, rotation_from_quaternion(x[3], x[4], x[5], x[6]))
        store9(row, (R[1], R[2], R[0], R[4], R[5], R[3], R[7], R[8], R[6]), slot.R * L + k, L)
        store3(row, add(p, mul(R0, (x[0], x[1], x[2]))), slot.P * L + k, L)
        _inner(w[i + 3], k, L, u[1], u[2], 0.0, 0.0)
        _inner(w[i + 4], k, L, u[2], u[0], 0.0, u[3])
        _inner(w[i + 5], k, L, u[0], u[1], u[3], u[4])


@inline
def own_twist(row, c, o, v, rate, lanes):
    """V = X V + S q̇."""
    R, p = load9(row, slot.R, lanes), load3(row, slot.P, lanes)
    turns, slides = _axes(c, lanes)
    o, v = transform_motion(R, p, o, v)
    return (o[0], o[1], o[2] + rate * turns), (v[0], v[1], v[2] + rate * slides)


@inline
def velocity(row, c, motion, of_v, lanes, rates):
    """Compute the motion of a row from that of the row before, and its own force."""
    R, p = load9(row, slot.R, lanes), load3(row, slot.P, lanes)
    turns, slides = _axes(c, lanes)
    rate = gather(rates, of_v, lanes)
    turn, slide = rate * turns, rate * slides
    o, v = transform_motion(R, p, motion[0], motion[1])
    do, dv = transform_motion(R, p, motion[2], motion[3])
    x, y = o[0] - load(row, slot.INNER, lanes), o[1] - load(row, slot.INNER + 1, lanes)
    do = (do[0] + y * turn, do[1] - x * turn, do[2])
    a, b = v[0] - load(row, slot.INNER + 2, lanes), v[1] - load(row, slot.INNER + 3, lanes)
    dv = (dv[0] + b * turn + y * slide, dv[1] - a * turn - x * slide, dv[2])
    o, v = (o[0], o[1], o[2] + turn), (v[0], v[1], v[2] + slide)
    J, m, h = full(load6(c, layout.INERTIA, lanes)), load(c, layout.MASS, lanes), load3(c, layout.FIRST_MOMENT, lanes)
    n, f = momentum(m, h, J, o, v)
    dn, df = momentum(m, h, J, do, dv)
    put3(row, slot.B, add(add(cross(o, n), cross(v, f)), dn))
    put3(row, slot.B + 3, add(cross(o, f), df))
    return o, v, do, dv


@kernel
def less_wrenches(row, body, wrenches, L):
    """Subtract the external wrenches (n, 6) on the rows' bodies from their own forces."""
    for k in range(L):
        if body[k] >= 0:
            for r in range(6):
                row[(slot.B + r) * L + k] -= wrenches[body[k], r]


@inline
def _divisor(row, D, of_v, lanes, acting, added):
    """1/D; with the additions of a step 1/(D + added inertia), or 0 where the joint is held."""
    if added == "":
        return 1.0 / D
    D = D + gather(acting.added_inertia, of_v, lanes)
    store(row, slot.D, D)
    return where(gather(acting.held, of_v, lanes), D * 0.0, 1.0 / D)


@inline
def _quotient(row, u, dinv, of_v, lanes, acting, added):
    """u/D, or the target_acceleration of a held joint."""
    if added == "":
        return u * dinv
    store(row, slot.REACTION, u)
    return where(gather(acting.held, of_v, lanes), gather(acting.target_acceleration, of_v, lanes), u * dinv)


@inline
def absorb(row, c, share, of_v, lanes, acting, added):
    """Compute the share that a row passes to the row before, an inertia I and a force p, from the sum of distal shares.

    A share is (A, B, C, n, f) of I = [A B; Bᵀ C] and p = (n, f).
    """
    A, B, C, n, f = share
    turns, slides = _axes(c, lanes)
    J, m, h = load6(c, layout.INERTIA, lanes), load(c, layout.MASS, lanes), load3(c, layout.FIRST_MOMENT, lanes)
    A = (A[0] + J[0], A[1] + J[1], A[2] + J[2], A[3] + J[3], A[4] + J[4], A[5] + J[5])
    B = (B[0], B[1] - h[2], B[2] + h[1], B[3] + h[2], B[4], B[5] - h[0], B[6] - h[1], B[7] + h[0], B[8])
    C = (C[0] + m, C[1], C[2], C[3] + m, C[4], C[5] + m)
    x = add(scale(turns, (A[2], A[4], A[5])), scale(slides, (B[2], B[5], B[8])))
    y = add(scale(turns, (B[6], B[7], B[8])), scale(slides, (C[2], C[4], C[5])))
    put3(row, slot.U, x)
    put3(row, slot.U + 3, y)
    dinv = _divisor(row, turns * x[2] + slides * y[2] + (1.0 - turns - slides), of_v, lanes, acting, added)
    n, f = add(n, load3(row, slot.B, lanes)), add(f, load3(row, slot.B + 3, lanes))
    u = gather(acting.tau, of_v, lanes) - turns * n[2] - slides * f[2]
    ud = _quotient(row, u, dinv, of_v, lanes, acting, added)
    store(row, slot.DINV, dinv)
    store(row, slot.UD, ud)
    A, B, C = minus_rank_one(A, B, C, x, y, dinv)
    n, f = add(n, scale(ud, x)), add(f, scale(ud, y))
    R, p = load9(row, slot.R, lanes), load3(row, slot.P, lanes)
    A, B, C = inertia_to_parent(R, p, A, B, C)
    n, f = transform_force(R, p, n, f)
    return A, B, C, n, f


@inline
def through(row, c, o, v, lanes):
    """(1 − S Uᵀ/D) X of an acceleration; and UᵀX of it, with and without 1/D."""
    o, v = transform_motion(load9(row, slot.R, lanes), load3(row, slot.P, lanes), o, v)
    turns, slides = _axes(c, lanes)
    Ua = dot(load3(row, slot.U, lanes), o) + dot(load3(row, slot.U + 3, lanes), v)
    x = Ua * load(row, slot.DINV, lanes)
    return (o[0], o[1], o[2] - turns * x), (v[0], v[1], v[2] - slides * x), x, Ua


@inline
def accelerated(row, c, o, v, lanes, added):
    """Compute the acceleration of a row, relative to that by velocities, from the row before; q̈; the held joint's
    reaction."""
    o, v, x, Ua = through(row, c, o, v, lanes)
    ud, (turns, slides) = load(row, slot.UD, lanes), _axes(c, lanes)
    qdd, reaction = ud - x, x
    if added != "":
        reaction = Ua + load(row, slot.D, lanes) * qdd - load(row, slot.REACTION, lanes)
    return (o[0], o[1], o[2] + turns * ud), (v[0], v[1], v[2] + slides * ud), qdd, reaction
