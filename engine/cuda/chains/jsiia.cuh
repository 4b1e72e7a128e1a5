// JSIIA: the mass matrix from composite bodies, its factor M = L δ Lᵀ, and q̈ = M⁻¹ (τ − τ_bias), [Y] (7), by a group
// of threads.
//
// Up to a warp's width a thread owns a row of M, in shared memory. For longer chains M is in global memory as P × P
// blocks of its lower triangle, row by row, each block by columns, padded with the identity. The diagonal block of a
// panel is factorised redundantly by every thread block, the rest of M by the warps of all of them. In single precision
// q̈ is refined once with the residual of inverse dynamics: M of 50 links has a condition number of 10⁶, and rounding
// its entries alone costs three digits of q̈.
//
// ADDITIONS, for simulation: inertias on the diagonal of M, and held joints, whose rows and columns become those of
// the identity and whose accelerations move to the right-hand side.
#pragma once

#include "chains/chain.cuh"

enum JsiiaField { TAU_DELTA = CHAIN_FIELDS, QDD };
static_assert(JSIIA_FIELDS == QDD + 1, "what jsiia.py makes room for");
constexpr int NONE = -1;

template <typename Real> struct Composite { Vector<Real> r; Body<Real> J; };  // J about r

// Jᶜᵢ S into field F: the wrench of a unit acceleration of joint i on the composite body beyond it.
template <typename Group, typename Real>
__device__ __noinline__ void composite_wrenches(Group group, ChainArrays<Real> chain) {
    using State = Composite<Real>;
    scan<true>(
        group, [](const State& x, const State& y) { return State{y.r, translate(x.r - y.r, x.J) + y.J}; },
        [&](int i) {
            const Pose<Real> T = group.template get<Pose<Real>>(WORLD, i);
            const Body<Real> J = body(chain, group.shape.n, i);
            return State{T.p, {J.m, mul(T.R, J.h), rotate(T.R, J.I)}};
        },
        [&](int i, const State& x) {
            const Vector<Real> z = axis(group.template get<Matrix<Real>>(WORLD, i));
            group.put(F, i, momentum(x.J, along(chain.revolute[i], z)));
        });
}
template <typename Real> struct Row {
    Vector<Real> r;
    Force<Real> wrench;
};
template <typename Real> struct Axis {
    Vector<Real> r, z;
    bool revolute;
};
// Mᵢⱼ for j ≤ i: the wrench of i about the axis of j.
FUNCTION Real entry(const Row<Real>& i, const Axis<Real>& j) {
    return dot(j.z, j.revolute ? i.wrench.n + cross(i.r - j.r, i.wrench.f) : i.wrench.f);
}

// Mᵢⱼ with ADDITIONS: `inertia` on the diagonal, and the identity in rows and columns of held joints.
FUNCTION Real with_additions(Real entry, bool diagonal, Real inertia, bool held) {
    if (held) return diagonal;
    return diagonal ? entry + inertia : entry;
}

// A thread per row: q̈ of thread i's link.
template <typename Group, typename Real, typename Ask>
__device__ __forceinline__ Real solve_in_warp(const Group& group, const ChainArrays<Real>& chain, const Ask& ask,
                                              Real* M) {
    const int n = group.shape.n, i = group.place, base = threadIdx.x % WARP - i, stride = n | 1;
    const bool works = group.works(i);
    Real* row = M + i * stride;
    Real y = works ? group.template get<Real>(TAU_DELTA, i) : Real(0), own = 1;
    unsigned held = 0;  // a bit for each joint of the warp's chains
    if constexpr (ADDITIONS) held = __ballot_sync(ALL, works && ask(i).held) >> base;
    if (works) {
        const Row<Real> here = {group.template get<Vector<Real>>(WORLD + 9, i), group.template get<Force<Real>>(F, i)};
        for (int j = 0; j <= i; ++j) {
            const auto T = group.template look<Pose<Real>>(WORLD, j);
            row[j] = entry(here, Axis<Real>{T.p, axis(T.R), bool(chain.revolute[j])});
            if constexpr (ADDITIONS)
                row[j] = with_additions(row[j], i == j, ask(i).inertia, (held >> i | held >> j) & 1);
        }
    }
    __syncwarp();
    for (int j = 0; j < n; ++j) {
        const Real inverse = inverse_pivot(M[j * stride + j]), y_j = shuffled(y, base + j);
        if (i == j) own = inverse;
        if (works && i > j) {
            const Real l = row[j] * inverse;
            for (int k = j + 1; k <= i; ++k) row[k] -= l * M[k * stride + j];
            y -= l * y_j;
        }
        __syncwarp();
    }
    for (int j = n - 1; j >= 0; --j) {
        const Real x_j = shuffled(y * own, base + j);
        if (i < j) y -= M[j * stride + i] * x_j;
    }
    return y * own;
}

