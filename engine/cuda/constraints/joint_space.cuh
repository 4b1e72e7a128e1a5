// The accelerations of a step by JSIIA: M and the bias once per step, then a factorisation of M for every round of the
// constraints, as in engine/cpu/rigid_body/jsiia.py. A held joint's row and column are those of the identity, its
// acceleration is given, and its reaction is the excess of its row of M q̈ over its force.
#pragma once

#include "constraints/joint_constraints.cuh"
#include "rigid_body/ltdl.cuh"

// The slots of M, whose right-hand side is −τ_bias, and of its factor, which replaces M unless rounds need M again.
template <class Joints> constexpr int FACTOR_AT = Joints::CONSTRAINED ? MATRIX + MATRIX_SLOTS : MATRIX;

// Subtracts the bias from the right-hand side.
template <class Memory> struct LessBias {
    Memory at;

    template <typename Real> __device__ __forceinline__ void acceleration(int i, int k, Real bias) const {
        at(MATRIX + ROW_START[k]) -= own_rate(i, bias);
    }
};

template <typename Real, class Joints, class Robot>
__device__ __forceinline__ void bias_forces(const Joints& joints, const Robot& robot) {
    const auto& at = joints.at;
    bias<Real>(at, joints, robot);
#pragma unroll 1
    for (int k = 0; k < NV; ++k) at(MATRIX + ROW_START[k]) = 0;
    forces<Real>(at, LessBias<Slots<Real, Joints::PITCH>>{at}, robot);
}

// put(i, k) for every velocity k of the model and the first body i that it moves.
template <class Put> __device__ __forceinline__ void each_velocity(const Put& put) {
    EACH_BODY
    for (int i = 0; i < BODIES; ++i) {
        if (follows(i)) continue;
        const int k = v_start(i);
        for (int j = 0; j < dofs(i); ++j) put(i, k + j);
    }
}
// put(e, i) for the entries e of row k before the diagonal, towards the root, and their velocities i.
template <class Put> __device__ __forceinline__ void each_before(int k, const Put& put) {
#pragma unroll 4
    for (int i = ROW_PARENT[k], e = diagonal(k) - 1; i >= 0; i = ROW_PARENT[i], --e) put(e, i);
}

// The matrix and right-hand side, with rows and columns of held joints replaced by the identity's. Returns whether
// there are any.
template <typename Real, class Joints> __device__ __forceinline__ bool hold(const Joints& joints) {
    constexpr int F = FACTOR_AT<Joints>;
    const auto& at = joints.at;
    bool any = false;
    each_velocity([&](int i, int k) {
        const bool held = kind(i) != FREE && joints.is_held(k);
        Real own = at(MATRIX + diagonal(k));
        if (kind(i) != FREE) own += joints.added_inertia(i, k);
        at(F + ROW_START[k]) = held ? joints.target_acceleration(k) : at(MATRIX + ROW_START[k]) + joints.force(i, k);
        at(F + diagonal(k)) = held ? Real(1) : own;
        any |= held;
    });
    if constexpr (Joints::CONSTRAINED) {
#pragma unroll 1
        for (int k = 0; k < NV; ++k) {
            const bool held = joints.is_held(k);
            const int b = F + ROW_START[k];
            each_before(k, [&](int e, int i) {
                const Real entry = at(MATRIX + e);
                const bool other = joints.is_held(i);
                at(F + e) = held || other ? Real(0) : entry;
                if (held && !other) at(F + ROW_START[i]) -= entry * at(b);
                if (other && !held) at(b) -= entry * at(F + ROW_START[i]);
            });
        }
    }
    return any;
}

// M q̈ in the rows of held joints.
template <typename Real, class Joints> __device__ __forceinline__ void held_rows(const Joints& joints) {
    constexpr int F = FACTOR_AT<Joints>;
    const auto& at = joints.at;
#pragma unroll 1
    for (int k = 0; k < NV; ++k) {
        const bool held = joints.is_held(k);
        const Real x = at(F + ROW_START[k]);
        Real sum = at(MATRIX + diagonal(k)) * x;
        each_before(k, [&](int e, int i) {
            const Real entry = at(MATRIX + e);
            if (held) sum += entry * at(F + ROW_START[i]);
            if (joints.is_held(i)) at(REACTION + i) += entry * x;
        });
        at(REACTION + k) = sum;
    }
}

// q̈ and the reactions of held joints, passed to put(i, k, q̈, reaction).
template <typename Real, class Joints, class Put>
__device__ __forceinline__ void joint_space_accelerations(const Joints& joints, const Put& put) {
    constexpr int F = FACTOR_AT<Joints>;
    const auto& at = joints.at;
    const bool any = hold<Real>(joints);
    factor_and_solve<Real>(at, F);
    if constexpr (Joints::CONSTRAINED) {
        if (any) held_rows<Real>(joints);
    }
    each_velocity([&](int i, int k) {
        const Real qdd = at(F + ROW_START[k]);
        Real reaction = 0;
        if constexpr (Joints::CONSTRAINED) {
            if (kind(i) != FREE && joints.is_held(k))
                reaction = at(REACTION + k) + joints.added_inertia(i, k) * qdd - at(MATRIX + ROW_START[k]) -
                    joints.force(i, k);
        }
        put(i, k, qdd, reaction);
    });
}
