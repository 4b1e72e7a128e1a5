"""A whole step of a simulation, from one state to the next, as text: dense, plain, slow, and nobody's kernel.

In come one robot's `Model` (`Parameters.robot` makes it of one that differs), its q (nq,) and v (nv,), what acts on it,
and `Settings`; out comes `After`. `engine.Simulation` does the same by kernels, and is compared with this text on
random robots. Numbers in parentheses are the equations of docs/contact.md.

1. *Motion.* Poses, Jacobians and twists of all bodies; M and h of M v̇ + h = τ                        `motion`
2. *Efforts.* τ + kp (target − q) − kd v within the effort limit, less damping; and, where those are taken at the end of
   the step ("implicit"), what they add to the diagonal of M: M̃ = M + dt (damping + kd + dt kp)      `efforts`
3. *Free velocity.* Where the robot would go without contact, friction and limits:
   v_f = v + dt M̃⁻¹ (τ − h)                                                              (5)         `free_velocity`
4. *Contacts*, and a row J for each direction in which something may act                             `rows_of`
5. *The law.* u = G λ + b, G = J M̃⁻¹ Jᵀ, b = J v_f + c (6), and λ obeys it               (2), (3)    `contact_law`
   Restitution is halved as long as the impulses would add energy                         (4)
6. *The next state.* v⁺ = v_f + M̃⁻¹ Jᵀ λ and q⁺ = q ⊕ dt v⁺, less what overlaps           (7)         `moved`

A free joint's velocity is a twist in its body's frame, which turns during the step. Steps 3 to 6 have its linear part
in the frame in which the step begins, where it does not change by turning; at the end it is turned into the new frame.

Where contacts are redundant impulses are not unique: of those with the same motion the text takes those of least norm.
With friction even the motion may not be unique; then the text's is one of several that obey the law.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine import lie
from engine.algorithms import contact_law, touching
from engine.algorithms.contact_law import Rows
from engine.algorithms.convex import tangents
from engine.algorithms.motion import Motion, equations_of_motion, motion, point_jacobian
from engine.algorithms.touching import Contact, body_of
from engine.lie import Array
from engine.model import Model
from engine.model.joints import Joint
from engine.scene import Scene

IMPACT = 0.015  # m/s: what comes in slower rests, whatever its restitution
SHUT = 1e-8  # m, or rad or m of a joint: what is no gap, no overlap and no way to a limit
AT_LIMIT = 1e-12  # the same of a joint where nothing touches
HELD = 1e-5  # m/rad: what moves along a normal by less is left out
BACK = 0.5  # β: the share of an overlap that a step takes back
HALVINGS = 4  # of the restitution, before it is zero
NO_WORK = 1e-12  # of the energy of an impact: the rounding of what adds none


class Settings(NamedTuple):
    """How a robot is stepped, see `engine.Simulation`: kp and kd (nv,)."""

    dt: float
    integrator: str
    kp: Array
    kd: Array
    limits: bool = True
    scene: Scene | None = None


class Acting(NamedTuple):
    """What acts on the robot: tau and the gains' target (nv,), and `wrench` (links, 6), each in its link's frame."""

    tau: Array
    target: Array
    wrench: Array | None = None


class Problem(NamedTuple):
    """What the law is asked: M̃ (nv, nv), v_f (nv,), the contacts, and the rows.

    The contacts with friction come first, as their rows do. `joints` (rows,) are the velocities that have rows,
    `normal` (contacts,) is the row n of each contact, c (N,) the rows' offset of b, and `before` (N,) J v.
    """

    M: Array
    free: Array
    contacts: list[Contact]
    rows: Rows
    joints: np.ndarray
    normal: np.ndarray
    c: Array
    before: Array

    @property
    def G(self) -> Array:
        """The Delassus matrix (N, N)."""
        return np.asarray(self.rows.J @ np.linalg.solve(self.M, self.rows.J.T))


class After(NamedTuple):
    """The state after a step, and the problem and impulses (N,) that led to it."""

    q: Array
    v: Array
    problem: Problem
    impulses: Array


def step(model: Model, q: Array, v: Array, acting: Acting, settings: Settings) -> After:
    """One step of one robot from q (nq,) and v (nv,)."""
    at = motion(model, q, v)
    scene, dt = settings.scene, settings.dt
    found = [] if scene is None else touching.contacts(model, scene, at, dt)
    after = step_with(model, q, v, acting, settings, found)
    problem = after.problem
    return after._replace(impulses=contact_law.least_norm(problem.rows, problem.G, after.impulses))


def step_with(model: Model, q: Array, v: Array, acting: Acting, settings: Settings, found: list[Contact]) -> After:
    """The same with contacts that are known, and with any impulses that obey the law."""
    problem = problem_of(model, q, v, acting, settings, found)
    if settings.integrator == "rk4" and not found:
        stages_q, _ = runge_kutta(model, q, v, acting, settings)
        impulses = contact_law.solve(problem.rows, problem.G)
        after = velocity(problem, impulses)
        return After(_settled(model, q, stages_q, after, problem, settings), after, problem, impulses)
    problem, impulses = obeyed(problem, settings)
    after = velocity(problem, impulses)
    way = way_of(model, q, problem, after, settings)
    v_after = in_last_frames(model, after, way, settings.dt)
    return After(moved(model, q, way, settings.dt), v_after, problem, impulses)


def problem_of(model: Model, q: Array, v: Array, acting: Acting, settings: Settings, found: list[Contact]) -> Problem:
    """What the law is asked of a step with these contacts, before restitution."""
    at = motion(model, q, v)
    M, free = free_velocity(model, at, q, v, acting, settings)
    if settings.integrator == "rk4" and not found:
        stages_q, free = runge_kutta(model, q, v, acting, settings)
        M, _ = equations_of_motion(model, motion(model, stages_q, free))
    return rows_of(model, at, q, v, M, free, settings, found)


def efforts(model: Model, q: Array, v: Array, acting: Acting, settings: Settings) -> tuple[Array, Array]:
    """The joints' forces (nv,), and what is added to M's diagonal (nv,) where damping and gains are those at the end.

    With q⁺ = q + dt v⁺ and v⁺ = v + dt v̇ the effort τ + kp (target − q⁺) − kd v⁺ is one at q + dt v and v, less
    dt (kd + dt kp) v̇; a joint whose effort is clipped is not drawn by its gains.
    """
    implicit, dt = settings.integrator == "implicit", settings.dt
    scalar, acts = model.q_of_v >= 0, model.constrained
    ahead = np.zeros(model.nv)
    ahead[scalar] = acting.target[scalar] - q[model.q_of_v[scalar]] - (dt * v[scalar] if implicit else 0.0)
    effort = acting.tau + np.where(acts, settings.kp * ahead - settings.kd * v, 0.0)
    force = np.clip(effort, -model.effort_limit, model.effort_limit) - model.damping * v
    within = np.abs(effort) <= model.effort_limit
    share = dt * model.damping + np.where(within, dt * (settings.kd + dt * settings.kp), 0.0)
    return force, np.where(acts, share, 0.0) if implicit else np.zeros(model.nv)


def free_velocity(
    model: Model, at: Motion, q: Array, v: Array, acting: Acting, settings: Settings
) -> tuple[Array, Array]:
    """M̃ and v_f, with free joints' linear velocities in the frames in which the step begins."""
    M, h = equations_of_motion(model, at, acting.wrench)
    force, share = efforts(model, q, v, acting, settings)
    M = M + np.diag(share)
    free = v + settings.dt * np.linalg.solve(M, force - h)
    for joint in _free_joints(model):
        turning = np.cross(v[joint.v][:3], v[joint.v][3:])  # v̇ has −ω × v, which is the frame's turning
        free[joint.v.start + 3 : joint.v.stop] += settings.dt * turning
    return M, free


