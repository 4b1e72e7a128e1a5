"""Reference of one simulation step, from one state to the next: dense, plain and slow, and not used by any kernel.

Inputs are one robot's `Model` (from `Parameters.robot` if it is varied), its q (nq,) and v (nv,), the applied forces,
and `StepSetup`; the result is `StepResult`. `engine.Simulation` does the same by kernels, and is compared with this
reference on random robots. Numbers in parentheses are the equations of docs/contact.md.

1. *Motion.* Poses, Jacobians and twists of all bodies; M and bias of M v̇ + bias = τ                   `motion`
2. *Efforts.* τ + kp (target − q) − kd v within the effort limit, less damping; and, if these are taken at the end of
   the step ("implicit"), their addition to M's diagonal: M̃ = M + dt (damping + kd + dt kp)            `efforts`
3. *Free velocity*, without contact, friction and limits:
   v_f = v + dt M̃⁻¹ (τ − bias)                                                          (C5)        `free_velocity`
4. *Contacts*, and a Jacobian row J for each constrained direction                                   `rows_of`
5. *The law* for λ, with u = G λ + b, G = J M̃⁻¹ Jᵀ, b = J v_f + c (C6)                   (C2), (C3)  `contact_law`
   Restitution is reduced while the impulses would add energy                            (C4)
6. *The next state.* v⁺ = v_f + M̃⁻¹ Jᵀ λ and q⁺ = q ⊕ dt v⁺, with overlaps reduced      (C7)        `integrate`

A free joint's velocity is a twist in its body's frame, which rotates during the step. Steps 3 to 6 express its linear
part in the frame at the start of the step; at the end it is rotated into the new frame.

With redundant contacts the impulses are not unique; of those with the same motion, the ones of least norm are returned.
With friction even the motion may not be unique; the result is then one of several that obey the law.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine import lie
from engine.algorithms import contact_law, touching
from engine.algorithms.contact_law import ConstraintRows
from engine.algorithms.convex import tangents
from engine.algorithms.motion import Motion, equations_of_motion, motion, point_jacobian
from engine.algorithms.touching import Contact, body_of
from engine.lie import Array
from engine.model import Joint, Model
from engine.scene import Scene

# Numbers of the kernels are repeated in this reference on purpose: of a wrong one, steps then differ.
RESTITUTION_SPEED = 0.015  # m/s: slower impacts have no restitution
GAP_TOLERANCE = 1e-8  # m, or rad or m of a joint: tolerance of gaps, overlaps and distances to a limit
LIMIT_TOLERANCE = 1e-12  # that tolerance for a joint without contact
IMMOBILE = 1e-5  # m/rad: contacts whose normal motion is smaller are omitted
ERP = 0.5  # β: the share of an overlap corrected per step
RESTITUTION_ATTEMPTS = 4  # to reduce the restitution, before it is set to zero
RESTITUTION_MARGIN = 1.25  # by which it is reduced more than would suffice at constant impulses
SOLVED = 1e-6  # residual above which laws are taken to contradict each other, as rebounds and joint limits may
NO_WORK = 1e-12  # relative to an impact's energy: rounding tolerance of "adds none"


class StepSetup(NamedTuple):
    """The settings that a step here takes, see `engine.Simulation`: kp and kd (nv,)."""

    dt: float
    integrator: str
    kp: Array
    kd: Array
    limits: bool = True
    scene: Scene | None = None


class Inputs(NamedTuple):
    """The applied forces: tau and the gains' target (nv,), and `wrench` (links, 6), each in its link's frame."""

    tau: Array
    target: Array
    wrench: Array | None = None


class ContactProblem(NamedTuple):
    """The input of the contact law: M̃ (nv, nv), v_f (nv,), the contacts, and the rows.

    The contacts with friction come first, and so do their rows. `joints` (rows,) are the velocities that have rows,
    `normal` (contacts,) is the normal row of each contact, c (N,) the rows' offset of b, and `before` (N,) J v.
    """

    M: Array
    free: Array
    contacts: list[Contact]
    rows: ConstraintRows
    joints: np.ndarray
    normal: np.ndarray
    c: Array
    before: Array

    @property
    def G(self) -> Array:
        """The Delassus matrix (N, N)."""
        return np.asarray(self.rows.J @ np.linalg.solve(self.M, self.rows.J.T))


class StepResult(NamedTuple):
    """The state after a step, and the problem and impulses (N,) that produced it."""

    q: Array
    v: Array
    problem: ContactProblem
    impulses: Array


def step(model: Model, q: Array, v: Array, inputs: Inputs, settings: StepSetup) -> StepResult:
    """Take one step of one robot from q (nq,) and v (nv,)."""
    bodies = motion(model, q, v)
    scene, dt = settings.scene, settings.dt
    contacts = [] if scene is None else touching.contacts(model, scene, bodies, dt)
    after = step_with_contacts(model, q, v, inputs, settings, contacts)
    problem = after.problem
    return after._replace(impulses=contact_law.least_norm(problem.rows, problem.G, after.impulses))


def step_with_contacts(
    model: Model, q: Array, v: Array, inputs: Inputs, settings: StepSetup, contacts: list[Contact]
) -> StepResult:
    """Take one step with known contacts, and with any impulses that obey the law."""
    problem = contact_problem(model, q, v, inputs, settings, contacts)
    if settings.integrator == "rk4" and not contacts:
        stages_q, _ = runge_kutta(model, q, v, inputs, settings)
        impulses = contact_law.solve(problem.rows, problem.G)
        after = velocity(problem, impulses)
        return StepResult(_held_at_limits(model, q, stages_q, after, problem, settings), after, problem, impulses)
    problem, impulses = solve_contact(problem, settings)
    after = velocity(problem, impulses)
    coordinate_velocity = coordinate_velocities(model, q, problem, after, settings)
    v_after = in_final_frames(model, after, coordinate_velocity, settings.dt)
    return StepResult(integrate(model, q, coordinate_velocity, settings.dt), v_after, problem, impulses)


def contact_problem(
    model: Model, q: Array, v: Array, inputs: Inputs, settings: StepSetup, contacts: list[Contact]
) -> ContactProblem:
    """Return the contact problem of a step with these contacts, before restitution."""
    bodies = motion(model, q, v)
    M, free = free_velocity(model, bodies, q, v, inputs, settings)
    if settings.integrator == "rk4" and not contacts:
        stages_q, free = runge_kutta(model, q, v, inputs, settings)
        M, _ = equations_of_motion(model, motion(model, stages_q, free))
    return rows_of(model, bodies, q, v, M, free, settings, contacts)


def efforts(model: Model, q: Array, v: Array, inputs: Inputs, settings: StepSetup) -> tuple[Array, Array]:
    """Return joint forces (nv,), and the addition to M's diagonal (nv,) for implicit damping and gains.

    With q⁺ = q + dt v⁺ and v⁺ = v + dt v̇, the effort τ + kp (target − q⁺) − kd v⁺ is the one at q + dt v and v, minus
    dt (kd + dt kp) v̇. The gains of a joint at its effort limit have no effect.
    """
    implicit, dt = settings.integrator == "implicit", settings.dt
    scalar, acts = model.q_of_v >= 0, model.constrained
    ahead = np.zeros(model.nv)
    ahead[scalar] = inputs.target[scalar] - q[model.q_of_v[scalar]] - (dt * v[scalar] if implicit else 0.0)
    effort = inputs.tau + np.where(acts, settings.kp * ahead - settings.kd * v, 0.0)
    force = np.clip(effort, -model.effort_limit, model.effort_limit) - model.damping * v
    within = np.abs(effort) <= model.effort_limit
    added_inertia = dt * model.damping + np.where(within, dt * (settings.kd + dt * settings.kp), 0.0)
    return force, np.where(acts, added_inertia, 0.0) if implicit else np.zeros(model.nv)


def free_velocity(
    model: Model, bodies: Motion, q: Array, v: Array, inputs: Inputs, settings: StepSetup
) -> tuple[Array, Array]:
    """Return M̃ and v_f, with free joints' linear velocities in the frames at the start of the step."""
    M, bias = equations_of_motion(model, bodies, inputs.wrench)
    force, added_inertia = efforts(model, q, v, inputs, settings)
    M = M + np.diag(added_inertia)
    free = v + settings.dt * np.linalg.solve(M, force - bias)
    for joint in _free_joints(model):
        rotation_term = np.cross(v[joint.v][:3], v[joint.v][3:])  # v̇ contains −ω × v, the rotation of the frame
        free[joint.v.start + 3 : joint.v.stop] += settings.dt * rotation_term
    return M, free


