// Rounds that find v⁺ under joint constraints where a group of threads shares a robot's joints: those of
// joint_constraints.cuh. In each round the group solves for all accelerations.
#pragma once

#include "constraints/active_set.cuh"

// One velocity of a joint as a row of the constraints.
template <typename Real> struct Row {
    int number;  // index among the robot's velocities
    Interval<Real> within;  // bounds of v⁺
    Real friction;
    Real drive;  // its force without friction
    Real v;  // its velocity before the step
    Mode mode;
    Real answer;  // q̈ in this mode, or the reaction if held
    Real feasible;  // v⁺ of the last round, or the velocity of a descent

    // v⁺ in this mode.
    __device__ __forceinline__ Real next(Real dt) const {
        return is_held(mode) ? held_velocity(mode, within) : v + dt * answer;
    }
    // Its force in this mode; and the acceleration that holds it.
    __device__ __forceinline__ Real force() const {
        return drive - (mode == FORWARD ? friction : mode == BACKWARD ? -friction : Real(0));
    }
    __device__ __forceinline__ Real target(Real rate) const { return (held_velocity(mode, within) - v) * rate; }
    // Its next mode.
    __device__ __forceinline__ Mode wanted(Real dt) const {
        return is_held(mode) ? next_mode_of_held(mode, answer, within, friction, drive)
                             : next_mode_of_sliding(mode, next(dt), v, within, friction);
    }
};

// The maximum of some values and the index of its row; the least index on ties.
template <typename Real> struct Maximum {
    Real value;
    int number;

    __device__ __forceinline__ void consider(Real other, int which) {
        if (other > value || (other == value && which < number)) value = other, number = which;
    }
};

// The initial modes. `rows.each(f)` calls f(row) for each of the thread's rows and stores the changes.
template <typename Real, class Rows> __device__ __forceinline__ void initial_active_set(const Rows& rows) {
    rows.each([&](Row<Real>& row) { row.mode = initial_mode(row.v, row.within, row.friction); });
}

// One step of the descent of the constraints' energy. Returns whether more steps are needed.
template <typename Real, class Rows> __device__ __forceinline__ bool take_step(const Rows& rows, Real dt) {
    const auto ahead = [&](const Row<Real>& row) {
        const Real next = row.next(dt);
        return is_held(row.mode) ? BlockingStep<Real>{1, next, row.mode}
                                 : blocking_step(row.mode, row.feasible, next, row.within, row.friction);
    };
    Maximum<Real> nearest = {-1, -1};
    rows.each([&](Row<Real>& row) { nearest.consider(-ahead(row).fraction, row.number); });
    nearest = rows.max(nearest);
    const Real fraction = -nearest.value;
    Maximum<Real> strongest = {-1, -1};
    rows.each([&](Row<Real>& row) {
        if (fraction < 1 && row.number == nearest.number) {
            const BlockingStep<Real> found = ahead(row);
            row.feasible = found.bound, row.mode = found.mode;
        } else {
            row.feasible += fraction * (row.next(dt) - row.feasible);
        }
        if (fraction < 1 || !is_held(row.mode) || !(row.within.low < row.within.high)) return;
        if (row.wanted(dt) != row.mode)
            strongest.consider(friction_excess(row.mode, row.answer, row.within, row.friction), row.number);
    });
    if (fraction < 1) return true;
    strongest = rows.max(strongest);
    if (strongest.number < 0) return false;
    rows.each([&](Row<Real>& row) {
        if (row.number == strongest.number) row.mode = row.wanted(dt);
    });
    return true;
}

// All rounds from the initial active set. `solve(number)` sets `answer` of all rows for their modes; the result v⁺ is
// in `feasible`. `rows.max(x)` is a reduction of x over all threads. `count`: rows of all threads; with none, one
// round is enough.
template <typename Real, class Rows, class Solve>
__device__ __forceinline__ void solve_constrained(const Rows& rows, Real dt, int count, const Solve& solve) {
#pragma unroll 1
    for (int number = 0;; ++number) {
        solve(number);
        if (count == 0) return;
        if (number > BLOCK_PIVOTS) {
            const bool going = take_step(rows, dt);
            if (!going || number >= BLOCK_PIVOTS + ACTIVE_SET_STEPS * count) return;
            continue;
        }
        Maximum<Real> changed = {0, 0};
        rows.each([&](Row<Real>& row) {
            const Mode then = row.wanted(dt);
            if (then != row.mode) changed.value = 1;
            row.feasible = row.next(dt), row.mode = then;
        });
        if (!(rows.max(changed).value > 0)) return;
        if (number < BLOCK_PIVOTS) continue;
        rows.each([&](Row<Real>& row) {  // begin the descent from the last velocity, clipped to its bounds
            row.feasible = clip(row.feasible, row.within.low, row.within.high);
            row.mode = feasible_mode(row.feasible, row.within, row.friction);
        });
    }
}
