// Integration of a joint's coordinates, as in engine/cpu/stepping/integrators.py. `q(j)` are references to the joint's
// coordinates, `v(j)` its velocities; code for ball joints is compiled only with BALLS.
#pragma once

#include "rigid_body/spatial.cuh"

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

// q integrated along `rate` for dt. A free joint's `rate` and v are twists in the frame at the start of the step; the
// linear part of v is rotated into the frame at its end. v may be `rate`.
template <typename Real, bool BALLS, class Q, class Rate, class V>
__device__ __forceinline__ void advance_joint(int kind, const Q& q, const Rate& rate, const V& v, Real dt) {
    if constexpr (BALLS) {
        if (kind == SPHERICAL) {
            store(q, 0, quaternion_step(quaternion<Real>(q, 0), Vector<Real>{rate(0), rate(1), rate(2)}, dt));
            return;
        }
    }
    if (kind != FREE) {
        q(0) += dt * rate(0);
        return;
    }
    const Quaternion<Real> before = quaternion<Real>(q, 3),
        turn = exponential(Vector<Real>{rate(0), rate(1), rate(2)}, dt);
    const Vector<Real> shift = mul(rotation_from_quaternion(before), Vector<Real>{rate(3), rate(4), rate(5)});
    q(0) += dt * shift.x, q(1) += dt * shift.y, q(2) += dt * shift.z;
    store(q, 3, unit_product(before, turn));
    const Vector<Real> u = rotated_back(turn, Vector<Real>{v(3), v(4), v(5)});
    v(3) = u.x, v(4) = u.y, v(5) = u.z;
}

// The term of a free joint's linear v⁺ beside v + dt v̇ in the frame at the start of the step: v̇ contains −ω × v, from
// that frame's rotation.
template <typename Real, class V> __device__ __forceinline__ Vector<Real> rotation_term(const V& v, Real dt) {
    return dt * cross(Vector<Real>{v(0), v(1), v(2)}, Vector<Real>{v(3), v(4), v(5)});
}

// q̇ by `put(j, rate)`; a quaternion's is ½ x ∘ (ω, 0).
template <typename Real, bool BALLS, class Q, class V, class Put>
__device__ __forceinline__ void joint_rates(int kind, const Q& q, const V& v, const Put& put) {
    const auto turn = [&](int j, const Quaternion<Real>& x, const Vector<Real>& w) {
        put(j, (x.w * w.x + x.y * w.z - x.z * w.y) / 2);
        put(j + 1, (x.w * w.y + x.z * w.x - x.x * w.z) / 2);
        put(j + 2, (x.w * w.z + x.x * w.y - x.y * w.x) / 2);
        put(j + 3, -(x.x * w.x + x.y * w.y + x.z * w.z) / 2);
    };
    if (kind == FREE) {
        const Vector<Real> w = {v(0), v(1), v(2)}, u = {v(3), v(4), v(5)};
        const Quaternion<Real> x = quaternion<Real>(q, 3);
        const Vector<Real> linear = mul(rotation_from_quaternion(x), u);
        put(0, linear.x), put(1, linear.y), put(2, linear.z);
        turn(3, x, w);
    } else if (BALLS && kind == SPHERICAL) {
        turn(0, quaternion<Real>(q, 0), Vector<Real>{v(0), v(1), v(2)});
    } else {
        put(0, v(0));
    }
}

// Normalise the quaternions in q.
template <typename Real, bool BALLS, class Q> __device__ __forceinline__ void normalise_joint(int kind, const Q& q) {
    if (kind == FREE) store(q, 3, unit(quaternion<Real>(q, 3)));
    if constexpr (BALLS) {
        if (kind == SPHERICAL) store(q, 0, unit(quaternion<Real>(q, 0)));
    }
}