def runge_kutta(model: Model, q: Array, v: Array, inputs: Inputs, settings: StepSetup) -> tuple[Array, Array]:
    """Take a classical Runge-Kutta step without contact, friction and limits; quaternions are normalised."""

    def rates(q: Array, v: Array) -> tuple[Array, Array]:
        M, bias = equations_of_motion(model, motion(model, q, v), inputs.wrench)
        return coordinate_rates(model, q, v), np.linalg.solve(M, efforts(model, q, v, inputs, settings)[0] - bias)

    dt = settings.dt
    q1, v1 = rates(q, v)
    q2, v2 = rates(q + dt / 2 * q1, v + dt / 2 * v1)
    q3, v3 = rates(q + dt / 2 * q2, v + dt / 2 * v2)
    q4, v4 = rates(q + dt * q3, v + dt * v3)
    after = q + dt / 6 * (q1 + 2 * q2 + 2 * q3 + q4)
    for _, quaternion in model.quaternions:
        after[quaternion] /= np.linalg.norm(after[quaternion])
    return after, v + dt / 6 * (v1 + 2 * v2 + 2 * v3 + v4)


def coordinate_rates(model: Model, q: Array, v: Array) -> Array:
    """q̇ (nq,): for a quaternion x it is ½ x ∘ (ω, 0), for a free joint's position R v."""
    rate = np.zeros(model.nq)
    scalar = model.q_of_v >= 0
    rate[model.q_of_v[scalar]] = v[scalar]
    for joint in _quaternion_joints(model):
        omega, x = v[joint.v][:3], q[joint.q][-4:]
        rate[joint.q.stop - 4 : joint.q.stop] = [*(x[3] * omega + np.cross(x[:3], omega)) / 2, -x[:3] @ omega / 2]
    for joint in _free_joints(model):
        unit = q[joint.q][3:] / np.linalg.norm(q[joint.q][3:])  # in a stage it is not exactly of unit length
        rate[joint.q.start : joint.q.start + 3] = lie.rotation_from_quaternion(unit) @ v[joint.v][3:]
    return rate


