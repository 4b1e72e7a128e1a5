"""Impulses of contacts, joint friction and joint limits by Newton's method in the space of velocities.

Alart and Curnier (1991): z = λ − r u, λ = P(z), P the projection onto [0, ∞) × the disk of radius μ z_n; A = dP/dz.
With a proximal term ε |δλ|², which damps the step and keeps the solution,

    (1 + ε − A) δλ = (P(z) − λ) − A r δu    ⇒    δλ = s − Ω δu,    Ω = (1 + ε − A)⁻¹ A r
    M δv = Jᵀ δλ                             ⇒    (M + Jᵀ Ω J) δv = Jᵀ s

A contact depends on its body's twist alone: JᵀΩJ adds a 6 × 6 matrix to that body's inertia, and the articulated-body
recursion solves the system (`newton_matrix`). A joint's friction or limit adds a number to d. The right-hand side
includes the residual Jᵀλ − M (v − v_f), so that the next step corrects rounding errors, as in single precision. From
zero or from the previous step's impulses, four to nine steps reach rounding level.
"""

from __future__ import annotations

from engine.compile import compiled_apart, inline, kernel
from engine.compile.operations import parallel_range
from engine.kernels.bodies import ZERO
from engine.kernels.contact import body_pairs, newton_matrix
from engine.kernels.contact import mimic_passes as passes
from engine.kernels.contact.loaded_bodies import LEFT_OUT
from engine.kernels.contact.problem import contacts_from
from engine.kernels.contact.recursion import (
    carried_twist,
    inward_wrench,
    mobility_at,
    move,
    pass_wrench,
    store_twist,
    velocity_at,
    with_waiting_wrenches,
)
from engine.kernels.contact.recursion_workspace import TO_PARENT
from engine.kernels.limbs import inward, outward
from engine.kernels.robot import PARENT
from engine.kernels.spatial import ZERO9, add, cross, load3, load9, mul, mul_t, store3, store9, sub


@kernel
def relative_mobilities(contacts, inertia, topology, bodies, solver):
    """Compute r of contacts between bodies from their relative mobility by M + d; `inertia` (nv,) is d."""
    p, tree, pairs = solver.problem, solver.tree, solver.tree.pairs
    for j in range(inertia.size):
        p.added[j], p.rhs[j] = inertia[j], 0.0
    for k in range(contacts):
        store9(p.Omega[k], ZERO9)
    newton_matrix.set_up_pairs(True, tree, p)
    newton_matrix.eliminate_joints(0.0, topology, bodies, tree, p)
    for j in range(pairs.counts[body_pairs.TOUCH]):
        place, (E, F, H) = load3(pairs.arm[j]), body_pairs.mobility(j, pairs)
        for k in contacts_from(pairs.contact[j], p):
            A = mobility_at(E, F, H, sub(load3(p.arm[k]), place))
            p.r[k] = 3.0 / (A[0] + A[4] + A[8])


@inline
def _move_pairs(tree, p):
    """Compute δu and δλ of contacts between bodies."""
    for j in range(tree.pairs.counts[body_pairs.TOUCH]):
        for k in contacts_from(tree.pairs.contact[j], p):
            motion = body_pairs.relative_velocity(j, k, tree.step, p, tree.pairs)
            store3(p.motion[k], motion)
            store3(p.change[k], sub(load3(p.s[k]), mul(load9(p.Omega[k]), motion)))


@compiled_apart
def direction(contacts, joints, length, r_scale, eps, inertia, topology, bodies, solver):
    """Compute δv into `dv`, and δu and δλ of all rows, after the last step was taken for `length` of it.

    `inertia` (nv,) is d. Bodies that are left out, see `loaded_bodies`, get none. With `r_scale` 0, Ω and s of the rows
    are used as they are.
    """
    p, tree, limbs = solver.problem, solver.tree, solver.tree.limbs
    for j in parallel_range(p.added.size):
        p.total[j] += length * p.dv[j]
        p.added[j], p.rhs[j] = inertia[j], -inertia[j] * p.total[j]
    for j in parallel_range(joints):
        if r_scale > 0.0:
            newton_matrix.linearise_joint(j, r_scale, eps, p)
        p.added[p.joint[j]] += p.joint_omega[j]
        p.rhs[p.joint[j]] += p.joint_s[j] + p.joint_impulse[j]
    if r_scale > 0.0:
        for i in parallel_range(contacts):
            newton_matrix.linearise_contact(i, r_scale, eps, p)
    if body_pairs.any_touch(tree):
        newton_matrix.set_up_pairs(False, tree, p)
    newton_matrix.eliminate_joints(length, topology, bodies, tree, p)
    if body_pairs.have_unknowns(tree):
        body_pairs.solve(tree.pairs)
        newton_matrix.add_wrenches(topology, bodies, tree, p)
    passes.eliminated_velocities(topology.shape[0], ZERO, ZERO, "newton", tree, p.dv)
    for limb in outward(limbs):
        omega, velocity = ZERO, ZERO
        for i in range(limbs.begin[limb], limbs.end[limb]):
            if tree.loaded[i, TO_PARENT] == LEFT_OUT:
                continue
            omega, velocity = carried_twist(i, topology[i, PARENT], bodies, ZERO, omega, velocity, tree)
            omega, velocity = move(i, omega, velocity, "newton", topology, bodies, tree, p.dv)
            store_twist(i, omega, velocity, tree)
            store3(tree.step[i], omega)
            store3(tree.step[i], velocity, 3)
            for k in contacts_from(p.head[i], p):
                motion = velocity_at(omega, velocity, load3(p.arm[k]), load9(p.frame[k]))
                store3(p.motion[k], motion)
                store3(p.change[k], sub(load3(p.s[k]), mul(load9(p.Omega[k]), motion)))
    if body_pairs.any_touch(tree):
        _move_pairs(tree, p)
    for j in parallel_range(joints):
        motion = p.dv[p.joint[j]]
        p.joint_motion[j], p.joint_change[j] = motion, p.joint_s[j] - p.joint_omega[j] * motion


