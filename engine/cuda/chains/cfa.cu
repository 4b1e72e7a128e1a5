// CFA of a batch of chains (cfa.cuh), in one launch.
#include "chains/cfa.cuh"

template <typename Real, int BLOCKS, int LINKS>
THREAD_GROUP_KERNEL(BLOCKS)
    cfa(const Real* q, const Real* v, const Real* tau, Real* out, int batch, int n, int threads, int links, int fields,
        int kept, int shared, Real* memory, char* outside, const Real* constants, const int* revolute,
        const Real* J_inverse, int* steps, Real* residuals, int refinements, Real tolerance, Real least) {
    extern __shared__ __align__(16) char numbers[];
    __shared__ __align__(16) char inside[2 * MAX_THREADS / WARP * STATE_BYTES];
    const ChainArrays<Real> chain = {constants, revolute, q, v, tau};
    ThreadGroup<Real, BLOCKS, LINKS> group({batch, n, threads, links, fields, kept, shared}, memory, numbers, inside,
                                           outside);
    const auto ask = [&](int i) { return Asked<Real>{tau[group.global(i)]}; };
    for (; group.more(); group.next()) {
        kinematics(group, chain);
        const auto found = refine(group, chain, J_inverse, ask, true, refinements, tolerance, least, [](int) {});
        each(group, [&](int i) {
            out[group.global(i)] = group.template get<Real>(QDD, i);
            if (i == 0) steps[group.robot] = found.steps, residuals[group.robot] = found.residual;
        });
    }
}
