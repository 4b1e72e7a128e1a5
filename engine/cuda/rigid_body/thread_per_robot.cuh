// The base of kernels with a thread a robot: the memory of a block's robots, and coalesced loads and stores.
#pragma once

#include "rigid_body/tree.cuh"

extern "C" {
__constant__ __align__(16) unsigned char constant_memory[CONSTANT_BYTES > 0 ? CONSTANT_BYTES : 1];
}

// The constants common to all robots, in constant memory where they fit.
template <typename Real> __device__ __forceinline__ Constants<Real, false> robot_of_all(const Real* constants) {
    return {CONSTANT_BYTES > 0 ? reinterpret_cast<const Real*>(constant_memory) : constants, 0};
}

// A block is a warp, THREADS, which needs no block barrier.
//
// The slots of a block's robots are in global memory where they are too large, else in shared memory. For few robots
// the constants are there too, fetched at once, since cold cache misses would be served one by one. thread_per_robot.py
// numbers the three variants: IN_GLOBAL, IN_SHARED and WITH_CONSTANTS.

// The slots of a coordinate of the tree, of its velocity as an input, and of its force or acceleration; and that of the
// result for a velocity of the model.
__device__ __forceinline__ int joint_slot(int k) { return SCALAR ? BODY_SLOTS * k + JOINT : Q_SLOT[k]; }
__device__ __forceinline__ int rate_slot(int k) { return SCALAR ? BODY_SLOTS * k + WRENCH : V_SLOT[k]; }
__device__ __forceinline__ int effort_slot(int k) { return SCALAR ? BODY_SLOTS * k + EFFORT : FORCE_SLOT[k]; }

__device__ __forceinline__ int result_slot(int k) {
    return SCALAR && !JOINT_SPACE ? BODY_SLOTS * k + EFFORT : RESULT_SLOT[k];
}

