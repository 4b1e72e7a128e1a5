"""The articulated-body recursion for bodies with any 6 × 6 inertias, symmetric or not: O(n) for any tree.

It solves (M + d + JᵀΩJ) dv = τ + Jᵀs where JᵀΩJ adds a 6 × 6 matrix K_i to the inertia of each body i:

    I^A = I + K + Σ over children,  U = I^A S,  D = Sᵀ U + d,  G = D⁻¹ Sᵀ I^A,  t = D⁻¹ (τ − Sᵀ p)
    to the parent:  I^A − U G,  p + U t           and back:  dv = t − G a,  a = a_parent + S dv

(Featherstone 2008, 7.3, but that I^A need not be symmetric.) All vectors are in the axes of the world, each body's
about the origin of its own frame: from body to body they are shifted and never turned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline, kernel
from engine.kernels.spatial import add, cross, dot, load3, load9, matmul, mul, mul_t, scale, store3, sub
from engine.model import FREE, PRISMATIC, REVOLUTE, WORLD


class Places(NamedTuple):
    """Where n bodies are: `rotation` (n, 9) in the world by rows, and `arm` (n, 3) from the parent's origin."""

    rotation: NDArray[np.floating]
    arm: NDArray[np.floating]


class Recursion(NamedTuple):
    """What one matrix leaves, for n bodies: `inertia` I^A, `U`, `G` and `inverse` D⁻¹, (n, 36) each.

    Of a joint with one axis the leading 6 numbers of `U` and `G` and the first of `inverse` count. A ball joint's and a
    free joint's are 6 × 3 and 6 × 6, along the axes of the world, by rows; `G` likewise (3 × 6 and 6 × 6).
    """

    inertia: NDArray[np.floating]
    U: NDArray[np.floating]
    G: NDArray[np.floating]
    inverse: NDArray[np.floating]


class Vectors(NamedTuple):
    """What one right-hand side leaves, for n bodies: the bias `force` p, the joint's `t`, the twist a, (n, 6) each."""

    force: NDArray[np.floating]
    t: NDArray[np.floating]
    twist: NDArray[np.floating]


def recursion(bodies: int) -> Recursion:
    """Room for the recursion over so many bodies."""
    return Recursion(*(np.zeros((bodies, 36)) for _ in range(4)))


def vectors(bodies: int) -> Vectors:
    """Room for a right-hand side over so many bodies."""
    return Vectors(*(np.zeros((bodies, 6)) for _ in range(3)))


@inline
def has_one_axis(kind):
    """Whether a joint of this kind turns about one axis or slides along one."""
    return kind <= PRISMATIC


@inline
def axis_of(rotation):
    """The axis of a joint that has one: z of its body."""
    return rotation[2], rotation[5], rotation[8]


@inline
def block(A, row, column):
    """Of a 6 × 6 matrix the 3 × 3 block whose first entry is at (row, column)."""
    k = 6 * row + column
    return A[k], A[k + 1], A[k + 2], A[k + 6], A[k + 7], A[k + 8], A[k + 12], A[k + 13], A[k + 14]


@inline
def put_block(A, row, column, x):
    """A 3 × 3 block into a 6 × 6 matrix."""
    k = 6 * row + column
    A[k], A[k + 1], A[k + 2] = x[0], x[1], x[2]
    A[k + 6], A[k + 7], A[k + 8] = x[3], x[4], x[5]
    A[k + 12], A[k + 13], A[k + 14] = x[6], x[7], x[8]


@inline
def add_block(A, row, column, x):
    """A 3 × 3 block on top of what is in a 6 × 6 matrix."""
    k = 6 * row + column
    A[k] += x[0]
    A[k + 1] += x[1]
    A[k + 2] += x[2]
    A[k + 6] += x[3]
    A[k + 7] += x[4]
    A[k + 8] += x[5]
    A[k + 12] += x[6]
    A[k + 13] += x[7]
    A[k + 14] += x[8]


@inline
def sum9(A, B):
    """The sum of two 3 × 3 matrices."""
    return (
        A[0] + B[0], A[1] + B[1], A[2] + B[2], A[3] + B[3], A[4] + B[4], A[5] + B[5], A[6] + B[6], A[7] + B[7],
        A[8] + B[8],
    )  # fmt: skip


@inline
def less9(A, B):
    """The difference of two 3 × 3 matrices."""
    return (
        A[0] - B[0], A[1] - B[1], A[2] - B[2], A[3] - B[3], A[4] - B[4], A[5] - B[5], A[6] - B[6], A[7] - B[7],
        A[8] - B[8],
    )  # fmt: skip


