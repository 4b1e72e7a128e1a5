"""The rows of a contact problem: Jacobians, the Delassus matrix and target velocities."""

from __future__ import annotations

from engine.compile import inline, kernel
from engine.cpu.constraints.contact_law import EPS
from engine.kernels.contact.detection import exchange
from engine.kernels.contact.properties import bodies_of, coefficients_of
from engine.kernels.contact.restitution import rebound_velocity
from engine.kernels.joint_constraints import friction
from engine.kernels.joint_rows import bounds, is_row
from engine.kernels.robot import KIND, PARENT, V_START
from engine.kernels.spatial import cross, load3, load9, mul_t, scale, sub
from engine.model import FREE, PRISMATIC, REVOLUTE
from engine.scene.thresholds import HELD, IMPACT, REACH, SHUT


@inline
def _add_joint(row, direction, x, i, topology, ground):
    """Add the velocity of a point x along a direction by body i's joint."""
    index, factor = ground.rows.coupling_index, ground.rows.coupling_factor
    R, p = load9(ground.bodies.rotation[i]), load3(ground.bodies.position[i])
    kind, start = topology[i, KIND], topology[i, V_START]
    turn, shift = mul_t(R, cross(sub(x, p), direction)), mul_t(R, direction)
    if kind == REVOLUTE:
        row[index[start]] += factor[start] * turn[2]
    elif kind == PRISMATIC:
        row[index[start]] += factor[start] * shift[2]
    else:
        for r in range(3):
            row[index[start + r]] += factor[start + r] * turn[r]
            if kind == FREE:
                row[index[start + 3 + r]] += factor[start + 3 + r] * shift[r]


@inline
def _jacobian_row(row, direction, x, bodies, topology, ground):
    """The Jacobian row of the velocity of a body's point x along a direction, relative to another body, in `row`
    (nv,)."""
    for j in range(row.size):
        row[j] = 0.0
    i = bodies[0]
    if len(ground.pairs) > 0:
        other, against = bodies[1], scale(-1.0, direction)
        while i != other:  # common ancestors move both alike
            if i > other:
                _add_joint(row, direction, x, i, topology, ground)
                i = topology[i, PARENT]
            else:
                _add_joint(row, against, x, other, topology, ground)
                other = topology[other, PARENT]
    else:
        while i >= 0:
            _add_joint(row, direction, x, i, topology, ground)
            i = topology[i, PARENT]


@inline
def _product(row, x):
    total = 0.0
    for j in range(x.size):
        total += row[j] * x[j]
    return total


@inline
def _moves(row):
    """Whether any joint moves a contact along its normal."""
    most = 0.0
    for j in range(row.size):
        most = max(most, abs(row[j]))
    return most > HELD


@inline
def contact_rows(count, v, topology, ground):
    """Compute J of the contacts and their velocities before the step.

    Returns the number of contacts with friction and of all. A contact that no joint moves along its normal is left out,
    since its impulse is undetermined.
    """
    touching, mu = ground.contacts, ground.rows.system.mu
    frictional, i = 0, 0
    while i < count:
        shape = touching.shape[i]
        bodies, x = bodies_of(shape, ground), load3(touching.at[i])
        friction = coefficients_of(shape, ground)[0]
        rubs, moves = friction > 0.0, True
        first = 3 * i if rubs else 2 * frictional + i
        for r in range(3 if rubs else 1):
            _jacobian_row(ground.rows.J[first + r], load3(touching.frame[i], 3 * r), x, bodies, topology, ground)
            ground.before[first + r] = _product(ground.rows.J[first + r], v)
            if r == 0 and not _moves(ground.rows.J[first]):
                moves = False
                break
        if moves:
            if rubs:
                mu[i] = friction
                frictional += 1
            i += 1
        else:
            count -= 1
            for later in range(i, count):
                exchange(touching, later, later + 1)
    return frictional, count


