"""A primal-dual interior-point method on the exact contact law, for problems that Newton's steps do not solve.

It works over second-order cones (Alizadeh and Goldfarb 2003), with De Saxcé's correction in the equations (Howell and
others 2022). The centring parameter σ follows the last step length: Mehrotra's predictor (1992) costs a second
direction, and took half as many directions again and failed more often. Of a contact x = (μ λ_n, λ_t), y = (w_n/μ,
w_t), w = u + μ|w_t| n:

    L_y dx + L_x dy = σν e − x∘y,   dw = B (du + r),   B = [[1, μ w_tᵀ/|w_t|], [0, 1]]

so that dλ = c − Ω (du + r): a step is one of `newton.direction` with other Ω and s. The law is not convex: a path may
turn back, and steps towards lower ν end. With the slip |w_t| held during a step, B = 1, each step is one of a convex
problem (Acary and others 2011), whose path does not; it converges linearly. A joint row has λ = fr + below −
above and the complementarity pairs (f + fr, β), (f − fr, α), (below, u − lo), (above, hi − u), with u = β − α at the
solution; eliminating all of them leaves a damping. Scaled quantities: λ = d size λ', u = size/d u', where d² is the
row's r or 1/g and size the largest |u'| without impulses.
"""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.compile.operations import parallel_range, thread_max, thread_min
from engine.kernels.contact.cone_algebra import INFINITE, central_pair, divided, jordan, to_boundary
from engine.kernels.contact.newton import direction, respond
from engine.kernels.contact.problem import (
    COMPLEMENTARITY,
    COMPLEMENTARITY_TARGET,
    INTERIOR_STEP,
    STALLED_STEPS,
    STEP_FRACTION,
    STEPS_LEFT,
    VELOCITY_UNIT,
    sum_of_parts,
)
from engine.kernels.spatial import add, dot, load3, load9, mul, scale, store3, store9, sub

_FRICTION, _LOWER, _UPPER = range(3)
_UP, _BETA, _DOWN, _ALPHA, _BELOW, _TO_LOWER, _ABOVE, _TO_UPPER = range(8)
"""The numbers of `JointPairs.active`, and of `JointPairs.x`."""
NO_LIMIT, COMPLIANCE, MAX_ESTIMATE = 1e9, 1e-4, 1e3
"""The velocity from which a bound is no limit; and of `_impulse_estimate` the rows' compliance, in units of 1/r and g,
and the largest estimate."""
_MIN_CENTRING, _CENTRING, _MAX_CENTRING = 0.05, 0.3, 0.7
"""σ after a step of almost full length, after one of at least half the length, and after a shorter one."""
MAX_FRACTION, _SMOOTHING = 0.99, 1.0
"""The largest fraction of the way to the boundary in a step, and δ/ν of |w_t| smoothed to √(|w_t|² + δ²) − δ."""
_MIN_CENTRING_HELD, _MAX_FRACTION_HELD, _SMOOTHING_HELD = 0.3, 0.9, 10.0
"""Where the slip is held: the least σ, the largest fraction, and δ/ν."""
SHORT, _SMALL, _RECENTRING = 0.3, 1e-2, 5.0
"""And σ after a step shorter than `SHORT`, at ν below `_SMALL`: with a larger ν the path is found again."""
_BLOCKED_LENGTH, BLOCKED_STEPS = 0.05, 4
"""The step length below which a step is blocked, and the number of successive ones that ends the plan."""
_IDLE = 60
"""The number of successive steps with the slip held that gain nothing and end the plan."""


@inline
def _velocity_unit(contacts, joints, p):
    """The largest scaled velocity without impulses."""
    unit = 1e-30
    for i in parallel_range(contacts):
        d, b = np.sqrt(p.r[i]), load3(p.free[i])
        unit = max(unit, d * max(abs(b[0]), max(abs(b[1]), abs(b[2]))))
    for j in parallel_range(joints):
        unit = max(unit, abs(p.joint_free[j]) / np.sqrt(p.g[j]))
    return thread_max(unit)


