// The contact solver's rounds: exact Gauss–Seidel sweeps, then semismooth Newton steps.
// Equations: docs/contact_solver_gpu.md.
//
// Only robots whose warm start violates the law run it, so it is not inlined into the step.
#pragma once

#include "constraints/contact_law.cuh"

// Per round: sweeps (one in the first) and Newton steps, while each reduces the residual.
constexpr int SWEEPS = 3, NEWTON_STEPS = 3;
// The least ε, machine epsilon^0.6: it keeps Newton's dense matrix regular for redundant contacts.
template <typename Real> constexpr Real MIN_EPSILON_OF_ROUNDS = sizeof(Real) == 8 ? 4.2e-10 : 7.0e-5;

// The matrix of the linear system, (LONGEST, LONGEST).
template <typename Real, class Workspace> __device__ __forceinline__ Real& entry(const Workspace& ws, int i, int j) {
    return ws.far(Workspace::A + i * Workspace::LONGEST + j);
}

// Factorise the leading n × n block of A into L and U in place, with row pivoting. Returns whether every pivot is
// nonzero.
template <typename Real, class Workspace, class Team>
__device__ __noinline__ bool factorise(Workspace ws, int n, Team team) {
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        Real best = fabs(entry<Real>(ws, k, k));
        int row = k;
#pragma unroll 4
        for (int i = k + 1; i < n; ++i) {
            const Real size = fabs(entry<Real>(ws, i, k));
            if (size > best) best = size, row = i;
        }
        team.sync();
        if (team.rank == 0) ws.far(Workspace::PIVOT + k) = Real(row);
        if (!(best > 0)) return false;
        if (row != k) {
            for (int j = team.rank; j < n; j += team.size) {
                const Real upper = entry<Real>(ws, k, j), lower = entry<Real>(ws, row, j);
                entry<Real>(ws, k, j) = lower, entry<Real>(ws, row, j) = upper;
            }
            team.sync();
        }
        const Real inverse = 1 / entry<Real>(ws, k, k);
#pragma unroll 1
        for (int j = k + 1 + team.rank; j < n; j += team.size) {
            const Real right = entry<Real>(ws, k, j);
#pragma unroll 4
            for (int i = k + 1; i < n; ++i) entry<Real>(ws, i, j) -= entry<Real>(ws, i, k) * inverse * right;
        }
        team.sync();
        for (int i = k + 1 + team.rank; i < n; i += team.size) entry<Real>(ws, i, k) *= inverse;
        team.sync();
    }
    return true;
}

// Solve by the factors of `factorise`: the vector from far slot `b` on becomes the solution.
template <typename Real, class Workspace, class Team>
__device__ __noinline__ void substitute(Workspace ws, int n, int b, Team team) {
    if (team.rank == 0) {
#pragma unroll 1
        for (int k = 0; k < n; ++k) {
            const int row = int(ws.far(Workspace::PIVOT + k));
            const Real upper = ws.far(b + k), lower = ws.far(b + row);
            ws.far(b + k) = lower, ws.far(b + row) = upper;
        }
    }
    team.sync();
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        const Real x = ws.far(b + k);
        for (int i = k + 1 + team.rank; i < n; i += team.size) ws.far(b + i) -= entry<Real>(ws, i, k) * x;
        team.sync();
    }
#pragma unroll 1
    for (int k = n - 1; k >= 0; --k) {
        const Real x = ws.far(b + k) / entry<Real>(ws, k, k);
        team.sync();
        if (team.rank == 0) ws.far(b + k) = x;
        for (int i = team.rank; i < k; i += team.size) ws.far(b + i) -= entry<Real>(ws, i, k) * x;
        team.sync();
    }
}

// u after impulse k grows by d.
template <typename Real, class Workspace, class Team>
__device__ __forceinline__ void move(const System<Real, Workspace>& system, int k, Real d, const Team& team) {
    for (int j = team.rank; j < system.rows(); j += team.size) system.u(j) += system.G(k, j) * d;
}

// u = G λ + b.
template <typename Real, class Workspace, class Team>
__device__ __noinline__ void velocities(System<Real, Workspace> system, Team team) {
    const int n = system.rows();
    team.sync();
#pragma unroll 1
    for (int k = team.rank; k < n; k += team.size) {
        Real total = system.b(k);
#pragma unroll 4
        for (int j = 0; j < n; ++j) total += system.G(k, j) * system.impulse(j);
        system.u(k) = total;
    }
    team.sync();
}

