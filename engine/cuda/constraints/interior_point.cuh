// A primal–dual interior point method on the exact law, from cold, for where rounds do not reach the tolerance; and the solver
// that tries one after the other. The texts of engine/cpu/constraints/interior_point.py and contact_solver.py, see there.
#pragma once

#include "constraints/contact_rounds.cuh"

// Rows of the vectors, scaled; and of the pairs of a joint row: which there are (3), f lo hi (3), pairs (8), their steps (8).
namespace scaled {
constexpr int D = 0, B = 1, IMPULSE = 2, W = 3, R = 4, BASE = 5, CORRECTION = 6, STEP = 7, U = 8, DU = 9;
}
namespace pair {
constexpr int ON = 0, LAW = 3, X = 6, DX = 14;
}
constexpr double NO_LIMIT = 1e9, FIRST_GUESS = 1e-4, INFINITE = 1e30;
constexpr int SOLVER_ROUNDS = 4, LAST_SWEEPS = 50;
template <typename Real> constexpr int INTERIOR_STEPS = sizeof(Real) == 8 ? 30 : 20;

// What the method works on.
template <typename Real, class Room> struct Interior {
    System<Real, Room> system;

    __device__ __forceinline__ Real& vec(int which, int k) const { return system.room(room_at::VECTORS + which * ROWS + k); }
    __device__ __forceinline__ Real& pair(int which, int j) const { return system.room(room_at::PAIRS + which * LAWS + j); }
    __device__ __forceinline__ Real& K(int i, int j) const { return entry<Real>(system.room, i, j); }
    __device__ __forceinline__ Real G(int i, int j) const { return system.G(i, j) * vec(scaled::D, i) * vec(scaled::D, j); }
    __device__ __forceinline__ Vector<Real> three(int which, int k) const {
        return {vec(which, k), vec(which, k + 1), vec(which, k + 2)};
    }
    // Row k of the scaled matrix times a vector.
    __device__ __forceinline__ Real product(int k, int which) const {
        const int n = system.rows();
        Real total = 0;
#pragma unroll 2
        for (int j = 0; j < n; ++j) total += system.G(k, j) * vec(scaled::D, j) * vec(which, j);
        return vec(scaled::D, k) * total;
    }
};

// x ∘ y of the second-order cone.
template <typename Real> __device__ __forceinline__ Vector<Real> jordan(Vector<Real> x, Vector<Real> y) {
    return {dot(x, y), x.x * y.y + y.x * x.y, x.x * y.z + y.x * x.z};
}

// The largest a with x + a d in the cone x₀ ≥ |x₁,₂|.
template <typename Real> __device__ __forceinline__ Real to_boundary(Vector<Real> x, Vector<Real> d) {
    const Real a = d.x * d.x - d.y * d.y - d.z * d.z, b = x.x * d.x - x.y * d.y - x.z * d.z;
    const Real c = fmax(x.x * x.x - x.y * x.y - x.z * x.z, Real(0)), discriminant = b * b - a * c;
    Real best = INFINITE;
    if (discriminant >= 0) {
        const Real root = sqrt(discriminant), s = -(b + (b >= 0 ? root : -root));  // both roots without cancellation
        if (a != 0 && s / a > 0) best = s / a;
        if (s != 0 && c / s > 0) best = fmin(best, c / s);
    }
    return d.x < 0 ? fmin(best, -x.x / d.x) : best;
}

// The scaled b and the first iterate; answers what an impulse of 1 is there.
template <typename Real, class Room> __device__ __noinline__ Real scale(Interior<Real, Room> in) {
    using namespace scaled;
    const auto& system = in.system;
    const int n = system.rows(), first = 3 * system.contacts;
    Real size = TINY<Real>;
    for (int k = 0; k < n; ++k) {
        in.vec(D, k) = sqrt(1 / (k < first ? system.size(k - k % 3) : system.own(k)));
        size = fmax(size, fabs(system.b(k) * in.vec(D, k)));
    }
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        in.vec(B, k) = system.b(k) * in.vec(D, k) / size;
        for (int j = 0; j < n; ++j) in.K(k, j) = in.G(k, j);
        in.K(k, k) += Real(FIRST_GUESS);
        in.vec(STEP, k) = -in.vec(B, k);
    }
    Real wide = 1;
    if (factorise<Real>(system.room, n)) {
        substitute<Real>(system.room, n, room_at::VECTORS + STEP * ROWS);
        for (int i = 0; i < system.contacts; ++i) {
            const Vector<Real> x = in.three(STEP, 3 * i);
            wide = fmax(wide, fmax(fabs(x.x), sqrt(x.y * x.y + x.z * x.z) / system.mu(i)));
        }
    }
    for (int k = 0; k < first; ++k) in.vec(IMPULSE, k) = k % 3 == 0 ? wide : Real(0), in.vec(W, k) = k % 3 == 0 ? 1 : 0;
