// Robots with EVEN_LIMBS: a free first body, and for each of LANES lanes a chain of LIMB revolute joints. A limb's
// numbers are in its lane's registers, the trunk's in those of all lanes, equal in each. Loops are unrolled, so that
// all register indices are constants.
//
// All is expressed in the trunk's frame, about its origin, so that inertias and forces of a chain are sums. M is
//
//     M = [ A   Bᵀ ]     C = c cᵀ,   B' = c⁻¹ B,   A − Σ B'ᵀ B' = a aᵀ
//         [ B   C  ]
//
// with a C and a B (LIMB, 6) for each limb, and the sum over limbs; c and a are Cholesky factors whose diagonals are
// stored as inverses.
#pragma once

#include "constraints/joint_constraints.cuh"
#include "rigid_body/limbs.cuh"

constexpr int LIMB = LIMB_MOST;

// A lower triangle, or a symmetric matrix by it.
template <typename Real, int N> struct Lower {
    Real of[N * (N + 1) / 2];

    __device__ __forceinline__ Real& operator()(int i, int j) { return of[i * (i + 1) / 2 + j]; }
    __device__ __forceinline__ Real operator()(int i, int j) const { return of[i * (i + 1) / 2 + j]; }
};

// The Cholesky factor of a symmetric matrix, in place; NaN where the matrix is not positive definite.
template <typename Real, int N> __device__ __forceinline__ void to_triangle(Lower<Real, N>& A) {
#pragma unroll
    for (int j = 0; j < N; ++j) {
        Real pivot = A(j, j);
#pragma unroll
        for (int k = 0; k < j; ++k) pivot -= A(j, k) * A(j, k);
        const Real inverse = sqrt(inverse_pivot(pivot));
        A(j, j) = inverse;
#pragma unroll
        for (int i = j + 1; i < N; ++i) {
            Real x = A(i, j);
#pragma unroll
            for (int k = 0; k < j; ++k) x -= A(i, k) * A(j, k);
            A(i, j) = x * inverse;
        }
    }
}
// x ← a⁻¹ x; and x ← a⁻ᵀ x.
template <typename Real, int N> __device__ __forceinline__ void forward(const Lower<Real, N>& a, Real (&x)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
#pragma unroll
        for (int k = 0; k < i; ++k) x[i] -= a(i, k) * x[k];
        x[i] *= a(i, i);
    }
}
template <typename Real, int N> __device__ __forceinline__ void backward(const Lower<Real, N>& a, Real (&x)[N]) {
#pragma unroll
    for (int i = N - 1; i >= 0; --i) {
#pragma unroll
        for (int k = i + 1; k < N; ++k) x[i] -= a(k, i) * x[k];
        x[i] *= a(i, i);
    }
}

template <typename Real> __device__ __forceinline__ Real power(const Motion<Real>& s, const Force<Real>& F) {
    return dot(s.o, F.n) + dot(s.v, F.f);
}
template <typename Real> __device__ __forceinline__ Motion<Real> operator*(Real k, const Motion<Real>& s) {
    return {k * s.o, k * s.v};
}
// V × s.
template <typename Real> __device__ __forceinline__ Motion<Real> across(const Motion<Real>& V, const Motion<Real>& s) {
    return {cross(V.o, s.o), cross(V.o, s.v) + cross(V.v, s.o)};
}

// Poses and twists of a robot's trunk (in the world) and of one limb (in the trunk's frame), with the limb's joint axes
// s.
template <typename Real> struct Posture {
    Pose<Real> trunk, body[LIMB];
    Motion<Real> V, s[LIMB], V_of[LIMB];
    Real rate[LIMB];
};

// The first body of a lane's limb; and the index of its joint's velocity, and of its coordinate.
__device__ __forceinline__ int limb_body(const WarpGroup& group) { return 1 + LIMB * group.rank; }
__device__ __forceinline__ int limb_rate(const WarpGroup& group) { return TRUNK_NV + LIMB * group.rank; }
__device__ __forceinline__ int limb_coordinate(const WarpGroup& group) { return 7 + LIMB * group.rank; }

