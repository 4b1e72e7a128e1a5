// Sub-chains between two handles, and their joins, by warps of a block: a lane holds a column. The including file
// defines CHUNKS, the warps.
#pragma once

#include "rigid_body/spatial.cuh"

constexpr int LANES = 32;
constexpr unsigned ALL = 0xffffffffu;
// The largest deviation of M⁻¹ M from 1: 2¹² roundings. About one join in 1500 of random chains exceeds it.
template <typename Real> constexpr Real LOST = sizeof(Real) == 4 ? Real(0x1p-11) : Real(0x1p-40);

// Six numbers with a vector load: the row of a matrix, or a vector.
template <typename Real> struct alignas(2 * sizeof(Real)) Six {
    Real x[6];

    __device__ __forceinline__ Real& operator[](int k) { return x[k]; }
    __device__ __forceinline__ const Real& operator[](int k) const { return x[k]; }
};
// A sub-chain of chunks between two handles, a run of algorithms/dca.py; matrices by rows.
template <typename Real> struct Element { Six<Real> I[6], Phi[6], Y[6], p, b; };
// The map of an acceleration through a sub-chain: A a + b.
template <typename Real> struct Map { Six<Real> A[6], b; };
// The pose of a sub-chain's last link in the frame of the link before the sub-chain, and its twist if that one is at
// rest.
template <typename Real> struct Travel { Pose<Real> T; Motion<Real> V; };

template <typename Real, class SubChain>
__device__ __forceinline__ void copy(const SubChain& from, SubChain& to, int lane) {
    for (int k = lane; k < int(sizeof(SubChain) / sizeof(Real)); k += LANES)
        reinterpret_cast<Real*>(&to)[k] = reinterpret_cast<const Real*>(&from)[k];
    __syncwarp();
}

// The numbers of x in another lane.
template <typename Real, class SubChain> __device__ __forceinline__ SubChain from_lane(const SubChain& x, int lane) {
    SubChain y;
    const Real* a = reinterpret_cast<const Real*>(&x);
    Real* b = reinterpret_cast<Real*>(&y);
#pragma unroll
    for (int k = 0; k < int(sizeof(SubChain) / sizeof(Real)); ++k) b[k] = __shfl_sync(ALL, a[k], lane);
    return y;
}

// Two successive sub-chains, joined.
FUNCTION Pose<Real> then(const Pose<Real>& a, const Pose<Real>& b) { return {matmul(a.R, b.R), a.p + mul(a.R, b.p)}; }
FUNCTION Travel<Real> then(const Travel<Real>& a, const Travel<Real>& b) {
    return {then(a.T, b.T), motion_to_child(b.T, a.V) + b.V};
}

// x joined with those of all lanes before, of `count` lanes: a scan.
template <typename Real, class SubChain, class Join>
__device__ __forceinline__ SubChain scanned(SubChain x, int lane, int count, const Join& join) {
    for (int d = 1; d < count; d *= 2) {
        const SubChain before = from_lane<Real>(x, lane - d);
        if (lane >= d) x = join(before, x);
    }
    return x;
}

// A⁻¹ times the determinant; and the determinant.
FUNCTION Matrix<Real> adjugate(const Matrix<Real>& A) {
    return transpose(Matrix<Real>{cross(A.y, A.z), cross(A.z, A.x), cross(A.x, A.y)});
}
FUNCTION Real determinant(const Matrix<Real>& A, const Matrix<Real>& adjugate) {
    return A.x.x * adjugate.x.x + A.x.y * adjugate.y.x + A.x.z * adjugate.z.x;
}

FUNCTION Real times(const Six<Real>& a, const Six<Real>& b) {
    return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5]);
}
// aᵀ b + c
FUNCTION Real times(const Six<Real>& a, const Six<Real>& b, Real c) {
    return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + (a[4] * b[4] + (a[5] * b[5] + c)));
}
// A x
FUNCTION Six<Real> times(const Six<Real>* A, const Six<Real>& x) {
    return {times(A[0], x), times(A[1], x), times(A[2], x), times(A[3], x), times(A[4], x), times(A[5], x)};
}
// Aᵀ x
FUNCTION Six<Real> times_t(const Six<Real>* A, const Six<Real>& x) {
    Six<Real> y;
    const Six<Real> a = A[0], b = A[1], c = A[2], d = A[3], e = A[4], f = A[5];
#pragma unroll
    for (int r = 0; r < 6; ++r)
        y[r] = (a[r] * x[0] + b[r] * x[1] + c[r] * x[2]) + (d[r] * x[3] + e[r] * x[4] + f[r] * x[5]);
    return y;
}
FUNCTION Six<Real> six(const Motion<Real>& m) { return {m.o.x, m.o.y, m.o.z, m.v.x, m.v.y, m.v.z}; }
FUNCTION Six<Real> six(const Force<Real>& F) { return {F.n.x, F.n.y, F.n.z, F.f.x, F.f.y, F.f.z}; }

