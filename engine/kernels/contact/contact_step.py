"""A robot's step under contacts, by the articulated-body recursion.

With M̃ the mass matrix with the implicit terms on its diagonal, one factorisation gives v_f = v + dt M̃⁻¹(τ − bias) and
the response to the impulses λ of contacts and of joints with friction or active limits: v⁺ = v_f + M̃⁻¹ Jᵀ λ, where
u = J v⁺ + c obeys the laws of docs/contact.md; `newton` solves for them. Overlap is corrected in position, by
`overlap_correction`, and changes no velocity.

The linear velocity of a free joint is given in its body's frame, which rotates during the step. Here it is in the frame
in which the step began, without the term −ω × v of v̇, so that a rolling contact stays on the ground. Steps without
contacts do the same.
"""

from __future__ import annotations

import numpy as np

from engine.compile import compiled_apart, inline, kernel
from engine.compile.operations import parallel_range
from engine.kernels.contact.newton import respond
from engine.kernels.contact.overlap_correction import begin_overlap_correction, end_overlap_correction
from engine.kernels.contact.problem import (
    ACCEPTED_RESIDUAL,
    BEST_RESIDUAL,
    CONTACTS,
    HAS_RESTITUTION,
    JOINTS,
    LARGEST_VELOCITY,
    OVERLAPS,
    RESTITUTION_ATTEMPT,
    RESTITUTION_FRACTION,
    SEARCHES,
    largest_velocity,
    residual,
)
from engine.kernels.contact.problem_rows import rows_by_bodies
from engine.kernels.contact.recursion import accelerations, factorise
from engine.kernels.contact.restitution import accept_or_reduce_restitution, restitution_offsets
from engine.kernels.contact.rounding import acceptable_residual, extra_step_factor, residual_tolerance, target_residual
from engine.kernels.contact.search import COLD_START, WARM_START, begin, finish_search, restore_significant
from engine.kernels.contact.warm_start import load_warm_start, store_contacts
from engine.kernels.contact.workspace import CONTACT_COUNT, RESIDUAL, WORST_RESIDUAL
from engine.kernels.joint_motion import advance, to_start_frame
from engine.step_settings import LOWER, UPPER

MAX_SEARCHES = 3
"""The maximum number of searches where rounding leaves a larger residual than the search computed."""
WARM_START_RESIDUAL = 0.5
"""The residual below which Newton's steps begin at the previous step's impulses."""


@kernel
def free_velocity(v, forces, rows, topology, gravity, contact):
    """Factorise M̃ and compute v_f into `contact.free`."""
    tree = contact.solver.tree
    factorise(forces.force[0], forces.added_inertia[0], topology, contact.bodies, tree)
    accelerations(gravity, topology, contact.bodies, tree, contact.column)
    for j in parallel_range(v.size):
        contact.free[j] = v[j] + rows.dt * contact.column[j]


@inline
def _set_targets(count, joints, restitution, dt, keeps_energy, topology, contact):
    """Set the contacts' target velocities for this fraction of the restitution, and u; return the residual."""
    solver, numbers, counts = contact.solver, contact.solver.search.numbers, contact.solver.search.counts
    numbers[RESTITUTION_FRACTION], counts[SEARCHES] = restitution, 0
    counts[HAS_RESTITUTION] = 1 if restitution_offsets(count, restitution, dt, keeps_energy, contact) else 0
    respond(count, joints, topology, contact.bodies, solver)
    return residual(count, joints, solver.problem, largest_velocity(count, joints, solver.problem))


@inline
def _begin_search(count, joints, residual_now, inertia, topology, contact):
    """Begin a search at the present impulses, or at zero where `residual_now` is large."""
    plan = WARM_START if residual_now < WARM_START_RESIDUAL else COLD_START
    tolerance, accepted = target_residual(residual_now), acceptable_residual(residual_now)
    begin(plan, tolerance, accepted, count, joints, inertia, topology, contact.bodies, contact.solver)


@kernel
def _accept_or_search(count, joints, dt, keeps_energy, inertia, contact):
    """Return whether the previous step's impulses obey the law; otherwise begin a search from them."""
    search, topology, restitution = contact.solver.search, contact.topology, 1.0
    search.counts[RESTITUTION_ATTEMPT] = 0
    residual_now = _set_targets(count, joints, restitution, dt, keeps_energy, topology, contact)
    while residual_now <= extra_step_factor(count, residual_now) * residual_tolerance(residual_now):
        if accept_or_reduce_restitution(True, count, joints, contact):
            search.numbers[BEST_RESIDUAL] = residual_now
            return True
        restitution = search.numbers[RESTITUTION_FRACTION]
        residual_now = _set_targets(count, joints, restitution, dt, keeps_energy, topology, contact)
    _begin_search(count, joints, residual_now, inertia, topology, contact)
    return False


@kernel
def begin_contacts(keeps_energy, count, q, v, inertia, rows, contact_state, robot):
    """Find the rows of the `count` contacts and of joints; return whether the previous step's impulses obey their laws.

    Otherwise a search begins. v_f is in `contact.free`. `keeps_energy`: see `restitution`. q (nq,) and v (nv,) are
    those of one `robot`, `inertia` (nv,) is d.
    """
    contact, counts = contact_state.contact, contact_state.contact.solver.search.counts
    contacts, joints = rows_by_bodies(count, q, v, inertia, rows, contact.topology, contact)
    counts[CONTACTS], counts[JOINTS], counts[OVERLAPS] = contacts, joints, 0
    load_warm_start(contacts, joints, contact_state, robot)
    return _accept_or_search(contacts, joints, rows.dt, keeps_energy, inertia, contact)


