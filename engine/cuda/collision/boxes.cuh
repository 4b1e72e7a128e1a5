// The separating axis of two boxes: the axis of largest distance or least overlap. A capsule's axis is a box without
// thickness (Gottschalk, Lin and Manocha 1996). As in engine/kernels/collision/boxes.py.
#pragma once

#include "collision/support.cuh"

namespace boxes {
constexpr double PARALLEL = 1e-12;  // squared sine below which edges count as parallel
constexpr double FACES_FIRST = 1e-10;  // relative to the boxes: preference of face axes over edge axes

__device__ __forceinline__ double component(Place x, int k) { return k == 0 ? x.x : k == 1 ? x.y : x.z; }

// Half the edges of a box, or half a capsule's axis.
__device__ __forceinline__ Place half(const Couple& pair, int side) {
    const Place size = pair.size(side);
    return pair.kind(side) == solid::BOX ? 0.5 * size : Place{0, 0, 0.5 * size.y};
}
// Half the extent of a box along n.
__device__ __forceinline__ double reach(Place n, const Turn& R, Place half) {
    const Place e = mul_t(R, n);
    return half.x * fabs(e.x) + half.y * fabs(e.y) + half.z * fabs(e.z);
}
__device__ __forceinline__ Place axis(const Turn& R, int k) {
    return {component(R.x, k), component(R.y, k), component(R.z, k)};
}

// The axis from the second to the first box, and the gap along it without radii, into `search`.
__device__ __noinline__ void separating_axis(const Couple& pair, Search& search) {
    const Place one = half(pair, 0), other = half(pair, 1);
    const auto gap = [&](Place n, double along) {
        return fabs(along) - reach(n, pair.R[0], one) - reach(n, pair.R[1], other);
    };
    search.gap = -1e30;
#pragma unroll 1
    for (int k = 0; k < 6; ++k) {
        const Place n = axis(pair.R[k / 3], k % 3);
        const double along = dot(pair.d, n), here = gap(n, along);
        if (here > search.gap) search.gap = here, search.n = along >= 0 ? n : -n;
    }
    double least = search.gap + FACES_FIRST * (one.x + one.y + one.z + other.x + other.y + other.z);
#pragma unroll 1
    for (int k = 0; k < 9; ++k) {
        const int i = k / 3, j = k % 3;
        Place n = cross(axis(pair.R[0], i), axis(pair.R[1], j));
        const double area = dot(n, n);
        if (!(component(one, i) > 0 && component(other, j) > 0 && area > PARALLEL)) continue;
        n = (1 / sqrt(area)) * n;
        const double along = dot(pair.d, n), here = gap(n, along);
        if (here > least) least = here, search.gap = here, search.n = along >= 0 ? n : -n;
    }
}
}  // namespace boxes