def rows_of(
    model: Model,
    bodies: Motion,
    q: Array,
    v: Array,
    M: Array,
    free: Array,
    settings: StepSetup,
    contacts: list[Contact],
) -> ContactProblem:
    """Return the rows of contacts and joints, without restitution; contacts that no joint moves along n are omitted."""
    frames = [np.stack([x.n, *tangents(x.n)]) @ point_row(model, bodies, x) for x in contacts]
    kept = [k for k in range(len(contacts)) if np.max(np.abs(frames[k][0]), initial=0.0) > IMMOBILE]
    frictional = [k for k in kept if contacts[k].friction > 0]
    smooth = [k for k in kept if contacts[k].friction <= 0]
    v_begin = free if settings.integrator == "rk4" and not contacts else v
    joints, laws = joint_laws(model, q, v_begin, settings, GAP_TOLERANCE if contacts else LIMIT_TOLERANCE)
    J = np.concatenate([np.zeros((0, model.nv)), *(frames[k] for k in frictional), *(frames[k][:1] for k in smooth),
                        np.eye(model.nv)[joints]])  # fmt: skip
    normal = np.array(
        [*(3 * i for i in range(len(frictional))), *(3 * len(frictional) + i for i in range(len(smooth)))], int
    )
    ordered, c = [contacts[k] for k in (*frictional, *smooth)], np.zeros(len(J))
    for x, k in zip(ordered, normal, strict=True):
        c[k] = x.gap / settings.dt if x.gap > GAP_TOLERANCE else 0.0
    laws = np.concatenate([np.tile([0.0, 0.0, np.inf], (len(smooth), 1)), laws])
    rows = ConstraintRows(J, J @ free + c, np.array([x.friction for x in ordered[: len(frictional)]]), laws)
    return ContactProblem(M, free, ordered, rows, joints, normal, c, J @ v)


def point_row(model: Model, bodies: Motion, x: Contact) -> Array:
    """(3, nv): the Jacobian of the link's point relative to the touched surface."""
    own, other = body_of(model, x.link), body_of(model, x.other)
    return point_jacobian(model, bodies, own, x.x) - point_jacobian(model, bodies, other, x.x)


