"""The passes of `dca` over one block: L chunks at once, one in each lane, from end to end.

Equations and symbols are those of `dca`. S = (0, 0, turns, 0, 0, slides), so that lanes with revolute joints, prismatic
ones and none at all go the same way. ``constants``, ``links`` and ``w`` are the block's rows, ``chunk`` its line.
"""

from __future__ import annotations

import numpy as np

from engine.cpu.chains import chunks as at
from engine.cpu.chains.lanes import load, sincos, store, vload3, vload6, vload9, vstore3, vstore6, vstore9, where
from engine.cpu.runtime.numba_kernels import inline, kernel
from engine.kernels.spatial import (
    LARGEST_ANGLE,
    add,
    cross,
    dot,
    force_to_parent,
    full,
    inertia_to_parent,
    less_rank_one,
    matmul,
    momentum,
    motion_to_child,
    mul,
    mul_t,
    scale,
    sub,
)
from engine.model import layout


@inline
def _gather(row, place, links, x, L):
    """The numbers of x that belong to a row's links, 0 for a link that is not there."""
    for k in range(L):
        j = links[k]
        if j >= 0:
            row[place * L + k] = x[j]
        else:
            row[place * L + k] = 0.0


@inline
def rows_of(x, which):
    """Some rows of a matrix, or None of None."""
    if x is None:
        return x
    return x[which]


@kernel
def gather_additions(links, additions, lanes, inertia, locked, target):
    """E, the locks and their targets of a block's joints, from the chain's (n,)."""
    for i in range(links.shape[0]):
        _gather(additions[i], at.E, links[i], inertia, len(lanes))
        _gather(additions[i], at.LOCK, links[i], locked, len(lanes))
        _gather(additions[i], at.TARGET, links[i], target, len(lanes))


@inline
def _divisor(D, i, additions, lanes):
    """1/D, with what simulation adds: 1/(D + E), or 0 where the joint is locked."""
    if additions is None:
        return 1.0 / D
    D = D + load(additions[i], at.E, lanes)
    store(additions[i], at.D, D)
    return where(load(additions[i], at.LOCK, lanes), D * 0.0, 1.0 / D)


@inline
def _quotient(u, dinv, i, additions, lanes):
    """u/D, or the target of a locked joint."""
    if additions is None:
        return u * dinv
    store(additions[i], at.REACTION, u)
    return where(load(additions[i], at.LOCK, lanes), load(additions[i], at.TARGET, lanes), u * dinv)


@inline
def _pose(row, c, lanes):
    """T_i from q."""
    L = len(lanes)
    for k in range(L):
        if abs(row[at.QD * L + k]) > LARGEST_ANGLE and c[at.TURNS * L + k] != 0.0:
            angle = row[at.QD * L + k]
            row[at.QD * L + k] = np.arctan2(np.sin(angle), np.cos(angle))
    q, H, p = load(row, at.QD, lanes), vload9(c, layout.HOME_ROTATION, lanes), vload3(c, layout.HOME_POSITION, lanes)
    s, o = sincos(q * load(c, at.TURNS, lanes))
    u, v, z = (H[0], H[3], H[6]), (H[1], H[4], H[7]), (H[2], H[5], H[8])
    x, y = add(scale(o, u), scale(s, v)), sub(scale(o, v), scale(s, u))
    R = (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])
    p = add(p, scale(q * load(c, at.SLIDES, lanes), z))
    vstore9(row, at.R, R)
    vstore3(row, at.P, p)
    return R, p


@inline
def _velocity(row, c, R, p, o, v, lanes):
    """V = X V + S q̇, and S q̇."""
    rate = load(row, at.QD, lanes)
    turn, slide = rate * load(c, at.TURNS, lanes), rate * load(c, at.SLIDES, lanes)
    o, v = motion_to_child(R, p, o, v)
    return (o[0], o[1], o[2] + turn), (v[0], v[1], v[2] + slide), turn, slide