// The exact change of joint row k's impulse at velocity u, with all other impulses fixed.
template <typename Real, class Workspace>
__device__ __forceinline__ Real joint_change(const System<Real, Workspace>& system, int k, Real u) {
    const int j = k - 3 * system.contacts;
    const Real g = system.own(k);
    return (joint_law(u - g * system.impulse(k), g * system.law(j, 0), system.law(j, 1), system.law(j, 2)) - u) / g;
}

// One Gauss–Seidel sweep, which keeps u = G λ + b.
template <typename Real, class Workspace, class Team>
__device__ __noinline__ void sweep(System<Real, Workspace> system, Team team) {
    const int n = system.rows(), first = 3 * system.contacts;
#pragma unroll 1
    for (int i = 0; i < system.contacts; ++i) {
        const int k = 3 * i;
        const Symmetric<Real> D = {system.G(k, k), system.G(k + 1, k), system.G(k + 2, k),
                                   system.G(k + 1, k + 1), system.G(k + 2, k + 1), system.G(k + 2, k + 2)};
        const Vector<Real> x = {system.impulse(k), system.impulse(k + 1), system.impulse(k + 2)};
        const Vector<Real> u = {system.u(k), system.u(k + 1), system.u(k + 2)};
        const Vector<Real> z = one_contact(D, u - mul(D, x), system.mu(i)), d = z - x;
        team.sync();
        if (d.x != 0) move(system, k, d.x, team);
        if (d.y != 0) move(system, k + 1, d.y, team);
        if (d.z != 0) move(system, k + 2, d.z, team);
        if (team.rank == 0) system.impulse(k) = z.x, system.impulse(k + 1) = z.y, system.impulse(k + 2) = z.z;
        team.sync();
    }
#pragma unroll 1
    for (int k = first; k < n; ++k) {
        const Real d = joint_change(system, k, system.u(k));
        team.sync();
        if (team.rank == 0) system.impulse(k) += d;
        if (d != 0) move(system, k, d, team);
        team.sync();
    }
}

// Row `place` of A: a weighted sum of three rows of G, from k on.
template <typename Real, class Workspace, class Team>
__device__ __forceinline__ void combine(const System<Real, Workspace>& system, int place, int k, Real a, Real b, Real c,
                                        const Team& team) {
    for (int j = team.rank; j < system.rows(); j += team.size)
        entry<Real>(system.ws, place, j) = a * system.G(k, j) + b * system.G(k + 1, j) + c * system.G(k + 2, j);
}

// Row k of A: that of G or zero, plus `own` on the diagonal.
template <typename Real, class Workspace, class Team>
__device__ __forceinline__ void plain_row(const System<Real, Workspace>& system, int k, bool of_G, Real own,
                                          const Team& team) {
    for (int j = team.rank; j < system.rows(); j += team.size)
        entry<Real>(system.ws, k, j) = (of_G ? system.G(k, j) : Real(0)) + (j == k ? own : Real(0));
}

// Newton's equations of the contact whose rows begin at k: open, sticking or sliding by z = λ − r u.
template <typename Real, class Workspace, class Team>
__device__ __forceinline__ void contact_equations(const System<Real, Workspace>& system, int k, Real mu, Real eps,
                                                  const Team& team) {
    const Workspace& ws = system.ws;
    const auto set_rhs = [&](Real x, Real y, Real z) {
        if (team.rank == 0)
            ws.far(Workspace::STEP + k) = x, ws.far(Workspace::STEP + k + 1) = y, ws.far(Workspace::STEP + k + 2) = z;
    };
    const auto A = [&](int i, int j) -> Real& { return entry<Real>(ws, k + i, k + j); };
    const Real size = system.size(k), r = 1 / size;
    const Vector<Real> x = {system.impulse(k), system.impulse(k + 1), system.impulse(k + 2)};
    const Vector<Real> u = {system.u(k), system.u(k + 1), system.u(k + 2)}, z = x - r * u;
    const Real t = sqrt(z.y * z.y + z.z * z.z);
    if (z.x <= 0) {
#pragma unroll 1
        for (int c = 0; c < 3; ++c) plain_row(system, k + c, false, Real(1), team);
        set_rhs(-x.x, -x.y, -x.z);
    } else if (t <= mu * z.x) {
#pragma unroll 1
        for (int c = 0; c < 3; ++c) plain_row(system, k + c, true, eps * size, team);
        set_rhs(-u.x, -u.y, -u.z);
    } else {
        const Real e = z.y / t, f = z.z / t, disk = mu * z.x, curve = disk / t;
        const Real d11 = 1 - curve * f * f, d12 = curve * e * f, d22 = 1 - curve * e * e;
        combine(system, k, k, r, Real(0), Real(0), team);
        combine(system, k + 1, k, r * mu * e, r * (1 - d11), -r * d12, team);
        combine(system, k + 2, k, r * mu * f, -r * d12, r * (1 - d22), team);
        set_rhs(-r * u.x, disk * e - x.y, disk * f - x.z);
        team.sync();
        if (team.rank > 0) return;
        A(0, 0) += eps;
        A(1, 0) += -mu * e + eps * mu * e;
        A(1, 1) += d11 + eps * (1 - d11);
        A(1, 2) += d12 - eps * d12;
        A(2, 0) += -mu * f + eps * mu * f;
        A(2, 1) += d12 - eps * d12;
        A(2, 2) += d22 + eps * (1 - d22);
    }
}

