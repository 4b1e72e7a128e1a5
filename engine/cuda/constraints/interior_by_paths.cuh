// The interior point method of interior_point.cuh in the space of velocities, by a whole warp: a lane has a contact and
// a joint row in registers. Their dλ = s − Ω (du + r) is solved like Newton's steps by paths,
//
//     (D + Wᵀ Ω W) dy = Wᵀ (λ + s − Ω r) − D y,    y = D⁻¹ Wᵀ λ.
//
// A step has one direction, towards a fixed share of ν, since a predictor would need a solve of its own. In single
// precision it stalls at about 1e-3, where Ω is too large for the remaining digits; Newton's steps continue from there.
#pragma once

#include "constraints/solve_by_paths.cuh"

constexpr int INTERIOR_BY_PATHS = 30;  // steps, at most
constexpr double CENTRING_BY_PATHS = 0.2, FIRST_IMPULSE = 10;  // σ, and the scaled impulse of the first iterate
constexpr double INTERIOR_ENOUGH = 1e-3;  // the residual at which Newton's steps take over

// A lane's contact and joint row, those of its rank, if there are such. All numbers but impulses and velocities in
// workspaces are scaled: λ = d size λ', u = size/d u'.
template <typename Real, class Workspace> struct HeldRows {
    const System<Real, Workspace>& system;
    int k, j, i;  // the rows of the contact and of the joint, and the rank
    Real mu, d, joint_d, size;
    InteriorContact<Real> contact;
    InteriorJoint<Real> joint;
    // The data of one step.
    ConeMatrix<Real> Omega;
    Vector<Real> r, step, dw;
    Real joint_u, joint_step;

    __device__ __forceinline__ HeldRows(const System<Real, Workspace>& system, const Group& group)
        : system(system), k(3 * group.rank), j(3 * system.contacts + group.rank), i(group.rank) {
        Real largest = TINY<Real>;
        if (touches()) {
            mu = system.mu(i), d = sqrt(1 / system.size(k)), contact = {{FIRST_IMPULSE, 0, 0}, {1, 0, 0}};
#pragma unroll
            for (int c = 0; c < 3; ++c) largest = fmax(largest, fabs(d * system.b(k + c)));
        }
        if (acts()) joint_d = sqrt(1 / system.own(j)), largest = fmax(largest, fabs(joint_d * system.b(j)));
        size = group.max(largest);
        if (acts()) joint = first_joint(system, i, joint_d, size);
    }
    __device__ __forceinline__ bool touches() const { return i < system.contacts; }
    __device__ __forceinline__ bool acts() const { return i < system.joints; }
    __device__ __forceinline__ Vector<Real> u() const { return d / size * system.velocities(k); }
    __device__ __forceinline__ Real u_of_joint() const { return joint_d / size * system.u(j); }

    // λ as the current iterate.
    __device__ __forceinline__ void put_impulses() const {
        if (touches()) system.ws.store(Workspace::TRIED + k, d * size * contact.impulse);
        if (acts()) system.impulse(j) = joint_d * size * joint.impulse;
    }
    // ν, the mean complementarity product.
    __device__ __forceinline__ Real mean_complementarity(const Group& group) const {
        Real total = 0, number = touches();
        if (touches()) total = dot(contact.impulse, contact.w);
        if (acts()) total += joint.products(), number += joint.pairs();
        total = group.sum(total);
        return total / fmax(group.sum(number), Real(1));
    }
    // Ω, and λ + s − Ω r in place of s.
    __device__ __forceinline__ void put_equations(Real smooth, Real target) {
        const Workspace& ws = system.ws;
        if (touches()) {
            r = u() - contact.w, r.x += contact.saxce(mu, smooth), Omega = contact.Omega(mu, smooth);
            step = contact.s(mu, target, {0, 0, 0}) - Omega.times(r);
            const Matrix<Real> columns = {d * d * Omega.n, d * d * Omega.first, d * d * Omega.second};
            put_linear_contact(ws, i, LinearContact<Real>{transpose(columns), d * size * (contact.impulse + step)});
        }
        if (acts()) {
            joint_u = u_of_joint(), joint_step = joint.s(joint_u, target);
            ws(Workspace::JOINT_OMEGA + i) = joint_d * joint_d * joint.damping();
            ws(Workspace::S + j) = joint_d * size * (joint.impulse + joint_step);
        }
    }
    // The step, with du in U. Returns the step length to the boundary.
    __device__ __forceinline__ Real direct(Real smooth, Real target, const Group& group) {
        Real longest = INFINITE;
        if (touches()) {
            const Vector<Real> du = u();
            step = step - Omega.times(du), dw = contact.dw(mu, smooth, du + r);
            Vector<Real> correction;
            longest = contact.length_to_boundary(mu, step, dw, correction);
        }
        if (acts()) {
            const Real du = u_of_joint();
            joint.set_step(du + joint_u, target);
            longest = fmin(longest, joint.length_to_boundary());
            joint_step -= joint.damping() * du;
        }
        return -group.max(-longest);
    }
    __device__ __forceinline__ void move(Real length) {
        if (touches()) contact = {contact.impulse + length * step, contact.w + length * dw};
        if (acts()) joint.impulse += length * joint_step, joint.move(length);
    }
};

// From a cold start, an iterate from which Newton's steps converge, with its HALF. A lane has at most one contact.
template <typename Real, class Workspace>
__device__ __noinline__ void interior_by_paths(Workspace ws, RowsOf rows, Group group) {
    ws.assume_memory();
    const auto system = rows.system<Real>(ws);
    HeldRows<Real, Workspace> held(system, group);
    held.put_impulses();
    lane_half<Real>(ws, rows, group);
#pragma unroll 1
    for (int step = 0; step < INTERIOR_BY_PATHS; ++step) {
        const Real left = residual_by_paths<Real>(ws, rows, group);
        if (left <= Real(INTERIOR_ENOUGH) || !(left < Real(INFINITE))) break;
        const Real nu = held.mean_complementarity(group), target = Real(CENTRING_BY_PATHS) * nu;
        held.put_equations(nu, target);
        group.sync();
        solve_by_paths<Real>(ws, rows, Real(1), group);
        const Real longest = held.direct(nu, target, group);
        const Real length = fmin(Real(1), fmin(Real(MAX_FRACTION), fmax(Real(0.9), 1 - nu)) * longest);
        held.move(length);
        held.put_impulses();
        for (int v = group.rank; v < NV; v += LANES)
            ws(Workspace::HALF + v) += length * ws(Workspace::LOWER + ROW_START[v]);
        group.sync();
    }
    lane_half<Real>(ws, rows, group);
}