def joint_friction(model: Model, v: Array) -> Array:  # noqa: ARG001 (Coulomb's does not depend on v)
    """(nv,): the magnitude f, N m or N, of joint friction at velocities v (nv,).

    The velocities are those at the start of the step or, with "rk4" and without contact, of its stages.
    """
    return model.friction


def joint_laws(model: Model, q: Array, v: Array, settings: StepSetup, at_limit: float) -> tuple[np.ndarray, Array]:
    """Return the velocities with friction or limits (rows,), and for each (rows, 3): f dt, lo and hi of v⁺.

    lo ≤ 0 ≤ hi: a joint beyond its limit moves no further, but is not pulled back.
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


def solve_contact(problem: ContactProblem, settings: StepSetup) -> tuple[ContactProblem, Array]:
    """Return the problem with as much restitution as adds no energy, and impulses that obey its law."""
    fraction = 1.0
    for attempt in range(RESTITUTION_ATTEMPTS + 2):
        trial, rebounds = with_restitution(problem, settings, fraction)
        impulses = contact_law.solve(trial.rows, trial.G)
        added, solved = energy_gain(trial, impulses), contact_law.residual(trial.rows, trial.G, impulses) <= SOLVED
        if not rebounds or (solved and added <= NO_WORK * kinetic_energy(trial)):
            break
        by_rebounds = float(impulses[trial.normal] @ np.maximum(-trial.c[trial.normal], 0.0))
        reduced = max(by_rebounds - RESTITUTION_MARGIN * added, 0.0)
        reducible = solved and reduced > 0 and attempt < RESTITUTION_ATTEMPTS
        fraction = fraction * reduced / by_rebounds if reducible else 0.0
    return trial, impulses


def with_restitution(problem: ContactProblem, settings: StepSetup, fraction: float) -> tuple[ContactProblem, bool]:
    """Return the problem with this fraction of the restitution for fast closing contacts, and whether there are any.

    A contact approaches with its velocity before the step or that without impulses, whichever is slower. A rebound
    lasts the whole step and must not add energy: u² − 2 s u = (e u⁻)², with s the decrease of speed by weight in that
    time. With semi-implicit integration s is 0, since the flight compensates for it.
    """
    c, rebounds, free = problem.c.copy(), False, problem.rows.J @ problem.free
    for x, k in zip(problem.contacts, problem.normal, strict=True):
        approach, closes = max(problem.before[k], free[k]), x.gap + settings.dt * free[k] <= 0
        if fraction * x.restitution > 0 and approach < -RESTITUTION_SPEED and closes:
            rebounds, decrease = True, min(free[k] - problem.before[k], 0.0) if settings.integrator == "rk4" else 0.0
            c[k] = min(c[k], -decrease - np.hypot(fraction * x.restitution * approach, decrease))
    return problem._replace(rows=problem.rows._replace(b=free + c), c=c), rebounds


def energy_gain(problem: ContactProblem, impulses: Array) -> float:
    """Return twice the kinetic energy that the impulses add, λᵀ (u − c + J v_f), (C4)."""
    u = problem.G @ impulses + problem.rows.b
    return float(impulses @ (u - problem.c + problem.rows.J @ problem.free))


def kinetic_energy(problem: ContactProblem) -> float:
    """Return twice the kinetic energy without impulses."""
    return float(problem.free @ problem.M @ problem.free)


def velocity(problem: ContactProblem, impulses: Array) -> Array:
    """Return v⁺ = v_f + M̃⁻¹ Jᵀ λ, (nv,), in the frames of v_f."""
    return np.asarray(problem.free + np.linalg.solve(problem.M, problem.rows.J.T @ impulses))


def coordinate_velocities(model: Model, q: Array, problem: ContactProblem, v: Array, settings: StepSetup) -> Array:
    """(nv,): the velocities that move the coordinates: v⁺, plus the correction of overlaps."""
    coordinate_velocity = v.copy()
    if min((x.gap for x in problem.contacts), default=0.0) <= -GAP_TOLERANCE:
        coordinate_velocity += overlap_correction(problem) / settings.dt
        if settings.limits:  # the correction moves no joint beyond its limit
            for j in np.flatnonzero(model.q_of_v >= 0):
                below, above = np.array([model.lower[j], model.upper[j]]) - q[model.q_of_v[j]]
                coordinate_velocity[j] = np.clip(
                    coordinate_velocity[j], min(below / settings.dt, v[j]), max(above / settings.dt, v[j])
                )
    return coordinate_velocity


def overlap_correction(problem: ContactProblem) -> Array:
    """(nv,): the displacement that halves overlaps and closes no gap, (C7)."""
    rows, back = overlap(problem)
    return np.asarray(back @ contact_law.solve(rows, rows.J @ back))


def overlap(problem: ContactProblem) -> tuple[ConstraintRows, Array]:
    """Return the rows of (C7), and M̃⁻¹ J_nᵀ."""
    J = problem.rows.J[problem.normal]
    gap = np.array([x.gap for x in problem.contacts])
    free = np.tile([0.0, 0.0, np.inf], (len(gap), 1))
    return ConstraintRows(J, np.where(gap < 0, ERP * gap, gap), np.zeros(0), free), np.linalg.solve(problem.M, J.T)


def integrate(model: Model, q: Array, coordinate_velocity: Array, dt: float) -> Array:
    """Return q ⊕ dt times `coordinate_velocity`, with free joints' twists in the frames at the start of the step."""
    q = q.copy()
    scalar = model.q_of_v >= 0
    q[model.q_of_v[scalar]] += dt * coordinate_velocity[scalar]
    for joint in _free_joints(model):
        R = lie.rotation_from_quaternion(q[joint.q][3:])
        q[joint.q.start : joint.q.start + 3] += dt * R @ coordinate_velocity[joint.v][3:]
    for joint in _quaternion_joints(model):
        q[joint.q.stop - 4 : joint.q.stop] = _turned(q[joint.q][-4:], dt * coordinate_velocity[joint.v][:3])
    return q