#pragma unroll 1
    for (int j = 0; j < system.joints; ++j) {
        const Real e = in.vec(D, first + j), f = system.law(j, 0), low = system.law(j, 1), high = system.law(j, 2);
        const bool rubs = f > 0, below = low > -Real(NO_LIMIT), above = high < Real(NO_LIMIT);
        in.pair(pair::ON, j) = rubs, in.pair(pair::LAW, j) = f / e / size;
        in.pair(pair::ON + 1, j) = below, in.pair(pair::LAW + 1, j) = below ? low * e / size : Real(0);
        in.pair(pair::ON + 2, j) = above, in.pair(pair::LAW + 2, j) = above ? high * e / size : Real(0);
        const Real friction = rubs ? in.pair(pair::LAW, j) : Real(1);
        in.pair(pair::X, j) = friction, in.pair(pair::X + 1, j) = rubs;
        in.pair(pair::X + 2, j) = friction, in.pair(pair::X + 3, j) = rubs;
        in.pair(pair::X + 4, j) = below, in.pair(pair::X + 5, j) = 1;
        in.pair(pair::X + 6, j) = above, in.pair(pair::X + 7, j) = 1;
        in.vec(IMPULSE, first + j) = Real(below) - Real(above);
    }
    return size;
}

// ν: the mean of the products of all pairs.
template <typename Real, class Room> __device__ __forceinline__ Real mean_gap(const Interior<Real, Room>& in) {
    const auto& system = in.system;
    Real total = 0, count = Real(system.contacts);
    for (int k = 0; k < 3 * system.contacts; ++k) total += in.vec(scaled::IMPULSE, k) * in.vec(scaled::W, k);
#pragma unroll 1
    for (int j = 0; j < system.joints; ++j) {
        for (int which = 0; which < 4; ++which)
            total += in.pair(pair::X + 2 * which, j) * in.pair(pair::X + 2 * which + 1, j);
        count += 2 * in.pair(pair::ON, j) + in.pair(pair::ON + 1, j) + in.pair(pair::ON + 2, j);
    }
    return total / fmax(count, Real(1));
}

// The equations of the contact whose rows begin at k.
template <typename Real, class Room>
__device__ __forceinline__ void cone_equations(const Interior<Real, Room>& in, int k, Real mu) {
    using namespace scaled;
    const int n = in.system.rows();
    const Vector<Real> impulse = in.three(IMPULSE, k), w = in.three(W, k);
    const Vector<Real> p = {mu * impulse.x, impulse.y, impulse.z}, q = {w.x / mu, w.y, w.z};
    const Real t = sqrt(w.y * w.y + w.z * w.z), slope = t > 0 ? mu / t : Real(0);
    in.vec(R, k) += mu * t;
    const Vector<Real> r = in.three(R, k), o = jordan(p, q);
#pragma unroll
    for (int h = 0; h < 3; ++h) {
        const Real first = (h == 0 ? p.x : h == 1 ? p.y : p.z) / mu;
        const Real c1 = first * slope * w.y + (h == 0 ? p.y : h == 1 ? p.x : Real(0));
        const Real c2 = first * slope * w.z + (h == 0 ? p.z : h == 2 ? p.x : Real(0));
#pragma unroll 1
        for (int j = 0; j < n; ++j) in.K(k + h, j) = first * in.G(k, j) + c1 * in.G(k + 1, j) + c2 * in.G(k + 2, j);
        in.K(k + h, k) += REGULAR<Real> * first + mu * (h == 0 ? q.x : h == 1 ? q.y : q.z);
        in.K(k + h, k + 1) += REGULAR<Real> * c1;
        in.K(k + h, k + 2) += REGULAR<Real> * c2;
        in.vec(BASE, k + h) = -(first * r.x + c1 * r.y + c2 * r.z) - (h == 0 ? o.x : h == 1 ? o.y : o.z);
    }
    in.K(k, k + 1) += q.y, in.K(k, k + 2) += q.z;
    in.K(k + 1, k + 1) += q.x, in.K(k + 2, k + 2) += q.x;
}

