// Joint constraints of a serial chain whose links are spread over the lanes of a group: the rounds of
// joint_constraints.cuh, where each is DCA-ABA's passes 2 to 6 once more, in parallel. A lane keeps its joint's mode.
#pragma once

#include "chains/dca.cuh"
#include "constraints/active_set.cuh"

// The greatest of all lanes' values and its link, the same for all threads of the group; `epoch` tells one call's place
// from the next one's.
template <typename Real>
__device__ __forceinline__ Best<Real> best_of_chain(const Chunk<Real>& chunk, Real value, int link, int& epoch) {
    epoch ^= 1;
    Best<Real> best = {value == value ? value : Real(-1e30), Real(link)};  // what is no number would part the threads
    const auto better = [](const Best<Real>& a, const Best<Real>& b) {
        return a.value > b.value || (a.value == b.value && a.link <= b.link) ? a : b;
    };
#pragma unroll
    for (int d = 1; d < LANES; d *= 2) best = better(best, from_lane<Real>(best, chunk.lane ^ d));
    if (chunk.lane == 0) chunk.shared.best[epoch][chunk.warp] = best;
    __syncthreads();
    for (int k = 0; k < CHUNKS; ++k) best = better(best, chunk.shared.best[epoch][k]);
    if (BLOCKS > 1) {
        send<Real>(best, &chunk.sent.best[epoch][chunk.rank], 0, BLOCKS);
        everyone(chunk.meeting);
        for (int k = 0; k < BLOCKS; ++k) best = better(best, chunk.sent.best[epoch][k]);
    }
    return best;
}

// One joint as its lane knows it: where it may go, its friction, its other force, its velocity before the step.
template <typename Real> struct OneJoint {
    Interval<Real> within;
    Real friction, drive, v;
};

// v⁺ of the lane's joint under its constraints, from q̈ or reaction = solve(effort, locked, target).
template <typename Real, class Solve>
__device__ __forceinline__ Real constrained_velocity(const Chunk<Real>& chunk, const OneJoint<Real>& joint, Real dt,
                                                     int links, int& epoch, Mode& mode, const Solve& solve) {
    const bool here = chunk.here();
    const int own = chunk.own();
    const Real f = joint.friction, rate = 1 / dt;
    mode = here ? initial_mode(joint.v, joint.within, f) : STUCK;
    Real feasible = 0;
#pragma unroll 1
    for (int number = 0;; ++number) {
        const bool locked = is_held(mode);
        const Real held = held_at(mode, joint.within);
        const Real force = joint.drive - (mode == FORWARD ? f : mode == BACKWARD ? -f : Real(0));
        const Real answer = solve(force, locked, (held - joint.v) * rate);
        const Real next = locked ? held : joint.v + dt * answer;
        if (number <= BLOCK_PIVOTS) {
            Mode then = mode;
            if (here) then = locked ? released(mode, answer, joint.within, f, joint.drive)
                                    : stopped(mode, next, joint.v, joint.within, f);
            const bool changed = best_of_chain(chunk, Real(then != mode), own, epoch).value > 0;
            mode = then;
            if (!changed) return next;
            if (number == BLOCK_PIVOTS) {  // begin a descent: the last velocity tried, brought into its bounds
                feasible = clip(next, joint.within.low, joint.within.high);
                if (here) mode = feasible_mode(feasible, joint.within, f);
            }
            continue;
        }
        // A step towards the least of the constraints' energy.
        const bool last = number >= BLOCK_PIVOTS + DESCENT * links;
        const Way<Real> ahead = here && !locked ? way(mode, feasible, next, joint.within, f) : Way<Real>{1, next, mode};
        const Best<Real> blocking = best_of_chain(chunk, -ahead.share, own, epoch);
        const Real share = -blocking.value;
        feasible += share * (next - feasible);
        if (share < 1) {
            if (here && own == int(blocking.link)) feasible = ahead.edge, mode = ahead.mode;
        } else {
            const Mode then = here && locked ? released(mode, answer, joint.within, f, joint.drive) : mode;
            const bool asks = then != mode && joint.within.low < joint.within.high;
            const Real most = asks ? pull(mode, answer, joint.within, f) : Real(-1);
            const Best<Real> released_one = best_of_chain(chunk, most, own, epoch);
            if (released_one.value < 0) return feasible;
            if (here && own == int(released_one.link)) mode = then;
        }
        if (last) return feasible;
    }
}
