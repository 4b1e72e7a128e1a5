// A primal–dual interior point method on the exact contact law from a cold start, for systems where rounds do not
// converge, and the solver that tries both. Equations: docs/contact_solver_gpu.md.
//
// The scaled G is H Hᵀ with H = W D^(−1/2) and a factor for each row, so no factorisation is needed for it, and z has
// one number for each of the robot's velocities. H is nonzero along a row's path only.
#pragma once

#include "constraints/contact_rounds.cuh"
#include "constraints/interior_rows.cuh"
#include "constraints/row_paths.cuh"

// Scaled vectors, those of rows first; and the numbers of an `InteriorJoint`: whether it has friction and
// limits (3), lo, hi, x (8) and its step (8).
namespace scaled {
constexpr int D = 0, IMPULSE = 1, W = 2, R = 3, CORRECTION = 4, STEP = 5, U = 6, DU = 7, B = 8, OMEGA = 9, DZ = 12,
    Z = 13;
}
namespace pair {
constexpr int HAS = 0, LOW = 3, HIGH = 4, X = 5, STEP = 13;
}
constexpr int SOLVER_ROUNDS = 4, ROUNDS_FROM_NOTHING = 6;
constexpr double DAMPING_OF_ROUNDS = 1, STRONG_DAMPING = 10;
constexpr double STRONG_CENTRING = 0.1, STRONG_MAX_FRACTION = 0.9, STRONG_SMOOTHING = 1000;

