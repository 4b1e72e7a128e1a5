"""A primal–dual interior point method on the exact law of `contact_law`, for where rounds do not reach the tolerance.

Mehrotra's predictor and corrector (1992) over second-order cones (Alizadeh and Goldfarb 2003), with De Saxcé's
correction inside the equations, as Howell and others 2022 have it. Scaled by 1/√(tr G_ii/3) a contact and 1/√G_jj a
joint row, and so that the greatest |b| is 1. For a contact x = (μ λ_n, λ_t), y = (w_n/μ, w_t), w = u + μ|w_t| n:

    L_y dx + L_x dy = σν e − x∘y,   dw = B (G dλ + r),   B = [[1, μ w_tᵀ/|w_t|], [0, 1]]

A joint row has λ = fr + below − above and the pairs (f + fr, β), (f − fr, α), (below, u − lo), (above, hi − u), where
u = β − α at the end; all of them are eliminated, which leaves a damper: dλ = −W du + c.
"""

from __future__ import annotations

import numpy as np

from engine.cpu.constraints.contact_law import TINY, residual, size_of
from engine.cpu.constraints.contact_rounds import REGULAR, velocities
from engine.cpu.constraints.linear_systems import factorise, substitute
from engine.cpu.runtime.native import inline, kernel

_D, _B, _IMPULSE, _W, _R, _BASE, _CORRECTION, _STEP, _U, _DU = range(10)  # rows of `Room.vectors`, scaled
_ON, _LAW, _X, _DX = 0, 3, 6, 14  # rows of `Room.pairs`: which pairs there are (3), f lo hi (3), pairs (8), steps (8)
_FAR = 1e9
_GUESS = 1e-4  # on the matrix's diagonal, for a first guess of the impulses' size
_INFINITE = 1e30


@inline
def jordan(x, y):
    """x ∘ y of the second-order cone."""
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2], x[0] * y[1] + y[0] * x[1], x[0] * y[2] + y[0] * x[2]


@inline
def to_boundary(x, d):
    """The largest a with x + a d in the cone x₀ ≥ |x₁,₂|."""
    a, b = d[0] * d[0] - d[1] * d[1] - d[2] * d[2], x[0] * d[0] - x[1] * d[1] - x[2] * d[2]
    c = max(x[0] * x[0] - x[1] * x[1] - x[2] * x[2], 0.0)
    best, discriminant = _INFINITE, b * b - a * c
    if discriminant >= 0.0:
        root = np.sqrt(discriminant)
        s = -(b + (root if b >= 0.0 else -root))  # both roots without cancellation
        if a != 0.0 and s / a > 0.0:
            best = s / a
        if s != 0.0 and c / s > 0.0:
            best = min(best, c / s)
    return min(best, -x[0] / d[0]) if d[0] < 0.0 else best


