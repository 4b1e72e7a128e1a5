"""ABA: forward dynamics of one robot by articulated-body inertias (Featherstone 1983), any tree, O(n).

The recursion of [Y] section II.C in its scalar form. Accelerations are relative to a₀, the accelerations by velocities
and gravity, so that a body's velocity is not needed after it is entered:

    a₀ = X a₀_parent + ad_V S q̇,   p = J a₀ − ad_Vᵀ J V
    U = I S,  D = SᵀU,  u = τ − Sᵀp
    I_parent += Xᵀ (I − U Uᵀ/D) X,   p_parent += Xᵀ (p + U u/D)
    q̈ = (u − Uᵀ X a_parent)/D,   a = X a_parent + S q̈

Bodies are entered on the way out from the base and left on the way back, branch by branch. A ball joint is three such
joints with massless bodies between, of which the one about z is eliminated first. A free joint's acceleration depends
on its own force alone, which is passed on to the parent. A held joint keeps its I, adds U q̈ to its p, and has the
reaction r = Uᵀ a − u. Implicit damping and gains add to D.
"""

from __future__ import annotations

import numpy as np

from engine.compile import inline, kernel
from engine.compile.operations import reciprocal, registers
from engine.compile.shared import array_at, count
from engine.compile.vectors import every, robots_at
from engine.kernels.bodies import AXIS, NQ, NV, ZERO, rigid_inertia
from engine.kernels.gains_and_damping import added_inertia, is_stiff, joint_force
from engine.kernels.joint_rows import is_held, target_acceleration
from engine.kernels.outward import enter
from engine.kernels.robot import ENTER, KIND, PARENT, Q_START, V_START, with_constants
from engine.kernels.spatial import add, axis_column, dot, minus_rank_one, plus, scale, solve6, sub
from engine.kernels.status import FITS, NOT_FINITE, WRONG_SHAPE
from engine.kernels.step_state import GivenForces
from engine.kernels.transforms import force_to_parent, inertia_in_parent, motion_to_child
from engine.model import FREE


@inline
def _with_entry(a, axis, x):
    """A tuple of six numbers with x at place `axis`."""
    return (
        x if axis == 0 else a[0], x if axis == 1 else a[1], x if axis == 2 else a[2],
        x if axis == 3 else a[3], x if axis == 4 else a[4], x if axis == 5 else a[5],
    )  # fmt: skip


@inline
def _with_axis_zeroed(A, B, C, axis):
    """I − U Uᵀ/D, with exact zeros in the row and column of the axis."""
    if axis == 0:
        return (0.0, 0.0, 0.0, A[3], A[4], A[5]), (0.0, 0.0, 0.0, B[3], B[4], B[5], B[6], B[7], B[8]), C
    if axis == 1:
        return (A[0], 0.0, A[2], 0.0, 0.0, A[5]), (B[0], B[1], B[2], 0.0, 0.0, 0.0, B[6], B[7], B[8]), C
    if axis == 2:
        return (A[0], A[1], 0.0, A[3], 0.0, 0.0), (B[0], B[1], B[2], B[3], B[4], B[5], 0.0, 0.0, 0.0), C
    return A, (B[0], B[1], 0.0, B[3], B[4], 0.0, B[6], B[7], 0.0), (C[0], C[1], 0.0, C[3], 0.0, 0.0)


@inline
def _inertia_past_axis(forces, k, axis, to_parent, n, f, A, B, C, factors):
    """Pass p and I through a joint's axis; store U without the axis's entry, 1/D, u and that entry in `factors`."""
    y, z = axis_column(A, B, C, axis)
    U = y[0], y[1], y[2], z[0], z[1], z[2]
    axis_inertia, u = U[axis], joint_force(forces, k) - (n[0], n[1], n[2], f[0], f[1], f[2])[axis]
    inverse = reciprocal(axis_inertia + added_inertia(forces, k) if is_stiff(forces, k) else axis_inertia)
    factors[k] = _with_entry(U, axis, 0.0), inverse, u, axis_inertia
    if not to_parent:
        return n, f, A, B, C
    if is_stiff(forces, k):
        held, target = is_held(forces, k), target_acceleration(forces, k)
        ud = target if held else u * inverse
        A, B, C = minus_rank_one(A, B, C, y, z, 0.0 if held else inverse)
    else:
        ud = u * inverse
        A, B, C = minus_rank_one(A, B, C, y, z, inverse)
        A, B, C = _with_axis_zeroed(A, B, C, axis)
    return add(n, scale(ud, y)), add(f, scale(ud, z)), A, B, C


@inline
def leave(robot, i, forces, numbers, inertia, force, factors):
    """Compute U, 1/D and u of a body's joint, and add the remaining I and p to its parent's."""
    kind, parent, c, x = robot.tree[i, KIND], robot.tree[i, PARENT], robot.bodies[i], numbers[i]
    first = robot.tree[i, V_START]
    A, B, C = inertia[i]
    n, f = force[i]
    if kind == FREE:
        tau = forces.tau
        fn, ff = ((tau[first], tau[first + 1], tau[first + 2]), (tau[first + 3], tau[first + 4], tau[first + 5]))
        factors[first] = solve6(A, B, C, sub(fn, n), sub(ff, f))
        if parent >= 0:
            n, f = force_to_parent(kind, c, x, fn, ff)
            force[parent] = add(force[parent][0], n), add(force[parent][1], f)
        return
    for j in range(NV[kind] - 1, -1, -1):
        n, f, A, B, C = _inertia_past_axis(
            forces, first + j, AXIS[kind] + j, parent >= 0 or j > 0, n, f, A, B, C, factors
        )
    if parent >= 0:
        A, B, C = inertia_in_parent(kind, c, x, A, B, C)
        n, f = force_to_parent(kind, c, x, n, f)
        a, b, d = inertia[parent]
        inertia[parent] = plus(a, A), plus(b, B), plus(d, C)
        force[parent] = add(force[parent][0], n), add(force[parent][1], f)