// The method's data: a system, the paths of its rows, and the threads. HALF holds D^(−1/2).
template <typename Real, class Workspace, class Team> struct Interior {
    System<Real, Workspace> system;
    RowsOf rows;
    Team team;

    __device__ __forceinline__ Real& vec(int which, int k) const {
        return system.ws.far(Workspace::VECTORS + which * Workspace::LONGEST + k);
    }
    __device__ __forceinline__ Real& pair(int which, int j) const {
        return system.ws.far(Workspace::PAIRS + which * Workspace::LAWS + j);
    }
    __device__ __forceinline__ Real& K(int i, int j) const { return entry<Real>(system.ws, i, j); }
    // The entry of H at level l of row i, whose path is at velocity v there.
    __device__ __forceinline__ Real H(int i, int l, int v) const {
        return vec(scaled::D, i) * system.ws(Workspace::W + i * DEPTH + l) * system.ws(Workspace::HALF + v);
    }
    // f(k) for this lane's share of k from `first` up to `end`, between barriers.
    template <class F> __device__ __forceinline__ void share(int first, int end, const F& f) const {
        team.sync();
#pragma unroll 1
        for (int k = first + team.rank; k < end; k += team.size) f(k);
        team.sync();
    }
    // out ← Hᵀ x, with x of rows.
    __device__ __forceinline__ void to_velocities(int x, int out) const {
        share(0, NV, [&](int v) {
            const int level = ROW_LEVEL[v];
            Real total = 0;
            for (int i = 0; i < system.rows(); ++i) {
                if (COMMON[v * NV + rows.tip(system.ws, i)] == level) total += vec(x, i) * H(i, level - 1, v);
            }
            vec(out, v) = total;
        });
    }
    // out ← H z, with z of velocities.
    __device__ __forceinline__ void to_rows(int z, int out) const {
        share(0, system.rows(), [&](int i) {
            const int first = rows.tip(system.ws, i);
            Real total = 0;
            for (int v = first, l = ROW_LEVEL[first] - 1; v >= 0; v = ROW_PARENT[v], --l)
                total += H(i, l, v) * vec(z, v);
            vec(out, i) = total;
        });
    }
    // K ← factor · 1.
    __device__ __forceinline__ void begin_matrix(Real factor) const {
        share(0, NV * NV, [&](int e) { K(e / NV, e % NV) = e / NV == e % NV ? factor : Real(0); });
    }
    // f(w, level) for this lane's share of the columns of K on the path from `first`; a level always has the same lane.
    template <class F> __device__ __forceinline__ void columns(int first, const F& f) const {
#pragma unroll 1
        for (int w = first, e = ROW_LEVEL[first] - 1; w >= 0; w = ROW_PARENT[w], --e) {
            if (e % team.size == team.rank) f(w, e);
        }
    }
    // K += factor · hᵀ h for row i.
    __device__ __forceinline__ void add_row(int i, Real factor) const {
        const int first = rows.tip(system.ws, i), last = ROW_LEVEL[first] - 1;
        columns(first, [&](int w, int e) {
            const Real x = factor * H(i, e, w);
            for (int v = first, l = last; v >= 0; v = ROW_PARENT[v], --l) K(v, w) += x * H(i, l, v);
        });
    }
    // K += Hᵀ Ω H for the contact whose rows begin at k.
    __device__ __forceinline__ void add_contact(int k) const {
        const int first = rows.tip(system.ws, k), last = ROW_LEVEL[first] - 1;
        columns(first, [&](int w, int e) {
            const Vector<Real> x = Omega(k).times({H(k, e, w), H(k + 1, e, w), H(k + 2, e, w)});
            for (int v = first, l = last; v >= 0; v = ROW_PARENT[v], --l)
                K(v, w) += H(k, l, v) * x.x + H(k + 1, l, v) * x.y + H(k + 2, l, v) * x.z;
        });
    }
    // Numbers of the contact whose rows begin at k.
    __device__ __forceinline__ Vector<Real> three(int which, int k) const {
        return {vec(which, k), vec(which, k + 1), vec(which, k + 2)};
    }
    __device__ __forceinline__ void put_three(int which, int k, Vector<Real> x) const {
        vec(which, k) = x.x, vec(which, k + 1) = x.y, vec(which, k + 2) = x.z;
    }
    __device__ __forceinline__ ConeMatrix<Real> Omega(int k) const {
        return {three(scaled::OMEGA, k), three(scaled::OMEGA + 1, k), three(scaled::OMEGA + 2, k)};
    }
    __device__ __forceinline__ InteriorContact<Real> contact(int k) const {
        return {three(scaled::IMPULSE, k), three(scaled::W, k)};
    }
    // Joint row j, without its step.
    __device__ __forceinline__ InteriorJoint<Real> joint(int j) const {
        InteriorJoint<Real> row;
        row.impulse = vec(scaled::IMPULSE, 3 * system.contacts + j);
        row.has_friction = pair(pair::HAS, j), row.has_lower = pair(pair::HAS + 1, j);
        row.has_upper = pair(pair::HAS + 2, j), row.low = pair(pair::LOW, j), row.high = pair(pair::HIGH, j);
#pragma unroll
        for (int n = 0; n < row.NUMBERS; ++n) row.x[n] = pair(pair::X + n, j);
        return row;
    }
    __device__ __forceinline__ void put_joint(int j, const InteriorJoint<Real>& row) const {
        vec(scaled::IMPULSE, 3 * system.contacts + j) = row.impulse;
        pair(pair::HAS, j) = row.has_friction, pair(pair::HAS + 1, j) = row.has_lower;
        pair(pair::HAS + 2, j) = row.has_upper, pair(pair::LOW, j) = row.low, pair(pair::HIGH, j) = row.high;
#pragma unroll
        for (int n = 0; n < row.NUMBERS; ++n) pair(pair::X + n, j) = row.x[n];
    }
    // Ω of the contact whose rows begin at k, and De Saxcé's term in its r.
    __device__ __forceinline__ void cone_equations(int k, Real mu, Real smooth) const {
        const ConeMatrix<Real> Omega = contact(k).Omega(mu, smooth);
        vec(scaled::R, k) += contact(k).saxce(mu, smooth);
        put_three(scaled::OMEGA, k, Omega.n);
        put_three(scaled::OMEGA + 1, k, Omega.first), put_three(scaled::OMEGA + 2, k, Omega.second);
    }
    // s of that contact, the step of its impulse for du = 0.
    __device__ __forceinline__ void cone_s(int k, Real mu, Real target) const {
        const Vector<Real> s = contact(k).s(mu, target, three(scaled::CORRECTION, k));
        put_three(scaled::STEP, k, s - Omega(k).times(three(scaled::R, k)));
    }
    // The steps of its λ and w, and their second-order term. Returns the step length to the boundary.
    __device__ __forceinline__ Real cone_step(int k, Real mu, Real smooth) const {
        const Vector<Real> du = three(scaled::DU, k), step = three(scaled::STEP, k) - Omega(k).times(du);
        const Vector<Real> dw = contact(k).dw(mu, smooth, du + three(scaled::R, k));
        Vector<Real> correction;
        const Real longest = contact(k).length_to_boundary(mu, step, dw, correction);
        put_three(scaled::STEP, k, step), put_three(scaled::DU, k, dw), put_three(scaled::CORRECTION, k, correction);
        return longest;
    }
    // The steps of joint row j's impulse and pairs. Returns the step length to the boundary.
    __device__ __forceinline__ Real joint_step(int j, Real target) const {
        const int k = 3 * system.contacts + j;
        InteriorJoint<Real> row = joint(j);
        row.set_step(vec(scaled::DU, k) + vec(scaled::U, k), target);
        vec(scaled::STEP, k) -= row.damping() * vec(scaled::DU, k);
#pragma unroll
        for (int n = 0; n < row.NUMBERS; ++n) pair(pair::STEP + n, j) = row.step[n];
        return row.length_to_boundary();
    }
};