// A block and its robots. The pitch of slots puts a robot's coordinates, which are loaded together, on different banks
// of shared memory.
template <typename Real, int PLACE> struct RobotBlock {
    static constexpr int PITCH = PLACE == IN_GLOBAL ? THREADS : THREADS + 1;
    using Memory = Slots<Real, PITCH>;
    Real *first, *constants;
    int first_robot, robots;

    __device__ __forceinline__ RobotBlock(Real* workspace, int first_robot, int robots)
        : first_robot(first_robot), robots(robots) {
        extern __shared__ __align__(16) unsigned char shared_memory[];
        Real* const shared = reinterpret_cast<Real*>(shared_memory);
        first = PLACE == IN_GLOBAL ? workspace + size_t(blockIdx.x) * SLOTS * PITCH : shared;
        constants = shared + SLOTS * PITCH;
    }
    __device__ __forceinline__ Memory slots() const { return {first + threadIdx.x}; }
    __device__ __forceinline__ Constants<Real, false> robot(const Real* all) const {
        if constexpr (PLACE == WITH_CONSTANTS) return {constants, 0};
        else return robot_of_all(all);
    }
    __device__ __forceinline__ void load_constants(const Real* all) const {
        if constexpr (PLACE == WITH_CONSTANTS) {
            constexpr int SIZE = (BODIES + 1) * packed::CONSTANTS, AT_ONCE = 8;
#pragma unroll 1
            for (int start = 0; start < SIZE; start += AT_ONCE * THREADS) {
                const int from = start + threadIdx.x;
                Real x[AT_ONCE];
#pragma unroll
                for (int n = 0; n < AT_ONCE; ++n) x[n] = all[min(from + n * THREADS, SIZE - 1)];
#pragma unroll
                for (int n = 0; n < AT_ONCE; ++n)
                    if (from + n * THREADS < SIZE) constants[from + n * THREADS] = x[n];
            }
        }
    }

    // Part of the robots' rows of WIDTH numbers read(e), in array order: all loads are issued before the first use.
    static constexpr int AT_ONCE = TREE_NQ < 10 ? TREE_NQ : 10;
    struct Part {
        Real x[AT_ONCE];
    };
    template <int WIDTH, class Read> __device__ __forceinline__ Part fetch(int from, const Read& read) const {
        Part part;
#pragma unroll
        for (int n = 0; n < AT_ONCE; ++n) {
            const int e = (from + n) * THREADS + threadIdx.x;
            if (e < robots * WIDTH) part.x[n] = read(e);
        }
        return part;
    }
    // The tree's coordinates from q (batch, NQ); its velocities or accelerations, or forces, from an array (batch, NV).
    __device__ __forceinline__ Part fetch_q(const Real* q, int from) const {
        const Real* const rows = q + size_t(first_robot) * NQ;
        return fetch<TREE_NQ>(from, [&](int e) {
            if constexpr (!HAS_MIMIC) return rows[e];
            const int k = e % TREE_NQ;
            return Real(Q_FACTOR[k]) * rows[e / TREE_NQ * NQ + Q_INDEX[k]] + Real(Q_OFFSET[k]);
        });
    }
    __device__ __forceinline__ Part fetch_v(const Real* v, int from) const {
        const Real* const rows = v + size_t(first_robot) * NV;
        return fetch<TREE_NV>(from, [&](int e) {
            if constexpr (!HAS_MIMIC) return rows[e];
            const int k = e % TREE_NV;
            return Real(V_FACTOR[k]) * rows[e / TREE_NV * NV + V_INDEX[k]];
        });
    }
    template <int WIDTH, class Put>
    __device__ __forceinline__ void spread(const Part& part, int from, const Put& put) const {
#pragma unroll
        for (int n = 0; n < AT_ONCE; ++n) {
            const int e = (from + n) * THREADS + threadIdx.x;
            if ((from + n) * THREADS >= robots * WIDTH) break;
            if (e < robots * WIDTH) put(part.x[n], e % WIDTH, Memory{first + e / WIDTH});
        }
    }
    // `kinematics` of all robots of the block, distributed over its threads.
    __device__ __forceinline__ void spread_q(const Part& part, int from) const {
        spread<TREE_NQ>(part, from, [](Real x, int k, Memory at) {
            const int s = joint_slot(k);
            if (ONE_KIND >= 0 ? ONE_KIND == REVOLUTE : TURNS[k]) {
                Real sine, cosine;
                sincos_of(x, sine, cosine);
                at(s) = sine, at(s + 1) = cosine;
            } else {
                at(s) = x;
            }
        });
    }
    __device__ __forceinline__ void load(const Real* q) const {
#pragma unroll 1
        for (int from = 0; from < TREE_NQ; from += AT_ONCE) spread_q(fetch_q(q, from), from);
    }
    __device__ __forceinline__ void spread_v(const Part& part, int from) const {
        spread<TREE_NV>(part, from, [](Real x, int k, Memory at) { at(rate_slot(k)) = x; });
    }
    // q and v.
    __device__ __forceinline__ void load(const Real* q, const Real* v) const {
#pragma unroll 1
        for (int from = 0; from < TREE_NQ; from += AT_ONCE) {
            const Part position = fetch_q(q, from), rate = fetch_v(v, from);
            spread_q(position, from), spread_v(rate, from);
        }
    }
    // q, v, and accelerations, or forces in models without mimic joints.
    __device__ __forceinline__ void load(const Real* q, const Real* v, const Real* effort) const {
#pragma unroll 1
        for (int from = 0; from < TREE_NQ; from += AT_ONCE) {
            const Part position = fetch_q(q, from), rate = fetch_v(v, from), force = fetch_v(effort, from);
            spread_q(position, from), spread_v(rate, from);
            spread<TREE_NV>(force, from, [](Real x, int k, Memory at) { at(effort_slot(k)) = x; });
        }
    }
    // Forces, into the slots of the results.
    __device__ __forceinline__ void load_forces(const Real* tau) const {
        const Real* const rows = tau + size_t(first_robot) * NV;
#pragma unroll 8
        for (int e = threadIdx.x; e < robots * NV; e += THREADS) first[result_slot(e % NV) * PITCH + e / NV] = rows[e];
    }
    // Results.
    __device__ __forceinline__ void store(Real* array) const {
        Real* const rows = array + size_t(first_robot) * NV;
#pragma unroll 8
        for (int e = threadIdx.x; e < robots * NV; e += THREADS) rows[e] = first[result_slot(e % NV) * PITCH + e / NV];
    }
};

// A thread's slots in the interface of the sweeps.
template <typename Real, class Memory> struct Given {
    static constexpr bool HAS_WRENCHES = false;
    Memory at;

    __device__ __forceinline__ Real v(int i, int k) const {
        return at(first_slot(i) + (kind(i) == FREE ? FREE_WRENCH : WRENCH) + k - v_start(i));
    }
    __device__ __forceinline__ Real& force(int i, int k) const {
        return at(first_slot(i) + (kind(i) == FREE ? FREE_EFFORT : EFFORT) + k - v_start(i));
    }
    __device__ __forceinline__ void acceleration(int i, int k, Real value) const { force(i, k) = value; }
    __device__ __forceinline__ Real acceleration(int i, int k) const { return force(i, k); }
};