@kernel
def relative_motion(constants, links, w, chunk, lanes, q, v):
    """T_i of all links, and the last link's pose and twist as seen from before the chunk. q and v are the chain's."""
    L = len(lanes)
    chunk[at.CR * L : at.V * L] = 0.0
    for k in range(L):
        chunk[at.CR * L + k], chunk[(at.CR + 4) * L + k], chunk[(at.CR + 8) * L + k] = 1.0, 1.0, 1.0
    Rc, pc = vload9(chunk, at.CR, lanes), vload3(chunk, at.CP, lanes)
    x, y = pc, pc
    for i in range(w.shape[0]):
        row, c = w[i], constants[i]
        _gather(row, at.QD, links[i], q, L)
        R, p = _pose(row, c, lanes)
        _gather(row, at.QD, links[i], v, L)
        x, y, _, _ = _velocity(row, c, R, p, x, y, lanes)
        pc, Rc = add(pc, mul(Rc, p)), matmul(Rc, R)
    vstore9(chunk, at.CR, Rc)
    vstore3(chunk, at.CP, pc)
    vstore3(chunk, at.CV, x)
    vstore3(chunk, at.CV + 3, y)


@inline
def _inertia(row, c, I, lanes, i, additions):
    """Xᵀ (I − U Uᵀ/D) X of a link's articulated inertia, from what the link behind it hands on."""
    A, B, C = I
    turns, slides = load(c, at.TURNS, lanes), load(c, at.SLIDES, lanes)
    J, m, h = vload6(c, layout.INERTIA, lanes), load(c, layout.MASS, lanes), vload3(c, layout.FIRST_MOMENT, lanes)
    A = (A[0] + J[0], A[1] + J[1], A[2] + J[2], A[3] + J[3], A[4] + J[4], A[5] + J[5])
    B = (B[0], B[1] - h[2], B[2] + h[1], B[3] + h[2], B[4], B[5] - h[0], B[6] - h[1], B[7] + h[0], B[8])
    C = (C[0] + m, C[1], C[2], C[3] + m, C[4], C[5] + m)
    x = add(scale(turns, (A[2], A[4], A[5])), scale(slides, (B[2], B[5], B[8])))
    y = add(scale(turns, (B[6], B[7], B[8])), scale(slides, (C[2], C[4], C[5])))
    dinv = _divisor(turns * x[2] + slides * y[2] + (1.0 - turns - slides), i, additions, lanes)
    vstore3(row, at.U, x)
    vstore3(row, at.U + 3, y)
    store(row, at.DINV, dinv)
    A, B, C = less_rank_one(A, B, C, x, y, dinv)
    R, p = vload9(row, at.R, lanes), vload3(row, at.P, lanes)
    return inertia_to_parent(R, p, A, B, C)


@inline
def _carry(row, c, chunk, lanes):
    """Φ (1 − S Uᵀ/D) X and Y + (Φ S)(Φ S)ᵀ/D."""
    turns, slides, d = load(c, at.TURNS, lanes), load(c, at.SLIDES, lanes), load(row, at.DINV, lanes)
    R, p = vload9(row, at.R, lanes), vload3(row, at.P, lanes)
    Ux, Uy = vload3(row, at.U, lanes), vload3(row, at.U + 3, lanes)
    for r in range(6):
        x, y = vload3(chunk, at.PHI + 6 * r, lanes), vload3(chunk, at.PHI + 6 * r + 3, lanes)
        g = turns * x[2] + slides * y[2]
        store(row, at.G + r, g)
        g = g * d
        y = mul(R, sub(y, scale(g, Uy)))
        vstore3(chunk, at.PHI + 6 * r, add(mul(R, sub(x, scale(g, Ux))), cross(p, y)))
        vstore3(chunk, at.PHI + 6 * r + 3, y)
    g = vload6(row, at.G, lanes)
    n = 0
    for r in range(6):
        e = d * g[r]
        for s in range(r, 6):
            store(chunk, at.Y + n, load(chunk, at.Y + n, lanes) + e * g[s])
            n += 1


@kernel
def inertias(constants, w, chunk, lanes, additions):
    """I, Φ and Y, from the far end."""
    L = len(lanes)
    chunk[0 : at.CR * L] = 0.0
    for r in range(6):
        for k in range(L):
            chunk[(at.PHI + 7 * r) * L + k] = 1.0
    I = (vload6(chunk, at.I, lanes), vload9(chunk, at.I + 6, lanes), vload6(chunk, at.I + 15, lanes))
    for i in range(w.shape[0] - 1, -1, -1):
        I = _inertia(w[i], constants[i], I, lanes, i, additions)
        _carry(w[i], constants[i], chunk, lanes)
    vstore6(chunk, at.I, I[0])
    vstore9(chunk, at.I + 6, I[1])
    vstore6(chunk, at.I + 15, I[2])


