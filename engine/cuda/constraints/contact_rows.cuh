// The rows of a contact problem: J and W = J L⁻¹ along the paths to the root, the Delassus matrix G = W D⁻¹ Wᵀ, and what the
// impulses have to answer to. The text of engine/cpu/constraints/contact_rows.py.
//
// A row's entries stand by level, from the root on, up to the velocity at which its path begins: that of its joint, or the last
// one of the body that touches.
#pragma once

#include "constraints/coupled_rows.cuh"
#include "constraints/interior_point.cuh"
#include "constraints/joint_constraints.cuh"

// Sweeps before G is formed, each a fraction of what that and a Newton step take: as many as on the CPU, but in single precision,
// where a few more seldom leave anything, and a warp waits for its slowest robot.
template <typename Real> constexpr int SWEEPS_BY_PATHS = sizeof(Real) == 8 ? 1 : 6;
constexpr int UNROLLED = DEPTH <= 16 ? DEPTH : 1;  // levels of a path that are written out, so that a row stands in registers
// m, and rad or m of a joint: what is no gap and no way to a limit; and no overlap.
template <typename Real> constexpr Real SHUT = sizeof(Real) == 8 ? SHUT_DOUBLE : SHUT_SINGLE;
template <typename Real> constexpr Real OVERLAP = sizeof(Real) == 8 ? SHUT_DOUBLE : OVERLAP_SINGLE;

// Bring the contacts with friction before those without, as the rows of a system are ordered; answers how many rub.
template <typename Real, class Room>
__device__ __forceinline__ int frictional_first(const Surroundings<Real>& scene, const Room& room, int count) {
    if constexpr (ALL_RUB || !SOME_RUB) return ALL_RUB ? count : 0;
    int rubbing = 0;
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
        if (!(scene.of_shape(shape_of(room, i), shape::FRICTION) > 0)) continue;
        for (int k = 0; i > rubbing && k < contact::NUMBERS; ++k) {
            const Real one = room(contact_slot(i) + k), other = room(contact_slot(rubbing) + k);
            room(contact_slot(i) + k) = other, room(contact_slot(rubbing) + k) = one;
        }
        ++rubbing;
    }
    return rubbing;
}

// The gap of contact i, or nought where it is shut: in single precision coordinates are the less exact the larger they are.
template <typename Real, class Room> __device__ __forceinline__ Real open_gap(const Room& room, int i) {
    const int c = contact_slot(i);
    const Real gap = room(c + contact::GAP);
    Real shut = SHUT<Real>;
    if constexpr (sizeof(Real) == 4) {
        const Vector<Real> n = room.vector(c + contact::NORMAL), x = room.vector(c + contact::PLACE);
        shut *= 1 + fabs(n.x * x.x) + fabs(n.y * x.y) + fabs(n.z * x.z);
    }
    return gap > shut ? gap : Real(0);
}

// J of contact i into its N rows of W, from k on, with J v_f into BASE and the normal velocity before the step into BEFORE;
// answers whether anything moves it along its normal.
template <typename Real, int N, class Memory, class Robot, class Room>
__device__ __forceinline__ bool jacobian(const Memory& at, const Robot& robot, const Room& room, int i, int k) {
    if constexpr (FILLS) return coupled_jacobian<Real, N>(at, robot, room, i, k);
    const int c = contact_slot(i);
    const Vector<Real> x = room.vector(c + contact::INSIDE);
    Force<Real> F[N];
    Real base[N] = {}, before = 0, most = 0;
#pragma unroll
    for (int r = 0; r < N; ++r) {
        const Vector<Real> d = room.vector(c + contact::FRAME + 3 * r);
        F[r] = {cross(x, d), d};
    }
#pragma unroll 1
    for (int j = SHAPE_BODY[shape_of(room, i)];; j = parent(j)) {
        const int first = v_start(j), level = ROW_LEVEL[first] - 1;
#pragma unroll
        for (int r = 0; r < N; ++r) {
            along_axes(j, F[r], [&](int which, Real value) {
                room(room_at::W + (k + r) * DEPTH + level + which) = value;
                base[r] += value * room(room_at::FREE_V + first + which);
                if (HAS_RESTITUTION && r == 0) before += value * at(V + first + which);
                if (MAY_HOLD && r == 0) most = fmax(most, fabs(value));
            });
        }
        if (parent(j) < 0) break;
        const Pose<Real> T = pose<Real>(j, at, robot);
#pragma unroll
        for (int r = 0; r < N; ++r) F[r] = force_to_parent(T, F[r]);
    }
#pragma unroll
    for (int r = 0; r < N; ++r) room(room_at::BASE + k + r) = base[r];
    if constexpr (HAS_RESTITUTION) room(room_at::BEFORE + i) = before;
    return !MAY_HOLD || most > Real(HELD);
}

