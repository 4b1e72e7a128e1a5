"""Impulses of contacts, joint friction and joint limits by Newton's method in the space of velocities.

Alart and Curnier (1991): z = λ − r u, λ = P(z), P the projection onto [0, ∞) × the disk of radius μ z_n; A = dP/dz.
With a proximal term ε |δλ|² that damps the step and leaves the solution as it is

    (1 + ε − A) δλ = (P(z) − λ) − A r δu    ⇒    δλ = s − Ω δu,    Ω = (1 + ε − A)⁻¹ A r
    M δv = Jᵀ δλ                             ⇒    (M + Jᵀ Ω J) δv = Jᵀ s

A contact sees its body's twist alone: JᵀΩJ adds to that body a 6 × 6 matrix, and the articulated-body recursion
solves the system (`recursion`). A joint's friction or limit adds a number to d. The right-hand side holds what
M (v − v_f) lacks of Jᵀλ besides, so that steps which rounding spoils, as in single precision, are mended by the next.
From no impulses, or from those of the step before, some four to nine steps reach what rounding leaves.
"""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.kernels.contact import mimics
from engine.kernels.contact.mimics import ENDS, STAYS
from engine.kernels.contact.problem import joint_velocity
from engine.kernels.contact.recursion import (
    FURTHER,
    GATHERS,
    NEXT,
    TO_PARENT,
    ZERO9,
    at_place,
    axis_of,
    carried,
    column,
    gather,
    hand_over,
    has_one_axis,
    keep_twist,
    move,
    rigid_at,
    row,
    set_out,
    shifted,
)
from engine.kernels.spatial import (
    add,
    cross,
    dot,
    full,
    load3,
    load6,
    load9,
    matmul,
    minus_outer,
    momentum,
    mul,
    mul_t,
    plus,
    scale,
    store3,
    store9,
    sub,
    transpose,
)
from engine.kernels.world import FIRST_MOMENT, INERTIA, MASS, ZERO
from engine.model import FREE, REVOLUTE, WORLD


@inline
def velocity_at(omega, velocity, arm, frame):
    """The velocity of a place, `arm` away from the origin of a body with this twist, in a frame."""
    return mul(frame, add(velocity, cross(omega, arm)))


