"""One step's velocity under contacts: the contact problem, and the response to its impulses.

With v_f = v + dt M̃⁻¹(τ − bias), M̃ the mass matrix with the implicit terms on its diagonal, and J the rows of contacts
and of joints with friction or active limits: u = J M̃⁻¹ Jᵀ λ + J v_f + c, v⁺ = v_f + M̃⁻¹ Jᵀ λ. M̃ = Lᵀ D L along the
tree, so that W = J L⁻¹ and G = W D⁻¹ Wᵀ. c is gap/dt for an open contact, and by Newton's law of restitution for one
faster than `IMPACT`. Overlap is corrected in position: a separate problem π ≥ 0 ⟂ G_nn π + β gap ≥ 0 moves the
coordinates by M̃⁻¹J_nᵀπ, and changes no velocity.

The linear velocity of a free joint is given in its body's frame, which rotates during the step. Here it is in the frame
in which the step began, without the term −ω × v of v̇, so that a rolling contact stays on the ground. Steps without
contacts do the same, see `integrators`.
"""

from __future__ import annotations

import numpy as np

from engine.compile import compiled_apart, inline, kernel, rare
from engine.cpu.chains import jsiia
from engine.cpu.constraints.contact_law import residual
from engine.cpu.constraints.contact_rounds import rounds
from engine.cpu.constraints.contact_rows import contact_rows, delassus, half_rows, hold_across, joint_rows, right_side
from engine.cpu.constraints.contact_solver import solve
from engine.cpu.rigid_body import crba, ltdl, tree_passes
from engine.cpu.rigid_body import workspace as at
from engine.kernels.contact.by_bodies import free_velocity, impulses_by_bodies
from engine.kernels.contact.overlap_correction import overlap_correction_by_bodies
from engine.kernels.contact.problem_rows import rows_by_bodies
from engine.kernels.contact.step import report
from engine.kernels.contact.warm_start import load_warm_start, store_contacts
from engine.kernels.joint_motion import stop_turning
from engine.scene.thresholds import BACK, HALVINGS, SHUT
from engine.scene.touches import TOLERANCE

MOST_ROWS = 300
"""The maximum number of rows for the dense solver as a fallback; that many take a second on one core."""


@inline
def _free_velocity(v, forces, rows, dynamics, loads, ground):
    """Compute M̃, its factors and v_f at the poses and velocities in w."""
    topology, constants, w, lanes = dynamics.topology, dynamics.constants, dynamics.w, dynamics.lanes
    gravity, wrenches = loads
    dense, free, dt = ground.rows.dense, ground.free, rows.dt
    jsiia.bias(ground.tree_v, topology, constants, w, lanes, gravity, wrenches)
    _factors(forces, dynamics, ground)
    for j in range(free.size):
        free[j] = forces.force[0, j]
    for i in range(ground.rows.coupling_index.size):
        free[ground.rows.coupling_index[i]] -= ground.rows.coupling_factor[i] * ground.tree_v[0, i]
    ltdl.solve(dense.M, ground.rows.above, free)
    for j in range(free.size):
        free[j] = v[j] + dt * free[j]


@inline
def _factors(forces, dynamics, ground):
    """Compute M̃ and its factors at the poses in w."""
    dense = ground.rows.dense
    crba.composite_bodies(dense.M_tree, dynamics.topology, dynamics.constants, dynamics.w, dynamics.lanes)
    jsiia.reduce_matrix(dense.M_tree[0], ground.rows.coupling_index, ground.rows.coupling_factor, dense.M)
    for j in range(ground.free.size):
        dense.M[j, j] += forces.inertia[0, j]
    ltdl.factorise(dense.M, ground.rows.above)


@inline
def _work(n, ground):
    """Twice the kinetic energy that the impulses add."""
    total, u, b = 0.0, ground.rows.solver.u, ground.rows.system.b
    for k in range(n):
        total += ground.impulses[k] * (u[k] + b[k] - 2.0 * ground.rows.offset[k])
    return total


@inline
def _half_way(n, impulses, ground, out):
    """out ← D⁻¹ Wᵀ λ."""
    M, half = ground.rows.dense.M, ground.rows.half
    for j in range(out.size):
        total = 0.0
        for k in range(n):
            total += half[j, k] * impulses[k]
        out[j] = total / M[j, j]


@inline
def _apply(n, impulses, ground, out):
    """out ← M̃⁻¹ Jᵀ λ, by W."""
    _half_way(n, impulses, ground, out)
    ltdl.solve_lower(ground.rows.dense.M, ground.rows.above, out)


@inline
def _left_as_before(contacts, joints, ground):
    """The residual of the present impulses, with u in `solver.u`, from W and the diagonal of G alone."""
    n, u, half, b = 3 * contacts + joints, ground.rows.solver.u, ground.rows.half, ground.rows.system.b
    _half_way(n, ground.impulses, ground, ground.column)
    for k in range(n):
        u[k] = b[k]
    for j in range(ground.column.size):
        for k in range(n):
            u[k] += half[j, k] * ground.column[j]
    return residual(ground.rows.system, contacts, joints, ground.impulses, u)


