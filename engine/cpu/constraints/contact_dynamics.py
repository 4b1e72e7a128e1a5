"""One step's velocity under contacts: what the solver is asked, and what its impulses do.

With v_f = v + dt M̃⁻¹(τ − bias), M̃ the mass matrix with what is implicit on its diagonal, and J the rows of the
contacts and of the joints with friction or limits that can act: u = J M̃⁻¹ Jᵀ λ + J v_f + c, v⁺ = v_f + M̃⁻¹ Jᵀ λ.
M̃ = Lᵀ D L along the tree, so that W = J L⁻¹ and G = W D⁻¹ Wᵀ. For a contact that is still open c is gap/dt; for one
that comes in faster than `IMPACT`, Newton's law of restitution. Overlap is taken back in position: an own small problem
π ≥ 0 ⟂ G_nn π + β gap ≥ 0 moves the coordinates by M̃⁻¹J_nᵀπ, and no velocity.

The linear velocity of a free joint is given in its body's frame, which turns during the step. Here it stays in the
frame in which the step began: without the share −ω × v of v̇ that comes of turning. So what rolls keeps to the ground.
Where nothing touches, `integrators` has it so, too.
"""

from __future__ import annotations

import numpy as np

from engine.compile import apart, inline, kernel
from engine.cpu.chains import jsiia
from engine.cpu.collision.frames import world_poses
from engine.cpu.collision.ground import ground_contacts
from engine.cpu.collision.shape_contacts import shape_contacts
from engine.cpu.constraints.contact_by_bodies import (
    free_velocity,
    impulses_by_bodies,
    rows_by_bodies,
    take_back_by_bodies,
)
from engine.cpu.constraints.contact_law import residual
from engine.cpu.constraints.contact_room import GAP, IMPULSE, NORMAL, OTHER, PLACE, SLIP, WRENCH
from engine.cpu.constraints.contact_rounds import rounds
from engine.cpu.constraints.contact_rows import (
    bodies_of,
    contact_rows,
    delassus,
    frictional_first,
    half_rows,
    hold_across,
    joint_rows,
    right_side,
)
from engine.cpu.constraints.contact_solver import solve
from engine.cpu.rigid_body import crba, ltdl, tree_passes
from engine.cpu.rigid_body import workspace as at
from engine.kernels.coordinates import exponential, unit_product
from engine.kernels.spatial import (
    add,
    cross,
    dot,
    load3,
    load9,
    mul,
    mul_t,
    rotation_from_quaternion,
    scale,
    store3,
    sub,
)  # fmt: skip
from engine.scene.thresholds import BACK, HALVINGS, SHUT
from engine.scene.touches import TOLERANCE


@inline
def _free_velocity(given, v, forces, rows, dynamics, loads, ground):
    """M̃ and its factors, from the poses and velocities that stand in w; and v_f, unless it is `given`."""
    topology, constants, w, lanes = dynamics.topology, dynamics.constants, dynamics.w, dynamics.lanes
    gravity, wrenches = loads
    dense, free, dt = ground.dense, ground.free, rows.dt
    if not given:
        jsiia.bias(dense.tree_v, topology, constants, w, lanes, gravity, wrenches)
    _factors(forces, dynamics, ground)
    if not given:
        for j in range(free.size):
            free[j] = forces.force[0, j]
        for i in range(ground.coupling_index.size):
            free[ground.coupling_index[i]] -= ground.coupling_factor[i] * dense.tree_v[0, i]
        ltdl.solve(dense.M, ground.above, free)
        for j in range(free.size):
            free[j] = v[j] + dt * free[j]


@inline
def _factors(forces, dynamics, ground):
    """M̃ and its factors, from the poses that stand in w."""
    dense = ground.dense
    crba.composite_bodies(dense.M_tree, dynamics.topology, dynamics.constants, dynamics.w, dynamics.lanes)
    jsiia.reduce_matrix(dense.M_tree[0], ground.coupling_index, ground.coupling_factor, dense.M)
    for j in range(ground.free.size):
        dense.M[j, j] += forces.inertia[0, j]
    ltdl.factorise(dense.M, ground.above)