@inline
def clear_step(contacts, joints, p, tree):
    """Set the step to zero."""
    for i in parallel_range(tree.step.shape[0]):
        store3(tree.step[i], ZERO)
        store3(tree.step[i], ZERO, 3)
    for j in parallel_range(p.dv.size):
        p.dv[j] = 0.0
    for i in parallel_range(contacts):
        store3(p.change[i], (0.0, 0.0, 0.0))
        store3(p.motion[i], (0.0, 0.0, 0.0))
    for j in parallel_range(joints):
        p.joint_change[j], p.joint_motion[j] = 0.0, 0.0


@inline
def _pair_wrenches(pairs, p):
    """Compute the wrenches of impulses between bodies."""
    body_pairs.clear_pair_wrenches(pairs)
    for j in range(pairs.counts[body_pairs.TOUCH]):
        n, f = ZERO, ZERO
        for k in contacts_from(pairs.contact[j], p):
            impulse = mul_t(load9(p.frame[k]), load3(p.impulse[k]))
            r = sub(load3(p.arm[k]), load3(pairs.arm[j]))
            n, f = add(n, cross(r, impulse)), add(f, impulse)
        body_pairs.add_pair_wrench(j, n, f, pairs)


@compiled_apart
def respond(contacts, joints, topology, bodies, solver):
    """Compute `total` (nv,) ← M̃⁻¹Jᵀλ of the impulses, u of all rows, and the bodies' twists."""
    p, tree, limbs = solver.problem, solver.tree, solver.tree.limbs
    for j in parallel_range(p.rhs.size):
        p.rhs[j] = 0.0
    for j in parallel_range(joints):
        p.rhs[p.joint[j]] += p.joint_impulse[j]
    if body_pairs.any_touch(tree):
        _pair_wrenches(tree.pairs, p)
    for limb in inward(limbs):
        n, f = ZERO, ZERO
        for i in range(limbs.end[limb] - 1, limbs.begin[limb] - 1, -1):
            if tree.loaded[i, TO_PARENT] == LEFT_OUT:
                continue
            n, f = with_waiting_wrenches(i, n, f, tree.loaded, tree)
            for k in contacts_from(p.head[i], p):
                impulse = mul_t(load9(p.frame[k]), load3(p.impulse[k]))
                n, f = sub(n, cross(load3(p.arm[k]), impulse)), sub(f, impulse)
            n, f = body_pairs.with_pair_wrench(i, n, f, tree)
            n, f = inward_wrench(i, n, f, p.rhs, topology, bodies, tree)
            n, f = pass_wrench(i, tree.loaded[i, TO_PARENT], n, f, topology, bodies, tree)
    passes.wrench_without_coordinates(topology.shape[0], ZERO, ZERO, p.rhs, 0.0, "mass", tree)
    passes.eliminated_velocities(topology.shape[0], ZERO, ZERO, "mass", tree, p.total)
    for limb in outward(limbs):
        omega, velocity = ZERO, ZERO
        for i in range(limbs.begin[limb], limbs.end[limb]):
            omega, velocity = carried_twist(i, topology[i, PARENT], bodies, ZERO, omega, velocity, tree)
            omega, velocity = move(i, omega, velocity, "mass", topology, bodies, tree, p.total)
            store_twist(i, omega, velocity, tree)
            store3(tree.moved[i], omega)
            store3(tree.moved[i], velocity, 3)
            for k in contacts_from(p.head[i], p):
                motion = velocity_at(omega, velocity, load3(p.arm[k]), load9(p.frame[k]))
                store3(p.u[k], add(load3(p.free[k]), motion))
    if body_pairs.any_touch(tree):
        for j in range(tree.pairs.counts[body_pairs.TOUCH]):
            for k in contacts_from(tree.pairs.contact[j], p):
                motion = body_pairs.relative_velocity(j, k, tree.moved, p, tree.pairs)
                store3(p.u[k], add(load3(p.free[k]), motion))
    for j in parallel_range(joints):
        p.joint_u[j] = p.joint_free[j] + p.total[p.joint[j]]
    clear_step(contacts, joints, p, tree)
