// Newton steps on the law in the space of velocities, by a whole warp: neither G nor a factor of it is made.
//
// A contact or a joint that sticks has Ω du + dλ = c with a great Ω, the inverse of what Newton's matrix has beside G (see
// contact_rounds.cuh); one that is open or slides has dλ = c. With du = W dy and D dy = Wᵀ dλ,
//
//     (D + Wᵀ Ω W) dy = Wᵀ c,
//
// whose matrix has entries where M has some, for all rows lie on paths: it is factored as M is. Of a contact that slides the
// friction's share that follows the normal impulse is left to the next step, so that the matrix is symmetric.
#pragma once

#include "constraints/contact_rows.cuh"

// Steps of a round, and rounds with a sweep after each, before the solver is asked.
constexpr int STEPS_BY_PATHS = 3, ROUNDS_BY_PATHS = 8;
// Whether the first step takes the sets of the step before. In double precision a sweep comes before it, as on the CPU.
template <typename Real> constexpr bool SAME_SETS = sizeof(Real) == 4;
// What stands beside G, times 1/r, or the residual if that is more: of what is less, rounding would leave too little.
template <typename Real> constexpr Real REGULAR_BY_PATHS = sizeof(Real) == 8 ? REGULAR<Real> : 1e-3;
// The share of what friction can hold at which an impulse has come to it.
constexpr double AT_BOUND = 0.9999;
// The residual after a sweep above which double precision leaves the step to the solver: where much slips at once the law has
// several solutions, and the CPU's is asked for.
constexpr double FAR_OFF = 1e-2;

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

// HALF ← D⁻¹ Wᵀ λ.
template <typename Real, class Room>
__device__ __forceinline__ void lane_half(const Room& room, const RowsOf& rows, const Group& group) {
    group.sync();
#pragma unroll 1
    for (int v = group.rank; v < NV; v += LANES) {
        const RowRange range(room, rows, v);
        const int column = Room::W + ROW_LEVEL[v] - 1;
        Real total = 0;
#pragma unroll 3
        for (int k = 3 * range.contact; k < 3 * range.contact_end; ++k) total += room(column + k * DEPTH) * room(Room::TRIED + k);
#pragma unroll 4
        for (int k = range.joint; k < range.joint_end; ++k) total += room(column + k * DEPTH) * room(Room::TRIED + k);
        room(Room::HALF + v) = total * room(Room::FACTOR + diagonal(v));
    }
    group.sync();
}

// Ω and c of a contact: Ω_nn, Ω₁₁, Ω₁₂, Ω₂₂.
template <typename Real> struct Resistance {
    Real normal, xx, xy, yy;
};

// Ω and c of all rows, in their slots, as the sets of the present iterate say. Where they are `kept`, what opened, slipped or slid
// when the impulses were found does so still.
template <typename Real, class Room>
__device__ __forceinline__ void resistances(const System<Real, Room>& system, Real regular, bool kept, const Group& group) {
    const Room& room = system.room;
    const auto omega = [&](int k) -> Real& { return room(Room::OMEGA + k); };
    const auto c = [&](int k) -> Real& { return room(Room::TARGET + k); };
#pragma unroll 1
    for (int i = group.rank; i < system.contacts; i += LANES) {
        const int k = 3 * i;
        const Real size = system.size(k), r = 1 / size, mu = system.mu(i), stiff = r / regular;
        const Vector<Real> x = {system.impulse(k), system.impulse(k + 1), system.impulse(k + 2)};
        const Vector<Real> u = {system.u(k), system.u(k + 1), system.u(k + 2)}, z = x - r * u;
        const Real t = sqrt(z.y * z.y + z.z * z.z), t_before = sqrt(x.y * x.y + x.z * x.z);
        const bool open = kept ? x.x <= 0 : z.x <= 0, slips = t > mu * z.x && (!kept || (z.x > 0 && t_before >= Real(AT_BOUND) * mu * x.x));
        Resistance<Real> is = {stiff, stiff, 0, stiff};
        Vector<Real> aim = -stiff * u;
        if (open) {
            is = {}, aim = -x;
        } else if (slips) {
            const Real e = z.y / t, f = z.z / t, disk = mu * z.x, curve = disk / t, across = 1 / (1 - (1 - regular) * curve);
            const Real turning = r * curve * across, along = disk - (e * x.y + f * x.z), aside = (f * x.y - e * x.z) * across;
            is = {stiff, turning * f * f, -turning * e * f, turning * e * e};
            aim.y = along * e - aside * f, aim.z = along * f + aside * e;
        }
        omega(k) = is.normal, omega(k + 1) = is.xx, omega(k + 2) = is.yy, room(Room::SHEAR + i) = is.xy;
        c(k) = aim.x, c(k + 1) = aim.y, c(k + 2) = aim.z;
    }
#pragma unroll 1
    for (int k = 3 * system.contacts + group.rank; k < system.rows(); k += LANES) {
        const int j = k - 3 * system.contacts;
        const Real g = system.own(k), u = system.u(k), impulse = system.impulse(k), y = u - g * impulse;
        const Real f = system.law(j, 0), low = system.law(j, 1), high = system.law(j, 2), p = joint_law(y, g * f, low, high);
        const bool within = low < p && p < high;
        const bool slides = within && (kept ? f > 0 && fabs(impulse) >= Real(AT_BOUND) * f : fabs(y) > g * f);
        const Real stiff = 1 / (regular * g);
        omega(k) = slides ? Real(0) : stiff, c(k) = slides ? ((kept ? -impulse : y) > 0 ? -f : f) - impulse : stiff * (p - u);
    }
    group.sync();
}