// The damper that the friction of joint row j is, and that the row is as a whole.
template <typename Real, class Room> __device__ __forceinline__ Real friction_damping(const Interior<Real, Room>& in, int j) {
    const Real on = in.pair(pair::ON, j);
    return on / (in.pair(pair::X + 1, j) / in.pair(pair::X, j) + in.pair(pair::X + 3, j) / in.pair(pair::X + 2, j) + (1 - on));
}
template <typename Real, class Room> __device__ __forceinline__ Real damping(const Interior<Real, Room>& in, int j) {
    const Real below = in.pair(pair::X + 4, j) / in.pair(pair::X + 5, j);
    return friction_damping(in, j) + below + in.pair(pair::X + 6, j) / in.pair(pair::X + 7, j);
}

// The right-hand side of joint row j, which is row k.
template <typename Real, class Room>
__device__ __forceinline__ Real joint_right_side(const Interior<Real, Room>& in, int j, int k, Real aim) {
    const auto x = [&](int which) { return in.pair(pair::X + which, j); };
    const Real u = in.vec(scaled::U, k), apart = in.vec(scaled::IMPULSE, k) - (x(0) - x(2)) / 2 - x(4) + x(6);
    Real c = -friction_damping(in, j) * (u - aim / x(0) + aim / x(2));
    c += in.pair(pair::ON + 1, j) * (aim - x(4) * (u - in.pair(pair::LAW + 1, j))) / x(5);
    c -= in.pair(pair::ON + 2, j) * (aim + x(6) * (u - in.pair(pair::LAW + 2, j))) / x(7);
    return (c - apart) / (1 + damping(in, j));
}

// The steps of joint row j's pairs; answers how far they may go.
template <typename Real, class Room>
__device__ __forceinline__ Real joint_step(const Interior<Real, Room>& in, int j, int k, Real aim) {
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
    Real reach = INFINITE;
    for (int which = 0; which < 8; ++which) {
        const Real here = x(which), way = d(which);
        if (here > 0 && way < 0) reach = fmin(reach, -here / way);
    }
    return reach;
}

// The step of w of the contact whose rows begin at k, and its second order; answers how far it may go.
template <typename Real, class Room>
__device__ __forceinline__ Real cone_step(const Interior<Real, Room>& in, int k, Real mu) {
    using namespace scaled;
    const Vector<Real> w = in.three(W, k), impulse = in.three(IMPULSE, k), step = in.three(STEP, k);
    const Real t = sqrt(w.y * w.y + w.z * w.z);
    Vector<Real> du = in.three(DU, k) + in.three(R, k);
    if (t > 0) du.x += mu * (w.y * du.y + w.z * du.z) / t;
    in.vec(DU, k) = du.x, in.vec(DU, k + 1) = du.y, in.vec(DU, k + 2) = du.z;
    const Vector<Real> p = {mu * impulse.x, impulse.y, impulse.z}, dp = {mu * step.x, step.y, step.z};
    const Vector<Real> q = {w.x / mu, w.y, w.z}, dq = {du.x / mu, du.y, du.z}, o = jordan(dp, dq);
    in.vec(CORRECTION, k) = o.x, in.vec(CORRECTION, k + 1) = o.y, in.vec(CORRECTION, k + 2) = o.z;
    return fmin(to_boundary(p, dp), to_boundary(q, dq));
}

// Newton's matrix, factorised, and the base of the right-hand side; answers whether that was possible.
template <typename Real, class Room> __device__ __noinline__ bool equations(Interior<Real, Room> in) {
    using namespace scaled;
    const auto& system = in.system;
    const int n = system.rows(), first = 3 * system.contacts;
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        const Real total = in.vec(B, k) + in.product(k, IMPULSE);
        in.vec(U, k) = total, in.vec(CORRECTION, k) = 0;
        in.vec(R, k) = k < first ? total - in.vec(W, k) : total;
    }
#pragma unroll 1
    for (int i = 0; i < system.contacts; ++i) cone_equations(in, 3 * i, system.mu(i));
#pragma unroll 1
    for (int k = first; k < n; ++k) {
        const Real damper = damping(in, k - first), share = damper / (1 + damper);
        for (int j = 0; j < n; ++j) in.K(k, j) = in.G(k, j) * share;
        in.K(k, k) += 1 / (1 + damper);
    }
    return factorise<Real>(system.room, n);
}

