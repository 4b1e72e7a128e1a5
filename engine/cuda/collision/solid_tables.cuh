// The convex shapes of a robot and its scene, and the pairs that may touch, from engine/scene/shapes.py and pairs.py,
// packed by pair_tables.py. Its namespace solid_at has the offset of each table.
//
// Collision detection runs in double precision for either number type: small gaps are differences of large coordinates.
#pragma once

#include "rigid_body/tree.cuh"

using Place = Vector<double>;
using Turn = Matrix<double>;

// The tables of all shapes.
struct Solids {
    const double* reals;
    const int* wholes;

    __device__ __forceinline__ int whole(int at, int k) const { return wholes[at + k]; }
    __device__ __forceinline__ Place vector(int at) const { return {reals[at], reals[at + 1], reals[at + 2]}; }
    __device__ __forceinline__ int kind(int k) const { return whole(solid_at::KIND, k); }
    __device__ __forceinline__ Place size(int k) const { return vector(solid_at::SIZE + 3 * k); }
    // The bounding sphere: its centre, in the shape's frame and in its body's or the world's; and its radius.
    __device__ __forceinline__ Place centre(int k) const { return vector(solid_at::BOUND + 4 * k); }
    __device__ __forceinline__ Place middle(int k) const { return vector(solid_at::MIDDLE + 3 * k); }
    __device__ __forceinline__ double bound(int k) const { return reals[solid_at::BOUND + 4 * k + 3]; }
    // The shape's frame in its body's, or in the world.
    __device__ __forceinline__ Turn rotation(int k) const {
        const int at = solid_at::INNER + 12 * k;
        return {vector(at), vector(at + 3), vector(at + 6)};
    }
    __device__ __forceinline__ Place position(int k) const { return vector(solid_at::INNER + 12 * k + 9); }
    __device__ __forceinline__ Place vertex(int v) const { return vector(solid_at::VERTEX + 3 * v); }
    __device__ __forceinline__ Place normal(int face) const { return vector(solid_at::PLANE + 4 * face); }
};

// A thread's workspace for one pair at a time.
using Work = Slots<double, WORK_PITCH>;
