// The nearest points of a height field to points and spheres, in closed form, as in
// engine/kernels/collision/height_field.py.
#pragma once

#include "collision/contact_room.cuh"

// Cells: the coordinate limit, which also catches NaN; and the furthest search distance of a sphere.
constexpr double FAR_CELLS = 1e9, REACH_CELLS = 4;
// Cells from a point to samples of the triangles around it; slopes, and cells, that count as zero.
template <typename Real> constexpr Real ASIDE = sizeof(Real) == 8 ? 1e-6 : 1e-3;
template <typename Real> constexpr Real LEAST = sizeof(Real) == 8 ? 1e-6 : 1e-3;
template <typename Real> constexpr Real SAME = sizeof(Real) == 8 ? 1e-5 : 1e-3;
constexpr double NO_GAP = 1e30;  // m: no contact

// The height at row i and column j, extended beyond the border.
template <typename Real> __device__ __forceinline__ Real height(const Surroundings<Real>& scene, int i, int j) {
    const int rows = int(scene.ground[3]), columns = int(scene.ground[4]);
    return scene.ground[5 + size_t(max(0, min(i, rows - 1))) * columns + max(0, min(j, columns - 1))];
}

// A cell, and the offset of a place from its corner along x and y, in cells.
template <typename Real> struct Cell {
    int row, column;
    Real s, t;
};
template <typename Real> __device__ __forceinline__ Cell<Real> cell(const Surroundings<Real>& scene, Real x, Real y) {
    const auto within = [](Real z) { return fmax(Real(-FAR_CELLS), fmin(Real(FAR_CELLS), z)); };
    const Real side = scene.ground[2], s = within((x - scene.ground[0]) / side), t = within((y - scene.ground[1]) / side);
    const Real column = floor(s), row = floor(t);
    return {int(row), int(column), s - column, t - row};
}

// A cell's triangle with larger y, or the other: the height of the first corner, and the slopes along x and y.
template <typename Real> struct Triangle { Real height, along_x, along_y; };
template <typename Real>
__device__ __forceinline__ Triangle<Real> triangle(const Surroundings<Real>& scene, int i, int j, bool upper) {
    const Real a = height(scene, i, j), d = height(scene, i + 1, j + 1), side = scene.ground[2];
    const Real other = upper ? height(scene, i + 1, j) : height(scene, i, j + 1);
    return {a, (upper ? d - other : other - a) / side, (upper ? other - a : d - other) / side};
}

// The normal of the triangle under x, and the distance of x to its plane.
template <typename Real> struct Under {
    Vector<Real> n;
    Real gap;
};
template <typename Real>
__device__ __forceinline__ Under<Real> under(const Surroundings<Real>& scene, Vector<Real> x) {
    const Cell<Real> c = cell(scene, x.x, x.y);
    const Triangle<Real> below = triangle(scene, c.row, c.column, c.t > c.s);
    const Real upwards = 1 / sqrt(1 + below.along_x * below.along_x + below.along_y * below.along_y);
    const Real above = x.z - (below.height + scene.ground[2] * (c.s * below.along_x + c.t * below.along_y));
    return {{-below.along_x * upwards, -below.along_y * upwards, upwards}, upwards * above};
}

template <typename Real, class Room>
__device__ __forceinline__ void put_nearest(const Room& room, int row, Vector<Real> n, Vector<Real> place, Real gap) {
    room.store(row + near::NORMAL, n), room.store(row + near::PLACE, place), room(row + near::GAP) = gap;
}

template <typename Real>
__device__ __forceinline__ Vector<Real> corner(const Surroundings<Real>& scene, int i, int j) {
    return {scene.ground[0] + j * scene.ground[2], scene.ground[1] + i * scene.ground[2], height(scene, i, j)};
}

// The point of a triangle nearest to x (Ericson, "Real-Time Collision Detection", 2005, section 5.1.5).
template <typename Real>
__device__ __forceinline__ Vector<Real> on_triangle(Vector<Real> x, Vector<Real> a, Vector<Real> b, Vector<Real> c) {
    const Vector<Real> ab = b - a, ac = c - a, ax = x - a, bx = x - b, cx = x - c;
    const Real d1 = dot(ab, ax), d2 = dot(ac, ax), d3 = dot(ab, bx), d4 = dot(ac, bx), d5 = dot(ab, cx), d6 = dot(ac, cx);
    const Real va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2;
    if (d1 <= 0 && d2 <= 0) return a;
    if (d3 >= 0 && d4 <= d3) return b;
    if (d6 >= 0 && d5 <= d6) return c;
    if (vc <= 0 && d1 >= 0 && d3 <= 0) return a + (d1 / (d1 - d3)) * ab;
    if (vb <= 0 && d2 >= 0 && d6 <= 0) return a + (d2 / (d2 - d6)) * ac;
    if (va <= 0 && d4 >= d3 && d5 >= d6) return b + ((d4 - d3) / ((d4 - d3) + (d5 - d6))) * (c - b);
    const Real share = 1 / (va + vb + vc);
    return a + ((vb * share) * ab + (vc * share) * ac);
}

