"""The rows of a contact problem, their residual and the merit function of Newton's steps.

The residual is defined as in `engine.algorithms.contact_law`, relative to the largest velocity without impulses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.compile import inline, kernel
from engine.compile.operations import parallel_range, thread_max
from engine.kernels.contact.body_pairs import BodyPairs
from engine.kernels.contact.cone_algebra import project_on_cone
from engine.kernels.contact.mimics import Mimics
from engine.kernels.contact.recursion_workspace import Tree, tree
from engine.kernels.contact.rounding import velocity_floor
from engine.kernels.joint_constraints import joint_law
from engine.kernels.spatial import add, dot, load3, scale, sub

(
    EPSILON,  # ε, the damping of Newton's steps
    EPSILON_PER_MERIT,  # the plan's
    R_SCALE,  # the plan's multiple of `ProblemArrays.r`
    BEST_MERIT,  # of the plan
    BEST_RESIDUAL_OF_PLAN,
    BEST_RESIDUAL,  # of all plans
    STEP_FRACTION,  # the step length that the line search took
    LARGEST_VELOCITY,  # without impulses: the unit of residuals
    TOLERANCE,  # the residual to reach
    ACCEPTED_RESIDUAL,  # at or below it no further plan is tried
    RESTITUTION_FRACTION,  # by which restitution is multiplied
    VELOCITY_UNIT,  # of the interior point's scaled velocities
    INTERIOR_STEP,  # the length of the interior point's last step
    COMPLEMENTARITY,  # ν, the mean complementarity product
    COMPLEMENTARITY_TARGET,  # σν, at which the interior point's step aims
    NUMBERS,
) = range(16)
"""Columns of `Search.numbers`, and their number."""
(
    PLAN,  # see `search`
    METHOD,  # the plan's
    STEPS_LEFT,  # of the plan
    FINAL_STEPS,  # taken with the final ε
    RESTITUTION_ATTEMPT,  # how often `RESTITUTION_FRACTION` was reduced
    SEARCHES,  # ended with the same targets
    HAS_RESTITUTION,  # 1 where any contact rebounds
    ALL_FRICTIONAL,  # 1 where all contacts have friction
    STALLED_STEPS,  # in a row, without enough progress
    DETACHED,  # the number of contacts that are held open
    CONTACTS,  # of the problem
    JOINTS,  # rows of joints of the problem
    OVERLAPS,  # 1 where it is that of the overlap correction
    COUNTS,
) = range(14)
"""Columns of `Search.counts`, and their number."""


class Search(NamedTuple):
    """The state of the search for a robot's impulses: `numbers` (NUMBERS,) and `counts` (COUNTS,)."""

    numbers: NDArray[np.floating]
    counts: NDArray[np.int64]


class ConeIterate(NamedTuple):
    """The iterate of `interior` for C contacts, scaled: λ and w, and their changes in a step; (C, 3) each."""

    impulse: NDArray[np.floating]
    w: NDArray[np.floating]
    impulse_step: NDArray[np.floating]
    w_step: NDArray[np.floating]


class JointPairs(NamedTuple):
    """The iterate of `interior` for R joint rows, scaled.

    `active` (R, 3) is 1 where there is friction, a lower, an upper limit, and `law` (R, 3) holds f, lo and hi. The
    complementarity pairs `x` (R, 8) are (f + fr, β), (f − fr, α), (below, u − lo), (above, hi − u), and change by
    `step` (R, 8); λ (R,) by `impulse_step` (R,).
    """

    active: NDArray[np.floating]
    law: NDArray[np.floating]
    x: NDArray[np.floating]
    step: NDArray[np.floating]
    impulse: NDArray[np.floating]
    impulse_step: NDArray[np.floating]


