// Which robots of a block step next. A block may have more robots than its lanes have seats for, and they wait, by the kind of their
// next step, until a warp takes as many of one kind as it seats: so its lanes do the same. Each robot is some steps ahead of others
// or behind them; what it comes to depends on no other, and so not on who was seated with it.
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
// What a robot more in a turn is worth, and a warp that takes steps of the same kind, in steps by which a robot is behind others. One
// that is FAR_BEHIND goes first: what is worth most would leave it for the end.
constexpr int STEPS_FOR_A_SEAT = 64, STEPS_FOR_A_WARP = 8, FAR_BEHIND = 256, GOES_FIRST = 1 << 16;

// What a warp takes: robots of one kind, or none when all have ended. A seat without one has −1.
struct Turn {
    int kind, robot;
};

// In shared memory, by the robots of the block.
template <int KINDS, int WARPS> struct Turns {
    static constexpr int MOST = IN_TURNS;
    static_assert((MOST & (MOST - 1)) == 0, "places in a ring");

    int lock, left, front;  // robots that have not ended; the most steps that one had done when it began to wait
    int first[KINDS], count[KINDS];  // of those that wait
    int warps[KINDS];  // that step
    int beats[KINDS][WARPS];  // of each warp, see `keep_pace`
    int done[MOST];  // steps
    bool refused[MOST];  // whether the last step that was tried was not taken
    unsigned short waiting[KINDS][MOST];

    // All of them wait for a step of kind 0, with `steps` done; all threads of the block call.
    __device__ __forceinline__ void begin(int robots, int steps) {
        for (int k = threadIdx.x; k < robots; k += blockDim.x) waiting[0][k] = k, done[k] = steps, refused[k] = false;
        for (int k = threadIdx.x; k < KINDS * WARPS; k += blockDim.x) beats[k / WARPS][k % WARPS] = 0;
        if (threadIdx.x == 0) {
            lock = 0, left = robots, front = steps;
            for (int kind = 0; kind < KINDS; ++kind) first[kind] = 0, warps[kind] = 0, count[kind] = kind == 0 ? robots : 0;
        }
        __syncthreads();
    }

    // The next turn after `last`, of whose robot a step of `kind` comes next: KINDS, if it ended.
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
            const int chosen = choose(), many = chosen < KINDS ? min(count[chosen], SEATS) : 0;
            const bool ended = left == 0;
            robot = seat < many ? waiting[min(chosen, KINDS - 1)][(first[min(chosen, KINDS - 1)] + seat) % MOST] : -1;
            __syncwarp(ALL_OF_TURN);
            if (lane == 0) {
                if (many > 0) first[chosen] = (first[chosen] + many) % MOST, count[chosen] -= many, ++warps[chosen];
                leave_lock();
            }
            __syncwarp(ALL_OF_TURN);
            if (many > 0 || ended) return {chosen, robot};
            wait();
        }
    }

    // A warp that takes steps of the kind that most robots take begins each when all others that do have ended theirs: they read the
    // same instructions then, which caches have little room for. `beat`: the last that it has begun, 0 at first; `lanes`: those that
    // call.
    __device__ __forceinline__ void keep_pace(int kind, int& beat, unsigned lanes) {
#ifdef __CUDA_ARCH__
        const int warp = threadIdx.x / 32;
        volatile int* const all = beats[kind];
        __syncwarp(lanes);
        if (threadIdx.x % 32 == 0) {
            ++beat;
            if (beat == 1) {
                beat = 2;  // it comes back, after all that have begun
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
        __syncwarp(lanes);
#endif
    }
    // Nobody waits for it from now on.
    __device__ __forceinline__ void leave_pace(int kind, int& beat) {
        beat = 0;
        if (threadIdx.x % TURN_LANES == 0) *const_cast<volatile int*>(&beats[kind][threadIdx.x / TURN_LANES % WARPS]) = 0;
    }

private:
    __device__ __forceinline__ void put(int robot, int kind) {
        if (kind == KINDS) --left;
        else front = max(front, done[robot]), waiting[kind][(first[kind] + count[kind]++) % MOST] = robot;
    }
    // The kind whose first robot is far behind; else that of which most would be seated, that most warps take, and whose first robot
    // is furthest behind.
    __device__ __forceinline__ int choose() const {
        int best = KINDS, most = 0;
        for (int kind = 0; kind < KINDS; ++kind) {
            if (count[kind] == 0) continue;
            const int behind = front - done[waiting[kind][first[kind]]];
            const int worth = STEPS_FOR_A_SEAT * min(count[kind], SEATS) + STEPS_FOR_A_WARP * warps[kind] + behind +
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
