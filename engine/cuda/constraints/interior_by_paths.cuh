// The interior point method of interior_point.cuh in the space of velocities, by a whole warp: a lane has a contact and
// a joint row in registers. Their dλ = c − Ω (du + r) is solved like Newton's steps by paths,
//
//     (D + Wᵀ Ω W) dy = Wᵀ (λ + c − Ω r) − D y,    y = D⁻¹ Wᵀ λ.
//
// A step has one direction, towards a fixed share of ν, since a predictor would need a solve of its own. In single
// precision it stalls at about 1e-3, where Ω is too large for the remaining digits; Newton's steps continue from there.
#pragma once

#include "constraints/solve_by_paths.cuh"

constexpr int INTERIOR_BY_PATHS = 30;  // steps, at most
// σ; the fraction of the way to the boundary; the first impulse.
constexpr double CENTRING_BY_PATHS = 0.2, LONGEST_BY_PATHS = 0.99, WIDE = 10;
// The residual at which Newton's steps take over.
template <typename Real> constexpr Real INTERIOR_ENOUGH = sizeof(Real) == 8 ? 1e-7 : 1e-3;

// The scaled numbers of a contact or a joint row in registers, by the names of interior_point.cuh.
template <typename Real> struct Held {
    using Number = Real;
    mutable Real rows[scaled::OMEGA + 3][3] = {}, pairs[pair::DX + 8] = {};

    __device__ __forceinline__ Real& vec(int which, int k) const { return rows[which][k]; }
    __device__ __forceinline__ Real& pair(int which, int) const { return pairs[which]; }
};

