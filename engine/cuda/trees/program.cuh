// A warp's program, made by schedule.py: tasks, and barriers with all warps of its group.
#pragma once

#include "trees/stretches.cuh"

// Copy `from` with all lanes of the warp.
template <typename Real, class SubChain>
__device__ __forceinline__ void fetch(const SubChain* from, SubChain& to, int lane) {
    copy<Real>(*from, to, lane);
}

// The sum of the shares of `slot`, a number per lane.
template <typename Real> __device__ __forceinline__ void add_shares(const Tree<Real>& tree, int slot, int lane) {
    constexpr int NUMBERS = sizeof(Share<Real>) / sizeof(Real);
    if (lane >= NUMBERS) return;
    Real* const number = tree.numbers + size_t(SHARE + lane) * tree.stride;
    const int end = tree.first_share[slot + 1];
    Real sum = 0;
#pragma unroll 8
    for (int k = tree.first_share[slot]; k < end; ++k) sum += number[tree.shares[k]];
    number[slot] = sum;
}

template <typename Real>
__device__ __forceinline__ void join_elements(const Tree<Real>& tree, const Workspace<Real>& ws, int one, int two,
                                              int out, int lane) {
    fetch<Real>(tree.elements + one, ws.element[0], lane);
    fetch<Real>(tree.elements + two, ws.element[1], lane);
    join(ws.element[0], ws.element[1], tree.elements[out], ws.scratch, lane);
}
template <typename Real>
__device__ __forceinline__ void join_maps(const Tree<Real>& tree, const Workspace<Real>& ws, int one, int two,
                                          int out, int lane) {
    join(tree.maps[one], tree.maps[two], tree.maps[out], ws.scratch, lane);
}

// One task of a warp: its kind, and a count of bodies or links from `at.y` on; further operands depend on the task.
template <typename Real>
__device__ __forceinline__ void carry_out(const Tree<Real>& tree, const Workspace<Real>& ws, int which, int count,
                                          int4 at, int lane) {
    const bool here = lane < count;
    const int i = at.y + lane;
    switch (which) {
    case task::START: if (here) start(tree, i); break;
    case task::DOUBLE: if (here) double_travel(tree, i, at.z); break;
    case task::ABSORB: if (here) absorb(tree, i); break;
    case task::SUM: add_shares(tree, at.y, lane); break;
    case task::REDUCE: reduce_chunk(tree, ws.link, at.y, count, at.z, lane); break;
    case task::ARTICULATE: articulate_chunk(tree, ws.link, at.y, count, at.z, at.w, lane); break;
    case task::JOIN: join_elements(tree, ws, at.y, at.z, at.w, lane); break;
    case task::JOIN_MAPS: join_maps(tree, ws, at.y, at.z, at.w, lane); break;
    case task::ACCELERATE: if (here) accelerate(tree, i); break;
    case task::ACCELERATE_CHUNK: accelerate_chunk(tree, at.y, count, at.z, at.w, lane); break;
    }
    __syncwarp();
}

// A warp's steps from `k` to the end, where all warps have synchronised; `met()` is called after each barrier between
// rounds.
template <typename Real, class Met>
__device__ __forceinline__ void carry_out_program(const Tree<Real>& tree, const Workspace<Real>& ws,
                                                  const int4* __restrict__ program, int k, int lane, const Met& met) {
    int4 next = program[k];
#pragma unroll 1
    for (++k;; ++k) {
        const int4 now = next;
        const int which = now.x & 15;
        if (which == task::END) break;
        next = program[k];
        if (which == task::MEET) {
            everyone(nullptr);
            met();
        } else {
            carry_out(tree, ws, which, now.x >> 4, now, lane);
        }
    }
    everyone(nullptr);
}