@inline
def _impulse_estimate(contacts, joints, unit, inertia, topology, bodies, solver):
    """An estimate of the largest scaled impulse: that of sticking rows with a little compliance."""
    p = solver.problem
    for i in parallel_range(contacts):
        k = p.r[i] / COMPLIANCE
        store9(p.Omega[i], (k, 0.0, 0.0, 0.0, k, 0.0, 0.0, 0.0, k))
        store3(p.s[i], scale(-k, load3(p.free[i])))
    for j in parallel_range(joints):
        k = 1.0 / (p.g[j] * COMPLIANCE)
        p.joint_omega[j], p.joint_s[j] = k, -k * p.joint_free[j]
    direction(contacts, joints, 0.0, 0.0, 0.0, inertia, topology, bodies, solver)
    largest = 1.0
    for i in parallel_range(contacts):
        x = scale(1.0 / (unit * np.sqrt(p.r[i])), load3(p.change[i]))
        largest = max(largest, max(abs(x[0]), np.sqrt(x[1] * x[1] + x[2] * x[2]) / p.mu[i]))
    return min(thread_max(largest), MAX_ESTIMATE)


@inline
def _start_contact(i, nu, unit, p):
    """Set a contact's iterate near its impulse and velocity, with complementarity products ν."""
    mu, x, u = p.mu[i], scale(1.0 / (unit * np.sqrt(p.r[i])), load3(p.impulse[i])), _velocity(i, unit, p)
    w = u[0] / mu + np.sqrt(u[1] * u[1] + u[2] * u[2])
    x, y = central_pair((mu * x[0] - w, x[1] - u[1], x[2] - u[2]), nu)
    store3(p.cones.impulse[i], (x[0] / mu, x[1], x[2]))
    store3(p.cones.w[i], (mu * y[0], y[1], y[2]))


@inline
def _start_row(j, nu, unit, p):
    """Set a joint row's pairs near its impulse and velocity, with products ν; bounds that it has not are left."""
    active, law, x, d = p.joint_pairs.active[j], p.joint_pairs.law[j], p.joint_pairs.x[j], np.sqrt(p.g[j]) * unit
    impulse, u, f = p.joint_impulse[j] * p.g[j] / d, p.joint_u[j] / d, law[_FRICTION]
    friction = max(-f, min(f, impulse)) if active[_FRICTION] > 0.0 else 0.0
    if active[_FRICTION] > 0.0:
        least = min(np.sqrt(nu), f)
        x[_UP] = max(least, min(f + friction, 2.0 * f - least))
        x[_DOWN] = 2.0 * f - x[_UP]
        x[_BETA], x[_ALPHA] = max(u, 0.0) + nu / x[_UP], max(-u, 0.0) + nu / x[_DOWN]
    if active[_LOWER] > 0.0:
        z = max(impulse - friction, 0.0) - (u - law[_LOWER])
        s = np.sqrt(z * z + 4.0 * nu)
        x[_BELOW], x[_TO_LOWER] = 0.5 * (s + z), 0.5 * (s - z)
    if active[_UPPER] > 0.0:
        z = max(friction - impulse, 0.0) - (law[_UPPER] - u)
        s = np.sqrt(z * z + 4.0 * nu)
        x[_ABOVE], x[_TO_UPPER] = 0.5 * (s + z), 0.5 * (s - z)


@kernel
def begin_interior(nu, contacts, joints, inertia, topology, bodies, solver):
    """Initialise the iterate, after `search._start_from_zero`; with ν > 0 near the present impulses.

    Every contact has friction.
    """
    p, numbers = solver.problem, solver.search.numbers
    unit, largest = _velocity_unit(contacts, joints, p), 0.0
    if nu == 0.0:
        largest = _impulse_estimate(contacts, joints, unit, inertia, topology, bodies, solver)
    numbers[VELOCITY_UNIT], numbers[INTERIOR_STEP], numbers[STEP_FRACTION] = unit, 1.0, 0.0
    for i in parallel_range(contacts):
        if nu > 0.0:
            _start_contact(i, nu, unit, p)
        else:
            store3(p.cones.impulse[i], (largest, 0.0, 0.0))
            store3(p.cones.w[i], (1.0, 0.0, 0.0))
    for j in parallel_range(joints):
        active, law, x, e = p.joint_pairs.active[j], p.joint_pairs.law[j], p.joint_pairs.x[j], 1.0 / np.sqrt(p.g[j])
        f, low, high = p.law[j, 0], p.law[j, 1], p.law[j, 2]
        active[_FRICTION], law[_FRICTION] = (1.0 if f > 0.0 else 0.0), f / e / unit
        active[_LOWER], law[_LOWER] = (1.0 if low > -NO_LIMIT else 0.0), (low * e / unit if low > -NO_LIMIT else 0.0)
        active[_UPPER], law[_UPPER] = (1.0 if high < NO_LIMIT else 0.0), (high * e / unit if high < NO_LIMIT else 0.0)
        friction = law[_FRICTION] if f > 0.0 else 1.0
        x[_UP], x[_BETA], x[_DOWN], x[_ALPHA] = friction, active[_FRICTION], friction, active[_FRICTION]
        x[_BELOW], x[_TO_LOWER], x[_ABOVE], x[_TO_UPPER] = active[_LOWER], 1.0, active[_UPPER], 1.0
        if nu > 0.0:
            _start_row(j, nu, unit, p)
        p.joint_pairs.impulse[j] = 0.5 * (x[_UP] - x[_DOWN]) + x[_BELOW] - x[_ABOVE]
    _put_impulses(contacts, joints, unit, p)
    respond(contacts, joints, topology, bodies, solver)


