"""The articulated-body recursion for M + d: O(n) for any tree. `newton_matrix` has it for the matrix of Newton's steps.

It solves (M + d) dv = τ − bias (Featherstone 2008, 7.3):

    I^A = I + Σ over children,  U = I^A S,  D = Sᵀ U + d,  t = D⁻¹ (τ − Sᵀ p)
    to the parent:  I^A − U D⁻¹ Uᵀ,  p + U t      and back:  dv = t − D⁻¹ Uᵀ a,  a = a_parent + S dv

The way back, `move`, is by the factors of either matrix; the functions here whose names end in `_symmetric` have
counterparts for Newton's there. All vectors are in world axes, see `kernels.world`. What a body passes to its parent
stays in registers along a limb, and goes through `Tree.sums` where the tree branches: along a limb a pass reads and
writes only what the outward pass needs.
"""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.kernels.bodies import ZERO
from engine.kernels.contact import mimic_passes as passes
from engine.kernels.contact import mimics
from engine.kernels.contact.recursion_workspace import (
    HAS_WAITING,
    IN_REGISTERS,
    IN_SUMS,
    TO_PARENT,
    axis_of,
    column,
    has_one_axis,
    inertia_at,
    rigid_at,
    store_inertia,
)
from engine.kernels.limbs import inward, outward
from engine.kernels.robot import KIND, PARENT, V_START
from engine.kernels.spatial import (
    ZERO6,
    ZERO9,
    add,
    cross,
    cross_matrix,
    cross_right,
    dot,
    full,
    inertia_shifted,
    inverse,
    load3,
    load9,
    matmul,
    minus,
    minus_outer,
    minus_rank_one,
    mul,
    mul_t,
    plus,
    scale,
    store3,
    store9,
    sub,
    transpose,
    upper,
)
from engine.model import FREE, REVOLUTE, WORLD


@inline
def with_waiting_wrenches(i, n, f, flow, tree):
    """Add the wrenches that wait for body i in `sums`, by `flow`, to a wrench (n, f) of it."""
    if flow[i, HAS_WAITING] == 1:
        for k in range(tree.limbs.first_child[i], tree.limbs.first_child[i + 1]):
            c = tree.limbs.child[k]
            if flow[c, TO_PARENT] == IN_SUMS:
                n, f = add(n, load3(tree.sums[c])), add(f, load3(tree.sums[c], 3))
    return n, f


@inline
def _pass_on_symmetric(i, parent, to_parent, r, A, B, C, n, f, tree):
    """Pass a body's inertia and wrench to its parent, r away; return what body i − 1 receives in registers."""
    if parent == WORLD:
        return ZERO6, ZERO9, ZERO6, ZERO, ZERO
    A, B, C = inertia_shifted(r, A, B, C)
    n = add(n, cross(r, f))
    store_inertia(i, A, B, C, tree)
    if to_parent == IN_REGISTERS:
        return A, B, C, n, f
    store3(tree.sums[i], n)
    store3(tree.sums[i], f, 3)
    return ZERO6, ZERO9, ZERO6, ZERO, ZERO


@inline
def _with_limbs_symmetric(i, A, B, C, tree):
    """Add the inertias of the limbs on body i to its own."""
    if tree.flow[i, HAS_WAITING] == 1:
        for index in range(tree.limbs.first_child[i], tree.limbs.first_child[i + 1]):
            a, b, c = inertia_at(tree.limbs.child[index], tree)
            A, B, C = plus(A, a), plus(B, b), plus(C, c)
    return A, B, C


@inline
def _axis_forces_symmetric(kind, e, body):
    """I S, Sᵀ I S and Sᵀ p of a rotation about e or a translation along e, S."""
    A, B, C, n, f = body
    x, y = (mul(full(A), e), mul_t(B, e)) if kind == REVOLUTE else (mul(B, e), mul(full(C), e))
    return x, y, dot(e, x if kind == REVOLUTE else y), dot(e, n if kind == REVOLUTE else f)