@inline
def _force(row, c, n, f, lanes, i, additions):
    """Xᵀ (p + U u/D) of a link, from what the link behind it hands on; and u/D, kept for later."""
    n, f = add(n, vload3(row, at.B, lanes)), add(f, vload3(row, at.B + 3, lanes))
    u = load(row, at.UD, lanes) - load(c, at.TURNS, lanes) * n[2] - load(c, at.SLIDES, lanes) * f[2]
    ud = _quotient(u, load(row, at.DINV, lanes), i, additions, lanes)
    store(row, at.UD, ud)
    n, f = add(n, scale(ud, vload3(row, at.U, lanes))), add(f, scale(ud, vload3(row, at.U + 3, lanes)))
    R, p = vload9(row, at.R, lanes), vload3(row, at.P, lanes)
    n, f = force_to_parent(R, p, n, f)
    return n, f, ud


@inline
def _less_wrenches(row, links, wrenches, L):
    """The links' own forces less the chain's external wrenches."""
    if wrenches is not None:
        for k in range(L):
            if links[k] >= 0 and wrenches.shape[0] > 0:
                for r in range(6):
                    row[(at.B + r) * L + k] -= wrenches[links[k], r]


@kernel
def bias_forces(constants, links, w, chunk, lanes, wrenches):
    """Each link's own force at the accelerations that velocities give, less external wrenches (n, 6), if any.

    Those accelerations, a' = X a' + ad_V S q̇ with a' = 0 before the chunk, are what all others are relative to.
    """
    L = len(lanes)
    o, v = vload3(chunk, at.V, lanes), vload3(chunk, at.V + 3, lanes)
    do, dv = sub(o, o), sub(o, o)
    for i in range(w.shape[0]):
        row, c = w[i], constants[i]
        R, p = vload9(row, at.R, lanes), vload3(row, at.P, lanes)
        o, v, turn, slide = _velocity(row, c, R, p, o, v, lanes)
        do, dv = motion_to_child(R, p, do, dv)
        do = (do[0] + o[1] * turn, do[1] - o[0] * turn, do[2])
        dv = (dv[0] + v[1] * turn + o[1] * slide, dv[1] - v[0] * turn - o[0] * slide, dv[2])
        J, m, h = (
            full(vload6(c, layout.INERTIA, lanes)),
            load(c, layout.MASS, lanes),
            vload3(c, layout.FIRST_MOMENT, lanes),
        )
        n, f = momentum(m, h, J, o, v)
        dn, df = momentum(m, h, J, do, dv)
        vstore3(row, at.B, add(add(cross(o, n), cross(v, f)), dn))
        vstore3(row, at.B + 3, add(cross(o, f), df))
        _less_wrenches(row, links[i], wrenches, L)
    vstore3(chunk, at.END, do)
    vstore3(chunk, at.END + 3, dv)


@kernel
def forces(constants, links, w, chunk, lanes, tau, additions):
    """p and b, from the far end."""
    L = len(lanes)
    n, f = vload3(chunk, at.FORCE, lanes), vload3(chunk, at.FORCE + 3, lanes)
    b0, b1 = vload3(chunk, at.END, lanes), vload3(chunk, at.END + 3, lanes)
    for i in range(w.shape[0] - 1, -1, -1):
        row = w[i]
        _gather(row, at.UD, links[i], tau, L)
        n, f, ud = _force(row, constants[i], n, f, lanes, i, additions)
        b0, b1 = add(b0, scale(ud, vload3(row, at.G, lanes))), add(b1, scale(ud, vload3(row, at.G + 3, lanes)))
    vstore3(chunk, at.FORCE, n)
    vstore3(chunk, at.FORCE + 3, f)
    vstore3(chunk, at.DRIFT, b0)
    vstore3(chunk, at.DRIFT + 3, b1)


