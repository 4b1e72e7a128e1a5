"""Impulses of contacts, joint friction and joint limits by Newton's method in the space of velocities.

Alart and Curnier (1991): z = λ − r u, λ = P(z), P the projection onto [0, ∞) × the disk of radius μ z_n; A = dP/dz.
With a proximal term ε |δλ|² that damps the step and leaves the solution as it is

    (1 + ε − A) δλ = (P(z) − λ) − A r δu    ⇒    δλ = s − Ω δu,    Ω = (1 + ε − A)⁻¹ A r
    M δv = Jᵀ δλ                             ⇒    (M + Jᵀ Ω J) δv = Jᵀ s

A contact sees the twist of its body alone, so that JᵀΩJ adds to that body a 6 × 6 matrix, and the articulated-body
recursion solves the system (`recursion`). A joint's friction or limit adds a number to d. From no impulses, or from
those of the step before, some four to nine steps reach what rounding leaves.

The residual is that of `engine.cpu.constraints.contact_law`, relative to the greatest velocity without impulses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline, kernel
from engine.kernels.contact.recursion import (
    Places,
    Recursion,
    Vectors,
    add_at,
    carried,
    eliminate,
    gather,
    move,
    recursion,
    vectors,
)
from engine.kernels.spatial import add, cross, dot, load3, load9, matmul, mul, mul_t, scale, store3, store9, sub
from engine.model import WORLD

_LEAST, _LAST = 1e-6, 1e-4
"""ε, the weight of the proximal term, at least; and in the last step, where rounding, some 1e-16/ε, is what is left."""
_STALLED = 1e-10
"""ε at least where a step near the solution changes nothing: contacts that stick push each other until one slips."""
_CLOSE = 1e-3
"""Residual below which a step that changes nothing is one that ε holds up, and not one that goes astray."""
_FAR = 1e300
FINE = 1e-3
"""Of the tolerance: what is farther off gets one step more, which costs less than what it leaves out."""
WARM, OVERLAP, COLD, LAST = 0, 1, 2, 5


class Problem(NamedTuple):
    """C contacts and R joint rows of a robot of n bodies and nv velocities, of which the leading ones count.

    Of contacts `body` (C,), the place relative to its origin `arm` (C, 3) and `frame` (C, 9), the rows n, t₁, t₂, in
    the world; `mu`, `offset` c, `along` the normal velocity of v_f, `r` = 1/size, (C,) each; in the frame, (C, 3) each,
    the velocity without impulses `free`, the impulses λ, the velocities u, what a step changes of both, the best λ so
    far, and s; `omega` (C, 9) is Ω. Of joint rows the same with `joint` (R,), `law` (R, 3) f, lo, hi, and `g` (R,), the
    row's own mobility. `added` and `right`, (nv,), are d and τ of a step, `dv` (nv,) its solution. `active` (n,): 1 for
    bodies that a row hangs from; `joint_body` (nv,) has each velocity's body.
    """

    body: NDArray[np.int64]
    arm: NDArray[np.floating]
    frame: NDArray[np.floating]
    mu: NDArray[np.floating]
    offset: NDArray[np.floating]
    along: NDArray[np.floating]
    r: NDArray[np.floating]
    free: NDArray[np.floating]
    impulse: NDArray[np.floating]
    u: NDArray[np.floating]
    change: NDArray[np.floating]
    motion: NDArray[np.floating]
    best: NDArray[np.floating]
    s: NDArray[np.floating]
    omega: NDArray[np.floating]
    joint: NDArray[np.int64]
    law: NDArray[np.floating]
    g: NDArray[np.floating]
    joint_free: NDArray[np.floating]
    joint_impulse: NDArray[np.floating]
    joint_u: NDArray[np.floating]
    joint_change: NDArray[np.floating]
    joint_motion: NDArray[np.floating]
    joint_best: NDArray[np.floating]
    joint_s: NDArray[np.floating]
    joint_omega: NDArray[np.floating]
    added: NDArray[np.floating]
    right: NDArray[np.floating]
    dv: NDArray[np.floating]
    active: NDArray[np.int64]
    joint_body: NDArray[np.int64]


class Work(NamedTuple):
    """What contact of one robot is solved in, with n bodies: `rest` (n, 36) is what of I^A no row changes.

    `plain` and `answer` are the recursion without contacts, `tree` and `step` that of Newton's step; `spread` (n, 36)
    are the mobilities of bodies.
    """

    places: Places
    plain: Recursion
    answer: Vectors
    tree: Recursion
    step: Vectors
    rest: NDArray[np.floating]
    spread: NDArray[np.floating]
    problem: Problem


def work(bodies: int, nv: int, contacts: int) -> Work:
    """Room for robots of so many bodies and velocities, and so many contacts."""
    n, C, R = max(bodies, 1), max(contacts, 1), max(nv, 1)
    frames = {name: np.zeros((C, 3)) for name in ("arm", "free", "impulse", "u", "change", "motion", "best", "s")}
    contacts_of = {name: np.zeros(C) for name in ("mu", "offset", "along", "r")}
    joints = ("g", "joint_free", "joint_impulse", "joint_u", "joint_change", "joint_motion", "joint_best", "joint_s")
    rows = {name: np.zeros(R) for name in (*joints, "joint_omega", "added", "right", "dv")}
    problem = Problem(
        body=np.zeros(C, np.int64), frame=np.zeros((C, 9)), omega=np.zeros((C, 9)), **frames, **contacts_of,
        joint=np.zeros(R, np.int64), law=np.zeros((R, 3)), **rows,
        active=np.zeros(n, np.int64), joint_body=np.zeros(R, np.int64),
    )  # fmt: skip
    places = Places(np.zeros((n, 9)), np.zeros((n, 3)))
    return Work(
        places, recursion(n), vectors(n), recursion(n), vectors(n), np.zeros((n, 36)), np.zeros((n, 36)), problem
    )


@inline
def velocity_at(twist, arm, frame):
    """The velocity of a place, `arm` away from the origin of a body with this twist, in a frame."""
    return mul(frame, add(load3(twist, 3, 1), cross(load3(twist, 0, 1), arm)))


@inline
def _project(z, mu):
    """The point of the cone |z_t| ≤ μ z_n that is next to z = (n, t₁, t₂)."""
    t = np.sqrt(z[1] * z[1] + z[2] * z[2])
    inside, outside = t <= mu * z[0], z[0] + mu * t <= 0.0
    n = (z[0] + mu * t) / (1.0 + mu * mu)
    ratio = mu * n / t if t > 0.0 else 0.0
    on = (n, ratio * z[1], ratio * z[2])
    return (0.0, 0.0, 0.0) if outside else (z if inside else on)


@inline
def _joint_velocity(y, gf, lo, hi):
    """clamp(soft(y, g f), lo, hi)."""
    return min(max(y - gf if y > gf else (y + gf if y < -gf else 0.0), lo), hi)


@inline
def greatest_velocity(contacts, joints, p):
    """The greatest number of the velocities without impulses, less what gaps that are open add to them."""
    most = 1e-300
    for i in range(contacts):
        most = max(most, abs(p.free[i, 0] - max(p.offset[i], 0.0)))
        most = max(most, max(abs(p.free[i, 1]), abs(p.free[i, 2])))
    for j in range(joints):
        most = max(most, abs(p.joint_free[j]))
    return most


@kernel
def residual(contacts, joints, p, part, most):
    """How far λ and u are from the law, `part` of the step on; 0 only where they obey it."""
    worst = 0.0
    for i in range(contacts):
        mu, r = p.mu[i], p.r[i]
        x = add(load3(p.impulse[i], 0, 1), scale(part, load3(p.change[i], 0, 1)))
        u = add(load3(p.u[i], 0, 1), scale(part, load3(p.motion[i], 0, 1)))
        slip = mu * np.sqrt(u[1] * u[1] + u[2] * u[2])
        d = sub(x, _project((x[0] - r * (u[0] + slip), x[1] - r * u[1], x[2] - r * u[2]), mu))
        off = np.sqrt(dot(d, d)) / r
        worst = off if not off <= worst else worst
    for j in range(joints):
        g = p.g[j]
        x, u = p.joint_impulse[j] + part * p.joint_change[j], p.joint_u[j] + part * p.joint_motion[j]
        off = abs(u - _joint_velocity(u - g * x, g * p.law[j, 0], p.law[j, 1], p.law[j, 2]))
        worst = off if not off <= worst else worst
    return worst / most


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
    g, f, x, u = p.g[j], p.law[j, 0], p.joint_impulse[j], p.joint_u[j]
    y = u - g * x
    after = _joint_velocity(y, g * f, p.law[j, 1], p.law[j, 2])
    if abs(y) > g * f and p.law[j, 1] < after and after < p.law[j, 2]:
        p.joint_s[j], p.joint_omega[j] = ((-f if y > 0.0 else f) - x) / (1.0 + eps), 0.0
    else:
        stiff = share / (g * eps)
        p.joint_s[j], p.joint_omega[j] = stiff * (after - u), stiff


@kernel
def _direction(contacts, joints, share, eps, topology, work, inertia):
    """A Newton step's δv into `dv`, the twists of it, δu and δλ; `inertia` (nv,) is d of the robot."""
    p, tree, step, places = work.problem, work.tree, work.step, work.places
    n = topology.shape[0]
    for i in range(n):
        if p.active[i] != 0:
            for k in range(36):
                tree.inertia[i, k] = work.rest[i, k]
            for k in range(6):
                step.force[i, k] = 0.0
    for j in range(p.added.size):
        p.added[j], p.right[j] = inertia[j], 0.0
    for i in range(contacts):
        _contact_step(i, share, eps, p)
        F, arm, body = load9(p.frame[i], 0, 1), load3(p.arm[i], 0, 1), p.body[i]
        turned = matmul((F[0], F[3], F[6], F[1], F[4], F[7], F[2], F[5], F[8]), matmul(load9(p.omega[i], 0, 1), F))
        add_at(tree.inertia[body], arm, turned)
        _push(step.force[body], arm, mul_t(F, load3(p.s[i], 0, 1)))
    for j in range(joints):
        _joint_step(j, share, eps, p)
        p.added[p.joint[j]] += p.joint_omega[j]
        p.right[p.joint[j]] += p.joint_s[j]
    for i in range(n - 1, -1, -1):
        if p.active[i] != 0:
            eliminate(i, topology, places, p.added, tree)
            gather(i, topology, places, p.right, tree, step)
    for i in range(n):
        if p.active[i] != 0:
            omega, velocity = carried(i, topology, places, (0.0, 0.0, 0.0), step.twist)
            move(i, omega, velocity, topology, places, tree, step, p.dv)
    for i in range(contacts):
        motion = velocity_at(step.twist[p.body[i]], load3(p.arm[i], 0, 1), load9(p.frame[i], 0, 1))
        store3(p.motion[i], 0, 1, motion)
        store3(p.change[i], 0, 1, sub(load3(p.s[i], 0, 1), mul(load9(p.omega[i], 0, 1), motion)))
    for j in range(joints):
        motion = p.dv[p.joint[j]]
        p.joint_motion[j], p.joint_change[j] = motion, p.joint_s[j] - p.joint_omega[j] * motion


