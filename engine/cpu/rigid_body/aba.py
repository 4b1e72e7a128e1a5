"""ABIA: forward dynamics by articulated-body inertias (Featherstone 1983), any tree, O(n).

The recursion of [Y] section II.C in its scalar form. Three passes: kinematics from the base, articulated inertias ``I``
and biases ``p`` from the tips, accelerations from the base:

    U = I S,  D = SᵀU,  u = τ − Sᵀp
    I_parent += Xᵀ (I − U Uᵀ/D) X,   p_parent += Xᵀ (p + (I − U Uᵀ/D) c + U u/D)
    a' = X a_parent + c,  q̈ = (u − Uᵀa')/D,  a = a' + S q̈

Two additions serve simulation. ``E`` is added to D: an inertia or an implicit damping on the joint's axis. A locked
joint has a prescribed acceleration: with 0 for 1/D and the acceleration for u/D, the same lines give the hybrid
dynamics (Featherstone 2008, section 9.2).

A ball joint is three joints in one body, about its axes x, y and z: from the tips each, z first, subtracts its UUᵀ/D
from what the one before left, from the base each adds its q̈. That is Gaussian elimination of its 3×3 ``SᵀIS + E``, and
each axis can be locked alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from engine.compile import compiled_apart, inline, kernel, specialise
from engine.cpu.rigid_body import tree_passes
from engine.cpu.rigid_body import workspace as at
from engine.kernels.bodies import AXIS
from engine.kernels.robot import KIND, PARENT
from engine.kernels.spatial import (
    add,
    dot,
    full,
    inertia_to_parent,
    load3,
    load6,
    load9,
    minus_rank_one,
    mul,
    plus,
    scale,
    solve6,
    store3,
    store6,
    store9,
    sub,
    transform_force,
    transpose,
)
from engine.kernels.status import FITS, NOT_FINITE, WRONG_SHAPE
from engine.model import FREE, REVOLUTE, SPHERICAL
from engine.model.layout import Packed


@inline
def _clear(row, place, width, L):
    """Set `width` numbers of every lane to zero, from `place` on."""
    for k in range(width * L):
        row[place * L + k] = 0.0


@inline
def _free(row, L):
    """A free joint: a = I⁻¹(τ − p), independent of its parent, which receives τ alone."""
    for k in range(L):
        A, B, C = load6(row, at.I * L + k, L), load9(row, at.I_B * L + k, L), load6(row, at.I_C * L + k, L)
        n = sub(load3(row, at.U * L + k, L), load3(row, at.BIAS * L + k, L))
        f = sub(load3(row, (at.U + 3) * L + k, L), load3(row, (at.BIAS + 3) * L + k, L))
        o, v = solve6(A, B, C, n, f)
        R, p = load9(row, at.R * L + k, L), load3(row, at.P * L + k, L)
        n, f = transform_force(R, p, load3(row, at.U * L + k, L), load3(row, (at.U + 3) * L + k, L))
        store3(row, n, at.BIAS * L + k, L)
        store3(row, f, (at.BIAS + 3) * L + k, L)
        store3(row, o, at.ACC * L + k, L)
        store3(row, v, (at.ACC + 3) * L + k, L)


@inline
def _joint(row, L, revolute):
    """Compute U, D and u of a joint, and its divisor."""
    if revolute:
        for k in range(L):
            A, B = load6(row, at.I * L + k, L), load3(row, (at.I_B + 6) * L + k, L)
            store6(row, (A[2], A[4], A[5], B[0], B[1], B[2]), at.U * L + k, L)
            row[at.D * L + k] = A[5] + row[at.E * L + k]
            row[at.TAU * L + k] -= row[(at.BIAS + 2) * L + k]
    else:
        for k in range(L):
            B, C = load9(row, at.I_B * L + k, L), load6(row, at.I_C * L + k, L)
            store6(row, (B[2], B[5], B[8], C[2], C[4], C[5]), at.U * L + k, L)
            row[at.D * L + k] = C[5] + row[at.E * L + k]
            row[at.TAU * L + k] -= row[(at.BIAS + 5) * L + k]
    for k in range(L):
        locked, inverse = row[at.LOCK * L + k] != 0.0, 1.0 / row[at.D * L + k]
        row[at.DINV * L + k] = 0.0 if locked else inverse
        row[at.UD * L + k] = row[at.TARGET * L + k] if locked else row[at.TAU * L + k] * inverse


@inline
def _to_parent(row, L):
    """Replace I and p by Xᵀ (I − U Uᵀ/D) X and Xᵀ (p + (I − U Uᵀ/D) c + U u/D)."""
    for k in range(L):
        A, B, C = load6(row, at.I * L + k, L), load9(row, at.I_B * L + k, L), load6(row, at.I_C * L + k, L)
        x, y = load3(row, at.U * L + k, L), load3(row, (at.U + 3) * L + k, L)
        A, B, C = minus_rank_one(A, B, C, x, y, row[at.DINV * L + k])
        o, v, ud = load3(row, at.VXS * L + k, L), load3(row, (at.VXS + 3) * L + k, L), row[at.UD * L + k]
        n = add(add(load3(row, at.BIAS * L + k, L), scale(ud, x)), add(mul(full(A), o), mul(B, v)))
        f = add(add(load3(row, (at.BIAS + 3) * L + k, L), scale(ud, y)), add(mul(transpose(B), o), mul(full(C), v)))
        R, p = load9(row, at.R * L + k, L), load3(row, at.P * L + k, L)
        A, B, C = inertia_to_parent(R, p, A, B, C)
        n, f = transform_force(R, p, n, f)
        store6(row, A, at.I * L + k, L)
        store9(row, B, at.I_B * L + k, L)
        store6(row, C, at.I_C * L + k, L)
        store6(row, (n[0], n[1], n[2], f[0], f[1], f[2]), at.BIAS * L + k, L)


@inline
def _ball_axis(row, L, k, axis, A, B, C, n, f):
    """Eliminate one axis of a ball joint from inertia and bias; store its U, D and u."""
    x = ((A[0], A[1], A[2]), (A[1], A[3], A[4]), (A[2], A[4], A[5]))[axis]
    y = ((B[0], B[1], B[2]), (B[3], B[4], B[5]), (B[6], B[7], B[8]))[axis]
    D, u = x[axis] + row[(at.BALL_E + axis) * L + k], row[(at.BALL_TAU + axis) * L + k] - n[axis]
    store6(row, (x[0], x[1], x[2], y[0], y[1], y[2]), (at.BALL_U + 6 * axis) * L + k, L)
    row[(at.BALL_D + axis) * L + k] = D
    row[(at.BALL_TAU + axis) * L + k] = u
    locked, inverse = row[(at.BALL_LOCK + axis) * L + k] != 0.0, 1.0 / D
    ud = row[(at.BALL_TARGET + axis) * L + k] if locked else u * inverse
    A, B, C = minus_rank_one(A, B, C, x, y, 0.0 if locked else inverse)
    return A, B, C, add(n, scale(ud, x)), add(f, scale(ud, y))


@inline
def _ball(w, i, parent, L):
    """Eliminate the three axes of a ball joint, and add its inertia and bias, including I c, to its parent's."""
    row = w[i]
    for k in range(L):
        A, B, C = load6(row, at.I * L + k, L), load9(row, at.I_B * L + k, L), load6(row, at.I_C * L + k, L)
        n, f = load3(row, at.BIAS * L + k, L), load3(row, (at.BIAS + 3) * L + k, L)
        A, B, C, n, f = _ball_axis(row, L, k, 2, A, B, C, n, f)
        A, B, C, n, f = _ball_axis(row, L, k, 1, A, B, C, n, f)
        A, B, C, n, f = _ball_axis(row, L, k, 0, A, B, C, n, f)
        if parent >= 0:
            o, v = load3(row, at.VXS * L + k, L), load3(row, (at.VXS + 3) * L + k, L)
            n = add(n, add(mul(full(A), o), mul(B, v)))
            f = add(f, add(mul(transpose(B), o), mul(full(C), v)))
            R, p = load9(row, at.R * L + k, L), load3(row, at.P * L + k, L)
            A, B, C = inertia_to_parent(R, p, A, B, C)
            n, f = transform_force(R, p, n, f)
            below = w[parent]
            store6(below, plus(load6(below, at.I * L + k, L), A), at.I * L + k, L)
            a, b = load6(below, at.I_B * L + k, L), load3(below, (at.I_B + 6) * L + k, L)
            store6(below, plus(a, (B[0], B[1], B[2], B[3], B[4], B[5])), at.I_B * L + k, L)
            store3(below, add(b, (B[6], B[7], B[8])), (at.I_B + 6) * L + k, L)
            store6(below, plus(load6(below, at.I_C * L + k, L), C), at.I_C * L + k, L)
            store3(below, add(load3(below, at.BIAS * L + k, L), n), at.BIAS * L + k, L)
            store3(below, add(load3(below, (at.BIAS + 3) * L + k, L), f), (at.BIAS + 3) * L + k, L)


