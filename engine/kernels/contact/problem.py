"""The rows of a contact problem, and how far impulses and velocities are from their law.

The residual is that of `engine.cpu.constraints.contact_law`, relative to the greatest velocity without impulses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline, kernel
from engine.compile.operations import most_of, spread
from engine.kernels.contact.body_pairs import BodyPairs
from engine.kernels.contact.mimics import Mimics
from engine.kernels.contact.recursion import Tree, tree
from engine.kernels.contact.rounding import LEAST_VELOCITY
from engine.kernels.spatial import add, dot, load3, scale, sub

EPS, BEST, LOWEST, LEAST, PART, MOST, TOLERANCE, ENOUGH, SHARE, SIZE, LENGTH, GAP, AIM = range(13)
"""Columns of `Search.numbers`: ε; the least merit so far and the least residual, of a plan and of all; how much of the
last step was gone; the greatest velocity; the residuals aimed at and borne; the share of restitution; of
the interior point the unit of velocities, the length of its last step, ν, and the products at which it aims."""
PLAN, LEFT, LAST, ATTEMPT, TRIES, SPRINGS, RUBS, STALLED = range(8)
"""Columns of `Search.counts`: the plan, steps left of it, and last ones done; how often restitution was
halved, and Newton's steps begun anew; whether any contact springs back, and whether all rub; steps in a row that gained
nothing."""


class Search(NamedTuple):
    """Where the search for a robot's impulses is: `numbers` (13,) and `counts` (8,)."""

    numbers: NDArray[np.floating]
    counts: NDArray[np.int64]


class Problem(NamedTuple):
    """C contacts and R joint rows of a robot of n bodies and nv velocities, of which the leading ones count.

    The contacts of body b with what stands still are `head[b]`, `following` that, and so on until −1; those with other
    bodies are of `Tree.pairs`. Of each the place relative to the origin of its body, of the first of two, `arm` (C, 3)
    and `frame` (C, 9), the rows n, t₁, t₂, in the world; `mu`, `offset` c, `along` the normal
    velocity of v_f, `r` = 1/size, (C,) each; in the frame, (C, 3) each, the velocity without impulses `free`, the
    impulses λ, the velocities u, what a step changes of both, the best λ so far, and s; `omega` (C, 9) is Ω. Of joint
    rows the same with `joint` (R,), `law` (R, 3) f, lo, hi, and `g` (R,), the row's own mobility. `added` and `right`,
    (nv,), are d and τ of a step, `dv` (nv,) its solution, `total` (nv,) what impulses do to the velocities. `inner`
    (C, 12) and `pairs` (R, 24) are the iterate of `interior`. `part` (C,) and `joint_part` (R,) are terms of a sum, see
    `sum_of_parts`.
    """

    head: NDArray[np.int64]
    following: NDArray[np.int64]
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
    part: NDArray[np.floating]
    joint_part: NDArray[np.floating]
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
    total: NDArray[np.floating]
    inner: NDArray[np.floating]
    pairs: NDArray[np.floating]


class Work(NamedTuple):
    """What contact of one robot is solved in."""

    tree: Tree
    problem: Problem
    search: Search


def work(
    parent: NDArray[np.int64], nv: int, contacts: int, mimic: Mimics | tuple[()] = (),
    pairs: BodyPairs | tuple[()] = (),
) -> Work:  # fmt: skip
    """Room for robots whose bodies have these parents, with so many velocities and contacts, mimic joints and pairs."""
    n, C, R = max(len(parent), 1), max(contacts, 1), max(nv, 1)
    frames = {name: np.zeros((C, 3)) for name in ("arm", "free", "impulse", "u", "change", "motion", "best", "s")}
    contacts_of = {name: np.zeros(C) for name in ("mu", "offset", "along", "r", "part")}
    joints = ("g", "joint_free", "joint_impulse", "joint_u", "joint_change", "joint_motion", "joint_best", "joint_s")
    rows = {name: np.zeros(R) for name in (*joints, "joint_omega", "joint_part", "added", "right", "dv", "total")}
    problem = Problem(
        head=np.zeros(n, np.int64), following=np.zeros(C, np.int64), frame=np.zeros((C, 9)), omega=np.zeros((C, 9)),
        **frames, **contacts_of, joint=np.zeros(R, np.int64), law=np.zeros((R, 3)), **rows,
        inner=np.zeros((C, 12)), pairs=np.zeros((R, 24)),
    )  # fmt: skip
    return Work(tree(parent, mimic, pairs), problem, Search(np.zeros(13), np.zeros(8, np.int64)))


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
def joint_velocity(y, gf, lo, hi):
    """clamp(soft(y, g f), lo, hi)."""
    return min(max(y - gf if y > gf else (y + gf if y < -gf else 0.0), lo), hi)