def runge_kutta(model: Model, q: Array, v: Array, acting: Acting, settings: Settings) -> tuple[Array, Array]:
    """Where the classical Runge-Kutta step leads without contact, friction and limits; quaternions are projected."""

    def rates(q: Array, v: Array) -> tuple[Array, Array]:
        M, h = equations_of_motion(model, motion(model, q, v), acting.wrench)
        return coordinate_rates(model, q, v), np.linalg.solve(M, efforts(model, q, v, acting, settings)[0] - h)

    dt = settings.dt
    q1, v1 = rates(q, v)
    q2, v2 = rates(q + dt / 2 * q1, v + dt / 2 * v1)
    q3, v3 = rates(q + dt / 2 * q2, v + dt / 2 * v2)
    q4, v4 = rates(q + dt * q3, v + dt * v3)
    after = q + dt / 6 * (q1 + 2 * q2 + 2 * q3 + q4)
    for _, place in model.quaternions:
        after[place] /= np.linalg.norm(after[place])
    return after, v + dt / 6 * (v1 + 2 * v2 + 2 * v3 + v4)


def coordinate_rates(model: Model, q: Array, v: Array) -> Array:
    """q̇ (nq,); a quaternion x turns by ½ x ∘ (ω, 0), a free joint's position moves by R v."""
    rate = np.zeros(model.nq)
    scalar = model.q_of_v >= 0
    rate[model.q_of_v[scalar]] = v[scalar]
    for joint in _turning_joints(model):
        omega, x = v[joint.v][:3], q[joint.q][-4:]
        rate[joint.q.stop - 4 : joint.q.stop] = [*(x[3] * omega + np.cross(x[:3], omega)) / 2, -x[:3] @ omega / 2]
    for joint in _free_joints(model):
        unit = q[joint.q][3:] / np.linalg.norm(q[joint.q][3:])  # a stage's own is not quite of unit length
        rate[joint.q.start : joint.q.start + 3] = lie.rotation_from_quaternion(unit) @ v[joint.v][3:]
    return rate


