"""Detection of a robot's contacts within a step, and their order."""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.compile.operations import spread
from engine.kernels.collision.ground import ground_contacts
from engine.kernels.collision.shape_contacts import shape_contacts
from engine.kernels.contact.properties import coefficients_of
from engine.kernels.coordinates import expand
from engine.kernels.spatial import load3, load9, store3, store9
from engine.kernels.world import place


@kernel
def exchange(touching, i, j):
    """Swap two contacts."""
    touching.point[i], touching.point[j] = touching.point[j], touching.point[i]
    touching.shape[i], touching.shape[j] = touching.shape[j], touching.shape[i]
    touching.gap[i], touching.gap[j] = touching.gap[j], touching.gap[i]
    x, y = load3(touching.at[i]), load3(touching.at[j])
    store3(touching.at[i], y)
    store3(touching.at[j], x)
    A, B = load9(touching.frame[i]), load9(touching.frame[j])
    store9(touching.frame[i], B)
    store9(touching.frame[j], A)


@inline
def frictional_first(count, contact):
    """Order contacts with friction before those without, as the rows of a system are."""
    touching = contact.contacts
    for _ in spread(1):  # one thread: a second one would swap back what the first has swapped
        frictional = 0
        for i in range(count):
            if coefficients_of(touching.shape[i], contact)[0] > 0.0:
                if i > frictional:
                    exchange(touching, i, frictional)
                frictional += 1


@inline
def put_bodies(q, v, dynamics, loads, contact):
    """Compute the bodies' places at q (nq,), v (nv,)."""
    coupling, tree_q, tree_v = dynamics.coupling, contact.tree_q[0], contact.tree_v[0]
    expand(q, coupling.q_index, coupling.q_factor, coupling.q_offset, tree_q)
    expand(v, coupling.v_index, coupling.v_factor, coupling.v_offset, tree_v)
    place(tree_q, tree_v, loads[1], dynamics.topology, dynamics.constants, contact.solver.tree.limbs, contact.bodies)


@kernel
def find_contacts(q, v, rows, dynamics, loads, contact):
    """Find the contacts that may act within a step from q (nq,), v (nv,), into `contact.contacts`; return their
    number."""
    put_bodies(q, v, dynamics, loads, contact)
    count = ground_contacts(contact.points, contact.bodies, contact.surface, rows.dt, contact.near, contact.contacts)
    if len(contact.pairs) > 0:
        count = shape_contacts(
            count, contact.points.radius.size, contact.points.body.size, contact.pairs, contact.bodies, rows.dt,
            contact.contacts,
        )  # fmt: skip
    frictional_first(count, contact)
    return count
