// The group of LANES adjacent threads that share a robot; LANES is 1 for a thread per robot.
#pragma once

// A bit for each lane of a group, and for the first lane of every group of a warp.
constexpr unsigned LANE_BITS = LANES < 32 ? (1u << LANES % 32) - 1 : ~0u, FIRST_LANES = ~0u / LANE_BITS;

// The pitch of a robot's slots in a block of `robots`: interleaved over robots where lanes of several robots read the
// same slot, contiguous where a whole warp has one robot.
__device__ __forceinline__ constexpr int pitch_of(int robots) { return LANES == 32 ? 1 : robots; }
// The offset of the block's robot `own`, with `slots` slots each.
__device__ __forceinline__ constexpr size_t begin_of_slots(int own, int slots) {
    return LANES == 32 ? size_t(own) * slots : own;
}

// A barrier of all threads of the block, from any call site. Warps that begin steps together fetch the same
// instructions; otherwise a long step is bound by instruction fetches.
__device__ __forceinline__ void meet_block() {
#ifdef __CUDA_ARCH__
    asm volatile("barrier.sync 0;" ::: "memory");
#endif
}

// The lanes of one robot; a lane's writes are visible to the others after `sync`. Groups of a warp that `meet`
// synchronise with each other from then on and must make the same calls. With WHOLE all lanes of the warp make the same
// calls from the beginning.
template <bool WHOLE> struct LaneGroup {
    static constexpr int size = LANES;
    int rank;
    unsigned own, lanes;  // lanes of this group, and of all groups that have met

    __device__ __forceinline__ LaneGroup() : rank(LANES > 1 ? threadIdx.x % LANES : 0), own(0), lanes(0) {
        if constexpr (LANES > 1) lanes = own = LANE_BITS << (threadIdx.x % 32 - rank);
    }
    // The masks of synchronising lanes and of the robot's lanes; compile-time constants for a whole warp, which saves
    // ten instructions per synchronisation.
    __device__ __forceinline__ unsigned met() const { return LANES == 32 || WHOLE ? ~0u : lanes; }
    __device__ __forceinline__ unsigned mine() const { return LANES == 32 ? ~0u : own; }
    // Converge with the groups whose lanes are all active, or else with none.
    __device__ __forceinline__ void meet() {
        if constexpr (LANES > 1 && LANES < 32 && !WHOLE) {
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
    // The first lane's value.
    template <typename Real> __device__ __forceinline__ Real first(Real x) const {
        if constexpr (LANES > 1) return __shfl_sync(met(), x, threadIdx.x % 32 - rank);
        else return x;
    }
    // Lane `one`'s value.
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
    // The maximum; NaN if any is NaN.
    template <typename Real> __device__ __forceinline__ Real max(Real x) const {
        if constexpr (LANES > 1) {
#pragma unroll
            for (int d = 1; d < LANES; d *= 2) {
                const Real other = __shfl_xor_sync(met(), x, d);
                if (other > x || !(other == other)) x = other;
            }
        }
        return x;
    }
    // The maximum of nonnegative numbers, whose bits have the same order.
    template <typename Real> __device__ __forceinline__ Real max_nonnegative(Real x) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        if constexpr (LANES == 32 && sizeof(Real) == 4)
            return __uint_as_float(__reduce_max_sync(~0u, __float_as_uint(x)));
#endif
        return max(x);
    }
    // The maximum of integers.
    __device__ __forceinline__ int max_int(int x) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        if constexpr (LANES == 32) return __reduce_max_sync(~0u, x);
#endif
        return max(x);
    }
    __device__ __forceinline__ bool any(bool x) const {
        if constexpr (LANES > 1) return (__ballot_sync(met(), x) & mine()) != 0;
        else return x;
    }
    // Whether it holds in any lane of the groups that have met.
    __device__ __forceinline__ bool any_of_all(bool x) const {
        if constexpr (LANES > 1) return __ballot_sync(met(), x) != 0;
        else return x;
    }
    // The mask of the lanes with x.
    __device__ __forceinline__ unsigned those(bool x) const {
        if constexpr (LANES > 1) return (__ballot_sync(met(), x) & mine()) >> (threadIdx.x % 32 - rank);
        else return x;
    }
    // The number of lanes with x before this one; `all` is their total.
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
    // f by the first lane only. Returns its result.
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
using Group = LaneGroup<false>;
using WarpGroup = LaneGroup<true>;