@inline
def _minus_axis_symmetric(i, k, x, y, reciprocal, w, tree, body):
    """The inertia and wrench of body i with axis k of its joint eliminated, by I S, 1/D and t."""
    (A, B, C, n, f), U = body, tree.U[i]
    store3(U, x, 6 * k)
    store3(U, y, 6 * k + 3)
    tree.inverse[i, k], tree.t[i, k] = reciprocal, w
    A, B, C = minus_rank_one(A, B, C, x, y, reciprocal)
    return A, B, C, add(n, scale(w, x)), add(f, scale(w, y))


@inline
def _without_axis_symmetric(i, kind, tau, added, bodies, tree, body):
    """Eliminate the joint of body i with one axis from its inertia and wrench, `body` (A, B, C, n, f); return these.

    The coordinate of a mimic joint may stay, see `mimics`.
    """
    e = mimics.axis(i, axis_of(load9(bodies.rotation[i])), tree)
    x, y, d, along = _axis_forces_symmetric(kind, e, body)
    k = 1.0 / (d + added)
    w = k * (tau - along)
    if mimics.has_shared_coordinates(i, tree):
        mass = tree.mimics.mass
        passes.add_axis(i, kind, e, (x, y, x, y, d, along), mass, tree.mimics)
        if mimics.eliminated_with_joint(i, tree):
            k, w = passes.eliminate_coordinate(i, tree.mimics.joint_slot[i], tau, added, mass, tree.mimics)
            x, y = passes.column_at(i, tree.mimics.joint_slot[i], mass, tree.mimics)
    return _minus_axis_symmetric(i, 0, x, y, k, w, tree, body) if mimics.eliminated_with_joint(i, tree) else body


@inline
def _solve_free(i, R, tau, start, tree, body):
    """Solve for a body with a free joint, `body` (A, B, C, n, f); return the wrench that it passes on."""
    (A, B, C, n, f), D, t = body, tree.inverse[i], tree.t[i]
    E, F, H = _inverse(A, B, C)
    store9(D, E)
    store9(D, F, 9)
    store9(D, H, 18)
    a, b = mul(R, load3(tau, start)), mul(R, load3(tau, start + 3))
    x, y = sub(a, n), sub(b, f)
    store3(t, add(mul(E, x), mul(F, y)))
    store3(t, add(mul_t(F, x), mul(H, y)), 3)
    return a, b


@inline
def _without_ball(i, tau, added, start, bodies, tree, body):
    """Eliminate the ball joint of body i, axis by axis, from its inertia and wrench, `body` (A, B, C, n, f)."""
    for k in range(3):
        e = column(bodies.rotation[i], k)
        x, y, d, along = _axis_forces_symmetric(REVOLUTE, e, body)
        r = 1.0 / (d + added[start + k])
        w = r * (tau[start + k] - along)
        body = _minus_axis_symmetric(i, k, x, y, r, w, tree, body)
        passes.eliminate_axis_from_coordinates(i, k, REVOLUTE, e, (x, y, scale(r, x), scale(r, y), r, w), "mass", tree)
    return body


