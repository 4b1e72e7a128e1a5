// Joint constraints of one robot by one thread: Coulomb friction, position limits and velocity limits, solved exactly
// at velocity level. Equations: engine/cpu/constraints/active_set.py.
//
// Every joint has a mode: held (at a limit, or stuck by friction) or sliding. For given modes the articulated-body
// algorithm of rigid_body/aba.cuh computes q̈ of all joints and the reactions of held ones, joint by joint; `settle`
// computes v⁺ and moves the joint to its next mode (a separate pass for that cost 5 to 9 % of a step). Where block
// pivoting cycles, a primal active set method takes over (`set_feasible`, `take_step`).
#pragma once

#include "constraints/active_set.cuh"
#include "constraints/joint_forces.cuh"
#include "rigid_body/aba.cuh"
#include "rigid_body/thread_per_robot.cuh"

// The preamble of engine/cuda/stepping/stepper.py adds the integrator, the forces on joints, and whether each robot has
// parameters of its own.
constexpr bool HAS_CONSTRAINTS = HAS_LIMITS || HAS_FRICTION;
constexpr bool LONG = NV > 64;  // with many velocities, rarely used numbers are in slots, else in local memory

// The state of a robot, in the slots after those of the tree passes.
constexpr bool HAS_STAGES = INTEGRATOR == integrator::RK4;
constexpr int Q = SLOTS, V = Q + NQ, TAU = V + NV, TARGET = TAU + NV, MODE = TARGET + HAS_GAINS * NV,
              Q_STAGE = MODE + HAS_CONSTRAINTS * NV, V_STAGE = Q_STAGE + HAS_STAGES * NQ,
              Q_SUM = V_STAGE + HAS_STAGES * NV, V_SUM = Q_SUM + HAS_STAGES * NQ, FEASIBLE = V_SUM + HAS_STAGES * NV,
              REACTION = FEASIBLE + (HAS_CONSTRAINTS && LONG) * NV,
              ALL_SLOTS = REACTION + (HAS_CONSTRAINTS && JOINT_SPACE) * NV;
static_assert(ALL_SLOTS == SLOTS + STATE_SLOTS, "what the launch makes room for");

// A mode is stored in a slot as the bits of an integer.
__device__ __forceinline__ void put(float& slot, Mode mode) { slot = __int_as_float(mode); }
__device__ __forceinline__ void put(double& slot, Mode mode) { slot = __hiloint2double(0, mode); }
__device__ __forceinline__ Mode mode_in(float slot) { return Mode(__float_as_int(slot)); }
__device__ __forceinline__ Mode mode_in(double slot) { return Mode(__double2loint(slot)); }

__device__ __forceinline__ int q_of(int k) { return SCALAR ? k : Q_OF_V[k]; }
// Whether a velocity is the rate of a coordinate. The three of a ball joint are not, and have no position limits.
__device__ __forceinline__ bool has_position(int k) { return !HAS_BALLS || q_of(k) >= 0; }

// The rows of `StepSettings.joints`, robot index innermost where each robot has its own.
template <typename Real> struct JointTable {
    const Real* first;
    int stride;

    __device__ __forceinline__ JointRow<Real> row(int k) const {
        if constexpr (OWN_JOINT_TABLE) return {first + size_t(k) * stride, NV * stride};
        return {first + k, NV};
    }
    __device__ __forceinline__ Real operator()(int row, int k) const { return this->row(k)(row); }
};

// The wrenches on a robot's bodies; empty in kernels without wrenches.
template <typename Real, bool ANY> struct External {};
template <typename Real> struct External<Real, true> {
    BodyWrenches<Real> external;
};

// A stage of RK4 ignores constraints; its correction, at the step's end, has only them.
enum class Role { STEP, STAGE, CORRECTION };

