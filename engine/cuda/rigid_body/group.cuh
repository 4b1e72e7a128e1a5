// LANES threads next to each other that have one robot, or one that has it alone.
#pragma once

// A bit for each lane of a group, and for the first one of every group of a warp.
constexpr unsigned LANE_BITS = LANES < 32 ? (1u << LANES % 32) - 1 : ~0u, FIRST_LANES = ~0u / LANE_BITS;

// How far a robot's numbers are from each other where a block has `robots`: whose lanes read at the same places have them side by
// side with the other robots', and the lanes of a whole warp read one robot's side by side.
__device__ __forceinline__ constexpr int pitch_of(int robots) { return LANES == 32 ? 1 : robots; }
// Where those of the block's robot `own` begin, of which there are `slots`.
__device__ __forceinline__ constexpr size_t begin_of_slots(int own, int slots) {
    return LANES == 32 ? size_t(own) * slots : own;
}

// Waits for all threads of the block, wherever they come from. The warps of a multiprocessor whose steps begin together read the same
// instructions at the same time; where each is somewhere else in a long step, they wait for instructions more than for anything.
__device__ __forceinline__ void meet_block() {
#ifdef __CUDA_ARCH__
    asm volatile("barrier.sync 0;" ::: "memory");
#endif
}

// The lanes that have one robot; what one of them writes the others read after `sync`. Groups of a warp that `meet` wait for each
// other from then on, so that they stay together: they have to come to the same calls.
struct Group {
    static constexpr int size = LANES;
    int rank;
    unsigned own, lanes;  // those of this group, and of all that have met

    __device__ __forceinline__ Group() : rank(LANES > 1 ? threadIdx.x % LANES : 0), own(0), lanes(0) {
        if constexpr (LANES > 1) lanes = own = LANE_BITS << (threadIdx.x % 32 - rank);
    }
    // Who waits for each other, and who has the robot: of a whole warp the compiler is to know it, or each wait takes ten
    // instructions.
    __device__ __forceinline__ unsigned met() const { return LANES == 32 ? ~0u : lanes; }
    __device__ __forceinline__ unsigned mine() const { return LANES == 32 ? ~0u : own; }
    // Those groups that are here with all their lanes, or else this one by itself.
    __device__ __forceinline__ void meet() {
        if constexpr (LANES > 1 && LANES < 32) {
            unsigned whole = __activemask();
#pragma unroll
            for (int d = 1; d < LANES; d *= 2) whole &= whole >> d;
            whole &= FIRST_LANES;
            whole *= LANE_BITS;
            lanes = whole & own ? whole : own;
        }
    }
    __device__ __forceinline__ void sync() const {
        if constexpr (LANES > 1) __syncwarp(met());
    }
    // What the first of them has.
    template <typename Real> __device__ __forceinline__ Real first(Real x) const {
        if constexpr (LANES > 1) return __shfl_sync(met(), x, threadIdx.x % 32 - rank);
        else return x;
    }
    // What lane `one` of them has.
    template <typename Real> __device__ __forceinline__ Real from(Real x, int one) const {
        if constexpr (LANES > 1) return __shfl_sync(met(), x, threadIdx.x % 32 - rank + one);
        else return x;
    }
    template <typename Real> __device__ __forceinline__ Real sum(Real x) const {
        if constexpr (LANES > 1) {
#pragma unroll
            for (int d = 1; d < LANES; d *= 2) x += __shfl_xor_sync(met(), x, d);
        }
        return x;
    }
    // The greatest; no number, if any is none.
    template <typename Real> __device__ __forceinline__ Real greatest(Real x) const {
        if constexpr (LANES > 1) {
#pragma unroll
            for (int d = 1; d < LANES; d *= 2) {
                const Real other = __shfl_xor_sync(met(), x, d);
                if (other > x || !(other == other)) x = other;
            }
        }
        return x;
    }
    // The same of numbers that are not less than nought, whose bits are in the order of what they mean.
    template <typename Real> __device__ __forceinline__ Real greatest_size(Real x) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        if constexpr (LANES == 32 && sizeof(Real) == 4) return __uint_as_float(__reduce_max_sync(~0u, __float_as_uint(x)));
#endif
        return greatest(x);
    }
    // The greatest of whole numbers.
    __device__ __forceinline__ int most(int x) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        if constexpr (LANES == 32) return __reduce_max_sync(~0u, x);
#endif
        return greatest(x);
    }
    __device__ __forceinline__ bool any(bool x) const {
        if constexpr (LANES > 1) return (__ballot_sync(met(), x) & mine()) != 0;
        else return x;
    }
    // The same of all groups that have met.
    __device__ __forceinline__ bool any_of_all(bool x) const {
        if constexpr (LANES > 1) return __ballot_sync(met(), x) != 0;
        else return x;
    }
    // Which of them have x, a bit each.
    __device__ __forceinline__ unsigned those(bool x) const {
        if constexpr (LANES > 1) return (__ballot_sync(met(), x) & mine()) >> (threadIdx.x % 32 - rank);
        else return x;
    }
    // Of those that have x, how many are before this one, and how many there are.
    __device__ __forceinline__ int before(bool x, int& all) const {
        if constexpr (LANES > 1) {
            const unsigned have = __ballot_sync(met(), x) & mine();
            all = __popc(have);
            return __popc(have & ((1u << threadIdx.x % 32) - 1));
        } else {
            all = x;
            return 0;
        }
    }
    // f by the first alone; answers what it does.
    template <class F> __device__ __forceinline__ bool lead(const F& f) const {
        if constexpr (LANES > 1) {
            bool x = false;
            sync();
            if (rank == 0) x = f();
            sync();
            return first(int(x)) != 0;
        } else {
            return f();
        }
    }
};
