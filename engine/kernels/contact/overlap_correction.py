"""Correction of overlaps in position, which changes no velocity.

It is a contact problem at rest, without friction or joints, whose target velocities are β times the gaps.
"""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.compile.operations import parallel_range
from engine.kernels.contact.newton import respond
from engine.kernels.contact.problem import JOINTS, LARGEST_VELOCITY, OVERLAPS
from engine.kernels.contact.rounding import overlap_slack, overlap_target_residual
from engine.kernels.contact.search import OVERLAP_START, begin, restore_significant
from engine.kernels.spatial import store3
from engine.scene.contact_tolerances import ERP


@inline
def _overlaps(count, contact):
    """Whether any shapes overlap."""
    deepest = 0.0
    for i in range(count):
        deepest = min(deepest, contact.contacts.gap[i])
    return deepest < -overlap_slack(deepest)


@kernel
def begin_overlap_correction(count, dt, inertia, topology, contact):
    """Begin the search for the displacement that reduces overlaps; return whether there are any."""
    touching, p = contact.contacts, contact.solver.problem
    if not _overlaps(count, contact):
        return False
    for i in parallel_range(count):
        gap = touching.gap[i]
        p.mu[i], p.offset[i] = 0.0, (ERP * gap if gap < 0.0 else gap) / dt
        store3(p.free[i], (p.offset[i], 0.0, 0.0))
    contact.solver.search.counts[JOINTS], contact.solver.search.counts[OVERLAPS] = 0, 1
    tolerance = overlap_target_residual(dt)
    begin(OVERLAP_START, tolerance, tolerance, count, 0, inertia, topology, contact.bodies, contact.solver)
    return True


@kernel
def end_overlap_correction(count, dt, topology, contact):
    """Compute the displacement that reduces overlaps into `contact.shift`, after its search."""
    solver, p = contact.solver, contact.solver.problem
    restore_significant(count, 0, solver.search.numbers[LARGEST_VELOCITY], p)
    respond(count, 0, topology, contact.bodies, solver)
    for j in parallel_range(contact.shift.size):
        contact.shift[j] = dt * p.total[j]
