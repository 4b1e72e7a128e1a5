// Newton steps on the contact law by a whole warp, and the interior point method where they do not converge.
//
// A contact or a joint that sticks has Ω du + dλ = c with a large Ω, the inverse of the damping in Newton's matrix (see
// contact_rounds.cuh). An open one has dλ = c; for a sliding one friction follows the normal impulse.
#pragma once

#include "constraints/interior_by_paths.cuh"

constexpr int STEPS_BY_PATHS = 16, DAMPED_BY_PATHS = 8;  // Newton's steps at a time; and damped ones
// The damping of G's diagonal, times 1/r, at least; and per unit of the residual. A smaller one is lost in rounding.
template <typename Real> constexpr Real REGULAR_BY_PATHS = sizeof(Real) == 8 ? 1e-6 : 1e-3;
constexpr double DAMPING_BY_PATHS = 0.1;
// The damping of the second attempt, from the best iterate on, where steps may cycle: the first; and the factor from
// step to step.
constexpr double MUCH_DAMPED_BY_PATHS = 0.3;
template <typename Real> constexpr Real LESS_DAMPED_BY_PATHS = sizeof(Real) == 8 ? 0.1 : 0.3;
// The residual after a sweep above which double precision leaves the step to the general solver: where much slips at
// once the law has several solutions, and the CPU's is wanted.
constexpr double FAR_OFF = 1e-2;

// Ω and c of a sliding contact with impulses x, velocities u and z = x − r u; friction follows the normal impulse.
template <typename Real>
__device__ __forceinline__ Resistance<Real> sliding(Vector<Real> x, Vector<Real> u, Vector<Real> z, Real mu, Real r,
                                                    Real regular) {
    const Real stiff = r / regular, t = sqrt(z.y * z.y + z.z * z.z), e = z.y / t, f = z.z / t, disk = mu * z.x,
        curve = disk / t;
    const Real across = 1 / (1 - (1 - regular) * curve), turning = r * curve * across, press = -stiff * u.x;
    const Real along = disk - (e * x.y + f * x.z) + mu * press, aside = (f * x.y - e * x.z) * across,
        follows = mu * (stiff + r);
    return {{{stiff, 0, 0},
             {follows * e, turning * f * f, -turning * e * f},
             {follows * f, -turning * e * f, turning * e * e}},
            {press, along * e - aside * f, along * f + aside * e}};
}

// Ω and c of all rows in their slots, by the active sets of the current iterate.
template <typename Real, class Workspace>
__device__ __forceinline__ void resistances(const System<Real, Workspace>& system, Real regular, const Group& group) {
    const Workspace& ws = system.ws;
#pragma unroll 1
    for (int i = group.rank; i < system.contacts; i += LANES) {
        const int k = 3 * i;
        const Real r = 1 / system.size(k), mu = system.mu(i), stiff = r / regular;
        const Vector<Real> x = system.impulses(k), u = system.velocities(k), z = x - r * u;
        Resistance<Real> is = {{{stiff, 0, 0}, {0, stiff, 0}, {0, 0, stiff}}, -stiff * u, true};
        if (z.x <= 0) is = {{}, -x, true};
        else if (z.y * z.y + z.z * z.z > mu * mu * z.x * z.x) is = sliding(x, u, z, mu, r, regular);
        put_resistance(ws, i, is);
    }
#pragma unroll 1
    for (int j = group.rank; j < system.joints; j += LANES) {
        const int k = 3 * system.contacts + j;
        const Real g = system.own(k), u = system.u(k), impulse = system.impulse(k), y = u - g * impulse;
        const Real f = system.law(j, 0), low = system.law(j, 1), high = system.law(j, 2),
            p = joint_law(y, g * f, low, high);
        const bool slides = fabs(y) > g * f && low < p && p < high;
        const Real stiff = slides ? Real(0) : 1 / (regular * g);
        ws(Workspace::DAMPING + j) = stiff;
        ws(Workspace::TARGET + k) = slides ? (y > 0 ? -f : f) - impulse : stiff * (p - u);
    }
    group.sync();
}

// A step from the current iterate, with damping `regular` times 1/r; HALF is updated.
template <typename Real, class Workspace>
__device__ __noinline__ void step_by_paths(Workspace ws, RowsOf rows, Real regular, Group group) {
    ws.assume_memory();
    const auto system = rows.system<Real>(ws);
    resistances(system, fmin(fmax(REGULAR_BY_PATHS<Real>, regular), Real(1)), group);
    solve_by_paths<Real>(ws, rows, Real(0), group);
#pragma unroll 1
    for (int i = group.rank; i < system.contacts; i += LANES) {
        const Vector<Real> x =
            ws.vector(Workspace::TARGET + 3 * i) - mul(resistance<Real>(ws, i), system.velocities(3 * i));
        ws.store(Workspace::TRIED + 3 * i, system.impulses(3 * i) + x);
    }
#pragma unroll 1
    for (int j = group.rank; j < system.joints; j += LANES) {
        const int k = 3 * system.contacts + j;
        system.impulse(k) += ws(Workspace::TARGET + k) - ws(Workspace::DAMPING + j) * system.u(k);
    }
    lane_half<Real>(ws, rows, group);
}

// Newton steps, and the interior point method if they fail, from the current iterate, whose residual is `left`. Returns
// the residual of the best iterate, which becomes the current one.
template <typename Real, class Workspace>
__device__ __forceinline__ Real solve_by_warp(const Workspace& ws, const RowsOf& rows, Real left, const Group& group) {
    if (left <= CONTACT_TOLERANCE<Real>) return left;
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
            return least <= (step < 2 && !damped ? CONTACT_TOLERANCE<Real> : ACCEPTED_RESIDUAL<Real>);
        };
        Real regular = MUCH_DAMPED_BY_PATHS;
#pragma unroll 1
        for (int step = 0; step < (damped ? DAMPED_BY_PATHS : STEPS_BY_PATHS) && !enough(step) && left < Real(UNKNOWN);
             ++step) {
            step_by_paths<Real>(ws, rows, damped ? regular : Real(DAMPING_BY_PATHS) * left, group);
            left = residual_by_paths<Real>(ws, rows, group);
            judge();
            regular *= LESS_DAMPED_BY_PATHS<Real>;
        }
    };
    const bool held = system.contacts <= WHOLE_WARP && system.joints <= WHOLE_WARP;
#pragma unroll 1
    for (int trial = 0; trial < (held ? 3 : 2) && !(least <= ACCEPTED_RESIDUAL<Real>); ++trial) {
        if (trial == 1) recall();
        if (trial == 2) interior_by_paths<Real>(ws, rows, group);
        else if (trial == 0 && sizeof(Real) == 8) sweep_by_paths<Real>(ws, rows, group, true);
        if (trial == 2 || (trial == 0 && sizeof(Real) == 8)) left = residual_by_paths<Real>(ws, rows, group), judge();
        if (sizeof(Real) == 8 && trial == 0 && left > Real(FAR_OFF)) break;
        newton(trial == 1);
    }
    if (left != least) recall();
    return least;
}
