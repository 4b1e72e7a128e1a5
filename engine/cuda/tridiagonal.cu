// Odd-even elimination as a block of its own: systems from arrays as engine/blocks/tridiagonal.py takes them.
#include "tridiagonal.cuh"

template <int M, typename Real, int BLOCKS, int LINKS>
TEAM_KERNEL(BLOCKS)
    eliminate_systems(const Real* D, const Real* U, int batch, int n, int threads, int links, int fields, int kept,
                      int shared, Real* memory) {
    Team<Real, BLOCKS, LINKS> team({batch, n, threads, links, fields, kept, shared}, memory, nullptr, nullptr, nullptr);
    const Fields<M> at(0, 0);
    for (; team.more(); team.next()) {
        each(team, [&](int i) {
            Triangle<Real, M> triangle;
#pragma unroll
            for (int r = 0; r < M; ++r)
#pragma unroll
                for (int c = 0; c <= r; ++c) triangle[lower(r, c)] = D[team.global(i) * M * M + r * M + c];
            team.put(at.D, i, triangle);
            if (i + 1 < n)
                for (int k = 0; k < M * M; ++k)
                    team.put(at.U + k, i, U[((size_t)team.robot * (n - 1) + i) * M * M + k]);
        });
        team.sync();
        eliminate<M, false>(team, at, [](int, const Numbers<Real, M>&) {});
    }
}

// x for the right-hand sides R (batch, n, M, columns), after `eliminate_systems` on the same memory.
template <int M, typename Real, int BLOCKS, int LINKS>
TEAM_KERNEL(BLOCKS)
    substitute_sides(const Real* R, Real* x, int batch, int n, int threads, int links, int fields, int kept, int shared,
                     Real* memory, int columns) {
    Team<Real, BLOCKS, LINKS> team({batch, n, threads, links, fields, kept, shared}, memory, nullptr, nullptr, nullptr);
    const Fields<M> at(0, 0);
    for (; team.more(); team.next()) {
        for (int column = 0; column < columns; ++column) {
            const auto entry = [&](int i, int k) { return (team.global(i) * M + k) * columns + column; };
            each(team, [&](int i) {
                for (int k = 0; k < M; ++k) team.put(at.x + k, i, R[entry(i, k)]);
            });
            team.sync();
            substitute<M>(team, at, [&](int i, const Numbers<Real, M>& answer) {
#pragma unroll
                for (int k = 0; k < M; ++k) x[entry(i, k)] = answer[k];
            });
            team.sync();
        }
    }
}