// A lane's contact and joint row, those of its rank, if there are such.
template <typename Real, class Workspace> struct HeldRows {
    const System<Real, Workspace>& system;
    Held<Real> contact, joint;
    int k, j, i;  // the rows of the contact and of the joint, and the rank
    Real mu, size;  // scale of impulses

    __device__ __forceinline__ HeldRows(const System<Real, Workspace>& system, const Group& group)
        : system(system), k(3 * group.rank), j(3 * system.contacts + group.rank), i(group.rank), mu(0) {
        Real most = TINY<Real>;
        if (touches()) {
            mu = system.mu(i);
            const Real e = sqrt(1 / system.size(k));
            put_three(contact, scaled::D, 0, Vector<Real>{e, e, e});
            put_three(contact, scaled::IMPULSE, 0, Vector<Real>{WIDE, 0, 0});
            put_three(contact, scaled::W, 0, Vector<Real>{1, 0, 0});
#pragma unroll
            for (int c = 0; c < 3; ++c) most = fmax(most, fabs(e * system.b(k + c)));
        }
        if (acts()) {
            const Real e = sqrt(1 / system.own(j));
            joint.vec(scaled::D, 0) = e, most = fmax(most, fabs(e * system.b(j)));
        }
        size = group.max(most);
        if (acts()) first_pairs(joint, 0, 0, size, system.law(i, 0), system.law(i, 1), system.law(i, 2));
    }
    __device__ __forceinline__ bool touches() const { return i < system.contacts; }
    __device__ __forceinline__ bool acts() const { return i < system.joints; }
    // The scaling of impulses.
    __device__ __forceinline__ Real unit(const Held<Real>& held) const { return held.vec(scaled::D, 0) * size; }

    // λ as the current iterate.
    __device__ __forceinline__ void put_impulses() const {
        if (touches()) system.ws.store(Workspace::TRIED + k, unit(contact) * three(contact, scaled::IMPULSE, 0));
        if (acts()) system.impulse(j) = unit(joint) * joint.vec(scaled::IMPULSE, 0);
    }
    // The velocities in U, into `which`.
    __device__ __forceinline__ void take_velocities(int which) const {
        if (touches()) put_three(contact, which, 0, contact.vec(scaled::D, 0) / size * system.velocities(k));
        if (acts()) joint.vec(which, 0) = joint.vec(scaled::D, 0) / size * system.u(j);
    }
    // ν, the mean complementarity product.
    __device__ __forceinline__ Real gap(const Group& group) const {
        Real total = 0, count = touches();
        if (touches()) total = dot(three(contact, scaled::IMPULSE, 0), three(contact, scaled::W, 0));
        if (acts()) total += pair_products(joint, 0), count += pairs_of(joint, 0);
        total = group.sum(total);
        return total / fmax(group.sum(count), Real(1));
    }
    // Ω, and λ + c − Ω r in place of c.
    __device__ __forceinline__ void put_equations(Real smooth, Real aim) const {
        const Workspace& ws = system.ws;
        if (touches()) {
            put_three(contact, scaled::R, 0, three(contact, scaled::U, 0) - three(contact, scaled::W, 0));
            put_three(contact, scaled::CORRECTION, 0, Vector<Real>{});
            cone_equations(contact, 0, mu, smooth);
            cone_target(contact, 0, mu, aim);
            const Real e = contact.vec(scaled::D, 0);
            const auto column = [&](int c) { return e * e * three(contact, scaled::OMEGA + c, 0); };
            const Vector<Real> c =
                unit(contact) * (three(contact, scaled::IMPULSE, 0) + three(contact, scaled::STEP, 0));
            put_resistance(ws, i,
                           Resistance<Real>{transpose(Matrix<Real>{column(0), column(1), column(2)}), c, false});
        }
        if (acts()) {
            const Real e = joint.vec(scaled::D, 0), c = joint_target(joint, 0, 0, aim);
            joint.vec(scaled::STEP, 0) = c;
            ws(Workspace::DAMPING + i) = e * e * damping(joint, 0);
            ws(Workspace::TARGET + j) = unit(joint) * (joint.vec(scaled::IMPULSE, 0) + c);
        }
    }
    // The step, with du in U. Returns the step length to the boundary.
    __device__ __forceinline__ Real reach(Real smooth, Real aim, const Group& group) const {
        Real far = INFINITE;
        take_velocities(scaled::DU);
        if (touches()) far = cone_step(contact, 0, mu, smooth);
        if (acts()) far = fmin(far, joint_step(joint, 0, 0, aim));
        return -group.max(-far);
    }
    __device__ __forceinline__ void go(Real length) const {
        const auto step = [&](const Held<Real>& held, int x, int dx) {
            put_three(held, x, 0, three(held, x, 0) + length * three(held, dx, 0));
        };
        step(contact, scaled::IMPULSE, scaled::STEP), step(contact, scaled::W, scaled::DU);
        step(joint, scaled::IMPULSE, scaled::STEP);
#pragma unroll
        for (int n = 0; n < 8; ++n) joint.pair(pair::X + n, 0) += length * joint.pair(pair::DX + n, 0);
    }
};

// From a cold start, an iterate from which Newton's steps converge, with its HALF. A lane has at most one contact.
template <typename Real, class Workspace>
__device__ __noinline__ void interior_by_paths(Workspace ws, RowsOf rows, Group group) {
    ws.assume_memory();
    const auto system = rows.system<Real>(ws);
    const HeldRows<Real, Workspace> held(system, group);
    held.put_impulses();
    lane_half<Real>(ws, rows, group);
#pragma unroll 1
    for (int step = 0; step < INTERIOR_BY_PATHS; ++step) {
        const Real left = residual_by_paths<Real>(ws, rows, group);
        if (left <= INTERIOR_ENOUGH<Real> || !(left < Real(INFINITE))) break;
        const Real gap = held.gap(group), aim = Real(CENTRING_BY_PATHS) * gap;
        held.take_velocities(scaled::U);
        held.put_equations(gap, aim);
        group.sync();
        solve_by_paths<Real>(ws, rows, Real(1), group);
        const Real reach = held.reach(gap, aim, group);
        const Real length = fmin(Real(1), fmin(Real(LONGEST_BY_PATHS), fmax(Real(0.9), 1 - gap)) * reach);
        held.go(length);
        held.put_impulses();
        for (int v = group.rank; v < NV; v += LANES)
            ws(Workspace::HALF + v) += length * ws(Workspace::LOWER + ROW_START[v]);
        group.sync();
    }
    lane_half<Real>(ws, rows, group);
}