@inline
def _put_impulses(contacts, joints, unit, p):
    """Unscale the iterate's impulses, N s."""
    for i in parallel_range(contacts):
        store3(p.impulse[i], scale(unit * np.sqrt(p.r[i]), load3(p.cones.impulse[i])))
    for j in parallel_range(joints):
        p.joint_impulse[j] = p.joint_pairs.impulse[j] * unit / np.sqrt(p.g[j])


@inline
def _mean_complementarity(contacts, joints, p):
    """ν: the mean complementarity product."""
    for i in parallel_range(contacts):
        p.part[i] = dot(load3(p.cones.impulse[i]), load3(p.cones.w[i]))
    for j in parallel_range(joints):
        x, products = p.joint_pairs.x[j], 0.0
        for pair in range(4):
            products += x[2 * pair] * x[2 * pair + 1]
        p.joint_part[j] = products
    total = sum_of_parts(contacts, joints, p)
    for j in parallel_range(joints):
        active = p.joint_pairs.active[j]
        p.joint_part[j] = 2.0 * active[_FRICTION] + active[_LOWER] + active[_UPPER]
    return total / max(sum_of_parts(0, joints, p) + contacts, 1.0)


@inline
def _friction_damping(j, rows):
    """The damping that eliminating a joint row's friction leaves."""
    active, x = rows.active[j, _FRICTION], rows.x[j]
    return active / (x[_BETA] / x[_UP] + x[_ALPHA] / x[_DOWN] + (1.0 - active))


@inline
def _damping(j, rows):
    """The damping that eliminating a joint row leaves."""
    x = rows.x[j]
    return _friction_damping(j, rows) + x[_BELOW] / x[_TO_LOWER] + x[_ABOVE] / x[_TO_UPPER]


@inline
def _velocity(i, unit, p):
    """The scaled velocity u' of a contact."""
    return scale(np.sqrt(p.r[i]) / unit, load3(p.u[i]))


@inline
def _equations(contacts, joints, smooth, follows_slip, p):
    """Compute Ω of all rows; |w_t| is smoothed to √(|w_t|² + smooth²) − smooth, and held unless `follows_slip` is 1."""
    for i in parallel_range(contacts):
        mu, x, w = p.mu[i], load3(p.cones.impulse[i]), load3(p.cones.w[i])
        scaled_impulse = (mu * x[0], x[1], x[2])
        t = np.sqrt(w[1] * w[1] + w[2] * w[2] + smooth * smooth)
        q, slope = (w[0] / mu, w[1], w[2]), (follows_slip * mu / t if t > 0.0 else 0.0)
        a = divided(q, scaled_impulse)
        b, c = divided(q, (x[1], scaled_impulse[0], 0.0)), divided(q, (x[2], 0.0, scaled_impulse[0]))
        a = (a[0] / (mu * mu), a[1] / mu, a[2] / mu)
        b = add((b[0] / mu, b[1], b[2]), scale(slope * w[1], a))
        c = add((c[0] / mu, c[1], c[2]), scale(slope * w[2], a))
        r = p.r[i]
        A = (a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2])
        store9(p.Omega[i], (
            r * A[0], r * A[1], r * A[2], r * A[3], r * A[4], r * A[5], r * A[6], r * A[7], r * A[8],
        ))  # fmt: skip
    for j in parallel_range(joints):
        p.joint_omega[j] = _damping(j, p.joint_pairs) / p.g[j]