@kernel
def _take_back(count, frictional, n, has_matrix, ground):
    """Compute the displacement that reduces overlaps into `shift`; return whether there is any.

    `has_matrix`: all of G is known, not only its diagonal.
    """
    touching, G, problem, work = ground.contacts, ground.rows.system.G, ground.rows.overlap, ground.rows.solver
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
        ground.rows.offset[k] = 0.0
    for i in range(count):
        ground.rows.offset[3 * i if i < frictional else 2 * frictional + i] = work.best[i]
    _apply(2 * frictional + count, ground.rows.offset, ground, ground.shift)
    return True


@inline
def _passes(dynamics, ground):
    """Compute the poses and velocities in w for the Delassus matrix."""
    topology, constants, w, lanes = dynamics.topology, dynamics.constants, dynamics.w, dynamics.lanes
    tree_passes.scatter_q(ground.tree_q, 0, topology, constants, w, lanes)
    tree_passes.scatter_v(ground.tree_v, 0, topology, w, lanes, at.OF_QD)
    tree_passes.poses(topology, constants, w, lanes)
    tree_passes.velocities(topology, w, lanes)


@compiled_apart
def contact_velocity(exact, count, q, v, forces, rows, rotations, dynamics, loads, touch, robot):
    """Compute v⁺ into `ground.free` under the `count` contacts that `touches` found.

    Returns whether shapes overlap; `ground.shift` is then a displacement of the coordinates. `exact`: the integrator
    keeps the energy of free flight, see `kernels.contact.problem_rows`. q (nq,) and v (nv,) are those of one `robot`,
    `forces` its first; its rows of `touch` are read and written.
    """
    ground, topology = touch.ground, touch.ground.topology
    if ground.impulse_solver == "rows":
        _passes(dynamics, ground)
        _free_velocity(v, forces, rows, dynamics, loads, ground)
        stop_turning(v, rows.dt, ground.free, rotations)
        return _dense_velocity(exact, count, q, v, rows, dynamics, touch, robot)
    free_velocity(v, forces, rows, topology, loads[0], ground)
    stop_turning(v, rows.dt, ground.free, rotations)
    frictional, moved, joints = rows_by_bodies(count, q, v, forces.inertia[0], rows, topology, ground)
    left = np.inf
    if moved >= 0:
        load_warm_start(moved, frictional, 2 * frictional + moved + joints, touch, robot)
        left = impulses_by_bodies(moved, frictional, joints, rows.dt, exact, forces, topology, ground)
    few = moved < 0 or 3 * moved + joints <= MOST_ROWS
    if ground.impulse_solver != "bodies" and left > TOLERANCE and few:
        return _velocity_by_rows(exact, count, q, v, forces, rows, dynamics, touch, robot)
    store_contacts(moved, frictional, 2 * frictional + moved + joints, touch, robot)
    report(left, moved, touch, robot)
    for j in range(v.size):
        ground.free[j] += ground.column[j]
    return overlap_correction_by_bodies(moved, rows.dt, forces, topology, ground)


@rare
def _velocity_by_rows(exact, count, q, v, forces, rows, dynamics, touch, robot):
    """`contact_velocity` by the Delassus matrix, where the recursion leaves a large residual; v_f is in
    `ground.free`."""
    _passes(dynamics, touch.ground)
    _factors(forces, dynamics, touch.ground)
    return _dense_velocity(exact, count, q, v, rows, dynamics, touch, robot)


@rare
def _dense_velocity(exact, count, q, v, rows, dynamics, touch, robot):
    """`contact_velocity` by the Delassus matrix, from v_f in `ground.free` and the factors of M̃."""
    ground = touch.ground
    frictional, count = contact_rows(count, v, dynamics.topology, ground)
    first = 2 * frictional + count
    joints = joint_rows(first, count - frictional, q, v, rows, ground)
    n = first + joints
    laws = ground.rows.system.joints
    for i in range(count - frictional):
        laws[i, 0], laws[i, 1], laws[i, 2] = 0.0, 0.0, np.inf
    half_rows(n, ground)
    hold_across(frictional, ground.rows.system.G)
    load_warm_start(count, frictional, n, touch, robot)
    share, left, has_matrix = 1.0, 0.0, False
    for attempt in range(HALVINGS + 2):
        springs = right_side(count, frictional, n, share, rows.dt, exact, ground)
        left = _left_as_before(frictional, count - frictional + joints, ground)
        if left > TOLERANCE:
            if not has_matrix:
                delassus(n, ground)
                hold_across(frictional, ground.rows.system.G)
                has_matrix = True
            left = solve(
                ground.rows.system, frictional, count - frictional + joints, ground.impulses, ground.rows.solver,
                TOLERANCE, ground.work,
            )  # fmt: skip
        if not springs or _work(n, ground) <= 0.0:
            break
        share = 0.5 * share if attempt < HALVINGS else 0.0
    for k in range(n):
        ground.u[k] = ground.rows.solver.u[k]
    store_contacts(count, frictional, n, touch, robot)
    report(left, count, touch, robot)
    _apply(n, ground.impulses, ground, ground.column)
    for j in range(v.size):
        ground.free[j] += ground.column[j]
    return _take_back(count, frictional, n, has_matrix, ground)