// W of N rows that begin at k, in the place of J, where their paths begin at `tip`; G's diagonal, and what their impulses add to
// HALF = Wᵀ λ.
template <typename Real, int N, class Room> __device__ __forceinline__ void half_rows(const Room& room, int k, int tip) {
    const int depth = ROW_LEVEL[tip];
    Real x[N][DEPTH], own[N] = {}, impulse[N];
#pragma unroll
    for (int r = 0; r < N; ++r) {
        impulse[r] = room(room_at::IMPULSE + k + r);
#pragma unroll(UNROLLED)
        for (int l = 0; l < DEPTH; ++l) x[r][l] = l < depth ? room(room_at::W + (k + r) * DEPTH + l) : Real(0);
    }
    int v = tip;
#pragma unroll(UNROLLED)
    for (int l = DEPTH - 1; l >= 0; --l) {
        if (l >= depth) continue;
        const int row = room_at::FACTOR + ROW_START[v] + 1;
#pragma unroll(UNROLLED)
        for (int e = 0; e < l; ++e) {
            const Real entry = room(row + e);
#pragma unroll
            for (int r = 0; r < N; ++r) x[r][e] -= entry * x[r][l];
        }
        const Real inverse = room(row + l);
        Real half = 0;
#pragma unroll
        for (int r = 0; r < N; ++r) {
            const Real here = x[r][l];
            own[r] += here * here * inverse, half += here * impulse[r];
            room(room_at::W + (k + r) * DEPTH + l) = here;
        }
        room(room_at::HALF + v) += half;
        v = ROW_PARENT[v];
    }
    // Where nothing moves a contact along the surface, as on an upright slide, G is kept regular there.
    if (MAY_HOLD && N == 3 && own[N > 1 ? 1 : 0] + own[N - 1] <= EPS<Real> * own[0]) own[N > 1 ? 1 : 0] = own[N - 1] = EPS<Real> * own[0];
#pragma unroll
    for (int r = 0; r < N; ++r) room(room_at::OWN + k + r) = own[r];
}

// u = W x + b of row k, x standing in HALF.
template <typename Real, class Room> __device__ __forceinline__ Real row_velocity(const Room& room, int k, int tip) {
    Real total = room(room_at::B + k);
    int l = ROW_LEVEL[tip] - 1;
#pragma unroll 4
    for (int v = tip; v >= 0; v = ROW_PARENT[v], --l) total += room(room_at::W + k * DEPTH + l) * room(room_at::HALF + v);
    return total;
}

// u of all rows as the present iterate, D⁻¹ Wᵀ λ standing in HALF; answers the residual.
template <typename Real, class Room> __device__ __forceinline__ Real residual_by_paths(const Room& room, const RowsOf& rows) {
    const auto system = rows.system<Real>(room);
#pragma unroll 1
    for (int k = 0; k < rows.all(); ++k) system.u(k) = row_velocity<Real>(room, k, rows.tip(room, k));
    return residual(system);
}

