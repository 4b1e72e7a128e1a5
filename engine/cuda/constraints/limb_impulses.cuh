// The impulses of robots with EVEN_LIMBS of which each touches the ground by one point at most: rows of that contact and of
// the limb's joints, in the registers of its lane.
//
// The rows Z = J L⁻¹ D^-½ of a limb are (LIMB + 3, LIMB + 6), of which the last six columns, W, are the trunk's, so that
//
//     u = b + G λ + W (y − Wᵀ λ),   G = Z Zᵀ,   y = Σ Wᵀ λ of all limbs
//
// and limbs know of each other by the six numbers y alone.
#pragma once

#include "constraints/contact_rows.cuh"
#include "constraints/limb_motions.cuh"

constexpr int LIMB_ROWS = 3 + LIMB;
// Sweeps at most; and how often a limb goes over its own rows in the first of them, and in the others.
constexpr int LIMB_SWEEPS = 24, TIMES_AT_FIRST = 2, TIMES = 6;

// Where a limb touches the ground: in the trunk's frame the place x and the rows n, t₁, t₂.
template <typename Real> struct LimbContact {
    bool any;
    int body, point, shape;  // of the limb's bodies; of all points and shapes
    Real gap, open;          // as it is, and what of it is open
    Vector<Real> x, place;   // in the trunk's frame, and in the world
    Vector<Real> row[3];
};

template <typename Real> struct LimbRows {
    Lower<Real, LIMB_ROWS> G;
    Real W[LIMB_ROWS][TRUNK_NV], b[LIMB_ROWS], mu;
    Real friction[LIMB], low[LIMB], high[LIMB];  // of the joints, f as an impulse
    bool touches, acts[LIMB];
};
template <typename Real> struct LimbImpulses {
    Real of[LIMB_ROWS], share[TRUNK_NV], all[TRUNK_NV];  // λ, Wᵀ λ, y
};

template <typename Real, class Joints>
__device__ __forceinline__ void joint_laws(LimbRows<Real>& rows, const Joints& joints, const Group& group) {
#pragma unroll
    for (int k = 0; k < LIMB; ++k) {
        const int v = limb_rate(group) + k;
        rows.friction[k] = 0, rows.low[k] = -Real(INFINITE), rows.high[k] = Real(INFINITE), rows.acts[k] = false;
        if constexpr (JOINT_ROWS > 0) {
            const ActingJoint<Real, Joints> row(joints, rows.b[3 + k], v);
            rows.acts[k] = row.acts();
            if (rows.acts[k]) {
                rows.friction[k] = row.friction * joints.dt;
                rows.low[k] = row.within.low * joints.dt < -SHUT<Real> ? row.within.low : Real(0);
                rows.high[k] = row.within.high * joints.dt > SHUT<Real> ? row.within.high : Real(0);
            }
        }
    }
}

// Z, G and b, without the laws.
template <typename Real>
__device__ __forceinline__ void limb_rows(LimbRows<Real>& rows, const LimbContact<Real>& touch, const Posture<Real>& now,
                                          const Motions<Real>& to, Real dt) {
    Real R[LIMB_ROWS][LIMB];
#pragma unroll
    for (int r = 0; r < 3; ++r) {
        const Force<Real> F = {cross(touch.x, touch.row[r]), touch.row[r]};
        spread_out(F, rows.W[r]);
        Real b = 0;
#pragma unroll
        for (int e = 0; e < TRUNK_NV; ++e) b += rows.W[r][e] * to.trunk[e];
#pragma unroll
        for (int k = 0; k < LIMB; ++k) {
            R[r][k] = k <= touch.body ? power(now.s[k], F) : Real(0);
            b += R[r][k] * to.limb[k];
        }
        rows.b[r] = r == 0 ? b + touch.open / dt : b;
    }
#pragma unroll
    for (int k = 0; k < LIMB; ++k) {
        rows.b[3 + k] = to.limb[k];
#pragma unroll
        for (int j = 0; j < LIMB; ++j) R[3 + k][j] = j == k;
#pragma unroll
        for (int e = 0; e < TRUNK_NV; ++e) rows.W[3 + k][e] = 0;
    }
#pragma unroll
    for (int r = 0; r < LIMB_ROWS; ++r) {
        forward(to.c, R[r]);
#pragma unroll
        for (int e = 0; e < TRUNK_NV; ++e) {
#pragma unroll
            for (int k = 0; k < LIMB; ++k) rows.W[r][e] -= R[r][k] * to.B[k][e];
        }
        forward(to.a, rows.W[r]);
#pragma unroll
        for (int m = 0; m <= r; ++m) {
            Real total = 0;
#pragma unroll
            for (int k = 0; k < LIMB; ++k) total += R[r][k] * R[m][k];
#pragma unroll
            for (int e = 0; e < TRUNK_NV; ++e) total += rows.W[r][e] * rows.W[m][e];
            rows.G(r, m) = total;
        }
    }
}

