"""ABIA: forward dynamics by articulated-body inertias (Featherstone 1983), any tree, O(n).

The recursion of [Y] section II.C in its scalar form. Three passes: kinematics from the base, articulated inertias ``I``
and biases ``p`` from the tips, accelerations from the base:

    U = I S,  D = SᵀU,  u = τ − Sᵀp
    I_parent += Xᵀ (I − U Uᵀ/D) X,   p_parent += Xᵀ (p + (I − U Uᵀ/D) c + U u/D)
    a' = X a_parent + c,  q̈ = (u − Uᵀa')/D,  a = a' + S q̈

Two additions serve simulation. ``added_inertia`` is added to D, for an inertia or an implicit damping on the joint's
axis. A held joint has a target acceleration: with 0 for 1/D and the acceleration for u/D, the same lines give the
hybrid dynamics (Featherstone 2008, section 9.2).

A ball joint is three joints in one body, about its axes x, y and z: from the tips each, z first, subtracts its UUᵀ/D
from what the one before left, from the base each adds its q̈. That is Gaussian elimination of its 3×3 ``SᵀIS`` with
added inertias, and each axis can be held alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from engine.compile import compiled_apart, inline, kernel, specialise
from engine.compile.vectors import load, store, where
from engine.cpu.rigid_body import tree_passes
from engine.cpu.rigid_body import workspace as slot
from engine.cpu.runtime.lanes import load3, load6, load9, put3, put6, put9
from engine.kernels.robot import KIND, PARENT
from engine.kernels.spatial import (
    add,
    axis_column,
    dot,
    full,
    inertia_to_parent,
    minus_rank_one,
    mul,
    plus,
    scale,
    solve6,
    sub,
    transform_force,
    transpose,
)  # fmt: skip
from engine.kernels.status import FITS, NOT_FINITE, WRONG_SHAPE
from engine.model import FREE, REVOLUTE, SPHERICAL
from engine.model.layout import Packed


@inline
def _clear(row, place, width, L):
    """Set `width` numbers of every lane to zero, from `place` on."""
    for k in range(width * L):
        row[place * L + k] = 0.0


@inline
def _inertia(row, lanes):
    return load6(row, slot.I, lanes), load9(row, slot.I_B, lanes), load6(row, slot.I_C, lanes)


@inline
def _free(row, lanes):
    """A free joint: a = I⁻¹(τ − p), independent of its parent; return τ in the parent's frame, which receives it."""
    A, B, C = _inertia(row, lanes)
    tau = load3(row, slot.U, lanes), load3(row, slot.U + 3, lanes)
    o, v = solve6(A, B, C, sub(tau[0], load3(row, slot.BIAS, lanes)), sub(tau[1], load3(row, slot.BIAS + 3, lanes)))
    put3(row, slot.ACC, o)
    put3(row, slot.ACC + 3, v)
    return transform_force(load9(row, slot.R, lanes), load3(row, slot.P, lanes), tau[0], tau[1])


@inline
def _entry(x, y, axis):
    return x[axis] if axis < 3 else y[axis - 3]


@inline
def _past_axis(row, places, axis, lanes, inertia, n, f):
    """Eliminate a joint's axis from inertia and bias; store its U, D, 1/D, u and u/D."""
    A, B, C = inertia
    x, y = axis_column(A, B, C, axis)
    D = _entry(x, y, axis) + load(row, places.ADDED_INERTIA, lanes)
    u = load(row, places.TAU, lanes) - _entry(n, f, axis)
    held, inverse = load(row, places.HELD, lanes), 1.0 / D
    ud = where(held, load(row, places.TARGET_ACCELERATION, lanes), u * inverse)
    inverse = where(held, 0.0, inverse)
    put3(row, places.U, x)
    put3(row, places.U + 3, y)
    store(row, places.D, D)
    store(row, places.DINV, inverse)
    store(row, places.TAU, u)
    store(row, places.UD, ud)
    return minus_rank_one(A, B, C, x, y, inverse), add(n, scale(ud, x)), add(f, scale(ud, y))