@compiled_apart
def inertia_recursion(topology, w, lanes):
    """Compute articulated inertias and biases, from the tips to the base."""
    L = len(lanes)
    for i in range(topology.shape[0] - 1, -1, -1):
        row, parent, kind = w[i], topology[i, PARENT], topology[i, KIND]
        if kind == SPHERICAL:
            _ball(w, i, parent, L)
            continue
        if kind == FREE:
            _free(row, L)
            for k in range(21 * L):
                row[at.I * L + k] = 0.0
        else:
            _joint(row, L, kind == REVOLUTE)
            if parent >= 0:
                _to_parent(row, L)
        if parent >= 0:
            below = w[parent]
            for k in range(27 * L):
                below[at.I * L + k] += row[at.I * L + k]


@inline
def _ball_axis_acceleration(row, L, k, axis, o, v):
    """Compute q̈ and the reaction of one axis of a ball joint; (o, v) is a' plus the q̈ of the axes before it."""
    U, D = (at.BALL_U + 6 * axis) * L + k, row[(at.BALL_D + axis) * L + k]
    Ua, u = dot(load3(row, U, L), o) + dot(load3(row, U + 3 * L, L), v), row[(at.BALL_TAU + axis) * L + k]
    locked, target = row[(at.BALL_LOCK + axis) * L + k] != 0.0, row[(at.BALL_TARGET + axis) * L + k]
    acceleration = target if locked else (u - Ua) / D
    row[(at.BALL_QDD + axis) * L + k] = acceleration
    row[(at.BALL_TARGET + axis) * L + k] = Ua + D * acceleration - u
    return acceleration