// Wᵀ λ of a limb.
template <typename Real> __device__ __forceinline__ void set_share(const LimbRows<Real>& rows, LimbImpulses<Real>& x) {
#pragma unroll
    for (int e = 0; e < TRUNK_NV; ++e) {
        x.share[e] = 0;
#pragma unroll
        for (int r = 0; r < LIMB_ROWS; ++r) x.share[e] += rows.W[r][e] * x.of[r];
    }
}
template <typename Real> __device__ __forceinline__ void add_shares(LimbImpulses<Real>& x, const Group& group) {
#pragma unroll
    for (int e = 0; e < TRUNK_NV; ++e) x.all[e] = group.sum(x.share[e]);
}
// u of a limb.
template <typename Real>
__device__ __forceinline__ void limb_velocities(const LimbRows<Real>& rows, const LimbImpulses<Real>& x,
                                                Real (&u)[LIMB_ROWS]) {
#pragma unroll
    for (int r = 0; r < LIMB_ROWS; ++r) {
        u[r] = rows.b[r];
#pragma unroll
        for (int e = 0; e < TRUNK_NV; ++e) u[r] += rows.W[r][e] * (x.all[e] - x.share[e]);
#pragma unroll
        for (int m = 0; m < LIMB_ROWS; ++m) u[r] += rows.G(max(r, m), min(r, m)) * x.of[m];
    }
}

// What `residual` of contact_law.cuh answers, by limbs.
template <typename Real>
__device__ __forceinline__ Real limb_residual(const LimbRows<Real>& rows, const LimbImpulses<Real>& x, Real (&u)[LIMB_ROWS],
                                              const Group& group) {
    limb_velocities(rows, x, u);
    Real worst = 0, most = TINY<Real>;
    const auto count = [&](Real left, Real b) {
        worst = left > worst || !(left == left) ? left : worst;
        most = fmax(most, fabs(b));
    };
    if (rows.touches) {
        const Real size = (rows.G(0, 0) + rows.G(1, 1) + rows.G(2, 2)) / 3, r = reciprocal(size);
        const Real s = rows.mu * sqrt(u[1] * u[1] + u[2] * u[2]);
        const Vector<Real> now = {x.of[0], x.of[1], x.of[2]};
        const Vector<Real> z = {now.x - r * (u[0] + s), now.y - r * u[1], now.z - r * u[2]}, d = now - project(z, rows.mu);
        count(sqrt(dot(d, d)) * size, rows.b[0]);
        most = fmax(most, fmax(fabs(rows.b[1]), fabs(rows.b[2])));
    }
#pragma unroll
    for (int k = 0; k < LIMB; ++k) {
        if (!rows.acts[k]) continue;
        const int j = 3 + k;
        const Real g = rows.G(j, j);
        const Real lawful = joint_law(u[j] - g * x.of[j], g * rows.friction[k], rows.low[k], rows.high[k]);
        count(fabs(u[j] - lawful), rows.b[j]);
    }
    return group.greatest(worst) / group.greatest(most);
}

// The impulse of row r changes by d: u of the limb's own rows with it.
template <typename Real>
__device__ __forceinline__ void change(const LimbRows<Real>& rows, LimbImpulses<Real>& x, Real (&u)[LIMB_ROWS], int r,
                                       Real d) {
    x.of[r] += d;
#pragma unroll
    for (int m = 0; m < LIMB_ROWS; ++m) u[m] += rows.G(max(r, m), min(r, m)) * d;
}

// A limb's own rows, one after the other, so many times over, with all others held.
template <typename Real>
__device__ __forceinline__ void sweep_limb(const LimbRows<Real>& rows, LimbImpulses<Real>& x, int times) {
    Real u[LIMB_ROWS];
    limb_velocities(rows, x, u);
#pragma unroll 1
    for (int turn = 0; turn < times; ++turn) {
        if (rows.touches) {
            const auto& G = rows.G;
            const Symmetric<Real> D = {G(0, 0), G(1, 0), G(2, 0), G(1, 1), G(2, 1), G(2, 2)};
            const Vector<Real> now = {x.of[0], x.of[1], x.of[2]};
            const Vector<Real> z = one_contact(D, Vector<Real>{u[0], u[1], u[2]} - mul(D, now), rows.mu);
            change(rows, x, u, 0, z.x - now.x), change(rows, x, u, 1, z.y - now.y), change(rows, x, u, 2, z.z - now.z);
            x.of[0] = z.x, x.of[1] = z.y, x.of[2] = z.z;
        }
#pragma unroll
        for (int k = 0; k < LIMB; ++k) {
            const int j = 3 + k;
            const Real g = rows.G(j, j), y = u[j] - g * x.of[j];
            const Real d = (joint_law(y, g * rows.friction[k], rows.low[k], rows.high[k]) - u[j]) * reciprocal(g);
            if (rows.acts[k]) change(rows, x, u, j, d);
        }
    }
}

// One sweep, limb after limb, of a robot that `goes`.
template <typename Real>
__device__ __forceinline__ void sweep_limbs(const LimbRows<Real>& rows, LimbImpulses<Real>& x, const Group& group, int times,
                                            bool goes) {
#pragma unroll 1
    for (int limb = 0; limb < LANES; ++limb) {
        Real before[TRUNK_NV];
#pragma unroll
        for (int e = 0; e < TRUNK_NV; ++e) before[e] = x.share[e];
        if (goes && group.rank == limb) sweep_limb(rows, x, times), set_share(rows, x);
#pragma unroll
        for (int e = 0; e < TRUNK_NV; ++e) x.all[e] += group.from(x.share[e] - before[e], limb);
    }
    add_shares(x, group);
}