@inline
def _contact_step(i, share, eps, p):
    """Ω and s of a contact, in its frame."""
    mu, r = p.mu[i], share * p.r[i]
    x, u, s, omega = load3(p.impulse[i], 0, 1), load3(p.u[i], 0, 1), p.s[i], p.omega[i]
    z = sub(x, scale(r, u))
    t, weight = np.sqrt(z[1] * z[1] + z[2] * z[2]), 1.0 / (1.0 + eps)
    if z[0] <= 0.0:
        store3(s, 0, 1, scale(-weight, x))
        store9(omega, 0, 1, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    elif mu > 0.0 and t <= mu * z[0]:
        stiff = r / eps
        store3(s, 0, 1, scale(-stiff, u))
        store9(omega, 0, 1, (stiff, 0.0, 0.0, 0.0, stiff, 0.0, 0.0, 0.0, stiff))
    else:
        # In (n, along the slip, across it) A = [[1, 0, 0], [μ, 0, 0], [0, 0, κ]], κ = μ z_n/|z_t|.
        a, b = (z[1] / t, z[2] / t) if t > 0.0 else (1.0, 0.0)
        disk, normal = mu * z[0], r / eps
        curve = disk / t if t > 0.0 else 0.0
        d1, d2, s0 = disk * a - x[1], disk * b - x[2], -normal * u[0]
        along, across = weight * (a * d1 + b * d2 + mu * s0), (a * d2 - b * d1) / (1.0 + eps - curve)
        store3(s, 0, 1, (s0, a * along - b * across, b * along + a * across))
        push, turn = mu * normal, curve * r / (1.0 + eps - curve)
        store9(
            omega, 0, 1,
            (normal, 0.0, 0.0, a * push, turn * b * b, -turn * a * b, b * push, -turn * a * b, turn * a * a),
        )  # fmt: skip


@inline
def _joint_step(j, share, eps, p):
    """Ω and s of a joint row."""
    g, f, x, u = p.g[j] / share, p.law[j, 0], p.joint_impulse[j], p.joint_u[j]
    y = u - g * x
    after = joint_velocity(y, g * f, p.law[j, 1], p.law[j, 2])
    if abs(y) > g * f and p.law[j, 1] < after and after < p.law[j, 2]:
        p.joint_s[j], p.joint_omega[j] = ((-f if y > 0.0 else f) - x) / (1.0 + eps), 0.0
    else:
        stiff = 1.0 / (g * eps)
        p.joint_s[j], p.joint_omega[j] = stiff * (after - u), stiff


@inline
def _with_contacts(i, share, eps, p, a, b, c, d, n, f):
    """The inertia [a b; c d] and the wrench of body i with those of its contacts."""
    k = p.head[i]
    while k >= 0:
        if share > 0.0:
            _contact_step(k, share, eps, p)
        F, r = load9(p.frame[k], 0, 1), load3(p.arm[k], 0, 1)
        w, x, y, z = at_place(r, matmul(transpose(F), matmul(load9(p.omega[k], 0, 1), F)))
        a, b, c, d = plus(a, w), plus(b, x), plus(c, y), plus(d, z)
        push = mul_t(F, add(load3(p.s[k], 0, 1), load3(p.impulse[k], 0, 1)))
        n, f = sub(n, cross(r, push)), sub(f, push)
        k = p.following[k]
    return a, b, c, d, n, f


@inline
def _momentum(i, part, bodies, tree):
    """What the motion of body i takes, `part` of the last step on, which is added to it."""
    omega = add(load3(tree.moved[i], 0, 1), scale(part, load3(tree.step[i], 0, 1)))
    velocity = add(load3(tree.moved[i], 3, 1), scale(part, load3(tree.step[i], 3, 1)))
    store3(tree.moved[i], 0, 1, omega)
    store3(tree.moved[i], 3, 1, velocity)
    rigid = bodies.rigid[i]
    return momentum(rigid[MASS], load3(rigid, FIRST_MOMENT, 1), full(load6(rigid, INERTIA, 1)), omega, velocity)


@inline
def _axis_forces(kind, e, a, b, c, d, n, f):
    """The column I S, the row Sᵀ I, Sᵀ I S and Sᵀ p of a motion S about, or along, e."""
    if kind == REVOLUTE:
        x, y, z, w = mul(a, e), mul(c, e), mul_t(a, e), mul_t(b, e)
        return x, y, z, w, dot(e, x), dot(e, n)
    x, y, z, w = mul(b, e), mul(d, e), mul_t(c, e), mul_t(d, e)
    return x, y, z, w, dot(e, y), dot(e, f)


@inline
def _without_axis(forces, right, added, k, a, b, c, d, n, f, G, t):
    """The inertia and the wrench of a body without its motion about, or along, axis k of its joint.

    Axis by axis, of a joint with several too: of stiff contacts an inverse of their matrix keeps too few digits.
    """
    x, y, z, w, D, along = forces
    over = 1.0 / (D + added)
    q = over * (right - along)
    z, w = scale(over, z), scale(over, w)
    store3(G, 6 * k, 1, z)
    store3(G, 6 * k + 3, 1, w)
    t[k] = q
    a, b, c, d = minus_outer(a, x, z), minus_outer(b, x, w), minus_outer(c, y, z), minus_outer(d, y, w)
    return a, b, c, d, add(n, scale(q, x)), add(f, scale(q, y))


@inline
def _without_shift(k, right, a, b, c, d, n, f, G, t):
    """A body without its motion along axis k of the world."""
    forces = (b[k], b[3 + k], b[6 + k]), (d[k], d[3 + k], d[6 + k]), row(c, k), row(d, k), d[4 * k], f[k]
    return _without_axis(forces, right[k], 0.0, k, a, b, c, d, n, f, G, t)


@inline
def _without_turn(k, right, a, n, G, t):
    """A body that only turns without its motion about axis k of the world."""
    x, zero = (a[k], a[3 + k], a[6 + k]), ZERO
    forces = x, zero, row(a, k), zero, a[4 * k], n[k]
    a, _, _, _, n, _ = _without_axis(forces, right[k], 0.0, 3 + k, a, ZERO9, ZERO9, ZERO9, n, zero, G, t)
    return a, n


@inline
def _without_free(moment, force, a, b, c, d, n, f, G, t):
    """What a body leaves of its free joint's motion, for such a moment and force: no inertia, and these.

    Axes stay in their order, since the part of the matrix that is symmetric is positive.
    """
    a, b, c, d, n, f = _without_shift(0, force, a, b, c, d, n, f, G, t)
    a, b, c, d, n, f = _without_shift(1, force, a, b, c, d, n, f, G, t)
    a, _, _, _, n, _ = _without_shift(2, force, a, b, c, d, n, f, G, t)
    a, n = _without_turn(0, moment, a, n, G, t)
    a, n = _without_turn(1, moment, a, n, G, t)
    _without_turn(2, moment, a, n, G, t)
    return ZERO9, ZERO9, ZERO9, ZERO9, moment, force


@inline
def _free_twist(G, t):
    """The twist of a body with a free joint, the last axis first; whatever moves the body before it."""
    y = t[4] - G[26] * t[5]
    omega = t[3] - G[19] * y - G[20] * t[5], y, t[5]
    v = t[2] - dot(load3(G, 12, 1), omega)
    w = t[1] - dot(load3(G, 6, 1), omega) - G[11] * v
    return omega, (t[0] - dot(load3(G, 0, 1), omega) - G[4] * w - G[5] * v, w, v)


@kernel
def _inward(part, share, eps, topology, bodies, tree, p):
    """Of Newton's matrix, with Ω of all rows, G and t into `tree`; the last step is gone for `part`."""
    a0, b0, c0, d0, n0, f0 = ZERO9, ZERO9, ZERO9, ZERO9, ZERO, ZERO  # what the body before this one hands over
    if len(tree.mimics) > 0:
        mimics.begin(tree.mimics.newton)
    for i in range(topology.shape[0] - 1, -1, -1):
        kind, parent, start, sums = topology[i, 1], topology[i, 0], topology[i, 3], tree.sums[i]
        G, t, e = tree.G[i], tree.t[i], axis_of(bodies.rotation[i])
        A, B, C = rigid_at(bodies.rigid[i])
        a, b, c, d = plus(full(A), a0), plus(B, b0), plus(transpose(B), c0), plus(full(C), d0)
        n, f = _momentum(i, part, bodies, tree)
        a, b, c, d, n, f = _with_contacts(i, share, eps, p, a, b, c, d, add(n, n0), add(f, f0))
        if tree.flow[i, GATHERS] == 1:
            n, f = add(n, load3(sums, 0, 1)), add(f, load3(sums, 3, 1))
            a, b = plus(a, load9(sums, 6, 1)), plus(b, load9(sums, 15, 1))
            c, d = plus(c, load9(sums, 24, 1)), plus(d, load9(sums, 33, 1))
        if len(tree.mimics) > 0 and tree.mimics.waits[i] == ENDS:
            mimics.settle(i, p.right, p.added, tree.mimics.newton, tree.mimics)
            a, b, c, d = mimics.without(i, a, b, c, d, tree.mimics.newton)
            n, f = mimics.pushed(i, n, f, tree.mimics.newton)
        if has_one_axis(kind):
            e, stays = mimics.axis(i, e, tree), False
            forces = _axis_forces(kind, e, a, b, c, d, n, f)
            if len(tree.mimics) > 0:
                stays, rows = tree.mimics.role[i] == STAYS, tree.mimics.newton
                x, y, z, w, D, along = forces
                forces = mimics.joined(i, kind, e, x, y, z, w, D, along, rows, tree.mimics)
                if stays:
                    x, y, z, w, D, along = forces
                    mimics.hand_on(parent, load3(bodies.arm[i], 0, 1), x, y, z, w, D, along, rows)
            if not stays:
                a, b, c, d, n, f = _without_axis(forces, p.right[start], p.added[start], 0, a, b, c, d, n, f, G, t)
        elif kind == FREE:
            R = load9(bodies.rotation[i], 0, 1)
            moment, force = mul(R, load3(p.right, start, 1)), mul(R, load3(p.right, start + 3, 1))
            a, b, c, d, n, f = _without_free(moment, force, a, b, c, d, n, f, G, t)
        else:
            for k in range(3):
                forces = _axis_forces(REVOLUTE, column(bodies.rotation[i], k), a, b, c, d, n, f)
                right, added = p.right[start + k], p.added[start + k]
                a, b, c, d, n, f = _without_axis(forces, right, added, k, a, b, c, d, n, f, G, t)
        a0, b0, c0, d0, n0, f0 = ZERO9, ZERO9, ZERO9, ZERO9, ZERO, ZERO
        if parent != WORLD:
            r, hands = load3(bodies.arm[i], 0, 1), tree.flow[i, TO_PARENT]
            a, b, c, d = shifted(r, a, b, c, d)
            n = add(n, cross(r, f))
            if hands == NEXT:
                a0, b0, c0, d0, n0, f0 = a, b, c, d, n, f
            else:
                above = tree.sums[parent]
                if hands == FURTHER:
                    n, f = add(n, load3(above, 0, 1)), add(f, load3(above, 3, 1))
                    a, b = plus(a, load9(above, 6, 1)), plus(b, load9(above, 15, 1))
                    c, d = plus(c, load9(above, 24, 1)), plus(d, load9(above, 33, 1))
                store3(above, 0, 1, n)
                store3(above, 3, 1, f)
                store9(above, 6, 1, a)
                store9(above, 15, 1, b)
                store9(above, 24, 1, c)
                store9(above, 33, 1, d)
    if len(tree.mimics) > 0 and tree.mimics.waits[topology.shape[0]] == ENDS:
        mimics.settle(topology.shape[0], p.right, p.added, tree.mimics.newton, tree.mimics)


@inline
def _move(i, omega, velocity, topology, bodies, tree, out):
    """dv of body i's joint into `out` (nv,); returns its twist, from that which its parent gives it."""
    kind, start, t, G = topology[i, 1], topology[i, 3], tree.t[i], tree.G[i]
    if has_one_axis(kind):
        if mimics.has_own(i, tree):
            out[start] = t[0] - (dot(load3(G, 0, 1), omega) + dot(load3(G, 3, 1), velocity))
        along = scale(out[start], mimics.axis(i, axis_of(bodies.rotation[i]), tree))
        if kind == REVOLUTE:
            omega = add(omega, along)
        else:
            velocity = add(velocity, along)
    elif kind == FREE:
        R, (a, b) = load9(bodies.rotation[i], 0, 1), _free_twist(G, t)
        store3(out, start, 1, mul_t(R, sub(a, omega)))
        store3(out, start + 3, 1, mul_t(R, sub(b, velocity)))
        omega, velocity = a, b
    else:
        for k in range(2, -1, -1):
            x = t[k] - (dot(load3(G, 6 * k, 1), omega) + dot(load3(G, 6 * k + 3, 1), velocity))
            out[start + k] = x
            omega = add(omega, scale(x, column(bodies.rotation[i], k)))
    if len(tree.mimics) > 0 and tree.mimics.waits[i] == ENDS:
        mimics.velocity_of(i, omega, velocity, tree.mimics.newton, tree.mimics, out)
    return omega, velocity


@kernel
def direction(joints, part, share, eps, inertia, topology, bodies, work):
    """A Newton step's δv into `dv`, δu and δλ of all rows, after the last was gone for `part`; `inertia` (nv,) is d.

    With `share` 0 it is the one that Ω and s in the problem say.
    """
    p, tree = work.problem, work.tree
    for j in range(p.added.size):
        p.total[j] += part * p.dv[j]
        p.added[j], p.right[j] = inertia[j], -inertia[j] * p.total[j]
    for j in range(joints):
        if share > 0.0:
            _joint_step(j, share, eps, p)
        p.added[p.joint[j]] += p.joint_omega[j]
        p.right[p.joint[j]] += p.joint_s[j] + p.joint_impulse[j]
    _inward(part, share, eps, topology, bodies, tree, p)
    omega, velocity = ZERO, ZERO
    if len(tree.mimics) > 0:
        set_out(topology.shape[0], ZERO, tree.mimics.newton, tree, p.dv)
    for i in range(topology.shape[0]):
        omega, velocity = carried(i, topology[i, 0], bodies, ZERO, omega, velocity, tree)
        omega, velocity = _move(i, omega, velocity, topology, bodies, tree, p.dv)
        keep_twist(i, omega, velocity, tree)
        store3(tree.step[i], 0, 1, omega)
        store3(tree.step[i], 3, 1, velocity)
        k = p.head[i]
        while k >= 0:
            motion = velocity_at(omega, velocity, load3(p.arm[k], 0, 1), load9(p.frame[k], 0, 1))
            store3(p.motion[k], 0, 1, motion)
            store3(p.change[k], 0, 1, sub(load3(p.s[k], 0, 1), mul(load9(p.omega[k], 0, 1), motion)))
            k = p.following[k]
    for j in range(joints):
        motion = p.dv[p.joint[j]]
        p.joint_motion[j], p.joint_change[j] = motion, p.joint_s[j] - p.joint_omega[j] * motion


@inline
def stay(contacts, joints, p, tree):
    """No step."""
    for i in range(tree.step.shape[0]):
        store3(tree.step[i], 0, 1, ZERO)
        store3(tree.step[i], 3, 1, ZERO)
    for j in range(p.dv.size):
        p.dv[j] = 0.0
    for i in range(contacts):
        store3(p.change[i], 0, 1, (0.0, 0.0, 0.0))
        store3(p.motion[i], 0, 1, (0.0, 0.0, 0.0))
    for j in range(joints):
        p.joint_change[j], p.joint_motion[j] = 0.0, 0.0


@kernel
def respond(contacts, joints, topology, bodies, work, out):
    """out (nv,) ← M̃⁻¹Jᵀλ of the impulses `impulse`, with u and the twists of the bodies."""
    p, tree = work.problem, work.tree
    for j in range(p.right.size):
        p.right[j] = 0.0
    for j in range(joints):
        p.right[p.joint[j]] += p.joint_impulse[j]
    n, f = ZERO, ZERO
    for i in range(topology.shape[0] - 1, -1, -1):
        if tree.flow[i, GATHERS] == 1:
            n, f = add(n, load3(tree.sums[i], 0, 1)), add(f, load3(tree.sums[i], 3, 1))
        k = p.head[i]
        while k >= 0:
            push = mul_t(load9(p.frame[k], 0, 1), load3(p.impulse[k], 0, 1))
            n, f = sub(n, cross(load3(p.arm[k], 0, 1), push)), sub(f, push)
            k = p.following[k]
        n, f = gather(i, n, f, p.right, topology, bodies, tree)
        n, f = hand_over(i, n, f, topology, bodies, tree)
    omega, velocity = ZERO, ZERO
    if len(tree.mimics) > 0:
        if tree.mimics.waits[topology.shape[0]] == ENDS:
            mimics.settle_again(topology.shape[0], p.right, tree.mimics)
        set_out(topology.shape[0], ZERO, tree.mimics.mass, tree, out)
    for i in range(topology.shape[0]):
        omega, velocity = carried(i, topology[i, 0], bodies, ZERO, omega, velocity, tree)
        omega, velocity = move(i, omega, velocity, topology, bodies, tree, out)
        keep_twist(i, omega, velocity, tree)
        store3(tree.moved[i], 0, 1, omega)
        store3(tree.moved[i], 3, 1, velocity)
        k = p.head[i]
        while k >= 0:
            motion = velocity_at(omega, velocity, load3(p.arm[k], 0, 1), load9(p.frame[k], 0, 1))
            store3(p.u[k], 0, 1, add(load3(p.free[k], 0, 1), motion))
            k = p.following[k]
    for j in range(joints):
        p.joint_u[j] = p.joint_free[j] + out[p.joint[j]]
    stay(contacts, joints, p, tree)