@inline
def greatest_velocity(contacts, joints, p):
    """The greatest number of the velocities without impulses, less what gaps that are open add to them."""
    most = LEAST_VELOCITY
    for i in spread(contacts):
        most = max(most, abs(p.free[i, 0] - max(p.offset[i], 0.0)))
        most = max(most, max(abs(p.free[i, 1]), abs(p.free[i, 2])))
    for j in spread(joints):
        most = max(most, abs(p.joint_free[j]))
    return most_of(most)


@kernel
def residual(contacts, joints, p, part, most):
    """How far λ and u are from the law, `part` of the step on; 0 only where they obey it."""
    worst = 0.0
    for i in spread(contacts):
        mu, r = p.mu[i], p.r[i]
        x = add(load3(p.impulse[i], 0, 1), scale(part, load3(p.change[i], 0, 1)))
        u = add(load3(p.u[i], 0, 1), scale(part, load3(p.motion[i], 0, 1)))
        slip = mu * np.sqrt(u[1] * u[1] + u[2] * u[2])
        d = sub(x, _project((x[0] - r * (u[0] + slip), x[1] - r * u[1], x[2] - r * u[2]), mu))
        off = np.sqrt(dot(d, d)) / r
        worst = off if not off <= worst else worst
    for j in spread(joints):
        g = p.g[j]
        x, u = p.joint_impulse[j] + part * p.joint_change[j], p.joint_u[j] + part * p.joint_motion[j]
        off = abs(u - joint_velocity(u - g * x, g * p.law[j, 0], p.law[j, 1], p.law[j, 2]))
        worst = off if not off <= worst else worst
    return most_of(worst) / most


@inline
def sum_of_parts(contacts, joints, p):
    """The sum of `part` and `joint_part`, in their order, however many threads have found them."""
    total = 0.0
    for i in range(contacts):
        total += p.part[i]
    for j in range(joints):
        total += p.joint_part[j]
    return total


@kernel
def merit(contacts, joints, p, share, part, most):
    """How far λ and u are from the map whose zero Newton's steps seek, `part` of the step on: in the 2-norm."""
    for i in spread(contacts):
        mu, r = p.mu[i], share * p.r[i]
        x = add(load3(p.impulse[i], 0, 1), scale(part, load3(p.change[i], 0, 1)))
        u = add(load3(p.u[i], 0, 1), scale(part, load3(p.motion[i], 0, 1)))
        z = sub(x, scale(r, u))
        n, t = max(z[0], 0.0), np.sqrt(z[1] * z[1] + z[2] * z[2])
        k = mu * n / t if t > mu * n else 1.0
        d = (x[0] - n, x[1] - k * z[1], x[2] - k * z[2])
        p.part[i] = dot(d, d) / (p.r[i] * p.r[i])
    for j in spread(joints):
        g = p.g[j]
        x, u = p.joint_impulse[j] + part * p.joint_change[j], p.joint_u[j] + part * p.joint_motion[j]
        off = u - joint_velocity(u - g * x, g * p.law[j, 0], p.law[j, 1], p.law[j, 2])
        p.joint_part[j] = off * off
    return np.sqrt(sum_of_parts(contacts, joints, p)) / most
