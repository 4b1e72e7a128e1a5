// The manifold of up to four contacts between the contact faces of two shapes, as in
// engine/kernels/collision/manifold.py.
#pragma once

#include "collision/touching_faces.cuh"

namespace faces {
constexpr double BESIDE = 1e-5;  // relative to the smaller shape: distance below which places coincide
constexpr double AS_DEEP = 1e-10;  // relative to the smaller shape, plus rounding of the larger one
constexpr double AS_CLOSE = 1e-8;  // for gaps from an iterative search, whose accuracy on round shapes is about that
constexpr double ROUNDING = 1e-13;
constexpr double ALONG = 1e-6;  // sine of the angle below which edges count as parallel
constexpr double STEEP = 1e-3;  // cosine below which a plane has no height along the normal
constexpr double NOWHERE = 1e30;
constexpr int MANY = 1 << 11;  // corner indices distinguished by features, which stay below 2²⁴
constexpr int OF_FIRST = 1, OF_SECOND = 2, OF_EDGES = 3;

// Candidate contacts: coordinates along t₁, t₂ and n, gap, and feature.
struct Offers {
    const Couple& pair;
    double least;  // lower bound of gaps
    int count;

    __device__ __forceinline__ int at(int k) const { return OFFER + 6 * k; }
    __device__ __forceinline__ Place place(int k) const { return pair.work.vector(at(k)); }
    __device__ __forceinline__ double& gap(int k) const { return pair.work(at(k) + 3); }
    __device__ __forceinline__ void put(double x, double y, double above, double below, int feature, int edge) {
        const double gap = fmax(above - below, least);
        if (gap > pair.reach || count >= OFFERS) return;
        pair.work.store(at(count), Place{x, y, 0.5 * (above + below)});
        pair.work(at(count) + 3) = gap, pair.work(at(count) + 4) = feature, pair.work(at(count) + 5) = edge;
        ++count;
    }
    // Drop the candidates that are not near, now or within two steps.
    __device__ __forceinline__ void drop(const Turn& frame) {
        int left = 0;
#pragma unroll 1
        for (int k = 0; k < count; ++k) {
            if (!pair.takes_part(mul_t(frame, place(k)), frame.z, gap(k))) continue;
            for (int i = 0; i < 6; ++i) pair.work(at(left) + i) = pair.work(at(k) + i);
            ++left;
        }
        count = left;
    }
    // The first of the deepest candidates.
    __device__ __forceinline__ int deepest(double margin) const {
        int best = 0;
        for (int k = 1; k < count; ++k)
            if (gap(k) < gap(best) - margin) best = k;
        return best;
    }
};

__device__ __forceinline__ int edges(int count) { return count > 2 ? count : count - 1; }

// Whether a place, projected along the normal, is in a polygon or within `beside` of it.
__device__ __noinline__ bool inside(const Couple& pair, int side, int count, double x, double y, double beside) {
    const double round = pair.work(face_at(side) + 4);
    if (count > 2 && round > 0) {
        const Place n = pair.work.vector(face_at(side)), a = corner(pair, side, 0), b = corner(pair, side, count / 2);
        const double r = round + beside, dx = x - 0.5 * (a.x + b.x), dy = y - 0.5 * (a.y + b.y);
        const double dz = -(n.x * dx + n.y * dy) / n.z;  // in the disc's plane, relative to its centre
        return dx * dx + dy * dy + dz * dz <= r * r;
    }
    if (count <= 2) {
        const Place here = corner(pair, side, 0), way = edge(pair, side, 0);
        double dx = x - here.x, dy = y - here.y;
        const double along = count == 2 ? fmax(0.0, fmin(way.z, dx * way.x + dy * way.y)) : 0;
        dx -= along * way.x, dy -= along * way.y;
        return dx * dx + dy * dy <= beside * beside;
    }
    const double turn = side == 0 ? -1 : 1;
#pragma unroll 1
    for (int c = 0; c < count; ++c) {
        const Place here = corner(pair, side, c), way = edge(pair, side, c);
        if (turn * (way.x * (y - here.y) - way.y * (x - here.x)) < -beside) return false;
    }
    return true;
}

// The height of a polygon along the normal at a place; where it is too steep, far from the other polygon.
__device__ __noinline__ double height(const Couple& pair, int side, int count, double x, double y) {
    const Place here = corner(pair, side, 0);
    if (count == 1) return here.z;
    if (count == 2) {
        const Place way = edge(pair, side, 0);
        const double along = (x - here.x) * way.x + (y - here.y) * way.y;
        const double share = way.z > 0 ? fmax(0.0, fmin(1.0, along / way.z)) : 0;
        return here.z + share * (corner(pair, side, 1).z - here.z);
    }
    const Place n = pair.work.vector(face_at(side));
    if (fabs(n.z) < STEEP) return side == 0 ? NOWHERE : -NOWHERE;
    return (pair.work(face_at(side) + 3) - n.x * x - n.y * y) / n.z;
}

// Corners of one polygon within the other.
__device__ __noinline__ void at_corners(Offers& offers, int side, int own, int others, double beside) {
    const Couple& pair = offers.pair;
    const int other = 1 - side;
#pragma unroll 1
    for (int c = 0; c < own; ++c) {
        const Place x = corner(pair, side, c);
        if (!inside(pair, other, others, x.x, x.y, beside)) continue;
        bool known = false;
        for (int k = 0; side == 1 && k < others; ++k) {
            const Place there = corner(pair, 0, k);
            const double dx = there.x - x.x, dy = there.y - x.y;
            known |= dx * dx + dy * dy <= beside * beside;
        }
        if (known) continue;
        const double beyond = height(pair, other, others, x.x, x.y);
        const int feature = (side == 0 ? OF_FIRST : OF_SECOND) + 4 * (number(pair, side, c) % MANY);
        offers.put(x.x, x.y, side == 0 ? x.z : beyond, side == 0 ? beyond : x.z, feature, 0);
    }
}

// An edge's index, from those of its corners, the smaller one first.
__device__ __forceinline__ int edge_number(const Couple& pair, int side, int c, int following) {
    const int i = number(pair, side, c) % MANY, j = number(pair, side, following) % MANY;
    return min(i, j) * MANY + max(i, j);
}

// Crossings of the two polygons' edges.
__device__ __noinline__ void at_crossings(Offers& offers, int first, int second, double beside) {
    const Couple& pair = offers.pair;
#pragma unroll 1
    for (int i = 0; i < edges(first); ++i) {
        const Place a = corner(pair, 0, i), e = edge(pair, 0, i);
        const int i_next = (i + 1) % first;
#pragma unroll 1
        for (int j = 0; j < edges(second); ++j) {
            const Place b = corner(pair, 1, j), f = edge(pair, 1, j);
            const double across = e.x * f.y - e.y * f.x;
            if (fabs(across) < ALONG) continue;
            const double dx = b.x - a.x, dy = b.y - a.y;
            const double s = (dx * f.y - dy * f.x) / across, t = (dx * e.y - dy * e.x) / across;
            if (!(s > beside && s < e.z - beside && t > beside && t < f.z - beside)) continue;
            const int j_next = (j + 1) % second;
            const double above = a.z + s / e.z * (corner(pair, 0, i_next).z - a.z);
            const double below = b.z + t / f.z * (corner(pair, 1, j_next).z - b.z);
            offers.put(a.x + s * e.x, a.y + s * e.y, above, below, OF_EDGES + 4 * edge_number(pair, 0, i, i_next),
                       edge_number(pair, 1, j, j_next));
        }
    }
}

__device__ __forceinline__ double area(Place a, Place b, Place x) {
    return (b.x - a.x) * (x.y - a.y) - (b.y - a.y) * (x.x - a.x);
}

// The gain of candidate k over those kept: distance, then area.
__device__ __forceinline__ double worth(const Offers& offers, int k, const int* taken, int kept) {
    const Place x = offers.place(k), a = offers.place(taken[0]);
    if (kept == 1) return (x.x - a.x) * (x.x - a.x) + (x.y - a.y) * (x.y - a.y);
    const Place b = offers.place(taken[1]);
    const double here = area(a, b, x);
    if (kept == 2) return fabs(here);
    const Place c = offers.place(taken[2]);
    const double turn = area(a, b, c) >= 0 ? 1 : -1;  // outside the triangle: area at its widest side
    return fmax(fmax(-turn * here, -turn * area(b, c, x)), -turn * area(c, a, x));
}

// Select the deepest candidate, the farthest from it, and those that widen the area most.
__device__ __noinline__ void choose(const Offers& offers, double margin, Turn frame, Found& found) {
    const Couple& pair = offers.pair;
    const auto take = [&](int k) {
        const int at = offers.at(k);
        found.put(pair.o + mul_t(frame, offers.place(k)), frame.z, offers.gap(k), int(pair.work(at + 4)), int(pair.work(at + 5)));
    };
    if (offers.count <= KEPT) {
        for (int k = 0; k < offers.count; ++k) take(k);
        return;
    }
    int taken[KEPT] = {offers.deepest(margin), -1, -1, -1};
    take(taken[0]);
#pragma unroll 1
    for (int kept = 1; kept < KEPT; ++kept) {
        int best = -1;
        double most = 0;
#pragma unroll 1
        for (int k = 0; k < offers.count; ++k) {
            if (k == taken[0] || k == taken[1] || k == taken[2]) continue;
            const double here = worth(offers, k, taken, kept);
            if (here > most) best = k, most = here * 1.000001;
        }
        if (best < 0) return;
        take(taken[kept] = best);
    }
}

// The contacts of shapes at distance `gap` along n, with `closest`, the midpoint of their witness points from the
// second one's origin, as a further contact unless another is as near. Returns false if not `sure` and there is no
// other.
__device__ __noinline__ bool manifold(const Couple& pair, Place n, double gap, Place closest, bool sure, Search& search,
                                      Found& found) {
    const Tangents<double> t = tangents(n);
    const Turn frame = {t.first, t.second, n};
    const int first = touching_face(pair, 0, frame, search), second = touching_face(pair, 1, frame, search);
    const double small = pair.smaller(), rounding = ROUNDING * pair.larger(), beside = BESIDE * small;
    const double margin = AS_DEEP * small + rounding;
    Offers offers = {pair, gap, 0};
    at_corners(offers, 0, first, second, beside);
    at_corners(offers, 1, second, first, beside);
    at_crossings(offers, first, second, beside);
    const int deepest = offers.deepest(0);
    if (offers.count > 0 && offers.gap(deepest) <= gap + (sure ? AS_CLOSE * small + rounding : margin)) {
        offers.gap(deepest) = gap;
    } else {
        if (!sure) return false;
        const Place x = mul(frame, closest);
        offers.put(x.x, x.y, x.z + 0.5 * gap, x.z - 0.5 * gap, CLOSEST, 0);
    }
    if (offers.count > KEPT) offers.drop(frame);
    choose(offers, margin, frame, found);
    return true;
}
}  // namespace faces