@inline
def _pass_on(row, below, lanes, inertia, n, f):
    """Add I to the parent's, and p + I c."""
    A, B, C = inertia
    o, v = load3(row, slot.VXS, lanes), load3(row, slot.VXS + 3, lanes)
    n = add(n, add(mul(full(A), o), mul(B, v)))
    f = add(f, add(mul(transpose(B), o), mul(full(C), v)))
    R, p = load9(row, slot.R, lanes), load3(row, slot.P, lanes)
    A, B, C = inertia_to_parent(R, p, A, B, C)
    n, f = transform_force(R, p, n, f)
    put6(below, slot.I, plus(load6(below, slot.I, lanes), A))
    put9(below, slot.I_B, plus(load9(below, slot.I_B, lanes), B))
    put6(below, slot.I_C, plus(load6(below, slot.I_C, lanes), C))
    _add_force(below, lanes, n, f)


@inline
def _add_force(row, lanes, n, f):
    put3(row, slot.BIAS, add(load3(row, slot.BIAS, lanes), n))
    put3(row, slot.BIAS + 3, add(load3(row, slot.BIAS + 3, lanes), f))


@compiled_apart
def inertia_recursion(topology, w, lanes):
    """Compute articulated inertias and biases, from the tips to the base."""
    for i in range(topology.shape[0] - 1, -1, -1):
        row, parent, kind = w[i], topology[i, PARENT], topology[i, KIND]
        if kind == FREE:
            n, f = _free(row, lanes)
            if parent >= 0:
                _add_force(w[parent], lanes, n, f)
            continue
        inertia, n, f = _inertia(row, lanes), load3(row, slot.BIAS, lanes), load3(row, slot.BIAS + 3, lanes)
        if kind == REVOLUTE:
            inertia, n, f = _past_axis(row, slot.JOINT, 2, lanes, inertia, n, f)
        elif kind == SPHERICAL:
            inertia, n, f = _past_axis(row, slot.BALL[2], 2, lanes, inertia, n, f)
            inertia, n, f = _past_axis(row, slot.BALL[1], 1, lanes, inertia, n, f)
            inertia, n, f = _past_axis(row, slot.BALL[0], 0, lanes, inertia, n, f)
        else:
            inertia, n, f = _past_axis(row, slot.JOINT, 5, lanes, inertia, n, f)
        if parent >= 0:
            _pass_on(row, w[parent], lanes, inertia, n, f)


@inline
def _outward(row, places, axis, lanes, o, v):
    """Compute q̈ and the reaction of a joint's axis; return the acceleration a' with it."""
    Ua = dot(load3(row, places.U, lanes), o) + dot(load3(row, places.U + 3, lanes), v)
    qdd = load(row, places.UD, lanes) - Ua * load(row, places.DINV, lanes)
    store(row, places.QDD, qdd)
    store(row, places.REACTION, Ua + load(row, places.D, lanes) * qdd - load(row, places.TAU, lanes))
    o = (o[0] + qdd if axis == 0 else o[0], o[1] + qdd if axis == 1 else o[1], o[2] + qdd if axis == 2 else o[2])
    return o, (v[0], v[1], v[2] + qdd if axis == 5 else v[2])


@kernel
def accelerations(topology, w, lanes, gravity):
    """Compute q̈ and the reactions of held joints, from the base to the tips."""
    for i in range(topology.shape[0]):
        row, kind = w[i], topology[i, KIND]
        body = load6(row, slot.ACC, lanes)  # of a free joint
        tree_passes.base_accelerations(topology, w, lanes, gravity, i)
        o = add(load3(row, slot.ACC, lanes), load3(row, slot.VXS, lanes))
        v = add(load3(row, slot.ACC + 3, lanes), load3(row, slot.VXS + 3, lanes))
        if kind == REVOLUTE:
            o, v = _outward(row, slot.JOINT, 2, lanes, o, v)
        elif kind == FREE:
            put3(row, slot.U, sub((body[0], body[1], body[2]), o))
            put3(row, slot.U + 3, sub((body[3], body[4], body[5]), v))
            o, v = (body[0], body[1], body[2]), (body[3], body[4], body[5])
        elif kind == SPHERICAL:
            o, v = _outward(row, slot.BALL[0], 0, lanes, o, v)
            o, v = _outward(row, slot.BALL[1], 1, lanes, o, v)
            o, v = _outward(row, slot.BALL[2], 2, lanes, o, v)
        else:
            o, v = _outward(row, slot.JOINT, 5, lanes, o, v)
        put3(row, slot.ACC, o)
        put3(row, slot.ACC + 3, v)


@kernel
def factor(topology, constants, w, lanes):
    """Compute U and D of every joint for `solve`, at the poses in w; free bodies keep their inertia I."""
    tree_passes.rigid_inertias(topology, constants, w, lanes)
    for i in range(topology.shape[0]):
        _clear(w[i], slot.VXS, 6, len(lanes))
        _clear(w[i], slot.BIAS, 6, len(lanes))
    inertia_recursion(topology, w, lanes)


