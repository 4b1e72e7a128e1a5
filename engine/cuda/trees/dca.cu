// Forward dynamics of any tree in one launch: DCA-ABA by the schedule of contraction.py, which gives every warp of a group
// of blocks its tasks, one after the other; between rounds the group's warps meet.
#include "trees/stretches.cuh"

// What the warp finds in `from`, with all its lanes.
template <typename Real, class SubChain>
__device__ __forceinline__ void fetch(const SubChain* from, SubChain& to, int lane) {
    copy<Real>(*from, to, lane);
}

// The sum of the shares that `slot` adds up, a number a lane.
template <typename Real> __device__ __forceinline__ void add_shares(const Tree<Real>& tree, int slot, int lane) {
    constexpr int NUMBERS = sizeof(Share<Real>) / sizeof(Real);
    if (lane >= NUMBERS) return;
    Real* const number = tree.numbers + size_t(SHARE + lane) * tree.stride;
    const int end = tree.first_share[slot + 1];
    Real sum = 0;
#pragma unroll 8
    for (int k = tree.first_share[slot]; k < end; ++k) sum += number[tree.shares[k]];
    number[slot] = sum;
}

template <typename Real>
__device__ __forceinline__ void join_elements(const Tree<Real>& tree, const Room<Real>& room, int one, int two, int out, int lane) {
    fetch<Real>(tree.elements + one, room.element[0], lane);
    fetch<Real>(tree.elements + two, room.element[1], lane);
    join(room.element[0], room.element[1], tree.elements[out], room.scratch, lane);
}
template <typename Real>
__device__ __forceinline__ void join_maps(const Tree<Real>& tree, const Room<Real>& room, int one, int two, int out, int lane) {
    join(tree.maps[one], tree.maps[two], tree.maps[out], room.scratch, lane);
}

// A task of one warp: which, and for how many bodies or links, from `x` on; the rest is the task's own.
template <typename Real>
__device__ __forceinline__ void carry_out(const Tree<Real>& tree, const Room<Real>& room, int which, int count, int4 at, int lane) {
    const bool here = lane < count;
    const int i = at.y + lane;
    switch (which) {
    case task::START: if (here) start(tree, i); break;
    case task::DOUBLE: if (here) double_travel(tree, i, at.z); break;
    case task::ABSORB: if (here) absorb(tree, i); break;
    case task::SUM: add_shares(tree, at.y, lane); break;
    case task::REDUCE: reduce_chunk(tree, room.link, at.y, count, at.z, lane); break;
    case task::ARTICULATE: articulate_chunk(tree, room.link, at.y, count, at.z, at.w, lane); break;
    case task::JOIN: join_elements(tree, room, at.y, at.z, at.w, lane); break;
    case task::JOIN_MAPS: join_maps(tree, room, at.y, at.z, at.w, lane); break;
    case task::ACCELERATE: if (here) accelerate(tree, i); break;
    case task::ACCELERATE_CHUNK: accelerate_chunk(tree, at.y, count, at.z, at.w, lane); break;
    }
    __syncwarp();
}

// q̈ (batch, NV) from q (batch, NQ), v and τ (batch, NV). The grid is BLOCKS × groups blocks of CHUNKS warps; a group takes
// robot after robot, and `workspace` has `room` numbers for each group: FIELDS of every place, then elements, then maps.
template <typename Real>
__global__ void __launch_bounds__(CHUNKS * LANES)
#if CLUSTER
    __cluster_dims__(BLOCKS, 1, 1)
#endif
        tree_dca(const Real* __restrict__ q, const Real* __restrict__ v, const Real* __restrict__ tau, Real* __restrict__ qdd,
                 const Real* __restrict__ constants, Real gx, Real gy, Real gz, const int* __restrict__ bodies,
                 const int* __restrict__ first_share, const int* __restrict__ shares, const int* __restrict__ ancestors,
                 const int* __restrict__ links, const int4* __restrict__ program, const int* __restrict__ first_step,
                 Real* workspace, long long room_numbers, int stride, int elements, int warp_numbers, int nq, int nv,
                 int batch) {
    extern __shared__ __align__(16) char memory[];
    const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES, group = blockIdx.x / BLOCKS;
    const Room<Real> room(memory, warp, warp_numbers);
    Real* const numbers = workspace + group * room_numbers;
    Element<Real>* const first_element = reinterpret_cast<Element<Real>*>(numbers + size_t(FIELDS) * stride);
    const int begin = first_step[warp * BLOCKS + blockIdx.x % BLOCKS];
#pragma unroll 1
    for (int robot = group; robot < batch; robot += gridDim.x / BLOCKS) {
        const size_t at = size_t(robot) * nv;
        const Tree<Real> tree = {constants, bodies, first_share, shares, ancestors, links, stride, {gx, gy, gz},
                                 q + size_t(robot) * nq, v + at, tau + at, qdd + at, numbers, first_element,
                                 reinterpret_cast<Map<Real>*>(first_element + elements)};
        int4 next = program[begin];
#pragma unroll 1
        for (int k = begin + 1;; ++k) {
            const int4 now = next;
            const int which = now.x & 15;
            if (which == task::END) break;
            next = program[k];
            if (which == task::MEET) everyone(nullptr);
            else carry_out(tree, room, which, now.x >> 4, now, lane);
        }
        everyone(nullptr);
    }
}