@inline
def _ball_accelerations(row, L):
    for k in range(L):
        o = add(load3(row, at.ACC * L + k, L), load3(row, at.VXS * L + k, L))
        v = add(load3(row, (at.ACC + 3) * L + k, L), load3(row, (at.VXS + 3) * L + k, L))
        o = o[0] + _ball_axis_acceleration(row, L, k, 0, o, v), o[1], o[2]
        o = o[0], o[1] + _ball_axis_acceleration(row, L, k, 1, o, v), o[2]
        o = o[0], o[1], o[2] + _ball_axis_acceleration(row, L, k, 2, o, v)
        store6(row, (o[0], o[1], o[2], v[0], v[1], v[2]), at.ACC * L + k, L)


@kernel
def accelerations(topology, w, lanes, gravity):
    """Compute q̈ and the locks' reactions, from the base to the tips."""
    L = len(lanes)
    for i in range(topology.shape[0]):
        row, kind = w[i], topology[i, KIND]
        if kind == FREE:
            for k in range(6 * L):
                row[at.U * L + k] = row[at.ACC * L + k]
            tree_passes.base_accelerations(topology, w, lanes, gravity, i)
            for k in range(6 * L):
                body = row[at.U * L + k]
                row[at.U * L + k] = body - row[at.ACC * L + k] - row[at.VXS * L + k]
                row[at.ACC * L + k] = body
            continue
        tree_passes.base_accelerations(topology, w, lanes, gravity, i)
        if kind == SPHERICAL:
            _ball_accelerations(row, L)
            continue
        axis = AXIS[kind]
        for k in range(L):
            o = add(load3(row, at.ACC * L + k, L), load3(row, at.VXS * L + k, L))
            v = add(load3(row, (at.ACC + 3) * L + k, L), load3(row, (at.VXS + 3) * L + k, L))
            Ua = dot(load3(row, at.U * L + k, L), o) + dot(load3(row, (at.U + 3) * L + k, L), v)
            acceleration = row[at.UD * L + k] - Ua * row[at.DINV * L + k]
            store6(row, (o[0], o[1], o[2], v[0], v[1], v[2]), at.ACC * L + k, L)
            row[at.QDD * L + k] = acceleration
            row[at.REACTION * L + k] = Ua + row[at.D * L + k] * acceleration - row[at.TAU * L + k]
        for k in range(L):
            row[(at.ACC + axis) * L + k] += row[at.QDD * L + k]


