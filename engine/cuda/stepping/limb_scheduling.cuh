// Simulation steps of robots with EVEN_LIMBS, any number in one launch: warps take robots by the kind of their next
// step (robot_scheduling.cuh), and a turn is some steps of one kind. Between turns a robot's state and warm start are
// in global memory.
#pragma once

#include "stepping/contact_dynamics.cuh"
#include "stepping/robot_step.cuh"
#include "stepping/robot_scheduling.cuh"

// The most steps of a turn by kind. It ends early when a robot ends or needs a step of another kind.
__device__ __forceinline__ constexpr int steps_of(StepKind kind) {
    return kind == ONE_CONTACT ? 32 : kind == TWO_CONTACTS ? 4 : 1;
}
// The first of the kinds without pace keeping.
constexpr int PACED = MANY_CONTACTS;

// The arguments common to all robots; see advance_robot in robot_step.cuh.
template <typename Real> struct Course {
    int batch, steps, first, last;
    long long done;
    Real dt, *q, *v;
    const Real *tau, *target, *controls;
    int control_rows;
    Real *record_q, *record_v;
    int every;
    const Real *constants, *joint_table;
    unsigned long long* diverged;
    volatile int* alarm;
    long long* phases;
    const Real* wrenches;
    long long* frozen;
};

// A robot in a seat.
template <typename Real, int PITCH> struct Seated {
    const Course<Real>& course;
    Slots<Real, PITCH> at;
    size_t robot;
    Group group;

    template <int WIDTH> __device__ __forceinline__ void load(const Real* from, int slot) const {
        for (int k = group.rank; k < WIDTH; k += LANES) at(slot + k) = from[robot * WIDTH + k];
    }
    template <int WIDTH> __device__ __forceinline__ void store(Real* to, int slot) const {
        copy<WIDTH>(to + robot * WIDTH, slot);
    }
    template <int WIDTH> __device__ __forceinline__ void copy(Real* to, int slot) const {
#pragma unroll 1
        for (int k = group.rank; k < WIDTH; k += LANES) to[k] = at(slot + k);
    }
    __device__ __forceinline__ void load_state() const {
        load<NQ>(course.q, Q), load<NV>(course.v, V), load<NV>(course.tau, TAU);
        if constexpr (HAS_GAINS) load<NV>(course.target, TARGET);
        group.sync();
    }
    __device__ __forceinline__ void store_state() const {
        group.sync();
        store<NQ>(course.q, Q), store<NV>(course.v, V);
    }
    __device__ __forceinline__ void take_controls(int step) const {
        if (!course.controls) return;
        const Real* row = course.controls + ((course.control_rows > 1 ? robot : 0) * course.steps + step) * NV;
        for (int k = group.rank; k < NV; k += LANES) at(TAU + k) = row[k];
        group.sync();
    }
    // Record the state after `step` steps, if that is a sample.
    __device__ __forceinline__ void record(int step) const {
        if (step % course.every != 0) return;
        group.sync();
        const size_t sample = robot * (course.steps / course.every + 1) + step / course.every;
        if (course.record_q) copy<NQ>(course.record_q + sample * NQ, Q);
        if (course.record_v) copy<NV>(course.record_v + sample * NV, V);
    }
    // End the robot, whose velocity diverged in that step. Where robots freeze, it keeps the state before the step.
    __device__ __forceinline__ void end_at(int step) const {
        if constexpr (FREEZES) {
            if (group.rank == 0) course.frozen[robot] = course.done + step;
            for (; step <= course.last; ++step) record(step);
        } else {
            atomicMin(course.diverged, (unsigned long long)(course.done + step));
            *course.alarm = 1;
        }
    }
};

// A step of kind GENERAL. Returns whether the velocity is finite.
template <class Touch, class Joints, class Robot, class Feasible>
__device__ __forceinline__ bool whole_step(Touch& touch, const Joints& joints, const Robot& robot, const Watch& watch,
                                           const Feasible& feasible, bool reports) {
    using Real = typename Touch::Number;
    const Group group = touch.group;
    Group met = group;
    met.meet();
    begin<Real>(joints, met);
    watch.lap(phase::KINEMATICS);
    const Touched found = touching_step(touch, joints, robot, watch, reports);
    bool bounded = found.bounded;
    if (!found.any) {
#pragma unroll 1
        for (int number = 0; !group.lead([&] { return round<Real>(joints, robot, watch, number, feasible); });)
            ++number;
        if constexpr (FREEZES) bounded = is_next_bounded(joints);
        if (!FREEZES || bounded) group.lead([&] { return euler_step(joints), true; });
    }
    return FREEZES ? bounded : is_bounded<Real>(joints.at, group);
}