@inline
def _push(force, arm, x):
    """An impulse at a place `arm` away from a body's origin, taken from its bias."""
    store3(force, 0, 1, sub(load3(force, 0, 1), cross(arm, x)))
    store3(force, 3, 1, sub(load3(force, 3, 1), x))


@inline
def _go(contacts, joints, part, p):
    """λ and u `part` of the step on."""
    for i in range(contacts):
        store3(p.impulse[i], 0, 1, add(load3(p.impulse[i], 0, 1), scale(part, load3(p.change[i], 0, 1))))
        store3(p.u[i], 0, 1, add(load3(p.u[i], 0, 1), scale(part, load3(p.motion[i], 0, 1))))
    for j in range(joints):
        p.joint_impulse[j] += part * p.joint_change[j]
        p.joint_u[j] += part * p.joint_motion[j]


@inline
def _keep(contacts, joints, p):
    """The present impulses as the best."""
    for i in range(contacts):
        store3(p.best[i], 0, 1, load3(p.impulse[i], 0, 1))
    for j in range(joints):
        p.joint_best[j] = p.joint_impulse[j]


@inline
def _begin(contacts, joints, p):
    """No impulses."""
    for i in range(contacts):
        store3(p.impulse[i], 0, 1, (0.0, 0.0, 0.0))
        store3(p.u[i], 0, 1, load3(p.free[i], 0, 1))
    for j in range(joints):
        p.joint_impulse[j], p.joint_u[j] = 0.0, p.joint_free[j]
    _stay(contacts, joints, p)


