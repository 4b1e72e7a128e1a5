// The mode of one joint under Coulomb friction, position limits and velocity limits, at velocity level. Used by
// joint_constraints.cuh and chain_constraints.cuh; equations: engine/kernels/joint_constraints.py.
//
// v⁺ lies within [low, high], low ≤ 0 ≤ high, and friction f resists it. A held joint has v⁺ = low, 0 or high and a
// reaction r; a sliding joint has the force −f or f and no reaction.
#pragma once

enum Mode { LOW, BACKWARD, STUCK, FORWARD, HIGH };
__device__ __forceinline__ bool is_held(Mode mode) { return mode != FORWARD && mode != BACKWARD; }

template <typename Real> struct Interval { Real low, high; };

template <typename Real> __device__ __forceinline__ Real clip(Real x, Real low, Real high) {
    return x < low ? low : (x > high ? high : x);  // NaN stays NaN
}
// The velocity that moves a joint at q no further past its limits in a step; `rate` is 1/dt.
template <typename Real>
__device__ __forceinline__ Real within_limits(Real velocity, Real q, Real lower, Real upper, Real rate) {
    return clip(velocity, fmin((lower - q) * rate, Real(0)), fmax((upper - q) * rate, Real(0)));
}

// low and high of v⁺ for a joint at q; `rate` is 1/dt.
template <typename Real>
__device__ __forceinline__ Interval<Real> velocity_bounds(Real q, Real lower, Real upper, Real max_speed, Real rate) {
    const Real below = lower - q, above = upper - q, low = (below < -AT_LIMIT<Real> ? below : Real(0)) * rate,
               high = (above > AT_LIMIT<Real> ? above : Real(0)) * rate;
    return {low < -max_speed ? -max_speed : low, high > max_speed ? max_speed : high};
}

template <typename Real> __device__ __forceinline__ Real held_velocity(Mode mode, const Interval<Real>& within) {
    return mode == HIGH ? within.high : (mode == LOW ? within.low : Real(0));
}

// The mode at the start of a step: held where the joint rests or moves at a bound, else sliding in its direction.
template <typename Real> __device__ __forceinline__ Mode initial_mode(Real v, const Interval<Real>& within, Real f) {
    const bool rests = fabs(v) <= REST<Real>;
    if (rests ? within.high == 0 : v >= within.high - REST<Real>) return HIGH;
    if (rests ? within.low == 0 : v <= within.low + REST<Real>) return LOW;
    if (rests && f > 0) return STUCK;
    return v >= 0 ? FORWARD : BACKWARD;
}

// The next mode of a held joint, from its reaction r; `drive` is its other force.
template <typename Real>
__device__ __forceinline__ Mode next_mode_of_held(Mode mode, Real r, const Interval<Real>& within, Real f, Real drive) {
    const Real slack = REACTION_SLACK<Real> * (f + fabs(drive));
    if (mode == STUCK) return r > f + slack ? BACKWARD : (r < -f - slack ? FORWARD : mode);
    if (mode == HIGH) {
        if (r <= (within.high > 0 ? -f : f) + slack) return mode;
        return within.high > 0 ? FORWARD : BACKWARD;
    }
    if (r >= (within.low < 0 ? f : -f) - slack) return mode;
    return within.low < 0 ? BACKWARD : FORWARD;
}

// The next mode of a sliding joint, from its v⁺.
template <typename Real>
__device__ __forceinline__ Mode next_mode_of_sliding(Mode mode, Real next, Real v, const Interval<Real>& within,
                                                     Real f) {
    const Real slack = VELOCITY_SLACK<Real> * (1 + fabs(v));
    if (next > within.high + slack) return HIGH;
    if (next < within.low - slack) return LOW;
    if (f > 0 && (mode == FORWARD ? next : -next) < -slack) return STUCK;
    return mode;
}

// The mode of a feasible v⁺, from which a descent starts.
template <typename Real>
__device__ __forceinline__ Mode feasible_mode(Real next, const Interval<Real>& within, Real f) {
    if (next == within.high) return HIGH;
    if (next == within.low) return LOW;
    if (next == 0 && f > 0) return STUCK;
    return next >= 0 ? FORWARD : BACKWARD;
}

// The excess of a held joint's reaction over its friction.
template <typename Real>
__device__ __forceinline__ Real friction_excess(Mode mode, Real r, const Interval<Real>& within, Real f) {
    return mode == STUCK ? fabs(r) - f : fabs(r - ((mode == LOW) == (within.low < 0) ? f : -f));
}

// The fraction of the step from `feasible` to `target` that a sliding joint can take, and its velocity and mode there.
template <typename Real> struct BlockingStep {
    Real fraction, bound;
    Mode mode;
};
template <typename Real>
__device__ __forceinline__ BlockingStep<Real> blocking_step(Mode mode, Real feasible, Real target,
                                                            const Interval<Real>& within, Real f) {
    const bool has_friction = f > 0, forward = mode == FORWARD;
    const Real low = has_friction && forward ? Real(0) : within.low,
        high = has_friction && !forward ? Real(0) : within.high;
    const Real slack = VELOCITY_SLACK<Real> * (1 + fabs(feasible));
    if (target > high + slack)
        return {(high > feasible ? high - feasible : Real(0)) / (target - feasible), high,
                high == within.high ? HIGH : STUCK};
    if (target < low - slack)
        return {(low < feasible ? low - feasible : Real(0)) / (target - feasible), low,
                low == within.low ? LOW : STUCK};
    return {1, target, mode};
}