class ProblemArrays(NamedTuple):
    """C contacts and R joint rows of a robot of n bodies and nv velocities; the leading ones are in use.

    The contacts of a body with fixed geometry form a list; contacts between bodies are in `Tree.pairs`. Vectors of a
    contact are in its frame; fields with the prefix `joint_` belong to joint rows.
    """

    head: NDArray[np.int64]  # (n,): the first contact of a body, −1 for none
    next_contact: NDArray[np.int64]  # (C,): the next one of the same body or pair
    arm: NDArray[np.floating]  # (C, 3): from the origin of its (first) body, in world axes
    frame: NDArray[np.floating]  # (C, 9): n, t₁ and t₂ by rows, in world axes
    mu: NDArray[np.floating]  # (C,): the friction coefficient
    offset: NDArray[np.floating]  # (C,): c
    normal_velocity: NDArray[np.floating]  # (C,): the normal velocity of v_f
    r: NDArray[np.floating]  # (C,): the inverse of its mean mobility
    free: NDArray[np.floating]  # (C, 3): the velocity without impulses
    impulse: NDArray[np.floating]  # (C, 3): λ
    u: NDArray[np.floating]  # (C, 3): the velocity
    change: NDArray[np.floating]  # (C, 3): of λ in a step
    motion: NDArray[np.floating]  # (C, 3): of u in a step
    best: NDArray[np.floating]  # (C, 3): λ with the least residual so far
    s: NDArray[np.floating]  # (C, 3)
    Omega: NDArray[np.floating]  # (C, 9): Ω
    joint: NDArray[np.int64]  # (R,): the row's velocity
    law: NDArray[np.floating]  # (R, 3): f, lo and hi
    detached: NDArray[np.int64]  # (C,): the contacts that are held open, the leading ones in use
    attached: NDArray[np.floating]  # (C,): their normal velocities without impulses
    part: NDArray[np.floating]  # (C,): terms of `sum_of_parts`
    joint_part: NDArray[np.floating]  # (R,)
    g: NDArray[np.floating]  # (R,): the row's mobility
    joint_free: NDArray[np.floating]  # (R,), like those of contacts
    joint_impulse: NDArray[np.floating]
    joint_u: NDArray[np.floating]
    joint_change: NDArray[np.floating]
    joint_motion: NDArray[np.floating]
    joint_best: NDArray[np.floating]
    joint_s: NDArray[np.floating]
    joint_omega: NDArray[np.floating]
    added: NDArray[np.floating]  # (nv,): d, added to the mass matrix
    rhs: NDArray[np.floating]  # (nv,): the right-hand side of a step
    dv: NDArray[np.floating]  # (nv,): its solution
    total: NDArray[np.floating]  # (nv,): the velocity change by all impulses
    cones: ConeIterate
    joint_pairs: JointPairs


class ImpulseWorkspace(NamedTuple):
    """The workspace of one robot's contact problem."""

    tree: Tree
    problem: ProblemArrays
    search: Search


def impulse_workspace(
    parent: NDArray[np.int64], nv: int, contacts: int, mimic: Mimics | tuple[()] = (),
    pairs: BodyPairs | tuple[()] = (),
) -> ImpulseWorkspace:  # fmt: skip
    """Return the workspace for bodies with these parents, nv velocities, C `contacts`, mimic joints and pairs."""
    n, C, R = max(len(parent), 1), max(contacts, 1), max(nv, 1)
    frames = {name: np.zeros((C, 3)) for name in ("arm", "free", "impulse", "u", "change", "motion", "best", "s")}
    contacts_of = {name: np.zeros(C) for name in ("mu", "offset", "normal_velocity", "r", "part", "attached")}
    joints = ("g", "joint_free", "joint_impulse", "joint_u", "joint_change", "joint_motion", "joint_best", "joint_s")
    rows = {name: np.zeros(R) for name in (*joints, "joint_omega", "joint_part", "added", "rhs", "dv", "total")}
    problem = ProblemArrays(
        head=np.zeros(n, np.int64), next_contact=np.zeros(C, np.int64), detached=np.zeros(C, np.int64),
        frame=np.zeros((C, 9)), Omega=np.zeros((C, 9)),
        **frames, **contacts_of, joint=np.zeros(R, np.int64), law=np.zeros((R, 3)), **rows,
        cones=ConeIterate(*(np.zeros((C, 3)) for _ in range(4))),
        joint_pairs=JointPairs(*(np.zeros((R, *n)) for n in ((3,), (3,), (8,), (8,), (), ()))),
    )  # fmt: skip
    return ImpulseWorkspace(tree(parent, mimic, pairs), problem, Search(np.zeros(NUMBERS), np.zeros(COUNTS, np.int64)))


