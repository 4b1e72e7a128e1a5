"""The sequential passes of `dca` over the nodes of a tree: single rows, and chunks as wholes, see `group`.

Between nodes, accelerations are whole; within a row or a chunk they are relative to those that velocities cause. For a
chunk and the bodies distal to it, with a the acceleration before the chunk and (I₂, p₂) the distal share,

    a_m = (1 + Y I₂)⁻¹ (Φ a + b − Y p₂) = Z a + z,   I = I₁ + Φᵀ I₂ Z,   p = p₁ + Φᵀ (p₂ + I₂ z).
"""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.compile.vectors import load, store
from engine.cpu.rigid_body.workspace import EIGHT, ONE
from engine.cpu.trees import group as slot
from engine.cpu.trees import row_passes as row_of
from engine.kernels.spatial import add, full, load3, load6, load9, mul, mul_t, store3, transform_motion

_ROWS_OF_Y = (
    (0, 1, 2, 3, 4, 5),
    (1, 6, 7, 8, 9, 10),
    (2, 7, 11, 12, 13, 14),
    (3, 8, 12, 15, 16, 17),
    (4, 9, 13, 16, 18, 19),
    (5, 10, 14, 17, 19, 20),
)
"""The places of a row's entries in the upper triangle by rows."""


@inline
def _copy(source, at_source, target_acceleration, at_target, count):
    for f in range(count):
        target_acceleration[at_target + f] = source[at_source + f]


@inline
def _to_ports(group, i, place, value, at_value, count):
    """Store numbers in all ports of node i."""
    for k in range(group.node_first[i], group.node_first[i + 1]):
        _copy(value, at_value, group.ports[group.node_ports[k]], place, count)


@kernel
def velocities(group, q, v, wrenches):
    """Compute the motion of every node's last row, and before every chunk; own forces as in `block_passes`."""
    w, constants, ports, base = group.node_w, group.node_constants, group.ports, group.nodes.shape[0] - 1
    count = 0
    for i in range(base):
        if group.nodes[i, 0] == 0:
            row_of.pose(w[count], constants[count], group.node_q[count], ONE, q)
            count += 1
    blocks = group.bounds.shape[0]
    for j in range(group.joint_first[blocks], group.joint_first[blocks + 1]):
        joint = group.joints[j]
        row_of.joint_of_several_rows(w, joint[0], 0, 1, constants, q[joint[2] :], v[joint[3] :], joint[4])
    for i in range(base):
        which, k, before = group.nodes[i, 0], group.nodes[i, 1], group.values[group.nodes[i, 2]]
        own, o, u = group.values[i], load3(before, slot.MOTION), load3(before, slot.MOTION + 3)
        if which == 0:
            none = (0.0, 0.0, 0.0)
            o, u, do, du = row_of.velocity(w[k], constants[k], (o, u, none, none), group.node_v[k], ONE, v)
            store3(own, do, slot.MOTION + 6)
            store3(own, du, slot.MOTION + 9)
            if wrenches.shape[0] > 0:
                row_of.less_wrenches(w[k], group.node_body[k], wrenches, 1)
        else:
            chunk = group.chunk[k]
            store3(ports[k], o, slot.MOTION)
            store3(ports[k], u, slot.MOTION + 3)
            o, u = transform_motion(load9(chunk, slot.CR), load3(chunk, slot.CP), o, u)
            o, u = add(o, load3(chunk, slot.CV)), add(u, load3(chunk, slot.CV + 3))
        store3(own, o, slot.MOTION)
        store3(own, u, slot.MOTION + 3)
        _to_ports(group, i, slot.MOTION, own, slot.MOTION, 12)


@inline
def _share_at(row, place):
    A, B, C = load6(row, place), load9(row, place + 6), load6(row, place + 15)
    return A, B, C, load3(row, place + 21), load3(row, place + 24)


@inline
def _add_share(row, share):
    A, B, C, f0, f1 = share
    n = slot.SHARE_SUM
    _add6(row, n, A)
    _add6(row, n + 6, (B[0], B[1], B[2], B[3], B[4], B[5]))
    _add3(row, n + 12, (B[6], B[7], B[8]))
    _add6(row, n + 15, C)
    _add3(row, n + 21, f0)
    _add3(row, n + 24, f1)


@inline
def _add3(row, place, x):
    row[place], row[place + 1], row[place + 2] = row[place] + x[0], row[place + 1] + x[1], row[place + 2] + x[2]


@inline
def _add6(row, place, x):
    _add3(row, place, (x[0], x[1], x[2]))
    _add3(row, place + 3, (x[3], x[4], x[5]))


