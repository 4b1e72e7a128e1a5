// The threads that work on a robot's contacts: the lanes of a warp on one robot after the other, since few robots need
// the solver. A lane's writes are visible to the others after `sync`. Every number is
// computed by one lane, or by all alike, so that results do not depend on the number of lanes.
#pragma once

struct Team {
    unsigned lanes;
    int rank, size;

    __device__ __forceinline__ explicit Team(unsigned lanes)
        : lanes(lanes), rank(__popc(lanes & ((1u << threadIdx.x % 32) - 1))), size(__popc(lanes)) {}
    __device__ __forceinline__ void sync() const { __syncwarp(lanes); }
    // The maximum of x over the lanes; NaN if any is NaN.
    template <typename Real> __device__ __forceinline__ Real max(Real x) const {
        Real most = x;
        for (unsigned left = lanes; left; left &= left - 1) {
            const Real other = __shfl_sync(lanes, x, __ffs(left) - 1);
            if (other > most || !(other == other)) most = other;
        }
        return most;
    }
    template <typename Real> __device__ __forceinline__ Real max_nonnegative(Real x) const { return max(x); }
};