// One robot's joints, in the interface of aba.cuh. v⁺ (of a stage: q̈) is in the tree passes' slots of forces, the
// reactions of held joints in `OWN_U`.
template <typename Real, int PITCH_, Role ROLE> struct Joints : External<Real, HAS_WRENCHES> {
    static constexpr int PITCH = PITCH_;
    static constexpr bool CONSTRAINED = HAS_CONSTRAINTS && ROLE != Role::STAGE;
    static constexpr bool HAS_WRENCHES = ::HAS_WRENCHES && ROLE != Role::CORRECTION;

    Slots<Real, PITCH> at;
    JointTable<Real> table;
    Real dt, rate;

    __device__ __forceinline__ Real q(int i, int k) const {
        return own_position(i, at((ROLE == Role::STEP ? Q : Q_STAGE) + k));
    }
    __device__ __forceinline__ Real v(int i, int k) const {
        return ROLE == Role::CORRECTION ? Real(0) : own_rate(i, at((ROLE == Role::STEP ? V : V_STAGE) + k));
    }
    __device__ __forceinline__ Mode mode(int k) const { return mode_in(at(MODE + k)); }
    __device__ __forceinline__ void set_mode(int k, Mode mode) const { put(at(MODE + k), mode); }
    __device__ __forceinline__ Real& v_next(int i, int k) const {
        return at(first_slot(i) + (kind(i) == FREE ? FREE_EFFORT : EFFORT) + k - v_start(i));
    }
    __device__ __forceinline__ Real& reaction(int i, int k) const {
        if constexpr (HAS_BALLS) {
            if (is_ball(i)) return at(first_slot(i) + BALL_OWN_U + k - v_start(i));
        }
        return at(first_slot(i) + OWN_U);
    }

    // The force without friction, and the implicit terms on the diagonal of the matrix.
    __device__ __forceinline__ JointForce<Real> acting(int i, int k) const {
        const bool draws = HAS_GAINS && kind(i) != FREE;
        const Real here = draws && has_position(k) ? q(i, q_of(k)) : Real(0);
        return joint_force(table.row(k), at(TAU + k), draws ? at(TARGET + k) : Real(0), here, v(i, k), dt, draws);
    }
    __device__ __forceinline__ Real smooth(int i, int k) const {
        return ROLE == Role::CORRECTION ? Real(0) : acting(i, k).force;
    }
    __device__ __forceinline__ Real added_inertia(int i, int k) const {
        return INTEGRATOR == integrator::IMPLICIT ? acting(i, k).added_inertia : Real(0);
    }
    __device__ __forceinline__ Real force(int i, int k) const {
        Real force = smooth(i, k);
        if constexpr (CONSTRAINED && HAS_FRICTION) {
            const Mode current = kind(i) == FREE ? STUCK : mode(k);
            if (current == FORWARD) force -= friction(k);
            if (current == BACKWARD) force += friction(k);
        }
        return force;
    }
    __device__ __forceinline__ bool is_held(int k) const { return CONSTRAINED && ::is_held(mode(k)); }
    __device__ __forceinline__ Real target_acceleration(int k) const {
        return CONSTRAINED ? (held_velocity(mode(k), bounds(k)) - at(V + k)) * rate : Real(0);
    }
    // v⁺ (of a stage q̈) from q̈, into its slot. Returns whether the joint's mode changed. In a descent the modes are
    // chosen later, from the reactions.
    __device__ __forceinline__ bool settle(int i, int k, Real qdd, Real r, bool descending) const {
        Real next = qdd;
        if constexpr (ROLE != Role::STAGE) next = at(V + k) + dt * qdd;
        bool changed = false;
        if constexpr (CONSTRAINED) {
            if (kind(i) != FREE) {
                const Interval<Real> within = bounds(k);
                const Mode before = mode(k);
                Mode then = before;
                if (::is_held(before)) {
                    next = held_velocity(before, within);
                    if (descending) reaction(i, k) = r;
                    else then = next_mode_of_held(before, r, within, friction(k), smooth(i, k));
                } else if (!descending) {
                    then = next_mode_of_sliding(before, next, at(V + k), within, friction(k));
                }
                changed = then != before;
                if (changed) set_mode(k, then);
            }
        }
        v_next(i, k) = next;
        return changed;
    }

    // lo and hi of v⁺ from the limits, with lo ≤ 0 ≤ hi.
    __device__ __forceinline__ Interval<Real> bounds(int k) const {
        if constexpr (!HAS_LIMITS) return {Real(-1e30), Real(1e30)};
        if constexpr (HAS_BALLS) {
            const Real max_speed = table(joint_row::VELOCITY_LIMIT, k);
            if (!has_position(k)) return {-max_speed, max_speed};
        }
        return velocity_bounds(at(Q + q_of(k)), table(joint_row::LOWER, k), table(joint_row::UPPER, k),
                               table(joint_row::VELOCITY_LIMIT, k), rate);
    }
    __device__ __forceinline__ Real friction(int k) const {
        return HAS_FRICTION ? table(joint_row::FRICTION, k) : Real(0);
    }
};