@inline
def _stay(contacts, joints, p):
    """No step."""
    for i in range(contacts):
        store3(p.change[i], 0, 1, (0.0, 0.0, 0.0))
        store3(p.motion[i], 0, 1, (0.0, 0.0, 0.0))
    for j in range(joints):
        p.joint_change[j], p.joint_motion[j] = 0.0, 0.0


@inline
def _plan(k):
    """r in multiples of 1/size, Newton steps at most, and ε for each of the residual at first."""
    if k == WARM:
        return 3.0, 6, 0.1
    if k == OVERLAP:
        return 3.0, 12, 1e-4
    if k == COLD:
        return 3.0, 25, 0.1
    if k == COLD + 1:
        return 0.3, 20, 1.0
    if k == COLD + 2:
        return 30.0, 20, 0.1
    return 1.0, 40, 1.0


@kernel
def solve(contacts, joints, plan, tolerance, inertia, topology, work, count):
    """The impulses that obey the law, into `best`, by several plans from no impulses; answers their residual.

    `plan` is the first: `COLD`; `WARM`, from `impulse` and `u` as they are, which belong together; or `OVERLAP`, of
    contacts without friction and of no joints. `count` (3,): its second number grows by the steps taken.
    """
    p = work.problem
    most, least, tried_all = greatest_velocity(contacts, joints, p), _FAR, False
    while not tried_all and not least <= tolerance:
        share, steps, first = _plan(plan)
        if plan != WARM:
            _begin(contacts, joints, p)
        left = residual(contacts, joints, p, 0.0, most)
        best = left
        if left < least:
            least = left
            _keep(contacts, joints, p)
        eps, enough = max(_LEAST, first * min(1.0, best)), False
        for _ in range(steps):
            if enough or best <= FINE * tolerance:
                break
            enough = best <= tolerance
            if enough:
                eps = _LAST
            count[1] += 1
            _direction(contacts, joints, share, eps, topology, work, inertia)
            part, tried, there = 1.0, 1.0, _FAR
            for _ in range(3):
                left = residual(contacts, joints, p, part, most)
                if left < there:
                    tried, there = part, left
                if left < (1.1 * best if best < _CLOSE else best):
                    break
                part *= 0.5
            if not there < _FAR:
                break
            _go(contacts, joints, tried, p)
            if best < _CLOSE and 0.9 * best < there and there < 1.1 * best:
                eps = max(_STALLED, 0.1 * eps)
            elif there < best:
                eps = max(_LEAST, min(first * there, 0.3 * eps))
            else:
                eps = min(1.0, max(5.0 * eps, 1e-6))
            if there < best:
                best = there
                if best < least:
                    least = best
                    _keep(contacts, joints, p)
        tried_all = plan == LAST
        plan = max(plan + 1, COLD)
    return least


