"""One step's velocity under contacts of a robot, by the recursion over its bodies.

v_f = v + dt M̃⁻¹(τ − bias) and all that impulses do come from one articulated-body factorisation;
`kernels.contact.newton` solves for the impulses. What overlaps is taken back in position by a second problem of the
same kind, at rest, without friction or joints, and with the gaps' share β as velocities to reach.
"""

from __future__ import annotations

import numpy as np

from engine.compile import apart, inline, kernel
from engine.compile.operations import most_of, spread
from engine.kernels.contact import mimics
from engine.kernels.contact.body_pairs import TOUCH, UNKNOWNS, across, join
from engine.kernels.contact.held import leave_out
from engine.kernels.contact.newton import relative_mobilities, respond
from engine.kernels.contact.problem import (
    ATTEMPT,
    ENOUGH,
    LEAST,
    MOST,
    SHARE,
    SPRINGS,
    TRIES,
    greatest_velocity,
    residual,
)
from engine.kernels.contact.recursion import (
    GATHERS,
    TO_PARENT,
    accelerations,
    axis_of,
    carried,
    factorise,
    has_one_axis,
    keep_twist,
    mobility_at,
    mobility_of,
    shifted_mobility,
    velocity_at,
)
from engine.kernels.contact.reduced import LEFT_OUT, leave_out_unloaded
from engine.kernels.contact.rounding import (
    asked,
    asked_of_overlaps,
    bearable,
    fine,
    opening,
    overlap,
    promised,
    shut,
)
from engine.kernels.contact.search import COLD, OVERLAP, WARM, advance, begin
from engine.kernels.contact.touching import bodies_of, friction_of, restitution_of
from engine.kernels.joint_constraints import friction
from engine.kernels.joint_rows import bounds, is_row
from engine.kernels.spatial import ZERO6, ZERO9, add, cross, dot, load3, load6, load9, mul, store3, store6, store9, sub
from engine.kernels.world import ZERO, joint_twist
from engine.model import FREE, WORLD
from engine.scene.thresholds import BACK, HALVINGS, IMPACT, REACH

MOST_TRIES = 3
"""How often Newton's steps begin anew where impulses leave more than the search for them reckoned with, by rounding."""
NEAR = 0.5
"""Residual up to which the impulses of the step before are where Newton's steps begin."""


@kernel
def free_velocity(v, forces, rows, topology, gravity, ground):
    """The factors of M̃, and v_f into `ground.free`."""
    tree = ground.tree.tree
    factorise(forces.force[0], forces.inertia[0], topology, ground.bodies, tree)
    accelerations(gravity, topology, ground.bodies, tree, ground.column)
    for j in spread(v.size):
        ground.free[j] = v[j] + rows.dt * ground.column[j]


@inline
def _velocity_before(body, n, x, bodies):
    """The velocity of a body's place x along n as the step begins."""
    arm = sub(x, load3(bodies.position[body], 0, 1))
    return dot(n, add(load3(bodies.twist[body], 3, 1), cross(load3(bodies.twist[body], 0, 1), arm)))


@inline
def _contacts(count, topology, ground):
    """The contacts as the problem has them; `ground.before` gets their velocity before the step along the normal.

    Returns whether there is room for all pairs of bodies.
    """
    touching, p, bodies, has_room = ground.contacts, ground.tree.problem, ground.bodies, True
    for i in spread(topology.shape[0]):
        p.head[i] = -1
    for i in spread(count):
        body, other = bodies_of(touching.shape[i], ground)
        x, n = load3(touching.at[i], 0, 1), load3(touching.frame[i], 0, 1)
        ground.before[i] = _velocity_before(body, n, x, bodies)
        if len(ground.tree.tree.pairs) > 0 and other != WORLD:
            ground.before[i] -= _velocity_before(other, n, x, bodies)
        p.mu[i] = friction_of(touching.shape[i], ground)
        store3(p.arm[i], 0, 1, sub(x, load3(bodies.position[body], 0, 1)))
        store9(p.frame[i], 0, 1, load9(touching.frame[i], 0, 1))
    if len(ground.tree.tree.pairs) > 0:
        ground.tree.tree.pairs.counts[TOUCH], ground.tree.tree.pairs.counts[UNKNOWNS] = 0, 0
    for i in range(count - 1, -1, -1):
        body, other = bodies_of(touching.shape[i], ground)
        if len(ground.tree.tree.pairs) > 0 and other != WORLD:
            x = load3(touching.at[i], 0, 1)
            has_room = join(i, body, other, x, bodies, p, ground.tree.tree.pairs) and has_room
        else:
            p.following[i], p.head[body] = p.head[body], i
    return has_room