@inline
def _stop_turning(given, v, rotations, dt, ground):
    """Take the turning of the frames of free joints out of v_f."""
    free, starts = ground.free, rotations.free
    for f in range(starts.shape[0]):
        c = starts[f, 1]
        if given:
            store3(free, c + 3, 1, turned((free[c], free[c + 1], free[c + 2]), dt, load3(free, c + 3, 1)))
        else:
            turning = cross(load3(v, c, 1), load3(v, c + 3, 1))
            store3(free, c + 3, 1, add(load3(free, c + 3, 1), scale(dt, turning)))


@inline
def turned(omega, dt, x):
    """x turned by ω for dt."""
    y = unit_product((0.0, 0.0, 0.0, 1.0), exponential(omega, dt))
    return mul(rotation_from_quaternion(y[0], y[1], y[2], y[3]), x)


@inline
def _work(n, ground):
    """Twice the kinetic energy that the impulses add."""
    total, u, b = 0.0, ground.solver.u, ground.system.b
    for k in range(n):
        total += ground.impulses[k] * (u[k] + b[k] - 2.0 * ground.offset[k])
    return total


@inline
def _half_way(n, impulses, ground, out):
    """out ← D⁻¹ Wᵀ λ."""
    M, half = ground.dense.M, ground.half
    for j in range(out.size):
        total = 0.0
        for k in range(n):
            total += half[j, k] * impulses[k]
        out[j] = total / M[j, j]


@inline
def _apply(n, impulses, ground, out):
    """out ← M̃⁻¹ Jᵀ λ, by W."""
    _half_way(n, impulses, ground, out)
    ltdl.solve_lower(ground.dense.M, ground.above, out)


@inline
def _left_as_before(contacts, joints, ground):
    """The residual of the impulses as they are, with their u in `solver.u`: by W, and of G the diagonal alone."""
    n, u, half, b = 3 * contacts + joints, ground.solver.u, ground.half, ground.system.b
    _half_way(n, ground.impulses, ground, ground.column)
    for k in range(n):
        u[k] = b[k]
    for j in range(ground.column.size):
        for k in range(n):
            u[k] += half[j, k] * ground.column[j]
    return residual(ground.system, contacts, joints, ground.impulses, u)


@kernel
def _take_back(count, frictional, n, has_matrix, ground):
    """The displacement that takes overlaps back, into `shift`; answers whether there is any.

    `has_matrix`: G of the n rows is whole, not its diagonal alone.
    """
    touching, G, problem, work = ground.contacts, ground.system.G, ground.overlap, ground.solver
    deepest = 0.0
    for i in range(count):
        deepest = min(deepest, touching.gap[i])
    if deepest > -SHUT:
        return False
    if not has_matrix:
        delassus(n, ground)
    for i in range(count):
        k = 3 * i if i < frictional else 2 * frictional + i
        gap = touching.gap[i]
        problem.b[i] = BACK * gap if gap < 0.0 else gap
        work.impulses[i] = 0.0
        for j in range(count):
            problem.G[i, j] = G[k, 3 * j if j < frictional else 2 * frictional + j]
    rounds(problem, 0, count, work, TOLERANCE, 8, 1.0, ground.work)
    for k in range(3 * frictional + (count - frictional)):
        ground.offset[k] = 0.0
    for i in range(count):
        ground.offset[3 * i if i < frictional else 2 * frictional + i] = work.best[i]
    _apply(2 * frictional + count, ground.offset, ground, ground.shift)
    return True


@inline
def _impulse_before(point, shape, touch, robot):
    """The impulse in the step before of a contact: of a point with the ground, or of a pair's same feature."""
    ground, memory = touch.ground, touch.memory[robot]
    if len(ground.pairs) > 0:
        k, points = shape - ground.points.body.size, ground.points.radius.size
        if k >= 0:
            found = (0.0, 0.0, 0.0)
            for slot in range(ground.pairs.first[k], ground.pairs.first[k + 1]):
                if touch.features[robot, slot] == ground.pairs.feature[point - points]:
                    found = load3(memory[points + slot], 0, 1)
            return found
    return load3(memory[point], 0, 1)