// x ← M⁻¹ x, a column per lane: Gauss–Jordan elimination on blocks of angular and linear numbers. Divisions by
// determinants are delayed, off the critical path.
FUNCTION void eliminate(const Six<Real>* M, Six<Real>& x) {
    const Six<Real> m[6] = {M[0], M[1], M[2], M[3], M[4], M[5]};
    const auto block = [&](int r, int c) -> Matrix<Real> {
        return {{m[r][c], m[r][c + 1], m[r][c + 2]}, {m[r + 1][c], m[r + 1][c + 1], m[r + 1][c + 2]},
                {m[r + 2][c], m[r + 2][c + 1], m[r + 2][c + 2]}};
    };
    const Matrix<Real> a = block(0, 0), b = block(0, 3), c = block(3, 0), d = block(3, 3), A = adjugate(a);
    const Vector<Real> top = mul(A, Vector<Real>{x[0], x[1], x[2]}), low = {x[3], x[4], x[5]}, c_top = mul(c, top);
    const Matrix<Real> Ab = matmul(A, b), cAb = matmul(c, Ab);
    const Real r = reciprocal(determinant(a, A));
    const Matrix<Real> e = {d.x - r * cAb.x, d.y - r * cAb.y, d.z - r * cAb.z}, E = adjugate(e);
    const Vector<Real> Ev = mul(E, low - r * c_top), AbEv = mul(Ab, Ev);
    const Real t = reciprocal(determinant(e, E));
    const Vector<Real> v = t * Ev, o = r * (top - t * AbEv);
    x = {o.x, o.y, o.z, v.x, v.y, v.z};
}

// x ← M⁻¹ x where lanes `first` … `first` + 5 hold the columns of M in x: with row pivots.
// Remaining rows are first, and finished ones move to the end, so that all are in order after six steps.
FUNCTION void eliminate_by_rows(Six<Real>& x, int first) {
#pragma unroll 1
    for (int c = 0; c < 6; ++c) {
        Six<Real> m;
#pragma unroll
        for (int r = 0; r < 6; ++r) m[r] = __shfl_sync(ALL, x[r], first + c);
#pragma unroll
        for (int r = 1; r < 6; ++r) {
            const bool larger = r < 6 - c && fabs(m[r]) > fabs(m[0]);
            const Real m0 = m[0], x0 = x[0];
            m[0] = larger ? m[r] : m0, m[r] = larger ? m0 : m[r];
            x[0] = larger ? x[r] : x0, x[r] = larger ? x0 : x[r];
        }
        const Real done = reciprocal(m[0]) * x[0];
#pragma unroll
        for (int r = 0; r < 5; ++r) x[r] = x[r + 1] - m[r + 1] * done;
        x[5] = done;
    }
}