@inline
def _joints(q, v, rows, ground):
    """The joints that rub, or may come to a limit, as `ground.joint_of` and ones in `right` say; returns how many."""
    found, p = 0, ground.tree.problem
    for j in spread(ground.free.size):
        p.right[j] = 0.0
        if is_row(rows, j):
            low, high = bounds(rows, j, q)
            after = ground.free[j]
            if friction(rows.joints, j, v[j]) > 0.0 or after < low + REACH or after > high - REACH:
                p.right[j] = 1.0
    for j in range(ground.free.size):
        if p.right[j] > 0.0:
            p.joint[found], ground.joint_of[found] = j, j
            found += 1
    for k in spread(found):
        j = p.joint[k]
        low, high = bounds(rows, j, q)
        p.joint_free[k], p.law[k, 0] = ground.free[j], friction(rows.joints, j, v[j]) * rows.dt
        p.law[k, 1] = low if low * rows.dt < -shut(low) else 0.0
        p.law[k, 2] = high if high * rows.dt > shut(high) else 0.0
    return found


@inline
def _own_mobility(offset, rotation, inverse):
    """Of a ball joint's axis what its own inertia lets a unit moment do; a row's law holds with any such number."""
    e = (rotation[offset], rotation[3 + offset], rotation[6 + offset])
    return dot(e, mul(load9(inverse, 0, 1), e))


@kernel
def _mobilities(joints, topology, ground):
    """Of each row its mobility, and its velocity at v_f."""
    p, tree, bodies, free = ground.tree.problem, ground.tree.tree, ground.bodies, ground.free
    limbs = tree.limbs
    if len(tree.mimics) > 0:
        mimics.own_mobilities(tree.mimics, p.dv)
    for level in range(limbs.level.size - 1):
        for place in spread(limbs.level[level + 1] - limbs.level[level]):
            limb = limbs.level[level] + place
            E, F, H, omega, velocity = ZERO6, ZERO9, ZERO6, ZERO, ZERO  # those of the body before this one
            for i in range(limbs.begin[limb], limbs.end[limb]):
                if tree.loaded[i, TO_PARENT] == LEFT_OUT:
                    continue
                parent, kind, start, sums = topology[i, 0], topology[i, 1], topology[i, 3], tree.sums[i]
                if parent == WORLD:
                    E, F, H = ZERO6, ZERO9, ZERO6
                else:
                    if parent != i - 1:
                        above = tree.sums[parent]
                        E, F, H = load6(above, 0, 1), load9(above, 6, 1), load6(above, 15, 1)
                    E, F, H = shifted_mobility(load3(bodies.arm[i], 0, 1), E, F, H)
                omega, velocity = carried(i, parent, bodies, ZERO, omega, velocity, tree)
                turning, shifting = joint_twist(kind, load9(bodies.rotation[i], 0, 1), free, start)
                omega = add(omega, mimics.axis(i, turning, tree))
                velocity = add(velocity, mimics.axis(i, shifting, tree))
                if not mimics.has_own(i, tree):
                    e = mimics.axis(i, axis_of(bodies.rotation[i]), tree)
                    E, H = mimics.loosened(kind, e, p.dv[start], E, H)
                else:
                    E, F, H, own = mobility_of(i, E, F, H, topology, bodies, tree)
                    if has_one_axis(kind):
                        p.dv[start] = own
                if kind != FREE and not has_one_axis(kind):
                    for k in range(3):
                        p.dv[start + k] = _own_mobility(k, bodies.rotation[i], tree.inverse[i])
                keep_twist(i, omega, velocity, tree)
                if len(tree.pairs) > 0:
                    store3(tree.step[i], 0, 1, omega)
                    store3(tree.step[i], 3, 1, velocity)
                if tree.flow[i, GATHERS] == 1:
                    store6(sums, 0, 1, E)
                    store9(sums, 6, 1, F)
                    store6(sums, 15, 1, H)
                k = p.head[i]
                while k >= 0:
                    arm = load3(p.arm[k], 0, 1)
                    A = mobility_at(E, F, H, arm)
                    p.r[k] = 3.0 / (A[0] + A[4] + A[8])
                    u = velocity_at(omega, velocity, arm, load9(p.frame[k], 0, 1))
                    p.along[k] = u[0]
                    store3(p.free[k], 0, 1, u)
                    k = p.following[k]
    for j in range(joints):
        p.g[j] = p.dv[p.joint[j]]


@inline
def _between(count, inertia, topology, ground):
    """The same of contacts between bodies, after `_mobilities`."""
    p, pairs, twists = ground.tree.problem, ground.tree.tree.pairs, ground.tree.tree.step
    for j in range(pairs.counts[TOUCH]):
        k = pairs.contact[j]
        while k >= 0:
            u = across(j, k, twists, p, pairs)
            p.along[k] = u[0]
            store3(p.free[k], 0, 1, u)
            k = p.following[k]
    if pairs.counts[TOUCH] > 0:
        relative_mobilities(count, inertia, topology, ground.bodies, ground.tree)