@kernel
def factorise(tau, added, topology, bodies, tree):
    """Factorise M + d, and compute t of τ − bias; τ and d are (nv,)."""
    limbs = tree.limbs
    passes.clear("mass", tree)
    for limb in inward(limbs):
        A0, B0, C0, n0, f0 = ZERO6, ZERO9, ZERO6, ZERO, ZERO  # passed on by body i + 1
        for i in range(limbs.end[limb] - 1, limbs.begin[limb] - 1, -1):
            kind, parent, start = topology[i, KIND], topology[i, PARENT], topology[i, V_START]
            R = load9(bodies.rotation[i])
            A, B, C = rigid_at(bodies.rigid[i])
            A, B, C = plus(A, A0), plus(B, B0), plus(C, C0)
            n, f = add(load3(bodies.bias[i]), n0), add(load3(bodies.bias[i], 3), f0)
            n, f = with_waiting_wrenches(i, n, f, tree.flow, tree)
            A, B, C = _with_limbs_symmetric(i, A, B, C, tree)
            angular, linear = load3(bodies.product[i]), load3(bodies.product[i], 3)
            n = add(n, add(mul(full(A), angular), mul(B, linear)))
            f = add(f, add(mul_t(B, angular), mul(full(C), linear)))
            passes.add_drift(i, angular, linear, tree)
            A, B, C, n, f = passes.eliminate_coordinates_symmetric(i, tau, added, (A, B, C, n, f), tree)
            if has_one_axis(kind):
                A, B, C, n, f = _without_axis_symmetric(
                    i, kind, tau[start], added[start], bodies, tree, (A, B, C, n, f)
                )
            elif kind == FREE:
                n, f = _solve_free(i, R, tau, start, tree, (A, B, C, n, f))
                A, B, C = ZERO6, ZERO9, ZERO6
            else:
                A, B, C, n, f = _without_ball(i, tau, added, start, bodies, tree, (A, B, C, n, f))
            passes.pass_to_parent(i, kind, parent, load3(bodies.arm[i]), "mass", tree)
            to_parent = tree.flow[i, TO_PARENT]
            A0, B0, C0, n0, f0 = _pass_on_symmetric(i, parent, to_parent, load3(bodies.arm[i]), A, B, C, n, f, tree)
    passes.eliminate_coordinates_symmetric(topology.shape[0], tau, added, (ZERO6, ZERO9, ZERO6, ZERO, ZERO), tree)
    passes.clear_r("mass", tree)  # for `inward_wrench`


@inline
def _inverse(A, B, C):
    """The blocks [E F; Fᵀ H] of [A B; Bᵀ C]⁻¹."""
    Q = inverse(full(C))
    X = matmul(B, Q)
    E = inverse(minus(full(A), matmul(X, transpose(B))))
    EX = matmul(E, X)
    F = (-EX[0], -EX[1], -EX[2], -EX[3], -EX[4], -EX[5], -EX[6], -EX[7], -EX[8])
    return E, F, plus(Q, matmul(transpose(X), EX))


@inline
def carried_twist(i, parent, bodies, base, omega, velocity, tree):
    """The twist of body i's origin by its parent's motion, given the twist of body i − 1; `base` is the world's
    velocity."""
    if parent == WORLD:
        return ZERO, base
    if parent != i - 1:
        omega, velocity = load3(tree.twist[parent]), load3(tree.twist[parent], 3)
    return omega, add(velocity, cross(omega, load3(bodies.arm[i])))


@inline
def _without_parent(i, k, t, omega, velocity, matrix, tree):
    """t of axis k of body i's joint without the effect of its parent's twist, by `matrix`, as in `mimic_passes`."""
    if matrix == "newton":
        G = tree.G[i]
        return t[k] - (dot(load3(G, 6 * k), omega) + dot(load3(G, 6 * k + 3), velocity))
    U, D = tree.U[i], tree.inverse[i]
    return t[k] - D[k] * (dot(load3(U, 6 * k), omega) + dot(load3(U, 6 * k + 3), velocity))


@inline
def _free_twist(i, t, matrix, tree, out):
    """The twist of a body with a free joint, in which its parent's motion has no part."""
    a, b = load3(t), load3(t, 3)
    if matrix == "newton":  # by back substitution from the last axis
        G, (n, f) = tree.G[i], passes.joint_load(i, matrix, tree, out)
        a, b = sub(a, n), sub(b, f)
        y = b[1] - G[26] * b[2]
        omega = b[0] - G[19] * y - G[20] * b[2], y, b[2]
        v = a[2] - dot(load3(G, 12), omega)
        w = a[1] - dot(load3(G, 6), omega) - G[11] * v
        return omega, (a[0] - dot(load3(G), omega) - G[4] * w - G[5] * v, w, v)
    if mimics.has_shared_coordinates(i, tree):
        D, (n, f) = tree.inverse[i], passes.joint_load(i, matrix, tree, out)
        F = load9(D, 9)
        a = sub(a, add(mul(load9(D), n), mul(F, f)))
        b = sub(b, add(mul_t(F, n), mul(load9(D, 18), f)))
    return a, b