@inline
def _scale(system, contacts, joints, room):
    """The scaled matrix and b, the first iterate; answers what an impulse of 1 is there."""
    G, b, mu, rows = system
    n, A, vectors, pairs = 3 * contacts + joints, room.scaled, room.vectors, room.pairs
    size = TINY
    for k in range(n):
        vectors[_D, k] = np.sqrt(1.0 / (size_of(G, k - k % 3) if k < 3 * contacts else G[k, k]))
        size = max(size, abs(b[k] * vectors[_D, k]))
    for k in range(n):
        vectors[_B, k] = b[k] * vectors[_D, k] / size
        for j in range(n):
            A[k, j] = G[k, j] * vectors[_D, k] * vectors[_D, j]
            room.A[k, j] = A[k, j]
        room.A[k, k] += _GUESS
        vectors[_STEP, k] = -vectors[_B, k]
    wide = 1.0
    if factorise(room.A, room.pivots, n):
        substitute(room.A, room.pivots, n, vectors[_STEP])
        for i in range(contacts):
            k = 3 * i
            x, y, z = vectors[_STEP, k], vectors[_STEP, k + 1], vectors[_STEP, k + 2]
            wide = max(wide, max(abs(x), np.sqrt(y * y + z * z) / mu[i]))
    for i in range(contacts):
        for c in range(3):
            vectors[_IMPULSE, 3 * i + c] = wide if c == 0 else 0.0
            vectors[_W, 3 * i + c] = 1.0 if c == 0 else 0.0
    for j in range(joints):
        e = vectors[_D, 3 * contacts + j]
        f, low, high = rows[j, 0], rows[j, 1], rows[j, 2]
        pairs[_ON, j], pairs[_LAW, j] = 1.0 if f > 0.0 else 0.0, f / e / size
        pairs[_ON + 1, j], pairs[_LAW + 1, j] = (1.0, low * e / size) if low > -_FAR else (0.0, 0.0)
        pairs[_ON + 2, j], pairs[_LAW + 2, j] = (1.0, high * e / size) if high < _FAR else (0.0, 0.0)
        friction = pairs[_LAW, j] if f > 0.0 else 1.0
        pairs[_X, j], pairs[_X + 1, j] = friction, pairs[_ON, j]
        pairs[_X + 2, j], pairs[_X + 3, j] = friction, pairs[_ON, j]
        pairs[_X + 4, j], pairs[_X + 5, j] = pairs[_ON + 1, j], 1.0
        pairs[_X + 6, j], pairs[_X + 7, j] = pairs[_ON + 2, j], 1.0
        vectors[_IMPULSE, 3 * contacts + j] = pairs[_X + 4, j] - pairs[_X + 6, j]
    return size


@inline
def _gap(contacts, joints, room):
    """ν: the mean of the products of all pairs."""
    vectors, pairs = room.vectors, room.pairs
    total, count = 0.0, 1.0 * contacts
    for k in range(3 * contacts):
        total += vectors[_IMPULSE, k] * vectors[_W, k]
    for j in range(joints):
        for pair in range(4):
            total += pairs[_X + 2 * pair, j] * pairs[_X + 2 * pair + 1, j]
        count += 2.0 * pairs[_ON, j] + pairs[_ON + 1, j] + pairs[_ON + 2, j]
    return total / max(count, 1.0)


@inline
def _contact_equations(k, mu, n, room):
    """The equations of the contact whose rows begin at k, into `room.A` and the base of the right-hand side."""
    A, K, vectors = room.scaled, room.A, room.vectors
    p = (mu * vectors[_IMPULSE, k], vectors[_IMPULSE, k + 1], vectors[_IMPULSE, k + 2])
    w = (vectors[_W, k], vectors[_W, k + 1], vectors[_W, k + 2])
    q, t = (w[0] / mu, w[1], w[2]), np.sqrt(w[1] * w[1] + w[2] * w[2])
    vectors[_R, k] += mu * t
    r = (vectors[_R, k], vectors[_R, k + 1], vectors[_R, k + 2])
    slope, o = mu / t if t > 0.0 else 0.0, jordan(p, q)
    for h in range(3):
        first = p[h] / mu
        c1 = first * slope * w[1] + (p[1] if h == 0 else (p[0] if h == 1 else 0.0))
        c2 = first * slope * w[2] + (p[2] if h == 0 else (p[0] if h == 2 else 0.0))
        for j in range(n):
            K[k + h, j] = first * A[k, j] + c1 * A[k + 1, j] + c2 * A[k + 2, j]
        K[k + h, k] += REGULAR * first + mu * q[h]
        K[k + h, k + 1] += REGULAR * c1
        K[k + h, k + 2] += REGULAR * c2
        vectors[_BASE, k + h] = -(first * r[0] + c1 * r[1] + c2 * r[2]) - o[h]
    for h in range(1, 3):
        K[k, k + h] += q[h]
        K[k + h, k + h] += q[0]


@inline
def _friction_damping(pairs, j):
    """The damper that the friction of joint row j is."""
    on = pairs[_ON, j]
    return on / (pairs[_X + 1, j] / pairs[_X, j] + pairs[_X + 3, j] / pairs[_X + 2, j] + (1.0 - on))


