"""One step's velocity under contacts of a robot without mimic joints, by the recursion over its bodies.

v_f = v + dt M̃⁻¹(τ − bias) and all that impulses do come from one articulated-body factorisation;
`kernels.contact.newton` solves for the impulses. What overlaps is taken back in position by a second problem of the
same kind, at rest, without friction or joints, and with the gaps' share β as velocities to reach.
"""

from __future__ import annotations

from engine.compile import apart, inline, kernel
from engine.cpu.constraints.contact_rows import exchange, friction_of, restitution_of
from engine.cpu.constraints.joint_constraints import bounds, is_row
from engine.cpu.rigid_body import tree_passes
from engine.cpu.rigid_body import workspace as at
from engine.cpu.rigid_body.wrenches import take_from_bias
from engine.kernels.contact.newton import (
    COLD,
    FINE,
    OVERLAP,
    WARM,
    activate,
    greatest_velocity,
    residual,
    respond,
    solve,
    velocity_at,
)
from engine.kernels.contact.recursion import (
    add_joint,
    add_shifted,
    carried,
    eliminate,
    gather,
    has_one_axis,
    mobility,
    mobility_at,
    move,
    put_rigid,
)
from engine.kernels.spatial import add, cross, dot, full, load3, load6, load9, mul, mul_t, store3, store9, sub
from engine.model import FREE, PRISMATIC, REVOLUTE, WORLD, layout
from engine.scene.thresholds import BACK, HALVINGS, HELD, IMPACT, REACH, SHUT
from engine.scene.touches import TOLERANCE
from engine.step_settings import FRICTION

NEAR = 0.1
"""Residual up to which the impulses of the step before are where Newton's steps begin."""


@inline
def _place(topology, ground):
    """Where the bodies are, for the recursion."""
    places = ground.tree.places
    for i in range(topology.shape[0]):
        parent, p = topology[i, 0], load3(ground.bodies.position[i], 0, 1)
        store9(places.rotation[i], 0, 1, load9(ground.bodies.rotation[i], 0, 1))
        store3(places.arm[i], 0, 1, p if parent == WORLD else sub(p, load3(ground.bodies.position[parent], 0, 1)))


@inline
def _add_product(A, omega, velocity, p):
    """p += A (ω, v) of a 6 × 6 matrix."""
    for r in range(6):
        p[r] += dot(load3(A, 6 * r, 1), omega) + dot(load3(A, 6 * r + 3, 1), velocity)


@kernel
def free_velocity(given, v, forces, rows, dynamics, loads, ground):
    """The factors of M̃, from the poses and velocities that stand in w; and v_f into `ground.free`, unless `given`."""
    topology, constants, w, lanes = dynamics.topology, dynamics.constants, dynamics.w, dynamics.lanes
    (gravity, wrenches), n, work = loads, dynamics.topology.shape[0], ground.tree
    places, tree, answer, inertia = work.places, work.plain, work.answer, forces.inertia[0]
    _place(topology, ground)
    if not given:
        tree_passes.bias_forces(topology, constants, w, lanes)
        if len(wrenches) > 0:
            take_from_bias(wrenches, w, lanes)
    for i in range(n):
        R, c = load9(places.rotation[i], 0, 1), constants[i]
        moment, own = load3(c, layout.FIRST_MOMENT, 1), full(load6(c, layout.INERTIA, 1))
        put_rigid(work.rest[i], R, c[layout.MASS], moment, own)
        for k in range(36):
            tree.inertia[i, k] = work.rest[i, k]
        if not given:
            store3(answer.force[i], 0, 1, mul(R, load3(w[i], at.BIAS, 1)))
            store3(answer.force[i], 3, 1, mul(R, load3(w[i], at.BIAS + 3, 1)))
    for i in range(n - 1, -1, -1):
        if not given:
            R = load9(places.rotation[i], 0, 1)
            turning, shifting = mul(R, load3(w[i], at.VXS, 1)), mul(R, load3(w[i], at.VXS + 3, 1))
            _add_product(tree.inertia[i], turning, shifting, answer.force[i])
        eliminate(i, topology, places, inertia, tree)
        if not given:
            gather(i, topology, places, forces.force[0], tree, answer)
    if not given:
        up = (-gravity[0], -gravity[1], -gravity[2])
        for i in range(n):
            R, twist = load9(places.rotation[i], 0, 1), answer.twist[i]
            omega, velocity = carried(i, topology, places, up, answer.twist)
            move(i, omega, velocity, topology, places, tree, answer, ground.column)
            store3(twist, 0, 1, add(load3(twist, 0, 1), mul(R, load3(w[i], at.VXS, 1))))
            store3(twist, 3, 1, add(load3(twist, 3, 1), mul(R, load3(w[i], at.VXS + 3, 1))))
        for j in range(v.size):
            ground.free[j] = v[j] + rows.dt * ground.column[j]


