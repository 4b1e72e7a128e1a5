// JSIIA of a batch of chains (jsiia.cuh), in one launch.
#include "chains/jsiia.cuh"

// `matrices` holds `matrix_share` numbers for each group, see `Dense`.
template <typename Real, int BLOCKS, int LINKS>
THREAD_GROUP_KERNEL(BLOCKS)
    jsiia(const Real* q, const Real* v, const Real* tau, Real* out, int batch, int n, int threads, int links,
          int fields, int kept, int shared, Real* memory, char* outside, const Real* constants, const int* revolute,
          Real* matrices, long long matrix_share) {
    __shared__ __align__(16) char inside[2 * MAX_THREADS / WARP * STATE_BYTES];
    extern __shared__ __align__(16) char dynamic[];
    const ChainArrays<Real> chain = {constants, revolute, q, v, tau};
    const Dense<Real> dense = {matrices + blockIdx.x / BLOCKS * matrix_share,
                               reinterpret_cast<Real*>(dynamic + shared)};
    ThreadGroup<Real, BLOCKS, LINKS> group({batch, n, threads, links, fields, kept, shared}, memory, dynamic, inside,
                                           outside);
    const auto ask = [&](int i) { return Asked<Real>{tau[group.global(i)]}; };
    for (; group.more(); group.next()) {
        kinematics(group, chain);
        solve(group, chain, dense, ask, true, out + group.global(0), [](int) {});
    }
}