@kernel
def _accept_or_search_again(count, joints, dt, keeps_energy, inertia, contact):
    """Return whether the search's impulses are those of the step; otherwise begin another search."""
    solver, search, p, topology = contact.solver, contact.solver.search, contact.solver.problem, contact.topology
    unit = search.numbers[LARGEST_VELOCITY]
    restore_significant(count, joints, unit, p)
    respond(count, joints, topology, contact.bodies, solver)
    residual_now = residual(count, joints, p, unit)
    search.counts[SEARCHES] += 1
    accepted = search.numbers[BEST_RESIDUAL] <= search.numbers[ACCEPTED_RESIDUAL]
    if accepted and residual_now > acceptable_residual(residual_now) and search.counts[SEARCHES] < MAX_SEARCHES:
        _begin_search(count, joints, residual_now, inertia, topology, contact)
        return False
    final = accept_or_reduce_restitution(accepted, count, joints, contact)
    while not final:
        residual_now = _set_targets(
            count, joints, search.numbers[RESTITUTION_FRACTION], dt, keeps_energy, topology, contact
        )
        if residual_now > extra_step_factor(count, residual_now) * residual_tolerance(residual_now):
            _begin_search(count, joints, residual_now, inertia, topology, contact)
            return False
        final = accept_or_reduce_restitution(True, count, joints, contact)
    search.numbers[BEST_RESIDUAL] = residual_now
    return True


@inline
def _report(residual_now, count, contact_state, robot):
    """Report the residual of the step's impulses and the number of contacts; a residual of ∞ where there was no room
    for them, a `count` of −1."""
    summary, worst = contact_state.summary[robot], residual_now if count >= 0 else np.inf
    summary[RESIDUAL], summary[CONTACT_COUNT] = worst, max(count, 0)
    summary[WORST_RESIDUAL] = max(worst, summary[WORST_RESIDUAL])


@kernel
def end_contacts(accepted, keeps_energy, dt, inertia, contact_state, robot):
    """Compute v⁺ into `contact.free` after a search, or directly if the impulses are `accepted`, and store these.

    Returns False if another search begins: from the impulses that the last one left, or for the overlap correction.
    """
    contact, search = contact_state.contact, contact_state.contact.solver.search
    contacts, joints = search.counts[CONTACTS], search.counts[JOINTS]
    if search.counts[OVERLAPS] == 1:
        end_overlap_correction(contacts, dt, contact.topology, contact)
        return True
    if not accepted and not _accept_or_search_again(contacts, joints, dt, keeps_energy, inertia, contact):
        return False
    store_contacts(contacts, joints, contact_state, robot)
    _report(search.numbers[BEST_RESIDUAL] if contacts > 0 else 0.0, contacts, contact_state, robot)
    for j in parallel_range(contact.free.size):
        contact.free[j] += contact.solver.problem.total[j]
    return not begin_overlap_correction(contacts, dt, inertia, contact.topology, contact)


@compiled_apart
def contact_velocity(keeps_energy, count, q, v, forces, rows, rotations, gravity, contact_state, robot):
    """Compute v⁺ into `contact.free` under the `count` contacts that were found, and the overlap correction.

    The arguments are as for `begin_contacts`; `forces` are the robot's.
    """
    contact, inertia = contact_state.contact, forces.added_inertia[0]
    free_velocity(v, forces, rows, contact.topology, gravity, contact)
    to_start_frame(v, rows.dt, contact.free, rotations)
    ended = begin_contacts(keeps_energy, count, q, v, inertia, rows, contact_state, robot)
    if ended:
        ended = end_contacts(True, keeps_energy, rows.dt, inertia, contact_state, robot)
    while not ended:
        counts = contact.solver.search.counts
        finish_search(counts[CONTACTS], counts[JOINTS], inertia, contact.topology, contact)
        ended = end_contacts(False, keeps_energy, rows.dt, inertia, contact_state, robot)


@inline
def integrate(q, v, rows, rotations, contact):
    """v ← v⁺ = `contact.free`, and q ← q ⊕ dt v⁺, with the overlap correction `contact.shift` if there is one.

    No joint moves past its limit, for any residual that the search or the correction leaves.
    """
    overlap = contact.solver.search.counts[OVERLAPS] == 1
    for j in parallel_range(v.size):
        v[j] = contact.free[j]
        coordinate_velocity, index = v[j] + (contact.shift[j] / rows.dt if overlap else 0.0), rows.q_of_v[j]
        if rows.has_limits and index >= 0:
            below, above = rows.joints[LOWER, j] - q[index], rows.joints[UPPER, j] - q[index]
            coordinate_velocity = min(max(coordinate_velocity, min(below / rows.dt, 0.0)), max(above / rows.dt, 0.0))
        contact.column[j] = coordinate_velocity
    advance(q, contact.column, v, rows.dt, rows.q_of_v, rotations)