@inline
def joint_rows(first, law_first, q, v, rows, ground):
    """Find the rows of joints with friction or near a limit, into `joint_of`; return their number."""
    found, laws = 0, ground.rows.system.joints
    for j in range(ground.free.size):
        if not is_row(rows, j):
            continue
        low, high = bounds(rows, j, q)
        f, after = friction(rows.joints, j, v[j]), ground.free[j]
        if f > 0.0 or after < low + REACH or after > high - REACH:
            row = ground.rows.J[first + found]
            for k in range(row.size):
                row[k] = 0.0
            row[j] = 1.0
            place = law_first + found
            laws[place, 0] = f * rows.dt
            laws[place, 1] = low if low * rows.dt < -SHUT else 0.0
            laws[place, 2] = high if high * rows.dt > SHUT else 0.0
            ground.joint_of[found] = j
            found += 1
    return found


@kernel
def half_rows(n, ground):
    """Compute Wᵀ, W = J L⁻¹, into `half`, and the diagonal of G = W D⁻¹ Wᵀ."""
    G, M, half, rows, above = (
        ground.rows.system.G,
        ground.rows.dense.M,
        ground.rows.half,
        ground.rows.J,
        ground.rows.above,
    )
    nv = ground.free.size
    for j in range(nv):
        for k in range(n):
            half[j, k] = rows[k, j]
    for i in range(nv - 1, -1, -1):
        j = above[i]
        while j >= 0:
            share = M[i, j]
            for k in range(n):
                half[j, k] -= share * half[i, k]
            j = above[j]
    diagonal = ground.rows.solver.step
    for k in range(n):
        diagonal[k] = 0.0
    for j in range(nv):
        inverse = 1.0 / M[j, j]
        for k in range(n):
            diagonal[k] += inverse * half[j, k] * half[j, k]
    for k in range(n):
        G[k, k] = diagonal[k]


@kernel
def delassus(n, ground):
    """Compute G = W D⁻¹ Wᵀ, three velocities at a time for the sake of memory."""
    G, M, half, nv = ground.rows.system.G, ground.rows.dense.M, ground.rows.half, ground.free.size
    for k in range(n):
        for i in range(n):
            G[k, i] = 0.0
    for first in range(0, nv, 3):
        second, third = min(first + 1, nv - 1), min(first + 2, nv - 1)
        x, y, z = 1.0 / M[first, first], 1.0 / M[second, second], 1.0 / M[third, third]
        if second == first:
            y = 0.0
        if third == second:
            z = 0.0
        for k in range(n):
            a, b, c = half[first, k] * x, half[second, k] * y, half[third, k] * z
            if a != 0.0 or b != 0.0 or c != 0.0:
                for i in range(n):
                    G[k, i] += a * half[first, i] + b * half[second, i] + c * half[third, i]


@inline
def hold_across(frictional, G):
    """Keep G regular where no joint moves a contact along the surface, as on an upright slide."""
    for i in range(frictional):
        k = 3 * i
        if G[k + 1, k + 1] + G[k + 2, k + 2] <= EPS * G[k, k]:
            G[k + 1, k + 1] = EPS * G[k, k]
            G[k + 2, k + 2] = EPS * G[k, k]


@inline
def right_side(count, frictional, n, share, dt, exact, ground):
    """Compute b = J v_f + c, with c by gaps and by `share` of the restitution; return whether any contact rebounds.

    `exact` is as in `kernels.contact.problem_rows`.
    """
    touching, b, springs = ground.contacts, ground.rows.system.b, False
    for k in range(n):
        ground.rows.offset[k] = 0.0
        b[k] = _product(ground.rows.J[k], ground.free)
    for i in range(count):
        k = 3 * i if i < frictional else 2 * frictional + i
        gap, before = touching.gap[i], ground.before[k]
        c = gap / dt if gap > SHUT else 0.0
        e = share * coefficients_of(touching.shape[i], ground)[1]
        if e > 0.0 and before < -IMPACT and gap + dt * b[k] <= 0.0:
            springs = True
            c = min(c, -rebound_velocity(e * before, b[k] - before) if exact else e * before)
        ground.rows.offset[k] = c
        b[k] += c
    return springs