@inline
def _moves(body, n, x, topology, ground):
    """Whether any joint moves a body's place x along n."""
    i, moves = body, False
    while i != WORLD and not moves:
        kind, R = topology[i, 1], load9(ground.bodies.rotation[i], 0, 1)
        arm = sub(x, load3(ground.bodies.position[i], 0, 1))
        turn, shift = mul_t(R, cross(arm, n)), mul_t(R, n)
        if kind == REVOLUTE:
            moves = abs(turn[2]) > HELD
        elif kind == PRISMATIC:
            moves = abs(shift[2]) > HELD
        else:
            most = max(abs(turn[0]), max(abs(turn[1]), abs(turn[2])))
            moves = kind == FREE or most > HELD
        i = topology[i, 0]
    return moves


@inline
def _leave_out(count, topology, ground):
    """Bring the contacts that no joint moves along their normal behind the others; answers how many are left."""
    touching, i = ground.contacts, 0
    while i < count:
        body, x = ground.points.body[touching.shape[i]], load3(touching.at[i], 0, 1)
        if _moves(body, load3(touching.frame[i], 0, 1), x, topology, ground):
            i += 1
        else:
            count -= 1
            for later in range(i, count):
                exchange(touching, later, later + 1)
    return count


@inline
def _contacts(count, w, dynamics, ground):
    """The contacts as the problem has them; `ground.before` gets their velocity before the step along the normal."""
    touching, p, topology = ground.contacts, ground.tree.problem, dynamics.topology
    for i in range(topology.shape[0]):
        p.active[i] = 0
    for i in range(count):
        body = ground.points.body[touching.shape[i]]
        R, x = load9(ground.bodies.rotation[body], 0, 1), load3(touching.at[i], 0, 1)
        arm, frame = sub(x, load3(ground.bodies.position[body], 0, 1)), load9(touching.frame[i], 0, 1)
        omega, velocity = mul(R, load3(w[body], at.V, 1)), mul(R, load3(w[body], at.V + 3, 1))
        ground.before[i] = dot(load3(touching.frame[i], 0, 1), add(velocity, cross(omega, arm)))
        p.body[i], p.mu[i] = body, friction_of(touching.shape[i], ground)
        store3(p.arm[i], 0, 1, arm)
        store9(p.frame[i], 0, 1, frame)
        activate(body, topology, p.active)


@inline
def _joints(q, rows, dynamics, ground):
    """The joints that rub, or may come to a limit; answers how many. `ground.joint_of` says which they are."""
    found, p = 0, ground.tree.problem
    for j in range(ground.free.size):
        if not is_row(rows, j):
            continue
        low, high = bounds(rows, j, q)
        friction, after = rows.joints[FRICTION, j], ground.free[j]
        if friction > 0.0 or after < low + REACH or after > high - REACH:
            p.joint[found], ground.joint_of[found], p.joint_free[found] = j, j, after
            p.law[found, 0] = friction * rows.dt
            p.law[found, 1] = low if low * rows.dt < -SHUT else 0.0
            p.law[found, 2] = high if high * rows.dt > SHUT else 0.0
            activate(p.joint_body[j], dynamics.topology, p.active)
            found += 1
    return found


@inline
def _own_mobility(i, offset, places, inverse):
    """Of a ball joint's axis what its own inertia lets a unit moment do; a row's law holds with any such number."""
    R = places.rotation[i]
    e = (R[offset], R[3 + offset], R[6 + offset])
    return dot(e, mul(load9(inverse, 0, 1), e))


@inline
def _mobilities(count, joints, topology, ground):
    """What of the inertias no row changes; and of each row its mobility and its velocity at v_f."""
    work, free = ground.tree, ground.free
    p, tree, places, step = work.problem, work.plain, work.places, work.step
    for i in range(topology.shape[0]):
        if p.active[i] == 0:
            parent = topology[i, 0]
            if parent != WORLD and p.active[parent] != 0:
                add_shifted(work.rest[parent], load3(places.arm[i], 0, 1), tree.inertia[i])
    for i in range(topology.shape[0]):
        if p.active[i] != 0:
            kind, start = topology[i, 1], topology[i, 3]
            omega, velocity = carried(i, topology, places, (0.0, 0.0, 0.0), step.twist)
            omega, velocity = add_joint(i, omega, velocity, topology, places, free)
            store3(step.twist[i], 0, 1, omega)
            store3(step.twist[i], 3, 1, velocity)
            own = mobility(i, topology, places, tree, work.spread)
            if has_one_axis(kind):
                p.dv[start] = own
            elif kind != FREE:
                for k in range(3):
                    p.dv[start + k] = _own_mobility(i, k, places, tree.inverse[i])
    for j in range(joints):
        p.g[j] = p.dv[p.joint[j]]
    for i in range(count):
        arm = load3(p.arm[i], 0, 1)
        A = mobility_at(work.spread[p.body[i]], arm)
        p.r[i] = 3.0 / (A[0] + A[4] + A[8])
        u = velocity_at(step.twist[p.body[i]], arm, load9(p.frame[i], 0, 1))
        p.along[i] = u[0]
        store3(p.free[i], 0, 1, u)


