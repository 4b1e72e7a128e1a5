// Coalesced copies between an array (batch, WIDTH) and the slots of a block's threads in shared memory. All threads
// copy in the order of the array; one thread per robot would touch as many cache lines at once as there are threads,
// which are served one by one. The pitch of slots avoids bank conflicts.
//
// All threads of the block call; loads end with a barrier, stores begin with one.
#pragma once

#include "rigid_body/tree.cuh"

template <typename Real, int THREADS> struct Rows {
    static constexpr int PITCH = THREADS + 1, AT_ONCE = 8;
    Real* block;  // the slots of the first robot
    size_t first;  // robot
    int robots;    // of the block

    __device__ __forceinline__ Real& at(int robot, int slot) const { return Slots<Real, PITCH>{block + robot}(slot); }

    template <int WIDTH> __device__ __forceinline__ void load(const Real* array, int slot) const {
        const Real* const rows = array + first * WIDTH;
#pragma unroll 1
        for (int from = 0; from < WIDTH; from += AT_ONCE) {  // issue all loads of a part before any store
            Real x[AT_ONCE];
#pragma unroll
            for (int n = 0; n < AT_ONCE; ++n) {
                const int e = (from + n) * THREADS + threadIdx.x;
                if (e < robots * WIDTH) x[n] = rows[e];
            }
#pragma unroll
            for (int n = 0; n < AT_ONCE; ++n) {
                const int e = (from + n) * THREADS + threadIdx.x;
                if (e < robots * WIDTH) at(e / WIDTH, slot + e % WIDTH) = x[n];
            }
        }
    }
    template <int WIDTH> __device__ __forceinline__ void store(Real* array, int slot) const {
        Real* const rows = array + first * WIDTH;
#pragma unroll 4
        for (int e = threadIdx.x; e < robots * WIDTH; e += THREADS) rows[e] = at(e / WIDTH, slot + e % WIDTH);
    }
};
