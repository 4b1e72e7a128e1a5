// One step of a serial chain whose joints are distributed over threads, for any forward dynamics: joint forces,
// integrators and constraints. An algorithm supplies a `Chain`:
//
//    each(f)              f(joint, row) for each of the thread's joints; row(joint_row::KP) is of the joint's
//                         parameters
//    kinematics(pushed)   poses and velocities at the joints' q and v; `pushed`: external wrenches act
//    accelerations(falls) `answer` of all joints, from their force, inertia, acceleration and `held`; `falls`: with
//                         gravity
//    best(f)              the maximum of f(joint) over the chain, and its link
//    any(so)              whether `so` holds for any chain whose threads must stay together
//    links()              of the chain
#pragma once

#include "constraints/chain_constraints.cuh"
#include "stepping/phase_timer.cuh"

// Joint forces at q and v.
template <typename Real>
__device__ __forceinline__ void smooth_force(Joint<Real>& joint, const JointRow<Real>& row, Real dt) {
    const JointForce<Real> found = joint_force(row, joint.torque, joint.target, joint.q, joint.v, dt);
    joint.drive = found.force, joint.inertia = found.added_inertia;
}

// q̈ at the joints' q and v into `answer`, with all joints free.
template <typename Real, class Chain> __device__ __forceinline__ void free_accelerations(Chain& chain) {
    chain.each([](Joint<Real>& joint, const JointRow<Real>&) {
        joint.force = joint.drive, joint.held = false, joint.acceleration = 0;
    });
    chain.accelerations(true);
}

// The classical Runge-Kutta step. Constraints then correct the velocity at its end, and a joint that was held or would
// pass its limit moves with it.
template <typename Real, class Chain>
__device__ __forceinline__ void rk4_step(Chain& chain, Real dt, const Watch& watch) {
    chain.each([](Joint<Real>& joint, const JointRow<Real>&) { joint.sum_q = 0, joint.sum_v = 0; });
#pragma unroll 1
    for (int stage = 0; stage < 4; ++stage) {
        if (stage > 0) {
            chain.kinematics(HAS_WRENCHES);
            watch.lap(phase::KINEMATICS);
        }
        const Real weight = stage == 0 || stage == 3 ? 1 : 2, ahead = stage < 2 ? dt / 2 : dt;
        chain.each([&](Joint<Real>& joint, const JointRow<Real>& row) { smooth_force(joint, row, dt); });
        free_accelerations<Real>(chain);
        chain.each([&](Joint<Real>& joint, const JointRow<Real>&) {
            joint.sum_q += weight * joint.v, joint.sum_v += weight * joint.answer;
            joint.q = joint.x + ahead * joint.v, joint.v = joint.u + ahead * joint.answer;
        });
    }
    chain.each([&](Joint<Real>& joint, const JointRow<Real>&) {
        joint.q = joint.x + dt / 6 * joint.sum_q, joint.v = 0;
        joint.u += dt / 6 * joint.sum_v;
        joint.drive = 0, joint.inertia = 0;
    });
    if constexpr (HAS_CONSTRAINTS) {
        chain.kinematics(false);
        constrained_velocities(chain, dt, [&] {
            watch.lap(phase::CONSTRAINTS);
            chain.accelerations(false);
        });
        watch.lap(phase::CONSTRAINTS);
        chain.each([&](Joint<Real>& joint, const JointRow<Real>& row) {
            const bool outside = HAS_LIMITS && !(row(joint_row::LOWER) <= joint.q && joint.q <= row(joint_row::UPPER));
            if (is_held(joint.mode) || outside) joint.q = joint.x + dt * joint.u;
        });
    }
    chain.each([](Joint<Real>& joint, const JointRow<Real>&) { joint.x = joint.q; });
}

// The step from x and u, whose kinematics are computed.
template <typename Real, class Chain>
__device__ __forceinline__ void chain_step(Chain& chain, Real dt, const Watch& watch) {
    if constexpr (INTEGRATOR == integrator::RK4) {
        rk4_step(chain, dt, watch);
    } else {
        chain.each([&](Joint<Real>& joint, const JointRow<Real>& row) { smooth_force(joint, row, dt); });
        if constexpr (HAS_CONSTRAINTS) {
            constrained_velocities(chain, dt, [&] {
                watch.lap(phase::CONSTRAINTS);
                chain.accelerations(true);
            });
            watch.lap(phase::CONSTRAINTS);
        } else {
            free_accelerations<Real>(chain);
            chain.each([&](Joint<Real>& joint, const JointRow<Real>&) { joint.u += dt * joint.answer; });
        }
        chain.each([&](Joint<Real>& joint, const JointRow<Real>&) { joint.x += dt * joint.u; });
    }
}

// Before a step: its row of controls, if any, and the point at which kinematics are evaluated.
template <typename Real>
__device__ __forceinline__ void begin_step(Joint<Real>& joint, const Real* controls) {
    if (controls) joint.torque = *controls;
    joint.q = joint.x, joint.v = joint.u;
}
