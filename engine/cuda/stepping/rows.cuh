// Rows of numbers of a block's robots, between an array (batch, WIDTH) and the slots of the block's threads. The threads
// move them together, in the order of the array: each one for its own robot would ask for as many lines of memory at once
// as there are threads, and the memory's units take these one after the other.
//
// Where slots are in shared memory they are a pitch apart that keeps the numbers of a robot on different banks. Where they
// are not, rows go through `tile`, some columns of all robots at a time. All threads of the block call, and wait for one
// another before they read what came; those that store have waited.
#pragma once

#include "rigid_body/tree.cuh"

template <typename Real, int THREADS, bool SHARED> struct Rows {
    static constexpr int PITCH = SHARED ? THREADS + 1 : THREADS, AT_ONCE = 8;
    static constexpr int COLUMNS = TILE_BYTES / sizeof(Real), TILE_PITCH = THREADS + 1;
    Real *block, *tile;  // the slots of the first robot; of shared memory (COLUMNS, TILE_PITCH)
    size_t first;        // robot, of how many
    int robots;

    __device__ __forceinline__ Real& at(int robot, int slot) const { return Slots<Real, PITCH>{block + robot}(slot); }

    template <int WIDTH> __device__ __forceinline__ void load(const Real* array, int slot) const {
        const Real* const rows = array + first * WIDTH;
        if constexpr (SHARED) {
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
        } else {
#pragma unroll 1
            for (int from = 0; from < WIDTH; from += COLUMNS) {
#pragma unroll 4
                for (int e = threadIdx.x; e < robots * COLUMNS; e += THREADS) {
                    const int robot = e / COLUMNS, k = e % COLUMNS;
                    if (from + k < WIDTH) tile[k * TILE_PITCH + robot] = rows[robot * WIDTH + from + k];
                }
                __syncthreads();
                if (threadIdx.x < robots) {
                    for (int k = 0; k < COLUMNS && from + k < WIDTH; ++k)
                        at(threadIdx.x, slot + from + k) = tile[k * TILE_PITCH + threadIdx.x];
                }
                __syncthreads();
            }
        }
    }
    template <int WIDTH> __device__ __forceinline__ void store(Real* array, int slot) const {
        Real* const rows = array + first * WIDTH;
        if constexpr (SHARED) {
#pragma unroll 4
            for (int e = threadIdx.x; e < robots * WIDTH; e += THREADS) rows[e] = at(e / WIDTH, slot + e % WIDTH);
        } else {
#pragma unroll 1
            for (int from = 0; from < WIDTH; from += COLUMNS) {
                if (threadIdx.x < robots) {
                    for (int k = 0; k < COLUMNS && from + k < WIDTH; ++k)
                        tile[k * TILE_PITCH + threadIdx.x] = at(threadIdx.x, slot + from + k);
                }
                __syncthreads();
#pragma unroll 4
                for (int e = threadIdx.x; e < robots * COLUMNS; e += THREADS) {
                    const int robot = e / COLUMNS, k = e % COLUMNS;
                    if (from + k < WIDTH) rows[robot * WIDTH + from + k] = tile[k * TILE_PITCH + robot];
                }
                __syncthreads();
            }
        }
    }
};
