// A primal–dual interior point method on the exact contact law from a cold start, for systems where rounds do not
// converge, and the solver that tries both. Equations: docs/contact_solver_gpu.md.
//
// The scaled G is H Hᵀ with H = W D^(−1/2) and a factor for each row, so no factorisation is needed for it, and z has
// one number for each of the robot's velocities. H is nonzero along a row's path only.
#pragma once

#include "constraints/contact_rounds.cuh"
#include "constraints/interior_rows.cuh"
#include "constraints/row_paths.cuh"

// Scaled vectors, those of rows first; and the numbers of a joint row's complementarity pairs: which exist (3), f lo hi
// (3), pairs (8), steps (8).
namespace scaled {
constexpr int D = 0, IMPULSE = 1, W = 2, R = 3, CORRECTION = 4, STEP = 5, U = 6, DU = 7, B = 8, OMEGA = 9, DZ = 12,
    Z = 13;
}
namespace pair {
constexpr int ON = 0, LAW = 3, X = 6, DX = 14;
}
constexpr int SOLVER_ROUNDS = 4, ROUNDS_FROM_NOTHING = 6;
constexpr double DAMPING_OF_ROUNDS = 1, STRONG_DAMPING = 10;
constexpr double CENTRING = 1e-4, STRONG_CENTRING = 0.1, LONG_STEP = 0.99, SHORT_STEP = 0.9, SMOOTHING = 1000;

// The method's data: a system, the paths of its rows, and the threads. HALF holds D^(−1/2).
template <typename Real, class Workspace, class Team> struct Interior {
    using Number = Real;

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
            const Vector<Real> x = resisted(*this, k, Vector<Real>{H(k, e, w), H(k + 1, e, w), H(k + 2, e, w)});
            for (int v = first, l = last; v >= 0; v = ROW_PARENT[v], --l)
                K(v, w) += H(k, l, v) * x.x + H(k + 1, l, v) * x.y + H(k + 2, l, v) * x.z;
        });
    }
};

// Numbers of the contact whose rows begin at k; and Ω x of it.
template <class In> __device__ __forceinline__ auto three(const In& in, int which, int k) {
    return Vector<typename In::Number>{in.vec(which, k), in.vec(which, k + 1), in.vec(which, k + 2)};
}
template <class In, typename Real>
__device__ __forceinline__ void put_three(const In& in, int which, int k, Vector<Real> x) {
    in.vec(which, k) = x.x, in.vec(which, k + 1) = x.y, in.vec(which, k + 2) = x.z;
}
template <class In, typename Real>
__device__ __forceinline__ Vector<Real> resisted(const In& in, int k, Vector<Real> x) {
    return x.x * three(in, scaled::OMEGA, k) +
        (x.y * three(in, scaled::OMEGA + 1, k) + x.z * three(in, scaled::OMEGA + 2, k));
}

// The scaling of rows. Returns the scale of impulses and an estimate of the largest scaled impulse.
template <typename Real> struct Scales { Real size, wide; };
template <typename Real, class Workspace, class Team>
__device__ __noinline__ Scales<Real> scales(Interior<Real, Workspace, Team> in) {
    using namespace scaled;
    const auto& system = in.system;
    const Workspace& ws = system.ws;
    const int n = system.rows(), first = 3 * system.contacts;
    Real size = TINY<Real>, wide = 1;
    in.share(0, NV, [&](int v) { ws(Workspace::HALF + v) = sqrt(ws(Workspace::FACTOR + diagonal(v))); });
    in.share(0, n, [&](int k) { in.vec(D, k) = sqrt(1 / (k < first ? system.size(k - k % 3) : system.own(k))); });
    for (int k = 0; k < n; ++k) size = fmax(size, fabs(system.b(k) * in.vec(D, k)));
    in.begin_matrix(Real(FIRST_GUESS));
#pragma unroll 1
    for (int k = 0; k < n; ++k) in.add_row(k, Real(1));
    in.share(0, n, [&](int k) { in.vec(B, k) = system.b(k) * in.vec(D, k) / size; });
    in.to_velocities(B, DZ);
    if (factorise<Real>(ws, NV, in.team)) {
        substitute<Real>(ws, NV, Workspace::VECTORS + DZ * Workspace::LONGEST, in.team);
        in.to_rows(DZ, STEP);
        for (int i = 0; i < system.contacts; ++i) {
            const Vector<Real> x = three(in, B, 3 * i) - three(in, STEP, 3 * i);
            wide = fmax(wide, fmax(fabs(x.x), sqrt(x.y * x.y + x.z * x.z) / system.mu(i)) / Real(FIRST_GUESS));
        }
    }
    return {size, fmin(wide, Real(WIDEST))};
}