// One sweep from the present impulses, as `sweep` has it, by W alone: HALF = D⁻¹ Wᵀ λ stays with them.
template <typename Real, class Room> __device__ __noinline__ void sweep_by_paths(Room room, RowsOf rows) {
    const auto system = rows.system<Real>(room);
    const int first = 3 * system.contacts, n = rows.all();
    const auto w = [&](int k, int l) { return room(room_at::W + k * DEPTH + l); };
#pragma unroll 1
    for (int k = 0; k < first; k += 3) {
        const int tip = rows.tip(room, k);
        Vector<Real> u = {system.b(k), system.b(k + 1), system.b(k + 2)}, across = {0, 0, 0};
#pragma unroll 2
        for (int v = tip, l = ROW_LEVEL[tip] - 1; v >= 0; v = ROW_PARENT[v], --l) {
            const Vector<Real> here = {w(k, l), w(k + 1, l), w(k + 2, l)};
            const Real inverse = room(room_at::FACTOR + diagonal(v));
            u = u + room(room_at::HALF + v) * here;
            across = across + inverse * Vector<Real>{here.x * here.y, here.x * here.z, here.y * here.z};
        }
        const Symmetric<Real> D = {system.own(k), across.x, across.y, system.own(k + 1), across.z, system.own(k + 2)};
        const Vector<Real> x = {system.impulse(k), system.impulse(k + 1), system.impulse(k + 2)};
        const Vector<Real> z = one_contact(D, u - mul(D, x), system.mu(k / 3)), d = z - x;
        system.impulse(k) = z.x, system.impulse(k + 1) = z.y, system.impulse(k + 2) = z.z;
#pragma unroll 2
        for (int v = tip, l = ROW_LEVEL[tip] - 1; v >= 0; v = ROW_PARENT[v], --l)
            room(room_at::HALF + v) +=
                room(room_at::FACTOR + diagonal(v)) * (w(k, l) * d.x + w(k + 1, l) * d.y + w(k + 2, l) * d.z);
    }
#pragma unroll 1
    for (int k = first; k < n; ++k) {
        const int tip = rows.tip(room, k);
        const Real d = joint_change(system, k, row_velocity<Real>(room, k, tip));
        if (d == 0) continue;
        system.impulse(k) += d;
#pragma unroll 4
        for (int v = tip, l = ROW_LEVEL[tip] - 1; v >= 0; v = ROW_PARENT[v], --l)
            room(room_at::HALF + v) += room(room_at::FACTOR + diagonal(v)) * w(k, l) * d;
    }
}

// HALF ← D⁻¹ Wᵀ λ of the n impulses that stand from slot `impulses` on.
template <typename Real, class Room>
__device__ __noinline__ void half_impulses(Room room, RowsOf rows, int n, int impulses) {
    for (int v = 0; v < NV; ++v) room(room_at::HALF + v) = 0;
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        const Real impulse = room(impulses + k);
        if (impulse == 0) continue;
        const int first = rows.tip(room, k);
        int l = ROW_LEVEL[first] - 1;
#pragma unroll 4
        for (int v = first; v >= 0; v = ROW_PARENT[v], --l)
            room(room_at::HALF + v) += room(room_at::W + k * DEPTH + l) * impulse;
    }
    for (int v = 0; v < NV; ++v) room(room_at::HALF + v) *= room(room_at::FACTOR + diagonal(v));
}

// WAY ← L⁻¹ HALF.
template <typename Real, class Room> __device__ __forceinline__ void to_velocities(const Room& room) {
#pragma unroll 1
    for (int v = 0; v < NV; ++v) {
        Real x = room(room_at::HALF + v);
#pragma unroll 4
        for (int i = ROW_PARENT[v], e = room_at::FACTOR + diagonal(v) - 1; i >= 0; i = ROW_PARENT[i], --e)
            x -= room(e) * room(room_at::WAY + i);
        room(room_at::WAY + v) = x;
    }
}