@kernel
def articulate(constants, links, w, chunk, lanes, tau, additions):
    """The ABA's own recursion through each chunk, from I and p of what lies distal to it: U, D and u of every joint."""
    L = len(lanes)
    I = (vload6(chunk, at.I, lanes), vload9(chunk, at.I + 6, lanes), vload6(chunk, at.I + 15, lanes))
    A, B, C = full(I[0]), I[1], full(I[2])
    o, v = vload3(chunk, at.END, lanes), vload3(chunk, at.END + 3, lanes)
    n = add(vload3(chunk, at.FORCE, lanes), add(mul(A, o), mul(B, v)))
    f = add(vload3(chunk, at.FORCE + 3, lanes), add(mul_t(B, o), mul(C, v)))
    for i in range(w.shape[0] - 1, -1, -1):
        row = w[i]
        _gather(row, at.UD, links[i], tau, L)
        I = _inertia(row, constants[i], I, lanes, i, additions)
        n, f, _ = _force(row, constants[i], n, f, lanes, i, additions)


@inline
def _through(row, c, o, v, lanes):
    """(1 − S Uᵀ/D) X of an acceleration; and UᵀX of it, with and without 1/D."""
    R, p = vload9(row, at.R, lanes), vload3(row, at.P, lanes)
    o, v = motion_to_child(R, p, o, v)
    Ua = dot(vload3(row, at.U, lanes), o) + dot(vload3(row, at.U + 3, lanes), v)
    x = Ua * load(row, at.DINV, lanes)
    o = (o[0], o[1], o[2] - load(c, at.TURNS, lanes) * x)
    return o, (v[0], v[1], v[2] - load(c, at.SLIDES, lanes) * x), x, Ua


@kernel
def maps(constants, w, chunk, lanes):
    """What becomes of an acceleration from before each chunk to its end: an affine map, column by column."""
    L = len(lanes)
    chunk[at.PHI * L : at.Y * L] = 0.0
    for r in range(6):
        for k in range(L):
            chunk[(at.PHI + 7 * r) * L + k] = 1.0
    o, v = vload3(chunk, at.END, lanes), vload3(chunk, at.END + 3, lanes)
    o, v = sub(o, o), sub(v, v)
    for i in range(w.shape[0]):
        row, c = w[i], constants[i]
        for r in range(0, 36, 6):
            x, y = vload3(chunk, at.PHI + r, lanes), vload3(chunk, at.PHI + r + 3, lanes)
            x, y, _, _ = _through(row, c, x, y, lanes)
            vstore3(chunk, at.PHI + r, x)
            vstore3(chunk, at.PHI + r + 3, y)
        o, v, _, _ = _through(row, c, o, v, lanes)
        ud = load(row, at.UD, lanes)
        o = (o[0], o[1], o[2] + load(c, at.TURNS, lanes) * ud)
        v = (v[0], v[1], v[2] + load(c, at.SLIDES, lanes) * ud)
    vstore3(chunk, at.DRIFT, add(o, vload3(chunk, at.END, lanes)))
    vstore3(chunk, at.DRIFT + 3, add(v, vload3(chunk, at.END + 3, lanes)))


@inline
def _react(links, i, additions, Ua, qdd, lanes, reaction):
    """What the locks exert, UᵀX a + D q̈ − u, into the chain's `reaction`; around 0 where there is none."""
    if additions is not None:
        L, row = len(lanes), additions[i]
        store(row, at.REACTION, Ua + load(row, at.D, lanes) * qdd - load(row, at.REACTION, lanes))
        for k in range(L):
            if links[i, k] >= 0:
                reaction[links[i, k]] = row[at.REACTION * L + k]


@kernel
def accelerations(constants, links, w, chunk, lanes, out, additions, reaction):
    """q̈ into the chain's `out`, from the accelerations before the chunks; answers whether every number is finite.

    With additions, what the locks exert goes into its `reaction`.
    """
    L = len(lanes)
    finite = True
    o, v = vload3(chunk, at.A, lanes), vload3(chunk, at.A + 3, lanes)
    for i in range(w.shape[0]):
        row, c = w[i], constants[i]
        o, v, x, Ua = _through(row, c, o, v, lanes)
        ud = load(row, at.UD, lanes)
        store(row, at.QD, ud - x)
        _react(links, i, additions, Ua, ud - x, lanes, reaction)
        o = (o[0], o[1], o[2] + load(c, at.TURNS, lanes) * ud)
        v = (v[0], v[1], v[2] + load(c, at.SLIDES, lanes) * ud)
        for k in range(L):
            j, y = links[i, k], row[at.QD * L + k]
            finite &= np.isfinite(y)
            if j >= 0:
                out[j] = y
    return finite