// A turn of steps of one kind, with at most N contacts per lane, or N = 0 for GENERAL; N sets the code and registers.
// Returns the kind of the next step, KINDS for a robot that has ended. `step`: completed steps; `refused`: whether the
// next step was already attempted. Contacts are detected by two texts that may round differently: a step that both
// refuse is MANY_CONTACTS, which takes all. For N > 0 the lanes of robots that are not `stepping` take part, too.
template <int N, typename Real, int PITCH, class Touch, class Joints, class Robot, class Pace>
__device__ __noinline__ int steps_of_turn(const Seated<Real, PITCH> seated, Touch& touch, const Joints joints,
                                          const Robot robot, StepKind kind, int& step, bool& refused, bool stepping,
                                          unsigned lanes, const Pace& pace) {
#ifdef __CUDA_ARCH__
    __builtin_assume(__isShared(seated.at.first)), __builtin_assume(__isShared(joints.at.first));
#endif
    const Course<Real>& course = seated.course;
    int next = kind;
    Real local[HAS_CONSTRAINTS && !LONG ? NV : 1];
    const Feasible<Real, PITCH> feasible = {LONG ? &seated.at(FEASIBLE) : local};
#pragma unroll 1
    for (int k = 0; k < steps_of(kind); ++k) {
        pace();
        const bool reports = step + 1 == course.last;
        const Watch watch = {course.phases, stepping && seated.robot == 0 && seated.group.rank == 0 &&
                                                step == course.steps - 1};
        if (stepping) seated.take_controls(step);
        watch.start();
        StepAttempt attempt = {true, true, ONE_CONTACT};
        if constexpr (N == 0) attempt.finite = whole_step(touch, joints, robot, watch, feasible, reports);
        else attempt = step_by_limbs<N>(touch, joints, robot, kind, refused, reports, stepping);
        next = refused && !attempt.taken && attempt.next < TWO_CONTACTS_CONTINUED ? MANY_CONTACTS : attempt.next;
        refused = !attempt.taken;
        if (attempt.taken) {
            if (N > 0) watch.lap(phase::CONTACT);
            watch.stop();
            ++step;
            if (!attempt.finite) seated.end_at(step), step = course.last;
            else seated.record(step);
        }
        if (step == course.last) next = KINDS;
        if (__ballot_sync(N > 0 ? ALL_OF_TURN : lanes, stepping && next != kind) != 0) break;
    }
    return next;
}

// `steps_of_turn` for a robot in its seat, with constants of its own where robots differ.
template <typename Real, int PITCH, class Touch, class Pace>
__device__ __forceinline__ int a_turn(int kind, const Seated<Real, PITCH>& seated, Touch& touch, int& step,
                                      bool& refused, bool stepping, unsigned lanes, const Pace& pace) {
    const Course<Real>& course = seated.course;
    const JointTable<Real> table =
        OWN_JOINT_TABLE ? JointTable<Real>{course.joint_table + seated.robot, course.batch}
                        : JointTable<Real>{JOINT_TABLE_FITS ? reinterpret_cast<const Real*>(joint_table_memory)
                                                            : course.joint_table, 0};
    const auto robot = [&] {
        if constexpr (OWN_CONSTANTS) return Constants<Real, true>{course.constants + seated.robot, course.batch};
        else return robot_of_all<Real>(course.constants);
    }();
    const auto external = [&] {
        if constexpr (HAS_WRENCHES) return External<Real, true>{{course.wrenches + seated.robot, course.batch}};
        else return External<Real, false>{};
    }();
    const Joints<Real, PITCH, Role::STEP> joints = {external, seated.at, table, course.dt, 1 / course.dt};
    if (kind == ONE_CONTACT)
        return steps_of_turn<1>(seated, touch, joints, robot, ONE_CONTACT, step, refused, stepping, lanes, pace);
    if (kind != GENERAL)
        return steps_of_turn<LIMB_POINTS>(seated, touch, joints, robot, StepKind(kind), step, refused, stepping, lanes,
                                          pace);
    return stepping ? steps_of_turn<0>(seated, touch, joints, robot, GENERAL, step, refused, true, lanes, pace) : KINDS;
}

// Steps `course.first` to `course.last` of the block's robots; `touch_of(robot, begins)` makes the `RobotContacts` of
// one.
template <typename Real, int ROBOTS, class TouchOf>
__device__ __forceinline__ void advance_by_turns(const Course<Real>& course, const TouchOf& touch_of) {
    extern __shared__ __align__(16) unsigned char shared[];
    Real* const slots = reinterpret_cast<Real*>(shared);
    auto& turns = *reinterpret_cast<Turns<KINDS, ROBOTS * LANES / TURN_LANES>*>(slots + ALL_SLOTS * ROBOTS);
    static_assert(sizeof turns <= TURNS_BYTES, "what the launch makes room for");
    const int share = (course.batch + gridDim.x - 1) / gridDim.x, begin_of_block = blockIdx.x * share;
    turns.begin(max(0, min(share, course.batch - begin_of_block)), course.first);
    const Group group;
    const Slots<Real, ROBOTS> at = {slots + threadIdx.x / LANES};
    int beat = 0;
    Turn turn = {KINDS, -1};
    int next = KINDS;
#pragma unroll 1
    for (;;) {
        turn = turns.next(turn, next);
        if (turn.kind == KINDS) return;
        const int own = turn.robot;
        const size_t robot = begin_of_block + max(own, 0);
        int step = turns.done[max(own, 0)];
        const bool seated_here = own >= 0, rests = step >= course.last || (FREEZES && course.frozen[robot]);
        const bool stepping = seated_here && !rests;
        const unsigned lanes = __ballot_sync(ALL_OF_TURN, stepping);
        const auto pace = [&] { if (turn.kind < PACED) turns.keep_pace(turn.kind, beat); };
        const Seated<Real, ROBOTS> seated = {course, at, robot, group};
        seated.load_state();
        if (seated_here && step == 0) seated.record(0);
        auto touch = touch_of(robot, step == 0);
        next = KINDS;
        if (seated_here && rests)
            for (int k = step + 1; k <= course.last; ++k) seated.record(k);
        if (lanes != 0) {
            bool refused = turns.refused[max(own, 0)];
            const int found = a_turn(turn.kind, seated, touch, step, refused, stepping, lanes, pace);
            group.sync();
            if (stepping) {
                next = found;
                if (group.rank == 0) turns.refused[own] = refused;
                seated.store_state();
            }
        }
        touch.end(seated_here);
        if (seated_here && group.rank == 0) turns.done[own] = step;
        if (turn.kind < PACED) turns.leave_pace(turn.kind, beat);
    }
}