@inline
def contacts_from(k, p):
    """The contacts of the list that begins with contact k."""
    while k >= 0:
        yield k
        k = p.next_contact[k]


@inline
def largest_velocity(contacts, joints, p):
    """The largest velocity component without impulses and without the target velocities of open gaps."""
    largest = velocity_floor(p.free[0, 0])
    for i in parallel_range(contacts):
        largest = max(largest, abs(p.free[i, 0] - max(p.offset[i], 0.0)))
        largest = max(largest, max(abs(p.free[i, 1]), abs(p.free[i, 2])))
    for j in parallel_range(joints):
        largest = max(largest, abs(p.joint_free[j]))
    return thread_max(largest)


@inline
def contact_violation(i, p):
    """The distance of a contact's impulse from the law, as a velocity."""
    mu, r, x, u = p.mu[i], p.r[i], load3(p.impulse[i]), load3(p.u[i])
    slip = mu * np.sqrt(u[1] * u[1] + u[2] * u[2])
    difference = sub(x, project_on_cone((x[0] - r * (u[0] + slip), x[1] - r * u[1], x[2] - r * u[2]), mu))
    return np.sqrt(dot(difference, difference)) / r


@inline
def _larger_or_nan(violation, largest):
    return violation if not violation <= largest and largest == largest else largest


@kernel
def residual(contacts, joints, p, unit):
    """The residual of λ and u, in units of the velocity `unit`; 0 only where they obey the law."""
    largest = 0.0
    for i in parallel_range(contacts):
        violation = contact_violation(i, p)
        largest = _larger_or_nan(violation, largest)
    for j in parallel_range(joints):
        g, x, u = p.g[j], p.joint_impulse[j], p.joint_u[j]
        violation = abs(u - joint_law(u - g * x, g * p.law[j, 0], p.law[j, 1], p.law[j, 2]))
        largest = _larger_or_nan(violation, largest)
    return thread_max(largest) / unit


@inline
def sum_of_parts(contacts, joints, p):
    """Sum `part` and `joint_part` in order: the same bits for any number of threads."""
    total = 0.0
    for i in range(contacts):
        total += p.part[i]
    for j in range(joints):
        total += p.joint_part[j]
    return total


@kernel
def merit(contacts, joints, p, r_scale, length, unit):
    """The merit function, `length` of the step ahead: the 2-norm of the map whose root Newton's steps seek over
    `unit`."""
    for i in parallel_range(contacts):
        mu, r = p.mu[i], r_scale * p.r[i]
        x = add(load3(p.impulse[i]), scale(length, load3(p.change[i])))
        u = add(load3(p.u[i]), scale(length, load3(p.motion[i])))
        z = sub(x, scale(r, u))
        n, t = max(z[0], 0.0), np.sqrt(z[1] * z[1] + z[2] * z[2])
        k = mu * n / t if t > mu * n else 1.0
        difference = (x[0] - n, x[1] - k * z[1], x[2] - k * z[2])
        p.part[i] = dot(difference, difference) / (p.r[i] * p.r[i])
    for j in parallel_range(joints):
        g = p.g[j]
        x, u = p.joint_impulse[j] + length * p.joint_change[j], p.joint_u[j] + length * p.joint_motion[j]
        violation = u - joint_law(u - g * x, g * p.law[j, 0], p.law[j, 1], p.law[j, 2])
        p.joint_part[j] = violation * violation
    return np.sqrt(sum_of_parts(contacts, joints, p)) / unit