template <typename Real, class Joints, class Robot>
__device__ __forceinline__ Posture<Real> posture(const Joints& joints, const Robot& robot, const WarpGroup& group) {
    const auto& at = joints.at;
    Posture<Real> now;
    const Pose<Real> home = robot.home(0);
    const Quaternion<Real> turn = {at(Q + 3), at(Q + 4), at(Q + 5), at(Q + 6)};
    now.trunk = {matmul(home.R, rotation_from_quaternion(turn)), home.p + mul(home.R, at.vector(Q))};
    now.V = at.motion(V);
    Pose<Real> T = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {0, 0, 0}};
    Motion<Real> moves = now.V;
#pragma unroll
    for (int k = 0; k < LIMB; ++k) {
        const int i = limb_body(group) + k;
        Real sine, cosine;
        sincos_of(at(Q + limb_coordinate(group) + k), sine, cosine);
        now.rate[k] = at(V + limb_rate(group) + k);
        const Pose<Real> home = robot.home(i);
        T = turned_about_z(k == 0 ? home : Pose<Real>{matmul(T.R, home.R), T.p + mul(T.R, home.p)}, sine, cosine);
        const Vector<Real> axis = {T.R.x.z, T.R.y.z, T.R.z.z};
        now.body[k] = T;
        now.s[k] = {axis, cross(T.p, axis)};
        moves = moves + now.rate[k] * now.s[k];
        now.V_of[k] = moves;
    }
    return now;
}

// M's factor, and the velocities v_f at the end of a step without contact: six of the trunk, without the rotation of
// its frame, and the limb's.
template <typename Real> struct Motions {
    Lower<Real, LIMB> c;
    Lower<Real, TRUNK_NV> a;
    Real B[LIMB][TRUNK_NV];  // c⁻¹ B
    Real trunk[TRUNK_NV], limb[LIMB];
};

// A wrench as six numbers.
template <typename Real> __device__ __forceinline__ void spread_out(const Force<Real>& F, Real (&x)[6]) {
    x[0] = F.n.x, x[1] = F.n.y, x[2] = F.n.z, x[3] = F.f.x, x[4] = F.f.y, x[5] = F.f.z;
}

// Add the rigid-body inertia J to a symmetric 6×6 matrix.
template <typename Real> __device__ __forceinline__ void add_body(Lower<Real, 6>& A, const Body<Real>& J) {
    A(0, 0) += J.I.xx, A(1, 0) += J.I.xy, A(1, 1) += J.I.yy, A(2, 0) += J.I.xz, A(2, 1) += J.I.yz, A(2, 2) += J.I.zz;
    A(3, 1) += J.h.z, A(3, 2) -= J.h.y, A(4, 0) -= J.h.z, A(4, 2) += J.h.x, A(5, 0) += J.h.y, A(5, 1) -= J.h.x;
    A(3, 3) += J.m, A(4, 4) += J.m, A(5, 5) += J.m;
}

// The limbs' inertia and forces at the trunk, with their joints eliminated, summed over the limbs into `out.a` and
// `own`, which has the wrench on each lane's limb; J is that limb's inertia.
template <typename Real>
__device__ __forceinline__ void sum_limbs(Motions<Real>& out, Real (&own)[TRUNK_NV], const Body<Real>& J,
                                          const WarpGroup& group) {
#pragma unroll
    for (int e = 0; e < 21; ++e) out.a.of[e] = 0;
    add_body(out.a, J);
#pragma unroll
    for (int i = 0; i < TRUNK_NV; ++i) {
#pragma unroll
        for (int k = 0; k < LIMB; ++k) own[i] += out.B[k][i] * out.limb[k];
#pragma unroll
        for (int j = 0; j <= i; ++j) {
#pragma unroll
            for (int k = 0; k < LIMB; ++k) out.a(i, j) -= out.B[k][i] * out.B[k][j];
            out.a(i, j) = group.sum(out.a(i, j));
        }
        own[i] = group.sum(own[i]);
    }
}