// The scaling of rows. Returns the scale of impulses and an estimate of the largest scaled impulse.
template <typename Real> struct Scales { Real size, largest; };
template <typename Real, class Workspace, class Team>
__device__ __noinline__ Scales<Real> scales(Interior<Real, Workspace, Team> in) {
    using namespace scaled;
    const auto& system = in.system;
    const Workspace& ws = system.ws;
    const int n = system.rows(), first = 3 * system.contacts;
    Real size = TINY<Real>, largest = 1;
    in.share(0, NV, [&](int v) { ws(Workspace::HALF + v) = sqrt(ws(Workspace::FACTOR + diagonal(v))); });
    in.share(0, n, [&](int k) { in.vec(D, k) = sqrt(1 / (k < first ? system.size(k - k % 3) : system.own(k))); });
    for (int k = 0; k < n; ++k) size = fmax(size, fabs(system.b(k) * in.vec(D, k)));
    in.begin_matrix(Real(COMPLIANCE));
#pragma unroll 1
    for (int k = 0; k < n; ++k) in.add_row(k, Real(1));
    in.share(0, n, [&](int k) { in.vec(B, k) = system.b(k) * in.vec(D, k) / size; });
    in.to_velocities(B, DZ);
    if (factorise<Real>(ws, NV, in.team)) {
        substitute<Real>(ws, NV, Workspace::VECTORS + DZ * Workspace::LONGEST, in.team);
        in.to_rows(DZ, STEP);
        for (int i = 0; i < system.contacts; ++i) {
            const Vector<Real> x = in.three(B, 3 * i) - in.three(STEP, 3 * i);
            largest = fmax(largest, fmax(fabs(x.x), sqrt(x.y * x.y + x.z * x.z) / system.mu(i)) / Real(COMPLIANCE));
        }
    }
    return {size, fmin(largest, Real(MAX_ESTIMATE))};
}

// The first iterate of joint row j, with d of its row; `size` is the scale of impulses.
template <typename Real, class Workspace>
__device__ __forceinline__ InteriorJoint<Real> first_joint(const System<Real, Workspace>& system, int j, Real d,
                                                           Real size) {
    const Real low = system.law(j, 1), high = system.law(j, 2);
    return {system.law(j, 0) / d / size, low * d / size, high * d / size, low > -Real(NO_LIMIT), high < Real(NO_LIMIT)};
}

