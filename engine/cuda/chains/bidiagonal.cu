// Block 1: bi-diagonal systems xᵢ = Aᵢ xᵢ₋₁ + bᵢ of 6 × 6 blocks, and their transposes from the tip, by scans.
//
// A link is an affine map; a thread carries one column of a run of maps: of the product of the A, or of a right-hand
// side. Runs of links are reduced to one map each, the maps are scanned, and the runs are traversed again from their
// start values ([Y] (3)–(5), with runs in place of pairs). Arrays are (batch, n, 6, 6) and (batch, n, 6, columns); maps
// of runs are systems in the same layout, in scan order.
#include "rigid_body/spatial.cuh"

// block_solvers.py defines M, the rows of a block, and MAX_THREADS.

template <typename Real> struct Systems {
    const Real* A;
    const Real* b;
    int batch, n, columns;
};
template <typename Real> struct Column { Real x[M]; };

template <typename Real> struct Block { Real a[M * M]; };

template <typename Real> __device__ __forceinline__ Block<Real> block_at(const Real* A) {
    Block<Real> block;
#pragma unroll
    for (int k = 0; k < M * M * int(sizeof(Real)) / 16; ++k)
        reinterpret_cast<int4*>(block.a)[k] = reinterpret_cast<const int4*>(A)[k];
    return block;
}
// A x, or Aᵀ x
template <bool TRANSPOSED, typename Real>
__device__ __forceinline__ Column<Real> product(const Block<Real>& A, const Column<Real>& x) {
    Column<Real> y{};
#pragma unroll
    for (int c = 0; c < M; ++c)
#pragma unroll
        for (int r = 0; r < M; ++r) y.x[r] += A.a[TRANSPOSED ? c * M + r : r * M + c] * x.x[c];
    return y;
}
// Apply the maps of a run to a column, in scan order; visit(link, state) after each. The map at place t is that of Aᵢ,
// or of Aᵢ₊₁ᵀ; the first has no predecessor. The next block is prefetched.
template <bool TRANSPOSED, typename Real, typename Visit>
__device__ __forceinline__ Column<Real>
run_through(const Systems<Real>& s, int robot, int start, int end, int side, Column<Real> state, Visit visit) {
    const auto link = [&](int t) { return (size_t)robot * s.n + (TRANSPOSED ? s.n - 1 - t : t); };
    const auto block = [&](int t) { return block_at(s.A + (link(max(t, 1)) + TRANSPOSED) * (M * M)); };
    Block<Real> here{};
    if (start < end && s.n > 1) here = block(start);
    for (int t = start; t < end; ++t) {
        Block<Real> next = here;
        if (t + 1 < end) next = block(t + 1);
        Column<Real> b{};
        if (side >= 0)
#pragma unroll
            for (int r = 0; r < M; ++r) b.x[r] = s.b[(link(t) * M + r) * s.columns + side];
        state = t > 0 ? product<TRANSPOSED>(here, state) : Column<Real>{};
#pragma unroll
        for (int r = 0; r < M; ++r) state.x[r] += b.x[r];
        visit(link(t), state);
        here = next;
    }
    return state;
}
template <typename Real> __device__ __forceinline__ Column<Real> unit(int c) {
    Column<Real> e{};
#pragma unroll
    for (int r = 0; r < M; ++r) e.x[r] = r == c;
    return e;
}

struct Ignored {
    template <typename Real> __device__ __forceinline__ void operator()(size_t, const Column<Real>&) const {}
};