def rows_of(
    model: Model, at: Motion, q: Array, v: Array, M: Array, free: Array, settings: Settings, found: list[Contact]
) -> Problem:
    """The rows of contacts and joints, without restitution; contacts that no joint moves along n are left out."""
    frames = [np.stack([x.n, *tangents(x.n)]) @ _point_row(model, at, x) for x in found]
    kept = [k for k in range(len(found)) if np.max(np.abs(frames[k][0]), initial=0.0) > HELD]
    rubs = [k for k in kept if found[k].friction > 0]
    smooth = [k for k in kept if found[k].friction <= 0]
    begun = free if settings.integrator == "rk4" and not found else v
    joints, laws = joint_laws(model, q, begun, settings, SHUT if found else AT_LIMIT)
    J = np.concatenate([np.zeros((0, model.nv)), *(frames[k] for k in rubs), *(frames[k][:1] for k in smooth),
                        np.eye(model.nv)[joints]])  # fmt: skip
    normal = np.array([*(3 * i for i in range(len(rubs))), *(3 * len(rubs) + i for i in range(len(smooth)))], int)
    contacts, c = [found[k] for k in (*rubs, *smooth)], np.zeros(len(J))
    for x, k in zip(contacts, normal, strict=True):
        c[k] = x.gap / settings.dt if x.gap > SHUT else 0.0
    laws = np.concatenate([np.tile([0.0, 0.0, np.inf], (len(smooth), 1)), laws])
    rows = Rows(J, J @ free + c, np.array([x.friction for x in contacts[: len(rubs)]]), laws)
    return Problem(M, free, contacts, rows, joints, normal, c, J @ v)


def _point_row(model: Model, at: Motion, x: Contact) -> Array:
    """(3, nv): the velocity of the link's point less that of what it touches."""
    own, other = body_of(model, x.link), body_of(model, x.other)
    return point_jacobian(model, at, own, x.x) - point_jacobian(model, at, other, x.x)


def joint_friction(model: Model, v: Array) -> Array:  # noqa: ARG001 (Coulomb's does not depend on v)
    """(nv,): the law of joint friction, its size f, N m or N, where it begins to act at velocities v (nv,).

    These are a step's first ones, or with "rk4", where nothing touches, those to which its stages lead.
    """
    return model.friction