@kernel
def respond(contacts, joints, topology, work, out):
    """out (nv,) ← M̃⁻¹Jᵀλ of the impulses `impulse`, with the twists of it in `answer`: for all bodies."""
    p, tree, answer, places = work.problem, work.plain, work.answer, work.places
    n = topology.shape[0]
    for i in range(n):
        for k in range(6):
            answer.force[i, k] = 0.0
    for j in range(p.right.size):
        p.right[j] = 0.0
    for i in range(contacts):
        impulse = mul_t(load9(p.frame[i], 0, 1), load3(p.impulse[i], 0, 1))
        _push(answer.force[p.body[i]], load3(p.arm[i], 0, 1), impulse)
    for j in range(joints):
        p.right[p.joint[j]] += p.joint_impulse[j]
    for i in range(n - 1, -1, -1):
        gather(i, topology, places, p.right, tree, answer)
    for i in range(n):
        omega, velocity = carried(i, topology, places, (0.0, 0.0, 0.0), answer.twist)
        move(i, omega, velocity, topology, places, tree, answer, out)
    for i in range(contacts):
        motion = velocity_at(answer.twist[p.body[i]], load3(p.arm[i], 0, 1), load9(p.frame[i], 0, 1))
        store3(p.u[i], 0, 1, add(load3(p.free[i], 0, 1), motion))
    for j in range(joints):
        p.joint_u[j] = p.joint_free[j] + out[p.joint[j]]
    _stay(contacts, joints, p)


@inline
def activate(i, topology, active):
    """Mark body i and all that it hangs from."""
    while i != WORLD and active[i] == 0:
        active[i] = 1
        i = topology[i, 0]