@inline
def _residual_of_w(i, unit, smooth, p):
    """The residual r of a contact's w, with De Saxcé's correction."""
    w, mu = load3(p.cones.w[i]), p.mu[i]
    square = w[1] * w[1] + w[2] * w[2]
    t, r = np.sqrt(square + smooth * smooth), sub(_velocity(i, unit, p), w)
    return r[0] + (mu * square / (t + smooth) if t > 0.0 else 0.0), r[1], r[2]


@inline
def _targets(contacts, joints, unit, smooth, target, p):
    """Compute s of all rows, the impulse change at du = 0, for complementarity products of `target`."""
    for i in parallel_range(contacts):
        mu, k, x, w = p.mu[i], 1.0 / p.r[i], load3(p.cones.impulse[i]), load3(p.cones.w[i])
        scaled_impulse, scaled_w = (mu * x[0], x[1], x[2]), (w[0] / mu, w[1], w[2])
        o = jordan(scaled_impulse, scaled_w)
        y = divided(scaled_w, (target - o[0], -o[1], -o[2]))
        residual_step = scale(k, mul(load9(p.Omega[i]), _residual_of_w(i, unit, smooth, p)))
        step = sub((y[0] / mu, y[1], y[2]), residual_step)
        store3(p.cones.impulse_step[i], step)
        store3(p.s[i], scale(unit * np.sqrt(p.r[i]), step))
    for j in parallel_range(joints):
        active, law, x = p.joint_pairs.active[j], p.joint_pairs.law[j], p.joint_pairs.x[j]
        u = p.joint_u[j] / (np.sqrt(p.g[j]) * unit)
        mismatch = p.joint_pairs.impulse[j] - (x[_UP] - x[_DOWN]) / 2.0 - x[_BELOW] + x[_ABOVE]
        c = -_friction_damping(j, p.joint_pairs) * (u - target / x[_UP] + target / x[_DOWN])
        c += active[_LOWER] * (target - x[_BELOW] * (u - law[_LOWER])) / x[_TO_LOWER]
        c -= active[_UPPER] * (target + x[_ABOVE] * (u - law[_UPPER])) / x[_TO_UPPER]
        p.joint_pairs.impulse_step[j] = c - mismatch
        p.joint_s[j] = p.joint_pairs.impulse_step[j] * unit / np.sqrt(p.g[j])


@inline
def _length_to_boundary(contacts, joints, unit, smooth, follows_slip, target, p):
    """Compute the steps of impulses, w and pairs; return the step length to the boundary."""
    longest = INFINITE
    for i in parallel_range(contacts):
        mu, d, x, w = p.mu[i], np.sqrt(p.r[i]), load3(p.cones.impulse[i]), load3(p.cones.w[i])
        step = scale(1.0 / (unit * d), load3(p.change[i]))
        t = np.sqrt(w[1] * w[1] + w[2] * w[2] + smooth * smooth)
        du = add(scale(d / unit, load3(p.motion[i])), _residual_of_w(i, unit, smooth, p))
        dw = (du[0] + (follows_slip * mu * (w[1] * du[1] + w[2] * du[2]) / t if t > 0.0 else 0.0), du[1], du[2])
        store3(p.cones.impulse_step[i], step)
        store3(p.cones.w_step[i], dw)
        dp, dq = (mu * step[0], step[1], step[2]), (dw[0] / mu, dw[1], dw[2])
        longest = min(longest, to_boundary((mu * x[0], x[1], x[2]), dp))
        longest = min(longest, to_boundary((w[0] / mu, w[1], w[2]), dq))
    for j in parallel_range(joints):
        active, law, x, step = p.joint_pairs.active[j], p.joint_pairs.law[j], p.joint_pairs.x[j], p.joint_pairs.step[j]
        u = (p.joint_u[j] + p.joint_motion[j]) / (np.sqrt(p.g[j]) * unit)
        d0 = -_friction_damping(j, p.joint_pairs) * (u - target / x[_UP] + target / x[_DOWN])
        step[_UP], step[_DOWN] = d0, -d0
        step[_BETA] = active[_FRICTION] * ((target - x[_BETA] * d0) / x[_UP] - x[_BETA])
        step[_ALPHA] = active[_FRICTION] * ((target + x[_ALPHA] * d0) / x[_DOWN] - x[_ALPHA])
        step[_TO_LOWER] = active[_LOWER] * (u - law[_LOWER] - x[_TO_LOWER])
        step[_TO_UPPER] = active[_UPPER] * (law[_UPPER] - u - x[_TO_UPPER])
        step[_BELOW] = active[_LOWER] * ((target - x[_BELOW] * step[_TO_LOWER]) / x[_TO_LOWER] - x[_BELOW])
        step[_ABOVE] = active[_UPPER] * ((target - x[_ABOVE] * step[_TO_UPPER]) / x[_TO_UPPER] - x[_ABOVE])
        p.joint_pairs.impulse_step[j] = p.joint_change[j] * np.sqrt(p.g[j]) / unit
        for k in range(8):
            if x[k] > 0.0 and step[k] < 0.0:
                longest = min(longest, -x[k] / step[k])
    return thread_min(longest)