@inline
def accelerate(robot, i, forces, numbers, factors, acceleration, out, reaction):
    """Compute q̈ of a body's joint, the reaction of a held one, and the body's acceleration from its parent's."""
    kind, parent, c, first = robot.tree[i, KIND], robot.tree[i, PARENT], robot.bodies[i], robot.tree[i, V_START]
    parent_acceleration = acceleration[parent] if parent >= 0 else (ZERO, ZERO)
    o, v = motion_to_child(kind, c, numbers[i], parent_acceleration[0], parent_acceleration[1])
    a = o[0], o[1], o[2], v[0], v[1], v[2]
    if kind == FREE:
        o, v = factors[first]
        body = o[0], o[1], o[2], v[0], v[1], v[2]
        for j in range(6):
            out[first + j] = body[j] - a[j]
        acceleration[i] = o, v
        return
    for j in range(NV[kind]):
        U, inverse, u, axis_inertia = factors[first + j]
        axis = AXIS[kind] + j
        U_a_others = dot((U[0], U[1], U[2]), (a[0], a[1], a[2])) + dot((U[3], U[4], U[5]), (a[3], a[4], a[5]))
        if is_stiff(forces, first + j):
            U_a, held = U_a_others + axis_inertia * a[axis], is_held(forces, first + j)
            qdd = target_acceleration(forces, first + j) if held else (u - U_a) * inverse
            reaction[first + j] = U_a + (axis_inertia + added_inertia(forces, first + j)) * qdd - u
            a_axis = qdd + a[axis]
        else:
            a_axis = (u - U_a_others) * inverse
            qdd = a_axis - a[axis]
        out[first + j] = qdd
        a = _with_entry(a, axis, a_axis)
    acceleration[i] = (a[0], a[1], a[2]), (a[3], a[4], a[5])


@kernel
def forward_dynamics(robot, q, v, tau, out):
    """Compute q̈ into `out` (nv,) from q (nq,), v and τ (nv,) of a known robot."""
    n, forces = robot.tree.shape[0], GivenForces(tau)
    numbers, twist, bias, inertia, force = registers(n), registers(n), registers(n), registers(n), registers(n)
    acceleration, factors = registers(n), registers(v.shape[0])
    for e in range(robot.walk.shape[0]):
        if robot.walk[e, 1] == ENTER:
            enter(robot, robot.walk[e, 0], q, v, (ZERO, ZERO), numbers, twist, bias, force)
            inertia[robot.walk[e, 0]] = rigid_inertia(robot.bodies[robot.walk[e, 0]])
        else:
            leave(robot, robot.walk[e, 0], forces, numbers, inertia, force, factors)
    for i in range(n):
        accelerate(robot, i, forces, numbers, factors, acceleration, out, ())


@inline
def _widths(pattern):
    """Return nq and nv."""
    last = pattern.tree.shape[0] - 1
    kind = pattern.tree[last, KIND]
    return pattern.tree[last, Q_START] + NQ[kind], pattern.tree[last, V_START] + NV[kind]


@inline
def _checked(pattern, constants, q, v, tau, out):
    """Compute q̈ into `out`; return whether every number is finite."""
    nv, finite = out.shape[0], True
    qdd = registers(nv)
    forward_dynamics(with_constants(pattern, constants), q, v, tau, qdd)
    for k in range(nv):
        out[k] = qdd[k]
        finite = (abs(qdd[k]) < np.inf) & finite
    return every(finite)


@kernel
def forward_dynamics_of_one(pattern, constants, q, v, tau, out):
    """Compute q̈ of a robot with a known `pattern`; return FITS, WRONG_SHAPE or NOT_FINITE."""
    (nq, nv), status = _widths(pattern), WRONG_SHAPE
    if q.shape[0] == nq and v.shape[0] == nv and tau.shape[0] == nv and out.shape[0] == nv:
        status = FITS if _checked(pattern, constants, q[:nq], v[:nv], tau[:nv], out[:nv]) else NOT_FINITE
    return status


@kernel
def forward_dynamics_of_some(known, constants, q, v, tau, out, robots, not_finite):
    """Compute q̈ of as many robots as `known` has lanes, or of the last `robots`; all arrays come as addresses.

    `known` is the pattern, the number type and the number of lanes. `not_finite` (1,)
    counts calls with a result that is not finite.
    """
    pattern, dtype, lanes = known
    nq, nv = _widths(pattern)
    n = pattern.bodies.shape[0] * pattern.bodies.shape[1] + 3
    q_rows, v_rows = robots_at(q, dtype, nq, robots, lanes), robots_at(v, dtype, nv, robots, lanes)
    tau_rows, out_rows = robots_at(tau, dtype, nv, robots, lanes), robots_at(out, dtype, nv, robots, lanes)
    if not _checked(pattern, array_at(constants, dtype, (n,)), q_rows, v_rows, tau_rows, out_rows):
        count(array_at(not_finite, "int64", (1,)), 0)