// Whether p is a local minimum of the distance from the ground to the centre p + d. The ground is flat between the six
// directions of edges, so these decide.
template <typename Real>
__device__ __noinline__ bool is_least(Surroundings<Real> scene, Vector<Real> p, Vector<Real> d) {
    const Real most = LEAST<Real> * sqrt(dot(d, d)), aside = ASIDE<Real> * scene.ground[2];
#pragma unroll 1
    for (int k = 0; k < 6; ++k) {
        const Real turn = k < 3 ? Real(1) : Real(-1), ex = k % 3 == 1 ? Real(0) : turn, ey = k % 3 == 0 ? Real(0) : turn;
        const Cell<Real> c = cell(scene, p.x + aside * ex, p.y + aside * ey);
        const Triangle<Real> there = triangle(scene, c.row, c.column, c.t > c.s);
        if (d.x * ex + d.y * ey + d.z * (ex * there.along_x + ey * there.along_y) > most) return false;
    }
    return true;
}

// Add a place to those of the sphere whose rows begin at `first`, if it is new. Returns their number.
template <typename Real, class Room>
__device__ __noinline__ int offer(Surroundings<Real> scene, Room room, int first, int found, Vector<Real> x, Real radius,
                                  Vector<Real> place) {
    const Vector<Real> d = x - place;
    const Real distance = sqrt(dot(d, d)), limit = SAME<Real> * scene.ground[2];
    int slot = found;
    Real worst = distance - radius;
    for (int m = 0; m < found; ++m) {
        const int row = first + near::NUMBERS * m;
        const Real gap = room(row + near::GAP);
        const Vector<Real> away = x - (gap + radius) * room.vector(row + near::NORMAL) - place;
        if (dot(away, away) < limit * limit) return found;
        if (found == KEPT && gap > worst) slot = m, worst = gap;
    }
    if (slot < KEPT && distance > 0 && is_least(scene, place, d)) {
        const Vector<Real> n = (1 / distance) * d;
        put_nearest(room, first + near::NUMBERS * slot, n, x - radius * n, distance - radius);
        return max(found, slot + 1);
    }
    return found;
}

// The contacts of a sphere about x with the ground, or places nearer than `ahead`, into the KEPT rows from `first` on.
template <typename Real, class Room>
__device__ __noinline__ void near_sphere(Surroundings<Real> scene, Room room, int first, Vector<Real> x, Real radius,
                                         Real ahead) {
    for (int m = 0; m < KEPT; ++m) room(first + near::NUMBERS * m + near::GAP) = Real(NO_GAP);
    const Under<Real> below = under(scene, x);
    if (below.gap <= 0) {
        put_nearest(room, first, below.n, x - radius * below.n, below.gap - radius);
        return;
    }
    const Real reach = radius + fmin(Real(REACH_CELLS) * scene.ground[2], ahead);
    const Cell<Real> low = cell(scene, x.x - reach, x.y - reach), high = cell(scene, x.x + reach, x.y + reach);
    int found = 0;
    Real best = Real(NO_GAP);
    Vector<Real> closest = below.n;
#pragma unroll 1
    for (int i = low.row; i <= high.row; ++i) {
#pragma unroll 1
        for (int j = low.column; j <= high.column; ++j) {
            const Vector<Real> a = corner(scene, i, j), b = corner(scene, i, j + 1), c = corner(scene, i + 1, j),
                               d = corner(scene, i + 1, j + 1);
            if (fmax(fmax(a.z, b.z), fmax(c.z, d.z)) < x.z - reach) continue;
#pragma unroll 1
            for (int upper = 0; upper < 2; ++upper) {
                const Vector<Real> place = upper == 0 ? on_triangle(x, a, b, d) : on_triangle(x, a, d, c);
                const Vector<Real> away = x - place;
                const Real distance = dot(away, away);
                if (distance > reach * reach) continue;
                found = offer(scene, room, first, found, x, radius, place);
                if (distance < best) best = distance, closest = place;
            }
        }
    }
    if (found == 0 && 0 < best && best < Real(NO_GAP)) {
        const Vector<Real> n = (1 / sqrt(best)) * (x - closest);
        put_nearest(room, first, n, x - radius * n, sqrt(best) - radius);
    }
}
