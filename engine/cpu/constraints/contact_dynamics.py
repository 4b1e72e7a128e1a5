"""One step's velocity under contacts: what the solver is asked, and what its impulses do.

With v_f = v + dt M̃⁻¹(τ − bias), M̃ the mass matrix with what is implicit on its diagonal, and J the rows of the
contacts and of the joints with friction or limits that can act: u = J M̃⁻¹ Jᵀ λ + J v_f + c, v⁺ = v_f + M̃⁻¹ Jᵀ λ.
M̃ = Lᵀ D L along the tree, so that W = J L⁻¹ and G = W D⁻¹ Wᵀ. For a contact that is still open c is gap/dt; for one
that comes in faster than `IMPACT`, Newton's law of restitution. Overlap is taken back in position: an own small problem
π ≥ 0 ⟂ G_nn π + β gap ≥ 0 moves the coordinates by M̃⁻¹J_nᵀπ, and no velocity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.cpu.chains import jsiia
from engine.cpu.chains.jsiia import Dense
from engine.cpu.collision.frames import world_poses
from engine.cpu.collision.ground import Bodies, Contacts, contacts, ground_contacts
from engine.cpu.constraints.contact_law import System
from engine.cpu.constraints.contact_rounds import Room, room, rounds
from engine.cpu.constraints.contact_solver import TOLERANCE, solve
from engine.cpu.constraints.joint_constraints import bounds, is_row
from engine.cpu.rigid_body import crba, ltdl, tree_passes
from engine.cpu.rigid_body import workspace as at
from engine.cpu.rigid_body.spatial import cross, dot, load3, load9, store3
from engine.cpu.runtime.native import inline, kernel
from engine.model import FREE, PRISMATIC, REVOLUTE, Model
from engine.model.layout import pack_coupling
from engine.scene import Points, Scene, points
from engine.step_settings import FRICTION

IMPACT = 0.015
"""m/s: what comes in slower rests, whatever its restitution."""
_BACK, _OVERLAP = 0.5, 1e-8  # β, the share of an overlap that a step takes back; m, what is no overlap
_REACH = 10.0  # rad/s or m/s around v_f, within which a joint's limit takes part at first
_HALVINGS = 4


class Ground(NamedTuple):
    """What robots of a model can touch, and what a contact step works in, for one robot at a time.

    `rows` (N, nv) are J, `half` (nv, N) (J L⁻¹)ᵀ, `free` (nv,) the velocity, `shift` (nv,) a displacement.
    """

    points: Points
    plane: NDArray[np.floating]
    above: NDArray[np.int64]
    contacts: Contacts
    bodies: Bodies
    dense: Dense
    coupling_index: NDArray[np.int64]
    coupling_factor: NDArray[np.floating]
    rows: NDArray[np.floating]
    half: NDArray[np.floating]
    column: NDArray[np.floating]
    free: NDArray[np.floating]
    shift: NDArray[np.floating]
    impulses: NDArray[np.floating]
    joint_of: NDArray[np.int64]
    offset: NDArray[np.floating]
    before: NDArray[np.floating]
    system: System
    overlap: System
    solver: Room
    count: NDArray[np.int64]


class Touch(NamedTuple):
    """Contact of a batch of robots: what they work in, and their impulses of the step before, in the world.

    `memory` (batch, P, 3) by point, `joint_memory` (batch, nv); `told` (batch, 2) is the residual of the last step and
    how many contacts it had.
    """

    ground: Ground
    memory: NDArray[np.floating]
    joint_memory: NDArray[np.floating]
    told: NDArray[np.floating]


def ground(model: Model, scene: Scene) -> Ground:
    """What robots of a model work in, in a scene that has a ground."""
    assert scene.ground is not None
    found = points(model, scene)
    C, nv, n, coupling = found.capacity, model.nv, len(model.parent), pack_coupling(model)
    N, P = 3 * C + nv, max(C, 1)
    system = System(np.zeros((N, N)), np.zeros(N), np.zeros(P), np.zeros((max(nv + C, 1), 3)))
    overlap = System(np.zeros((P, P)), np.zeros(P), np.zeros(1), np.tile([0.0, 0.0, np.inf], (P, 1)))
    return Ground(
        found, np.array([*scene.ground.normal, scene.ground.offset]), ltdl.velocities_above(model), contacts(C),
        Bodies(np.zeros((n, 9)), np.zeros((n, 3))), jsiia.dense(model), coupling.v_index, coupling.v_factor,
        np.zeros((N, nv)), np.zeros((nv, N)), np.zeros(nv), np.zeros(nv), np.zeros(nv), np.zeros(N),
        np.zeros(nv, np.int64), np.zeros(N), np.zeros(N), system, overlap, room(N), np.zeros(3, np.int64),
    )  # fmt: skip


@inline
def _jacobian_row(row, direction, x, body, topology, ground):
    """The velocity of a body's point x along a direction, of the robot's velocities, into `row` (nv,)."""
    for j in range(row.size):
        row[j] = 0.0
    index, factor = ground.coupling_index, ground.coupling_factor
    i = body
    while i >= 0:
        R, p = load9(ground.bodies.rotation[i], 0, 1), load3(ground.bodies.position[i], 0, 1)
        kind, start = topology[i, 1], topology[i, 3]
        arm = cross((x[0] - p[0], x[1] - p[1], x[2] - p[2]), direction)
        turn = (
            R[0] * arm[0] + R[3] * arm[1] + R[6] * arm[2],
            R[1] * arm[0] + R[4] * arm[1] + R[7] * arm[2],
            R[2] * arm[0] + R[5] * arm[1] + R[8] * arm[2],
        )
        d = direction
        shift = (
            R[0] * d[0] + R[3] * d[1] + R[6] * d[2],
            R[1] * d[0] + R[4] * d[1] + R[7] * d[2],
            R[2] * d[0] + R[5] * d[1] + R[8] * d[2],
        )
        if kind == REVOLUTE:
            row[index[start]] += factor[start] * turn[2]
        elif kind == PRISMATIC:
            row[index[start]] += factor[start] * shift[2]
        else:
            for r in range(3):
                row[index[start + r]] += factor[start + r] * turn[r]
                if kind == FREE:
                    row[index[start + 3 + r]] += factor[start + 3 + r] * shift[r]
        i = topology[i, 0]


@inline
def _product(row, x):
    total = 0.0
    for j in range(x.size):
        total += row[j] * x[j]
    return total


@inline
def _free_velocity(given, v, forces, rows, dynamics, loads, ground):
    """M̃ and its factors, from the poses and velocities that stand in w; and v_f, unless it is `given`."""
    topology, constants, w, lanes = dynamics.topology, dynamics.constants, dynamics.w, dynamics.lanes
    gravity, wrenches = loads
    dense, free, dt = ground.dense, ground.free, rows.dt
    if not given:
        jsiia.bias(dense.tree_v, topology, constants, w, lanes, gravity, wrenches)
    crba.composite_bodies(dense.M_tree, topology, constants, w, lanes)
    jsiia.reduce_matrix(dense.M_tree[0], ground.coupling_index, ground.coupling_factor, dense.M)
    for j in range(free.size):
        dense.M[j, j] += forces.inertia[0, j]
    ltdl.factorise(dense.M, ground.above)
    if not given:
        for j in range(free.size):
            free[j] = forces.force[0, j]
        for i in range(ground.coupling_index.size):
            free[ground.coupling_index[i]] -= ground.coupling_factor[i] * dense.tree_v[0, i]
        ltdl.solve(dense.M, ground.above, free)
        for j in range(free.size):
            free[j] = v[j] + dt * free[j]


@inline
def _contact_rows(count, v, topology, ground):
    """J of the contacts, and of each the velocity before the step."""
    touching, mu = ground.contacts, ground.system.mu
    frictional = 0
    for i in range(count):
        shape = touching.shape[i]
        body, x = ground.points.body[shape], load3(touching.at[i], 0, 1)
        rubs = ground.points.friction[shape] > 0.0
        if rubs:
            mu[i] = ground.points.friction[shape]
            frictional += 1
        for r in range(3 if rubs else 1):
            k = 3 * i + r if rubs else 2 * frictional + i
            _jacobian_row(ground.rows[k], load3(touching.frame[i], 3 * r, 1), x, body, topology, ground)
            ground.before[k] = _product(ground.rows[k], v)
    return frictional


@inline
def _joint_rows(first, law_first, q, rows, ground):
    """Rows for the joints that rub, or may come to a limit; answers how many. `joint_of` says which they are."""
    found, laws = 0, ground.system.joints
    for j in range(ground.free.size):
        if not is_row(rows, j):
            continue
        low, high = bounds(rows, j, q)
        friction, after = rows.joints[FRICTION, j], ground.free[j]
        if friction > 0.0 or after < low + _REACH or after > high - _REACH:
            row = ground.rows[first + found]
            for k in range(row.size):
                row[k] = 0.0
            row[j] = 1.0
            place = law_first + found
            laws[place, 0], laws[place, 1], laws[place, 2] = friction * rows.dt, low, high
            ground.joint_of[found] = j
            found += 1
    return found


@kernel
def _delassus(n, ground):
    """W = J L⁻¹, whose transpose into `half`, and G = W D⁻¹ Wᵀ."""
    G, M, half, row = ground.system.G, ground.dense.M, ground.half, ground.column
    nv = ground.free.size
    for k in range(n):
        for j in range(nv):
            row[j] = ground.rows[k, j]
        ltdl.solve_transposed(M, ground.above, row)
        for j in range(nv):
            half[j, k] = row[j]
        for i in range(n):
            G[k, i] = 0.0
    for j in range(nv):
        inverse = 1.0 / M[j, j]
        for k in range(n):
            share = half[j, k] * inverse
            if share != 0.0:
                for i in range(n):
                    G[k, i] += share * half[j, i]


@inline
def _right_side(count, frictional, n, share, dt, ground):
    """b = J v_f + c, c for the gaps and for `share` of the restitution; answers whether any contact springs back."""
    touching, b, springs = ground.contacts, ground.system.b, False
    for k in range(n):
        ground.offset[k] = 0.0
        b[k] = _product(ground.rows[k], ground.free)
    for i in range(count):
        k = 3 * i if i < frictional else 2 * frictional + i
        gap, before = touching.gap[i], ground.before[k]
        c = gap / dt if gap > 0.0 else 0.0
        e = share * ground.points.restitution[touching.shape[i]]
        if e > 0.0 and before < -IMPACT and gap + dt * b[k] <= 0.0:
            springs = True
            c = min(c, e * before)
        ground.offset[k] = c
        b[k] += c
    return springs


@inline
def _work(n, ground):
    """Twice the kinetic energy that the impulses add."""
    total, u, b = 0.0, ground.solver.u, ground.system.b
    for k in range(n):
        total += ground.impulses[k] * (u[k] + b[k] - 2.0 * ground.offset[k])
    return total


@inline
def _apply(n, impulses, ground, out):
    """out ← M̃⁻¹ Jᵀ λ, by W."""
    M, half = ground.dense.M, ground.half
    for j in range(out.size):
        total = 0.0
        for k in range(n):
            total += half[j, k] * impulses[k]
        out[j] = total / M[j, j]
    ltdl.solve_lower(M, ground.above, out)


@kernel
def _take_back(count, frictional, ground):
    """The displacement that takes overlaps back, into `shift`; answers whether there is any."""
    touching, G, problem, work = ground.contacts, ground.system.G, ground.overlap, ground.solver
    deepest = 0.0
    for i in range(count):
        deepest = min(deepest, touching.gap[i])
    if deepest > -_OVERLAP:
        return False
    for i in range(count):
        k = 3 * i if i < frictional else 2 * frictional + i
        gap = touching.gap[i]
        problem.b[i] = _BACK * gap if gap < 0.0 else gap
        work.impulses[i] = 0.0
        for j in range(count):
            problem.G[i, j] = G[k, 3 * j if j < frictional else 2 * frictional + j]
    rounds(problem, 0, count, work, TOLERANCE, 8, True, ground.count)
    for k in range(3 * frictional + (count - frictional)):
        ground.offset[k] = 0.0
    for i in range(count):
        ground.offset[3 * i if i < frictional else 2 * frictional + i] = work.best[i]
    _apply(2 * frictional + count, ground.offset, ground, ground.shift)
    return True


@inline
def _warm(count, frictional, n, memory, joint_memory, ground):
    """The impulses of the step before, turned into the contacts' frames."""
    touching, impulses = ground.contacts, ground.impulses
    for i in range(count):
        before = load3(memory[touching.point[i]], 0, 1)
        for r in range(3 if i < frictional else 1):
            k = 3 * i + r if i < frictional else 2 * frictional + i
            impulses[k] = dot(load3(touching.frame[i], 3 * r, 1), before)
    first = 2 * frictional + count
    for k in range(first, n):
        impulses[k] = joint_memory[ground.joint_of[k - first]]