// The step towards products of `aim`; answers how far it may go.
template <typename Real, class Room> __device__ __noinline__ Real direction(Interior<Real, Room> in, Real aim) {
    using namespace scaled;
    const auto& system = in.system;
    const int n = system.rows(), first = 3 * system.contacts;
    for (int k = 0; k < first; ++k) in.vec(STEP, k) = in.vec(BASE, k) - in.vec(CORRECTION, k) + (k % 3 == 0 ? aim : Real(0));
    for (int j = 0; j < system.joints; ++j) in.vec(STEP, first + j) = joint_right_side(in, j, first + j, aim);
    substitute<Real>(system.room, n, room_at::VECTORS + STEP * ROWS);
#pragma unroll 1
    for (int k = 0; k < n; ++k) in.vec(DU, k) = in.product(k, STEP);
    Real reach = INFINITE;
#pragma unroll 1
    for (int i = 0; i < system.contacts; ++i) reach = fmin(reach, cone_step(in, 3 * i, system.mu(i)));
#pragma unroll 1
    for (int j = 0; j < system.joints; ++j) reach = fmin(reach, joint_step(in, j, first + j, aim));
    return reach;
}

// From cold, the impulses that leave least, as the present iterate. `least_centring` bounds σ from below, `longest` the share
// of the way to the boundary.
template <typename Real, class Room>
__device__ __noinline__ void interior_point(System<Real, Room> system, Real least_centring, Real longest) {
    const Interior<Real, Room> in = {system};
    const int n = system.rows(), first = 3 * system.contacts;
    const Real size = scale(in);
    Real least = INFINITE, length = 1;
#pragma unroll 1
    for (int step = 0;; ++step) {
        for (int k = 0; k < n; ++k) system.impulse(k) = in.vec(scaled::IMPULSE, k) * in.vec(scaled::D, k) * size;
        velocities(system);
        const Real left = residual(system);
        if (left < least) {
            least = left;
            for (int k = 0; k < n; ++k) system.room(room_at::STEP + k) = system.impulse(k);
        }
        if (least <= CONTACT_TOLERANCE<Real> || step == INTERIOR_STEPS<Real> || !(left < Real(INFINITE))) break;
        if (!equations(in)) break;
        const Real gap = mean_gap(in);
        const Real rest = 1 - fmin(direction(in, Real(0)), Real(1));  // what the predictor would leave sets the centring
        Real centring = fmax(least_centring, rest * rest * rest);
        centring = fmin(fmax(centring, length < Real(0.3) ? Real(0.5) : Real(0)), Real(1));
        if (rest > Real(0.9) || length < Real(0.3))  // blocked: no second order
            for (int k = 0; k < first; ++k) in.vec(scaled::CORRECTION, k) = 0;
        const Real reach = direction(in, centring * gap);
        length = fmin(Real(1), fmin(longest, fmax(Real(0.9), 1 - gap)) * reach);
        for (int k = 0; k < n; ++k) in.vec(scaled::IMPULSE, k) += length * in.vec(scaled::STEP, k);
        for (int k = 0; k < first; ++k) in.vec(scaled::W, k) += length * in.vec(scaled::DU, k);
        for (int j = 0; j < system.joints; ++j)
            for (int which = 0; which < 8; ++which) in.pair(pair::X + which, j) += length * in.pair(pair::DX + which, j);
    }
    for (int k = 0; k < n; ++k) system.impulse(k) = system.room(room_at::STEP + k);
}

// The impulses that obey the law in the place of a warm start in IMPULSE, and u = G λ + b; answers the residual that is left.
template <typename Real, class Room> __device__ __noinline__ Real solve_contacts(System<Real, Room> system) {
    const int n = system.rows();
    const auto& room = system.room;
    const auto take = [&](int from, int to) {
        for (int k = 0; k < n; ++k) room(to + k) = room(from + k);
    };
    take(room_at::IMPULSE, room_at::TRIED);
    Real least = rounds(system, SOLVER_ROUNDS, true);
    take(room_at::BEST, room_at::IMPULSE);
#pragma unroll 1
    for (int attempt = 0; attempt < 3 && !(least <= CONTACT_TOLERANCE<Real>); ++attempt) {
        if (attempt < 2) interior_point(system, attempt == 1 ? Real(0.1) : Real(1e-4), attempt == 1 ? Real(0.9) : Real(0.99));
        else take(room_at::IMPULSE, room_at::TRIED);
        const Real left = rounds(system, attempt < 2 ? SOLVER_ROUNDS : LAST_SWEEPS, attempt < 2);
        if (left < least) least = left, take(room_at::BEST, room_at::IMPULSE);
    }
    take(room_at::IMPULSE, room_at::TRIED);
    velocities(system);
    return least;
}
