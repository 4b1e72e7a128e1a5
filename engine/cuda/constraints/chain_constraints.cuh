// Joint constraints of a serial chain whose joints are distributed over threads: the rounds of joint_constraints.cuh,
// each with the chain's accelerations computed in parallel. A thread keeps its joints' modes. stepping/chain_step.cuh
// defines a `Chain`.
#pragma once

#include "chains/link_maximum.cuh"
#include "constraints/active_set.cuh"
#include "constraints/joint_forces.cuh"

constexpr bool HAS_CONSTRAINTS = HAS_LIMITS || HAS_FRICTION;

// A joint in its thread during a step.
template <typename Real> struct Joint {
    Real x, u, torque, target;  // the state, q and v; control, and position setpoint of the gains
    Real x_before, u_before;                  // the state before the step, with FREEZES
    Real q, v;  // where accelerations are evaluated
    Real drive;  // its force without friction
    Real force, inertia, acceleration, answer;  // inputs of forward dynamics (`Asked`) and its result
    Real sum_q, sum_v;  // sums of the rates at RK4's stages
    Interval<Real> within;  // bounds of v⁺
    Real friction, next, feasible;  // v⁺ in the present modes, and the feasible one
    Mode mode, then;
    int link;  // of the chain
    bool held;
};

// The bounds of v⁺ and the mode at the start of a step.
template <typename Real>
__device__ __forceinline__ void initial_active_set(Joint<Real>& joint, const JointRow<Real>& row, Real dt) {
    joint.within = {Real(-1e30), Real(1e30)};
    if (HAS_LIMITS) {
        const Real lower = row(joint_row::LOWER), upper = row(joint_row::UPPER);
        joint.within = velocity_bounds(joint.x, lower, upper, row(joint_row::VELOCITY_LIMIT), 1 / dt);
    }
    joint.friction = HAS_FRICTION ? row(joint_row::FRICTION) : Real(0);
    joint.mode = initial_mode(joint.u, joint.within, joint.friction);
}

// v⁺ of all joints under their constraints, into `u`. solve() computes q̈, or reactions of held joints.
template <typename Real, class Chain, class Solve>
__device__ __forceinline__ void constrained_velocities(Chain& chain, Real dt, const Solve& solve) {
    const Real rate = 1 / dt;
    bool settled = false;  // for the thread's chain; other chains may fraction its warp
    chain.each([&](Joint<Real>& joint, const JointRow<Real>& row) { initial_active_set(joint, row, dt); });
#pragma unroll 1
    for (int number = 0;; ++number) {
        chain.each([&](Joint<Real>& joint, const JointRow<Real>&) {
            const Real f = joint.friction;
            joint.held = is_held(joint.mode);
            joint.force = joint.drive - (joint.mode == FORWARD ? f : joint.mode == BACKWARD ? -f : Real(0));
            joint.acceleration = (held_velocity(joint.mode, joint.within) - joint.u) * rate;
        });
        solve();
        chain.each([&](Joint<Real>& joint, const JointRow<Real>&) {
            const Real f = joint.friction;
            joint.next = joint.held ? held_velocity(joint.mode, joint.within) : joint.u + dt * joint.answer;
            if (joint.held) joint.then = next_mode_of_held(joint.mode, joint.answer, joint.within, f, joint.drive);
            else if (number <= BLOCK_PIVOTS)
                joint.then = next_mode_of_sliding(joint.mode, joint.next, joint.u, joint.within, f);
            else joint.then = joint.mode;
        });
        if (number <= BLOCK_PIVOTS) {
            const bool changed =
                chain.best([](const Joint<Real>& joint) { return Real(joint.then != joint.mode); }).value > 0;
            chain.each([&](Joint<Real>& joint, const JointRow<Real>&) {
                if (!settled && !changed) joint.feasible = joint.next;
                joint.mode = joint.then;
                if (number == BLOCK_PIVOTS && changed) {
                    // begin a descent from the last velocity, clipped to its bounds
                    joint.feasible = clip(joint.next, joint.within.low, joint.within.high);
                    joint.mode = feasible_mode(joint.feasible, joint.within, joint.friction);
                }
            });
            settled = settled || !changed;
        } else {
            // A descent step of the constraints' energy.
            const auto ahead = [](const Joint<Real>& joint) {
                if (joint.held) return BlockingStep<Real>{1, joint.next, joint.mode};
                return blocking_step(joint.mode, joint.feasible, joint.next, joint.within, joint.friction);
            };
            const Best<Real> blocking = chain.best([&](const Joint<Real>& joint) { return -ahead(joint).fraction; });
            const Real fraction = -blocking.value;
            Best<Real> released_one = no_link<Real>();
            if (chain.any(fraction >= 1)) {
                released_one = chain.best([&](const Joint<Real>& joint) {
                    const bool asks = joint.then != joint.mode && joint.within.low < joint.within.high;
                    return asks ? friction_excess(joint.mode, joint.answer, joint.within, joint.friction) : Real(-1);
                });
            }
            chain.each([&](Joint<Real>& joint, const JointRow<Real>&) {
                if (settled) return;
                const BlockingStep<Real> there = ahead(joint);
                joint.feasible += fraction * (joint.next - joint.feasible);
                if (fraction < 1) {
                    if (joint.link == int(blocking.link)) joint.feasible = there.bound, joint.mode = there.mode;
                } else if (released_one.value >= 0 && joint.link == int(released_one.link)) {
                    joint.mode = joint.then;
                }
            });
            settled = settled || (fraction >= 1 && released_one.value < 0) ||
                      number >= BLOCK_PIVOTS + ACTIVE_SET_STEPS * chain.links();
        }
        if (!chain.any(!settled)) break;
    }
    chain.each([&](Joint<Real>& joint, const JointRow<Real>&) { joint.u = joint.feasible; });
}