@inline
def move(i, omega, velocity, matrix, topology, bodies, tree, out):
    """Compute dv of body i's joint into `out` (nv,), by the factors of `matrix`; return its twist, from that by its
    parent."""
    kind, start, t, R = topology[i, KIND], topology[i, V_START], tree.t[i], load9(bodies.rotation[i])
    if has_one_axis(kind):
        if mimics.eliminated_with_joint(i, tree):
            unshared = _without_parent(i, 0, t, omega, velocity, matrix, tree)
            out[start] = passes.velocity(i, omega, velocity, unshared, matrix, tree, out)
        along = scale(out[start], mimics.axis(i, axis_of(R), tree))
        if kind == REVOLUTE:
            omega = add(omega, along)
        else:
            velocity = add(velocity, along)
    elif kind == FREE:
        a, b = _free_twist(i, t, matrix, tree, out)
        store3(out, mul_t(R, sub(a, omega)), start)
        store3(out, mul_t(R, sub(b, velocity)), start + 3)
        omega, velocity = a, b
    else:
        for k in range(2, -1, -1):
            x = _without_parent(i, k, t, omega, velocity, matrix, tree) - passes.along_axis(i, k, matrix, tree, out)
            out[start + k] = x
            omega = add(omega, scale(x, column(bodies.rotation[i], k)))
    passes.eliminated_velocities(i, omega, velocity, matrix, tree, out)
    return omega, velocity


@inline
def store_twist(i, omega, velocity, tree):
    """Store the twist of body i where limbs are attached to it."""
    if tree.flow[i, HAS_WAITING] == 1:
        store3(tree.twist[i], omega)
        store3(tree.twist[i], velocity, 3)


@kernel
def accelerations(gravity, topology, bodies, tree, out):
    """Compute q̈ into `out` (nv,), after `factorise`."""
    limbs, base_acceleration = tree.limbs, (-gravity[0], -gravity[1], -gravity[2])
    passes.eliminated_velocities(topology.shape[0], ZERO, base_acceleration, "mass", tree, out)
    for limb in outward(limbs):
        omega, velocity = ZERO, ZERO
        for i in range(limbs.begin[limb], limbs.end[limb]):
            omega, velocity = carried_twist(i, topology[i, PARENT], bodies, base_acceleration, omega, velocity, tree)
            omega, velocity = move(i, omega, velocity, "mass", topology, bodies, tree, out)
            omega = add(omega, load3(bodies.product[i]))
            velocity = add(velocity, load3(bodies.product[i], 3))
            store_twist(i, omega, velocity, tree)


@inline
def inward_wrench(i, n, f, tau, topology, bodies, tree):
    """Compute t of body i from p = (n, f) and τ (nv,) by the factors of M + d; return p + U t, about its own origin."""
    kind, start, t, R = topology[i, KIND], topology[i, V_START], tree.t[i], load9(bodies.rotation[i])
    U, D = tree.U[i], tree.inverse[i]
    n, f = passes.wrench_without_coordinates(i, n, f, tau, 0.0, "mass", tree)
    if has_one_axis(kind):
        e = mimics.axis(i, axis_of(R), tree)
        along = dot(e, n if kind == REVOLUTE else f)
        if mimics.has_shared_coordinates(i, tree):
            n, f = passes.wrench_without_axis(i, along, n, f, tau, 0.0, "mass", tree)
        else:
            w = D[0] * (tau[start] - along)
            t[0] = w
            n, f = add(n, scale(w, load3(U))), add(f, scale(w, load3(U, 3)))
    elif kind == FREE:
        a, b = mul(R, load3(tau, start)), mul(R, load3(tau, start + 3))
        x, y, F = sub(a, n), sub(b, f), load9(D, 9)
        store3(t, add(mul(load9(D), x), mul(F, y)))
        store3(t, add(mul_t(F, x), mul(load9(D, 18), y)), 3)
        n, f = a, b
    else:
        for k in range(3):
            w = D[k] * (tau[start + k] - dot(column(bodies.rotation[i], k), n))
            t[k] = w
            n, f = add(n, scale(w, load3(U, 6 * k))), add(f, scale(w, load3(U, 6 * k + 3)))
            passes.add_along_axis(i, k, w, "mass", tree)
    passes.pass_forces(i, kind, topology[i, PARENT], "mass", tree)
    return n, f