@inline
def springing(back, fall):
    """The velocity with which a contact springs back that would do so with −`back` if its weight did not change it by
    `fall` within the step, so that moving away for the whole step takes or gives no energy: u² − 2 fall u = back²."""
    slows = min(fall, 0.0)
    return slows + np.sqrt(back * back + slows * slows)


@inline
def _offsets(count, share, dt, exact, ground):
    """What contacts ask beside v_f: their gaps', and `share` of the restitution; returns whether any springs back.

    `exact`: where nothing touches, steps keep the energy, see `springing`. Semi-implicit ones make up for that.
    """
    touching, p, springs = ground.contacts, ground.tree.problem, 0.0
    for i in spread(count):
        gap, before = touching.gap[i], ground.before[i]
        c = opening(gap, load3(touching.frame[i], 0, 1), load3(touching.at[i], 0, 1)) / dt
        e = share * restitution_of(touching.shape[i], ground)
        if e > 0.0 and before < -IMPACT and gap + dt * p.along[i] <= 0.0:
            springs = 1.0
            c = min(c, -springing(e * before, p.along[i] - before) if exact else e * before)
        p.offset[i], p.free[i, 0] = c, p.along[i] + c
    return most_of(springs) > 0.0


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
    for i in spread(count):
        x = load3(p.best[i], 0, 1)
        least = 0.1 * promised(most) * most * p.r[i]
        store3(p.impulse[i], 0, 1, x if dot(x, x) > least * least else (0.0, 0.0, 0.0))
    for j in spread(joints):
        p.joint_impulse[j] = p.joint_best[j]


@inline
def put_down(count, frictional, joints, ground):
    """The impulses and velocities where the rest of a step looks for them."""
    p, u = ground.tree.problem, ground.u
    for i in spread(count):
        k = 3 * i if i < frictional else 2 * frictional + i
        for r in range(3 if i < frictional else 1):
            ground.impulses[k + r], u[k + r] = p.impulse[i, r], p.u[i, r]
    for j in spread(joints):
        ground.impulses[2 * frictional + count + j] = p.joint_impulse[j]


@inline
def _take_up(count, frictional, joints, ground):
    """The impulses of the step before, as `ground.impulses` has them, into the problem."""
    p = ground.tree.problem
    for i in spread(count):
        k = 3 * i if i < frictional else 2 * frictional + i
        store3(p.impulse[i], 0, 1, (ground.impulses[k], 0.0, 0.0))
        if i < frictional:
            store3(p.impulse[i], 0, 1, load3(ground.impulses, k, 1))
    for j in spread(joints):
        p.joint_impulse[j] = ground.impulses[2 * frictional + count + j]


@inline
def rows_by_bodies(count, q, v, inertia, rows, topology, ground):
    """The contacts and joint rows of a problem, after `free_velocity`; answers how many contacts, with friction and in
    all, and how many joint rows there are. So many contacts as −1: more pairs of bodies touch than there is room for.
    """
    moved = leave_out(count, topology, ground)
    if not _contacts(moved, topology, ground):
        return 0, -1, 0
    joints = _joints(q, v, rows, ground)
    leave_out_unloaded(topology, ground.bodies, ground.tree.problem, ground.tree.tree)
    _mobilities(joints, topology, ground)
    if len(ground.tree.tree.pairs) > 0:
        _between(moved, inertia, topology, ground)
    frictional = 0
    for i in range(moved):
        if ground.tree.problem.mu[i] > 0.0:
            frictional += 1
    return frictional, moved, joints


@inline
def _ask(count, joints, share, dt, exact, topology, ground):
    """What contacts ask, with a share of the restitution, and u of the impulses as they are; returns the residual."""
    work, numbers, counts = ground.tree, ground.tree.search.numbers, ground.tree.search.counts
    numbers[SHARE], counts[TRIES] = share, 0
    counts[SPRINGS] = 1 if _offsets(count, share, dt, exact, ground) else 0
    respond(count, joints, topology, ground.bodies, work, ground.column)
    return residual(count, joints, work.problem, 0.0, greatest_velocity(count, joints, work.problem))


@inline
def _search(count, joints, left, inertia, topology, ground):
    """Begin a search from the impulses as they are, or from none where they leave much."""
    p = ground.tree.problem
    for j in spread(p.total.size):
        p.total[j] = ground.column[j]
    plan = WARM if left < NEAR else COLD
    begin(plan, asked(left), bearable(left), count, joints, inertia, topology, ground.bodies, ground.tree)


