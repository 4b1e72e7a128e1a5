// Two convex shapes, and what finding their contacts leaves.
#pragma once

#include "collision/contact_room.cuh"

// Two shapes in order, the first at d and the other at 0, which is o in the world.
struct Couple {
    Solids shapes;
    int number[2];
    Turn R[2];
    Place d, o;
    double reach;
    Work work;

    __device__ __forceinline__ int kind(int side) const { return shapes.kind(number[side]); }
    __device__ __forceinline__ Place size(int side) const { return shapes.size(number[side]); }
    __device__ __forceinline__ double bound(int side) const { return shapes.bound(number[side]); }
    __device__ __forceinline__ double smaller() const { return fmin(bound(0), bound(1)); }
    __device__ __forceinline__ double larger() const { return fmax(bound(0), bound(1)); }
};

// Contacts of a pair: in the world their places, midway between the surfaces, and normals from the second shape to the first;
// gaps; and by two whole numbers each, below 2²⁴, which corners or edges they are.
struct Found {
    int count;
    Place at[KEPT], normal[KEPT];
    double gap[KEPT];
    int feature[KEPT], edge[KEPT];

    __device__ __forceinline__ void put(Place x, Place n, double g, int what, int other_edge) {
        at[count] = x, normal[count] = n, gap[count] = g, feature[count] = what, edge[count] = other_edge;
        ++count;
    }
    // The contact of a ball of that radius about x, from whose surface the other's is the gap away against n.
    __device__ __forceinline__ void put_between(Place x, Place n, double g, double radius, int what) {
        put(x - (radius + 0.5 * g) * n, n, g, what, 0);
    }
};
constexpr int CLOSEST = 0;  // the feature of where two shapes are closest, whatever of them is there
