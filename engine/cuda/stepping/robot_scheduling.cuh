// Scheduling of the robots of a block. A block may have more robots than seats. They wait, by the kind of their next
// step, until a warp takes as many of one kind as it has seats, so that its lanes run the same code. Robots advance at
// different rates; a robot's results do not depend on the others in its warp.
#pragma once

#include "rigid_body/group.cuh"

// The lanes that are seated together.
#ifdef __CUDA_ARCH__
constexpr int TURN_LANES = 32;
#else
constexpr int TURN_LANES = LANES;
#endif
constexpr int SEATS = TURN_LANES / LANES;
constexpr unsigned ALL_OF_TURN = ~0u;
// Scheduling weights, in steps by which a robot is behind: of a further seat taken, of a further warp on the same kind.
// A robot FAR_BEHIND goes first, or the weights would delay it to the end.
constexpr int STEPS_FOR_A_SEAT = 64, STEPS_FOR_A_WARP = 8, FAR_BEHIND = 256, GOES_FIRST = 1 << 16;

// A warp's turn: robots of one kind, or KINDS when all have ended. An empty seat has robot −1.
struct Turn {
    int kind, robot;
};

// In shared memory, indexed by the robots of the block.
template <int KINDS, int WARPS> struct Turns {
    static constexpr int MOST = IN_TURNS;
    static_assert((MOST & (MOST - 1)) == 0, "places in a ring");

    int lock, left, front;  // robots that have not ended; the largest step count of a robot that began to wait
    int first[KINDS], queued[KINDS];  // of the rings
    int warps[KINDS];  // on each kind
    int beats[KINDS][WARPS];  // of each warp, see `keep_pace`
    int done[MOST];  // steps
    bool refused[MOST];
    unsigned short waiting[KINDS][MOST];  // ring buffers

    // Queue all robots for a step of kind 0, with `steps` done. Called by all threads of the block.
    __device__ __forceinline__ void begin(int robots, int steps) {
        for (int k = threadIdx.x; k < robots; k += blockDim.x) waiting[0][k] = k, done[k] = steps, refused[k] = false;
        for (int k = threadIdx.x; k < KINDS * WARPS; k += blockDim.x) beats[k / WARPS][k % WARPS] = 0;
        if (threadIdx.x == 0) {
            lock = 0, left = robots, front = steps;
            for (int kind = 0; kind < KINDS; ++kind)
                first[kind] = 0, warps[kind] = 0, queued[kind] = kind == 0 ? robots : 0;
        }
        __syncthreads();
    }

    // The next turn after `last`, whose robot next needs a step of `kind`, KINDS if it has ended.
    __device__ __forceinline__ Turn next(Turn last, int kind) {
        int robot = last.robot;
        const int lane = threadIdx.x % TURN_LANES, seat = lane / LANES;
        for (int before = last.kind;; before = KINDS, robot = -1) {
            take_lock(lane);
            if (lane == 0 && before < KINDS) --warps[before];
#pragma unroll
            for (int s = 0; s < SEATS; ++s) {
                const int r = __shfl_sync(ALL_OF_TURN, robot, s * LANES), k = __shfl_sync(ALL_OF_TURN, kind, s * LANES);
                if (lane == 0 && r >= 0) put(r, k);
            }
            __syncwarp(ALL_OF_TURN);
            const int chosen = choose(), many = chosen < KINDS ? min(queued[chosen], SEATS) : 0;
            const bool ended = left == 0;
            robot = seat < many ? waiting[min(chosen, KINDS - 1)][(first[min(chosen, KINDS - 1)] + seat) % MOST] : -1;
            __syncwarp(ALL_OF_TURN);
            if (lane == 0) {
                if (many > 0) first[chosen] = (first[chosen] + many) % MOST, queued[chosen] -= many, ++warps[chosen];
                leave_lock();
            }
            __syncwarp(ALL_OF_TURN);
            if (many > 0 || ended) return {chosen, robot};
            wait();
        }
    }

    // Warps on the most frequent kinds begin each step together, since they then read the same instructions, and
    // instruction caches are small. `beat`: the last one that this warp began, 0 at first.
    __device__ __forceinline__ void keep_pace(int kind, int& beat) {
#ifdef __CUDA_ARCH__
        const int warp = threadIdx.x / 32;
        volatile int* const all = beats[kind];
        __syncwarp(ALL_OF_TURN);
        if (threadIdx.x % 32 == 0) {
            ++beat;
            if (beat == 1) {
                beat = 2;  // it rejoins after all that have begun
#pragma unroll
                for (int w = 0; w < WARPS; ++w) beat = max(beat, abs(all[w]) + 1);
            }
            all[warp] = 1 - beat;
            for (bool waits = true; waits;) {
                waits = false;
#pragma unroll
                for (int w = 0; w < WARPS; ++w) {
                    const int other = all[w];
                    waits |= other > 0 && other < beat;
                }
            }
            all[warp] = beat;
        }
        __syncwarp(ALL_OF_TURN);
#endif
    }
    // Other warps no longer wait for this one.
    __device__ __forceinline__ void leave_pace(int kind, int& beat) {
        beat = 0;
        if (threadIdx.x % TURN_LANES == 0)
            *const_cast<volatile int*>(&beats[kind][threadIdx.x / TURN_LANES % WARPS]) = 0;
    }

private:
    __device__ __forceinline__ void put(int robot, int kind) {
        if (kind == KINDS) --left;
        else front = max(front, done[robot]), waiting[kind][(first[kind] + queued[kind]++) % MOST] = robot;
    }
    // The kind whose first robot is far behind; else the kind with the largest weight by seats filled, warps on it, and
    // steps behind.
    __device__ __forceinline__ int choose() const {
        int best = KINDS, most = 0;
        for (int kind = 0; kind < KINDS; ++kind) {
            if (queued[kind] == 0) continue;
            const int behind = front - done[waiting[kind][first[kind]]];
            const int worth = STEPS_FOR_A_SEAT * min(queued[kind], SEATS) + STEPS_FOR_A_WARP * warps[kind] + behind +
                              (behind > FAR_BEHIND ? GOES_FIRST : 0);
            if (best == KINDS || worth > most) best = kind, most = worth;
        }
        return best;
    }
    __device__ __forceinline__ void take_lock(int lane) {
        __syncwarp(ALL_OF_TURN);
        for (int before = 1; before != 0;) {
            if (lane == 0) before = atomicCAS(&lock, 0, 1);
            before = __shfl_sync(ALL_OF_TURN, before, 0);
        }
        __threadfence_block();
    }
    __device__ __forceinline__ void leave_lock() {
        __threadfence_block();
        atomicExch(&lock, 0);
    }
    __device__ __forceinline__ static void wait() {
#if defined(__CUDA_ARCH__) || defined(WAITS_ON_HOST)
        __nanosleep(300);
#endif
    }
};