// The first iterate.
template <typename Real, class Workspace, class Team>
__device__ __forceinline__ void first_iterate(const Interior<Real, Workspace, Team>& in, const Scales<Real>& scales) {
    using namespace scaled;
    const auto& system = in.system;
    const int first = 3 * system.contacts;
    in.share(0, system.contacts, [&](int i) {
        in.put_three(IMPULSE, 3 * i, {scales.largest, 0, 0});
        in.put_three(W, 3 * i, {1, 0, 0});
    });
    in.share(0, system.joints, [&](int j) {
        in.put_joint(j, first_joint(system, j, in.vec(D, first + j), scales.size));
    });
    in.to_velocities(IMPULSE, Z);
}

// ν: the mean complementarity product.
template <typename Real, class Workspace, class Team>
__device__ __forceinline__ Real mean_complementarity(const Interior<Real, Workspace, Team>& in) {
    const auto& system = in.system;
    Real total = 0, number = Real(system.contacts);
    for (int k = 0; k < 3 * system.contacts; ++k) total += in.vec(scaled::IMPULSE, k) * in.vec(scaled::W, k);
#pragma unroll 1
    for (int j = 0; j < system.joints; ++j) {
        const InteriorJoint<Real> joint = in.joint(j);
        total += joint.products(), number += joint.pairs();
    }
    return total / fmax(number, Real(1));
}

// Newton's matrix, factorised. Returns whether it was regular. |w_t| is smoothed to √(|w_t|² + smooth²) − smooth.
template <typename Real, class Workspace, class Team>
__device__ __noinline__ bool equations(Interior<Real, Workspace, Team> in, Real smooth) {
    using namespace scaled;
    const auto& system = in.system;
    const int n = system.rows(), first = 3 * system.contacts;
    in.to_rows(Z, U);
    in.share(0, n, [&](int k) {
        in.vec(U, k) += in.vec(B, k), in.vec(CORRECTION, k) = 0;
        in.vec(R, k) = k < first ? in.vec(U, k) - in.vec(W, k) : Real(0);
    });
    in.begin_matrix(Real(1));
    in.share(0, system.contacts, [&](int i) { in.cone_equations(3 * i, system.mu(i), smooth); });
#pragma unroll 1
    for (int i = 0; i < system.contacts; ++i) in.add_contact(3 * i);
#pragma unroll 1
    for (int k = first; k < n; ++k) in.add_row(k, in.joint(k - first).damping());
    in.team.sync();
    return factorise<Real>(system.ws, NV, in.team);
}

// The step towards complementarity products of `target`. Returns the step length to the boundary.
template <typename Real, class Workspace, class Team>
__device__ __noinline__ Real direction(Interior<Real, Workspace, Team> in, Real smooth, Real target) {
    using namespace scaled;
    const auto& system = in.system;
    const int n = system.rows(), first = 3 * system.contacts;
    in.share(0, system.contacts, [&](int i) { in.cone_s(3 * i, system.mu(i), target); });
    in.share(0, system.joints, [&](int j) { in.vec(STEP, first + j) = in.joint(j).s(in.vec(U, first + j), target); });
    in.share(0, n, [&](int k) { in.vec(DU, k) = in.vec(STEP, k) + in.vec(IMPULSE, k); });
    in.to_velocities(DU, DZ);
    in.share(0, NV, [&](int v) { in.vec(DZ, v) -= in.vec(Z, v); });
    substitute<Real>(system.ws, NV, Workspace::VECTORS + DZ * Workspace::LONGEST, in.team);
    in.to_rows(DZ, DU);
    Real longest = INFINITE;
    in.share(0, system.contacts, [&](int i) { longest = fmin(longest, in.cone_step(3 * i, system.mu(i), smooth)); });
    in.share(0, system.joints, [&](int j) { longest = fmin(longest, in.joint_step(j, target)); });
    return -in.team.max(-longest);
}