@kernel
def factor(topology, constants, w, lanes):
    """Compute U and D of every joint for `solve`, at the poses in w; free bodies keep their inertia I."""
    L = len(lanes)
    tree_passes.rigid_inertias(topology, constants, w, lanes)
    for i in range(topology.shape[0]):
        row = w[i]
        _clear(row, at.VXS, 6, L)
        _clear(row, at.BIAS, 6, L)
    for i in range(topology.shape[0] - 1, -1, -1):
        row, parent, kind = w[i], topology[i, PARENT], topology[i, KIND]
        if kind == FREE:
            continue
        if kind == SPHERICAL:
            _ball(w, i, parent, L)
            continue
        _joint(row, L, kind == REVOLUTE)
        if parent >= 0:
            _to_parent(row, L)
            below = w[parent]
            for k in range(21 * L):
                below[at.I * L + k] += row[at.I * L + k]


@inline
def _right_side(row, L, axis):
    """Compute u and u/D of a joint with a known D, and replace p by p + U u/D."""
    for k in range(L):
        row[at.TAU * L + k] -= row[(at.BIAS + axis) * L + k]
        row[at.UD * L + k] = row[at.TAU * L + k] * row[at.DINV * L + k]
        ud, x, y = row[at.UD * L + k], load3(row, at.U * L + k, L), load3(row, (at.U + 3) * L + k, L)
        store3(row, add(load3(row, at.BIAS * L + k, L), scale(ud, x)), at.BIAS * L + k, L)
        store3(row, add(load3(row, (at.BIAS + 3) * L + k, L), scale(ud, y)), (at.BIAS + 3) * L + k, L)


@inline
def _ball_axis_right_side(row, L, k, axis, n, f):
    """Compute u and u/D of one axis of a ball joint with a known D, and p + U u/D."""
    u, U = row[(at.BALL_TAU + axis) * L + k] - n[axis], (at.BALL_U + 6 * axis) * L + k
    row[(at.BALL_TAU + axis) * L + k] = u
    ud = u * (1.0 / row[(at.BALL_D + axis) * L + k])
    return add(n, scale(ud, load3(row, U, L))), add(f, scale(ud, load3(row, U + 3 * L, L)))


@inline
def _ball_right_side(row, L):
    for k in range(L):
        n, f = load3(row, at.BIAS * L + k, L), load3(row, (at.BIAS + 3) * L + k, L)
        n, f = _ball_axis_right_side(row, L, k, 2, n, f)
        n, f = _ball_axis_right_side(row, L, k, 1, n, f)
        n, f = _ball_axis_right_side(row, L, k, 0, n, f)
        store6(row, (n[0], n[1], n[2], f[0], f[1], f[2]), at.BIAS * L + k, L)