@inline
def _advance_iterate(contacts, joints, length, unit, p):
    """Advance the iterate, its impulses and velocities by `length` of the step."""
    for i in parallel_range(contacts):
        impulse, w = p.cones.impulse[i], p.cones.w[i]
        store3(impulse, add(load3(impulse), scale(length, load3(p.cones.impulse_step[i]))))
        store3(w, add(load3(w), scale(length, load3(p.cones.w_step[i]))))
        store3(p.u[i], add(load3(p.u[i]), scale(length, load3(p.motion[i]))))
    for j in parallel_range(joints):
        p.joint_pairs.impulse[j] += length * p.joint_pairs.impulse_step[j]
        p.joint_u[j] += length * p.joint_motion[j]
        for k in range(8):
            p.joint_pairs.x[j, k] += length * p.joint_pairs.step[j, k]
    _put_impulses(contacts, joints, unit, p)


@inline
def _smooth(slip_held, complementarity):
    """The smoothing of |w_t|."""
    return (_SMOOTHING_HELD if slip_held else _SMOOTHING) * complementarity


@inline
def _centring(slip_held, length, complementarity):
    """σ after a step of `length`."""
    if slip_held and length < SHORT and complementarity < _SMALL:
        return _RECENTRING
    sigma = _MIN_CENTRING if length > 0.9 else (_CENTRING if length > 0.5 else _MAX_CENTRING)
    return max(sigma, _MIN_CENTRING_HELD) if slip_held else sigma


@inline
def prepare_interior(slip_held, contacts, joints, p, numbers):
    """Compute Ω and s of an interior-point step, for `newton.direction`."""
    complementarity = _mean_complementarity(contacts, joints, p)
    smooth, target = _smooth(slip_held, complementarity), complementarity
    target *= _centring(slip_held, numbers[INTERIOR_STEP], complementarity)
    numbers[COMPLEMENTARITY], numbers[COMPLEMENTARITY_TARGET] = complementarity, target
    _equations(contacts, joints, smooth, 0.0 if slip_held else 1.0, p)
    _targets(contacts, joints, numbers[VELOCITY_UNIT], smooth, target, p)


@inline
def take_interior_step(slip_held, contacts, joints, p, numbers, counts):
    """Advance impulses and velocities of all rows along that direction.

    A plan whose steps stay short ends; with the slip held, one after `_IDLE` steps without a smaller residual.
    """
    unit, complementarity = numbers[VELOCITY_UNIT], numbers[COMPLEMENTARITY]
    smooth, follows_slip = _smooth(slip_held, complementarity), 0.0 if slip_held else 1.0
    longest = _length_to_boundary(contacts, joints, unit, smooth, follows_slip, numbers[COMPLEMENTARITY_TARGET], p)
    length = min(1.0, min(_MAX_FRACTION_HELD if slip_held else MAX_FRACTION, max(0.9, 1.0 - complementarity)) * longest)
    _advance_iterate(contacts, joints, length, unit, p)
    numbers[INTERIOR_STEP], numbers[STEP_FRACTION] = length, length
    counts[STALLED_STEPS] = counts[STALLED_STEPS] + 1 if length < _BLOCKED_LENGTH or slip_held else 0
    if counts[STALLED_STEPS] == (_IDLE if slip_held else BLOCKED_STEPS):
        counts[STEPS_LEFT] = 0