// The maps (A, b) of runs of `run` links: (batch, runs, 6, 6) and (batch, runs, 6, columns).
template <typename Real, bool TRANSPOSED>
__global__ void __launch_bounds__(MAX_THREADS)
    reduce(const Real* A, const Real* b, int batch, int n, int columns, int run, int runs, Real* A_runs, Real* b_runs) {
    const Systems<Real> s = {A, b, batch, n, columns};
    const int width = M + columns;
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x, place = at / width;
    if (place >= (long long)batch * runs) return;
    const int column = at % width, robot = place / runs, start = place % runs * run, side = column - M;
    const auto x = run_through<TRANSPOSED>(s, robot, start, min(start + run, n), side, unit<Real>(column), Ignored{});
#pragma unroll
    for (int r = 0; r < M; ++r)
        if (side < 0) A_runs[(place * M + r) * M + column] = x.x[r];
        else b_runs[(place * M + r) * columns + side] = x.x[r];
}

// x in each run of `run` links, from the state `starts` (batch, runs, 6, columns) at the end of the run before.
template <typename Real, bool TRANSPOSED>
__global__ void __launch_bounds__(MAX_THREADS)
    apply(const Real* A, const Real* b, Real* __restrict__ x, int batch, int n, int columns, int run, int runs,
          const Real* starts) {
    const Systems<Real> s = {A, b, batch, n, columns};
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x, place = at / columns;
    if (place >= (long long)batch * runs) return;
    const int side = at % columns, robot = place / runs, start = place % runs * run;
    Column<Real> state{};
    if (start > 0)
#pragma unroll
        for (int r = 0; r < M; ++r) state.x[r] = starts[((place - 1) * M + r) * columns + side];
    run_through<TRANSPOSED>(s, robot, start, min(start + run, n), side, state, [&](size_t link, const Column<Real>& y) {
#pragma unroll
        for (int r = 0; r < M; ++r) x[(link * M + r) * columns + side] = y.x[r];
    });
}

// The whole solution for a chain that fits one block: `lanes` threads, a power of two, for each run.
template <typename Real, bool TRANSPOSED>
__global__ void __launch_bounds__(MAX_THREADS)
    solve(const Real* A, const Real* b, Real* __restrict__ x, int batch, int n, int columns, int run, int lanes) {
    const Systems<Real> s = {A, b, batch, n, columns};
    extern __shared__ __align__(16) char memory[];
    const int runs = blockDim.x / lanes, place = threadIdx.x / lanes, column = threadIdx.x % lanes, side = column - M;
    const int robot = blockIdx.x, start = place * run, end = min(start + run, n);
    const bool works = side < columns;
    Real* products = reinterpret_cast<Real*>(memory);      // (runs, 6, 6)
    Real* sides = products + runs * M * M;               // (runs, columns, 6)
    Column<Real> state = unit<Real>(column);
    if (works) state = run_through<TRANSPOSED>(s, robot, start, end, side, state, Ignored{});
    for (int d = 1; d < runs; d *= 2) {
        __syncthreads();
#pragma unroll
        for (int r = 0; r < M; ++r)
            if (side < 0) products[(place * M + r) * M + column] = state.x[r];
            else if (works) sides[(place * columns + side) * M + r] = state.x[r];
        __syncthreads();
        if (place < d || !works) continue;
        Column<Real> before;
#pragma unroll
        for (int r = 0; r < M; ++r)
            before.x[r] = side < 0 ? products[((place - d) * M + r) * M + column]
                                   : sides[((place - d) * columns + side) * M + r];
        before = product<false>(block_at(products + place * M * M), before);
#pragma unroll
        for (int r = 0; r < M; ++r) state.x[r] = before.x[r] + (side < 0 ? Real(0) : state.x[r]);
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < M; ++r)
        if (side >= 0 && works) sides[(place * columns + side) * M + r] = state.x[r];
    __syncthreads();
    if (side < 0 || !works) return;
    state = Column<Real>{};
#pragma unroll
    for (int r = 0; r < M; ++r)
        if (place > 0) state.x[r] = sides[((place - 1) * columns + side) * M + r];
    run_through<TRANSPOSED>(s, robot, start, end, side, state, [&](size_t link, const Column<Real>& y) {
#pragma unroll
        for (int r = 0; r < M; ++r) x[(link * M + r) * columns + side] = y.x[r];
    });
}
