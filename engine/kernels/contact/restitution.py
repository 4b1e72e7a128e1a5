"""Newton's law of restitution: target velocities of rebounds, and their reduction where they would add energy."""

from __future__ import annotations

import numpy as np

from engine.compile import inline
from engine.compile.operations import parallel_range, thread_max
from engine.kernels.contact.problem import HAS_RESTITUTION, RESTITUTION_ATTEMPT, RESTITUTION_FRACTION
from engine.kernels.contact.properties import coefficients_of
from engine.kernels.contact.rounding import closing_gap, residual_tolerance
from engine.kernels.spatial import add, dot, load3
from engine.scene.contact_tolerances import RESTITUTION_ATTEMPTS, RESTITUTION_MARGIN, RESTITUTION_SPEED


@inline
def rebound_velocity(speed, gravity_change):
    """The rebound velocity u with u² − 2 g u = s², where Newton's law of restitution has the speed s = |`speed`|.

    g is `gravity_change`, the change of the normal velocity by gravity within the step, if it is negative: this u keeps
    the energy although the contact separates for the whole step.
    """
    decrease = min(gravity_change, 0.0)
    return decrease + np.sqrt(speed * speed + decrease * decrease)


@inline
def restitution_offsets(count, restitution, dt, keeps_energy, contact):
    """Set the target velocities by gaps and by `restitution` of the restitution; return whether any contact rebounds.

    A contact approaches with the velocity at the start of the step or with that of v_f, whichever is slower: the
    faster one would add energy. `keeps_energy`: the integrator conserves the energy of free flight, see
    `rebound_velocity`; semi-implicit steps need no correction.
    """
    touching, p, rebounds = contact.contacts, contact.solver.problem, 0.0
    for i in parallel_range(count):
        gap, before, free = touching.gap[i], contact.before[i], p.normal_velocity[i]
        c = closing_gap(gap, load3(touching.frame[i]), load3(touching.position[i])) / dt
        e, approach = restitution * coefficients_of(touching.shape[i], contact)[1], max(before, free)
        if e > 0.0 and approach < -RESTITUTION_SPEED and gap + dt * free <= 0.0:
            rebounds = 1.0
            c = min(c, -rebound_velocity(e * approach, free - before) if keeps_energy else e * approach)
        p.offset[i], p.free[i, 0] = c, free + c
    return thread_max(rebounds) > 0.0


@inline
def _added_energy(count, joints, p):
    """Twice the kinetic energy that the impulses add, (C4), and the part of it due to rebound velocities."""
    total, rebounds = 0.0, 0.0
    for i in range(count):
        x, u, b = load3(p.impulse[i]), load3(p.u[i]), load3(p.free[i])
        total += dot(x, add(u, b)) - 2.0 * x[0] * p.offset[i]
        rebounds += x[0] * max(-p.offset[i], 0.0)
    for j in range(joints):
        total += p.joint_impulse[j] * (p.joint_u[j] + p.joint_free[j])
    return total, rebounds


@inline
def accept_or_reduce_restitution(solved, count, joints, contact):
    """Whether the impulses of rebounds obey their laws and add no energy; otherwise reduce the restitution's fraction.

    With constant impulses, a reduction by the share of the added energy in that of the rebounds would suffice. Laws
    that were not `solved` may contradict each other, as where a joint's limit prevents a rebound: then it is zero.
    """
    search = contact.solver.search
    if search.counts[HAS_RESTITUTION] == 0:
        return True
    added, rebounds = _added_energy(count, joints, contact.solver.problem)
    if solved and added <= 0.0:
        return True
    search.counts[RESTITUTION_ATTEMPT] += 1
    factor = 0.0
    if solved and rebounds > 0.0 and search.counts[RESTITUTION_ATTEMPT] <= RESTITUTION_ATTEMPTS:
        factor = max(1.0 - RESTITUTION_MARGIN * added / rebounds - residual_tolerance(added), 0.0)
    search.numbers[RESTITUTION_FRACTION] *= factor
    return search.counts[RESTITUTION_ATTEMPT] > RESTITUTION_ATTEMPTS + 1
