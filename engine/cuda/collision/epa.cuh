// The penetration direction of two overlapping convex shapes by the expanding polytope algorithm (van den Bergen 2001),
// as in engine/kernels/collision/epa.py. The polytope's vertices and triangles are in the pair's workspace.
#pragma once

#include "collision/gjk.cuh"

namespace epa {
constexpr int VERTICES = 96, TRIANGLES = 224;  // of a polytope, at most
constexpr double ENOUGH = 1e-6;  // relative to the smaller shape: distance of surface and polytope at convergence
constexpr double VISIBLE = 1e-12;  // relative to the summands
constexpr double FOLDED = 1e-8;  // relative to the summands: above the origin's distance where shapes just touch
constexpr double THIN = 1e-10;  // relative: lengths, areas and volumes that count as zero
constexpr double NEVER = 1e300;
// The offsets of vertices, of triangles' normals, offsets and corners, and of edges of a hole's rim.
constexpr int VERTEX = 0, TRIANGLE = VERTEX + 3 * VERTICES, OF = TRIANGLE + 4 * TRIANGLES, RIM = OF + 3 * TRIANGLES,
              SIZE = RIM + 2 * TRIANGLES;
static_assert(SIZE <= WORK_SLOTS, "what contacts.py makes room for");

__device__ __forceinline__ Place vertex(const Couple& pair, int k) { return pair.work.vector(VERTEX + 3 * k); }
__device__ __forceinline__ int corner(const Couple& pair, int triangle, int c) {
    return int(pair.work(OF + 3 * triangle + c));
}
__device__ __forceinline__ double& offset(const Couple& pair, int triangle) { return pair.work(TRIANGLE + 4 * triangle + 3); }
__device__ __forceinline__ Place normal(const Couple& pair, int triangle) { return pair.work.vector(TRIANGLE + 4 * triangle); }

// The support point of the difference along e, into a slot of the vertices.
__device__ __forceinline__ Place new_vertex(const Couple& pair, Place e, int slot, Search& search) {
    const Place w = farthest(pair, pair.d, e, search).w;
    pair.work.store(VERTEX + 3 * slot, w);
    return w;
}

// A triangle with its outward normal and offset; a degenerate one is never the nearest.
__device__ __forceinline__ void put_triangle(const Couple& pair, int slot, int i, int j, int k) {
    const Place a = vertex(pair, i), ab = vertex(pair, j) - a, ac = vertex(pair, k) - a, n = cross(ab, ac);
    const double area = dot(n, n);
    const bool flat = !(area > THIN * THIN * THIN * dot(ab, ab) * dot(ac, ac));
    const Place unit = flat ? Place{0, 0, 0} : (1 / sqrt(area)) * n;
    pair.work.store(TRIANGLE + 4 * slot, unit);
    offset(pair, slot) = flat ? NEVER : dot(unit, a);
    pair.work.store(OF + 3 * slot, Place{double(i), double(j), double(k)});
}

// Add a support point along e or −e if it is off the span of the existing vertices. Returns their number.
__device__ __noinline__ int far_from(const Couple& pair, Place e, int count, double size, Search& search) {
#pragma unroll 1
    for (int turn = 0; turn < 2; ++turn) {
        const Place w = new_vertex(pair, turn == 0 ? e : -e, count, search);
        if (fabs(dot(w - vertex(pair, 0), e)) > THIN * size * sqrt(dot(e, e))) return count + 1;
    }
    return count;
}

// One of two vectors orthogonal to x.
__device__ __forceinline__ Place across(Place x, int turn) {
    const bool least = fabs(x.x) <= fabs(x.y) && fabs(x.x) <= fabs(x.z);
    const Place e = least ? Place{1, 0, 0} : fabs(x.y) <= fabs(x.z) ? Place{0, 1, 0} : Place{0, 0, 1}, y = cross(x, e);
    return turn == 0 ? y : cross(x, y);
}

// Four vertices that span a volume, starting with the simplex. Returns their number.
__device__ __noinline__ int first_vertices(const Couple& pair, int count, double size, Search& search) {
    for (int k = 0; k < count; ++k) pair.work.store(VERTEX + 3 * k, search.w[k]);
#pragma unroll 1
    for (int axis = 0; axis < 3 && count == 1; ++axis)
        count = far_from(pair, {double(axis == 0), double(axis == 1), double(axis == 2)}, count, size, search);
#pragma unroll 1
    for (int turn = 0; turn < 2 && count == 2; ++turn)
        count = far_from(pair, across(vertex(pair, 1) - vertex(pair, 0), turn), count, size, search);
    if (count == 3) {
        const Place p = vertex(pair, 0);
        count = far_from(pair, cross(vertex(pair, 1) - p, vertex(pair, 2) - p), count, size, search);
    }
    return count;
}

// Add an edge to the rim, or remove it if present in reverse. Returns the number of edges. If rounding tears the
// surface into many holes, edges beyond the capacity are dropped.
__device__ __forceinline__ int toggle(const Couple& pair, int edges, double i, double j) {
    const auto at = [&](int k, int end) -> double& { return pair.work(RIM + 2 * k + end); };
#pragma unroll 1
    for (int k = 0; k < edges; ++k) {
        if (at(k, 0) == j && at(k, 1) == i) {
            at(k, 0) = at(edges - 1, 0), at(k, 1) = at(edges - 1, 1);
            return edges - 1;
        }
    }
    if (edges == TRIANGLES) return edges;
    at(edges, 0) = i, at(edges, 1) = j;
    return edges + 1;
}

// Remove the triangles visible from w, among them the nearest: the number of remaining triangles, and of edges of the
// rim.
struct Opened {
    int triangles, edges;
};
__device__ __noinline__ Opened opened(const Couple& pair, int triangles, int nearest, Place w, double margin) {
    int edges = 0;
#pragma unroll 1
    for (int k = triangles - 1; k >= 0; --k) {
        if (!(k == nearest || dot(normal(pair, k), w) - offset(pair, k) > margin)) continue;
        for (int c = 0; c < 3; ++c) edges = toggle(pair, edges, corner(pair, k, c), corner(pair, k, (c + 1) % 3));
        --triangles;
        for (int c = 0; c < 3; ++c) pair.work(OF + 3 * k + c) = pair.work(OF + 3 * triangles + c);
        for (int c = 0; c < 4; ++c) pair.work(TRIANGLE + 4 * k + c) = pair.work(TRIANGLE + 4 * triangles + c);
    }
    return {triangles, edges};
}

// The faces of the tetrahedron of the first four vertices.
__device__ __noinline__ void first_triangles(const Couple& pair) {
    const Place p = vertex(pair, 0), n = cross(vertex(pair, 1) - p, vertex(pair, 2) - p);
    const bool above = dot(n, vertex(pair, 3) - p) > 0;
    const int i = above ? 2 : 1, j = above ? 1 : 2;
    put_triangle(pair, 0, 0, i, j);
    put_triangle(pair, 1, 0, 3, i);
    put_triangle(pair, 2, i, 3, j);
    put_triangle(pair, 3, j, 3, 0);
}

__device__ __forceinline__ int nearest(const Couple& pair, int triangles) {
    int best = 0;
#pragma unroll 1
    for (int k = 1; k < triangles; ++k)
        if (offset(pair, k) < offset(pair, best)) best = k;
    return best;
}

// The penetration direction, a unit vector from the second shape to the first, into `search`; the simplex of `count`
// points of the difference contains the origin.
__device__ __noinline__ void least_overlap(const Couple& pair, int count, Search& search) {
    const double small = pair.smaller(), both = small + pair.larger(), size = both + sqrt(dot(pair.d, pair.d));
    search.n = {0, 0, 1};
    if (first_vertices(pair, count, both, search) < 4) return;
    first_triangles(pair);
    int vertices = 4, triangles = 4, best = nearest(pair, triangles);
    double before = offset(pair, best);
#pragma unroll 1
    while (vertices < VERTICES && triangles + vertices + 2 <= TRIANGLES) {
        if (offset(pair, best) < before - FOLDED * size) break;  // a growing polytope cannot approach the origin: it is folded
        const Place n = normal(pair, best);
        before = offset(pair, best), search.n = -n;
        const Place w = new_vertex(pair, n, vertices, search);
        if (dot(n, w) - before <= ENOUGH * small + VISIBLE * size) break;
        const Opened left = opened(pair, triangles, best, w, VISIBLE * size);
        triangles = left.triangles;
        if (triangles + left.edges > TRIANGLES) break;  // several holes, from rounding
#pragma unroll 1
        for (int k = 0; k < left.edges; ++k)
            put_triangle(pair, triangles + k, int(pair.work(RIM + 2 * k)), int(pair.work(RIM + 2 * k + 1)), vertices);
        triangles += left.edges;
        ++vertices;
        best = nearest(pair, triangles);
    }
}
}  // namespace epa