@inline
def cross_left(r, A):
    """[r] A, for a 3 × 3 matrix."""
    x, y, z = r
    return (
        y * A[6] - z * A[3], y * A[7] - z * A[4], y * A[8] - z * A[5],
        z * A[0] - x * A[6], z * A[1] - x * A[7], z * A[2] - x * A[8],
        x * A[3] - y * A[0], x * A[4] - y * A[1], x * A[5] - y * A[2],
    )  # fmt: skip


@inline
def cross_right(A, r):
    """−A [r], for a 3 × 3 matrix: its rows turned by r ×."""
    x, y, z = r
    return (
        y * A[2] - z * A[1], z * A[0] - x * A[2], x * A[1] - y * A[0],
        y * A[5] - z * A[4], z * A[3] - x * A[5], x * A[4] - y * A[3],
        y * A[8] - z * A[7], z * A[6] - x * A[8], x * A[7] - y * A[6],
    )  # fmt: skip


@inline
def add_shifted(A, r, B):
    """Add to A the inertia B of a place that lies r away: A += Tᵀ B T, T the shift of twists."""
    angular, right, left, linear = block(B, 0, 0), block(B, 0, 3), block(B, 3, 0), block(B, 3, 3)
    turned = cross_left(r, linear)
    corner = sum9(sum9(angular, cross_right(right, r)), cross_left(r, sum9(left, cross_right(linear, r))))
    add_block(A, 0, 0, corner)
    add_block(A, 0, 3, sum9(right, turned))
    add_block(A, 3, 0, sum9(left, cross_right(linear, r)))
    add_block(A, 3, 3, linear)


@inline
def add_at(A, r, omega):
    """Add to A what a 3 × 3 matrix asks of the velocity of a place r away: Eᵀ Ω E, E = [−[r] 1]."""
    turned = cross_left(r, omega)
    add_block(A, 0, 0, cross_right(turned, r))
    add_block(A, 0, 3, turned)
    add_block(A, 3, 0, cross_right(omega, r))
    add_block(A, 3, 3, omega)


@inline
def put_rigid(A, R, mass, moment, inertia):
    """The inertia of a rigid body, turned into the axes of the world; its numbers are in its own frame."""
    h = mul(R, moment)
    turned = matmul(matmul(R, inertia), (R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8]))
    put_block(A, 0, 0, turned)
    put_block(A, 0, 3, (0.0, -h[2], h[1], h[2], 0.0, -h[0], -h[1], h[0], 0.0))
    put_block(A, 3, 0, (0.0, h[2], -h[1], -h[2], 0.0, h[0], h[1], -h[0], 0.0))
    put_block(A, 3, 3, (mass, 0.0, 0.0, 0.0, mass, 0.0, 0.0, 0.0, mass))


@kernel
def invert(A, many, stride):
    """The inverse of the leading many × many block of A, whose rows are `stride` apart, in place (Gauss and Jordan).

    Without exchange of rows: the part of these matrices that is symmetric is positive.
    """
    for k in range(many):
        pivot = 1.0 / A[stride * k + k]
        A[stride * k + k] = 1.0
        for j in range(many):
            A[stride * k + j] *= pivot
        for i in range(many):
            if i != k:
                share = A[stride * i + k]
                A[stride * i + k] = 0.0
                for j in range(many):
                    A[stride * i + j] -= share * A[stride * k + j]


@inline
def _one_axis(i, offset, axis, added, tree):
    """U, G and D⁻¹ of a joint that turns (offset 0) or slides (3); I^A then is what the parent gets."""
    A, U, G = tree.inertia[i], tree.U[i], tree.G[i]
    D = added
    for r in range(6):
        U[r] = A[6 * r + offset] * axis[0] + A[6 * r + offset + 1] * axis[1] + A[6 * r + offset + 2] * axis[2]
    for r in range(3):
        D += axis[r] * U[offset + r]
    inverse = 1.0 / D
    tree.inverse[i, 0] = inverse
    for c in range(6):
        k = 6 * offset + c
        G[c] = inverse * (A[k] * axis[0] + A[k + 6] * axis[1] + A[k + 12] * axis[2])
    for r in range(6):
        for c in range(6):
            A[6 * r + c] -= U[r] * G[c]


