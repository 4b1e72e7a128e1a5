// The force on one velocity of a joint, without its constraints: the law of engine/kernels/gains_and_damping.py.
#pragma once

// A joint's column of `StepSettings.joints`, rows `stride` apart, by their names in joint_row.
template <typename Real> struct JointRow {
    const Real* first;
    int stride;

    __device__ __forceinline__ Real operator()(int row) const { return first[(size_t)row * stride]; }
};

// The force, and the implicit terms on the matrix's diagonal.
template <typename Real> struct JointForce { Real force, added_inertia; };

// That of control `torque` and gains, if the velocity `draws`, at coordinate q (0 where there is none) and velocity v.
template <typename Real>
__device__ __forceinline__ JointForce<Real> joint_force(const JointRow<Real>& row, Real torque, Real target, Real q,
                                                        Real v, Real dt, bool draws = true) {
    constexpr bool IMPLICIT = INTEGRATOR == integrator::IMPLICIT;
    Real drive = torque, added_inertia = 0;
    if constexpr (HAS_GAINS) {
        const Real kp = row(joint_row::KP), kd = row(joint_row::KD), ahead = IMPLICIT ? q + dt * v : q;
        if (draws) drive += kp * (target - ahead) - kd * v;
        if (IMPLICIT && draws) added_inertia = dt * (kd + dt * kp);
    }
    if constexpr (HAS_EFFORT_LIMITS) {
        const Real max_effort = row(joint_row::EFFORT_LIMIT);
        if (!(fabs(drive) <= max_effort)) added_inertia = 0;
        drive = clip(drive, -max_effort, max_effort);
    }
    if constexpr (HAS_DAMPING) {
        const Real damping = row(joint_row::DAMPING);
        drive -= damping * v;
        if constexpr (IMPLICIT) added_inertia += dt * damping;
    }
    return {drive, added_inertia};
}
