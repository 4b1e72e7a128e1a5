// The distance of two separate convex shapes (Gilbert, Johnson and Keerthi 1988), as in
// engine/kernels/collision/gjk.py.
#pragma once

#include "collision/support.cuh"

namespace gjk {
constexpr int FAR = 0, APART = 1, OVERLAP = 2, ROUNDS = 64;
constexpr double CLOSE = 1e-14;  // relative: difference of the squared distance's bounds
constexpr double TOUCHING = 1e-9;  // relative to the summands: distances without a direction
constexpr double FLAT = 1e-12;  // relative: a tetrahedron's volume
constexpr double SLENDER = 1e-8;  // relative: height below which a triangle's edges are used instead
constexpr double NOWHERE = 1e300;

__device__ __forceinline__ void put(Search& search, int slot, Place x) {
    search.nearest[slot] = x, search.square[slot] = dot(x, x);
}

// The fraction of the way from a to b nearest to the origin.
__device__ __forceinline__ double on_line(Place a, Place b) {
    const Place ab = b - a;
    const double length = dot(ab, ab);
    return length > 0 ? -dot(a, ab) / length : 0;
}

// The point of an edge nearest to the origin, into the slot if nearer than `limit`. Returns the mask of its corners, or
// else `mask`.
__device__ __forceinline__ int edge(Search& search, int i, int j, int slot, int mask, double limit) {
    const Place a = search.w[i], b = search.w[j];
    const double share = on_line(a, b);
    Place x = a + share * (b - a);
    int found = (1 << i) + (1 << j);
    if (share <= 0) x = a, found = 1 << i;
    if (share >= 1) x = b, found = 1 << j;
    if (dot(x, x) < limit) put(search, slot, x), mask = found;
    return mask;
}

// The point of a triangle nearest to the origin, into the slot. Returns the mask of its supporting corners.
__device__ __noinline__ int triangle(Search& search, int i, int j, int k, int slot) {
    const Place a = search.w[i], b = search.w[j], c = search.w[k], ab = b - a, ac = c - a, n = cross(ab, ac);
    const double area = dot(n, n);
    search.square[slot] = NOWHERE;
    if (area > SLENDER * SLENDER * dot(ab, ab) * dot(ac, ac)) {
        // barycentric coordinates of the origin's projection, which is inside if none is negative
        if (dot(n, cross(b, c)) >= 0 && dot(n, cross(c, a)) >= 0 && dot(n, cross(a, b)) >= 0) {
            Place p = dot(b, b) < dot(a, a) ? b : a;
            if (dot(c, c) < dot(p, p)) p = c;
            put(search, slot, (dot(n, p) / area) * n);
            return (1 << i) + (1 << j) + (1 << k);
        }
    }
    int mask = edge(search, i, j, slot, 0, search.square[slot]);
    mask = edge(search, j, k, slot, mask, search.square[slot]);
    return edge(search, k, i, slot, mask, search.square[slot]);
}

// The corners of a tetrahedron's face; the opposite corner has the face's index.
struct Face {
    int i, j, k;
};
__device__ __forceinline__ Face face_of(int face) { return {face == 0 ? 1 : 0, face <= 1 ? 2 : 1, face == 3 ? 2 : 3}; }

// Whether the origin is in the tetrahedron; false for a flat one.
__device__ __forceinline__ bool inside(const Search& search) {
    bool inside = true;
#pragma unroll 1
    for (int face = 0; face < 4; ++face) {
        const Face f = face_of(face);
        const Place a = search.w[f.i], ab = search.w[f.j] - a, ac = search.w[f.k] - a, ad = search.w[face] - a;
        const Place n = cross(ab, ac);
        const double here = -dot(n, a), there = dot(n, ad);
        const bool flat = there * there <= FLAT * FLAT * dot(ab, ab) * dot(ac, ac) * dot(ad, ad);
        inside &= !flat && (here < 0) == (there < 0);
    }
    return inside;
}

// The point of a simplex of `count` points nearest to the origin, into slot 0. Returns the mask of its supporting
// corners, 15 if the origin is inside.
__device__ __noinline__ int reduce(Search& search, int count) {
    if (count == 1) {
        put(search, 0, search.w[0]);
        return 1;
    }
    if (count == 2) return edge(search, 0, 1, 0, 0, NOWHERE);
    if (count == 3) return triangle(search, 0, 1, 2, 0);
    if (inside(search)) return 15;
    int best = 0;
    double square = NOWHERE;
#pragma unroll 1
    for (int face = 0; face < 4; ++face) {
        const Face f = face_of(face);
        const int mask = triangle(search, f.i, f.j, f.k, 1);
        if (search.square[1] < square) best = mask, square = search.square[1], put(search, 0, search.nearest[1]);
    }
    return best;
}

// The normal, the distance and the witness points, from the simplex and its nearest point in slot 0.
__device__ __noinline__ void answer(Search& search, int count) {
    const Place a = search.w[0], v = search.nearest[0];
    Place x = search.x[0];
    if (count == 2) x = x + on_line(a, search.w[1]) * (search.x[1] - x);
    if (count == 3) {
        const Place b = search.w[1], c = search.w[2], n = cross(b - a, c - a);
        const double u = dot(n, cross(b, c)), s = dot(n, cross(c, a)), t = dot(n, cross(a, b)), share = 1 / (u + s + t);
        x = (u * share) * x + (s * share) * search.x[1] + (t * share) * search.x[2];
    }
    search.gap = sqrt(search.square[0]);
    search.n = (1 / search.gap) * v;
    search.one = x, search.other = x - v;
}

// FAR if the shapes, with the first at d, are farther apart than `limit`; APART, with the result in `search`; or
// OVERLAP plus the number of points, less one, of the simplex that contains the origin.
__device__ __noinline__ int closest_points(const Couple& pair, Place d, double limit, Search& search) {
    Place v = d + mul(pair.R[0], pair.shapes.centre(pair.number[0])) - mul(pair.R[1], pair.shapes.centre(pair.number[1]));
    double vv = dot(v, v);
    const double size = sqrt(vv) + pair.bound(0) + pair.bound(1), touching = TOUCHING * TOUCHING * size * size;
    if (vv <= touching) v = {1, 0, 0}, vv = 1;
    int count = 0;
#pragma unroll 1
    for (int turn = 0; turn < ROUNDS; ++turn) {
        const Farthest next = farthest(pair, d, -v, search);
        const double vw = dot(v, next.w);
        if (vw > 0 && vw * vw > vv * limit * limit) return FAR;
        bool known = false;
        for (int k = 0; k < count; ++k)
            known |= search.w[k].x == next.w.x && search.w[k].y == next.w.y && search.w[k].z == next.w.z;
        if (known || (count > 0 && vv - vw <= CLOSE * vv)) break;
        search.w[count] = next.w, search.x[count] = next.x;
        const int mask = reduce(search, count + 1);
        if (mask == 15) return OVERLAP + 3;
        const double before = vv;
        vv = search.square[0], v = search.nearest[0];
        int kept = 0;
        for (int k = 0; k <= count; ++k) {
            if (mask >> k & 1) search.w[kept] = search.w[k], search.x[kept] = search.x[k], ++kept;
        }
        count = kept;
        if (vv <= touching) return OVERLAP + count - 1;
        if (turn > 0 && vv >= before) break;
    }
    answer(search, count);
    return APART;
}
}  // namespace gjk
