// Rows of numbers of a block's robots, between an array (batch, WIDTH) and the slots of the block's threads in shared
// memory. The threads move them together, in the order of the array: each one for its own robot would ask for as many
// lines of memory at once as there are threads, and the memory's units take these one after the other. Slots are a pitch
// apart that keeps the numbers of a robot on different banks.
//
// All threads of the block call, and wait for one another before they read what came; those that store have waited.
#pragma once

#include "rigid_body/tree.cuh"

template <typename Real, int THREADS> struct Rows {
    static constexpr int PITCH = THREADS + 1, AT_ONCE = 8;
    Real* block;   // the slots of the first robot
    size_t first;  // robot
    int robots;    // of the block

    __device__ __forceinline__ Real& at(int robot, int slot) const { return Slots<Real, PITCH>{block + robot}(slot); }

    template <int WIDTH> __device__ __forceinline__ void load(const Real* array, int slot) const {
        const Real* const rows = array + first * WIDTH;
#pragma unroll 1
        for (int from = 0; from < WIDTH; from += AT_ONCE) {  // all of a part is on its way before any is put down
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