@kernel
def solve(topology, w, lanes, weightless):
    """Compute q̈ = M⁻¹ (τ − Σ Jᵢᵀ pᵢ) after `factor`, for any number of right-hand sides; overwrites p in BIAS.

    τ is at OF_TAU, q̈ then at OF_QDD. No joint is locked; `weightless` are three zeros.
    """
    L = len(lanes)
    for i in range(topology.shape[0] - 1, -1, -1):
        row, parent, kind = w[i], topology[i, PARENT], topology[i, KIND]
        if kind == FREE:
            _free(row, L)
        elif kind == SPHERICAL:
            _ball_right_side(row, L)
        else:
            _right_side(row, L, AXIS[kind])
        if parent >= 0:
            below = w[parent]
            for k in range(L):
                n, f = load3(row, at.BIAS * L + k, L), load3(row, (at.BIAS + 3) * L + k, L)
                if kind != FREE:
                    n, f = transform_force(load9(row, at.R * L + k, L), load3(row, at.P * L + k, L), n, f)
                store3(below, add(load3(below, at.BIAS * L + k, L), n), at.BIAS * L + k, L)
                store3(below, add(load3(below, (at.BIAS + 3) * L + k, L), f), (at.BIAS + 3) * L + k, L)
    accelerations(topology, w, lanes, weightless)


@kernel
def inverse_mass_matrix(q, identity, weightless, out, topology, constants, w, lanes):
    """Compute M⁻¹ into `out` (batch, tree_nv, tree_nv) at q (batch, tree_nq); return whether every number is finite.

    The lanes are right-hand sides of one robot: rows of `identity` (tree_nv, tree_nv).
    """
    L, finite = len(lanes), True
    for b in range(q.shape[0]):
        tree_passes.scatter_q(q[b : b + 1], 0, topology, constants, w, lanes)
        tree_passes.poses(topology, constants, w, lanes)
        factor(topology, constants, w, lanes)
        for start in range(0, identity.shape[0], L):
            tree_passes.scatter_v(identity, start, topology, w, lanes, at.OF_TAU)
            for i in range(topology.shape[0]):
                _clear(w[i], at.BIAS, 6, L)
            solve(topology, w, lanes, weightless)
            finite &= tree_passes.gather_v(out[b], start, topology, w, lanes, at.OF_QDD)
    return finite


@kernel
def forward(topology, constants, w, lanes, q, v, tau, out):
    """Compute q̈ into `out` (batch, nv) from q (batch, nq), v and τ (batch, nv).

    Returns FITS, WRONG_SHAPE or NOT_FINITE. In the workspace `w` no joint was ever locked and no inertia added.
    """
    if not tree_passes.shapes_fit(topology, q, v, tau, out):
        return WRONG_SHAPE
    finite = True
    for start in range(0, q.shape[0], len(lanes)):
        tree_passes.scatter_q(q, start, topology, constants, w, lanes)
        tree_passes.scatter_v(v, start, topology, w, lanes, at.OF_QD)
        tree_passes.scatter_v(tau, start, topology, w, lanes, at.OF_TAU)
        tree_passes.poses(topology, constants, w, lanes)
        tree_passes.velocities(topology, w, lanes)
        tree_passes.bias_forces(topology, constants, w, lanes)
        tree_passes.rigid_inertias(topology, constants, w, lanes)
        inertia_recursion(topology, w, lanes)
        accelerations(topology, w, lanes, constants[topology.shape[0]])
        finite &= tree_passes.gather_v(out, start, topology, w, lanes, at.OF_QDD)
    return FITS if finite else NOT_FINITE


@kernel
def forward_one(topology, constants, w, q, v, tau, out):
    """`forward` of one robot, with vectors as its state."""
    one_q, one_v, one_tau, one = (
        np.expand_dims(q, 0), np.expand_dims(v, 0), np.expand_dims(tau, 0), np.expand_dims(out, 0),
    )  # fmt: skip
    return forward(topology, constants, w, at.ONE, one_q, one_v, one_tau, one)


def for_one(packed: Packed) -> Callable[..., int]:
    """Return forward dynamics of one robot: vectors q, v, τ and q̈ of the model's number type, else NotImplemented."""
    w = at.workspace(len(packed.topology), at.ONE, packed.constants.dtype.name)
    example = (np.zeros(1, packed.constants.dtype),) * 4
    return partial(specialise(forward_one, *packed, w, *example), *packed, w)
