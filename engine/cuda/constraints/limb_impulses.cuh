// The rows of robots with EVEN_LIMBS in a lane's registers, for the joints of its limb and at most N contacts of the
// limb or the trunk; and the residual of impulses.
//
// The rows Z = J L⁻¹ D^-½ of a limb are (3 N + LIMB, LIMB + 6): R for the limb's own velocities, and W for the trunk's.
// With
//
//     x = Rᵀ λ,   y = Σ Wᵀ λ over all limbs,   u = b + R x + W y
//
// limbs are coupled by the six numbers y only.
#pragma once

#include "constraints/contact_rows.cuh"
#include "constraints/limb_motions.cuh"

constexpr int LIMB_POINTS = 4;  // contacts of a lane, at most
constexpr int COLUMNS = LIMB + TRUNK_NV;
// The joints' rows, then three rows for each contact.
template <int N> constexpr int ROWS_OF = LIMB + 3 * N;
__device__ __forceinline__ constexpr int row_of(int contact) { return LIMB + 3 * contact; }
__device__ __forceinline__ constexpr int contact_of(int row) { return row < LIMB ? 0 : (row - LIMB) / 3; }
__device__ __forceinline__ constexpr int axis_of(int row) { return (row - LIMB) % 3; }  // n, t₁, t₂
// Unrolling of loops over rows, so that one contact's rows are in registers. With room for several contacts the loops
// run over the existing ones, in local memory.
template <int N> constexpr int WRITTEN_OUT = N == 1 ? 64 : 1;

// A contact of a limb, or of the trunk, with the ground.
template <typename Real> struct LimbContact {
    int body, point, shape;  // index among the limb's bodies, or −1 for the trunk; among all points and shapes
    Real gap, open;  // signed distance, and its open part
    Vector<Real> x, place;  // in the trunk's frame, and in the world
};
// The directions of the rows n, t₁, t₂ of every contact.
template <typename Real> struct Frame { Vector<Real> n, first, second; };

template <typename Real, int N> struct LimbRows {
    static constexpr int ALL = ROWS_OF<N>;

    Real R[ALL][LIMB], W[ALL][TRUNK_NV], b[ALL];
    Real size[N], own[LIMB], mu[N];  // the mean of G's diagonal over a contact's rows; G's diagonal of the joints' rows
    Real friction[LIMB], low[LIMB], high[LIMB];  // of the joints, with f as an impulse
    bool touches[N], acts[LIMB];
    int many;  // number of contacts

    __device__ __forceinline__ int contacts() const { return N == 1 ? 1 : many; }
    __device__ __forceinline__ int rows() const { return row_of(contacts()); }
};
template <typename Real, int N> struct LimbImpulses {
    Real of[ROWS_OF<N>], sum[COLUMNS];  // λ; x, then y
};

template <typename Real, int N, class Joints>
__device__ __forceinline__ void joint_laws(LimbRows<Real, N>& rows, const Joints& joints, const WarpGroup& group) {
#pragma unroll WRITTEN_OUT<N>
    for (int k = 0; k < LIMB; ++k) {
        const int v = limb_rate(group) + k;
        rows.friction[k] = 0, rows.low[k] = -Real(INFINITE), rows.high[k] = Real(INFINITE), rows.acts[k] = false;
        if constexpr (JOINT_ROWS > 0) {
            const ActingJoint<Real, Joints> row(joints, rows.b[k], v);
            rows.acts[k] = row.acts();
            if (rows.acts[k]) {
                rows.friction[k] = row.friction * joints.dt;
                rows.low[k] = row.within.low * joints.dt < -GAP_TOLERANCE<Real> ? row.within.low : Real(0);
                rows.high[k] = row.within.high * joints.dt > GAP_TOLERANCE<Real> ? row.within.high : Real(0);
            }
        }
    }
}

// Z, b and the diagonal of G, without the laws.
template <typename Real, int N>
__device__ __forceinline__ void limb_rows(LimbRows<Real, N>& rows, const LimbContact<Real> (&touches)[N],
                                          const Frame<Real>& frame, const Posture<Real>& now, const Motions<Real>& to,
                                          Real dt) {
    auto& R = rows.R;
#pragma unroll
    for (int k = 0; k < LIMB; ++k) {
        rows.b[k] = to.limb[k];
#pragma unroll
        for (int j = 0; j < LIMB; ++j) R[k][j] = j == k;
#pragma unroll
        for (int e = 0; e < TRUNK_NV; ++e) rows.W[k][e] = 0;
    }
#pragma unroll WRITTEN_OUT<N>
    for (int r = LIMB; r < rows.rows(); ++r) {
        const LimbContact<Real>& touch = touches[contact_of(r)];
        const int axis = axis_of(r);
        const Vector<Real> d = axis == 0 ? frame.n : axis == 1 ? frame.first : frame.second;
        const Force<Real> F = {cross(touch.x, d), d};
        spread_out(F, rows.W[r]);
        Real b = 0;
#pragma unroll
        for (int e = 0; e < TRUNK_NV; ++e) b += rows.W[r][e] * to.trunk[e];
#pragma unroll
        for (int k = 0; k < LIMB; ++k) {
            R[r][k] = k <= touch.body ? power(now.s[k], F) : Real(0);
            b += R[r][k] * to.limb[k];
        }
        rows.b[r] = axis == 0 ? b + touch.open / dt : b;
    }
#pragma unroll WRITTEN_OUT<N>
    for (int r = 0; r < rows.rows(); ++r) {
        forward(to.c, R[r]);
#pragma unroll
        for (int e = 0; e < TRUNK_NV; ++e) {
#pragma unroll
            for (int k = 0; k < LIMB; ++k) rows.W[r][e] -= R[r][k] * to.B[k][e];
        }
        forward(to.a, rows.W[r]);
        Real square = 0;
#pragma unroll
        for (int k = 0; k < LIMB; ++k) square += R[r][k] * R[r][k];
#pragma unroll
        for (int e = 0; e < TRUNK_NV; ++e) square += rows.W[r][e] * rows.W[r][e];
        if (r < LIMB) rows.own[min(r, LIMB - 1)] = square;
        else rows.size[contact_of(r)] = axis_of(r) == 0 ? square / 3 : rows.size[contact_of(r)] + square / 3;
    }
}