@inline
def _remember(count, frictional, n, memory, joint_memory, ground):
    """The impulses of this step, in the world, for the next one; those of what does not touch are forgotten."""
    touching, impulses = ground.contacts, ground.impulses
    for k in range(memory.shape[0]):
        store3(memory[k], 0, 1, (0.0, 0.0, 0.0))
    for j in range(joint_memory.size):
        joint_memory[j] = 0.0
    for i in range(count):
        k = 3 * i if i < frictional else 2 * frictional + i
        x = (impulses[k], 0.0, 0.0)
        if i < frictional:
            x = (impulses[k], impulses[k + 1], impulses[k + 2])
        frame = load9(touching.frame[i], 0, 1)
        world = (
            frame[0] * x[0] + frame[3] * x[1] + frame[6] * x[2],
            frame[1] * x[0] + frame[4] * x[1] + frame[7] * x[2],
            frame[2] * x[0] + frame[5] * x[1] + frame[8] * x[2],
        )
        store3(memory[touching.point[i]], 0, 1, world)
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
    return ground_contacts(ground.points, ground.bodies, topology, w, ground.plane, rows.dt, ground.contacts)


@kernel
def contact_velocity(given, count, q, v, forces, rows, dynamics, loads, ground, memory, joint_memory, told):
    """v⁺ into `ground.free`, under the `count` contacts that `touches` found; and into `ground.shift`, where they
    overlap, by what to displace the coordinates: answers whether they do. v_f is computed, or `given` in `ground.free`.

    q (nq,) and v (nv,) are those of one robot, `forces` its first. `memory` (P, 3) and `joint_memory` (nv,) are its
    impulses of the step before, and then of this one. `told` (2,): the residual, and the number of contacts.
    """
    _free_velocity(given, v, forces, rows, dynamics, loads, ground)
    frictional = _contact_rows(count, v, dynamics.topology, ground)
    first = 2 * frictional + count
    joints = _joint_rows(first, count - frictional, q, rows, ground)
    n = first + joints
    for i in range(count - frictional):
        ground.system.joints[i, 0], ground.system.joints[i, 1], ground.system.joints[i, 2] = 0.0, 0.0, np.inf
    _delassus(n, ground)
    _warm(count, frictional, n, memory, joint_memory, ground)
    share, left = 1.0, 0.0
    for attempt in range(_HALVINGS + 2):
        springs = _right_side(count, frictional, n, share, rows.dt, ground)
        left = solve(
            ground.system, frictional, count - frictional + joints, ground.impulses, ground.solver, TOLERANCE,
            ground.count,
        )  # fmt: skip
        if not springs or _work(n, ground) <= 0.0:
            break
        share = 0.5 * share if attempt < _HALVINGS else 0.0
    _remember(count, frictional, n, memory, joint_memory, ground)
    told[0], told[1] = left, count
    _apply(n, ground.impulses, ground, ground.column)
    for j in range(v.size):
        ground.free[j] += ground.column[j]
    return _take_back(count, frictional, ground)
