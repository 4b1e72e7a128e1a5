// Block 2: symmetric block tri-diagonal systems A x = R by odd-even elimination, [Y] (18)–(19) and Algorithm 2.
//
// A link has a row. Blocks are M × M by rows, symmetric ones their lower triangle by rows. Rows are double-buffered:
// they read their neighbours' previous step, so a step costs one barrier.
#pragma once

#include "rigid_body/spatial.cuh"
#include "chains/thread_group.cuh"

template <typename Real, int N> struct Numbers {
    Real x[N];
    __device__ __forceinline__ Real& operator[](int k) { return x[k]; }
    __device__ __forceinline__ const Real& operator[](int k) const { return x[k]; }
};
template <typename Real, int M> using Square = Numbers<Real, M * M>;
template <typename Real, int M> using Triangle = Numbers<Real, M*(M + 1) / 2>;

__device__ __forceinline__ constexpr int lower(int r, int c) { return r * (r + 1) / 2 + c; }

// The fields of a system: D, U and x, double-buffered; and among a link's private fields (E, K) of every step.
template <int M> struct Fields {
    int D, U, x, steps;
    static constexpr int TRIANGLE = M * (M + 1) / 2, STEP = 2 * M * M;
    __device__ Fields(int start, int steps) : D(start), U(D + 2 * TRIANGLE), x(U + 2 * M * M), steps(steps) {}
};

// L and 1/δ of D = L δ Lᵀ, in place; positive definite matrices need no pivots.
template <int M, typename Real> __device__ __forceinline__ void factor(Triangle<Real, M>& D) {
#pragma unroll
    for (int j = 0; j < M; ++j) {
        const Real inverse = reciprocal(D[lower(j, j)]);
#pragma unroll
        for (int r = M - 1; r > j; --r) {
            const Real l = D[lower(r, j)] * inverse;
#pragma unroll
            for (int c = j + 1; c <= r; ++c) D[lower(r, c)] -= l * D[lower(c, j)];
            D[lower(r, j)] = l;
        }
        D[lower(j, j)] = inverse;
    }
}
// L⁻¹ x, and L⁻ᵀ δ⁻¹ x: the two halves of D⁻¹ x.
template <int M, typename Real> __device__ __forceinline__ void forward(const Triangle<Real, M>& L, Real* x) {
#pragma unroll
    for (int r = 1; r < M; ++r)
#pragma unroll
        for (int c = 0; c < r; ++c) x[r] -= L[lower(r, c)] * x[c];
}
template <int M, typename Real> __device__ __forceinline__ void backward(const Triangle<Real, M>& L, Real* x) {
#pragma unroll
    for (int r = 0; r < M; ++r) x[r] *= L[lower(r, r)];
#pragma unroll
    for (int r = M - 2; r >= 0; --r)
#pragma unroll
        for (int c = r + 1; c < M; ++c) x[r] -= L[lower(c, r)] * x[c];
}

// One neighbour's part of [Y] (19): E with Dₙ Eᵀ = Cᵀ for the coupling C to it, and D − E Cᵀ. E replaces C.
template <int M, typename Real>
__device__ __forceinline__ void eliminate(Triangle<Real, M> neighbour, Square<Real, M>& C, Triangle<Real, M>& D) {
    factor<M>(neighbour);
#pragma unroll
    for (int r = 0; r < M; ++r) forward<M>(neighbour, &C[r * M]);
    // E Cᵀ = (L⁻¹Cᵀ)ᵀ δ⁻¹ (L⁻¹Cᵀ): symmetric by construction
#pragma unroll
    for (int r = 0; r < M; ++r)
#pragma unroll
        for (int k = 0; k < M; ++k) {
            const Real scaled = C[r * M + k] * neighbour[lower(k, k)];
#pragma unroll
            for (int c = 0; c <= r; ++c) D[lower(r, c)] -= scaled * C[c * M + k];
        }
#pragma unroll
    for (int r = 0; r < M; ++r) backward<M>(neighbour, &C[r * M]);
}

// x − E y
template <int M, typename Real>
__device__ __forceinline__ void subtract(Numbers<Real, M>& x, const Square<Real, M>& E, const Numbers<Real, M>& y) {
#pragma unroll
    for (int r = 0; r < M; ++r)
#pragma unroll
        for (int c = 0; c < M; ++c) x[r] -= E[r * M + c] * y[c];
}