@inline
def _warm(count, frictional, n, touch, robot):
    """The impulses of the step before, turned into the contacts' frames."""
    ground = touch.ground
    touching, impulses, joint_memory = ground.contacts, ground.impulses, touch.joint_memory[robot]
    for i in range(count):
        before = _impulse_before(touching.point[i], touching.shape[i], touch, robot)
        for r in range(3 if i < frictional else 1):
            k = 3 * i + r if i < frictional else 2 * frictional + i
            impulses[k] = dot(load3(touching.frame[i], 3 * r, 1), before)
    first = 2 * frictional + count
    for k in range(first, n):
        impulses[k] = joint_memory[ground.joint_of[k - first]]


@inline
def _tell_wrench(seen, place, body, x, impulse, ground):
    """An impulse at a place x as a wrench on a body, in its frame; on what stands still, in the world's."""
    if len(ground.pairs) > 0 and body < 0:
        store3(seen, place, 1, cross(x, impulse))
        store3(seen, place + 3, 1, impulse)
        return
    R, p = load9(ground.bodies.rotation[body], 0, 1), load3(ground.bodies.position[body], 0, 1)
    store3(seen, place, 1, mul_t(R, cross(sub(x, p), impulse)))
    store3(seen, place + 3, 1, mul_t(R, impulse))


@inline
def _forget(memory, touch, robot):
    """The impulses of the step before, of the shapes and pairs that touched then: others have none."""
    points, pairs, before = touch.ground.points, touch.ground.pairs, -1
    for i in range(int(touch.told[robot, 1])):
        shape = touch.which[robot, i]
        if shape == before:
            continue
        before = shape
        if shape < points.body.size:
            for k in range(points.first[shape], points.first[shape + 1]):
                store3(memory[k], 0, 1, (0.0, 0.0, 0.0))
        elif len(pairs) > 0:
            for slot in range(pairs.first[shape - points.body.size], pairs.first[shape - points.body.size + 1]):
                store3(memory[points.radius.size + slot], 0, 1, (0.0, 0.0, 0.0))


@inline
def _remember(count, frictional, n, touch, robot):
    """The impulses of this step, in the world, for the next one and for who asks; of what does not touch, none."""
    ground = touch.ground
    touching, impulses, memory, joint_memory = (
        ground.contacts, ground.impulses, touch.memory[robot], touch.joint_memory[robot],
    )  # fmt: skip
    _forget(memory, touch, robot)
    for j in range(joint_memory.size):
        joint_memory[j] = 0.0
    for i in range(count):
        k = 3 * i if i < frictional else 2 * frictional + i
        x, slip, u = (impulses[k], 0.0, 0.0), 0.0, ground.solver.u
        if i < frictional:
            x = (impulses[k], impulses[k + 1], impulses[k + 2])
            slip = np.sqrt(u[k + 1] * u[k + 1] + u[k + 2] * u[k + 2])
        world = mul_t(load9(touching.frame[i], 0, 1), x)
        store3(memory[touching.point[i]], 0, 1, world)
        seen = touch.seen[robot, i]
        touch.which[robot, i], seen[GAP], seen[SLIP] = touching.shape[i], touching.gap[i], slip
        store3(seen, PLACE, 1, load3(touching.at[i], 0, 1))
        store3(seen, NORMAL, 1, load3(touching.frame[i], 0, 1))
        store3(seen, IMPULSE, 1, world)
        bodies = bodies_of(touching.shape[i], ground)
        _tell_wrench(seen, WRENCH, bodies[0], load3(touching.at[i], 0, 1), world, ground)
        if len(ground.pairs) > 0:
            _tell_wrench(seen, OTHER, bodies[1], load3(touching.at[i], 0, 1), scale(-1.0, world), ground)
            if touching.point[i] >= ground.points.radius.size:
                slot = touching.point[i] - ground.points.radius.size
                touch.features[robot, slot] = ground.pairs.feature[slot]
    first = 2 * frictional + count
    for k in range(first, n):
        joint_memory[ground.joint_of[k - first]] = impulses[k]