def joint_laws(model: Model, q: Array, v: Array, settings: Settings, at_limit: float) -> tuple[np.ndarray, Array]:
    """Which velocities have friction or limits (rows,), and of each (rows, 3): f dt, lo and hi of v⁺.

    lo ≤ 0 ≤ hi: what is beyond its limit does not go further, and is not drawn back.
    """
    low, high = -np.full(model.nv, np.inf), np.full(model.nv, np.inf)
    if settings.limits:
        scalar, here = model.q_of_v >= 0, np.zeros(model.nv)
        here[scalar] = q[model.q_of_v[scalar]]
        below, above = model.lower - here, model.upper - here
        low = np.maximum(-model.velocity_limit, np.where(below < -at_limit, below, 0.0) / settings.dt)
        high = np.minimum(model.velocity_limit, np.where(above > at_limit, above, 0.0) / settings.dt)
    friction = joint_friction(model, v) * settings.dt
    acts = np.flatnonzero(model.constrained & ((friction > 0) | np.isfinite(low) | np.isfinite(high)))
    return acts, np.stack([friction, low, high], 1)[acts]


def obeyed(problem: Problem, settings: Settings) -> tuple[Problem, Array]:
    """The problem with as much restitution as gives no energy, and impulses that obey its law."""
    for share in (*(0.5**k for k in range(HALVINGS + 1)), 0.0):
        tried, springs = with_restitution(problem, settings, share)
        impulses = contact_law.solve(tried.rows, tried.G)
        if not springs or energy_gain(tried, impulses) <= NO_WORK * kinetic_energy(tried):
            break
    return tried, impulses


def with_restitution(problem: Problem, settings: Settings, share: float) -> tuple[Problem, bool]:
    """The problem with this share of restitution where something comes in fast and closes; and whether it does.

    What springs back moves away for the whole step, which shall take no energy: u² − 2 s u = (e u⁻)², with s what its
    weight slows it by meanwhile. Semi-implicit flight makes up for that, and s is 0.
    """
    c, springs, free = problem.c.copy(), False, problem.rows.J @ problem.free
    for x, k in zip(problem.contacts, problem.normal, strict=True):
        closes = x.gap + settings.dt * free[k] <= 0
        if share * x.restitution > 0 and problem.before[k] < -IMPACT and closes:
            springs, slows = True, min(free[k] - problem.before[k], 0.0) if settings.integrator == "rk4" else 0.0
            c[k] = min(c[k], -slows - np.hypot(share * x.restitution * problem.before[k], slows))
    return problem._replace(rows=problem.rows._replace(b=free + c), c=c), springs


def energy_gain(problem: Problem, impulses: Array) -> float:
    """Twice the kinetic energy that the impulses add, λᵀ (u − c + J v_f), (4)."""
    u = problem.G @ impulses + problem.rows.b
    return float(impulses @ (u - problem.c + problem.rows.J @ problem.free))


def kinetic_energy(problem: Problem) -> float:
    """Twice the kinetic energy without impulses."""
    return float(problem.free @ problem.M @ problem.free)


def velocity(problem: Problem, impulses: Array) -> Array:
    """v⁺ = v_f + M̃⁻¹ Jᵀ λ, (nv,), in the frames in which v_f is."""
    return np.asarray(problem.free + np.linalg.solve(problem.M, problem.rows.J.T @ impulses))


def way_of(model: Model, q: Array, problem: Problem, v: Array, settings: Settings) -> Array:
    """(nv,): the velocities by which coordinates move: v⁺, and what takes overlaps back."""
    way = v.copy()
    if min((x.gap for x in problem.contacts), default=0.0) <= -SHUT:
        way += taken_back(problem) / settings.dt
        if settings.limits:  # no joint passes its limit by what is taken back
            for j in np.flatnonzero(model.q_of_v >= 0):
                below, above = np.array([model.lower[j], model.upper[j]]) - q[model.q_of_v[j]]
                way[j] = np.clip(way[j], min(below / settings.dt, v[j]), max(above / settings.dt, v[j]))
    return way


def taken_back(problem: Problem) -> Array:
    """(nv,): the displacement that takes half of what overlaps back, and closes no gap, (7)."""
    rows, back = overlap(problem)
    return np.asarray(back @ contact_law.solve(rows, rows.J @ back))


