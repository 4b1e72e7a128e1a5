// Simulation steps, any number in one launch, a thread a robot, as in engine/cpu/stepping/integrators.py. A robot's
// state stays in its thread's slots during a launch. robot_step.cu has the kernel without contacts, contact_step.cu the
// one with contacts.
#pragma once

#include "constraints/joint_space.cuh"
#include "rigid_body/group.cuh"
#include "stepping/phase_timer.cuh"
#include "stepping/joint_motion.cuh"
#include "stepping/coalesced_rows.cuh"

extern "C" {
__constant__ __align__(16) unsigned char joint_table_memory[JOINT_TABLE_BYTES];
}

// A robot's constants without gravity.
template <class Robot> struct Weightless : Robot {
    __device__ __forceinline__ auto gravity() const { return decltype(Robot::gravity()){}; }
};

constexpr bool MODES_IN_FLIGHT = LANES == 32;  // joints need modes only in steps without contacts

// Poses, and the initial modes.
template <typename Real, class Joints> __device__ __forceinline__ void begin(const Joints& joints, const Group& group) {
    kinematics<Real>(joints.at, joints, group.rank, LANES);
    if constexpr (Joints::CONSTRAINED && !MODES_IN_FLIGHT) initial_active_set(joints, group.rank, LANES);
    group.sync();
}

// Round `number` of a step: v⁺ (of a stage q̈) into `joints.v_next`. Returns whether it is the last. BLOCK_PIVOTS
// rounds of block pivoting are followed by a descent, whose velocity is `feasible`.
template <typename Real, class Joints, class Robot, class Feasible>
__device__ __forceinline__ bool round(const Joints& joints, const Robot& robot, const Watch& watch, int number,
                                      const Feasible& feasible) {
    const bool descending = number > BLOCK_PIVOTS;
    bool changed = false;
    const auto settle = [&](int i, int k, Real qdd, Real reaction) {
        if (joints.settle(i, k, qdd, reaction, descending)) changed = true;
    };
    if constexpr (JOINT_SPACE) {
        if (number == 0) {
            bias_forces<Real>(joints, robot);
            watch.lap(phase::BIAS);
            assemble<Real>(joints.at, MATRIX, robot);
            watch.lap(phase::MASS_MATRIX);
        }
        joint_space_accelerations<Real>(joints, settle);
        watch.lap(phase::SOLVE);
    } else {
        bias<Real>(joints.at, joints, robot);
        watch.lap(phase::BIAS);
        inertia_recursion<Real>(joints.at, joints, robot);
        watch.lap(phase::INERTIA_RECURSION);
        accelerations<Real>(joints.at, joints, robot, settle);
        watch.lap(phase::ACCELERATION);
    }
    if constexpr (!Joints::CONSTRAINED) return true;
    if (!descending) {
        if (changed && number == BLOCK_PIVOTS) set_feasible<Real>(joints, feasible);
        return !changed;
    }
    if (take_step<Real>(joints, feasible) && number < BLOCK_PIVOTS + ACTIVE_SET_STEPS * NV) return false;
    accept(joints, feasible);
    return true;
}

// All rounds.
template <typename Real, class Joints, class Robot, class Feasible>
__device__ __forceinline__ void solve(const Joints& joints, const Robot& robot, const Watch& watch,
                                      const Feasible& feasible) {
    watch.lap(phase::INTEGRATION);
    begin<Real>(joints, Group());
    watch.lap(phase::KINEMATICS);
#pragma unroll 1
    for (int number = 0; !round<Real>(joints, robot, watch, number, feasible); ++number) {}
}

// The numbers of a joint, from slot `first` on.
template <typename Real, int PITCH> struct Numbers {
    Slots<Real, PITCH> at;
    int first;

    __device__ __forceinline__ Real& operator()(int j) const { return at(first + j); }
};
template <typename Real, int PITCH>
__device__ __forceinline__ Numbers<Real, PITCH> numbers(const Slots<Real, PITCH>& at, int first) {
    return {at, first};
}

