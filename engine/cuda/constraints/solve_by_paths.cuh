// The velocity change of an impulse change, solved in the space of velocities by a whole warp, without G or its
// factors.
//
// Each contact and each joint row responds to a velocity change by dλ = s − Ω du. With du = W dy and D dy = Wᵀ dλ,
//
//     (D + Wᵀ Ω W) dy = Wᵀ s,
//
// whose matrix has the sparsity of M, since all rows are on paths, and is factorised along them. Where friction follows
// the normal impulse, Ω and so the matrix are not symmetric.
#pragma once

#include "constraints/contact_rows.cuh"

// For each joint's velocity v, the contacts and joint rows whose paths pass through it: those from the first of v up to
// the first after v's subtree, as both are ordered by the velocities at which their paths begin.
template <typename Real, class Workspace>
__device__ __forceinline__ void note_rows(const Workspace& ws, const RowsOf& rows, const Group& group) {
    static_assert(!LANE_A_BODY || NV - 6 < WHOLE_WARP, "a lane has one");
    const int v = group.rank + 6;
    const bool all = rows.joints == NV - 6;
    int contacts = 0, joints = all ? group.rank : 0;
#pragma unroll 1
    for (int i = 0; i < rows.contacts; ++i) contacts += SHAPE_TIP[shape_of(ws, i)] < v;
#pragma unroll 1
    for (int j = 0; j < (all ? 0 : rows.joints); ++j) joints += int(ws(Workspace::JOINT_OF + j)) < v;
    if (v <= NV) ws(Workspace::FIRST_CONTACT + v) = Real(contacts), ws(Workspace::FIRST_JOINT + v) = Real(joints);
    group.sync();
}
struct RowRange {
    int contact, contact_end, joint, joint_end;  // joint rows by index among all rows

    template <class Workspace>
    __device__ __forceinline__ RowRange(const Workspace& ws, const RowsOf& rows, int v)
        : contact(int(ws(Workspace::FIRST_CONTACT + v))),
          contact_end(int(ws(Workspace::FIRST_CONTACT + END_OF_SUBTREE[v]))),
          joint(rows.first_joint() + int(ws(Workspace::FIRST_JOINT + v))),
          joint_end(rows.first_joint() + int(ws(Workspace::FIRST_JOINT + END_OF_SUBTREE[v]))) {}
};

// Wᵀ x at velocity v, with x from slot `from` on.
template <typename Real, class Workspace>
__device__ __forceinline__ Real gathered(const Workspace& ws, const RowRange& range, int level, int from) {
    const int column = Workspace::W + level - 1;
    Real total = 0;
#pragma unroll 3
    for (int k = 3 * range.contact; k < 3 * range.contact_end; ++k) total += ws(column + k * DEPTH) * ws(from + k);
#pragma unroll 4
    for (int k = range.joint; k < range.joint_end; ++k) total += ws(column + k * DEPTH) * ws(from + k);
    return total;
}

// HALF ← D⁻¹ Wᵀ λ.
template <typename Real, class Workspace>
__device__ __noinline__ void lane_half(Workspace ws, RowsOf rows, Group group) {
    ws.assume_memory();
    group.sync();
    const LanePlace place(group);
    const Real own = gathered<Real>(ws, RowRange(ws, rows, place.v), place.level, Workspace::TRIED);
    Real first[FREE_NV] = {};
#pragma unroll 1
    for (int k = group.rank; k < rows.all(); k += LANES) {
        const Real impulse = ws(Workspace::TRIED + k);
#pragma unroll
        for (int n = 0; n < FREE_NV; ++n) first[n] += ws(Workspace::W + k * DEPTH + n) * impulse;
    }
#pragma unroll
    for (int n = 0; n < FREE_NV; ++n) first[n] = group.sum(first[n]);
    if (place.own) ws(Workspace::HALF + place.v) = own * ws(Workspace::FACTOR + diagonal(place.v));
    if (group.rank == 0) {
#pragma unroll
        for (int n = 0; n < FREE_NV; ++n) ws(Workspace::HALF + n) = first[n] * ws(Workspace::FACTOR + diagonal(n));
    }
    group.sync();
}

// Ω of contact i; and its Ω and s into their slots.
template <typename Real, class Workspace>
__device__ __forceinline__ Matrix<Real> Omega_of(const Workspace& ws, int i) {
    const int slot = Workspace::OMEGA + 9 * i;
    return {ws.vector(slot), ws.vector(slot + 3), ws.vector(slot + 6)};
}
template <typename Real, class Workspace>
__device__ __forceinline__ void put_linear_contact(const Workspace& ws, int i, const LinearContact<Real>& linear) {
    const int slot = Workspace::OMEGA + 9 * i;
    ws.store(slot, linear.Omega.x), ws.store(slot + 3, linear.Omega.y), ws.store(slot + 6, linear.Omega.z);
    ws.store(Workspace::S + 3 * i, linear.s);
}

