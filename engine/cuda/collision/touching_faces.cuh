// The contact face, edge or corner of a shape, as a polygon projected along the contact normal, as in
// engine/kernels/collision/touching_faces.py. A polygon of two corners is an edge, of one a point.
#pragma once

#include "collision/support.cuh"

namespace faces {
constexpr double STANDS = 0.5;  // squared cosine between a cylinder's axis and the normal, above which its end touches
constexpr double EIGHTH = 0.7071067811865476;
constexpr int RIM = 8;  // corners of the polygon that approximates a cylinder's rim
// Workspace offsets of a pair: the corners of both polygons along t₁, t₂ and n, with their indices; direction and
// length of the edge from each; the planes and radii; and candidate contacts.
constexpr int CORNER = 0, NUMBER = CORNER + 6 * FACE_CORNERS, EDGE = NUMBER + 2 * FACE_CORNERS, FACE = EDGE + 6 * FACE_CORNERS,
              OFFER = FACE + 10, OFFERS = 4 * FACE_CORNERS + 1, SIZE = OFFER + 6 * OFFERS;
static_assert(SIZE <= WORK_SLOTS, "what contacts.py makes room for");

__device__ __forceinline__ int corner_at(int side, int c) { return CORNER + 3 * (side * FACE_CORNERS + c); }
__device__ __forceinline__ Place corner(const Couple& pair, int side, int c) { return pair.work.vector(corner_at(side, c)); }
__device__ __forceinline__ int number(const Couple& pair, int side, int c) {
    return int(pair.work(NUMBER + side * FACE_CORNERS + c));
}
__device__ __forceinline__ Place edge(const Couple& pair, int side, int c) {
    return pair.work.vector(EDGE + 3 * (side * FACE_CORNERS + c));
}
__device__ __forceinline__ int face_at(int side) { return FACE + 5 * side; }

// A polygon under construction: the pair's shape on that side, at p, in the contact's frame.
struct Polygon {
    const Couple& pair;
    int side;
    Place p;
    Turn frame;

