"""A primal-dual interior-point method on the exact law of `contact_law`, where rounds miss the tolerance.

Mehrotra's predictor-corrector (1992) over second-order cones (Alizadeh and Goldfarb 2003), with De Saxcé's correction
in the equations (Howell and others 2022). A contact is scaled by 1/√(tr G_ii/3), a joint row by 1/√G_jj, and the
largest |b| to 1. For a contact x = (μ λ_n, λ_t), y = (w_n/μ, w_t), w = u + μ|w_t| n:

    L_y dx + L_x dy = σν e − x∘y,   dw = B (du + r),   B = [[1, μ w_tᵀ/|w_t|], [0, 1]]

so that dλ = c − Ω (du + r). A joint row has λ = fr + below − above and the complementarity pairs (f + fr, β), (f − fr,
α), (below, u − lo), (above, hi − u), with u = β − α at the solution; eliminating all of them leaves a damping: dλ = c −
Ω du.

The scaled G is A = H Hᵀ, H (n, m) by Cholesky's method with pivoting, m its rank, at most the robot's velocities. So u
= H z + b and z = Hᵀ λ: the system (1 + Hᵀ Ω H) dz = Hᵀ (λ + c − Ω r) − z is regular for any number of redundant
contacts. z is an iterate beside λ, since Ω amplifies the rounding errors of A λ + b.
"""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.cpu.constraints.contact_law import TINY, residual, size_of
from engine.cpu.constraints.contact_rounds import velocities
from engine.cpu.constraints.linear_systems import factorise, pivoted_cholesky, substitute
from engine.kernels.contact.cone import INFINITE, divided, jordan, to_boundary

_D, _IMPULSE, _W, _R, _CORRECTION, _STEP, _U, _DU, _DZ, _Z, _B = range(11)  # rows of `RoundsWorkspace.vectors`, scaled
_OMEGA = 11  # and three of them: the columns of Ω, row by row
_ON, _LAW, _X, _DX = 0, 3, 6, 14
"""Rows of `RoundsWorkspace.pairs`: which pairs there are (3), f, lo and hi (3), the pairs (8), their changes (8)."""
_FAR = 1e9
_GUESS = 1e-4  # on the matrix's diagonal, to estimate the impulses' size
_WIDEST = 1e3  # of that estimate


@inline
def _scale(system, contacts, joints, room):
    """Compute H; return the unit of impulses, an estimate of the largest scaled impulse, and m."""
    G, b, mu = system.G, system.b, system.mu
    n, H, K, vectors = 3 * contacts + joints, room.scaled, room.A, room.vectors
    size = TINY
    for k in range(n):
        vectors[_D, k] = np.sqrt(1.0 / (size_of(G, k - k % 3) if k < 3 * contacts else G[k, k]))
        size = max(size, abs(b[k] * vectors[_D, k]))
    for k in range(n):
        vectors[_B, k] = b[k] * vectors[_D, k] / size
        for j in range(n):
            K[k, j] = G[k, j] * vectors[_D, k] * vectors[_D, j]
    m = pivoted_cholesky(K, H, vectors[_DZ], n)
    for k in range(m):
        for j in range(m):
            K[k, j] = 0.0
        K[k, k] = _GUESS
    for i in range(n):
        for k in range(m):
            for j in range(m):
                K[k, j] += H[i, k] * H[i, j]
    _to_velocities(H, n, m, vectors[_B], vectors[_DZ])
    wide = 1.0
    if factorise(K, room.pivots, m):
        substitute(K, room.pivots, m, vectors[_DZ])
        _to_rows(H, n, m, vectors[_DZ], vectors[_STEP])
        for i in range(contacts):
            k = 3 * i
            x, y, z = (
                vectors[_B, k] - vectors[_STEP, k],
                vectors[_B, k + 1] - vectors[_STEP, k + 1],
                vectors[_B, k + 2] - vectors[_STEP, k + 2],
            )
            wide = max(wide, max(abs(x), np.sqrt(y * y + z * z) / mu[i]) / _GUESS)
    return size, min(wide, _WIDEST), m


@inline
def _to_velocities(H, n, m, rows, out):
    """Hᵀ times a vector of rows."""
    for k in range(m):
        out[k] = 0.0
    for i in range(n):
        x = rows[i]
        for k in range(m):
            out[k] += H[i, k] * x


@inline
def _to_rows(H, n, m, z, out):
    """H times a vector of m numbers."""
    for i in range(n):
        total = 0.0
        for k in range(m):
            total += H[i, k] * z[k]
        out[i] = total


@inline
def _begin(system, contacts, joints, room, size, wide):
    """Set the initial iterate."""
    rows, vectors, pairs = system.joints, room.vectors, room.pairs
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