// Whether every velocity is finite and below the divergence threshold: v⁺ before it is taken, and v.
template <typename Real, int PITCH>
__device__ __forceinline__ bool is_next_bounded(const Joints<Real, PITCH, Role::STEP>& joints) {
    bool bounded = true;
    for (int i = 0; i < BODIES; ++i) {
        if (follows(i)) continue;
        for (int k = v_start(i); k < v_start(i) + dofs(i); ++k) bounded &= fabs(joints.v_next(i, k)) < Real(DIVERGED);
    }
    return bounded;
}
template <typename Real, class Memory> __device__ __forceinline__ bool is_bounded(const Memory& at) {
    bool bounded = true;
    for (int k = 0; k < NV; ++k) bounded &= fabs(at(V + k)) < Real(DIVERGED);
    return bounded;
}
// `is_bounded` by the lanes of a robot with a warp.
template <typename Real, class Memory>
__device__ __forceinline__ bool is_bounded(const Memory& at, const Group& group) {
    if constexpr (LANES < 32) return is_bounded<Real>(at);
    bool bounded = true;
    group.sync();
#pragma unroll 1
    for (int k = group.rank; k < NV; k += LANES) bounded &= fabs(at(V + k)) < Real(DIVERGED);
    return !group.any(!bounded);
}

// Semi-implicit Euler with known v⁺: q⁺ = q ⊕ dt v⁺.
template <typename Real, int PITCH>
__device__ __forceinline__ void euler_step(const Joints<Real, PITCH, Role::STEP>& joints) {
    EACH_BODY
    for (int i = 0; i < BODIES; ++i) {
        if (follows(i)) continue;
        const int k = v_start(i);
        const auto v = numbers(joints.at, V + k);
        Vector<Real> more = {};
        if (kind(i) == FREE) more = rotation_term<Real>(v, joints.dt);
#pragma unroll
        for (int j = 0; j < dofs(i); ++j) v(j) = joints.v_next(i, k + j);
        if (kind(i) == FREE) v(3) += more.x, v(4) += more.y, v(5) += more.z;
        advance_joint<Real, HAS_BALLS>(kind(i), numbers(joints.at, Q + q_start(i)), v, v, joints.dt);
    }
}

// A stage's contribution to the sums, and the next stage at `ahead` after the start of the step.
template <typename Real, class Stage>
__device__ __forceinline__ void add_stage(const Stage& stage, Real weight, Real ahead) {
    const auto& at = stage.at;
    const auto move = [&](int q, Real rate) {
        at(Q_SUM + q) += weight * rate;
        at(Q_STAGE + q) = at(Q + q) + ahead * rate;
    };
#pragma unroll 1
    for (int i = 0; i < BODIES; ++i) {
        if (follows(i)) continue;
        const int q = q_start(i), k = v_start(i);
        joint_rates<Real, HAS_BALLS>(kind(i), numbers(at, Q_STAGE + q), numbers(at, V_STAGE + k),
                                     [&](int j, Real rate) { move(q + j, rate); });
        for (int j = 0; j < dofs(i); ++j) {
            const Real rate = stage.v_next(i, k + j);
            at(V_SUM + k + j) += weight * rate;
            at(V_STAGE + k + j) = at(V + k + j) + ahead * rate;
        }
    }
}

// The `RobotContacts` of robots without contacts; that of contact_dynamics.cuh has them.
struct TouchesNothing {
    static constexpr bool ANY = false;
};

// A step under contacts, if there are any: whether there were, and whether the velocity is finite. `reports`: write the
// contact report.
struct Touched {
    bool any, bounded;
};
template <class Touch, class Joints, class Robot>
__device__ __forceinline__ Touched touching_step(Touch& touch, const Joints& joints, const Robot& robot,
                                                 const Watch& watch, bool reports) {
    const int count = touch.find(joints, robot);
    watch.lap(phase::COLLISION);
    if (count == 0) {
        touch.clear();
        return {false, true};
    }
    const bool bounded = touch.step(joints, robot, count, reports);
    watch.lap(phase::CONTACT);
    return {true, bounded};
}