__device__ __forceinline__ int block_row(int block) {
    int row = int((sqrtf(8.0f * block + 1.0f) - 1.0f) / 2.0f);
    while ((row + 1) * (row + 2) / 2 <= block) ++row;
    while (row * (row + 1) / 2 > block) --row;
    return row;
}
template <typename Real> __device__ __forceinline__ Real* block_at(Real* M, int I, int J) {
    return M + ((size_t)I * (I + 1) / 2 + J) * (P * P);
}

template <typename Real> struct Panel {
    Real L[P][P + 1], inverse[P], z[P];  // the factor of a diagonal block, and δ⁻¹ L⁻¹ of its right-hand side
};

// Factorise a diagonal block by one warp: a lane per row, and one for the right-hand side.
template <typename Real> __device__ void factor(const Real* block, const Real* y, Panel<Real>& panel) {
    const int lane = threadIdx.x % WARP;
    Real a[P];
#pragma unroll
    for (int c = 0; c < P; ++c) a[c] = lane < P ? block[c * P + lane] : y[c];
#pragma unroll
    for (int j = 0; j < P; ++j) {
        const Real inverse = inverse_pivot(shuffled(a[j], j)), l = a[j] * inverse;
#pragma unroll
        for (int c = j + 1; c < P; ++c) {
            const Real other = shuffled(a[j], c);
            if (lane > j) a[c] -= l * other;
        }
        if (lane == j) panel.inverse[j] = inverse;
        if (lane > j) a[j] = l;
    }
#pragma unroll
    for (int c = 0; c < P; ++c) {
        if (lane < P) panel.L[lane][c] = a[c];
        if (lane == P) panel.z[c] = a[c];
    }
}
// V = A L⁻ᵀ of a row below the panel, in place, and the update of its right-hand side.
template <typename Real> __device__ __forceinline__ void solve_row(const Panel<Real>& panel, Real* row, Real& y) {
    Real v[P], taken = 0;
#pragma unroll
    for (int c = 0; c < P; ++c) v[c] = row[c * P];
#pragma unroll
    for (int c = 0; c < P; ++c) {
#pragma unroll
        for (int j = 0; j < c; ++j) v[c] -= v[j] * panel.L[c][j];
        taken += panel.z[c] * v[c];
    }
#pragma unroll
    for (int c = 0; c < P; ++c) row[c * P] = v[c];
    y -= taken;
}
template <typename Real> struct alignas(2 * sizeof(Real)) Pair { Real x, y; };

// A − V δ⁻¹ Wᵀ by one warp, two rows and four columns a lane.
template <typename Real>
__device__ __forceinline__ void update(Real* A, const Real* V, const Real* W, const Panel<Real>& panel) {
    const int lane = threadIdx.x % WARP, r = lane / 4 * 2, c = lane % 4 * 4;
    Pair<Real> sum[4] = {};
#pragma unroll
    for (int k = 0; k < P; ++k) {
        const Real inverse = panel.inverse[k];
        const auto v = *reinterpret_cast<const Pair<Real>*>(V + k * P + r);
        const Pair<Real>* w = reinterpret_cast<const Pair<Real>*>(W + k * P + c);
        const Real x = v.x * inverse, y = v.y * inverse, four[4] = {w[0].x, w[0].y, w[1].x, w[1].y};
#pragma unroll
        for (int m = 0; m < 4; ++m) {
            sum[m].x += x * four[m];
            sum[m].y += y * four[m];
        }
    }
#pragma unroll
    for (int m = 0; m < 4; ++m) {
        auto* a = reinterpret_cast<Pair<Real>*>(A + (c + m) * P + r);
        *a = {a->x - sum[m].x, a->y - sum[m].y};
    }
}

