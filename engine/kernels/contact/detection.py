"""Detection of a robot's contacts within a step."""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.kernels.collision.ground import ground_contacts
from engine.kernels.collision.shape_contacts import shape_contacts
from engine.kernels.coordinates import expand
from engine.kernels.world import compute_bodies


@inline
def update_bodies(q, v, dynamics, loads, contact):
    """Compute the bodies' places at q (nq,), v (nv,)."""
    coupling, tree_q, tree_v = dynamics.coupling, contact.tree_q[0], contact.tree_v[0]
    expand(q, coupling.q_index, coupling.q_factor, coupling.q_offset, tree_q)
    expand(v, coupling.v_index, coupling.v_factor, coupling.v_offset, tree_v)
    compute_bodies(
        tree_q, tree_v, loads[1], dynamics.topology, dynamics.constants, contact.solver.tree.limbs, contact.bodies
    )


@kernel
def find_contacts(q, v, rows, dynamics, loads, contact):
    """Find the contacts that may act within a step from q (nq,), v (nv,), into `contact.contacts`; return their
    number."""
    update_bodies(q, v, dynamics, loads, contact)
    count = ground_contacts(contact.points, contact.bodies, contact.surface, rows.dt, contact.near, contact.contacts)
    if len(contact.pairs) > 0:
        count = shape_contacts(
            count, contact.points.radius.size, contact.points.body.size, contact.pairs, contact.bodies, rows.dt,
            contact.contacts,
        )  # fmt: skip
    return count