@inline
def _offsets(count, share, dt, ground):
    """What contacts ask beside v_f: their gaps', and `share` of the restitution; answers whether any springs back."""
    touching, p, springs = ground.contacts, ground.tree.problem, False
    for i in range(count):
        gap, before = touching.gap[i], ground.before[i]
        c = gap / dt if gap > SHUT else 0.0
        e = share * restitution_of(touching.shape[i], ground)
        if e > 0.0 and before < -IMPACT and gap + dt * p.along[i] <= 0.0:
            springs = True
            c = min(c, e * before)
        p.offset[i], p.free[i, 0] = c, p.along[i] + c
    return springs


@inline
def _work_done(count, joints, p):
    """Twice the kinetic energy that the impulses add."""
    total = 0.0
    for i in range(count):
        x, u, b = load3(p.impulse[i], 0, 1), load3(p.u[i], 0, 1), load3(p.free[i], 0, 1)
        total += dot(x, add(u, b)) - 2.0 * x[0] * p.offset[i]
    for j in range(joints):
        total += p.joint_impulse[j] * (p.joint_u[j] + p.joint_free[j])
    return total


@inline
def _take_best(count, joints, most, p):
    """The best impulses; what moves its place by less than the tolerance is none, so that an open contact has none."""
    for i in range(count):
        x = load3(p.best[i], 0, 1)
        least = 0.1 * TOLERANCE * most * p.r[i]
        store3(p.impulse[i], 0, 1, x if dot(x, x) > least * least else (0.0, 0.0, 0.0))
    for j in range(joints):
        p.joint_impulse[j] = p.joint_best[j]


@inline
def _put_down(count, frictional, joints, ground):
    """The impulses and velocities where the rest of a step looks for them."""
    p, u = ground.tree.problem, ground.solver.u
    for i in range(count):
        k = 3 * i if i < frictional else 2 * frictional + i
        for r in range(3 if i < frictional else 1):
            ground.impulses[k + r], u[k + r] = p.impulse[i, r], p.u[i, r]
    for j in range(joints):
        ground.impulses[2 * frictional + count + j] = p.joint_impulse[j]


@inline
def _take_up(count, frictional, joints, ground):
    """The impulses of the step before, as `ground.impulses` has them, into the problem."""
    p = ground.tree.problem
    for i in range(count):
        k = 3 * i if i < frictional else 2 * frictional + i
        store3(p.impulse[i], 0, 1, (ground.impulses[k], 0.0, 0.0))
        if i < frictional:
            store3(p.impulse[i], 0, 1, load3(ground.impulses, k, 1))
    for j in range(joints):
        p.joint_impulse[j] = ground.impulses[2 * frictional + count + j]


@inline
def rows_by_bodies(count, q, rows, dynamics, ground):
    """The contacts and joint rows of a problem, after `free_velocity`; answers how many contacts, with friction and in
    all, and how many joint rows there are."""
    moved = _leave_out(count, dynamics.topology, ground)
    _contacts(moved, dynamics.w, dynamics, ground)
    joints = _joints(q, rows, dynamics, ground)
    _mobilities(moved, joints, dynamics.topology, ground)
    frictional = 0
    for i in range(moved):
        if ground.tree.problem.mu[i] > 0.0:
            frictional += 1
    return frictional, moved, joints


@apart
def impulses_by_bodies(count, frictional, joints, dt, forces, topology, ground):
    """Impulses that obey the law into `ground.impulses`, from those of the step before there; answers their residual.

    `ground.column` (nv,) is what they change of v_f.
    """
    work, inertia = ground.tree, forces.inertia[0]
    p, share, left = work.problem, 1.0, 0.0
    _take_up(count, frictional, joints, ground)
    for attempt in range(HALVINGS + 2):
        springs = _offsets(count, share, dt, ground)
        most = greatest_velocity(count, joints, p)
        respond(count, joints, topology, work, ground.column)
        left = residual(count, joints, p, 0.0, most)
        if left > FINE * TOLERANCE:
            solve(count, joints, WARM if left < NEAR else COLD, 0.5 * TOLERANCE, inertia, topology, work, ground.work)
            _take_best(count, joints, most, p)
            respond(count, joints, topology, work, ground.column)
            left = residual(count, joints, p, 0.0, most)
        if not springs or _work_done(count, joints, p) <= 0.0:
            break
        share = 0.5 * share if attempt < HALVINGS else 0.0
    _put_down(count, frictional, joints, ground)
    return left


@apart
def take_back_by_bodies(count, dt, forces, topology, ground):
    """The displacement that takes overlaps back, into `ground.shift`; answers whether there is any."""
    touching, work, p = ground.contacts, ground.tree, ground.tree.problem
    deepest = 0.0
    for i in range(count):
        deepest = min(deepest, touching.gap[i])
    if deepest > -SHUT:
        return False
    for i in range(count):
        gap = touching.gap[i]
        p.mu[i], p.offset[i] = 0.0, (BACK * gap if gap < 0.0 else gap) / dt
        store3(p.free[i], 0, 1, (p.offset[i], 0.0, 0.0))
    solve(count, 0, OVERLAP, TOLERANCE, forces.inertia[0], topology, work, ground.work)
    _take_best(count, 0, greatest_velocity(count, 0, p), p)
    respond(count, 0, topology, work, ground.shift)
    for j in range(ground.shift.size):
        ground.shift[j] *= dt
    return True