// The first iterate of joint row j, which is row k, from its law; `size` is the scale of impulses.
template <class In, typename Real>
__device__ __forceinline__ void first_pairs(const In& in, int j, int k, Real size, Real f, Real low, Real high) {
    const Real e = in.vec(scaled::D, k);
    const bool has_friction = f > 0, below = low > -Real(NO_LIMIT), above = high < Real(NO_LIMIT);
    in.pair(pair::ON, j) = has_friction, in.pair(pair::LAW, j) = f / e / size;
    in.pair(pair::ON + 1, j) = below, in.pair(pair::LAW + 1, j) = below ? low * e / size : Real(0);
    in.pair(pair::ON + 2, j) = above, in.pair(pair::LAW + 2, j) = above ? high * e / size : Real(0);
    const Real friction = has_friction ? in.pair(pair::LAW, j) : Real(1);
    in.pair(pair::X, j) = friction, in.pair(pair::X + 1, j) = has_friction;
    in.pair(pair::X + 2, j) = friction, in.pair(pair::X + 3, j) = has_friction;
    in.pair(pair::X + 4, j) = below, in.pair(pair::X + 5, j) = 1;
    in.pair(pair::X + 6, j) = above, in.pair(pair::X + 7, j) = 1;
    in.vec(scaled::IMPULSE, k) = Real(below) - Real(above);
}

// The first iterate.
template <typename Real, class Workspace, class Team>
__device__ __forceinline__ void first_iterate(const Interior<Real, Workspace, Team>& in, const Scales<Real>& scales) {
    using namespace scaled;
    const auto& system = in.system;
    const int first = 3 * system.contacts;
    in.share(0, system.contacts, [&](int i) {
        put_three(in, IMPULSE, 3 * i, Vector<Real>{scales.wide, 0, 0});
        put_three(in, W, 3 * i, Vector<Real>{1, 0, 0});
    });
    in.share(0, system.joints, [&](int j) {
        first_pairs(in, j, first + j, scales.size, system.law(j, 0), system.law(j, 1), system.law(j, 2));
    });
    in.to_velocities(IMPULSE, Z);
}

// The sum of the complementarity products of joint row j; and their number.
template <class In> __device__ __forceinline__ auto pair_products(const In& in, int j) {
    auto total = in.pair(pair::X, j) * in.pair(pair::X + 1, j);
#pragma unroll
    for (int which = 1; which < 4; ++which)
        total += in.pair(pair::X + 2 * which, j) * in.pair(pair::X + 2 * which + 1, j);
    return total;
}
template <class In> __device__ __forceinline__ auto pairs_of(const In& in, int j) {
    return 2 * in.pair(pair::ON, j) + in.pair(pair::ON + 1, j) + in.pair(pair::ON + 2, j);
}

// ν: the mean of all complementarity products.
template <typename Real, class Workspace, class Team>
__device__ __forceinline__ Real mean_gap(const Interior<Real, Workspace, Team>& in) {
    const auto& system = in.system;
    Real total = 0, count = Real(system.contacts);
    for (int k = 0; k < 3 * system.contacts; ++k) total += in.vec(scaled::IMPULSE, k) * in.vec(scaled::W, k);
#pragma unroll 1
    for (int j = 0; j < system.joints; ++j) total += pair_products(in, j), count += pairs_of(in, j);
    return total / fmax(count, Real(1));
}

// Ω of the contact whose rows begin at k, and De Saxcé's term in its r.
template <class In, typename Real>
__device__ __forceinline__ void cone_equations(const In& in, int k, Real mu, Real smooth) {
    using namespace scaled;
    const Vector<Real> impulse = three(in, IMPULSE, k), w = three(in, W, k);
    const Vector<Real> p = {mu * impulse.x, impulse.y, impulse.z}, q = {w.x / mu, w.y, w.z};
    const Real square = w.y * w.y + w.z * w.z, t = sqrt(square + smooth * smooth), slope = t > 0 ? mu / t : Real(0);
    in.vec(R, k) += t > 0 ? mu * square / (t + smooth) : Real(0);
    const Vector<Real> first = divided(q, p), second = divided(q, Vector<Real>{p.y, p.x, 0}),
                       third = divided(q, Vector<Real>{p.z, 0, p.x});
    const Vector<Real> normal = {first.x / mu / mu, first.y / mu, first.z / mu};
    put_three(in, OMEGA, k, normal);
    put_three(in, OMEGA + 1, k, Vector<Real>{second.x / mu, second.y, second.z} + (slope * w.y) * normal);
    put_three(in, OMEGA + 2, k, Vector<Real>{third.x / mu, third.y, third.z} + (slope * w.z) * normal);
}