def overlap_left(problem: Problem) -> float:
    """The residual of (7), which has no solution where taking one overlap back would shut another gap."""
    rows, back = overlap(problem)
    G = rows.J @ back
    return contact_law.residual(rows, G, contact_law.solve(rows, G))


def overlap(problem: Problem) -> tuple[Rows, Array]:
    """The rows of (7), and M̃⁻¹ J_nᵀ."""
    J = problem.rows.J[problem.normal]
    gap = np.array([x.gap for x in problem.contacts])
    free = np.tile([0.0, 0.0, np.inf], (len(gap), 1))
    return Rows(J, np.where(gap < 0, BACK * gap, gap), np.zeros(0), free), np.linalg.solve(problem.M, J.T)


def moved(model: Model, q: Array, way: Array, dt: float) -> Array:
    """q ⊕ dt way: free joints' twists are in the frames in which the step begins."""
    q = q.copy()
    scalar = model.q_of_v >= 0
    q[model.q_of_v[scalar]] += dt * way[scalar]
    for joint in _free_joints(model):
        R = lie.rotation_from_quaternion(q[joint.q][3:])
        q[joint.q.start : joint.q.start + 3] += dt * R @ way[joint.v][3:]
    for joint in _turning_joints(model):
        q[joint.q.stop - 4 : joint.q.stop] = _turned(q[joint.q][-4:], dt * way[joint.v][:3])
    return q


def in_last_frames(model: Model, v: Array, way: Array, dt: float) -> Array:
    """v with free joints' linear velocities turned from the frames of the step's beginning into those of its end.

    `way` (nv,) has the angular velocities by which the frames turn.
    """
    return _in_frames(model, v, way, -dt)


def in_first_frames(model: Model, v: Array, way: Array, dt: float) -> Array:
    """The same the other way round."""
    return _in_frames(model, v, way, dt)


def _in_frames(model: Model, v: Array, way: Array, dt: float) -> Array:
    v = v.copy()
    for joint in _free_joints(model):
        turn, _ = lie.exp(np.concatenate([dt * way[joint.v][:3], np.zeros(3)]))
        v[joint.v.start + 3 : joint.v.stop] = turn @ v[joint.v][3:]
    return v


def _turned(x: Array, angle: Array) -> Array:
    """The quaternion x turned by a rotation vector (3,) of its own body: x ∘ exp(angle)."""
    half = np.linalg.norm(angle) / 2
    s = np.array([*(np.sinc(half / np.pi) / 2 * angle), np.cos(half)])
    product = np.array([*(x[3] * s[:3] + s[3] * x[:3] + np.cross(x[:3], s[:3])), x[3] * s[3] - x[:3] @ s[:3]])
    return np.asarray(product / np.linalg.norm(product))


def _settled(model: Model, q: Array, after: Array, v: Array, problem: Problem, settings: Settings) -> Array:
    """Runge and Kutta's coordinates, but q ⊕ dt v⁺ for a joint that was held or would pass its limit."""
    after, straight = after.copy(), moved(model, q, v, settings.dt)
    held = np.zeros(model.nv, bool)
    for j, (friction, low, high) in zip(problem.joints, problem.rows.joints, strict=True):
        small = 1e-10 * (1.0 + abs(problem.free[j]))
        held[j] = (friction > 0 and abs(v[j]) <= small) or v[j] <= low + small or v[j] >= high - small
    for j in np.flatnonzero(model.q_of_v >= 0):
        k = model.q_of_v[j]
        outside = settings.limits and not model.lower[j] <= after[k] <= model.upper[j]
        if held[j] or outside:
            after[k] = straight[k]
    for joint in _turning_joints(model):
        if np.any(held[joint.v]):
            after[joint.q] = straight[joint.q]
    return after


def _free_joints(model: Model) -> list[Joint]:
    return [joint for joint in model.joints if joint.kind == "floating"]


def _turning_joints(model: Model) -> list[Joint]:
    return [joint for joint in model.joints if joint.kind in ("floating", "spherical")]