@inline
def _is_lawful(count, joints, ground):
    """Whether the impulses make no energy where they spring back; less of restitution is asked otherwise."""
    search = ground.tree.search
    if search.counts[SPRINGS] == 0 or _work_done(count, joints, ground.tree.problem) <= 0.0:
        return True
    search.counts[ATTEMPT] += 1
    search.numbers[SHARE] = 0.5 * search.numbers[SHARE] if search.counts[ATTEMPT] <= HALVINGS else 0.0
    return search.counts[ATTEMPT] > HALVINGS + 1


@kernel
def begin_impulses(count, frictional, joints, dt, exact, inertia, topology, ground):
    """Begin with the impulses of the step before: returns whether they obey the law; where not, a search begins."""
    search = ground.tree.search
    search.counts[ATTEMPT] = 0
    _take_up(count, frictional, joints, ground)
    left, share = _ask(count, joints, 1.0, dt, exact, topology, ground), 1.0
    while left <= fine(left) * promised(left):
        if _is_lawful(count, joints, ground):
            search.numbers[LEAST] = left
            return True
        share = search.numbers[SHARE]
        left = _ask(count, joints, share, dt, exact, topology, ground)
    _search(count, joints, left, inertia, topology, ground)
    return False


@kernel
def check_impulses(count, joints, dt, exact, inertia, topology, ground):
    """After a search: returns whether its impulses are those of the step, or another one begins."""
    work, search, p = ground.tree, ground.tree.search, ground.tree.problem
    most = search.numbers[MOST]
    _take_best(count, joints, most, p)
    respond(count, joints, topology, ground.bodies, work, ground.column)
    left = residual(count, joints, p, 0.0, most)
    search.counts[TRIES] += 1
    reckoned = search.numbers[LEAST] <= search.numbers[ENOUGH]
    if reckoned and left > bearable(left) and search.counts[TRIES] < MOST_TRIES:
        _search(count, joints, left, inertia, topology, ground)
        return False
    lawful = _is_lawful(count, joints, ground)
    while not lawful:
        left = _ask(count, joints, search.numbers[SHARE], dt, exact, topology, ground)
        if left > fine(left) * promised(left):
            _search(count, joints, left, inertia, topology, ground)
            return False
        lawful = _is_lawful(count, joints, ground)
    search.numbers[LEAST] = left
    return True


@inline
def _overlaps(count, ground):
    """Whether anything overlaps."""
    deepest = 0.0
    for i in range(count):
        deepest = min(deepest, ground.contacts.gap[i])
    return deepest < -overlap(deepest)


@kernel
def begin_take_back(count, dt, inertia, topology, ground):
    """Begin the search for what takes overlaps back; returns whether there are any."""
    touching, p = ground.contacts, ground.tree.problem
    if not _overlaps(count, ground):
        return False
    for i in spread(count):
        gap = touching.gap[i]
        p.mu[i], p.offset[i] = 0.0, (BACK * gap if gap < 0.0 else gap) / dt
        store3(p.free[i], 0, 1, (p.offset[i], 0.0, 0.0))
    tolerance = asked_of_overlaps(dt)
    begin(OVERLAP, tolerance, tolerance, count, 0, inertia, topology, ground.bodies, ground.tree)
    return True


@kernel
def end_take_back(count, dt, topology, ground):
    """The displacement that takes overlaps back, into `ground.shift`, after its search."""
    work, p = ground.tree, ground.tree.problem
    _take_best(count, 0, work.search.numbers[MOST], p)
    respond(count, 0, topology, ground.bodies, work, ground.shift)
    for j in spread(ground.shift.size):
        ground.shift[j] *= dt


@apart
def _searched(count, joints, inertia, topology, ground):
    """Take a search that has begun to its end."""
    over = False
    while not over:
        over = advance(count, joints, inertia, topology, ground.bodies, ground.tree, ground.work)


@kernel
def impulses_by_bodies(count, frictional, joints, dt, exact, forces, topology, ground):
    """Impulses that obey the law into `ground.impulses`, from those of the step before there; returns their residual.

    `ground.column` (nv,) is what they change of v_f.
    """
    inertia = forces.inertia[0]
    found = begin_impulses(count, frictional, joints, dt, exact, inertia, topology, ground)
    while not found:
        _searched(count, joints, inertia, topology, ground)
        found = check_impulses(count, joints, dt, exact, inertia, topology, ground)
    put_down(count, frictional, joints, ground)
    return ground.tree.search.numbers[LEAST]


@kernel
def take_back_by_bodies(count, dt, forces, topology, ground):
    """The displacement that takes overlaps back, into `ground.shift`; returns whether there is any."""
    if not begin_take_back(count, dt, forces.inertia[0], topology, ground):
        return False
    _searched(count, 0, forces.inertia[0], topology, ground)
    end_take_back(count, dt, topology, ground)
    return True
