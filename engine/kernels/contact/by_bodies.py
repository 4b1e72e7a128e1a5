"""The velocity of a robot's step under contacts, by the articulated-body recursion.

With M̃ the mass matrix with the implicit terms on its diagonal, one factorisation gives v_f = v + dt M̃⁻¹(τ − bias) and
the response to the impulses λ of contacts and of joints with friction or active limits: v⁺ = v_f + M̃⁻¹ Jᵀ λ, where
u = J v⁺ + c obeys the laws of docs/contact.md; `newton` solves for them. Overlap is corrected in position, by
`overlap_correction`, and changes no velocity.

The linear velocity of a free joint is given in its body's frame, which rotates during the step. Here it is in the frame
in which the step began, without the term −ω × v of v̇, so that a rolling contact stays on the ground. Steps without
contacts do the same.
"""

from __future__ import annotations

from engine.compile import compiled_apart, inline, kernel
from engine.compile.operations import spread
from engine.kernels.contact.newton import respond
from engine.kernels.contact.overlap_correction import overlap_correction_by_bodies
from engine.kernels.contact.problem import (
    ACCEPTED_RESIDUAL,
    BEST_RESIDUAL,
    HAS_RESTITUTION,
    LARGEST_VELOCITY,
    RESTARTS,
    RESTITUTION_ATTEMPT,
    RESTITUTION_SHARE,
    greatest_velocity,
    residual,
)
from engine.kernels.contact.problem_rows import rows_by_bodies
from engine.kernels.contact.recursion import accelerations, factorise
from engine.kernels.contact.restitution import accept_restitution, restitution_offsets
from engine.kernels.contact.rounding import acceptable_residual, extra_step_factor, residual_tolerance, target_residual
from engine.kernels.contact.search import COLD_START, WARM_START, begin, finish_search, restore_significant
from engine.kernels.contact.step import report
from engine.kernels.contact.warm_start import load_warm_start, store_contacts
from engine.kernels.joint_motion import to_start_frame
from engine.kernels.spatial import load3, store3

MOST_RESTARTS = 3
"""The maximum number of searches where rounding leaves a larger residual than the search computed."""
WARM_START_RESIDUAL = 0.5
"""The residual below which Newton's steps begin at the previous step's impulses."""


@kernel
def free_velocity(v, forces, rows, topology, gravity, contact):
    """Factorise M̃ and compute v_f into `contact.free`."""
    tree = contact.solver.tree
    factorise(forces.force[0], forces.inertia[0], topology, contact.bodies, tree)
    accelerations(gravity, topology, contact.bodies, tree, contact.column)
    for j in spread(v.size):
        contact.free[j] = v[j] + rows.dt * contact.column[j]


@inline
def store_impulses(count, frictional, joints, contact):
    """Store impulses and velocities in `contact` for the rest of the step."""
    p, u = contact.solver.problem, contact.u
    for i in spread(count):
        k = 3 * i if i < frictional else 2 * frictional + i
        for r in range(3 if i < frictional else 1):
            contact.impulses[k + r], u[k + r] = p.impulse[i, r], p.u[i, r]
    for j in spread(joints):
        contact.impulses[2 * frictional + count + j] = p.joint_impulse[j]


@inline
def _load_impulses(count, frictional, joints, contact):
    """Load the previous step's impulses from `contact.impulses` into the problem."""
    p = contact.solver.problem
    for i in spread(count):
        k = 3 * i if i < frictional else 2 * frictional + i
        store3(p.impulse[i], (contact.impulses[k], 0.0, 0.0))
        if i < frictional:
            store3(p.impulse[i], load3(contact.impulses, k))
    for j in spread(joints):
        p.joint_impulse[j] = contact.impulses[2 * frictional + count + j]


@inline
def _set_targets(count, joints, restitution, dt, keeps_energy, topology, contact):
    """Set the contacts' target velocities for this share of the restitution, and u; return the residual."""
    work, numbers, counts = contact.solver, contact.solver.search.numbers, contact.solver.search.counts
    numbers[RESTITUTION_SHARE], counts[RESTARTS] = restitution, 0
    counts[HAS_RESTITUTION] = 1 if restitution_offsets(count, restitution, dt, keeps_energy, contact) else 0
    respond(count, joints, topology, contact.bodies, work, contact.column)
    return residual(count, joints, work.problem, 0.0, greatest_velocity(count, joints, work.problem))