@inline
def _gap(contacts, joints, room):
    """ν: the mean complementarity product."""
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
def _contact_equations(k, mu, smooth, room):
    """Compute Ω of the contact at rows k…, and De Saxcé's part of its r."""
    vectors = room.vectors
    p = (mu * vectors[_IMPULSE, k], vectors[_IMPULSE, k + 1], vectors[_IMPULSE, k + 2])
    w1, w2 = vectors[_W, k + 1], vectors[_W, k + 2]
    square = w1 * w1 + w2 * w2
    q, t = (vectors[_W, k] / mu, w1, w2), np.sqrt(square + smooth * smooth)
    vectors[_R, k] += mu * square / (t + smooth) if t > 0.0 else 0.0
    slope = mu / t if t > 0.0 else 0.0
    first = divided(q, p)
    second, third = divided(q, (p[1], p[0], 0.0)), divided(q, (p[2], 0.0, p[0]))
    for h in range(3):
        share = 1.0 / mu if h == 0 else 1.0
        normal = share * first[h] / mu
        vectors[_OMEGA, k + h] = normal
        vectors[_OMEGA + 1, k + h] = share * second[h] + normal * slope * w1
        vectors[_OMEGA + 2, k + h] = share * third[h] + normal * slope * w2


@inline
def _resisted(k, x, y, z, vectors):
    """Ω (x, y, z) of the contact at rows k…."""
    A, B, C = vectors[_OMEGA], vectors[_OMEGA + 1], vectors[_OMEGA + 2]
    return (
        A[k] * x + B[k] * y + C[k] * z,
        A[k + 1] * x + B[k + 1] * y + C[k + 1] * z,
        A[k + 2] * x + B[k + 2] * y + C[k + 2] * z,
    )


@inline
def _add_contact(k, m, room):
    """Add Hᵀ Ω H of the contact at rows k… to the matrix."""
    K, H, vectors = room.A, room.scaled, room.vectors
    first, second, third = vectors[_STEP], vectors[_DU], vectors[_DZ]
    for j in range(m):
        first[j], second[j], third[j] = _resisted(k, H[k, j], H[k + 1, j], H[k + 2, j], vectors)
    for i in range(m):
        x, y, z = H[k, i], H[k + 1, i], H[k + 2, i]
        for j in range(m):
            K[i, j] += x * first[j] + y * second[j] + z * third[j]


@inline
def _contact_target(k, mu, aim, room):
    """c − Ω r of the contact at rows k…: its impulse change at du = 0."""
    vectors = room.vectors
    p = (mu * vectors[_IMPULSE, k], vectors[_IMPULSE, k + 1], vectors[_IMPULSE, k + 2])
    q = (vectors[_W, k] / mu, vectors[_W, k + 1], vectors[_W, k + 2])
    o = jordan(p, q)
    second = (vectors[_CORRECTION, k], vectors[_CORRECTION, k + 1], vectors[_CORRECTION, k + 2])
    x = divided(q, (aim - o[0] - second[0], -o[1] - second[1], -o[2] - second[2]))
    against = _resisted(k, vectors[_R, k], vectors[_R, k + 1], vectors[_R, k + 2], vectors)
    vectors[_STEP, k] = x[0] / mu - against[0]
    vectors[_STEP, k + 1], vectors[_STEP, k + 2] = x[1] - against[1], x[2] - against[2]


@inline
def _friction_damping(pairs, j):
    """The damping that eliminating joint row j's friction leaves."""
    on = pairs[_ON, j]
    return on / (pairs[_X + 1, j] / pairs[_X, j] + pairs[_X + 3, j] / pairs[_X + 2, j] + (1.0 - on))


@inline
def _damping(pairs, j):
    """The damping that eliminating joint row j leaves."""
    below, above = pairs[_X + 4, j] / pairs[_X + 5, j], pairs[_X + 6, j] / pairs[_X + 7, j]
    return _friction_damping(pairs, j) + below + above


@inline
def _joint_target(j, k, aim, room):
    """c of joint row j: its impulse change at du = 0."""
    pairs, vectors = room.pairs, room.vectors
    x0, x2, x4, x5, x6, x7 = (
        pairs[_X, j], pairs[_X + 2, j], pairs[_X + 4, j], pairs[_X + 5, j], pairs[_X + 6, j], pairs[_X + 7, j],
    )  # fmt: skip
    u, apart = vectors[_U, k], vectors[_IMPULSE, k] - (x0 - x2) / 2.0 - x4 + x6
    c = -_friction_damping(pairs, j) * (u - aim / x0 + aim / x2)
    c += pairs[_ON + 1, j] * (aim - x4 * (u - pairs[_LAW + 1, j])) / x5
    c -= pairs[_ON + 2, j] * (aim + x6 * (u - pairs[_LAW + 2, j])) / x7
    return c - apart


@inline
def _joint_step(j, k, aim, room):
    """Compute the steps of joint row j's impulse and pairs; return the step length to the boundary."""
    pairs, vectors = room.pairs, room.vectors
    u, reach = vectors[_DU, k] + vectors[_U, k], INFINITE
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
    vectors[_STEP, k] -= _damping(pairs, j) * vectors[_DU, k]
    for pair in range(8):
        here, way = pairs[_X + pair, j], pairs[_DX + pair, j]
        if here > 0.0 and way < 0.0:
            reach = min(reach, -here / way)
    return reach