    __device__ __forceinline__ void put(int k, Place x, int number) const {
        pair.work.store(corner_at(side, k), mul(frame, x));
        pair.work(NUMBER + side * FACE_CORNERS + k) = number;
    }
    // The plane with outward normal m through x; the radius if it is a disc, else 0.
    __device__ __forceinline__ void put_plane(Place m, Place x, double round) const {
        const Place n = mul(frame, m);
        pair.work.store(face_at(side), n);
        pair.work(face_at(side) + 3) = dot(n, mul(frame, x)), pair.work(face_at(side) + 4) = round;
    }
};

// The face of a box nearest to direction e (in its own frame).
__device__ __noinline__ int box(const Polygon& face, Place e) {
    const Turn& R = face.pair.R[face.side];
    const Place half = 0.5 * face.pair.size(face.side);
    const double x = fabs(e.x), y = fabs(e.y), z = fabs(e.z);
    const int i = x >= y && x >= z ? 0 : y >= z ? 1 : 2;
    const double along = (i == 0 ? e.x : i == 1 ? e.y : e.z) >= 0 ? 1 : -1;
#pragma unroll 1
    for (int c = 0; c < 4; ++c) {
        const double first = c == 1 || c == 2 ? along : -along, second = c >= 2 ? 1 : -1;
        const Place at = i == 0 ? Place{along, first, second} : i == 1 ? Place{second, along, first} : Place{first, second, along};
        const int number = (at.x > 0 ? 1 : 0) + (at.y > 0 ? 2 : 0) + (at.z > 0 ? 4 : 0);
        face.put(c, face.p + mul(R, {at.x * half.x, at.y * half.y, at.z * half.z}), number);
    }
    const Place m = {i == 0 ? along : 0, i == 1 ? along : 0, i == 2 ? along : 0};
    face.put_plane(mul(R, m), face.p + mul(R, {m.x * half.x, m.y * half.y, m.z * half.z}), 0);
    return 4;
}

// The end of a cylinder nearest to direction e (in its own frame), or its line of contact.
__device__ __noinline__ int cylinder(const Polygon& face, Place e) {
    const Turn& R = face.pair.R[face.side];
    const Place size = face.pair.size(face.side);
    const double radius = size.x, half = 0.5 * size.y, across = e.x * e.x + e.y * e.y;
    if (e.z * e.z >= STANDS * (across + e.z * e.z)) {
        const double end = e.z >= 0 ? 1 : -1;
        double c = 1, s = 0;
#pragma unroll 1
        for (int k = 0; k < RIM; ++k) {
            face.put(k, face.p + mul(R, {radius * c, end * radius * s, end * half}), k + (end > 0 ? RIM : 0));
            const double next = EIGHTH * (c - s);
            s = EIGHTH * (c + s), c = next;
        }
        const Place m = mul(R, Place{0, 0, end});
        face.put_plane(m, face.p + half * m, radius);
        return RIM;
    }
    const double out = radius / sqrt(across);
    face.put(0, face.p + mul(R, {out * e.x, out * e.y, -half}), 2 * RIM);
    face.put(1, face.p + mul(R, {out * e.x, out * e.y, half}), 2 * RIM + 1);
    return 2;
}

// The face of a hull nearest to direction e (in its own frame).
__device__ __noinline__ int hull(const Polygon& face, Place e, Search& search) {
    const Turn& R = face.pair.R[face.side];
    const Solids& shapes = face.pair.shapes;
    const int best = facing(shapes, face.side, e, search), start = shapes.whole(solid_at::FIRST_LOOP, best);
    const int count = shapes.whole(solid_at::FIRST_LOOP, best + 1) - start;
    const int first = shapes.whole(solid_at::FIRST, face.pair.number[face.side]);
#pragma unroll 1
    for (int c = 0; c < count; ++c) {
        const int v = shapes.whole(solid_at::LOOP, start + c);
        face.put(c, face.p + mul(R, shapes.vertex(v)), v - first);
    }
    const int v = shapes.whole(solid_at::LOOP, start);
    face.put_plane(mul(R, shapes.normal(best)), face.p + mul(R, shapes.vertex(v)), 0);
    return count;
}

// The contact polygon of the first shape, which faces down (side 0), or of the second, which faces up (1). Returns the
// number of corners.
__device__ __noinline__ int touching_face(const Couple& pair, int side, Turn frame, Search& search) {
    const Polygon face = {pair, side, side == 0 ? pair.d : Place{0, 0, 0}, frame};
    const Place e = side == 0 ? -frame.z : frame.z, inside = mul_t(pair.R[side], e);
    const int kind = pair.kind(side);
    int count = 1;
    if (kind == solid::SPHERE) {
        face.put(0, face.p + pair.size(side).x * e, 0);
    } else if (kind == solid::CAPSULE) {
        const Turn& R = pair.R[side];
        const double h = 0.5 * pair.size(side).y;
        const Place u = {h * R.x.z, h * R.y.z, h * R.z.z}, x = face.p + pair.size(side).x * e;
        face.put(0, x - u, 0), face.put(1, x + u, 1);
        count = 2;
    } else if (kind == solid::BOX) {
        count = box(face, inside);
    } else if (kind == solid::CYLINDER) {
        count = cylinder(face, inside);
    } else if (HAS_HULLS) {
        count = hull(face, inside, search);
    }
#pragma unroll 1
    for (int c = 0; c < count; ++c) {
        const Place way = corner(pair, side, (c + 1) % count) - corner(pair, side, c);
        const double length = sqrt(way.x * way.x + way.y * way.y), share = length > 0 ? 1 / length : 0;
        pair.work.store(EDGE + 3 * (side * FACE_CORNERS + c), Place{share * way.x, share * way.y, length});
    }
    return count;
}
}  // namespace faces