@inline
def _with_force(share, o, v):
    """A share with the force of its inertia at an acceleration added."""
    A, B, C, n, f = share
    n, f = add(n, add(mul(full(A), o), mul(B, v))), add(f, add(mul_t(B, o), mul(full(C), v)))
    return A, B, C, n, f


@kernel
def inertias(group, acting, added):
    """Compute the share of all bodies distal to every node, from the tips to the base."""
    base = group.nodes.shape[0] - 1
    for i in range(base + 1):
        for f in range(slot.SHARE):
            group.values[i, slot.SHARE_SUM + f] = 0.0
    for i in range(base - 1, -1, -1):
        which, k, before = group.nodes[i, 0], group.nodes[i, 1], group.values[group.nodes[i, 2]]
        own = group.values[i]
        if which == 0:
            o, v = load3(own, slot.MOTION + 6), load3(own, slot.MOTION + 9)
            _keep_share(own, _with_force(_share_at(own, slot.SHARE_SUM), o, v))
            for p in range(group.node_first[i], group.node_first[i + 1]):
                port = group.ports[group.node_ports[p]]
                for f in range(slot.SHARE):
                    own[slot.SHARE_SUM + f] += port[slot.SHARE_SUM + f]
            share_sum = _share_at(own, slot.SHARE_SUM)
            row, c = group.node_w[k], group.node_constants[k]
            _add_share(before, row_of.absorb(row, c, share_sum, group.node_v[k], ONE, acting, added))
        else:
            chunk = group.chunk[k]
            _join(chunk, own, before, group.scratch)
            o, v = load3(chunk, slot.END), load3(chunk, slot.END + 3)
            _keep_share(own, _with_force(_share_at(own, slot.SHARE_SUM), o, v))
            _copy(own, slot.SHARE_SUM, chunk, slot.DISTAL, slot.SHARE)


@inline
def _keep_share(row, share):
    for f in range(slot.SHARE):
        row[slot.SHARE_SUM + f] = 0.0
    _add_share(row, share)


@inline
def _solve(M):
    """Reduce rows [A | B] of eight numbers each to [1 | A⁻¹B], by Gauss-Jordan elimination with row pivots."""
    for c in range(6):
        pivot = c
        for r in range(c + 1, 6):
            if abs(M[r, c]) > abs(M[pivot, c]):
                pivot = r
        inverse = 1.0 / M[pivot, c]
        for part in range(2):
            x, y = load(M[pivot], part, EIGHT), load(M[c], part, EIGHT)
            store(M[pivot], part, y)
            store(M[c], part, x * inverse)
        for r in range(6):
            if r != c:
                factor = M[r, c]
                for part in range(2):
                    store(M[r], part, load(M[r], part, EIGHT) - load(M[c], part, EIGHT) * factor)


@inline
def _expand(M, r, A, B, C, n, f):
    """Write [A B n; Bᵀ C f; …] as six rows of eight, from row r on."""
    A, C = full(A), full(C)
    for s in range(6):
        M[r + s, 7] = 0.0
    store3(M[r], (A[0], A[1], A[2]))
    store3(M[r + 1], (A[3], A[4], A[5]))
    store3(M[r + 2], (A[6], A[7], A[8]))
    store3(M[r], (B[0], B[1], B[2]), 3)
    store3(M[r + 1], (B[3], B[4], B[5]), 3)
    store3(M[r + 2], (B[6], B[7], B[8]), 3)
    store3(M[r + 3], (B[0], B[3], B[6]))
    store3(M[r + 4], (B[1], B[4], B[7]))
    store3(M[r + 5], (B[2], B[5], B[8]))
    store3(M[r + 3], (C[0], C[1], C[2]), 3)
    store3(M[r + 4], (C[3], C[4], C[5]), 3)
    store3(M[r + 5], (C[6], C[7], C[8]), 3)
    M[r, 6], M[r + 1, 6], M[r + 2, 6] = n[0], n[1], n[2]
    M[r + 3, 6], M[r + 4, 6], M[r + 5, 6] = f[0], f[1], f[2]


@inline
def _times_distal(M, chunk, r, places):
    """Row r of Y [I₂ | p₂], from rows 6 to 11."""
    x = load(M[6], 0, EIGHT) * chunk[slot.Y + places[0]] + load(M[7], 0, EIGHT) * chunk[slot.Y + places[1]]
    x = x + load(M[8], 0, EIGHT) * chunk[slot.Y + places[2]] + load(M[9], 0, EIGHT) * chunk[slot.Y + places[3]]
    x = x + load(M[10], 0, EIGHT) * chunk[slot.Y + places[4]] + load(M[11], 0, EIGHT) * chunk[slot.Y + places[5]]
    store(M[r], 0, x)
    M[r, 14] -= M[r, 6]
    M[r, r] += 1.0


