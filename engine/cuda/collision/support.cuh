// Support functions of shapes and of their difference, as in engine/kernels/collision/support.py. Radii of spheres and
// capsules are left out.
#pragma once

#include "collision/solids.cuh"

// The state of a distance query: up to four points w of the difference and the first shape's x of each; candidate
// points nearest to the origin and their squares; the last support corners of hulls; and the result: the normal from
// the second shape to the first, the gap, and the witness points.
struct Search {
    Place w[4], x[4], nearest[2];
    double square[2];
    int farthest[2];
    Place n;
    double gap;
    Place one, other;
};

__device__ __forceinline__ double core_radius(const Couple& pair, int side) {
    return pair.kind(side) <= solid::CAPSULE ? pair.size(side).x : 0;
}

// Initial support corners of hulls; each search starts from the last one.
__device__ __forceinline__ void begin_search(const Couple& pair, Search& search) {
    for (int side = 0; side < 2; ++side) {
        search.farthest[side] = 0;
        if (HAS_HULLS && pair.kind(side) == solid::HULL) {
            const Solids& shapes = pair.shapes;
            const int face = shapes.whole(solid_at::FIRST_FACE, pair.number[side]);
            search.farthest[side] = shapes.whole(solid_at::LOOP, shapes.whole(solid_at::FIRST_LOOP, face));
        }
    }
}

// The support corner of a hull along e, by hill climbing over neighbours.
__device__ __noinline__ int farthest_corner(const Solids& shapes, int best, Place e) {
    double most = dot(shapes.vertex(best), e);
    int here = -1;
#pragma unroll 1
    while (here != best) {
        here = best;
        const int end = shapes.whole(solid_at::FIRST_NEIGHBOUR, here + 1);
#pragma unroll 1
        for (int k = shapes.whole(solid_at::FIRST_NEIGHBOUR, here); k < end; ++k) {
            const int v = shapes.whole(solid_at::NEIGHBOUR, k);
            const double along = dot(shapes.vertex(v), e);
            if (along > most) best = v, most = along;
        }
    }
    return best;
}

// The face of a hull whose normal is nearest to e (in its own frame), among those at the support corner.
__device__ __noinline__ int facing(const Solids& shapes, int side, Place e, Search& search) {
    const int v = search.farthest[side] = farthest_corner(shapes, search.farthest[side], e);
    int best = -1;
    double most = -2;
#pragma unroll 1
    for (int k = shapes.whole(solid_at::FIRST_FACE_AT, v); k < shapes.whole(solid_at::FIRST_FACE_AT, v + 1); ++k) {
        const int face = shapes.whole(solid_at::FACE_AT, k);
        const double along = dot(shapes.normal(face), e);
        if (along > most) best = face, most = along;
    }
    return best;
}

__device__ __forceinline__ double with_sign(double x, double half) { return x >= 0 ? half : -half; }

// The support point of a shape in direction `along`, relative to its origin.
__device__ __noinline__ Place farthest_point(const Couple& pair, int side, Place along, Search& search) {
    const Turn& R = pair.R[side];
    const Place e = mul_t(R, along), size = pair.size(side);
    const int kind = pair.kind(side);
    Place x = {0, 0, 0};
    if (kind == solid::CAPSULE) {
        x.z = with_sign(e.z, 0.5 * size.y);
    } else if (kind == solid::BOX) {
        x = {with_sign(e.x, 0.5 * size.x), with_sign(e.y, 0.5 * size.y), with_sign(e.z, 0.5 * size.z)};
    } else if (kind == solid::CYLINDER) {
        const double across = sqrt(e.x * e.x + e.y * e.y), share = across > 0 ? size.x / across : 0;
        x = {share * e.x, share * e.y, with_sign(e.z, 0.5 * size.y)};
    } else if (HAS_HULLS && kind == solid::HULL) {
        search.farthest[side] = farthest_corner(pair.shapes, search.farthest[side], e);
        x = pair.shapes.vertex(search.farthest[side]);
    }
    return mul(R, x);
}

// The support point of the difference along e, and the first shape's point there, with that shape at d.
struct Farthest {
    Place w, x;
};
__device__ __forceinline__ Farthest farthest(const Couple& pair, Place d, Place e, Search& search) {
    const Place x = d + farthest_point(pair, 0, e, search);
    return {x - farthest_point(pair, 1, -e, search), x};
}

// The gap of the shapes along n, negative where they overlap; a lower bound of their distance for any n.
__device__ __forceinline__ double gap_along(const Couple& pair, Place n, Search& search) {
    return dot(n, farthest(pair, pair.d, -n, search).w);
}
