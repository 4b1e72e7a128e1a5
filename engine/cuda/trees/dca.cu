// Forward dynamics of any tree in one launch: DCA-ABA by the schedule of contraction.py, which assigns tasks to every
// warp of a group of blocks; a group barrier separates rounds.
#include "trees/program.cuh"

// q̈ (batch, NV) from q (batch, NQ), v and τ (batch, NV). The grid is BLOCKS × groups blocks of CHUNKS warps; a group
// takes robot after robot, and `workspace` has `size` numbers for each group: FIELDS of every place, then elements,
// then maps.
template <typename Real>
__global__ void __launch_bounds__(CHUNKS * LANES)
#if CLUSTER
    __cluster_dims__(BLOCKS, 1, 1)
#endif
        tree_dca(const Real* __restrict__ q, const Real* __restrict__ v, const Real* __restrict__ tau,
                 Real* __restrict__ qdd, const Real* __restrict__ constants, Real gx, Real gy, Real gz,
                 const int* __restrict__ bodies, const int* __restrict__ first_share, const int* __restrict__ shares,
                 const int* __restrict__ ancestors, const int* __restrict__ links, const int4* __restrict__ program,
                 const int* __restrict__ first_step, Real* workspace, long long size, int stride, int elements,
                 int warp_numbers, int nq, int nv, int batch) {
    extern __shared__ __align__(16) char memory[];
    const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES, group = blockIdx.x / BLOCKS;
    const Workspace<Real> ws(memory, warp, warp_numbers);
    Real* const numbers = workspace + group * size;
    Element<Real>* const first_element = reinterpret_cast<Element<Real>*>(numbers + size_t(FIELDS) * stride);
    const int begin = first_step[warp * BLOCKS + blockIdx.x % BLOCKS];
#pragma unroll 1
    for (int robot = group; robot < batch; robot += gridDim.x / BLOCKS) {
        const size_t at = size_t(robot) * nv;
        const Tree<Real> tree = {constants, bodies, first_share, shares, ancestors, links, stride, {gx, gy, gz},
                                 q + size_t(robot) * nq, v + at, tau + at, qdd + at, numbers, first_element,
                                 reinterpret_cast<Map<Real>*>(first_element + elements)};
        carry_out_program(tree, ws, program, begin, lane, [] {});
    }
}
