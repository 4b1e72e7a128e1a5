// The signed distance and normal of two convex shapes, as in engine/kernels/collision/convex.py.
#pragma once

#include "collision/epa.cuh"

namespace convex {
constexpr double CLOSE = 1e-4;  // relative to the smaller shape: distances with ill-conditioned direction
constexpr double SHIFT = 1e-2;  // relative to the smaller shape: separation in `settle`
constexpr int ROUNDS = 8;
constexpr double SETTLED = 1e-10;  // relative to the smaller shape: smallest gain
constexpr double ALIKE = 1e-5;  // largest angle between a normal and a face's that replaces it
constexpr double ROUNDING = 1e-14;

// Refine an approximate normal of shapes that overlap or nearly touch: separated a little, their closest points are
// well conditioned and give a better normal. `one` becomes the midpoint of the witness points.
__device__ __noinline__ void settle(const Couple& pair, Search& search) {
    const double small = pair.smaller() > 0 ? pair.smaller() : pair.larger();  // a point has no size
    Place best = search.n, middle = {0, 0, 0}, before = {0, 0, 0};
    double gap = gap_along(pair, best, search);
#pragma unroll 1
    for (int turn = 0; turn < ROUNDS; ++turn) {
        const Place shift = (SHIFT * small - gap) * best;
        if (gjk::closest_points(pair, pair.d + shift, 1e300, search) != gjk::APART) break;
        const Place n = search.n, x = search.one - shift;
        double now = gap_along(pair, n, search);
        if (turn == 0 || now > gap) middle = 0.5 * (x + search.other);
        if (now < gap) break;
        const Place change = n - best;
        const double gain = now - gap;
        best = n, gap = now;
        if (gain < SETTLED * small) break;
        const double share = dot(change, before), left = dot(before, before) - share;
        before = change;
        if (share > 0 && left > 0) {  // on curved surfaces the error shrinks by a constant factor; extrapolate
            Place ahead = best + (share / left) * change;
            ahead = (1 / sqrt(dot(ahead, ahead))) * ahead;
            now = gap_along(pair, ahead, search);
            if (now > gap) best = ahead, gap = now, before = {0, 0, 0};
        }
    }
    search.n = best, search.gap = gap, search.one = middle;
}

// The outward normal of a shape's face, or curved surface, nearest to direction e.
__device__ __noinline__ Place face_normal(const Couple& pair, int side, Place e, Search& search) {
    const Turn& R = pair.R[side];
    const Place inside = mul_t(R, e);
    const int kind = pair.kind(side);
    Place n = inside;
    if (kind == solid::BOX) {
        const double x = fabs(inside.x), y = fabs(inside.y), z = fabs(inside.z);
        const bool first = x >= y && x >= z, second = !first && y >= z;
        n = {first ? with_sign(inside.x, 1) : 0, second ? with_sign(inside.y, 1) : 0,
             !first && !second ? with_sign(inside.z, 1) : 0};
    } else if (kind != solid::HULL && kind != solid::SPHERE) {
        const double across = sqrt(inside.x * inside.x + inside.y * inside.y);
        if (across > 0.5) n = {inside.x / across, inside.y / across, 0};
        else if (kind == solid::CYLINDER) n = {0, 0, with_sign(inside.z, 1)};
    } else if (HAS_HULLS && kind == solid::HULL) {
        n = pair.shapes.normal(facing(pair.shapes, side, inside, search));
    }
    return mul(R, n);
}

// Replace the normal by a nearby face's normal if the gap along it is not smaller.
__device__ __forceinline__ void snap(const Couple& pair, Search& search) {
#pragma unroll 1
    for (int side = 0; side < 2; ++side) {
        const Place n = search.n;
        const Place m = side == 0 ? -face_normal(pair, 0, -n, search) : face_normal(pair, 1, n, search), change = m - n;
        if (dot(change, change) < ALIKE * ALIKE) {
            const double along = gap_along(pair, m, search);
            if (along >= search.gap - ROUNDING * pair.larger()) search.n = m, search.gap = along;
        }
    }
}

// Whether shapes are within `reach`. If so, `search` has the normal from the second to the first, the gap, radii
// included, and in `one` the midpoint of the witness points.
__device__ __noinline__ bool signed_distance(const Couple& pair, Search& search) {
    const double radius_a = core_radius(pair, 0), radius_b = core_radius(pair, 1), radii = radius_a + radius_b;
    begin_search(pair, search);
    const int answer = gjk::closest_points(pair, pair.d, pair.reach + radii, search);
    if (answer == gjk::FAR || (answer == gjk::APART && search.gap > pair.reach + radii)) return false;
    if (answer == gjk::APART && search.gap > CLOSE * pair.smaller()) {
        search.one = 0.5 * (search.one + search.other);
    } else {
        if (answer >= gjk::OVERLAP) epa::least_overlap(pair, answer - gjk::OVERLAP + 1, search);
        settle(pair, search);
    }
    snap(pair, search);
    search.one = search.one + (0.5 * (radius_b - radius_a)) * search.n;  // midway between the surfaces
    search.gap -= radii;
    return search.gap <= pair.reach;
}
}  // namespace convex