// The initial modes.
template <class Joints>
__device__ __forceinline__ void initial_active_set(const Joints& joints, int first = 0, int stride = 1) {
    EACH_BODY
    for (int i = first; i < BODIES; i += stride) {
        if (follows(i)) continue;
        for (int j = 0; j < (is_ball(i) ? 3 : 1); ++j) {
            const int k = v_start(i) + j;
            if (kind(i) != FREE)
                joints.set_mode(k, initial_mode(joints.at(V + k), joints.bounds(k), joints.friction(k)));
        }
        if constexpr (JOINT_SPACE) {  // passes that loop over velocities find these unconstrained
            if (kind(i) == FREE)
                for (int j = 0; j < 6; ++j) joints.set_mode(v_start(i) + j, FORWARD);
        }
    }
}

// The velocity of a descent, which stays feasible.
template <typename Real, int PITCH> struct Feasible {
    Real* first;

    __device__ __forceinline__ Real& operator()(int k) const { return first[k * (LONG ? PITCH : 1)]; }
};

// Begin a descent from the last velocity, clipped to its bounds, with the modes of that velocity.
template <typename Real, class Joints, class Feasible>
__device__ __noinline__ void set_feasible(Joints joints, Feasible feasible) {
#pragma unroll 1
    for (int i = 0; i < BODIES; ++i) {
        if (follows(i)) continue;
        const int k = v_start(i);
        if (kind(i) == FREE) {
            for (int j = 0; j < 6; ++j) feasible(k + j) = joints.v_next(i, k + j);
            continue;
        }
        for (int j = 0; j < (is_ball(i) ? 3 : 1); ++j) {
            const Interval<Real> within = joints.bounds(k + j);
            const Real next = clip(joints.v_next(i, k + j), within.low, within.high);
            joints.set_mode(k + j, feasible_mode(next, within, joints.friction(k + j)));
            feasible(k + j) = next;
        }
    }
}

// Release the held joint with the largest excess reaction. Returns whether there is one.
template <typename Real, class Joints> __device__ __forceinline__ bool release(const Joints& joints) {
    Real largest = 0;
    int which = -1;
    Mode next_mode = STUCK;
#pragma unroll 1
    for (int i = 0; i < BODIES; ++i) {
        if (follows(i)) continue;
        const int first = v_start(i);
        for (int k = first; k < first + (is_ball(i) ? 3 : 1); ++k) {
            if (kind(i) == FREE || !joints.is_held(k)) continue;
            const Interval<Real> within = joints.bounds(k);
            const Real f = joints.friction(k), r = joints.reaction(i, k);
            const Mode mode = joints.mode(k), next = next_mode_of_held(mode, r, within, f, joints.smooth(i, k));
            if (next != mode && within.low < within.high) {
                const Real excess = friction_excess(mode, r, within, f);
                if (excess > largest || which < 0) largest = excess, which = k, next_mode = next;
            }
        }
    }
    if (which >= 0) joints.set_mode(which, next_mode);
    return which >= 0;
}

// One descent step of the constraints' energy. Returns whether more steps are needed.
template <typename Real, class Joints, class Feasible>
__device__ __noinline__ bool take_step(Joints joints, Feasible feasible) {
    Real fraction = 1, bound = 0;
    int blocking = -1;
    Mode mode = STUCK;
#pragma unroll 1
    for (int i = 0; i < BODIES; ++i) {
        if (follows(i)) continue;
        for (int j = 0; j < (is_ball(i) ? 3 : 1); ++j) {
            const int k = v_start(i) + j;
            if (kind(i) == FREE || joints.is_held(k)) continue;
            const Interval<Real> within = joints.bounds(k);
            const BlockingStep<Real> step =
                blocking_step(joints.mode(k), feasible(k), joints.v_next(i, k), within, joints.friction(k));
            if (step.fraction < fraction) fraction = step.fraction, blocking = k, bound = step.bound, mode = step.mode;
        }
    }
#pragma unroll 1
    for (int i = 0; i < BODIES; ++i) {
        if (follows(i)) continue;
        const int k = v_start(i);
        for (int j = 0; j < dofs(i); ++j) {
            feasible(k + j) += fraction * (joints.v_next(i, k + j) - feasible(k + j));
        }
    }
    if (blocking < 0) return release<Real>(joints);
    feasible(blocking) = bound;
    joints.set_mode(blocking, mode);
    return true;
}

// The result of a descent, as v⁺.
template <class Joints, class Feasible> __device__ __noinline__ void accept(Joints joints, Feasible feasible) {
#pragma unroll 1
    for (int i = 0; i < BODIES; ++i) {
        if (follows(i)) continue;
        const int k = v_start(i);
        // Not `dofs`, with which nvcc unrolls this loop.
        for (int j = 0; j < (kind(i) == FREE ? 6 : is_ball(i) ? 3 : 1); ++j) joints.v_next(i, k + j) = feasible(k + j);
    }
}