@inline
def pass_wrench(i, to_parent, n, f, topology, bodies, tree):
    """Pass a wrench (n, f) of body i to its parent; return what body i − 1 receives in registers."""
    if topology[i, PARENT] == WORLD:
        return ZERO, ZERO
    n = add(n, cross(load3(bodies.arm[i]), f))
    if to_parent == IN_REGISTERS:
        return n, f
    store3(tree.sums[i], n)
    store3(tree.sums[i], f, 3)
    return ZERO, ZERO


@inline
def velocity_at(omega, velocity, arm, frame):
    """The velocity of a place `arm` away from the origin of a body with this twist, in `frame`."""
    return mul(frame, add(velocity, cross(omega, arm)))


@inline
def shifted_mobility(r, E, F, H):
    """The mobility [E F; Fᵀ H] at a place r away: T Y Tᵀ."""
    F_shifted = minus(F, cross_right(full(E), r))
    H_shifted = minus(minus(full(H), cross_matrix(r, F_shifted)), cross_right(transpose(F), r))
    return E, F_shifted, upper(H_shifted)


@inline
def _mobility_past_axis(i, k, kind, e, E, F, H, tree):
    """The mobility behind axis k of body i's joint, S = e, from that before it.

    It is S D⁻¹ Sᵀ + (1 − S D⁻¹ Uᵀ) Y (1 − S D⁻¹ Uᵀ)ᵀ. Returns also the axis's own mobility.
    """
    U, d = tree.U[i], tree.inverse[i, k]
    x, y = scale(d, load3(U, 6 * k)), scale(d, load3(U, 6 * k + 3))
    a, b = add(mul(full(E), x), mul(F, y)), add(mul_t(F, x), mul(full(H), y))
    own = d + dot(x, a) + dot(y, b)
    if kind == REVOLUTE:
        a = sub(a, scale(0.5 * own, e))
        A = minus_outer(minus_outer(full(E), e, a), a, e)
        return upper(A), minus_outer(F, e, b), H, own
    b = sub(b, scale(0.5 * own, e))
    C = minus_outer(minus_outer(full(H), e, b), b, e)
    return E, minus_outer(F, a, e), upper(C), own


@inline
def mobility_of(i, E, F, H, topology, bodies, tree, own):
    """The mobility (inverse articulated operational-space inertia) of body i, from its parent's at the same place.

    The joint's own mobilities, by axis, go into `own` (nv,), except those of a free joint.
    """
    kind, start, D = topology[i, KIND], topology[i, V_START], tree.inverse[i]
    if kind == FREE:
        return upper(load9(D)), load9(D, 9), upper(load9(D, 18))
    if has_one_axis(kind):
        E, F, H, own[start] = _mobility_past_axis(
            i, 0, kind, mimics.axis(i, axis_of(bodies.rotation[i]), tree), E, F, H, tree
        )
    else:
        for k in range(2, -1, -1):
            E, F, H, own[start + k] = _mobility_past_axis(i, k, REVOLUTE, column(bodies.rotation[i], k), E, F, H, tree)
    return E, F, H


@inline
def mobility_at(E, F, H, r):
    """E Y Eᵀ (3 × 3), E = [−[r] 1]: the velocity per unit force at a place r away from a body's origin."""
    return full(shifted_mobility(r, E, F, H)[2])
