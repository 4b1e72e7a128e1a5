// What a change of impulses takes, in the space of velocities, by a whole warp: neither G nor a factor of it is made.
//
// Each contact, and each joint row, answers a change of velocities by dλ = c − Ω du. With du = W dy and D dy = Wᵀ dλ,
//
//     (D + Wᵀ Ω W) dy = Wᵀ c,
//
// whose matrix has entries where M has some, for all rows lie on paths: it is factored along them, too. As Ω is no symmetric matrix
// where friction follows the normal impulse, that one is none either.
#pragma once

#include "constraints/contact_rows.cuh"

// Which contacts and joint rows lie on paths through each velocity: those from the first of v up to that of the end of what hangs
// on it, as both are in the order of the velocities at which their paths begin.
template <typename Real, class Room>
__device__ __forceinline__ void note_rows(const Room& room, const RowsOf& rows, const Group& group) {
    const bool all = rows.joints == NV - 6;
#pragma unroll 1
    for (int v = group.rank; v <= NV; v += LANES) {
        int contacts = 0, joints = all ? max(v - 6, 0) : 0;
        for (int i = 0; i < rows.count; ++i) contacts += SHAPE_TIP[shape_of(room, i)] < v;
        for (int j = 0; j < (all ? 0 : rows.joints); ++j) joints += int(room(Room::JOINT_OF + j)) < v;
        room(Room::FIRST_CONTACT + v) = Real(contacts), room(Room::FIRST_JOINT + v) = Real(joints);
    }
    group.sync();
}
struct RowRange {
    int contact, contact_end, joint, joint_end;  // joint rows by their number of all rows

    template <class Room>
    __device__ __forceinline__ RowRange(const Room& room, const RowsOf& rows, int v)
        : contact(int(room(Room::FIRST_CONTACT + v))), contact_end(int(room(Room::FIRST_CONTACT + END_OF_SUBTREE[v]))),
          joint(rows.first_joint() + int(room(Room::FIRST_JOINT + v))),
          joint_end(rows.first_joint() + int(room(Room::FIRST_JOINT + END_OF_SUBTREE[v]))) {}
};

// Wᵀ x at velocity v, x standing from slot `from` on.
template <typename Real, class Room>
__device__ __forceinline__ Real gathered(const Room& room, const RowRange& range, int level, int from) {
    const int column = Room::W + level - 1;
    Real total = 0;
#pragma unroll 3
    for (int k = 3 * range.contact; k < 3 * range.contact_end; ++k) total += room(column + k * DEPTH) * room(from + k);
#pragma unroll 4
    for (int k = range.joint; k < range.joint_end; ++k) total += room(column + k * DEPTH) * room(from + k);
    return total;
}

// HALF ← D⁻¹ Wᵀ λ.
template <typename Real, class Room>
__device__ __forceinline__ void lane_half(const Room& room, const RowsOf& rows, const Group& group) {
    group.sync();
#pragma unroll 1
    for (int v = group.rank; v < NV; v += LANES) {
        const Real total = gathered<Real>(room, RowRange(room, rows, v), ROW_LEVEL[v], Room::TRIED);
        room(Room::HALF + v) = total * room(Room::FACTOR + diagonal(v));
    }
    group.sync();
}

// Ω and c of a contact; `plain`: Ω is a multiple of 1.
template <typename Real> struct Resistance {
    Matrix<Real> omega;
    Vector<Real> c;
    bool plain;
};
template <typename Real, class Room> __device__ __forceinline__ Matrix<Real> resistance(const Room& room, int i) {
    const int slot = Room::RESISTANCE + 10 * i;
    return {room.vector(slot), room.vector(slot + 3), room.vector(slot + 6)};
}
template <typename Real, class Room>
__device__ __forceinline__ void put_resistance(const Room& room, int i, const Resistance<Real>& is) {
    const int slot = Room::RESISTANCE + 10 * i;
    room.store(slot, is.omega.x), room.store(slot + 3, is.omega.y), room.store(slot + 6, is.omega.z);
    room(slot + 9) = is.plain;
    room.store(Room::TARGET + 3 * i, is.c);
}

// Entry n of row v of D + Wᵀ Ω W and of its column, `level` being v's; where n is nought what stands there.
template <typename Real, class Room>
__device__ __forceinline__ Entries<Real> path_entry(const Room& room, const RowsOf& rows, int v, int level, int n) {
    if (n == 0) return {room(Room::LOWER + ROW_START[v])};
    const RowRange range(room, rows, v);
    const Real D = n == level ? 1 / room(Room::FACTOR + diagonal(v)) : Real(0);
    Entries<Real> total = {D, D};
#pragma unroll 1
    for (int i = range.contact; i < range.contact_end; ++i) {
        const int row = Room::W + 3 * i * DEPTH - 1;
        const auto three = [&](int l) { return Vector<Real>{room(row + l), room(row + DEPTH + l), room(row + 2 * DEPTH + l)}; };
        const Vector<Real> x = three(level), y = three(n);
        const int slot = Room::RESISTANCE + 10 * i;
        if (room(slot + 9) != 0) {
            const Real both = room(slot) * dot(x, y);
            total.lower += both, total.upper += both;
        } else {
            const Matrix<Real> omega = resistance<Real>(room, i);
            total.lower += dot(x, mul(omega, y)), total.upper += dot(y, mul(omega, x));
        }
    }
    Real joints = 0;
#pragma unroll 4
    for (int k = range.joint; k < range.joint_end; ++k) {
        const int row = Room::W + k * DEPTH - 1;
        joints += room(row + level) * room(Room::DAMPING + k - rows.first_joint()) * room(row + n);
    }
    return {total.lower + joints, total.upper + joints};
}

// U ← W dy with (D + Wᵀ Ω W) dy = Wᵀ c − share D y, where Ω and c stand; dy stands where the right-hand side of LOWER does.
template <typename Real, class Room> __device__ __noinline__ void solve_by_paths(Room room, RowsOf rows, Real share, Group group) {
    room.tell_memory();
#pragma unroll 1
    for (int v = group.rank; v < NV; v += LANES) {
        const Real c = gathered<Real>(room, RowRange(room, rows, v), ROW_LEVEL[v], Room::TARGET);
        room(Room::LOWER + ROW_START[v]) = c - share * room(Room::HALF + v) / room(Room::FACTOR + diagonal(v));
    }
    group.sync();
    const auto entry_of = [&](int v, int level, int n) { return path_entry<Real>(room, rows, v, level, n); };
    lane_factor_and_solve<Real, false>(room, Room::LOWER, Room::UPPER, entry_of, group);
#pragma unroll 1
    for (int k = group.rank; k < rows.all(); k += LANES) {
        const int tip = rows.tip(room, k);
        Real total = 0;
#pragma unroll 4
        for (int l = 0; l < ROW_LEVEL[tip]; ++l)
            total += room(Room::W + k * DEPTH + l) * room(Room::LOWER + ROW_START[PATH[tip * DEPTH + l]]);
        room(Room::U + k) = total;
    }
    group.sync();
}