@inline
def _right_side(row, places, axis, lanes, n, f):
    """Compute u and u/D of a joint's axis with a known D; return p + U u/D."""
    u = load(row, places.TAU, lanes) - _entry(n, f, axis)
    ud = u * load(row, places.DINV, lanes)
    store(row, places.TAU, u)
    store(row, places.UD, ud)
    n = add(n, scale(ud, load3(row, places.U, lanes)))
    return n, add(f, scale(ud, load3(row, places.U + 3, lanes)))


@kernel
def solve(topology, w, lanes, weightless):
    """Compute q̈ = M⁻¹ (τ − Σ Jᵢᵀ pᵢ) after `factor`, for any number of right-hand sides.

    p is in BIAS, τ at OF_TAU, q̈ then at OF_QDD. No joint is held; `weightless` are three zeros.
    """
    for i in range(topology.shape[0] - 1, -1, -1):
        row, parent, kind = w[i], topology[i, PARENT], topology[i, KIND]
        if kind == FREE:
            n, f = _free(row, lanes)
            if parent >= 0:
                _add_force(w[parent], lanes, n, f)
            continue
        n, f = load3(row, slot.BIAS, lanes), load3(row, slot.BIAS + 3, lanes)
        if kind == REVOLUTE:
            n, f = _right_side(row, slot.JOINT, 2, lanes, n, f)
        elif kind == SPHERICAL:
            n, f = _right_side(row, slot.BALL[2], 2, lanes, n, f)
            n, f = _right_side(row, slot.BALL[1], 1, lanes, n, f)
            n, f = _right_side(row, slot.BALL[0], 0, lanes, n, f)
        else:
            n, f = _right_side(row, slot.JOINT, 5, lanes, n, f)
        if parent >= 0:
            n, f = transform_force(load9(row, slot.R, lanes), load3(row, slot.P, lanes), n, f)
            _add_force(w[parent], lanes, n, f)
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
            tree_passes.scatter_v(identity, start, topology, w, lanes, slot.OF_TAU)
            for i in range(topology.shape[0]):
                _clear(w[i], slot.BIAS, 6, L)
            solve(topology, w, lanes, weightless)
            finite &= tree_passes.gather_v(out[b], start, topology, w, lanes, slot.OF_QDD)
    return finite


@kernel
def forward(topology, constants, w, lanes, q, v, tau, out):
    """Compute q̈ into `out` (batch, nv) from q (batch, nq), v and τ (batch, nv).

    Returns FITS, WRONG_SHAPE or NOT_FINITE. In the workspace `w` no joint was ever held and no inertia added.
    """
    if not tree_passes.shapes_fit(topology, q, v, tau, out):
        return WRONG_SHAPE
    finite = True
    for start in range(0, q.shape[0], len(lanes)):
        tree_passes.scatter_q(q, start, topology, constants, w, lanes)
        tree_passes.scatter_v(v, start, topology, w, lanes, slot.OF_QD)
        tree_passes.scatter_v(tau, start, topology, w, lanes, slot.OF_TAU)
        tree_passes.poses(topology, constants, w, lanes)
        tree_passes.velocities(topology, w, lanes)
        tree_passes.bias_forces(topology, constants, w, lanes)
        tree_passes.rigid_inertias(topology, constants, w, lanes)
        inertia_recursion(topology, w, lanes)
        accelerations(topology, w, lanes, constants[topology.shape[0]])
        finite &= tree_passes.gather_v(out, start, topology, w, lanes, slot.OF_QDD)
    return FITS if finite else NOT_FINITE


@kernel
def forward_one(topology, constants, w, q, v, tau, out):
    """`forward` of one robot, with vectors as its state."""
    one_q, one_v, one_tau, one = tree_passes.as_batch(q, v, tau, out)
    return forward(topology, constants, w, slot.ONE, one_q, one_v, one_tau, one)


def for_one(packed: Packed) -> Callable[..., int]:
    """Return forward dynamics of one robot: vectors q, v, τ and q̈ of the model's number type, else NotImplemented."""
    w = slot.workspace(len(packed.topology), slot.ONE, packed.constants.dtype.name)
    example = (np.zeros(1, packed.constants.dtype),) * 4
    return partial(specialise(forward_one, *packed, w, *example), *packed, w)
