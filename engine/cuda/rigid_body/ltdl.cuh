// The joint-space inertia matrix of one robot by one thread, M = Lᵀ D L along the paths to the root (Featherstone 2005;
// 2008, table 6.3): without fill-in between branches, and without computing zeros.
//
// joint_space.py has the layout of a row: its right-hand side, then the entries for the velocities of its path, from
// the root on; the right-hand side is eliminated like an entry. `first` is a matrix's first slot.
#pragma once

#include "rigid_body/rnea_crba.cuh"

// The offset of row k's diagonal entry.
__device__ __forceinline__ int diagonal(int k) { return ROW_START[k] + ROW_LEVEL[k]; }

// The entries of M for one pair of bodies, from composite_bodies; with mimic joints the sum of those of CᵀMC.
template <typename Real, class Memory>
__device__ __forceinline__ void enter(const Memory& at, int first, int i, int c, int j, const Force<Real>& F) {
    const int row = v_start(i) + c;
    along_axes(j, F, [&](int r, Real value) {
        if (i == j && r > c) return;
        const int column = v_start(j) + r;
        if constexpr (HAS_MIMIC) {
            const Real share = own_rate(i, own_rate(j, value)), times = i != j && row == column ? 2 : 1;
            at(first + ROW_START[max(row, column)] + ROW_LEVEL[min(row, column)]) += times * share;
        } else {
            at(first + ROW_START[row] + ROW_LEVEL[column]) = value;
        }
    });
}

// Zero all entries of a matrix, of which not all are written where rows have more than the paths of the tree.
template <class Memory> __device__ __forceinline__ void clear(const Memory& at, int first) {
#pragma unroll 1
    for (int k = 0; k < NV; ++k)
        for (int e = 1; e <= ROW_LEVEL[k]; ++e) at(first + ROW_START[k] + e) = 0;
}

// Compute M into the matrix, without the right-hand side.
template <typename Real, class Memory, class Robot>
__device__ __forceinline__ void assemble(const Memory& at, int first, const Robot& robot) {
    if constexpr (HAS_MIMIC) clear(at, first);
    composite_bodies<Real>(at, robot, [&](int i, int c, int j, const Force<Real>& F) { enter(at, first, i, c, j, F); });
}

// Subtract row k from two rows at once, those of velocity i, before it on the path, and of j, before i: l_i and l_j
// times its entries up to e and e − 1, which are those of i and j.
template <typename Real, class Memory>
__device__ __forceinline__ void subtract(const Memory& at, int row, int i, int j, int e, Real l_i, Real l_j) {
    constexpr int AT_ONCE = 4;
#pragma unroll 1
    for (int from = 0; from < e; from += AT_ONCE) {
        Real x[AT_ONCE], y[AT_ONCE];
#pragma unroll
        for (int n = 0; n < AT_ONCE; ++n) {
            if (from + n >= e) continue;
            const Real entry = at(row + from + n);
            x[n] = at(i + from + n) - l_i * entry;
            y[n] = at(j + from + n) - l_j * entry;
        }
#pragma unroll
        for (int n = 0; n < AT_ONCE; ++n) {
            if (from + n < e) at(i + from + n) = x[n], at(j + from + n) = y[n];
        }
    }
    at(i + e) -= l_i * at(row + e);
}

// L and 1/D in place of M, and M⁻¹ b in place of the right-hand side b.
template <typename Real, class Memory> __device__ __forceinline__ void factor_and_solve(const Memory& at, int first) {
#pragma unroll 1
    for (int k = NV - 1; k >= 0; --k) {
        const int row = first + ROW_START[k], level = ROW_LEVEL[k];
        const Real inverse = inverse_pivot<Real>(at(row + level));
        at(row + level) = inverse;
#pragma unroll 1
        for (int i = ROW_PARENT[k], e = level - 1; i >= 0; e -= 2) {
            const int j = ROW_PARENT[i];
            const Real entry = at(row + e), l_i = entry * inverse;
            if (j < 0) {  // i is the root: e = 1
                at(first + ROW_START[i]) -= l_i * at(row);
                at(first + ROW_START[i] + 1) -= l_i * entry;
                at(row + e) = l_i;
                break;
            }
            const Real l_j = at(row + e - 1) * inverse;
            subtract(at, row, first + ROW_START[i], first + ROW_START[j], e, l_i, l_j);
            at(row + e) = l_i, at(row + e - 1) = l_j;
            i = ROW_PARENT[j];
        }
    }
#pragma unroll 1
    for (int k = 0; k < NV; ++k) {
        const int row = first + ROW_START[k], level = ROW_LEVEL[k];
        Real x = at(row) * at(row + level);
#pragma unroll 4
        for (int i = ROW_PARENT[k], e = level - 1; i >= 0; i = ROW_PARENT[i], --e)
            x -= at(row + e) * at(first + ROW_START[i]);
        at(row) = x;
    }
}
