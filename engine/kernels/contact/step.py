"""A step's contacts: what may touch, the impulses of the step before, and what is reported of them afterwards."""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.compile.operations import spread
from engine.kernels.collision.ground import ground_contacts
from engine.kernels.collision.shape_contacts import shape_contacts
from engine.kernels.contact.room import GAP, IMPULSE, NORMAL, OTHER, PLACE, SLIP, WRENCH
from engine.kernels.contact.touching import bodies_of, frictional_first
from engine.kernels.coordinates import expand
from engine.kernels.moving import advance
from engine.kernels.spatial import (
    add,
    cross,
    dot,
    load3,
    load9,
    mul_t,
    scale,
    store3,
    sub,
)  # fmt: skip
from engine.kernels.world import place
from engine.step_settings import LOWER, UPPER


@inline
def put_bodies(q, v, dynamics, loads, ground):
    """The bodies of a robot at q (nq,), v (nv,) into their places."""
    coupling, tree_q, tree_v = dynamics.coupling, ground.tree_q[0], ground.tree_v[0]
    expand(q, coupling.q_index, coupling.q_factor, coupling.q_offset, tree_q)
    expand(v, coupling.v_index, coupling.v_factor, coupling.v_offset, tree_v)
    place(tree_q, tree_v, loads[1], dynamics.topology, dynamics.constants, ground.tree.tree.limbs, ground.bodies)


@kernel
def touches(q, v, rows, dynamics, loads, ground):
    """How many contacts may act within a step from q (nq,), v (nv,); they are in `ground.contacts` then."""
    put_bodies(q, v, dynamics, loads, ground)
    count = ground_contacts(ground.points, ground.bodies, ground.surface, rows.dt, ground.near, ground.contacts)
    if len(ground.pairs) > 0:
        count = shape_contacts(
            count, ground.points.radius.size, ground.points.body.size, ground.pairs, ground.bodies, rows.dt,
            ground.contacts,
        )  # fmt: skip
    frictional_first(count, ground)
    return count


@inline
def stop_turning(v, rotations, dt, ground):
    """Take the turning of the frames of free joints out of v_f."""
    free, starts = ground.free, rotations.free
    for f in range(starts.shape[0]):
        c = starts[f, 1]
        turning = cross(load3(v, c, 1), load3(v, c + 3, 1))
        store3(free, c + 3, 1, add(load3(free, c + 3, 1), scale(dt, turning)))


@inline
def _key(i, ground):
    """What a contact is known by from step to step beside its shape: the point with the ground, a pair's feature."""
    touching = ground.contacts
    if len(ground.pairs) > 0 and touching.shape[i] >= ground.points.body.size:
        return ground.pairs.feature[touching.point[i] - ground.points.radius.size]
    return touching.point[i]


@inline
def _impulse_before(i, touch, robot):
    """The impulse of a contact in the step before, in the world; none if it was not there."""
    shape, key, found = touch.ground.contacts.shape[i], _key(i, touch.ground), (0.0, 0.0, 0.0)
    for k in range(int(touch.told[robot, 1])):
        if touch.which[robot, k] == shape and touch.key[robot, k] == key:
            found = load3(touch.seen[robot, k], IMPULSE, 1)
    return found


@inline
def warm(count, frictional, n, touch, robot):
    """The impulses of the step before, turned into the contacts' frames."""
    ground = touch.ground
    touching, impulses, joint_memory = ground.contacts, ground.impulses, touch.joint_memory[robot]
    for i in spread(count):
        before = _impulse_before(i, touch, robot)
        for r in range(3 if i < frictional else 1):
            k = 3 * i + r if i < frictional else 2 * frictional + i
            impulses[k] = dot(load3(touching.frame[i], 3 * r, 1), before)
    first = 2 * frictional + count
    for k in spread(n - first):
        impulses[first + k] = joint_memory[ground.joint_of[k]]


@inline
def _put_wrench(seen, place, body, x, impulse, ground):
    """An impulse at a place x as a wrench on a body, in its frame; on what stands still, in the world's."""
    if len(ground.pairs) > 0 and body < 0:
        store3(seen, place, 1, cross(x, impulse))
        store3(seen, place + 3, 1, impulse)
        return
    R, p = load9(ground.bodies.rotation[body], 0, 1), load3(ground.bodies.position[body], 0, 1)
    store3(seen, place, 1, mul_t(R, cross(sub(x, p), impulse)))
    store3(seen, place + 3, 1, mul_t(R, impulse))


@inline
def remember(count, frictional, n, touch, robot):
    """The impulses of this step, in the world, for the next one and for who asks; of what does not touch, none."""
    ground = touch.ground
    touching, impulses, joint_memory = ground.contacts, ground.impulses, touch.joint_memory[robot]
    for j in spread(joint_memory.size):
        joint_memory[j] = 0.0
    for i in spread(count):
        k = 3 * i if i < frictional else 2 * frictional + i
        x, slip, u = (impulses[k], 0.0, 0.0), 0.0, ground.u
        if i < frictional:
            x = (impulses[k], impulses[k + 1], impulses[k + 2])
            slip = np.sqrt(u[k + 1] * u[k + 1] + u[k + 2] * u[k + 2])
        world = mul_t(load9(touching.frame[i], 0, 1), x)
        seen = touch.seen[robot, i]
        touch.which[robot, i], touch.key[robot, i] = touching.shape[i], _key(i, ground)
        seen[GAP], seen[SLIP] = touching.gap[i], slip
        store3(seen, PLACE, 1, load3(touching.at[i], 0, 1))
        store3(seen, NORMAL, 1, load3(touching.frame[i], 0, 1))
        store3(seen, IMPULSE, 1, world)
        bodies = bodies_of(touching.shape[i], ground)
        _put_wrench(seen, WRENCH, bodies[0], load3(touching.at[i], 0, 1), world, ground)
        if len(ground.pairs) > 0:
            _put_wrench(seen, OTHER, bodies[1], load3(touching.at[i], 0, 1), scale(-1.0, world), ground)
    first = 2 * frictional + count
    for k in spread(n - first):
        joint_memory[ground.joint_of[k]] = impulses[first + k]


@inline
def report(left, count, touch, robot):
    """The residual of the step's impulses and the number of contacts."""
    touch.told[robot, 0], touch.told[robot, 1], touch.told[robot, 2] = left, count, max(left, touch.told[robot, 2])


@inline
def move_on(overlap, q, v, rows, rotations, ground):
    """v ← v⁺, `ground.free`, and q ← q ⊕ dt v⁺, less what overlaps: `ground.shift`, where there is any."""
    for j in spread(v.size):
        v[j] = ground.free[j]
        way, index = v[j] + (ground.shift[j] / rows.dt if overlap else 0.0), rows.q_of_v[j]
        if overlap and rows.has_limits and index >= 0:  # no joint passes its limit by what is taken back
            below, above = rows.joints[LOWER, j] - q[index], rows.joints[UPPER, j] - q[index]
            way = min(max(way, min(below / rows.dt, v[j])), max(above / rows.dt, v[j]))
        ground.column[j] = way
    advance(q, ground.column, v, rows.dt, rows.q_of_v, rotations)
