// Quaternions (x, y, z, w): normalisation, exponential, product and rotation, as in engine/kernels/quaternions.py.
#pragma once

#include "rigid_body/spatial.cuh"

// At unit length.
template <typename Real> __device__ __forceinline__ Quaternion<Real> unit(Quaternion<Real> x) {
    const Real n = 1 / sqrt(x.x * x.x + x.y * x.y + x.z * x.z + x.w * x.w);
    return {n * x.x, n * x.y, n * x.z, n * x.w};
}
// exp(ω dt) for a body angular velocity ω, of unit length to rounding.
template <typename Real> __device__ __forceinline__ Quaternion<Real> exponential(Vector<Real> omega, Real dt) {
    const Real half = dt / 2, angle2 = half * half * dot(omega, omega);
    Real k = half * (1 - angle2 / 6), c = 1 - angle2 / 2 + angle2 * angle2 / 24;
    if (angle2 >= Real(1e-8)) {
        const Real angle = sqrt(angle2);
        sincos_of(angle, k, c);
        k *= half / angle;
    }
    return {k * omega.x, k * omega.y, k * omega.z, c};
}
// The product of two quaternions, normalised.
template <typename Real>
__device__ __forceinline__ Quaternion<Real> unit_product(const Quaternion<Real>& q, const Quaternion<Real>& a) {
    const Quaternion<Real> moved = {q.x * a.w + q.w * a.x + q.y * a.z - q.z * a.y,
                                    q.y * a.w + q.w * a.y + q.z * a.x - q.x * a.z,
                                    q.z * a.w + q.w * a.z + q.x * a.y - q.y * a.x,
                                    q.w * a.w - q.x * a.x - q.y * a.y - q.z * a.z};
    return unit(moved);
}
// q · exp(ω dt) for a body angular velocity ω, normalised.
template <typename Real>
__device__ __forceinline__ Quaternion<Real> quaternion_step(const Quaternion<Real>& q, Vector<Real> omega, Real dt) {
    return unit_product(q, exponential(omega, dt));
}
// Rᵀ x of the unit quaternion `turn`; the length of x is insensitive to rounding of the quaternion's.
template <typename Real>
__device__ __forceinline__ Vector<Real> rotated_back(const Quaternion<Real>& turn, Vector<Real> x) {
    const Vector<Real> a = {turn.x, turn.y, turn.z}, t = Real(2) * cross(a, x);
    return x + (cross(a, t) - turn.w * t);
}

template <typename Real, class Q> __device__ __forceinline__ Quaternion<Real> quaternion(const Q& q, int first) {
    return {q(first), q(first + 1), q(first + 2), q(first + 3)};
}
template <typename Real, class Q>
__device__ __forceinline__ void store(const Q& q, int first, const Quaternion<Real>& x) {
    q(first) = x.x, q(first + 1) = x.y, q(first + 2) = x.z, q(first + 3) = x.w;
}
