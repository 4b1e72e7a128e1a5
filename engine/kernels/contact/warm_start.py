"""The warm start: a step begins at the impulses that the previous one stored, by shape and point or feature."""

from __future__ import annotations

import numpy as np

from engine.compile import inline
from engine.compile.operations import parallel_range
from engine.kernels.contact.properties import bodies_of
from engine.kernels.contact.workspace import CONTACT_COUNT, GAP, IMPULSE, NORMAL, OTHER, PLACE, SLIP, WRENCH
from engine.kernels.spatial import cross, load3, load9, mul, mul_t, scale, store3, sub


@inline
def _key(i, contact):
    """The number that identifies a contact of a shape in the next step: its point on the ground, or a pair's
    feature."""
    touching = contact.contacts
    if len(contact.pairs) > 0 and touching.shape[i] >= contact.points.body.size:
        return contact.pairs.feature[touching.point[i] - contact.points.radius.size]
    return touching.point[i]


@inline
def _impulse_before(i, contact_state, robot):
    """The impulse of a contact in the previous step, in the world; 0 if it did not exist."""
    shape, key, impulse = contact_state.contact.contacts.shape[i], _key(i, contact_state.contact), (0.0, 0.0, 0.0)
    for k in range(int(contact_state.summary[robot, CONTACT_COUNT])):
        if contact_state.which[robot, k] == shape and contact_state.key[robot, k] == key:
            impulse = load3(contact_state.seen[robot, k], IMPULSE)
    return impulse


@inline
def load_warm_start(count, joints, contact_state, robot):
    """Load the previous step's impulses into the problem."""
    p, joint_memory = contact_state.contact.solver.problem, contact_state.joint_memory[robot]
    for i in parallel_range(count):
        x = mul(load9(p.frame[i]), _impulse_before(i, contact_state, robot))
        store3(p.impulse[i], x if p.mu[i] > 0.0 else (x[0], 0.0, 0.0))
    for j in parallel_range(joints):
        p.joint_impulse[j] = joint_memory[p.joint[j]]


@inline
def _put_wrench(seen, column, body, x, impulse, contact):
    """Store an impulse at a place x as a wrench on a body, in its frame; on fixed geometry in the world's."""
    if len(contact.pairs) > 0 and body < 0:
        store3(seen, cross(x, impulse), column)
        store3(seen, impulse, column + 3)
        return
    R, p = load9(contact.bodies.rotation[body]), load3(contact.bodies.position[body])
    store3(seen, mul_t(R, cross(sub(x, p), impulse)), column)
    store3(seen, mul_t(R, impulse), column + 3)


@inline
def store_contacts(count, joints, contact_state, robot):
    """Store this step's impulses, in the world, for the next step and for reports; 0 for contacts that do not act."""
    contact, p = contact_state.contact, contact_state.contact.solver.problem
    touching, joint_memory = contact.contacts, contact_state.joint_memory[robot]
    for j in parallel_range(joint_memory.size):
        joint_memory[j] = 0.0
    for i in parallel_range(count):
        u, impulse = load3(p.u[i]), mul_t(load9(p.frame[i]), load3(p.impulse[i]))
        seen = contact_state.seen[robot, i]
        contact_state.which[robot, i], contact_state.key[robot, i] = touching.shape[i], _key(i, contact)
        seen[GAP], seen[SLIP] = touching.gap[i], np.sqrt(u[1] * u[1] + u[2] * u[2]) if p.mu[i] > 0.0 else 0.0
        store3(seen, load3(touching.position[i]), PLACE)
        store3(seen, load3(touching.frame[i]), NORMAL)
        store3(seen, impulse, IMPULSE)
        bodies = bodies_of(touching.shape[i], contact)
        _put_wrench(seen, WRENCH, bodies[0], load3(touching.position[i]), impulse, contact)
        if len(contact.pairs) > 0:
            _put_wrench(seen, OTHER, bodies[1], load3(touching.position[i]), scale(-1.0, impulse), contact)
    for j in parallel_range(joints):
        joint_memory[p.joint[j]] = p.joint_impulse[j]