// Entry n of row v of D + Wᵀ Ω W, or of Wᵀ c where n is nought; `level` is v's.
template <typename Real, class Room>
__device__ __forceinline__ Real newton_entry(const Room& room, const RowsOf& rows, int v, int level, int n) {
    const RowRange range(room, rows, v);
    const int column = Room::W + level - 1, other = Room::W + n - 1;
    Real total = n == level ? 1 / room(Room::FACTOR + diagonal(v)) : Real(0);
    if (n == 0) {
#pragma unroll 3
        for (int k = 3 * range.contact; k < 3 * range.contact_end; ++k) total += room(column + k * DEPTH) * room(Room::TARGET + k);
#pragma unroll 4
        for (int k = range.joint; k < range.joint_end; ++k) total += room(column + k * DEPTH) * room(Room::TARGET + k);
        return total;
    }
#pragma unroll 1
    for (int i = range.contact; i < range.contact_end; ++i) {
        const int k = 3 * i;
        const Real x = room(column + k * DEPTH), y = room(column + (k + 1) * DEPTH), z = room(column + (k + 2) * DEPTH);
        const Real yz = room(Room::SHEAR + i);
        total += room(Room::OMEGA + k) * x * room(other + k * DEPTH);
        total += (room(Room::OMEGA + k + 1) * y + yz * z) * room(other + (k + 1) * DEPTH);
        total += (yz * y + room(Room::OMEGA + k + 2) * z) * room(other + (k + 2) * DEPTH);
    }
#pragma unroll 4
    for (int k = range.joint; k < range.joint_end; ++k)
        total += room(column + k * DEPTH) * room(Room::OMEGA + k) * room(other + k * DEPTH);
    return total;
}

// A step from the present iterate, of which `left` is the residual; its dλ stands in TARGET, HALF is that of the new iterate.
template <typename Real, class Room> __device__ __noinline__ void step_by_paths(Room room, RowsOf rows, Real left, bool kept,
                                                                           Group group) {
    const auto system = rows.system<Real>(room);
    resistances(system, fmax(REGULAR_BY_PATHS<Real>, left), kept, group);
    lane_factor_and_solve<Real>(
        room, Room::NEWTON, [&](int v, int level, int n) { return newton_entry<Real>(room, rows, v, level, n); }, group);
#pragma unroll 1
    for (int k = group.rank; k < rows.all(); k += LANES) {  // du
        const int tip = rows.tip(room, k);
        Real total = 0;
#pragma unroll 4
        for (int l = 0; l < ROW_LEVEL[tip]; ++l)
            total += room(Room::W + k * DEPTH + l) * room(Room::NEWTON + ROW_START[PATH[tip * DEPTH + l]]);
        system.u(k) = total;
    }
    group.sync();
#pragma unroll 1
    for (int k = group.rank; k < rows.all(); k += LANES) {
        const int i = k / 3, which = k % 3;
        Real d = room(Room::TARGET + k) - room(Room::OMEGA + k) * system.u(k);
        if (k < 3 * system.contacts && which > 0) d -= room(Room::SHEAR + i) * system.u(which == 1 ? k + 1 : k - 1);
        system.impulse(k) += d;
        room(Room::TARGET + k) = d;
    }
    lane_half<Real>(room, rows, group);
}

// Newton steps and sweeps from the present iterate, of which `left` is the residual; answers what the best of all leaves, which is
// the present one then. A step may throw the iterate off, when the sets are not right: the next sweep catches it.
template <typename Real, class Room>
__device__ __forceinline__ Real rounds_by_paths(const Room& room, const RowsOf& rows, Real left, const Group& group) {
    const auto system = rows.system<Real>(room);
    const int n = rows.all();
    Real least = left;
    const auto keep = [&] {
        for (int k = group.rank; k < n; k += LANES) room.far(Room::BEST + k) = system.impulse(k);
    };
    const auto judge = [&] {
        left = residual_by_paths<Real>(room, rows, group);
        if (left < least) least = left, keep();
    };
    if (!(left <= CONTACT_TOLERANCE<Real>)) keep();
#pragma unroll 1
    for (int turn = 0; turn < ROUNDS_BY_PATHS && !(least <= (turn < 2 ? CONTACT_TOLERANCE<Real> : BEARABLE<Real>)); ++turn) {
        for (int k = !SAME_SETS<Real> && turn == 0 ? 0 : 1; k < (turn > 0) + 1; ++k) {
            sweep_by_paths<Real>(room, rows, group, true);
            judge();
        }
        if (!SAME_SETS<Real> && left > Real(FAR_OFF)) break;
        Real before = UNKNOWN;
#pragma unroll 1
        for (int k = 0; k < STEPS_BY_PATHS && !(least <= CONTACT_TOLERANCE<Real> || left >= before); ++k) {
            before = left;
            step_by_paths<Real>(room, rows, left, SAME_SETS<Real> && turn == 0 && k == 0, group);
            judge();
        }
    }
    if (left != least) {
        group.sync();
        for (int k = group.rank; k < n; k += LANES) system.impulse(k) = room.far(Room::BEST + k);
        lane_half<Real>(room, rows, group);
        residual_by_paths<Real>(room, rows, group);
    }
    return least;
}
