"""The contacts and joint rows of a step, by the inertias of the bodies: their mobilities and their targets."""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.compile.operations import parallel_range
from engine.kernels.bodies import ZERO
from engine.kernels.contact import mimics
from engine.kernels.contact.body_pairs import TOUCH, UNKNOWNS, add_contact, relative_velocity
from engine.kernels.contact.immobile_contacts import leave_out_immobile
from engine.kernels.contact.loaded_bodies import LEFT_OUT, leave_out_unloaded
from engine.kernels.contact.newton import relative_mobilities
from engine.kernels.contact.problem import contacts_from
from engine.kernels.contact.properties import bodies_of, coefficients_of
from engine.kernels.contact.recursion import (
    carried_twist,
    mobility_at,
    mobility_of,
    shifted_mobility,
    store_twist,
    velocity_at,
)
from engine.kernels.contact.recursion_workspace import HAS_WAITING, TO_PARENT, axis_of
from engine.kernels.contact.rounding import limit_slack
from engine.kernels.joint_constraints import friction
from engine.kernels.joint_rows import bounds, is_row
from engine.kernels.limbs import outward
from engine.kernels.robot import KIND, PARENT, V_START
from engine.kernels.spatial import ZERO6, ZERO9, add, cross, dot, load3, load6, load9, store3, store6, store9, sub
from engine.kernels.world import joint_twist
from engine.model import WORLD
from engine.scene.contact_tolerances import LIMIT_MARGIN


@inline
def _velocity_before(body, n, x, bodies):
    """The velocity along n of a body's place x at the beginning of the step."""
    arm = sub(x, load3(bodies.position[body]))
    return dot(n, add(load3(bodies.twist[body], 3), cross(load3(bodies.twist[body]), arm)))


@inline
def _contacts(count, topology, contact):
    """Fill in the problem's contacts, and `contact.before`, their normal velocities at the beginning of the step.

    Returns whether there is room for all pairs of bodies.
    """
    touching, p, bodies, has_room = contact.contacts, contact.solver.problem, contact.bodies, True
    for i in parallel_range(topology.shape[0]):
        p.head[i] = -1
    for i in parallel_range(count):
        body, other = bodies_of(touching.shape[i], contact)
        x, n = load3(touching.position[i]), load3(touching.frame[i])
        contact.before[i] = _velocity_before(body, n, x, bodies)
        if len(contact.solver.tree.pairs) > 0 and other != WORLD:
            contact.before[i] -= _velocity_before(other, n, x, bodies)
        p.mu[i] = coefficients_of(touching.shape[i], contact)[0]
        store3(p.arm[i], sub(x, load3(bodies.position[body])))
        store9(p.frame[i], load9(touching.frame[i]))
    if len(contact.solver.tree.pairs) > 0:
        contact.solver.tree.pairs.counts[TOUCH], contact.solver.tree.pairs.counts[UNKNOWNS] = 0, 0
    for i in range(count - 1, -1, -1):
        body, other = bodies_of(touching.shape[i], contact)
        if len(contact.solver.tree.pairs) > 0 and other != WORLD:
            x = load3(touching.position[i])
            has_room = add_contact(i, body, other, x, bodies, p, contact.solver.tree.pairs) and has_room
        else:
            p.next_contact[i], p.head[body] = p.head[body], i
    return has_room


@inline
def _joints(q, v, rows, contact):
    """Find the joints with friction or near a limit, as ones in `rhs`; return their number."""
    count, p = 0, contact.solver.problem
    for j in parallel_range(contact.free.size):
        p.rhs[j] = 0.0
        if is_row(rows, j):
            low, high = bounds(rows, j, q)
            v_free = contact.free[j]
            if friction(rows.joints, j, v[j]) > 0.0 or v_free < low + LIMIT_MARGIN or v_free > high - LIMIT_MARGIN:
                p.rhs[j] = 1.0
    for j in range(contact.free.size):
        if p.rhs[j] > 0.0:
            p.joint[count] = j
            count += 1
    for k in parallel_range(count):
        j = p.joint[k]
        low, high = bounds(rows, j, q)
        p.joint_free[k], p.law[k, 0] = contact.free[j], friction(rows.joints, j, v[j]) * rows.dt
        p.law[k, 1] = low if low * rows.dt < -limit_slack(low) else 0.0
        p.law[k, 2] = high if high * rows.dt > limit_slack(high) else 0.0
    return count