// c − Ω r of the contact whose rows begin at k: the step of its impulse for du = 0.
template <class In, typename Real>
__device__ __forceinline__ void cone_target(const In& in, int k, Real mu, Real aim) {
    using namespace scaled;
    const Vector<Real> impulse = three(in, IMPULSE, k), w = three(in, W, k);
    const Vector<Real> p = {mu * impulse.x, impulse.y, impulse.z}, q = {w.x / mu, w.y, w.z};
    const Vector<Real> left = Vector<Real>{aim, 0, 0} - jordan(p, q) - three(in, CORRECTION, k), x = divided(q, left);
    put_three(in, STEP, k, Vector<Real>{x.x / mu, x.y, x.z} - resisted(in, k, three(in, R, k)));
}

// The damping of joint row j's friction; and of the whole row.
template <class In> __device__ __forceinline__ auto friction_damping(const In& in, int j) {
    const auto on = in.pair(pair::ON, j);
    return on /
        (in.pair(pair::X + 1, j) / in.pair(pair::X, j) + in.pair(pair::X + 3, j) / in.pair(pair::X + 2, j) + (1 - on));
}
template <class In> __device__ __forceinline__ auto damping(const In& in, int j) {
    const auto below = in.pair(pair::X + 4, j) / in.pair(pair::X + 5, j);
    return friction_damping(in, j) + below + in.pair(pair::X + 6, j) / in.pair(pair::X + 7, j);
}

// c of joint row j, which is row k: the step of its impulse for du = 0.
template <class In, typename Real>
__device__ __forceinline__ Real joint_target(const In& in, int j, int k, Real aim) {
    const auto x = [&](int which) { return in.pair(pair::X + which, j); };
    const Real u = in.vec(scaled::U, k), apart = in.vec(scaled::IMPULSE, k) - (x(0) - x(2)) / 2 - x(4) + x(6);
    Real c = -friction_damping(in, j) * (u - aim / x(0) + aim / x(2));
    c += in.pair(pair::ON + 1, j) * (aim - x(4) * (u - in.pair(pair::LAW + 1, j))) / x(5);
    c -= in.pair(pair::ON + 2, j) * (aim + x(6) * (u - in.pair(pair::LAW + 2, j))) / x(7);
    return c - apart;
}

// The steps of joint row j's impulse and pairs. Returns the step length to the boundary.
template <class In, typename Real>
__device__ __forceinline__ Real joint_step(const In& in, int j, int k, Real aim) {
    const auto x = [&](int which) { return in.pair(pair::X + which, j); };
    const auto d = [&](int which) -> Real& { return in.pair(pair::DX + which, j); };
    const Real u = in.vec(scaled::DU, k) + in.vec(scaled::U, k);
    const Real on = in.pair(pair::ON, j), low = in.pair(pair::ON + 1, j), high = in.pair(pair::ON + 2, j);
    const Real d0 = -friction_damping(in, j) * (u - aim / x(0) + aim / x(2));
    d(0) = d0, d(2) = -d0;
    d(1) = on * ((aim - x(1) * d0) / x(0) - x(1));
    d(3) = on * ((aim + x(3) * d0) / x(2) - x(3));
    const Real d5 = low * (u - in.pair(pair::LAW + 1, j) - x(5)), d7 = high * (in.pair(pair::LAW + 2, j) - u - x(7));
    d(5) = d5, d(7) = d7;
    d(4) = low * ((aim - x(4) * d5) / x(5) - x(4));
    d(6) = high * ((aim - x(6) * d7) / x(7) - x(6));
    in.vec(scaled::STEP, k) -= damping(in, j) * in.vec(scaled::DU, k);
    Real reach = INFINITE;
#pragma unroll
    for (int which = 0; which < 8; ++which) {
        const Real here = x(which), way = d(which);
        if (here > 0 && way < 0) reach = fmin(reach, -here / way);
    }
    return reach;
}