// The classical Runge-Kutta step; quaternions by projection (Hairer, Lubich, Wanner 2006, IV.4). Constraints then
// correct the velocity at the end of the step, and a joint that was held or would pass its limit moves with it. With
// FREEZES it returns whether the velocity is finite, and leaves the state unchanged if not.
template <typename Real, int PITCH, class Robot>
__device__ __forceinline__ bool rk4_step(const Joints<Real, PITCH, Role::STEP>& step, const Robot& robot,
                                         const Watch& watch, const Feasible<Real, PITCH>& feasible) {
    const auto& at = step.at;
    const Real dt = step.dt;
    const Joints<Real, PITCH, Role::STAGE> stage = {step, at, step.table, dt, step.rate};
    for (int k = 0; k < NQ; ++k) at(Q_STAGE + k) = at(Q + k), at(Q_SUM + k) = 0;
    for (int k = 0; k < NV; ++k) at(V_STAGE + k) = at(V + k), at(V_SUM + k) = 0;
#pragma unroll 1
    for (int number = 0; number < 4; ++number) {
        solve<Real>(stage, robot, watch, feasible);
        add_stage<Real>(stage, number == 0 || number == 3 ? 1 : 2, number < 2 ? dt / 2 : dt);
    }
    for (int k = 0; k < NQ; ++k) at(Q_STAGE + k) = at(Q + k) + dt / 6 * at(Q_SUM + k);
    for (int k = 0; k < NV; ++k) {
        const Real before = at(V + k);
        at(V + k) = before + dt / 6 * at(V_SUM + k);
        if constexpr (FREEZES) at(V_SUM + k) = before;
    }
    for (int i = 0; i < BODIES; ++i) normalise_joint<Real, HAS_BALLS>(kind(i), numbers(at, Q_STAGE + q_start(i)));
    if constexpr (HAS_CONSTRAINTS) {
        const Joints<Real, PITCH, Role::CORRECTION> correction = {step, at, step.table, dt, step.rate};
        solve<Real>(correction, Weightless<Robot>{robot}, watch, feasible);
        for (int i = 0; i < BODIES; ++i) {
            if (follows(i)) continue;
            const int k = v_start(i), q = q_start(i);
            for (int j = 0; j < dofs(i); ++j) at(V + k + j) = correction.v_next(i, k + j);
            if (kind(i) == FREE) continue;
            if constexpr (HAS_BALLS) {
                if (is_ball(i)) {
                    const bool held = correction.is_held(k) || correction.is_held(k + 1) || correction.is_held(k + 2);
                    if (held)
                        store(at, Q_STAGE + q, quaternion_step(quaternion<Real>(at, Q + q), at.vector(V + k), dt));
                    continue;
                }
            }
            const Real there = at(Q_STAGE + q);
            const bool outside = HAS_LIMITS &&
                !(step.table(joint_row::LOWER, k) <= there && there <= step.table(joint_row::UPPER, k));
            if (correction.is_held(k) || outside) at(Q_STAGE + q) = at(Q + q) + dt * at(V + k);
        }
    }
    if constexpr (FREEZES) {
        if (!is_bounded<Real>(at)) {
            for (int k = 0; k < NV; ++k) at(V + k) = at(V_SUM + k);
            return false;
        }
    }
    for (int k = 0; k < NQ; ++k) at(Q + k) = at(Q_STAGE + k);
    return true;
}

