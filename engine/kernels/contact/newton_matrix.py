"""Elimination of Newton's matrix from the tips: the articulated-body recursion with the contacts' inertias.

It solves (M + d + JᵀΩJ) dv = τ + Jᵀs, where JᵀΩJ adds a 6 × 6 matrix K to the inertia of each body; as Ω is not
symmetric, neither is I^A:

    I^A = I + K + Σ over children,  U = I^A S,  D = Sᵀ U + d,  G = D⁻¹ Sᵀ I^A,  t = D⁻¹ (τ − Sᵀ p)
    to the parent:  I^A − U G,  p + U t           and back:  dv = t − G a,  a = a_parent + S dv

Joints with several axes are eliminated axis by axis: of stiff contacts, inverting their block loses too many digits.
Contacts between bodies are in `body_pairs`.
"""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.kernels.bodies import ZERO
from engine.kernels.contact import body_pairs, mimics
from engine.kernels.contact import mimic_passes as passes
from engine.kernels.contact.loaded_bodies import LEFT_OUT, momentum
from engine.kernels.contact.problem import contacts_from
from engine.kernels.contact.recursion import pass_wrench, with_waiting_wrenches
from engine.kernels.contact.recursion_workspace import (
    HAS_WAITING,
    IN_REGISTERS,
    IN_SUMS,
    TO_PARENT,
    axis_of,
    column,
    has_one_axis,
    inertia_at,
    row,
)
from engine.kernels.joint_constraints import joint_law
from engine.kernels.limbs import inward
from engine.kernels.robot import KIND, PARENT, V_START
from engine.kernels.spatial import (
    ZERO9,
    add,
    cross,
    damping_at,
    dot,
    full,
    load3,
    load9,
    matmul,
    minus_outer,
    mul,
    mul_t,
    plus,
    scale,
    shifted,
    store3,
    store9,
    sub,
    transpose,
)
from engine.model import FREE, PRISMATIC, REVOLUTE, WORLD

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
ZERO_BODY = ZERO9, ZERO9, ZERO9, ZERO9, ZERO, ZERO
"""A `body` is its inertia [a b; c d] and its wrench (n, f), as six tuples; this one has none."""