// The best iterate from a cold start, as the current one. `min_centring` bounds σ from below, `max_fraction` is the
// fraction to the boundary. `smoothing` times ν smooths |w_t|, whose gradient jumps where a contact comes to rest.
template <typename Real, class Workspace, class Team>
__device__ __noinline__ void interior_point(System<Real, Workspace> system, RowsOf rows, Real min_centring,
                                            Real max_fraction, Real smoothing, Team team) {
    const Interior<Real, Workspace, Team> in = {system, rows, team};
    const int n = system.rows(), first = 3 * system.contacts;
    const Scales<Real> found = scales(in);
    first_iterate(in, found);
    Real least = INFINITE, length = 1;
#pragma unroll 1
    for (int step = 0;; ++step) {
        in.share(0, n, [&](int k) {
            system.impulse(k) = in.vec(scaled::IMPULSE, k) * in.vec(scaled::D, k) * found.size;
        });
        velocities(system, team);
        const Real left = residual(system, team);
        if (left < least) {
            least = left;
            in.share(0, n, [&](int k) { system.ws.far(Workspace::STEP + k) = system.impulse(k); });
        }
        if (least <= RESIDUAL_TOLERANCE<Real> || step == INTERIOR_STEPS<Real> || !(left < Real(INFINITE))) break;
        const Real nu = mean_complementarity(in), smooth = smoothing * nu;
        if (!equations(in, smooth)) break;
        // The predictor's remainder sets the centring.
        const Real rest = 1 - fmin(direction(in, smooth, Real(0)), Real(1));
        Real centring = fmax(min_centring, rest * rest * rest);
        centring = fmin(fmax(centring, length < Real(SHORT) ? Real(0.5) : Real(0)), Real(1));
        if (rest > Real(0.9) || length < Real(SHORT))  // blocked: no second-order term
            in.share(0, first, [&](int k) { in.vec(scaled::CORRECTION, k) = 0; });
        const Real longest = direction(in, smooth, centring * nu);
        length = fmin(Real(1), fmin(max_fraction, fmax(Real(0.9), 1 - nu)) * longest);
        in.share(0, n, [&](int k) {
            in.vec(scaled::IMPULSE, k) += length * in.vec(scaled::STEP, k);
            if (k < first) in.vec(scaled::W, k) += length * in.vec(scaled::DU, k);
        });
        in.share(0, NV, [&](int v) { in.vec(scaled::Z, v) += length * in.vec(scaled::DZ, v); });
        in.share(0, 8 * system.joints, [&](int e) {
            in.pair(pair::X + e % 8, e / 8) += length * in.pair(pair::STEP + e % 8, e / 8);
        });
    }
    in.share(0, n, [&](int k) { system.impulse(k) = system.ws.far(Workspace::STEP + k); });
}

// Impulses that obey the law, in place of a warm start, which may be `swept`, and u = G λ + b. Returns the residual.
template <typename Real, class Workspace, class Team>
__device__ __noinline__ Real solve_contacts(System<Real, Workspace> system, RowsOf rows, bool swept, Team team) {
    const int n = system.rows();
    const Workspace& ws = system.ws;
    const auto choose = [&] {
        for (int k = team.rank; k < n; k += team.size) ws.far(Workspace::CHOSEN + k) = ws.far(Workspace::BEST + k);
    };
    Real least = rounds(system, SOLVER_ROUNDS, Real(DAMPING_OF_ROUNDS), swept, team);
    choose();
#pragma unroll 1
    for (int attempt = 0; attempt < 3 && !(least <= ACCEPTED_RESIDUAL<Real>); ++attempt) {
        if (attempt > 0) {
            const bool second = attempt == 2;
            interior_point(system, rows, Real(second ? STRONG_CENTRING : MIN_CENTRING),
                           Real(second ? STRONG_MAX_FRACTION : MAX_FRACTION), Real(second ? STRONG_SMOOTHING : 1),
                           team);
        } else {
            for (int k = team.rank; k < n; k += team.size) system.impulse(k) = 0;
        }
        const Real left = rounds(system, attempt == 0 ? ROUNDS_FROM_NOTHING : SOLVER_ROUNDS,
                                 Real(attempt == 0 ? STRONG_DAMPING : DAMPING_OF_ROUNDS), false, team);
        if (left < least) least = left, choose();
    }
    for (int k = team.rank; k < n; k += team.size) system.impulse(k) = ws.far(Workspace::CHOSEN + k);
    velocities(system, team);
    return least;
}
