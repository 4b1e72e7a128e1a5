"""The end of a step under contacts: the report of its residual, and the motion of the coordinates."""

from __future__ import annotations

import numpy as np

from engine.compile import inline
from engine.compile.operations import spread
from engine.kernels.contact.workspace import CONTACT_COUNT, RESIDUAL, WORST_RESIDUAL
from engine.kernels.joint_motion import advance
from engine.step_settings import LOWER, UPPER


@inline
def report(residual, count, contact_state, robot):
    """Report the residual of the step's impulses and the number of contacts; a residual of ∞ where there was no room
    for them, a `count` of −1."""
    summary, residual = contact_state.summary[robot], residual if count >= 0 else np.inf
    summary[RESIDUAL], summary[CONTACT_COUNT] = residual, max(count, 0)
    summary[WORST_RESIDUAL] = max(residual, summary[WORST_RESIDUAL])


@inline
def move_on(overlap, q, v, rows, rotations, contact):
    """v ← v⁺ = `contact.free`, and q ← q ⊕ dt v⁺, with the overlap correction `contact.shift` if there is one.

    No joint moves past its limit, whatever residual the search or the correction has left.
    """
    for j in spread(v.size):
        v[j] = contact.free[j]
        way, index = v[j] + (contact.shift[j] / rows.dt if overlap else 0.0), rows.q_of_v[j]
        if rows.has_limits and index >= 0:
            below, above = rows.joints[LOWER, j] - q[index], rows.joints[UPPER, j] - q[index]
            way = min(max(way, min(below / rows.dt, 0.0)), max(above / rows.dt, 0.0))
        contact.column[j] = way
    advance(q, contact.column, v, rows.dt, rows.q_of_v, rotations)