@kernel
def _mobilities(joints, topology, contact):
    """Compute the mobility of each row, and its velocity at v_f."""
    p, tree, bodies, free = contact.solver.problem, contact.solver.tree, contact.bodies, contact.free
    limbs = tree.limbs
    mimics.eliminated_mobilities(tree, p.dv)
    for limb in outward(limbs):
        E, F, H, omega, velocity = ZERO6, ZERO9, ZERO6, ZERO, ZERO  # of body i − 1
        for i in range(limbs.begin[limb], limbs.end[limb]):
            if tree.loaded[i, TO_PARENT] == LEFT_OUT:
                continue
            parent, kind, start, sums = topology[i, PARENT], topology[i, KIND], topology[i, V_START], tree.sums[i]
            if parent == WORLD:
                E, F, H = ZERO6, ZERO9, ZERO6
            else:
                if parent != i - 1:
                    parent_sums = tree.sums[parent]
                    E, F, H = load6(parent_sums), load9(parent_sums, 6), load6(parent_sums, 15)
                E, F, H = shifted_mobility(load3(bodies.arm[i]), E, F, H)
            omega, velocity = carried_twist(i, parent, bodies, ZERO, omega, velocity, tree)
            angular, linear = joint_twist(kind, load9(bodies.rotation[i]), free, start)
            omega = add(omega, mimics.axis(i, angular, tree))
            velocity = add(velocity, mimics.axis(i, linear, tree))
            if not mimics.eliminated_with_joint(i, tree):
                e = mimics.axis(i, axis_of(bodies.rotation[i]), tree)
                E, H = mimics.with_joint_mobility(kind, e, p.dv[start], E, H)
            else:
                E, F, H = mobility_of(i, E, F, H, topology, bodies, tree, p.dv)
            store_twist(i, omega, velocity, tree)
            if len(tree.pairs) > 0:
                store3(tree.step[i], omega)
                store3(tree.step[i], velocity, 3)
            if tree.flow[i, HAS_WAITING] == 1:
                store6(sums, E)
                store9(sums, F, 6)
                store6(sums, H, 15)
            for k in contacts_from(p.head[i], p):
                arm = load3(p.arm[k])
                A = mobility_at(E, F, H, arm)
                p.r[k] = 3.0 / (A[0] + A[4] + A[8])
                u = velocity_at(omega, velocity, arm, load9(p.frame[k]))
                p.normal_velocity[k] = u[0]
                store3(p.free[k], u)
    for j in range(joints):
        p.g[j] = p.dv[p.joint[j]]


@inline
def _pair_rows(count, inertia, topology, contact):
    """Compute the mobilities and velocities of contacts between bodies, after `_mobilities`."""
    p, pairs, twists = contact.solver.problem, contact.solver.tree.pairs, contact.solver.tree.step
    for j in range(pairs.counts[TOUCH]):
        for k in contacts_from(pairs.contact[j], p):
            u = relative_velocity(j, k, twists, p, pairs)
            p.normal_velocity[k] = u[0]
            store3(p.free[k], u)
    if pairs.counts[TOUCH] > 0:
        relative_mobilities(count, inertia, topology, contact.bodies, contact.solver)


@inline
def rows_by_bodies(count, q, v, inertia, rows, topology, contact):
    """Fill in a problem's contacts and joint rows, after `free_velocity`.

    Returns the numbers of contacts and of joint rows; −1 contacts where more pairs of bodies touch than there is room
    for.
    """
    moved = leave_out_immobile(count, topology, contact)
    if not _contacts(moved, topology, contact):
        return -1, 0
    joints = _joints(q, v, rows, contact)
    leave_out_unloaded(topology, contact.bodies, contact.solver.problem, contact.solver.tree)
    _mobilities(joints, topology, contact)
    if len(contact.solver.tree.pairs) > 0:
        _pair_rows(moved, inertia, topology, contact)
    return moved, joints