def in_final_frames(model: Model, v: Array, coordinate_velocity: Array, dt: float) -> Array:
    """Rotate free joints' linear velocities in v from the frames at the step's start to those at its end.

    The frames rotate with the angular velocities in `coordinate_velocity` (nv,).
    """
    v = v.copy()
    for joint in _free_joints(model):
        rotation, _ = lie.exp(np.concatenate([-dt * coordinate_velocity[joint.v][:3], np.zeros(3)]))
        v[joint.v.start + 3 : joint.v.stop] = rotation @ v[joint.v][3:]
    return v


def _turned(x: Array, angle: Array) -> Array:
    """Rotate the quaternion x by a rotation vector (3,) in its body frame: x ∘ exp(angle)."""
    half = np.linalg.norm(angle) / 2
    s = np.array([*(np.sinc(half / np.pi) / 2 * angle), np.cos(half)])
    product = np.array([*(x[3] * s[:3] + s[3] * x[:3] + np.cross(x[:3], s[:3])), x[3] * s[3] - x[:3] @ s[:3]])
    return np.asarray(product / np.linalg.norm(product))


def _held_at_limits(
    model: Model, q: Array, after: Array, v: Array, problem: ContactProblem, settings: StepSetup
) -> Array:
    """Return the Runge-Kutta coordinates, but q ⊕ dt v⁺ for a joint that stuck or would pass its limit."""
    after, straight = after.copy(), integrate(model, q, v, settings.dt)
    held = np.zeros(model.nv, bool)
    for j, (friction, low, high) in zip(problem.joints, problem.rows.joints, strict=True):
        small = 1e-10 * (1.0 + abs(problem.free[j]))
        held[j] = (friction > 0 and abs(v[j]) <= small) or v[j] <= low + small or v[j] >= high - small
    for j in np.flatnonzero(model.q_of_v >= 0):
        k = model.q_of_v[j]
        outside = settings.limits and not model.lower[j] <= after[k] <= model.upper[j]
        if held[j] or outside:
            after[k] = straight[k]
    for joint in _quaternion_joints(model):
        if np.any(held[joint.v]):
            after[joint.q] = straight[joint.q]
    return after


def _free_joints(model: Model) -> list[Joint]:
    return [joint for joint in model.joints if joint.kind == "floating"]


def _quaternion_joints(model: Model) -> list[Joint]:
    return [joint for joint in model.joints if joint.kind in ("floating", "spherical")]
