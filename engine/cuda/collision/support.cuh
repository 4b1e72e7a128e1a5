// The farthest points of shapes, and of their difference, in a direction: the text of engine/kernels/collision/support.py. Spheres and
// capsules count without their radius.
#pragma once

#include "collision/solids.cuh"

// What the search for the distance of a pair keeps: up to four points w of the difference and the first shape's x of each, places
// of them next to the origin with their squares, which corners of hulls were farthest last, and the answer: the normal from the
// second shape to the first, the gap, the first shape's place and the second's.
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

// Where the search for a hull's farthest corner begins; it goes on from the last one.
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

// The corner of a hull that is farthest along e: from corner to corner, as long as a neighbour is farther.
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

// Of the faces at a hull's corner that is farthest along e, in its own frame, the one that looks most that way.
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

// The point of a shape that is farthest along e, relative to its origin.
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

// The difference's farthest point along e, and the first shape's place there, with that shape at d.
struct Farthest {
    Place w, x;
};
__device__ __forceinline__ Farthest farthest(const Couple& pair, Place d, Place e, Search& search) {
    const Place x = d + farthest_point(pair, 0, e, search);
    return {x - farthest_point(pair, 1, -e, search), x};
}

// How far apart the shapes are along n, negative where they overlap; at most their distance for any n.
__device__ __forceinline__ double gap_along(const Couple& pair, Place n, Search& search) {
    return dot(n, farthest(pair, pair.d, -n, search).w);
}