@kernel
def touches(q, v, rows, dynamics, ground):
    """How many contacts may act within a step from q (nq,), v (nv,); they stand in `ground.contacts` then."""
    coupling, dense = dynamics.coupling, ground.dense
    topology, constants, w, lanes = dynamics.topology, dynamics.constants, dynamics.w, dynamics.lanes
    jsiia.expand(q, coupling.q_index, coupling.q_factor, coupling.q_offset, dense.tree_q[0])
    jsiia.expand(v, coupling.v_index, coupling.v_factor, coupling.v_offset, dense.tree_v[0])
    tree_passes.scatter_q(dense.tree_q, 0, topology, constants, w, lanes)
    tree_passes.scatter_v(dense.tree_v, 0, topology, w, lanes, at.OF_QD)
    tree_passes.poses(topology, constants, w, lanes)
    tree_passes.velocities(topology, w, lanes)
    world_poses(topology, w, ground.bodies.rotation, ground.bodies.position)
    count = ground_contacts(ground.points, ground.bodies, w, ground.surface, rows.dt, ground.near, ground.contacts)
    if len(ground.pairs) > 0:
        count = shape_contacts(
            count, ground.points.radius.size, ground.points.body.size, ground.pairs, ground.bodies, w, rows.dt,
            ground.contacts,
        )  # fmt: skip
    frictional_first(count, ground)
    return count


@apart
def contact_velocity(given, count, q, v, forces, rows, rotations, dynamics, loads, touch, robot):
    """v⁺ into `ground.free`, under the `count` contacts that `touches` found; and into `ground.shift`, where they
    overlap, by what to displace the coordinates: answers whether they do. v_f is computed, or `given` in `ground.free`.

    q (nq,) and v (nv,) are those of one `robot`, `forces` its first; its rows of `touch` are read and written.
    """
    ground, topology = touch.ground, dynamics.topology
    if not ground.by_bodies:
        _free_velocity(given, v, forces, rows, dynamics, loads, ground)
        _stop_turning(given, v, rotations, rows.dt, ground)
        return _dense_velocity(count, q, v, rows, dynamics, touch, robot)
    free_velocity(given, v, forces, rows, dynamics, loads, ground)
    _stop_turning(given, v, rotations, rows.dt, ground)
    frictional, moved, joints = rows_by_bodies(count, q, rows, dynamics, ground)
    _warm(moved, frictional, 2 * frictional + moved + joints, touch, robot)
    left = impulses_by_bodies(moved, frictional, joints, rows.dt, forces, topology, ground)
    if left > TOLERANCE:
        _factors(forces, dynamics, ground)
        return _dense_velocity(count, q, v, rows, dynamics, touch, robot)
    _remember(moved, frictional, 2 * frictional + moved + joints, touch, robot)
    _tell(left, moved, touch, robot)
    for j in range(v.size):
        ground.free[j] += ground.column[j]
    return take_back_by_bodies(moved, rows.dt, forces, topology, ground)


@inline
def _tell(left, count, touch, robot):
    touch.told[robot, 0], touch.told[robot, 1], touch.told[robot, 2] = left, count, max(left, touch.told[robot, 2])


@apart
def _dense_velocity(count, q, v, rows, dynamics, touch, robot):
    """`contact_velocity` by the Delassus matrix, from v_f in `ground.free` and the factors of M̃."""
    ground = touch.ground
    frictional, count = contact_rows(count, v, dynamics.topology, ground)
    first = 2 * frictional + count
    joints = joint_rows(first, count - frictional, q, rows, ground)
    n = first + joints
    for i in range(count - frictional):
        ground.system.joints[i, 0], ground.system.joints[i, 1], ground.system.joints[i, 2] = 0.0, 0.0, np.inf
    half_rows(n, ground)
    hold_across(frictional, ground.system.G)
    _warm(count, frictional, n, touch, robot)
    share, left, has_matrix = 1.0, 0.0, False
    for attempt in range(HALVINGS + 2):
        springs = right_side(count, frictional, n, share, rows.dt, ground)
        left = _left_as_before(frictional, count - frictional + joints, ground)
        if left > TOLERANCE:
            if not has_matrix:
                delassus(n, ground)
                hold_across(frictional, ground.system.G)
                has_matrix = True
            left = solve(
                ground.system, frictional, count - frictional + joints, ground.impulses, ground.solver, TOLERANCE,
                ground.work,
            )  # fmt: skip
        if not springs or _work(n, ground) <= 0.0:
            break
        share = 0.5 * share if attempt < HALVINGS else 0.0
    _remember(count, frictional, n, touch, robot)
    _tell(left, count, touch, robot)
    _apply(n, ground.impulses, ground, ground.column)
    for j in range(v.size):
        ground.free[j] += ground.column[j]
    return _take_back(count, frictional, n, has_matrix, ground)
