// The tree passes of one robot by LANES adjacent threads, each with a limb: a range of bodies below the first one,
// whose joint is free. All other joints have one coordinate. engine/cuda/rigid_body/limbs.py selects the limbs.
#pragma once

#include "rigid_body/group.cuh"
#include "rigid_body/ltdl.cuh"

// f(i) for the trunk by the first lane, then for each lane's own bodies, outwards; and inwards.
template <class F> __device__ __forceinline__ void outwards(const Group& group, const F& f) {
    group.sync();
    if (group.rank == 0) f(0);
    group.sync();
    EACH_BODY
    for (int i = LIMB_FIRST[group.rank]; i < LIMB_FIRST[group.rank + 1]; ++i) f(i);
}
template <class F> __device__ __forceinline__ void inwards(const Group& group, const F& f) {
    EACH_BODY
    for (int i = LIMB_FIRST[group.rank + 1] - 1; i >= LIMB_FIRST[group.rank]; --i) f(i);
    group.sync();
    if (group.rank == 0) f(0);
    group.sync();
}
// Whether body i reads its parent's results from memory, since the previous body is not its parent.
__device__ __forceinline__ bool starts(int i) { return parent(i) != i - 1 || i == 1; }
// The velocities of the trunk, then those of the limbs, one for each body.
constexpr int TRUNK_NV = 6;
__device__ __forceinline__ int limb_velocity(int body) { return body + TRUNK_NV - 1; }

// The bodies for `bias`: each lane's own, after the trunk.
struct LimbBodies {
    const Group& group;

    template <class F> __device__ __forceinline__ void operator()(const F& f) const { outwards(group, f); }
    __device__ __forceinline__ bool reads_parent(int i) const { return starts(i); }
};

// The composite body at a joint, with its wrench.
template <typename Real> struct Load {
    Body<Real> J;
    Force<Real> F;

    static constexpr int NUMBERS = 16;
};
template <typename Real> __device__ __forceinline__ Load<Real> operator+(const Load<Real>& a, const Load<Real>& b) {
    return {a.J + b.J, a.F + b.F};
}
template <typename Real, class Memory> __device__ __forceinline__ Load<Real> load_at(const Memory& at, int slot) {
    return {load_body<Real>(at, slot), at.force(slot + 10)};
}
template <typename Real, class Memory>
__device__ __forceinline__ void put_load(const Memory& at, int slot, const Load<Real>& x) {
    at(slot) = x.J.m, at.store(slot + 1, x.J.h), at.store(slot + 4, x.J.I), at.store(slot + 10, x.F);
}

// [Y] (2c), (2d) and M from the tips, like `forces` and `composite_bodies`: take(k, τ) for velocity k, enter(i, c, j,
// F) for the entries of M. Limbs pass their loads to the trunk in `ws`, from slot `loads` on.
template <typename Real, class Memory, class Workspace, class Robot, class Take, class Enter>
__device__ __forceinline__ void limb_loads(const Memory& at, const Workspace& ws, int loads, const Robot& robot,
                                           const Group& group, const Take& take, const Enter& enter) {
    const int own_slot = loads + Load<Real>::NUMBERS * group.rank;
    Load<Real> L = {};
    put_load(ws, own_slot, L);
    inwards(group, [&](int i) {
        const int above = parent(i);
        const Load<Real> own = {robot.body(i), at.force(first_slot(i) + (kind(i) == FREE ? FREE_WRENCH : WRENCH))};
        L = i > 0 && continues(i) ? L + own : own;
        if (i == 0) {
            for (int n = 0; n < LANES; ++n) L = L + load_at<Real>(ws, loads + Load<Real>::NUMBERS * n);
        } else if (branches(i)) {
            L = L + load_at<Real>(at, branch_slot(i));
        }
        along_axes(i, L.F, [&](int j, Real force) { take(v_start(i) + j, force); });
#pragma unroll 1
        for (int c = 0; c < (kind(i) == FREE ? 6 : 1); ++c) {
            Force<Real> F = column(L.J, kind(i), c);
            enter(i, c, i, F);
#pragma unroll 1
            for (int j = i; parent(j) >= 0;) {
                F = force_to_parent(pose<Real>(j, at, robot), F);
                j = parent(j);
                enter(i, c, j, F);
            }
        }
        if (above < 0) return;
        const Pose<Real> T = pose<Real>(i, at, robot);
        L = {body_to_parent(T, L.J), force_to_parent(T, L.F)};
        if (above == 0) put_load(ws, own_slot, L + load_at<Real>(ws, own_slot));
        else if (above != i - 1)
            put_load(at, branch_slot(above), is_last(i) ? L : L + load_at<Real>(at, branch_slot(above)));
    });
}

// L and 1/D in place of M, and M⁻¹ b in place of b, like `factor_and_solve`.
template <typename Real, class Memory>
__device__ __forceinline__ void limb_factor_and_solve(const Memory& at, int first, const Group& group) {
    const int from = limb_velocity(LIMB_FIRST[group.rank]), end = limb_velocity(LIMB_FIRST[group.rank + 1]);
    // Row k from those of the velocities at levels above `least`; its entries up to there are unchanged.
    const auto eliminate = [&](int k, int least) {
        const int row = first + ROW_START[k], level = ROW_LEVEL[k];
        const Real inverse = inverse_pivot<Real>(at(row + level));
        at(row + level) = inverse;
#pragma unroll 1
        for (int e = level - 1; e > least; --e) {
            const int other = first + ROW_START[PATH[k * DEPTH + e - 1]];
            const Real l = at(row + e) * inverse;
#pragma unroll 4
            for (int n = 0; n <= e; ++n) at(other + n) -= l * at(row + n);
            at(row + e) = l;
        }
    };
#pragma unroll 1
    for (int k = end - 1; k >= from; --k) eliminate(k, TRUNK_NV);
    group.sync();
    // The limbs' contributions to the rows of the trunk, which are contiguous.
    const int numbers = ROW_START[TRUNK_NV];
#pragma unroll 1
    for (int e = group.rank; e < numbers; e += LANES) {
        int level = 1;
#pragma unroll
        for (int t = 1; t < TRUNK_NV; ++t) level += e >= ROW_START[t];
        const int n = e - ROW_START[level - 1];
        Real total = at(first + e);
#pragma unroll 4
        for (int k = TRUNK_NV; k < NV; ++k) {
            const int row = first + ROW_START[k];
            total -= at(row + level) * at(row + ROW_LEVEL[k]) * at(row + n);
        }
        at(first + e) = total;
    }
    group.sync();
    for (int k = from; k < end; ++k) {
        const int row = first + ROW_START[k];
        const Real inverse = at(row + ROW_LEVEL[k]);
#pragma unroll
        for (int e = 1; e <= TRUNK_NV; ++e) at(row + e) *= inverse;
    }
    const auto solve = [&](int k) {
        const int row = first + ROW_START[k], level = ROW_LEVEL[k];
        Real x = at(row) * at(row + level);
#pragma unroll 4
        for (int e = 1; e < level; ++e) x -= at(row + e) * at(first + ROW_START[PATH[k * DEPTH + e - 1]]);
        at(row) = x;
    };
    if (group.rank == 0) {
#pragma unroll 1
        for (int k = TRUNK_NV - 1; k >= 0; --k) eliminate(k, 0);
#pragma unroll 1
        for (int k = 0; k < TRUNK_NV; ++k) solve(k);
    }
    group.sync();
#pragma unroll 1
    for (int k = from; k < end; ++k) solve(k);
    group.sync();
}