// Steps after `first` up to `last` of a run of `steps` steps of q (batch, NQ) and v (batch, NV), in place, after `done`
// earlier ones. Controls are tau (batch, NV), or `controls` (control_rows, steps, NV) if given. The initial state and
// every `every`-th go to record_q (batch, …, NQ) and record_v if given. `diverged` keeps the smallest number of steps
// after which a velocity diverged; `alarm`, visible to the host, is then 1. With FREEZES such a robot keeps the state
// before that step, and `frozen` (batch,) has the step. `constants` and `joint_table` are common to all robots, or have
// the robot index innermost. With HAS_WRENCHES, `wrenches` (bodies, 6, batch) act on the bodies in their own frames.
//
// `touch` has the contacts of the robot of LANES threads; TouchesNothing has none. If slots are in shared memory, all
// threads of a block load and store the states of its robots together, those without a robot too.
template <typename Real, int ROBOTS, bool SHARED, class Touch>
__device__ __forceinline__ void
advance_robot(int batch, int steps, int first, int last, long long done, Real dt, Real* q, Real* v,
              const Real* __restrict__ tau, const Real* __restrict__ target, const Real* __restrict__ controls,
              int control_rows, Real* record_q, Real* record_v, int every, const Real* __restrict__ constants,
              const Real* __restrict__ joint_table, Real* workspace, unsigned long long* diverged, volatile int* alarm,
              long long* phases, const Real* __restrict__ wrenches, long long* frozen,
              Touch touch) {
    extern __shared__ __align__(16) unsigned char shared[];
    constexpr bool TOGETHER = SHARED && !Touch::ANY;
    constexpr bool DIVERGENT = LANES == 32;  // constant memory is fast for uniform reads
    constexpr int PITCH = TOGETHER ? Rows<Real, ROBOTS>::PITCH : pitch_of(ROBOTS);
    const Group group;
    const int own = threadIdx.x / LANES;  // of the block's robots
    const size_t begin_of_block = size_t(blockIdx.x) * ROBOTS, robot = begin_of_block + own;
    if (!TOGETHER && robot >= batch) return;
    const bool present = !TOGETHER || robot < batch;
    Real* const block = SHARED ? reinterpret_cast<Real*>(shared) : workspace + size_t(blockIdx.x) * ALL_SLOTS * ROBOTS;
    const Rows<Real, ROBOTS> rows = {block, begin_of_block, int(min(size_t(ROBOTS), batch - begin_of_block))};
    const Slots<Real, PITCH> at = {block + (TOGETHER ? own : begin_of_slots(own, ALL_SLOTS))};
    const JointTable<Real> table =
        OWN_JOINT_TABLE
            ? JointTable<Real>{joint_table + robot, batch}
            : JointTable<Real>{JOINT_TABLE_FITS && !DIVERGENT ? reinterpret_cast<const Real*>(joint_table_memory)
                                                              : joint_table, 0};
    const auto own_robot = [&] {
        if constexpr (OWN_CONSTANTS) return Constants<Real, true>{constants + robot, batch};
        else if constexpr (DIVERGENT) return Constants<Real, false>{constants, 0};
        else return robot_of_all<Real>(constants);
    }();
    const auto external = [&] {
        if constexpr (HAS_WRENCHES) return External<Real, true>{{wrenches + robot, batch}};
        else return External<Real, false>{};
    }();
    const Joints<Real, PITCH, Role::STEP> joints = {external, at, table, dt, 1 / dt};
    if constexpr (TOGETHER) {
        rows.template load<NQ>(q, Q), rows.template load<NV>(v, V), rows.template load<NV>(tau, TAU);
        if constexpr (HAS_GAINS) rows.template load<NV>(target, TARGET);
        __syncthreads();
    } else {
        for (int k = group.rank; k < NQ; k += LANES) at(Q + k) = q[robot * NQ + k];
        for (int k = group.rank; k < NV; k += LANES) at(V + k) = v[robot * NV + k], at(TAU + k) = tau[robot * NV + k];
        if constexpr (HAS_GAINS) {
            for (int k = group.rank; k < NV; k += LANES) at(TARGET + k) = target[robot * NV + k];
        }
    }
    group.sync();
    Real local[HAS_CONSTRAINTS && !LONG ? NV : 1];
    const Feasible<Real, PITCH> feasible = {LONG ? &at(FEASIBLE) : local};
    int until = every - first % every, number = 0;
    size_t sample = robot * (steps / every + 1);
    const auto record = [&] {
        group.sync();
        if (record_q) for (int k = group.rank; k < NQ; k += LANES) record_q[sample * NQ + k] = at(Q + k);
        if (record_v) for (int k = group.rank; k < NV; k += LANES) record_v[sample * NV + k] = at(V + k);
        ++sample;
    };
    const size_t end = sample + last / every + 1;
    if (first == 0 && present) record();
    else sample += first / every + 1;
    const bool rests = !present || (FREEZES && frozen[robot]);
    constexpr bool MEETS = Touch::ANY && LANES > 1;
    int meetings = last - first;
    // An iteration is a round, not a step: a robot with mode changes does not delay others of its warp. Where robots
    // have lanes, all of a block begin each step together.
#pragma unroll 1
    for (int step = rests ? last : first; step < last;) {
        const Watch watch = {phases, robot == 0 && group.rank == 0 && step == steps - 1};
        if (number == 0) {
            if constexpr (MEETS) --meetings, meet_block();
            if (controls) {
                const Real* row = controls + ((control_rows > 1 ? robot : 0) * steps + step) * NV;
                for (int k = group.rank; k < NV; k += LANES) at(TAU + k) = row[k];
            }
            watch.start();
            if constexpr (!HAS_STAGES) {
                Group met = group;
                met.meet();
                begin<Real>(joints, met);
                watch.lap(phase::KINEMATICS);
            }
        }
        bool settled = true, bounded = true, touched = false;
        const bool reports = step + 1 == last;
        if constexpr (HAS_STAGES) {
            bounded = rk4_step(joints, own_robot, watch, feasible);
        } else {
            if constexpr (Touch::ANY) {
                if (number == 0) {
                    const Touched found = touching_step(touch, joints, own_robot, watch, reports);
                    touched = found.any, bounded = found.bounded;
                }
            }
            if constexpr (MODES_IN_FLIGHT && HAS_CONSTRAINTS) {
                if (number == 0 && !touched) initial_active_set(joints, group.rank, LANES);
            }
            if (!touched)
                settled = group.lead([&] { return round<Real>(joints, own_robot, watch, number, feasible); });
        }
        number = settled ? 0 : number + 1;
        if (settled) {
            if constexpr (!HAS_STAGES) {
                if (!touched) {
                    if constexpr (FREEZES) bounded = is_next_bounded(joints);
                    if (!FREEZES || bounded) group.lead([&] { return euler_step(joints), true; });
                }
            }
            watch.stop();
            ++step;
            if constexpr (!FREEZES) bounded = is_bounded<Real>(at, group);
            if (!bounded) {
                if constexpr (FREEZES) {
                    frozen[robot] = done + step;
                } else {
                    atomicMin(diverged, (unsigned long long)(done + step));
                    *alarm = 1;
                }
                step = last;
            } else if (--until == 0) {
                until = every;
                record();
            }
        }
    }
    if constexpr (MEETS) {
        for (; meetings > 0; --meetings) meet_block();
    }
    if constexpr (FREEZES) {
        while (present && sample < end) record();
    }
    if constexpr (TOGETHER) {
        __syncthreads();
        rows.template store<NQ>(q, Q), rows.template store<NV>(v, V);
    } else {
        group.sync();
        for (int k = group.rank; k < NQ; k += LANES) q[robot * NQ + k] = at(Q + k);
        for (int k = group.rank; k < NV; k += LANES) v[robot * NV + k] = at(V + k);
    }
    if constexpr (Touch::ANY) touch.end();
}