@kernel
def _many_axes(i, many, R, added, first, tree):
    """The same of a ball joint (3) or a free joint (6), whose `added` numbers (from `first` on) are of its own axes."""
    A, U, G, D = tree.inertia[i], tree.U[i], tree.G[i], tree.inverse[i]
    for r in range(6):
        for c in range(many):
            U[many * r + c] = A[6 * r + c]
    for r in range(many):
        for c in range(many):
            D[many * r + c] = A[6 * r + c]
    for half in range(0, many, 3):
        for r in range(3):
            for c in range(3):
                for k in range(3):
                    D[many * (half + r) + half + c] += R[3 * r + k] * added[first + half + k] * R[3 * c + k]
    invert(D, many, many)
    for r in range(many):
        for c in range(6):
            total = 0.0
            for k in range(many):
                total += D[many * r + k] * A[6 * k + c]
            G[6 * r + c] = total
    for r in range(6):
        for c in range(6):
            total = 0.0
            for k in range(many):
                total += U[many * r + k] * G[6 * k + c]
            A[6 * r + c] -= total


@inline
def eliminate(i, topology, places, added, tree):
    """U, G and D⁻¹ of body i from its whole I^A, of which the parent gets its share; `added` (nv,) is d."""
    kind, parent, start = topology[i, 1], topology[i, 0], topology[i, 3]
    if has_one_axis(kind):
        _one_axis(i, 0 if kind == REVOLUTE else 3, axis_of(places.rotation[i]), added[start], tree)
    else:
        _many_axes(i, 6 if kind == FREE else 3, places.rotation[i], added, start, tree)
    if parent != WORLD:
        add_shifted(tree.inertia[parent], load3(places.arm[i], 0, 1), tree.inertia[i])


@inline
def _force_of(places, i, half, tau, start):
    """Three generalized forces of a ball or free joint in the axes of the world."""
    return mul(load9(places.rotation[i], 0, 1), load3(tau, start + half, 1))


@inline
def gather(i, topology, places, tau, tree, vector):
    """t of body i from its p, of which the parent gets its share; `tau` (nv,)."""
    kind, parent, start = topology[i, 1], topology[i, 0], topology[i, 3]
    p, t, U, D = vector.force[i], vector.t[i], tree.U[i], tree.inverse[i]
    n, f = load3(p, 0, 1), load3(p, 3, 1)
    if has_one_axis(kind):
        along = dot(axis_of(places.rotation[i]), n if kind == REVOLUTE else f)
        x = D[0] * (tau[start] - along)
        t[0] = x
        if parent != WORLD:
            n, f = add(n, scale(x, load3(U, 0, 1))), add(f, scale(x, load3(U, 3, 1)))
    else:
        many = 6 if kind == FREE else 3
        a = sub(_force_of(places, i, 0, tau, start), n)
        b = sub(_force_of(places, i, 3, tau, start), f) if kind == FREE else (0.0, 0.0, 0.0)
        for r in range(many):
            total = D[many * r] * a[0] + D[many * r + 1] * a[1] + D[many * r + 2] * a[2]
            if kind == FREE:
                total += D[many * r + 3] * b[0] + D[many * r + 4] * b[1] + D[many * r + 5] * b[2]
            t[r] = total
        if parent != WORLD:
            for r in range(6):
                for c in range(many):
                    p[r] += U[many * r + c] * t[c]
            n, f = load3(p, 0, 1), load3(p, 3, 1)
    if parent != WORLD:
        above, r = vector.force[parent], load3(places.arm[i], 0, 1)
        store3(above, 0, 1, add(load3(above, 0, 1), add(n, cross(r, f))))
        store3(above, 3, 1, add(load3(above, 3, 1), f))


@inline
def carried(i, topology, places, base, twists):
    """The twist of body i's origin as its parent moves it; `base` (3,) is the linear one of the world."""
    parent = topology[i, 0]
    if parent == WORLD:
        return (0.0, 0.0, 0.0), base
    above = twists[parent]
    omega = load3(above, 0, 1)
    return omega, add(load3(above, 3, 1), cross(omega, load3(places.arm[i], 0, 1)))


@inline
def move(i, omega, velocity, topology, places, tree, vector, out):
    """dv of body i's joint into `out` (nv,), and its twist, from that which its parent gives it."""
    kind, start = topology[i, 1], topology[i, 3]
    t, G, twist = vector.t[i], tree.G[i], vector.twist[i]
    if has_one_axis(kind):
        x = t[0] - (dot(load3(G, 0, 1), omega) + dot(load3(G, 3, 1), velocity))
        out[start] = x
        along = scale(x, axis_of(places.rotation[i]))
        if kind == REVOLUTE:
            omega = add(omega, along)
        else:
            velocity = add(velocity, along)
    else:
        a = _less(t, G, 0, omega, velocity)
        R = load9(places.rotation[i], 0, 1)
        store3(out, start, 1, mul_t(R, a))
        if kind == FREE:
            b = _less(t, G, 3, omega, velocity)
            store3(out, start + 3, 1, mul_t(R, b))
            velocity = add(velocity, b)
        omega = add(omega, a)
    store3(twist, 0, 1, omega)
    store3(twist, 3, 1, velocity)


