// Contacts of spheres and capsules with each other and of spheres with boxes and cylinders, in closed form, as in
// engine/kernels/collision/spheres.py and sphere_solids.py.
#pragma once

#include "collision/solids.cuh"

namespace spheres {
constexpr double NEGLIGIBLE = 1e-12;  // relative to the summands: differences without a direction
constexpr double PARALLEL = 1e-2;  // squared sine of the angle below which capsules touch along a line
constexpr double NEARER = 1e-10;  // relative to the distance: smallest difference that counts as nearer
constexpr double SAME = 1e-5;  // relative to a capsule's length: distance below which ends coincide

__device__ __forceinline__ double clamped(double x, double most) { return fmax(-most, fmin(most, x)); }

// The unit vector along x, computed from numbers of magnitude `size`, or `other` if x is 0.
__device__ __forceinline__ Place unit_or(Place x, Place other, double size) {
    const double length = sqrt(dot(x, x));
    return length > NEGLIGIBLE * size ? (1 / length) * x : other;
}

// The parameter s of the point nearest to x on the segment from c − u to c + u.
__device__ __forceinline__ double on_segment(Place x, Place c, Place u) {
    const double d = dot(u, u);
    return d > 0 ? clamped(dot(u, x - c) / d, 1) : 0;
}

// A unit vector orthogonal to u; along z if u is 0.
__device__ __forceinline__ Place across(Place u) {
    const double length = sqrt(dot(u, u));
    return length > 0 ? tangents((1 / length) * u).first : Place{0, 0, 1};
}

// Half the axis of a capsule, in the world.
__device__ __forceinline__ Place half_axis(const Couple& pair, int side) {
    const double h = 0.5 * pair.size(side).y;
    const Turn& R = pair.R[side];
    return {h * R.x.z, h * R.y.z, h * R.z.z};
}

__device__ __noinline__ void sphere_capsule(const Couple& pair, Place u, double radius_a, double radius_b, Found& found) {
    const Place away = pair.d - on_segment(pair.d, {0, 0, 0}, u) * u;
    const Place n = unit_or(away, across(u), sqrt(dot(pair.d, pair.d)) + sqrt(dot(u, u)));
    const double gap = sqrt(dot(away, away)) - radius_a - radius_b;
    if (gap <= pair.reach) found.put_between(pair.o + pair.d, n, gap, radius_a, CLOSEST);
}

// A centre inside is pushed out through the nearest side.
__device__ __noinline__ void sphere_box(const Couple& pair, Found& found) {
    const Turn& R = pair.R[1];
    const Place x = mul_t(R, pair.d), half = 0.5 * pair.size(1);
    const Place out = x - Place{clamped(x.x, half.x), clamped(x.y, half.y), clamped(x.z, half.z)};
    double length = sqrt(dot(out, out));
    Place n = {0, 0, 0};
    if (length > 0) {
        n = (1 / length) * out;
    } else {
        const Place depth = {half.x - fabs(x.x), half.y - fabs(x.y), half.z - fabs(x.z)};
        if (depth.x <= depth.y && depth.x <= depth.z) n.x = x.x >= 0 ? 1 : -1, length = -depth.x;
        else if (depth.y <= depth.z) n.y = x.y >= 0 ? 1 : -1, length = -depth.y;
        else n.z = x.z >= 0 ? 1 : -1, length = -depth.z;
    }
    const double radius = pair.size(0).x, gap = length - radius;
    if (gap <= pair.reach) found.put_between(pair.o + pair.d, mul(R, n), gap, radius, CLOSEST);
}

// A centre inside is pushed out through the curved surface or an end.
__device__ __noinline__ void sphere_cylinder(const Couple& pair, Found& found) {
    const Turn& R = pair.R[1];
    const Place x = mul_t(R, pair.d), size = pair.size(1);
    const double wide = sqrt(x.x * x.x + x.y * x.y), up = x.z >= 0 ? 1 : -1;
    const Place e = wide > 0 ? Place{x.x / wide, x.y / wide, 0} : Place{1, 0, 0};
    const double side = wide - size.x, end = fabs(x.z) - 0.5 * size.y;
    Place n = {0, 0, up};
    double length = fmax(side, end);
    if (side <= 0 && end <= 0) {
        if (side >= end) n = e;
    } else {
        const double a = fmax(side, 0.0), b = fmax(end, 0.0);
        length = sqrt(a * a + b * b);
        n = (a / length) * e + Place{0, 0, up * b / length};
    }
    const double radius = pair.size(0).x, gap = length - radius;
    if (gap <= pair.reach) found.put_between(pair.o + pair.d, mul(R, n), gap, radius, CLOSEST);
}

// Points s and t of the segments d + s u and t w, and their squared distance.
struct Nearest {
    double s, t, square;
};
__device__ __forceinline__ void closer(Nearest& best, double s, double t, Place d, Place u, Place w) {
    const Place x = d + s * u - t * w;
    const double square = dot(x, x);
    if (square < best.square) best = {s, t, square};
}
// Their closest points: both inside the segments, marked by a negative square, or at one of the four ends.
__device__ __forceinline__ Nearest closest_of_segments(Place d, Place u, Place w) {
    const Place o = {0, 0, 0};
    Nearest best = {0, 0, 1e300};
    closer(best, -1, on_segment(d - u, o, w), d, u, w);
    closer(best, 1, on_segment(d + u, o, w), d, u, w);
    closer(best, on_segment(-w, d, u), -1, d, u, w);
    closer(best, on_segment(w, d, u), 1, d, u, w);
    const Place n = cross(u, w);
    const double area = dot(n, n);
    if (area > NEGLIGIBLE * NEGLIGIBLE * dot(u, u) * dot(w, w)) {
        const double s = dot(cross(w, d), n) / area, t = dot(cross(u, d), n) / area;
        if (fabs(s) <= 1 && fabs(t) <= 1) best = {s, t, -1};
    }
    return best;
}

// Two capsules along u and w with their radii; `aside` is the normal where their axes meet.
struct Capsules {
    Place u, w, aside;
    double radius_a, radius_b;
};
__device__ __forceinline__ void put_at(const Couple& pair, const Capsules& both, double s, double t, int feature, Found& found) {
    const Place x = pair.d + s * both.u, away = x - t * both.w;
    const double size = sqrt(dot(pair.d, pair.d)) + sqrt(dot(both.u, both.u)) + sqrt(dot(both.w, both.w));
    const Place n = unit_or(away, both.aside, size);
    const double gap = sqrt(dot(away, away)) - both.radius_a - both.radius_b;
    if (gap <= pair.reach) found.put_between(pair.o + x, n, gap, both.radius_a, feature);
}
// The end, towards sign · u, of the overlap of two nearly parallel segments; and whose end it is.
struct End {
    double s, t;
    int second;
};
__device__ __forceinline__ End end_of(Place d, Place u, Place w, double sign) {
    const double turn = dot(u, w) >= 0 ? sign : -sign;
    const double s = dot(u, turn * w - d) / dot(u, u);  // parameter of the second one's end along the first
    if (sign * s < 1 - SAME) return {clamped(s, 1), turn, 1};
    return {sign, on_segment(d + sign * u, {0, 0, 0}, w), 0};
}

// Parallel capsules touch at both ends of their overlap; the closest points are added unless an end is as close.
__device__ __noinline__ void capsule_capsule(const Couple& pair, Found& found) {
    Capsules both = {half_axis(pair, 0), half_axis(pair, 1), {0, 0, 1}, pair.size(0).x, pair.size(1).x};
    const Place d = pair.d, u = both.u, w = both.w, n = cross(u, w);
    const double radii = both.radius_a + both.radius_b, uu = dot(u, u), ww = dot(w, w), area = dot(n, n);
    const Nearest best = closest_of_segments(d, u, w);
    if (area > NEGLIGIBLE * uu * ww) both.aside = ((dot(n, d) >= 0 ? 1 : -1) / sqrt(area)) * n;
    else both.aside = across(uu >= ww ? u : w);
    const bool steep = area > PARALLEL * uu * ww;
    if (best.square < 0 && steep) {  // valid even where axes meet
        const double gap = fabs(dot(d, both.aside)) - radii;
        if (gap <= pair.reach) found.put_between(pair.o + d + best.s * u, both.aside, gap, both.radius_a, CLOSEST);
        return;
    }
    const Place x = d + best.s * u - best.t * w;
    const double length = sqrt(dot(x, x));
    if (length - radii > pair.reach) return;
    if (steep || uu == 0 || ww == 0) return put_at(pair, both, best.s, best.t, CLOSEST, found);
    const End low = end_of(d, u, w, -1), high = end_of(d, u, w, 1);
    if (high.s - low.s <= SAME) return put_at(pair, both, best.s, best.t, CLOSEST, found);
    put_at(pair, both, low.s, low.t, 1 + 2 * low.second, found);
    put_at(pair, both, high.s, high.t, 2 + 2 * high.second, found);
    double least = pair.reach;
    for (int c = 0; c < found.count; ++c) least = c == 0 ? found.gap[0] : fmin(least, found.gap[c]);
    if (found.count == 0 || length - radii < least - NEARER * (length + radii))
        put_at(pair, both, best.s, best.t, CLOSEST, found);
}
}  // namespace spheres
