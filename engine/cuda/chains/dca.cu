// Forward dynamics of long serial chains in one launch: DCA-ABA, see dca.cuh.
#include "chains/dca.cuh"

// q̈ (batch, n) from q, v and τ (batch, n) of chains on a fixed base; `constants` as in `motions`. The grid is BLOCKS ×
// batch blocks of CHUNKS warps. Groups that are not clusters have a Meeting, zero at first, and a Sent each.
template <typename Real>
__global__ void __launch_bounds__(CHUNKS * LANES)
#if CLUSTER
    __cluster_dims__(BLOCKS, 1, 1)
#endif
        dca(const Real* __restrict__ q, const Real* __restrict__ v, const Real* __restrict__ tau,
            Real* __restrict__ qdd, const Real* __restrict__ constants, Real gx, Real gy, Real gz, Meeting* meetings,
            Sent<Real>* outside, int n, int longest) {
    extern __shared__ __align__(16) char memory[];
    const Chunk<Real> chunk(memory, meetings, outside, n, longest);
    const size_t at = size_t(blockIdx.x / BLOCKS) * n + chunk.own();
    Real angle = 0, rate = 0, effort = 0;
    if (chunk.here()) angle = q[at], rate = v[at], effort = tau[at];
    const Motions<Real> moving = motions(chunk, constants, n, angle, rate);
    const Real answer = accelerations(chunk, moving, effort, Vector<Real>{gx, gy, gz}, [](int) {});
    if (chunk.here()) qdd[at] = answer;
}