// A semismooth Newton step, with u = G λ + b. Returns whether the matrix was regular. `eps` times 1/r is added to
// G's diagonal in the matrix only.
template <typename Real, class Workspace, class Team>
__device__ __noinline__ bool newton_step(System<Real, Workspace> system, Real eps, Team team) {
    const int n = system.rows(), first = 3 * system.contacts;
    const Workspace& ws = system.ws;
#pragma unroll 1
    for (int i = 0; i < system.contacts; ++i) contact_equations(system, 3 * i, system.mu(i), eps, team);
#pragma unroll 1
    for (int k = first; k < n; ++k) {  // a sliding joint, or one with a prescribed velocity
        const int j = k - first;
        const Real g = system.own(k), u = system.u(k), impulse = system.impulse(k), y = u - g * impulse;
        const Real f = system.law(j, 0), low = system.law(j, 1), high = system.law(j, 2),
            p = joint_law(y, g * f, low, high);
        const bool slides = fabs(y) > g * f && low < p && p < high;
        plain_row(system, k, !slides, slides ? Real(1) : eps * g, team);
        if (team.rank == 0) ws.far(Workspace::STEP + k) = slides ? (y > 0 ? -f : f) - impulse : p - u;
    }
    team.sync();
    if (!factorise<Real>(ws, n, team)) return false;
    substitute<Real>(ws, n, Workspace::STEP, team);
    for (int k = team.rank; k < n; k += team.size) system.impulse(k) += ws.far(Workspace::STEP + k);
    velocities(system, team);
    return true;
}

// The residual of the current iterate, which is copied to BEST if it is below `least`.
template <typename Real, class Workspace, class Team>
__device__ __noinline__ Real judged(System<Real, Workspace> system, Real least, Team team) {
    const Real left = residual(system, team);
    if (left < least) {
        for (int k = team.rank; k < system.rows(); k += team.size)
            system.ws.far(Workspace::BEST + k) = system.impulse(k);
    }
    return left;
}

// At most `many` rounds from the current impulses. Returns the best residual. `damping` times the residual, times 1/r,
// is added to G's diagonal in Newton's matrix, which keeps impulses that are not unique near the last ones. `swept`:
// the first round's sweep is done.
template <typename Real, class Workspace, class Team>
__device__ __noinline__ Real rounds(System<Real, Workspace> system, int many, Real damping, bool swept, Team team) {
    velocities(system, team);
    Real left = judged(system, Real(UNKNOWN), team), least = fmin(left, Real(UNKNOWN));
    const auto enough = [&](int turn) { return turn < 2 ? RESIDUAL_TOLERANCE<Real> : ACCEPTED_RESIDUAL<Real>; };
#pragma unroll 1
    for (int turn = 0; turn < many && !(least <= enough(turn)); ++turn) {
        for (int k = turn == 0 && swept; k < (turn == 0 ? 1 : SWEEPS); ++k) sweep(system, team);
        left = judged(system, least, team), least = fmin(left, least);
        Real before = UNKNOWN;
#pragma unroll 1
        for (int k = 0; k < NEWTON_STEPS && !(least <= RESIDUAL_TOLERANCE<Real> || left >= before); ++k) {
            before = left;
            if (!newton_step(system, fmax(MIN_EPSILON_OF_ROUNDS<Real>, damping * left), team)) return least;
            left = judged(system, least, team), least = fmin(left, least);
        }
    }
    return least;
}