// M and the right-hand side y, padded to whole blocks. After y: rows and axes, readable by all threads, and additions.
template <typename Group, typename Real>
__device__ __noinline__ void assemble(Group group, ChainArrays<Real> chain, Real* M, Real* y) {
    const int n = group.shape.n, N = (n + P - 1) / P, lane = threadIdx.x % WARP, r = lane / 4 * 2, c = lane % 4 * 4;
    Real* rows = y + N * P;
    Real* axes = rows + (size_t)9 * N * P;
    const Real *inertias = axes + (size_t)3 * N * P, *holds = inertias + (size_t)N * P;  // with ADDITIONS
    each(group, [&](int i) {
        const auto T = group.template get<Pose<Real>>(WORLD, i);
        scatter<Row<Real>>(rows + i, N * P, {T.p, group.template get<Force<Real>>(F, i)});
        scatter<Vector<Real>>(axes + i, N * P, axis(T.R));
        y[i] = group.template get<Real>(TAU_DELTA, i);
    });
    for (int i = n + group.place; i < N * P; i += group.shape.threads) y[i] = 0;
    group.sync();
    for (int block = group.place / WARP; block < N * (N + 1) / 2; block += group.shape.threads / WARP) {
        const int I = block_row(block), J = block - I * (I + 1) / 2, i = I * P + r;
        const Row<Real> upper = gather<Row<Real>>(rows + i, N * P), next = gather<Row<Real>>(rows + i + 1, N * P);
#pragma unroll
        for (int m = 0; m < 4; ++m) {
            const int j = J * P + c + m;
            const Axis<Real> here = {gather<Vector<Real>>(rows + j, N * P), gather<Vector<Real>>(axes + j, N * P),
                                     j < n && chain.revolute[j]};
            Pair<Real> both = {i < n && j <= i ? entry(upper, here) : Real(i == j),
                               i + 1 < n && j <= i + 1 ? entry(next, here) : Real(i + 1 == j)};
            if constexpr (ADDITIONS) {
                const auto held = [&](int k) { return k < n && holds[k] != 0; };
                if (i < n) both.x = with_additions(both.x, i == j, inertias[i], held(i) || held(j));
                if (i + 1 < n) both.y = with_additions(both.y, i + 1 == j, inertias[i + 1], held(i + 1) || held(j));
            }
            *reinterpret_cast<Pair<Real>*>(M + (size_t)block * P * P + (c + m) * P + r) = both;
        }
    }
    group.sync();
}

// z = δ⁻¹ L⁻¹ y in place of y, the diagonal blocks as L and 1/δ, the others as L δ.
template <typename Group, typename Real>
__device__ __noinline__ void eliminate(Group group, Real* M, Real* y, Panel<Real>& panel) {
    const int N = (group.shape.n + P - 1) / P, warp = group.place / WARP, warps = group.shape.threads / WARP;
    for (int k = 0; k < N; ++k) {
        Real* diagonal = block_at(M, k, k);
        if (threadIdx.x < WARP) factor(diagonal, y + k * P, panel);
        __syncthreads();
        const int left = N - k - 1;
        for (int row = group.place; row < left * P; row += group.shape.threads) {
            const int I = k + 1 + row / P;
            solve_row(panel, block_at(M, I, k) + row % P, y[I * P + row % P]);
        }
        group.sync();
        for (int e = group.place; e < P * P; e += group.shape.threads) {
            const int r = e % P, c = e / P;
            diagonal[e] = r == c ? panel.inverse[r] : panel.L[r][c];
            if (e < P) y[k * P + e] = panel.z[e];
        }
        for (int pair = warp; pair < left * (left + 1) / 2; pair += warps) {
            const int row = block_row(pair), I = k + 1 + row, J = k + 1 + pair - row * (row + 1) / 2;
            update(block_at(M, I, J), block_at(M, I, k), block_at(M, J, k), panel);
        }
        group.sync();
    }
}

// z = δ⁻¹ L⁻¹ y of another right-hand side, in place, by one block.
template <typename Real> __device__ __noinline__ void substitute_forward(int n, Real* M, Real* y, Panel<Real>& panel) {
    const int N = (n + P - 1) / P, lane = threadIdx.x % WARP, r = lane % P;
    for (int k = 0; k < N; ++k) {
        if (threadIdx.x < WARP) {
            const Real* L = block_at(M, k, k);
            Real z = y[k * P + r];
#pragma unroll
            for (int c = 0; c < P - 1; ++c) {
                const Real known = shuffled(z, c), l = L[c * P + r];
                if (r > c) z -= l * known;
            }
            z *= L[r * (P + 1)];
            if (lane < P) panel.z[r] = y[k * P + r] = z;
        }
        __syncthreads();
        for (int i = (k + 1) * P + threadIdx.x; i < N * P; i += blockDim.x) {
            const Real* V = block_at(M, i / P, k) + i % P;
            Real sum = 0;
#pragma unroll
            for (int c = 0; c < P; ++c) sum += V[c * P] * panel.z[c];
            y[i] -= sum;
        }
        __syncthreads();
    }
}