@inline
def _half(M, r, s):
    return 0.5 * (M[r, s] + M[s, r])


@inline
def _symmetric(M):
    """The symmetrised share in the first six rows of seven."""
    A = M[0, 0], _half(M, 0, 1), _half(M, 0, 2), M[1, 1], _half(M, 1, 2), M[2, 2]
    C = M[3, 3], _half(M, 3, 4), _half(M, 3, 5), M[4, 4], _half(M, 4, 5), M[5, 5]
    x, y, z = _half(M, 0, 3), _half(M, 0, 4), _half(M, 0, 5)
    u, v, w = _half(M, 1, 3), _half(M, 1, 4), _half(M, 1, 5)
    B = x, y, z, u, v, w, _half(M, 2, 3), _half(M, 2, 4), _half(M, 2, 5)
    return A, B, C, (M[0, 6], M[1, 6], M[2, 6]), (M[3, 6], M[4, 6], M[5, 6])


@kernel
def _join(chunk, distal, before, M):
    """Join a chunk with the share distal to it, and add the result to the node before. M (12, 16) is a work array."""
    A, B, C, n, f = _share_at(distal, slot.SHARE_SUM)
    _expand(M, 6, A, B, C, n, f)
    for r in range(6):
        for s in range(6):
            M[r, 8 + s] = chunk[slot.PHI + 6 * r + s]
        M[r, 14], M[r, 15] = chunk[slot.DRIFT + r], 0.0
    _times_distal(M, chunk, 0, _ROWS_OF_Y[0])
    _times_distal(M, chunk, 1, _ROWS_OF_Y[1])
    _times_distal(M, chunk, 2, _ROWS_OF_Y[2])
    _times_distal(M, chunk, 3, _ROWS_OF_Y[3])
    _times_distal(M, chunk, 4, _ROWS_OF_Y[4])
    _times_distal(M, chunk, 5, _ROWS_OF_Y[5])
    _solve(M)
    for r in range(6):
        x = load(M[0], 1, EIGHT) * M[6 + r, 0]
        for s in range(1, 6):
            x = x + load(M[s], 1, EIGHT) * M[6 + r, s]
        store(M[6 + r], 1, x)
        M[6 + r, 14] += M[6 + r, 6]
    for r in range(6):
        x = load(M[6], 1, EIGHT) * chunk[slot.PHI + r]
        for s in range(1, 6):
            x = x + load(M[6 + s], 1, EIGHT) * chunk[slot.PHI + 6 * s + r]
        store(M[r], 0, x)
    _add_share(before, _symmetric(M))
    _add_share(before, _share_at(chunk, slot.I))


@kernel
def accelerations(group, acting, gravity, added):
    """Compute the acceleration of every node's last row and before every chunk, and q̈; return whether all are
    finite."""
    base, finite = group.nodes.shape[0] - 1, True
    ground = group.values[base]
    store3(ground, (0.0, 0.0, 0.0), slot.A)
    store3(ground, (-gravity[0], -gravity[1], -gravity[2]), slot.A + 3)
    _to_ports(group, base, slot.A, ground, slot.A, 6)
    for i in range(base):
        which, k, before = group.nodes[i, 0], group.nodes[i, 1], group.values[group.nodes[i, 2]]
        own, o, v = group.values[i], load3(before, slot.A), load3(before, slot.A + 3)
        if which == 0:
            row, c, j = group.node_w[k], group.node_constants[k], group.node_v[k, 0]
            o, v, qdd, reaction = row_of.accelerated(row, c, o, v, ONE, added)
            acting.qdd[j] = qdd
            finite &= np.isfinite(qdd)
            if added != "":
                acting.reaction[j] = reaction
            store3(own, o, slot.A)
            store3(own, v, slot.A + 3)
            _to_ports(group, i, slot.A, own, slot.A, 6)
            o, v = add(o, load3(own, slot.MOTION + 6)), add(v, load3(own, slot.MOTION + 9))
            store3(own, o, slot.A)
            store3(own, v, slot.A + 3)
        else:
            chunk = group.chunk[k]
            store3(group.ports[k], o, slot.A)
            store3(group.ports[k], v, slot.A + 3)
            for r in range(6):
                y = chunk[slot.SHIFT + r] + chunk[slot.MAP + r] * o[0] + chunk[slot.MAP + 6 + r] * o[1]
                y += chunk[slot.MAP + 12 + r] * o[2] + chunk[slot.MAP + 18 + r] * v[0]
                own[slot.A + r] = y + chunk[slot.MAP + 24 + r] * v[1] + chunk[slot.MAP + 30 + r] * v[2]
    return finite
