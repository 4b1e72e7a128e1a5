// Contacts of two convex shapes, as in engine/kernels/collision/pairs.py. pair_tables.py orders the two by kind, then
// by index.
#pragma once

#include "collision/boxes.cuh"
#include "collision/spheres.cuh"

#if HAS_FACES
#include "collision/convex.cuh"
#include "collision/manifold.cuh"

// Up to four contacts of shapes with faces, hulls included.
__device__ __noinline__ void face_contacts(const Couple& pair, Found& found) {
    Search search;
    const int kind = pair.kind(1);
    if (pair.kind(0) != solid::SPHERE && kind == solid::BOX) {
        boxes::separating_axis(pair, search);
        const double gap = search.gap - core_radius(pair, 0);
        if (gap > pair.reach || faces::manifold(pair, search.n, gap, {0, 0, 0}, false, search, found)) return;
    }
    if (!convex::signed_distance(pair, search)) return;
    if (pair.kind(0) == solid::SPHERE) found.put(pair.o + search.one, search.n, search.gap, CLOSEST, 0);
    else faces::manifold(pair, search.n, search.gap, search.one, true, search, found);
}
#endif

// The contacts of a pair within its reach.
__device__ __forceinline__ void pair_contacts(const Couple& pair, Found& found) {
    const int first = pair.kind(0), second = pair.kind(1);
    found.count = 0;
    if (first == solid::SPHERE && second != solid::HULL) {
        const double radius = pair.size(0).x;
        if (second == solid::SPHERE) {
            const double length = sqrt(dot(pair.d, pair.d)), gap = length - radius - pair.size(1).x;
            const Place n = length > 0 ? (1 / length) * pair.d : Place{0, 0, 1};
            if (gap <= pair.reach) found.put_between(pair.o + pair.d, n, gap, radius, CLOSEST);
        } else if (second == solid::CAPSULE) {
            spheres::sphere_capsule(pair, spheres::half_axis(pair, 1), radius, pair.size(1).x, found);
        } else if (second == solid::BOX) {
            spheres::sphere_box(pair, found);
        } else {
            spheres::sphere_cylinder(pair, found);
        }
    } else if (second == solid::CAPSULE) {
        spheres::capsule_capsule(pair, found);
    }
#if HAS_FACES
    else {
        face_contacts(pair, found);
    }
#endif
}