@inline
def _damping(pairs, j):
    """W: the damper that joint row j is."""
    below, above = pairs[_X + 4, j] / pairs[_X + 5, j], pairs[_X + 6, j] / pairs[_X + 7, j]
    return _friction_damping(pairs, j) + below + above


@inline
def _joint_right_side(j, k, aim, room):
    """The right-hand side of joint row j."""
    pairs, vectors = room.pairs, room.vectors
    x0, x2, x4, x5, x6, x7 = (
        pairs[_X, j], pairs[_X + 2, j], pairs[_X + 4, j], pairs[_X + 5, j], pairs[_X + 6, j], pairs[_X + 7, j],
    )  # fmt: skip
    u, apart = vectors[_U, k], vectors[_IMPULSE, k] - (x0 - x2) / 2.0 - x4 + x6
    c = -_friction_damping(pairs, j) * (u - aim / x0 + aim / x2)
    c += pairs[_ON + 1, j] * (aim - x4 * (u - pairs[_LAW + 1, j])) / x5
    c -= pairs[_ON + 2, j] * (aim + x6 * (u - pairs[_LAW + 2, j])) / x7
    return (c - apart) / (1.0 + _damping(pairs, j))


@inline
def _joint_step(j, k, aim, room):
    """The steps of joint row j's pairs; answers how far they may go."""
    pairs, vectors = room.pairs, room.vectors
    u, reach = vectors[_DU, k] + vectors[_U, k], _INFINITE
    x0, x1, x2, x3 = pairs[_X, j], pairs[_X + 1, j], pairs[_X + 2, j], pairs[_X + 3, j]
    d0 = -_friction_damping(pairs, j) * (u - aim / x0 + aim / x2)
    on, low, high = pairs[_ON, j], pairs[_ON + 1, j], pairs[_ON + 2, j]
    pairs[_DX, j], pairs[_DX + 2, j] = d0, -d0
    pairs[_DX + 1, j] = on * ((aim - x1 * d0) / x0 - x1)
    pairs[_DX + 3, j] = on * ((aim + x3 * d0) / x2 - x3)
    d5 = low * (u - pairs[_LAW + 1, j] - pairs[_X + 5, j])
    d7 = high * (pairs[_LAW + 2, j] - u - pairs[_X + 7, j])
    pairs[_DX + 5, j], pairs[_DX + 7, j] = d5, d7
    pairs[_DX + 4, j] = low * ((aim - pairs[_X + 4, j] * d5) / pairs[_X + 5, j] - pairs[_X + 4, j])
    pairs[_DX + 6, j] = high * ((aim - pairs[_X + 6, j] * d7) / pairs[_X + 7, j] - pairs[_X + 6, j])
    for pair in range(8):
        here, way = pairs[_X + pair, j], pairs[_DX + pair, j]
        if here > 0.0 and way < 0.0:
            reach = min(reach, -here / way)
    return reach


@inline
def _contact_step(k, mu, room):
    """The step of w of the contact whose rows begin at k, and its second order; answers how far it may go."""
    vectors = room.vectors
    w1, w2 = vectors[_W, k + 1], vectors[_W, k + 2]
    t = np.sqrt(w1 * w1 + w2 * w2)
    for c in range(3):
        vectors[_DU, k + c] += vectors[_R, k + c]
    if t > 0.0:
        vectors[_DU, k] += mu * (w1 * vectors[_DU, k + 1] + w2 * vectors[_DU, k + 2]) / t
    p = (mu * vectors[_IMPULSE, k], vectors[_IMPULSE, k + 1], vectors[_IMPULSE, k + 2])
    dp = (mu * vectors[_STEP, k], vectors[_STEP, k + 1], vectors[_STEP, k + 2])
    q = (vectors[_W, k] / mu, w1, w2)
    dq = (vectors[_DU, k] / mu, vectors[_DU, k + 1], vectors[_DU, k + 2])
    o = jordan(dp, dq)
    for c in range(3):
        vectors[_CORRECTION, k + c] = o[c]
    return min(to_boundary(p, dp), to_boundary(q, dq))