// All steps on the matrix, and with SIDE on a right-hand side in `fields.x`, whose solution is passed to answer(i, x).
// The final D is left factorised in the first D.
template <int M, bool SIDE, typename Group, typename Answer>
__device__ __forceinline__ void eliminate(Group& group, const Fields<M>& fields, Answer answer) {
    using Real = typename Group::Number;
    const int n = group.shape.n;
    int step = 0;
    for (int s = 1; s < n; s *= 2, ++step) {
        const int old = step % 2, now = 1 - old;
        const int D_old = fields.D + old * Fields<M>::TRIANGLE, U_old = fields.U + old * M * M;
        const int x_old = fields.x + old * M;
        const int U_now = fields.U + now * M * M, E = fields.steps + step * Fields<M>::STEP;
        each(group, [&](int i) {
            auto D = group.template get<Triangle<Real, M>>(D_old, i);
            Numbers<Real, M> x;
            if constexpr (SIDE) x = group.template get<Numbers<Real, M>>(x_old, i);
            // Both neighbours at once, so that their divisions overlap; a missing neighbour has the row's own D and
            // zero coupling.
            Square<Real, M> C[2];  // Uᵢ and Uᵢ₋ₛᵀ, then Eᵢ and Kᵢ₋ₛ
            Triangle<Real, M> neighbour[2];
#pragma unroll
            for (int side = 0; side < 2; ++side) {
                const int other = side == 0 ? i + s : i - s;
                const bool there = other >= 0 && other < n;
                const Real* U = group.at(U_old, side == 0 || !there ? i : other);
#pragma unroll
                for (int r = 0; r < M; ++r)
#pragma unroll
                    for (int c = 0; c < M; ++c)
                        C[side][r * M + c] = there ? U[(side == 0 ? r * M + c : c * M + r) * (size_t)group.stride] : 0;
                neighbour[side] = group.template look<Triangle<Real, M>>(D_old, there ? other : i);
            }
#pragma unroll
            for (int side = 0; side < 2; ++side) eliminate<M>(neighbour[side], C[side], D);
#pragma unroll
            for (int side = 0; side < 2; ++side) {
                const int other = side == 0 ? i + s : i - s;
                if (other < 0 || other >= n) continue;
                group.keep(E + side * M * M, i, C[side]);
                if constexpr (SIDE) subtract<M>(x, C[side], group.template look<Numbers<Real, M>>(x_old, other));
            }
            if (i + 2 * s < n) {
                Square<Real, M> U{};
#pragma unroll
                for (int k = 0; k < M; ++k) {
                    const auto row = group.template look<Numbers<Real, M>>(U_old + k * M, i + s);
#pragma unroll
                    for (int r = 0; r < M; ++r)
#pragma unroll
                        for (int c = 0; c < M; ++c) U[r * M + c] -= C[0][r * M + k] * row[c];
                }
                group.put(U_now, i, U);
            }
            group.put(fields.D + now * Fields<M>::TRIANGLE, i, D);
            if constexpr (SIDE) group.put(fields.x + now * M, i, x);
        });
        group.sync();
    }
    each(group, [&](int i) {
        auto D = group.template get<Triangle<Real, M>>(fields.D + step % 2 * Fields<M>::TRIANGLE, i);
        factor<M>(D);
        if constexpr (SIDE) {
            auto x = group.template get<Numbers<Real, M>>(fields.x + step % 2 * M, i);
            forward<M>(D, x.x);
            backward<M>(D, x.x);
            answer(i, x);
        }
        group.put(fields.D, i, D);
    });
}

// answer(i, xᵢ) for the right-hand side in `fields.x` of an eliminated system.
template <int M, typename Group, typename Answer>
__device__ __forceinline__ void substitute(Group& group, const Fields<M>& fields, Answer answer) {
    using Real = typename Group::Number;
    const int n = group.shape.n;
    int step = 0;
    for (int s = 1; s < n; s *= 2, ++step) {
        const int x_old = fields.x + step % 2 * M, x_now = fields.x + (1 - step % 2) * M;
        const int E = fields.steps + step * Fields<M>::STEP;
        each(group, [&](int i) {
            auto x = group.template get<Numbers<Real, M>>(x_old, i);
            // [Y] (19), third line: Rᵢ − Eᵢ Rᵢ₊ₛ − Kᵢ Rᵢ₋ₛ
#pragma unroll 1
            for (int side = 0; side < 2; ++side) {
                const int other = side == 0 ? i + s : i - s;
                if (other >= 0 && other < n)
                    subtract<M>(x, group.template recall<Square<Real, M>>(E + side * M * M, i),
                                group.template look<Numbers<Real, M>>(x_old, other));
            }
            group.put(x_now, i, x);
        });
        group.sync();
    }
    each(group, [&](int i) {
        const auto D = group.template get<Triangle<Real, M>>(fields.D, i);
        auto x = group.template get<Numbers<Real, M>>(fields.x + step % 2 * M, i);
        forward<M>(D, x.x);
        backward<M>(D, x.x);
        answer(i, x);
    });
}