// D + Wᵀ Ω W, and its right-hand side Wᵀ s − share D y.
template <typename Real, class Workspace> struct PathSystem {
    const Workspace& ws;
    const RowsOf& rows;
    Real share;

    __device__ __forceinline__ Vector<Real> three(int i, int level) const {
        const int row = Workspace::W + 3 * i * DEPTH + level - 1;
        return {ws(row), ws(row + DEPTH), ws(row + 2 * DEPTH)};
    }
    __device__ __forceinline__ Real one(int k, int level) const { return ws(Workspace::W + k * DEPTH + level - 1); }
    __device__ __forceinline__ Real Omega(int k) const { return ws(Workspace::JOINT_OMEGA + k - rows.first_joint()); }
    __device__ __forceinline__ Real stiffness(int v) const { return 1 / ws(Workspace::FACTOR + diagonal(v)); }

    // Row and column of a lane's joint.
    __device__ __forceinline__ void fill(const LanePlace& place, LaneRow<Real, false>& x, const Group& group) const {
        const int level = place.level;
        const RowRange range(ws, rows, place.v);
        x.pivot = stiffness(place.v), x.rhs = -share * x.pivot * ws(Workspace::HALF + place.v);
#pragma unroll
        for (int n = 0; n < DEPTH; ++n) x.row[n] = 0;
        const int joints = place.own ? range.joint_end - range.joint : 0, most = group.max_int(joints);
#pragma unroll 1
        for (int number = 0; number < most; ++number) {
            const int k = range.joint + number, bound = number < UNFORKED ? DEPTH : FORK_LEVEL;  // levels
            if (number < joints) {
                const Real here = one(k, level), z = Omega(k) * here;
                x.rhs += here * ws(Workspace::S + k), x.pivot += here * z;
#pragma unroll
                for (int n = 1; n < DEPTH; ++n) {
                    if (n % 4 == 1 && n >= bound) break;  // further entries are harmless
                    x.row[n - 1] += z * one(k, n);
                }
            }
        }
#pragma unroll
        for (int n = 0; n < DEPTH; ++n) x.column[n] = x.row[n];
#pragma unroll 1
        for (int i = place.own ? range.contact : range.contact_end; i < range.contact_end; ++i) {
            const Vector<Real> here = three(i, level), s = ws.vector(Workspace::S + 3 * i);
            const Matrix<Real> Omega = Omega_of<Real>(ws, i);
            const Vector<Real> lower = mul_t(Omega, here), upper = mul(Omega, here);
            x.rhs += dot(here, s), x.pivot += dot(here, upper);
#pragma unroll
            for (int n = 1; n < DEPTH; ++n) {
                const Vector<Real> there = three(i, n);
                x.row[n - 1] += dot(lower, there), x.column[n - 1] += dot(there, upper);
            }
        }
    }
    // The entries n of the first body's row at `level`.
    __device__ __forceinline__ Entries<Real> root(int level, int n) const {
        const int v = level - 1, other = max(n, 1);
        const bool right = n == 0;
        const Real D = right || n == level ? stiffness(v) : Real(0);
        Entries<Real> total = {D, D};
        if (right) total.lower *= -share * ws(Workspace::HALF + v);
#pragma unroll 1
        for (int i = 0; i < rows.contacts; ++i) {
            const Vector<Real> x = three(i, level), y = three(i, other), s = ws.vector(Workspace::S + 3 * i);
            const Matrix<Real> Omega = Omega_of<Real>(ws, i);
            const Vector<Real> z = mul(Omega, y);
            total.lower += right ? dot(x, s) : dot(x, z), total.upper += dot(y, mul(Omega, x));
        }
        Real joints = 0;
#pragma unroll 4
        for (int k = rows.first_joint(); k < rows.all(); ++k)
            joints += one(k, level) * (right ? ws(Workspace::S + k) : Omega(k) * one(k, other));
        return {total.lower + joints, total.upper + joints};
    }
};

// U ← W dy with (D + Wᵀ Ω W) dy = Wᵀ s − share D y, from Ω and s in their slots; dy replaces the right-hand side in
// LOWER.
template <typename Real, class Workspace>
__device__ __noinline__ void solve_by_paths(Workspace ws, RowsOf rows, Real share, Group group) {
    ws.assume_memory();
    const PathSystem<Real, Workspace> system = {ws, rows, share};
    const auto fill = [&](const LanePlace& place, LaneRow<Real, false>& x) { system.fill(place, x, group); };
    const auto root = [&](int level, int n) { return system.root(level, n); };
    lane_solve<Real, false>(ws, Workspace::LOWER, Workspace::UPPER, fill, root, group);
    const auto put = [&](int k, Real x) { ws(Workspace::U + k) = x; };
    lane_products<Real>(ws, rows, [&](int v) { return ws(Workspace::LOWER + ROW_START[v]); }, put, group);
}