@inline
def _begin_search(count, joints, residual_now, inertia, topology, contact):
    """Begin a search at the present impulses, or at zero where `residual_now` is large."""
    p = contact.solver.problem
    for j in spread(p.total.size):
        p.total[j] = contact.column[j]
    plan = WARM_START if residual_now < WARM_START_RESIDUAL else COLD_START
    tolerance, accepted = target_residual(residual_now), acceptable_residual(residual_now)
    begin(plan, tolerance, accepted, count, joints, inertia, topology, contact.bodies, contact.solver)


@kernel
def accept_or_search(count, frictional, joints, dt, keeps_energy, inertia, topology, contact):
    """Return whether the previous step's impulses obey the law; otherwise begin a search from them."""
    search = contact.solver.search
    search.counts[RESTITUTION_ATTEMPT] = 0
    _load_impulses(count, frictional, joints, contact)
    residual_now, restitution = _set_targets(count, joints, 1.0, dt, keeps_energy, topology, contact), 1.0
    while residual_now <= extra_step_factor(residual_now) * residual_tolerance(residual_now):
        if accept_restitution(count, joints, contact):
            search.numbers[BEST_RESIDUAL] = residual_now
            return True
        restitution = search.numbers[RESTITUTION_SHARE]
        residual_now = _set_targets(count, joints, restitution, dt, keeps_energy, topology, contact)
    _begin_search(count, joints, residual_now, inertia, topology, contact)
    return False


@kernel
def accept_or_search_again(count, joints, dt, keeps_energy, inertia, topology, contact):
    """Return whether the search's impulses are those of the step; otherwise begin another search."""
    work, search, p = contact.solver, contact.solver.search, contact.solver.problem
    unit = search.numbers[LARGEST_VELOCITY]
    restore_significant(count, joints, unit, p)
    respond(count, joints, topology, contact.bodies, work, contact.column)
    residual_now = residual(count, joints, p, 0.0, unit)
    search.counts[RESTARTS] += 1
    accepted = search.numbers[BEST_RESIDUAL] <= search.numbers[ACCEPTED_RESIDUAL]
    if accepted and residual_now > acceptable_residual(residual_now) and search.counts[RESTARTS] < MOST_RESTARTS:
        _begin_search(count, joints, residual_now, inertia, topology, contact)
        return False
    lawful = accept_restitution(count, joints, contact)
    while not lawful:
        residual_now = _set_targets(
            count, joints, search.numbers[RESTITUTION_SHARE], dt, keeps_energy, topology, contact
        )
        if residual_now > extra_step_factor(residual_now) * residual_tolerance(residual_now):
            _begin_search(count, joints, residual_now, inertia, topology, contact)
            return False
        lawful = accept_restitution(count, joints, contact)
    search.numbers[BEST_RESIDUAL] = residual_now
    return True


@kernel
def impulses_by_bodies(count, frictional, joints, dt, keeps_energy, forces, topology, contact):
    """Compute the impulses into `contact.impulses`, from the previous step's there; return their residual.

    `contact.column` (nv,) is their change of v_f.
    """
    inertia = forces.inertia[0]
    found = accept_or_search(count, frictional, joints, dt, keeps_energy, inertia, topology, contact)
    while not found:
        finish_search(count, joints, inertia, topology, contact)
        found = accept_or_search_again(count, joints, dt, keeps_energy, inertia, topology, contact)
    store_impulses(count, frictional, joints, contact)
    return contact.solver.search.numbers[BEST_RESIDUAL]


@compiled_apart
def contact_velocity(keeps_energy, count, q, v, forces, rows, rotations, gravity, contact_state, robot):
    """Compute v⁺ into `contact.free` under the `count` contacts that were found.

    Returns whether shapes overlap; `contact.shift` is then a displacement of the coordinates. `keeps_energy`: see
    `restitution`. q (nq,) and v (nv,) are those of one `robot`, `forces` its first; its rows of `contact_state` are
    read and written.
    """
    contact, topology = contact_state.contact, contact_state.contact.topology
    free_velocity(v, forces, rows, topology, gravity, contact)
    to_start_frame(v, rows.dt, contact.free, rotations)
    frictional, contacts, joints = rows_by_bodies(count, q, v, forces.inertia[0], rows, topology, contact)
    n = 2 * frictional + contacts + joints
    load_warm_start(contacts, frictional, n, contact_state, robot)
    residual_now = impulses_by_bodies(contacts, frictional, joints, rows.dt, keeps_energy, forces, topology, contact)
    store_contacts(contacts, frictional, n, contact_state, robot)
    report(residual_now, contacts, contact_state, robot)
    for j in range(v.size):
        contact.free[j] += contact.column[j]
    return overlap_correction_by_bodies(contacts, rows.dt, forces, topology, contact)