// The element `out` of neighbours one and two, by a warp, `join` of algorithms/dca.py. `out` may alias either. Lanes
// hold the columns of Φ₁ (0–5), Φ₂ᵀ (6–11), b₁ (12) and of M = 1 + Y₁ I₂ (13–18).
//
// det M ≥ 1, but the determinant of M's first block passes through zero as a chain moves, and near it digits are lost
// that M itself preserves. The lanes that hold M detect it, since M⁻¹ M must be 1; then the elimination is repeated by
// rows.
template <typename Real>
__device__ __noinline__ void join(const Element<Real>& one, const Element<Real>& two, Element<Real>& out, Six<Real>* M,
                                  int lane) {
    const bool phi = lane < 6, y = !phi && lane < 12, b = lane == 12, m = lane > 12 && lane < 19;
    const int column = phi ? lane : y ? lane - 6 : m ? lane - 13 : 0;
    const Six<Real> s = y ? two.Phi[column] : m ? two.I[column] : two.p;
    Six<Real> x = times(one.Y, s);
#pragma unroll
    for (int r = 0; r < 6; ++r) {
        if (phi) x[r] = one.Phi[r][column];
        if (b) x[r] = one.b[r] - x[r];
        if (m) x[r] += Real(r == column), M[r][column] = x[r];
    }
    __syncwarp();
    const Six<Real> known = x;
    const auto force = [&] {
        Six<Real> z;
#pragma unroll
        for (int r = 0; r < 6; ++r) z[r] = times(two.I[r], x, b ? s[r] : Real(0));
        return z;
    };
    eliminate(M, x);  // Z, K and z
    const Real sum = ((fabs(x[0]) + fabs(x[1])) + (fabs(x[2]) + fabs(x[3]))) + (fabs(x[4]) + fabs(x[5]));
    const bool lost = m && !(fabs(sum - 1) <= LOST<Real>);
    Six<Real> z = force(), w, I;  // together, to share the latency of shuffles
    if (__any_sync(ALL, lost)) x = known, eliminate_by_rows(x, 13), z = force();
#pragma unroll
    for (int r = 0; r < 6; ++r) {
        w[r] = phi ? Real(0) : y ? two.Y[r][column] : two.b[r];
        I[r] = phi ? one.I[r][column] : one.p[r];
    }
#pragma unroll
    for (int r = 0; r < 6; ++r) w[r] = times(two.Phi[r], x, w[r]);
    x = times_t(one.Phi, z);
    __syncwarp();
#pragma unroll
    for (int r = 0; r < 6; ++r) {
        x[r] += I[r];
        if (phi) out.Phi[r][column] = w[r], out.I[r][column] = x[r];
        if (y) out.Y[r][column] = w[r];
    }
    if (b) out.b = w, out.p = x;
    __syncwarp();
}

// The composition `out` of the map one, then two, by a warp; `out` may alias either.
template <typename Real>
__device__ __forceinline__ void join(const Map<Real>& one, const Map<Real>& two, Map<Real>& out, Six<Real>*, int lane) {
    Six<Real> x;
#pragma unroll
    for (int r = 0; r < 6; ++r) x[r] = lane < 6 ? one.A[r][lane] : one.b[r];
    x = times(two.A, x);
    __syncwarp();
#pragma unroll
    for (int r = 0; r < 6; ++r) {
        if (lane < 6) out.A[r][lane] = x[r];
        if (lane == 6) out.b[r] = x[r] + two.b[r];
    }
    __syncwarp();
}

// The join of run[0] … run[count − 1] into part[0], by all warps of the block: each joins some neighbours in sequence,
// then pairs of warps join theirs. Barriers before and after are the caller's.
template <typename Real, class SubChain>
__device__ __forceinline__ void join_all(const SubChain* run, int count, SubChain* part, Six<Real>* M, int warp,
                                         int lane) {
    const int parts = count < CHUNKS ? count : CHUNKS;
    if (warp < parts) {
        const int first = count * warp / parts, last = count * (warp + 1) / parts;
        if (last - first == 1) copy<Real>(run[first], part[warp], lane);
        for (int k = first + 1; k < last; ++k)
            join(k == first + 1 ? run[first] : part[warp], run[k], part[warp], M, lane);
    }
    for (int d = 1; d < parts; d *= 2) {
        __syncthreads();
        if (warp % (2 * d) == 0 && warp + d < parts) join(part[warp], part[warp + d], part[warp], M, lane);
    }
    __syncthreads();
}

// SubChain k of the block joined with those after it, or before it: the sub-chains of `buffer[0]` into the buffer that
// is returned, alternating buffers in each step. The barrier after it is the caller's.
template <bool AFTER, typename Real, class SubChain>
__device__ __forceinline__ SubChain* join_within(SubChain (*buffer)[CHUNKS], Six<Real>* M, int warp, int lane) {
    int level = 0;
    for (int d = 1; d < CHUNKS; d *= 2, level ^= 1) {
        __syncthreads();
        const SubChain* from = buffer[level];
        SubChain& to = buffer[level ^ 1][warp];
        if (AFTER && warp + d < CHUNKS) {
            join(from[warp], from[warp + d], to, M, lane);
        } else if (!AFTER && warp >= d) {
            join(from[warp - d], from[warp], to, M, lane);
        } else {
            copy<Real>(from[warp], to, lane);
        }
    }
    __syncthreads();
    return buffer[level];
}
