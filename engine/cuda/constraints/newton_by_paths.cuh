// Newton steps on the contact law by a whole warp, and the interior point method where they do not converge.
//
// A contact or a joint that sticks has Ω du + dλ = s with a large Ω, the inverse of the damping in Newton's matrix (see
// contact_rounds.cuh). An open one has dλ = s; for a sliding one friction follows the normal impulse.
#pragma once

#include "constraints/interior_by_paths.cuh"

constexpr int STEPS_BY_PATHS = 16, DAMPED_BY_PATHS = 8;  // Newton's steps at a time; and damped ones

// Ω and s of all rows in their slots, by the active sets of the current iterate.
template <typename Real, class Workspace>
__device__ __forceinline__ void linearise_rows(const System<Real, Workspace>& system, Real eps, const Group& group) {
    const Workspace& ws = system.ws;
#pragma unroll 1
    for (int i = group.rank; i < system.contacts; i += LANES) {
        const int k = 3 * i;
        const Real r = 1 / system.size(k), mu = system.mu(i), stiffness = r / eps;
        const Vector<Real> x = system.impulses(k), u = system.velocities(k), z = x - r * u;
        LinearContact<Real> linear = {{{stiffness, 0, 0}, {0, stiffness, 0}, {0, 0, stiffness}}, -stiffness * u};
        if (z.x <= 0) linear = {{}, -x};
        else if (z.y * z.y + z.z * z.z > mu * mu * z.x * z.x) linear = sliding(x, u, mu, r, eps);
        put_linear_contact(ws, i, linear);
    }
#pragma unroll 1
    for (int j = group.rank; j < system.joints; j += LANES) {
        const int k = 3 * system.contacts + j;
        const auto [Omega, s] = linearise_joint(system.own(k), system.law(j, 0), system.law(j, 1), system.law(j, 2),
                                                system.impulse(k), system.u(k), eps);
        ws(Workspace::JOINT_OMEGA + j) = Omega, ws(Workspace::S + k) = s;
    }
    group.sync();
}

// A step from the current iterate, with damping ε; HALF is updated.
template <typename Real, class Workspace>
__device__ __noinline__ void step_by_paths(Workspace ws, RowsOf rows, Real eps, Group group) {
    ws.assume_memory();
    const auto system = rows.system<Real>(ws);
    linearise_rows(system, fmin(fmax(MIN_EPSILON<Real>, eps), Real(1)), group);
    solve_by_paths<Real>(ws, rows, Real(0), group);
#pragma unroll 1
    for (int i = group.rank; i < system.contacts; i += LANES) {
        const Vector<Real> x =
            ws.vector(Workspace::S + 3 * i) - mul(Omega_of<Real>(ws, i), system.velocities(3 * i));
        ws.store(Workspace::TRIED + 3 * i, system.impulses(3 * i) + x);
    }
#pragma unroll 1
    for (int j = group.rank; j < system.joints; j += LANES) {
        const int k = 3 * system.contacts + j;
        system.impulse(k) += ws(Workspace::S + k) - ws(Workspace::JOINT_OMEGA + j) * system.u(k);
    }
    lane_half<Real>(ws, rows, group);
}

// Newton steps, and the interior point method if they fail, from the current iterate, whose residual is `left`. Returns
// the residual of the best iterate, which becomes the current one.
template <typename Real, class Workspace>
__device__ __forceinline__ Real solve_by_warp(const Workspace& ws, const RowsOf& rows, Real left, const Group& group) {
    if (left <= RESIDUAL_TOLERANCE<Real>) return left;
    const auto system = rows.system<Real>(ws);
    const int n = rows.all();
    Real least = UNKNOWN;
    const auto judge = [&] {
        if (left < least) {
            least = left;
#pragma unroll 1
            for (int k = group.rank; k < n; k += LANES) ws.far(Workspace::BEST + k) = system.impulse(k);
        }
    };
    judge();
    const auto recall = [&] {
        group.sync();
#pragma unroll 1
        for (int k = group.rank; k < n; k += LANES)
            system.impulse(k) = least < Real(UNKNOWN) ? ws.far(Workspace::BEST + k) : Real(0);
        lane_half<Real>(ws, rows, group);
        left = residual_by_paths<Real>(ws, rows, group);
    };
    // A step from wrong active sets may increase the residual; the next ones continue from there.
    const auto newton = [&](bool damped) {
        const auto enough = [&](int step) {
            return least <= (step < 2 && !damped ? RESIDUAL_TOLERANCE<Real> : ACCEPTED_RESIDUAL<Real>);
        };
        Real eps = FIRST_EPSILON;
#pragma unroll 1
        for (int step = 0; step < (damped ? DAMPED_BY_PATHS : STEPS_BY_PATHS) && !enough(step) && left < Real(UNKNOWN);
             ++step) {
            step_by_paths<Real>(ws, rows, damped ? eps : Real(EPSILON_PER_RESIDUAL) * left, group);
            left = residual_by_paths<Real>(ws, rows, group);
            judge();
            eps *= EPSILON_FACTOR<Real>;
        }
    };
    const bool held = system.contacts <= WHOLE_WARP && system.joints <= WHOLE_WARP;
#pragma unroll 1
    for (int trial = 0; trial < (held ? 3 : 2) && !(least <= ACCEPTED_RESIDUAL<Real>); ++trial) {
        if (trial == 1) recall();
        if (trial == 2) {
            interior_by_paths<Real>(ws, rows, group);
            left = residual_by_paths<Real>(ws, rows, group), judge();
        }
        newton(trial == 1);
    }
    if (left != least) recall();
    return least;
}