// out = L⁻ᵀ z, or out += L⁻ᵀ z with ADDS, by one block.
template <bool ADDS, typename Real>
__device__ __noinline__ void substitute(int n, Real* M, const Real* z, Panel<Real>& panel, Real* taken, Real* out) {
    const int N = (n + P - 1) / P, lane = threadIdx.x % WARP;
    for (int i = threadIdx.x; i < N * P; i += blockDim.x) taken[i] = 0;
    for (int k = N - 1; k >= 0; --k) {
        __syncthreads();
        if (threadIdx.x < WARP) {
            const Real* L = block_at(M, k, k);
            const int c = lane % P;
            Real x = z[k * P + c] - L[c * (P + 1)] * taken[k * P + c];
#pragma unroll
            for (int r = P - 1; r > 0; --r) {
                const Real known = shuffled(x, r), l = L[c * P + r];
                if (c < r) x -= l * known;
            }
            if (lane < P) {
                panel.z[c] = x;
                if (k * P + c < n) out[k * P + c] = ADDS ? out[k * P + c] + x : x;
            }
        }
        __syncthreads();
        for (int i = threadIdx.x; i < k * P; i += blockDim.x) {
            const Real* V = block_at(M, k, i / P) + i % P * P;
            Real sum = 0;
#pragma unroll
            for (int r = 0; r < P; ++r) sum += V[r] * panel.z[r];
            taken[i] += sum;
        }
    }
}

// The workspace of a group of blocks: `matrix` has N (N + 1)/2 blocks, N P numbers of a right-hand side and VECTORS N P
// of rows, axes and additions; `shared` (of each block) a warp's matrices, or N P numbers.
template <typename Real> struct Dense { Real *matrix, *shared; };
// Numbers of `matrix`.
__device__ __forceinline__ size_t matrix_numbers(const Shape& shape) {
    const size_t N = (shape.n + P - 1) / P;
    return shape.threads <= WARP ? 0 : N * (N + 1) / 2 * P * P + (1 + VECTORS) * N * P;
}

// q̈ of the chain whose poses are in the group's fields, into out (n,); with `bias` under its velocities and gravity.
// Locked joints have q̈ = 0 there. `ask(i)` is the input of joint i, an Asked<Real>.
template <typename Group, typename Real, typename Ask, typename Lap>
__device__ __forceinline__ void solve(Group& group, const ChainArrays<Real>& chain, const Dense<Real>& dense,
                                      const Ask& ask, bool bias, Real* out, const Lap& lap) {
    const int n = group.shape.n;
    // τ_δ = τ − τ_bias, less the torques of prescribed accelerations
    if constexpr (ADDITIONS) each(group, [&](int i) { group.put(QDD, i, ask(i).held ? ask(i).target : Real(0)); });
    forces(group, chain, bias, ADDITIONS ? int(QDD) : NONE, TAU_DELTA);
    each(group, [&](int i) {
        const Real left = ask(i).force - group.template get<Real>(TAU_DELTA, i);
        group.put(TAU_DELTA, i, ADDITIONS && ask(i).held ? Real(0) : left);
    });
    lap(phase::BIAS);
    composite_wrenches(group, chain);
    group.sync();
    if (group.shape.threads <= WARP) {
        lap(phase::MASS_MATRIX);
        const Real qdd = solve_in_warp(group, chain, ask, dense.shared + group.chain * n * (n | 1));
        if (group.works(group.place)) out[group.place] = qdd;
        return;
    }
    __shared__ Panel<Real> panel;
    const int N = (n + P - 1) / P;
    Real* y = block_at(dense.matrix, N, 0);
    if constexpr (ADDITIONS) {
        Real* inertias = y + (size_t)13 * N * P;
        each(group, [&](int i) { inertias[i] = ask(i).inertia, inertias[N * P + i] = ask(i).held; });
    }
    assemble(group, chain, dense.matrix, y);
    lap(phase::MASS_MATRIX);
    eliminate(group, dense.matrix, y, panel);
    const bool first = blockIdx.x % Group::CLUSTER == 0;
    if (first) substitute<false>(n, dense.matrix, y, panel, dense.shared, out);
    if constexpr (sizeof(Real) == sizeof(float)) {
        group.sync();
        each(group, [&](int i) { group.put(QDD, i, ADDITIONS && ask(i).held ? ask(i).target : out[i]); });
        forces(group, chain, bias, QDD, TAU_DELTA);
        each(group, [&](int i) {
            const Asked<Real> asked = ask(i);
            const Real left = asked.force - asked.inertia * out[i] - group.template get<Real>(TAU_DELTA, i);
            y[i] = ADDITIONS && asked.held ? Real(0) : left;
        });
        group.sync();
        if (first) {
            substitute_forward(n, dense.matrix, y, panel);
            substitute<true>(n, dense.matrix, y, panel, dense.shared, out);
        }
    }
}