@kernel
def _equations(system, contacts, joints, room):
    """Newton's matrix, factorised, and the base of the right-hand side; answers whether that was possible."""
    A, K, vectors, pairs, n = room.scaled, room.A, room.vectors, room.pairs, 3 * contacts + joints
    for k in range(n):
        total = vectors[_B, k]
        for j in range(n):
            total += A[k, j] * vectors[_IMPULSE, j]
        vectors[_U, k] = total
        vectors[_CORRECTION, k] = 0.0
        vectors[_R, k] = total - vectors[_W, k]
    for i in range(contacts):
        _contact_equations(3 * i, system.mu[i], n, room)
    for j in range(joints):
        k, damper = 3 * contacts + j, _damping(pairs, j)
        for c in range(n):
            K[k, c] = A[k, c] * damper / (1.0 + damper)
        K[k, k] += 1.0 / (1.0 + damper)
    return factorise(K, room.pivots, n)


@kernel
def _direction(system, contacts, joints, room, aim):
    """The step towards products of `aim`; answers how far it may go."""
    A, vectors, n, reach = room.scaled, room.vectors, 3 * contacts + joints, _INFINITE
    for k in range(3 * contacts):
        vectors[_STEP, k] = vectors[_BASE, k] - vectors[_CORRECTION, k] + (aim if k % 3 == 0 else 0.0)
    for j in range(joints):
        vectors[_STEP, 3 * contacts + j] = _joint_right_side(j, 3 * contacts + j, aim, room)
    substitute(room.A, room.pivots, n, vectors[_STEP])
    for k in range(n):
        total = 0.0
        for j in range(n):
            total += A[k, j] * vectors[_STEP, j]
        vectors[_DU, k] = total
    for i in range(contacts):
        reach = min(reach, _contact_step(3 * i, system.mu[i], room))
    for j in range(joints):
        reach = min(reach, _joint_step(j, 3 * contacts + j, aim, room))
    return reach


@kernel
def interior_point(system, contacts, joints, room, tolerance, most_steps, least_centring, longest):
    """From cold, the impulses that leave least, in `room.impulses`; answers how many steps it took.

    `least_centring` bounds σ from below, `longest` the share of the way to the boundary.
    """
    n, vectors, pairs, impulses = 3 * contacts + joints, room.vectors, room.pairs, room.impulses
    size = _scale(system, contacts, joints, room)
    least, length, steps = _INFINITE, 1.0, 0
    for step in range(most_steps + 1):
        steps = step
        for k in range(n):
            impulses[k] = vectors[_IMPULSE, k] * vectors[_D, k] * size
        velocities(system, n, impulses, room.u)
        left = residual(system, contacts, joints, impulses, room.u)
        if left < least:
            least = left
            for k in range(n):
                room.step[k] = impulses[k]
        if least <= tolerance or step == most_steps or not left < _INFINITE:
            break
        if not _equations(system, contacts, joints, room):
            break
        gap = _gap(contacts, joints, room)
        reach = _direction(system, contacts, joints, room, 0.0)
        rest = 1.0 - min(reach, 1.0)  # what the predictor would leave of the gap sets the centring
        centring = min(max(max(least_centring, rest * rest * rest), 0.5 if length < 0.3 else 0.0), 1.0)
        if rest > 0.9 or length < 0.3:  # blocked: no second order
            for k in range(3 * contacts):
                vectors[_CORRECTION, k] = 0.0
        reach = _direction(system, contacts, joints, room, centring * gap)
        length = min(1.0, min(longest, max(0.9, 1.0 - gap)) * reach)
        for k in range(n):
            vectors[_IMPULSE, k] += length * vectors[_STEP, k]
        for k in range(3 * contacts):
            vectors[_W, k] += length * vectors[_DU, k]
        for j in range(joints):
            for pair in range(8):
                pairs[_X + pair, j] += length * pairs[_DX + pair, j]
    for k in range(n):
        impulses[k] = room.step[k]
    return steps
