// The shared data of DCA-ABA's groups, and their barriers. The preamble defines BLOCKS, the blocks of a group, CHUNKS,
// the warps of a block, and CLUSTER: whether the group is a cluster, whose blocks write into each other's shared memory
// (compute capability 9.0), or synchronises in global memory, where all blocks of the grid must be resident.
#pragma once

#include "chains/link_maximum.cuh"
#include "chains/sub_chain.cuh"

// A link in shared memory: the rows of J and p; S; J S and Sᵀp − τ; U, −u and 1/D; Φ S, later α and β.
template <typename Real> struct Link {
    Six<Real> J[7], S;
    Real JS[8], U[8], G[8];
#if ADDITIONS
    Real added_inertia, target, D, held;
#endif
};
// The data that the blocks of a group have sent each other.
template <typename Real> struct Sent {
    Element<Real> element[BLOCKS];
    Map<Real> map[BLOCKS];
    Travel<Real> travel[BLOCKS];
#if ADDITIONS
    Best<Real> best[2][BLOCKS];
    Real stop, none;
#endif
};
// A block's data beside its links.
template <typename Real> struct Shared {
    Element<Real> element[2][CHUNKS], beyond[CHUNKS];
    Map<Real> map[2][CHUNKS];
    Travel<Real> travel[CHUNKS];
    Six<Real> scratch[CHUNKS][6];
#if ADDITIONS
    Best<Real> best[2][CHUNKS];
#endif
#if CLUSTER
    Sent<Real> sent;
#endif
};
static_assert(sizeof(Link<double>) == LINK_NUMBERS * 8 && sizeof(Element<double>) == ELEMENT_NUMBERS * 8 &&
              sizeof(Map<double>) == MAP_NUMBERS * 8 && sizeof(Travel<double>) == TRAVEL_NUMBERS * 8 &&
              sizeof(Shared<double>::scratch) == CHUNKS * SCRATCH_NUMBERS * 8 &&
              sizeof(Sent<double>) == SENT_NUMBERS * 8, "what dca.py makes room for");
// A group's barrier in global memory: the number of blocks that arrived, and of completed phases.
struct Meeting { unsigned come, times; };

// A barrier of all threads of the group, with visibility of their writes.
__device__ __forceinline__ void everyone(Meeting* meeting) {
#if CLUSTER
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
#else
    __syncthreads();
    if (BLOCKS == 1) return;
    if (threadIdx.x == 0) {
        volatile unsigned* times = &meeting->times;
        const unsigned before = *times;
        __threadfence();
        if (atomicAdd(&meeting->come, 1) == BLOCKS - 1) {
            meeting->come = 0;
            __threadfence();
            *times = before + 1;
        } else {
            while (*times == before) {}
        }
        __threadfence();
    }
    __syncthreads();
#endif
}

// Send a sub-chain's numbers to the blocks first … last − 1 of the group, by all threads of the block: to the same
// address in their shared memory, or to global memory.
template <typename Real, class SubChain>
__device__ __forceinline__ void send(const SubChain& run, SubChain* place, int first, int last) {
    constexpr int size = sizeof(SubChain) / sizeof(Real);
    const Real* from = reinterpret_cast<const Real*>(&run);
    Real* to = reinterpret_cast<Real*>(place);
#if CLUSTER
    for (int k = threadIdx.x; k < size * (last - first); k += blockDim.x) {
        Real* there;
        asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(to), "r"(first + k / size));
        there[k % size] = from[k % size];
    }
#else
    for (int k = threadIdx.x; k < size; k += blockDim.x) to[k] = from[k];
#endif
}

// A warp's chunk of a chain, a link per lane, and its group's shared data.
template <typename Real> struct Chunk {
    Shared<Real>& shared;
    Sent<Real>& sent;
    Meeting* meeting;
    Link<Real>* link;  // of the warp
    int lane, warp, rank, first, length, longest;

    // `memory` is the block's, `outside` that of groups that synchronise in global memory. `longest`: the most links of
    // a chunk, at most a warp.
    __device__ __forceinline__ Chunk(char* memory, Meeting* meetings, Sent<Real>* outside, int n, int longest)
        : shared(*reinterpret_cast<Shared<Real>*>(memory)),
#if CLUSTER
          sent(shared.sent),
#else
          sent(outside[blockIdx.x / BLOCKS]),
#endif
          meeting(meetings + blockIdx.x / BLOCKS), lane(threadIdx.x % LANES), warp(threadIdx.x / LANES),
          rank(blockIdx.x % BLOCKS), longest(longest) {
        const int chunk = rank * CHUNKS + warp, chunks = BLOCKS * CHUNKS;
        first = (long long)n * chunk / chunks;
        length = (long long)n * (chunk + 1) / chunks - first;
        link = reinterpret_cast<Link<Real>*>(memory + sizeof(Shared<Real>)) + warp * longest;
    }
    __device__ __forceinline__ bool here() const { return lane < length; }  // whether the lane has a link
    __device__ __forceinline__ int own() const { return first + lane; }  // its index in the chain
};