@inline
def linearise_contact(i, r_scale, eps, p):
    """Ω and s of a contact, in its frame."""
    mu, r = p.mu[i], r_scale * p.r[i]
    x, u, s, Omega = load3(p.impulse[i]), load3(p.u[i]), p.s[i], p.Omega[i]
    z = sub(x, scale(r, u))
    t, weight = np.sqrt(z[1] * z[1] + z[2] * z[2]), 1.0 / (1.0 + eps)
    if z[0] <= 0.0:
        store3(s, scale(-weight, x))
        store9(Omega, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    elif mu > 0.0 and t <= mu * z[0]:
        stiffness = r / eps
        store3(s, scale(-stiffness, u))
        store9(Omega, (stiffness, 0.0, 0.0, 0.0, stiffness, 0.0, 0.0, 0.0, stiffness))
    else:
        # In (n, along the slip, across it) A = [[1, 0, 0], [μ, 0, 0], [0, 0, κ]], κ = μ z_n/|z_t|.
        a, b = (z[1] / t, z[2] / t) if t > 0.0 else (1.0, 0.0)
        disk, normal = mu * z[0], r / eps
        curve = disk / t if t > 0.0 else 0.0
        d1, d2, s0 = disk * a - x[1], disk * b - x[2], -normal * u[0]
        along, across = weight * (a * d1 + b * d2 + mu * s0), (a * d2 - b * d1) / (1.0 + eps - curve)
        store3(s, (s0, a * along - b * across, b * along + a * across))
        coupling, slip_stiffness = mu * normal, curve * r / (1.0 + eps - curve)
        mixed = -slip_stiffness * a * b
        store9(Omega, (
            normal, 0.0, 0.0,
            a * coupling, slip_stiffness * b * b, mixed,
            b * coupling, mixed, slip_stiffness * a * a,
        ))  # fmt: skip


@inline
def linearise_joint(j, r_scale, eps, p):
    """Ω and s of a joint row."""
    g, f, x, u = p.g[j] / r_scale, p.law[j, 0], p.joint_impulse[j], p.joint_u[j]
    y = u - g * x
    u_next = joint_law(y, g * f, p.law[j, 1], p.law[j, 2])
    if abs(y) > g * f and p.law[j, 1] < u_next and u_next < p.law[j, 2]:
        p.joint_s[j], p.joint_omega[j] = ((-f if y > 0.0 else f) - x) / (1.0 + eps), 0.0
    else:
        stiffness = 1.0 / (g * eps)
        p.joint_s[j], p.joint_omega[j] = stiffness * (u_next - u), stiffness


@inline
def _with_contacts(i, p, body):
    """Add the inertias and wrenches of body i's contacts to its own."""
    a, b, c, d, n, f = body
    for k in contacts_from(p.head[i], p):
        F, r = load9(p.frame[k]), load3(p.arm[k])
        w, x, y, z = damping_at(r, matmul(transpose(F), matmul(load9(p.Omega[k]), F)))
        a, b, c, d = plus(a, w), plus(b, x), plus(c, y), plus(d, z)
        impulse = mul_t(F, add(load3(p.s[k]), load3(p.impulse[k])))
        n, f = sub(n, cross(r, impulse)), sub(f, impulse)
    return a, b, c, d, n, f


@inline
def _momentum(i, length, tree):
    """The momentum of body i, whose twist is advanced by `length` of the last step."""
    omega = add(load3(tree.moved[i]), scale(length, load3(tree.step[i])))
    velocity = add(load3(tree.moved[i], 3), scale(length, load3(tree.step[i], 3)))
    store3(tree.moved[i], omega)
    store3(tree.moved[i], velocity, 3)
    return momentum(i, omega, velocity, tree)


@inline
def _axis_forces(kind, e, body):
    """The column I S, the row Sᵀ I, Sᵀ I S and Sᵀ p of a rotation about e or a translation along e, S."""
    a, b, c, d, n, f = body
    if kind == REVOLUTE:
        x, y, z, w = mul(a, e), mul(c, e), mul_t(a, e), mul_t(b, e)
        return x, y, z, w, dot(e, x), dot(e, n)
    x, y, z, w = mul(b, e), mul(d, e), mul_t(c, e), mul_t(d, e)
    return x, y, z, w, dot(e, y), dot(e, f)


@inline
def _without_axis(i, k, kind, e, forces, rhs, added, body, tree):
    """Eliminate the motion e of axis k of body i's joint from its inertia and wrench."""
    x, y, z, w, D, force = forces
    reciprocal = 1.0 / (D + added)
    factors = x, y, scale(reciprocal, z), scale(reciprocal, w), reciprocal, reciprocal * (rhs - force)
    body = _minus_axis(i, k, kind, e, factors, -1, body, tree)
    passes.eliminate_axis_from_coordinates(i, k, kind, e, factors, "newton", tree)
    if body_pairs.have_unknowns(tree):
        passes.eliminate_axis_from_cross_terms(i, k, reciprocal, tree)
    return body


@inline
def _minus_axis(i, k, kind, e, factors, row, body, tree):
    """The inertia and wrench with axis k of body i's joint eliminated, by `factors` (I S, Sᵀ I/D, 1/D, q).

    `row` is the velocity of a coordinate that moves other joints too, or −1.
    """
    G, (x, y, z, w, reciprocal, q), (a, b, c, d, n, f) = tree.G[i], factors, body
    store3(G, z, 6 * k)
    store3(G, w, 6 * k + 3)
    tree.t[i, k] = q
    if body_pairs.have_unknowns(tree):
        body_pairs.store_column(i, k, x, y, reciprocal, tree.pairs)
        body_pairs.eliminate_axis_from_pairs(i, kind, e, factors, row, tree.pairs)
    a, b, c, d = minus_outer(a, x, z), minus_outer(b, x, w), minus_outer(c, y, z), minus_outer(d, y, w)
    return a, b, c, d, add(n, scale(q, x)), add(f, scale(q, y))


@inline
def _without_translation(i, k, e, rhs, body, tree):
    """Eliminate body i's translation along axis k of the world, e."""
    _, b, c, d, _, f = body
    forces = (b[k], b[3 + k], b[6 + k]), (d[k], d[3 + k], d[6 + k]), row(c, k), row(d, k), d[4 * k], f[k]
    return _without_axis(i, k, PRISMATIC, e, forces, rhs[k], 0.0, body, tree)


@inline
def _without_rotation(i, k, e, rhs, a, n, tree):
    """Eliminate the rotation about axis k of the world, e, of body i whose translation is eliminated."""
    forces, none = ((a[k], a[3 + k], a[6 + k]), ZERO, row(a, k), ZERO, a[4 * k], n[k]), ZERO9
    body = a, none, none, none, n, ZERO
    a, _, _, _, n, _ = _without_axis(i, 3 + k, REVOLUTE, e, forces, rhs[k], 0.0, body, tree)
    return a, n


@inline
def _without_free(i, moment, force, body, tree):
    """Eliminate a free joint of body i with this moment and force, which alone are passed on.

    The order of axes is fixed, as the symmetric part of the matrix is positive definite.
    """
    body = _without_translation(i, 0, X, force, body, tree)
    body = _without_translation(i, 1, Y, force, body, tree)
    a, _, _, _, n, _ = _without_translation(i, 2, Z, force, body, tree)
    a, n = _without_rotation(i, 0, X, moment, a, n, tree)
    a, n = _without_rotation(i, 1, Y, moment, a, n, tree)
    _without_rotation(i, 2, Z, moment, a, n, tree)
    return ZERO9, ZERO9, ZERO9, ZERO9, moment, force


@inline
def _eliminate_mimic_joint(i, kind, e, forces, rhs, added, body, tree):
    """Eliminate the joint of a body that passes coordinates on from its inertia and wrench, unless its own stays."""
    passed, own = tree.mimics.newton, tree.mimics.joint_slot[i]
    start = tree.mimics.v_index[i, own]
    passes.add_axis(i, kind, e, forces, passed, tree.mimics)
    if mimics.eliminated_with_joint(i, tree):
        reciprocal, q = passes.eliminate_coordinate(i, own, rhs, added, passed, tree.mimics)
        (x, y), (z, w) = passes.column_at(i, own, passed, tree.mimics), passes.row_at(i, own, passed, tree.mimics)
        shared_row = start if own < tree.mimics.action.shape[1] - 1 else -1
        body = _minus_axis(i, 0, kind, e, (x, y, z, w, reciprocal, q), shared_row, body, tree)
        if body_pairs.have_unknowns(tree):
            passes.eliminate_coordinate_from_cross_terms(i, own, reciprocal, passed, tree)
    elif body_pairs.have_unknowns(tree):
        body_pairs.store_coordinate(i, kind, e, start, tree.pairs)
    return body


@inline
def _pass_on(i, parent, to_parent, r, body, tree):
    """Pass a body's inertia and wrench to its parent, r away; return what body i − 1 receives in registers."""
    if parent == WORLD:
        return ZERO_BODY
    a, b, c, d, n, f = body
    a, b, c, d = shifted(r, a, b, c, d)
    n = add(n, cross(r, f))
    if to_parent == IN_REGISTERS:
        return a, b, c, d, n, f
    sums = tree.sums[i]
    store3(sums, n)
    store3(sums, f, 3)
    store9(sums, a, 6)
    store9(sums, b, 15)
    store9(sums, c, 24)
    store9(sums, d, 33)
    return ZERO_BODY


@inline
def _with_limbs(i, body, tree):
    """Add the inertias and wrenches of the limbs on body i to its own."""
    a, b, c, d, n, f = body
    if tree.loaded[i, HAS_WAITING] == 1:
        for k in range(tree.limbs.first_child[i], tree.limbs.first_child[i + 1]):
            child = tree.limbs.child[k]
            if tree.loaded[child, TO_PARENT] == IN_SUMS:
                sums = tree.sums[child]
                n, f = add(n, load3(sums)), add(f, load3(sums, 3))
                a, b = plus(a, load9(sums, 6)), plus(b, load9(sums, 15))
                c, d = plus(c, load9(sums, 24)), plus(d, load9(sums, 33))
    return a, b, c, d, n, f


@kernel
def eliminate_joints(length, topology, bodies, tree, p):
    """Eliminate Newton's matrix, with Ω of all rows: G and t into `tree`.

    Twists advance by `length` of the last step.
    """
    limbs = tree.limbs
    passes.clear("newton", tree)
    for limb in inward(limbs):
        a0, b0, c0, d0, n0, f0 = ZERO_BODY  # passed on by body i + 1
        for i in range(limbs.end[limb] - 1, limbs.begin[limb] - 1, -1):
            if tree.loaded[i, TO_PARENT] == LEFT_OUT:
                continue
            kind, parent, start = topology[i, KIND], topology[i, PARENT], topology[i, V_START]
            A, B, C = inertia_at(i, tree)
            a, b, c, d = plus(full(A), a0), plus(B, b0), plus(transpose(B), c0), plus(full(C), d0)
            n, f = _momentum(i, length, tree)
            n, f = body_pairs.with_pair_wrench(i, add(n, n0), add(f, f0), tree)
            body = _with_limbs(i, _with_contacts(i, p, (a, b, c, d, n, f)), tree)
            body = passes.eliminate_coordinates(i, p.rhs, p.added, body, tree)
            if has_one_axis(kind):
                e = mimics.axis(i, axis_of(bodies.rotation[i]), tree)
                forces = _axis_forces(kind, e, body)
                if mimics.has_shared_coordinates(i, tree):
                    body = _eliminate_mimic_joint(i, kind, e, forces, p.rhs[start], p.added[start], body, tree)
                else:
                    body = _without_axis(i, 0, kind, e, forces, p.rhs[start], p.added[start], body, tree)
            elif kind == FREE:
                R = load9(bodies.rotation[i])
                moment, force = mul(R, load3(p.rhs, start)), mul(R, load3(p.rhs, start + 3))
                body = _without_free(i, moment, force, body, tree)
            else:
                for k in range(3):
                    e, rhs, added = column(bodies.rotation[i], k), p.rhs[start + k], p.added[start + k]
                    forces = _axis_forces(REVOLUTE, e, body)
                    body = _without_axis(i, k, REVOLUTE, e, forces, rhs, added, body, tree)
            passes.pass_to_parent(i, kind, parent, load3(bodies.arm[i]), "newton", tree)
            if body_pairs.have_unknowns(tree) and (kind != FREE or mimics.has_shared_coordinates(i, tree)):
                body_pairs.pass_on(i, parent, load3(bodies.arm[i]), tree.pairs)
            to_parent = tree.loaded[i, TO_PARENT]
            a0, b0, c0, d0, n0, f0 = _pass_on(i, parent, to_parent, load3(bodies.arm[i]), body, tree)
    passes.eliminate_coordinates(topology.shape[0], p.rhs, p.added, ZERO_BODY, tree)


@inline
def _add_axis_force(i, k, force, n, f, tree):
    """Add a generalized force along axis k of body i's joint to t; return the wrench with the axis eliminated."""
    column = tree.pairs.column[i]
    q = -tree.pairs.inverse[i, k] * force
    tree.t[i, k] += q
    passes.add_along_axis(i, k, q, "newton", tree)
    return add(n, scale(q, load3(column, 6 * k))), add(f, scale(q, load3(column, 6 * k + 3)))


@kernel
def add_wrenches(topology, bodies, tree, p):
    """Add the wrenches `body_wrench` to t, after `eliminate_joints`, in a pass of their own: they are small beside the
    impulses."""
    limbs = tree.limbs
    passes.clear_r("newton", tree)
    for limb in inward(limbs):
        n, f = ZERO, ZERO
        for i in range(limbs.end[limb] - 1, limbs.begin[limb] - 1, -1):
            if tree.loaded[i, TO_PARENT] == LEFT_OUT:
                continue
            kind, R = topology[i, KIND], bodies.rotation[i]
            n, f = body_pairs.with_pair_wrench(i, n, f, tree)
            n, f = with_waiting_wrenches(i, n, f, tree.loaded, tree)
            n, f = passes.wrench_without_coordinates(i, n, f, p.rhs, 1.0, "newton", tree)
            if has_one_axis(kind):
                force = dot(mimics.axis(i, axis_of(R), tree), n if kind == REVOLUTE else f)
                if mimics.has_shared_coordinates(i, tree):
                    n, f = passes.wrench_without_axis(i, force, n, f, p.rhs, 1.0, "newton", tree)
                else:
                    n, f = _add_axis_force(i, 0, force, n, f, tree)
            elif kind == FREE:
                for k in range(3):
                    n, f = _add_axis_force(i, k, f[k], n, f, tree)
                for k in range(3):
                    n, f = _add_axis_force(i, 3 + k, n[k], n, f, tree)
                n, f = ZERO, ZERO
            else:
                for k in range(3):
                    n, f = _add_axis_force(i, k, dot(column(R, k), n), n, f, tree)
            passes.pass_forces(i, kind, topology[i, PARENT], "newton", tree)
            n, f = pass_wrench(i, tree.loaded[i, TO_PARENT], n, f, topology, bodies, tree)
    passes.wrench_without_coordinates(topology.shape[0], ZERO, ZERO, p.rhs, 1.0, "newton", tree)


@kernel
def set_up_pairs(whole, tree, p):
    """Compute K and s of pairs and the wrenches of their impulses; the unknowns of those with K ≠ 0, of all if
    `whole`."""
    pairs = tree.pairs
    body_pairs.clear(pairs)
    for j in range(pairs.counts[body_pairs.TOUCH]):
        has_unknowns, n, f, moment, force = whole, ZERO, ZERO, ZERO, ZERO
        place = load3(pairs.arm[j])
        body_pairs.clear_stiffness(j, pairs)
        for k in contacts_from(pairs.contact[j], p):
            F, r, Omega = load9(p.frame[k]), sub(load3(p.arm[k]), place), load9(p.Omega[k])
            impulse, s = mul_t(F, load3(p.impulse[k])), mul_t(F, load3(p.s[k]))
            n, f = add(n, cross(r, impulse)), add(f, impulse)
            moment, force = add(moment, cross(r, s)), add(force, s)
            if Omega[0] != 0.0:
                has_unknowns = True
                a, b, c, d = damping_at(r, matmul(transpose(F), matmul(Omega, F)))
                body_pairs.add_stiffness(pairs.stiffness[j], a, b, c, d)
        if has_unknowns:
            body_pairs.add_unknowns(j, moment, force, pairs)
        else:
            n, f = add(n, moment), add(f, force)
        body_pairs.add_pair_wrench(j, n, f, pairs)
    body_pairs.clear_sums(tree)
