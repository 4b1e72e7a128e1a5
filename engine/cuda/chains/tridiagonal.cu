// Odd-even elimination as a kernel of its own: systems from arrays in the layout of engine/blocks/tridiagonal.py.
#include "chains/tridiagonal.cuh"

template <int M, typename Real, int BLOCKS, int LINKS>
THREAD_GROUP_KERNEL(BLOCKS)
    eliminate_systems(const Real* D, const Real* U, int batch, int n, int threads, int links, int fields, int kept,
                      int shared, Real* memory) {
    ThreadGroup<Real, BLOCKS, LINKS> group({batch, n, threads, links, fields, kept, shared}, memory, nullptr, nullptr,
                                           nullptr);
    const Fields<M> at(0, 0);
    for (; group.more(); group.next()) {
        each(group, [&](int i) {
            Triangle<Real, M> triangle;
#pragma unroll
            for (int r = 0; r < M; ++r)
#pragma unroll
                for (int c = 0; c <= r; ++c) triangle[lower(r, c)] = D[group.global(i) * M * M + r * M + c];
            group.put(at.D, i, triangle);
            if (i + 1 < n)
                for (int k = 0; k < M * M; ++k)
                    group.put(at.U + k, i, U[((size_t)group.robot * (n - 1) + i) * M * M + k]);
        });
        group.sync();
        eliminate<M, false>(group, at, [](int, const Numbers<Real, M>&) {});
    }
}

// x for the right-hand sides R (batch, n, M, columns), after `eliminate_systems` with the same memory.
template <int M, typename Real, int BLOCKS, int LINKS>
THREAD_GROUP_KERNEL(BLOCKS)
    substitute_sides(const Real* R, Real* x, int batch, int n, int threads, int links, int fields, int kept, int shared,
                     Real* memory, int columns) {
    ThreadGroup<Real, BLOCKS, LINKS> group({batch, n, threads, links, fields, kept, shared}, memory, nullptr, nullptr,
                                           nullptr);
    const Fields<M> at(0, 0);
    for (; group.more(); group.next()) {
        for (int column = 0; column < columns; ++column) {
            const auto entry = [&](int i, int k) { return (group.global(i) * M + k) * columns + column; };
            each(group, [&](int i) {
                for (int k = 0; k < M; ++k) group.put(at.x + k, i, R[entry(i, k)]);
            });
            group.sync();
            substitute<M>(group, at, [&](int i, const Numbers<Real, M>& answer) {
#pragma unroll
                for (int k = 0; k < M; ++k) x[entry(i, k)] = answer[k];
            });
            group.sync();
        }
    }
}