// The rows in double precision, with room for the most contacts.
template <typename Real, int N>
__device__ __forceinline__ LimbRows<double, LIMB_POINTS> widened(const LimbRows<Real, N>& rows) {
    LimbRows<double, LIMB_POINTS> all;
    all.many = rows.contacts();
#pragma unroll WRITTEN_OUT<N>
    for (int r = 0; r < rows.rows(); ++r) {
#pragma unroll
        for (int k = 0; k < LIMB; ++k) all.R[r][k] = rows.R[r][k];
#pragma unroll
        for (int e = 0; e < TRUNK_NV; ++e) all.W[r][e] = rows.W[r][e];
        all.b[r] = rows.b[r];
    }
#pragma unroll WRITTEN_OUT<N>
    for (int c = 0; c < rows.contacts(); ++c)
        all.touches[c] = rows.touches[c], all.size[c] = rows.size[c], all.mu[c] = rows.mu[c];
#pragma unroll
    for (int k = 0; k < LIMB; ++k) {
        all.own[k] = rows.own[k], all.acts[k] = rows.acts[k];
        all.friction[k] = rows.friction[k], all.low[k] = rows.low[k], all.high[k] = rows.high[k];
    }
    return all;
}

// Z's entry in row r and column j, the limb's columns before the trunk's.
template <typename Real, int N> __device__ __forceinline__ Real entry_of(const LimbRows<Real, N>& rows, int r, int j) {
    return j < LIMB ? rows.R[r][min(j, LIMB - 1)] : rows.W[r][max(j - LIMB, 0)];
}
// Z x in row r.
template <typename Real, int N>
__device__ __forceinline__ Real in_row(const LimbRows<Real, N>& rows, int r, const Real (&x)[COLUMNS]) {
    Real u = 0;
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) u += entry_of(rows, r, j) * x[j];
    return u;
}
// Zᵀ times a vector over a limb's rows, or over contacts' NORMALS only. The trunk's entries are this limb's share.
template <bool NORMALS, typename Real, int N>
__device__ __forceinline__ void spread(const LimbRows<Real, N>& rows, const Real (&of)[ROWS_OF<N>],
                                       Real (&x)[COLUMNS]) {
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) x[j] = 0;
#pragma unroll WRITTEN_OUT<N>
    for (int r = NORMALS ? LIMB : 0; r < rows.rows(); r += NORMALS ? 3 : 1) {
        const Real f = of[r];
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) x[j] += entry_of(rows, r, j) * f;
    }
}
// x and y.
template <typename Real, int N>
__device__ __forceinline__ void add_up(const LimbRows<Real, N>& rows, LimbImpulses<Real, N>& x,
                                       const WarpGroup& group) {
    spread<false>(rows, x.of, x.sum);
#pragma unroll
    for (int e = LIMB; e < COLUMNS; ++e) x.sum[e] = group.sum(x.sum[e]);
}
// u of a limb's rows.
template <typename Real, int N>
__device__ __forceinline__ void limb_velocities(const LimbRows<Real, N>& rows, const LimbImpulses<Real, N>& x,
                                                Real (&u)[ROWS_OF<N>]) {
#pragma unroll WRITTEN_OUT<N>
    for (int r = 0; r < rows.rows(); ++r) u[r] = rows.b[r] + in_row(rows, r, x.sum);
}

// `residual` of contact_law.cuh, over limbs.
template <typename Real, int N>
__device__ __forceinline__ Real limb_residual(const LimbRows<Real, N>& rows, const LimbImpulses<Real, N>& x,
                                              Real (&u)[ROWS_OF<N>], const WarpGroup& group) {
    limb_velocities(rows, x, u);
    Real worst = 0, most = VELOCITY_FLOOR<Real>;
    const auto count = [&](Real left, Real b) {
        worst = left > worst || !(left == left) ? left : worst;
        most = fmax(most, fabs(b));
    };
#pragma unroll WRITTEN_OUT<N>
    for (int c = 0; c < rows.contacts(); ++c) {
        if (!rows.touches[c]) continue;
        const int r = row_of(c);
        const Real size = rows.size[c], inverse = reciprocal(size);
        const Real s = rows.mu[c] * sqrt(u[r + 1] * u[r + 1] + u[r + 2] * u[r + 2]);
        const Vector<Real> now = {x.of[r], x.of[r + 1], x.of[r + 2]};
        const Vector<Real> z = {now.x - inverse * (u[r] + s), now.y - inverse * u[r + 1], now.z - inverse * u[r + 2]};
        const Vector<Real> d = now - project(z, rows.mu[c]);
        count(sqrt(dot(d, d)) * size, rows.b[r]);
        most = fmax(most, fmax(fabs(rows.b[r + 1]), fabs(rows.b[r + 2])));
    }
#pragma unroll WRITTEN_OUT<N>
    for (int k = 0; k < LIMB; ++k) {
        if (!rows.acts[k]) continue;
        const Real g = rows.own[k];
        const Real lawful = joint_law(u[k] - g * x.of[k], g * rows.friction[k], rows.low[k], rows.high[k]);
        count(fabs(u[k] - lawful), rows.b[k]);
    }
    return group.max(worst) / group.max(most);
}
