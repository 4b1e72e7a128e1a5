// The convex shapes of a robot and of its scene, and the pairs of them that may touch: as engine/scene/shapes.py and pairs.py have
// them, packed by pair_tables.py, whose namespace solid_at says where each table begins.
//
// Where shapes touch is found in double precision with either number type: what is small beside the shapes' places is a
// difference of these.
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
    // The ball around it: its centre, also in the body's frame or the world's, and its radius.
    __device__ __forceinline__ Place centre(int k) const { return vector(solid_at::BOUND + 4 * k); }
    __device__ __forceinline__ Place middle(int k) const { return vector(solid_at::MIDDLE + 3 * k); }
    __device__ __forceinline__ double bound(int k) const { return reals[solid_at::BOUND + 4 * k + 3]; }
    // Its frame in its body's, or in the world's.
    __device__ __forceinline__ Turn rotation(int k) const {
        const int at = solid_at::INNER + 12 * k;
        return {vector(at), vector(at + 3), vector(at + 6)};
    }
    __device__ __forceinline__ Place position(int k) const { return vector(solid_at::INNER + 12 * k + 9); }
    __device__ __forceinline__ Place vertex(int v) const { return vector(solid_at::VERTEX + 3 * v); }
    __device__ __forceinline__ Place normal(int face) const { return vector(solid_at::PLANE + 4 * face); }
};

// Room of a thread for one pair at a time.
using Work = Slots<double, WORK_PITCH>;