// G of n rows, its lower triangle.
template <typename Real, class Room> __device__ __noinline__ void delassus(Room room, RowsOf rows) {
    const int n = rows.all();
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        const int from = rows.tip(room, k), depth = ROW_LEVEL[from];
        Real x[DEPTH];
        int v = from;
#pragma unroll(UNROLLED)
        for (int l = DEPTH - 1; l >= 0; --l) {
            x[l] = 0;
            if (l >= depth) continue;
            x[l] = room(room_at::W + k * DEPTH + l) * room(room_at::FACTOR + diagonal(v));
            v = ROW_PARENT[v];
        }
#pragma unroll 1
        for (int m = 0; m < k; ++m) {
            const int shared = COMMON[from * NV + rows.tip(room, m)];
            Real total = 0;
#pragma unroll(UNROLLED)
            for (int l = 0; l < DEPTH; ++l) {
                if (l < shared) total += x[l] * room(room_at::W + m * DEPTH + l);
            }
            room(room_at::G + k * (k + 1) / 2 + m) = total;
        }
        room(room_at::G + k * (k + 1) / 2 + k) = room(room_at::OWN + k);
    }
}

// Rows of the joints that rub, or may come to a limit, after those of contacts; answers how many.
template <typename Real, class Joints, class Room>
__device__ __forceinline__ int joint_rows(const Joints& joints, const Room& room, const RowsOf& rows, bool warm) {
    int found = 0;
    if constexpr (JOINT_ROWS > 0) {
        const int law_first = rows.count - rows.frictional();
        EACH_BODY
        for (int i = 0; i < BODIES; ++i) {
            if (kind(i) == FREE || follows(i)) continue;
            for (int v = v_start(i); v < v_start(i) + (is_ball(i) ? 3 : 1); ++v) {
                const Interval<Real> within = joints.bounds(v);
                const Real friction = joints.friction(v), after = room(room_at::FREE_V + v);
                const Real before = warm ? room(room_at::JOINT_MEMORY + v) : Real(0);
                room(room_at::JOINT_MEMORY + v) = 0;
                if (!(friction > 0 || after < within.low + Real(REACH) || after > within.high - Real(REACH))) continue;
                const int k = rows.first_joint() + found, law = room_at::LAW + 3 * (law_first + found), level = ROW_LEVEL[v] - 1;
                room(law) = friction * joints.dt;
                room(law + 1) = within.low * joints.dt < -SHUT<Real> ? within.low : Real(0);
                room(law + 2) = within.high * joints.dt > SHUT<Real> ? within.high : Real(0);
                room(room_at::JOINT_OF + found) = Real(v);
                room(room_at::BASE + k) = after, room(room_at::IMPULSE + k) = before;
#pragma unroll 4
                for (int l = 0; l <= level; ++l) room(room_at::W + k * DEPTH + l) = l == level;
                half_rows<Real, 1>(room, k, v);
                ++found;
            }
        }
    }
    return found;
}

// b = J v_f + c of all rows, c for the gaps and for `share` of the restitution; answers whether any contact springs back.
template <typename Real, class Room>
__device__ __forceinline__ bool right_side(const Surroundings<Real>& scene, const Room& room, const RowsOf& rows, Real share,
                                           Real dt) {
    bool springs = false;
    const int n = rows.all();
    for (int k = 0; k < n; ++k) room(room_at::OFFSET + k) = 0, room(room_at::B + k) = room(room_at::BASE + k);
#pragma unroll 1
    for (int i = 0; i < rows.count; ++i) {
        const int k = rows.first(i);
        const Real base = room(room_at::BASE + k);
        Real c = open_gap<Real>(room, i) / dt;
        if constexpr (HAS_RESTITUTION) {
            const Real e = share * scene.of_shape(shape_of(room, i), shape::RESTITUTION), before = room(room_at::BEFORE + i);
            if (e > 0 && before < -Real(IMPACT) && room(contact_slot(i) + contact::GAP) + dt * base <= 0) springs = true, c = fmin(c, e * before);
        }
        room(room_at::OFFSET + k) = c, room(room_at::B + k) = base + c;
    }
    return springs;
}
