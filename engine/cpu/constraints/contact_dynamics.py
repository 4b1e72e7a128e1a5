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

from engine.compile import apart, inline, kernel, rare
from engine.cpu.chains import jsiia
from engine.cpu.constraints.contact_law import residual
from engine.cpu.constraints.contact_rounds import rounds
from engine.cpu.constraints.contact_rows import contact_rows, delassus, half_rows, hold_across, joint_rows, right_side
from engine.cpu.constraints.contact_solver import solve
from engine.cpu.rigid_body import crba, ltdl, tree_passes
from engine.cpu.rigid_body import workspace as at
from engine.kernels.contact.by_bodies import (
    free_velocity,
    impulses_by_bodies,
    overlap_correction_by_bodies,
)
from engine.kernels.contact.problem_rows import rows_by_bodies
from engine.kernels.contact.step import remember, report, stop_turning, warm
from engine.scene.thresholds import BACK, HALVINGS, SHUT
from engine.scene.touches import TOLERANCE

MOST_ROWS = 300
"""Rows whose matrix is tried where the inertias of bodies leave much, which takes a second of a core for so many."""


@inline
def _free_velocity(v, forces, rows, dynamics, loads, ground):
    """M̃ and its factors, and v_f, from the poses and velocities that stand in w."""
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
    """M̃ and its factors, from the poses that stand in w."""
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
    """The residual of the impulses as they are, with their u in `solver.u`: by W, and of G the diagonal alone."""
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
    """The displacement that takes overlaps back, into `shift`; returns whether there is any.

    `has_matrix`: G of the n rows is whole, not its diagonal alone.
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
    """The poses and velocities in w, for the Delassus matrix."""
    topology, constants, w, lanes = dynamics.topology, dynamics.constants, dynamics.w, dynamics.lanes
    tree_passes.scatter_q(ground.tree_q, 0, topology, constants, w, lanes)
    tree_passes.scatter_v(ground.tree_v, 0, topology, w, lanes, at.OF_QD)
    tree_passes.poses(topology, constants, w, lanes)
    tree_passes.velocities(topology, w, lanes)


@apart
def contact_velocity(exact, count, q, v, forces, rows, rotations, dynamics, loads, touch, robot):
    """v⁺ into `ground.free`, under the `count` contacts that `touches` found; and into `ground.shift`, where they
    overlap, by what to displace the coordinates: returns whether they do.

    `exact`: where nothing touches, steps keep the energy, see `kernels.contact.problem_rows`. q (nq,) and v (nv,) are
    those of one `robot`, `forces` its first; its rows of `touch` are read and written.
    """
    ground, topology = touch.ground, touch.ground.topology
    if ground.by == "rows":
        _passes(dynamics, ground)
        _free_velocity(v, forces, rows, dynamics, loads, ground)
        stop_turning(v, rotations, rows.dt, ground)
        return _dense_velocity(exact, count, q, v, rows, dynamics, touch, robot)
    free_velocity(v, forces, rows, topology, loads[0], ground)
    stop_turning(v, rotations, rows.dt, ground)
    frictional, moved, joints = rows_by_bodies(count, q, v, forces.inertia[0], rows, topology, ground)
    left = np.inf
    if moved >= 0:
        warm(moved, frictional, 2 * frictional + moved + joints, touch, robot)
        left = impulses_by_bodies(moved, frictional, joints, rows.dt, exact, forces, topology, ground)
    few = moved < 0 or 3 * moved + joints <= MOST_ROWS
    if ground.by != "bodies" and left > TOLERANCE and few:
        return _velocity_by_rows(exact, count, q, v, forces, rows, dynamics, touch, robot)
    remember(moved, frictional, 2 * frictional + moved + joints, touch, robot)
    report(left, moved, touch, robot)
    for j in range(v.size):
        ground.free[j] += ground.column[j]
    return overlap_correction_by_bodies(moved, rows.dt, forces, topology, ground)


@rare
def _velocity_by_rows(exact, count, q, v, forces, rows, dynamics, touch, robot):
    """`contact_velocity` by the Delassus matrix, where the inertias of bodies leave much; v_f is in `ground.free`."""
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
    warm(count, frictional, n, touch, robot)
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
    remember(count, frictional, n, touch, robot)
    report(left, count, touch, robot)
    _apply(n, ground.impulses, ground, ground.column)
    for j in range(v.size):
        ground.free[j] += ground.column[j]
    return _take_back(count, frictional, n, has_matrix, ground)