template <typename Real, class Joints, class Robot>
__device__ __forceinline__ Motions<Real> free_motions(const Posture<Real>& now, const Joints& joints,
                                                      const Robot& robot, const WarpGroup& group) {
    const auto& at = joints.at;
    const auto force_on = [&](int i, const Pose<Real>& T, Force<Real> F) {
        if constexpr (Joints::HAS_WRENCHES) F = F - force_to_parent(T, joints.external(i));
        return F;
    };
    Motions<Real> out;
    const Vector<Real> falling = mul_t(now.trunk.R, -robot.gravity());
    const Motion<Real> start = {{0, 0, 0}, falling};
    Body<Real> J[LIMB];
    Force<Real> F[LIMB];
    Motion<Real> a = start;
#pragma unroll
    for (int k = 0; k < LIMB; ++k) {
        const int i = limb_body(group) + k;
        a = a + now.rate[k] * across(now.V_of[k], now.s[k]);
        J[k] = body_to_parent(now.body[k], robot.body(i));
        F[k] = force_on(i, now.body[k], wrench(J[k], now.V_of[k], a));
    }
    const int v = limb_rate(group);
#pragma unroll
    for (int k = LIMB - 1; k >= 0; --k) {
        if (k + 1 < LIMB) J[k] = J[k] + J[k + 1], F[k] = F[k] + F[k + 1];
        out.limb[k] = joints.smooth(limb_body(group) + k, v + k) - power(now.s[k], F[k]);
        const Force<Real> column = momentum(J[k], now.s[k]);
        spread_out(column, out.B[k]);
#pragma unroll
        for (int j = 0; j <= k; ++j) out.c(k, j) = power(now.s[j], column);
        out.c(k, k) += joints.added_inertia(limb_body(group) + k, v + k);
    }
    to_triangle(out.c);
    forward(out.c, out.limb);
#pragma unroll
    for (int e = 0; e < TRUNK_NV; ++e) {
        Real x[LIMB];
#pragma unroll
        for (int k = 0; k < LIMB; ++k) x[k] = out.B[k][e];
        forward(out.c, x);
#pragma unroll
        for (int k = 0; k < LIMB; ++k) out.B[k][e] = x[k];
    }
    Real own[TRUNK_NV];
    spread_out(F[0], own);
    sum_limbs(out, own, J[0], group);
    const Body<Real> trunk = robot.body(0);
    add_body(out.a, trunk);
    const Pose<Real> here = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {0, 0, 0}};
    Real bias[TRUNK_NV];
    spread_out(force_on(0, here, wrench(trunk, now.V, start)), bias);
#pragma unroll
    for (int i = 0; i < TRUNK_NV; ++i) out.trunk[i] = joints.smooth(0, i) - bias[i] - own[i];
    to_triangle(out.a);
    forward(out.a, out.trunk);
    backward(out.a, out.trunk);
#pragma unroll
    for (int k = 0; k < LIMB; ++k) {
#pragma unroll
        for (int e = 0; e < TRUNK_NV; ++e) out.limb[k] -= out.B[k][e] * out.trunk[e];
    }
    backward(out.c, out.limb);
#pragma unroll
    for (int k = 0; k < LIMB; ++k) out.limb[k] = now.rate[k] + joints.dt * out.limb[k];
#pragma unroll
    for (int e = 0; e < TRUNK_NV; ++e) out.trunk[e] = at(V + e) + joints.dt * out.trunk[e];
    const Vector<Real> turns = joints.dt * cross(now.V.o, now.V.v);
    out.trunk[3] += turns.x, out.trunk[4] += turns.y, out.trunk[5] += turns.z;
    return out;
}
