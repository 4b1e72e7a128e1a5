// Integration of a joint's coordinates, as in engine/cpu/stepping/integrators.py. `q(j)` are references to the joint's
// coordinates, `v(j)` its velocities; code for ball joints is compiled only with BALLS.
#pragma once

#include "stepping/quaternions.cuh"

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