// The steps of λ and w of the contact whose rows begin at k, and their second-order term. Returns the step length to
// the boundary.
template <class In, typename Real>
__device__ __forceinline__ Real cone_step(const In& in, int k, Real mu, Real smooth) {
    using namespace scaled;
    const Vector<Real> w = three(in, W, k), impulse = three(in, IMPULSE, k), own = three(in, DU, k);
    const Vector<Real> step = three(in, STEP, k) - resisted(in, k, own);
    const Real t = sqrt(w.y * w.y + w.z * w.z + smooth * smooth);
    Vector<Real> du = own + three(in, R, k);
    if (t > 0) du.x += mu * (w.y * du.y + w.z * du.z) / t;
    put_three(in, STEP, k, step), put_three(in, DU, k, du);
    const Vector<Real> p = {mu * impulse.x, impulse.y, impulse.z}, dp = {mu * step.x, step.y, step.z};
    const Vector<Real> q = {w.x / mu, w.y, w.z}, dq = {du.x / mu, du.y, du.z};
    put_three(in, CORRECTION, k, jordan(dp, dq));
    return fmin(to_boundary(p, dp), to_boundary(q, dq));
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
    in.share(0, system.contacts, [&](int i) { cone_equations(in, 3 * i, system.mu(i), smooth); });
#pragma unroll 1
    for (int i = 0; i < system.contacts; ++i) in.add_contact(3 * i);
#pragma unroll 1
    for (int k = first; k < n; ++k) in.add_row(k, damping(in, k - first));
    in.team.sync();
    return factorise<Real>(system.ws, NV, in.team);
}

// The step towards complementarity products `aim`. Returns the step length to the boundary.
template <typename Real, class Workspace, class Team>
__device__ __noinline__ Real direction(Interior<Real, Workspace, Team> in, Real smooth, Real aim) {
    using namespace scaled;
    const auto& system = in.system;
    const int n = system.rows(), first = 3 * system.contacts;
    in.share(0, system.contacts, [&](int i) { cone_target(in, 3 * i, system.mu(i), aim); });
    in.share(0, system.joints, [&](int j) { in.vec(STEP, first + j) = joint_target(in, j, first + j, aim); });
    in.share(0, n, [&](int k) { in.vec(DU, k) = in.vec(STEP, k) + in.vec(IMPULSE, k); });
    in.to_velocities(DU, DZ);
    in.share(0, NV, [&](int v) { in.vec(DZ, v) -= in.vec(Z, v); });
    substitute<Real>(system.ws, NV, Workspace::VECTORS + DZ * Workspace::LONGEST, in.team);
    in.to_rows(DZ, DU);
    Real reach = INFINITE;
    in.share(0, system.contacts, [&](int i) { reach = fmin(reach, cone_step(in, 3 * i, system.mu(i), smooth)); });
    in.share(0, system.joints, [&](int j) { reach = fmin(reach, joint_step(in, j, first + j, aim)); });
    return -in.team.max(-reach);
}

// The best iterate from a cold start, as the current one. `least_centring` bounds σ from below, `longest` is the
// fraction to the boundary. `smoothing` times ν smooths |w_t|, whose gradient jumps where a contact comes to rest.
template <typename Real, class Workspace, class Team>
__device__ __noinline__ void interior_point(System<Real, Workspace> system, RowsOf rows, Real least_centring,
                                            Real longest, Real smoothing, Team team) {
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
        if (least <= CONTACT_TOLERANCE<Real> || step == INTERIOR_STEPS<Real> || !(left < Real(INFINITE))) break;
        const Real gap = mean_gap(in), smooth = smoothing * gap;
        if (!equations(in, smooth)) break;
        // The predictor's remainder sets the centring.
        const Real rest = 1 - fmin(direction(in, smooth, Real(0)), Real(1));
        Real centring = fmax(least_centring, rest * rest * rest);
        centring = fmin(fmax(centring, length < Real(0.3) ? Real(0.5) : Real(0)), Real(1));
        if (rest > Real(0.9) || length < Real(0.3))  // blocked: no second-order term
            in.share(0, first, [&](int k) { in.vec(scaled::CORRECTION, k) = 0; });
        const Real reach = direction(in, smooth, centring * gap);
        length = fmin(Real(1), fmin(longest, fmax(Real(0.9), 1 - gap)) * reach);
        in.share(0, n, [&](int k) {
            in.vec(scaled::IMPULSE, k) += length * in.vec(scaled::STEP, k);
            if (k < first) in.vec(scaled::W, k) += length * in.vec(scaled::DU, k);
        });
        in.share(0, NV, [&](int v) { in.vec(scaled::Z, v) += length * in.vec(scaled::DZ, v); });
        in.share(0, 8 * system.joints, [&](int e) {
            in.pair(pair::X + e % 8, e / 8) += length * in.pair(pair::DX + e % 8, e / 8);
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
            interior_point(system, rows, second ? Real(STRONG_CENTRING) : Real(CENTRING),
                           second ? Real(SHORT_STEP) : Real(LONG_STEP), second ? Real(SMOOTHING) : Real(1), team);
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
