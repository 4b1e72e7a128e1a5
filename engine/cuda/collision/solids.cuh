// A pair of convex shapes, and its contacts.
#pragma once

#include "collision/contact_room.cuh"

// Two ordered shapes, the first at d and the second at 0, which is o in the world. In two steps the first turns by `turn`
// relative to the second, and its point at o moves by `drift`.
struct Couple {
    Solids shapes;
    int number[2];
    Turn R[2];
    Place d, o, turn, drift;
    double reach;
    Work work;

    // Whether a place x from o, with normal n, takes part in the step.
    __device__ __forceinline__ bool takes_part(Place x, Place n, double gap) const {
        return gap <= NEAR + fmax(-dot(n, drift + cross(turn, x)), 0.0);
    }
    __device__ __forceinline__ int kind(int side) const { return shapes.kind(number[side]); }
    __device__ __forceinline__ Place size(int side) const { return shapes.size(number[side]); }
    __device__ __forceinline__ double bound(int side) const { return shapes.bound(number[side]); }
    __device__ __forceinline__ double smaller() const { return fmin(bound(0), bound(1)); }
    __device__ __forceinline__ double larger() const { return fmax(bound(0), bound(1)); }
};

// Contacts of a pair: places midway between the surfaces and normals from the second shape to the first, in the world;
// gaps; and their features as two integers below 2²⁴, which identify corners or edges.
struct Found {
    int count;
    Place at[KEPT], normal[KEPT];
    double gap[KEPT];
    int feature[KEPT], edge[KEPT];

    __device__ __forceinline__ void put(Place x, Place n, double g, int what, int other_edge) {
        at[count] = x, normal[count] = n, gap[count] = g, feature[count] = what, edge[count] = other_edge;
        ++count;
    }
    // The contact of a sphere of that radius about x, whose surface is `g` from the other's along −n.
    __device__ __forceinline__ void put_between(Place x, Place n, double g, double radius, int what) {
        put(x - (radius + 0.5 * g) * n, n, g, what, 0);
    }
};
constexpr int CLOSEST = 0;  // the feature of the closest points