@inline
def _contact_step(k, mu, smooth, room):
    """Compute the steps and second-order terms of λ and w of the contact at rows k…; return the step length to the
    boundary."""
    vectors = room.vectors
    w1, w2 = vectors[_W, k + 1], vectors[_W, k + 2]
    t = np.sqrt(w1 * w1 + w2 * w2 + smooth * smooth)
    against = _resisted(k, vectors[_DU, k], vectors[_DU, k + 1], vectors[_DU, k + 2], vectors)
    for c in range(3):
        vectors[_STEP, k + c] -= against[c]
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
def _equations(system, contacts, joints, room, m, smooth):
    """Factorise Newton's matrix; return whether it was possible. |w_t| is smoothed to √(|w_t|² + smooth²) − smooth."""
    K, H, vectors, n = room.A, room.scaled, room.vectors, 3 * contacts + joints
    _to_rows(H, n, m, vectors[_Z], vectors[_U])
    for k in range(n):
        vectors[_U, k] += vectors[_B, k]
        vectors[_CORRECTION, k] = 0.0
        vectors[_R, k] = vectors[_U, k] - vectors[_W, k]
    for k in range(m):
        for j in range(m):
            K[k, j] = 0.0
        K[k, k] = 1.0
    for i in range(contacts):
        _contact_equations(3 * i, system.mu[i], smooth, room)
        _add_contact(3 * i, m, room)
    for j in range(joints):
        k, damper = 3 * contacts + j, _damping(room.pairs, j)
        for i in range(m):
            x = damper * H[k, i]
            for c in range(m):
                K[i, c] += x * H[k, c]
    return factorise(K, room.pivots, m)


@kernel
def _direction(system, contacts, joints, room, m, smooth, aim):
    """Compute the step towards products of `aim`; return the step length to the boundary."""
    H, vectors, n, reach = room.scaled, room.vectors, 3 * contacts + joints, INFINITE
    for i in range(contacts):
        _contact_target(3 * i, system.mu[i], aim, room)
    for j in range(joints):
        vectors[_STEP, 3 * contacts + j] = _joint_target(j, 3 * contacts + j, aim, room)
    for k in range(n):
        vectors[_DU, k] = vectors[_STEP, k] + vectors[_IMPULSE, k]
    _to_velocities(H, n, m, vectors[_DU], vectors[_DZ])
    for k in range(m):
        vectors[_DZ, k] -= vectors[_Z, k]
    substitute(room.A, room.pivots, m, vectors[_DZ])
    _to_rows(H, n, m, vectors[_DZ], vectors[_DU])
    for i in range(contacts):
        reach = min(reach, _contact_step(3 * i, system.mu[i], smooth, room))
    for j in range(joints):
        reach = min(reach, _joint_step(j, 3 * contacts + j, aim, room))
    return reach


@kernel
def interior_point(system, contacts, joints, room, tolerance, most_steps, least_centring, longest, smoothing):
    """Compute the impulses with the least residual from cold, in `room.impulses`; return the number of steps.

    `least_centring` bounds σ from below; `longest` is the fraction to the boundary. `smoothing` times ν smooths |w_t|,
    whose slope is discontinuous where a contact comes to rest.
    """
    n, vectors, pairs, impulses = 3 * contacts + joints, room.vectors, room.pairs, room.impulses
    size, wide, m = _scale(system, contacts, joints, room)
    _begin(system, contacts, joints, room, size, wide)
    _to_velocities(room.scaled, n, m, vectors[_IMPULSE], vectors[_Z])
    least, length, steps = INFINITE, 1.0, 0
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
        if least <= tolerance or step == most_steps or not left < INFINITE:
            break
        gap = _gap(contacts, joints, room)
        smooth = smoothing * gap
        if not _equations(system, contacts, joints, room, m, smooth):
            break
        reach = _direction(system, contacts, joints, room, m, smooth, 0.0)
        rest = 1.0 - min(reach, 1.0)  # the predictor's remaining share of ν sets the centring
        centring = min(max(max(least_centring, rest * rest * rest), 0.5 if length < 0.3 else 0.0), 1.0)
        if rest > 0.9 or length < 0.3:  # blocked: no second order
            for k in range(3 * contacts):
                vectors[_CORRECTION, k] = 0.0
        reach = _direction(system, contacts, joints, room, m, smooth, centring * gap)
        length = min(1.0, min(longest, max(0.9, 1.0 - gap)) * reach)
        for k in range(n):
            vectors[_IMPULSE, k] += length * vectors[_STEP, k]
        for k in range(m):
            vectors[_Z, k] += length * vectors[_DZ, k]
        for k in range(3 * contacts):
            vectors[_W, k] += length * vectors[_DU, k]
        for j in range(joints):
            for pair in range(8):
                pairs[_X + pair, j] += length * pairs[_DX + pair, j]
    for k in range(n):
        impulses[k] = room.step[k]
    return steps