@inline
def add_joint(i, omega, velocity, topology, places, v):
    """The twist of body i that its parent gives it, with what its joint adds at the velocities v (nv,)."""
    kind, start, R = topology[i, 1], topology[i, 3], load9(places.rotation[i], 0, 1)
    if kind == REVOLUTE:
        omega = add(omega, scale(v[start], axis_of(R)))
    elif kind == PRISMATIC:
        velocity = add(velocity, scale(v[start], axis_of(R)))
    else:
        omega = add(omega, mul(R, load3(v, start, 1)))
        if kind == FREE:
            velocity = add(velocity, mul(R, load3(v, start + 3, 1)))
    return omega, velocity


@inline
def _less(t, G, row, omega, velocity):
    """Three of the numbers t − G a."""
    x = (
        dot(load3(G, 6 * row, 1), omega) + dot(load3(G, 6 * row + 3, 1), velocity),
        dot(load3(G, 6 * row + 6, 1), omega) + dot(load3(G, 6 * row + 9, 1), velocity),
        dot(load3(G, 6 * row + 12, 1), omega) + dot(load3(G, 6 * row + 15, 1), velocity),
    )
    return sub(load3(t, row, 1), x)


@inline
def _shifted(Y, r, above):
    """The mobility `above` as it is a place r away: T Y Tᵀ, into Y."""
    angular, right, left, linear = block(above, 0, 0), block(above, 0, 3), block(above, 3, 0), block(above, 3, 3)
    turned = less9(right, cross_right(angular, r))
    put_block(Y, 0, 0, angular)
    put_block(Y, 0, 3, turned)
    put_block(Y, 3, 0, less9(left, cross_left(r, angular)))
    put_block(Y, 3, 3, less9(less9(linear, cross_left(r, turned)), cross_right(left, r)))


@kernel
def mobility(i, topology, places, tree, spread):
    """`spread` (n, 36): of body i the twist that a unit wrench on it makes, from its parent's; symmetric matrices only.

    With Y of the parent shifted here: S D⁻¹ Sᵀ + (1 − S G) Y (1 − S G)ᵀ. Answers, of a joint with one axis, what a unit
    force on it makes of its own velocity.
    """
    parent, kind, Y, G, D = topology[i, 0], topology[i, 1], spread[i], tree.G[i], tree.inverse[i]
    for k in range(36):
        Y[k] = 0.0
    if parent != WORLD:
        _shifted(Y, load3(places.arm[i], 0, 1), spread[parent])
    if not has_one_axis(kind):
        many = 6 if kind == FREE else 3
        for r in range(many):  # rows, then columns, of (1 − S G) Y (1 − S G)ᵀ
            for c in range(6):
                total = 0.0
                for k in range(6):
                    total += G[6 * r + k] * Y[6 * k + c]
                tree.inertia[i, 6 * r + c] = total
        for r in range(many):
            for c in range(6):
                Y[6 * r + c] -= tree.inertia[i, 6 * r + c]
        for r in range(6):
            for c in range(many):
                total = 0.0
                for k in range(6):
                    total += Y[6 * r + k] * G[6 * c + k]
                tree.inertia[i, 6 * r + c] = total
        for r in range(6):
            for c in range(many):
                Y[6 * r + c] -= tree.inertia[i, 6 * r + c]
        for r in range(many):
            for c in range(many):
                Y[6 * r + c] += D[many * r + c]
        return 0.0
    offset, axis = 0 if kind == REVOLUTE else 3, axis_of(places.rotation[i])
    own, z = D[0], tree.inertia[i]
    for r in range(6):
        total = 0.0
        for c in range(6):
            total += Y[6 * r + c] * G[c]
        z[r] = total
        own += G[r] * total
    for r in range(3):
        for c in range(6):
            Y[6 * (offset + r) + c] -= axis[r] * z[c]
            Y[6 * c + offset + r] -= axis[r] * z[c]
    for r in range(3):
        for c in range(3):
            Y[6 * (offset + r) + offset + c] += own * axis[r] * axis[c]
    return own


@inline
def mobility_at(Y, r):
    """(3 × 3): what velocity a unit force at a place r away from a body's origin makes there: E Y Eᵀ, E = [−[r] 1]."""
    angular, right, left, linear = block(Y, 0, 0), block(Y, 0, 3), block(Y, 3, 0), block(Y, 3, 3)
    turned = less9(right, cross_right(angular, r))
    return less9(less9(linear, cross_left(r, turned)), cross_right(left, r))
