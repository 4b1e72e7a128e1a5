// Joint constraints of a tree by a group of blocks: the rows of active_set_rounds.cuh, those of a body in the thread
// that integrates it; and the state of the group's robot between programs of trees/program.cuh.
#pragma once

#include "constraints/active_set_rounds.cuh"
#include "constraints/joint_forces.cuh"
#include "trees/program.cuh"

constexpr bool HAS_CONSTRAINTS = HAS_LIMITS || HAS_FRICTION, HAS_STAGES = INTEGRATOR == integrator::RK4;
constexpr int WARPS = BLOCKS * CHUNKS;  // of the group

// The fields of a group's state, one number for each velocity or coordinate: the joints' forces (`Tree::tau`), their q̈
// or reactions; additions to D, acceleration if held, 1 if held; force without friction, mode, v⁺; RK4's stages;
// and the state before a step that may be undone.
constexpr int FORCE = 0, QDD = 1, ADDED_INERTIA = 2, TARGET = ADDED_INERTIA + ADDITIONS, HELD = TARGET + ADDITIONS,
              DRIVE = HELD + ADDITIONS, MODE = DRIVE + HAS_CONSTRAINTS, FEASIBLE = MODE + HAS_CONSTRAINTS,
              Q_STAGE = FEASIBLE + HAS_CONSTRAINTS, V_STAGE = Q_STAGE + HAS_STAGES, Q_SUM = V_STAGE + HAS_STAGES,
              V_SUM = Q_SUM + HAS_STAGES, Q_BEFORE = V_SUM + HAS_STAGES, V_BEFORE = Q_BEFORE + FREEZES,
              ALL_FIELDS = V_BEFORE + FREEZES;
static_assert(ALL_FIELDS == STATE_FIELDS, "what dca_tree_stepper.py makes room for");

template <typename Real> struct State {
    Maximum<Real>* board;  // two of WARPS entries
    int* stop;  // whether a body of the robot has diverged
    Real* first;
    int width;  // of a field

    __device__ __forceinline__ State(Real* memory, int width)
        : board(reinterpret_cast<Maximum<Real>*>(memory)), stop(reinterpret_cast<int*>(board + 2 * WARPS)),
          first(memory + BOARD_NUMBERS), width(width) {
        static_assert(sizeof(Maximum<Real>) == 2 * sizeof(Real) && BOARD_NUMBERS > 4 * WARPS, "see dca_tree_stepper");
    }
    __device__ __forceinline__ Real* field(int which) const { return first + (size_t)which * width; }
    __device__ __forceinline__ Real& operator()(int which, int k) const { return field(which)[k]; }
};

__device__ __forceinline__ int velocities(int kind) { return kind == FREE ? 6 : BALLS && kind == SPHERICAL ? 3 : 1; }
__device__ __forceinline__ int coordinates(int kind) { return kind == FREE ? 7 : BALLS && kind == SPHERICAL ? 4 : 1; }
__device__ __forceinline__ bool has_position(int kind) { return kind == REVOLUTE || kind == PRISMATIC; }

// The bodies of a robot that a thread integrates, and their joints' rows. q and v are those at the start of the step;
// `joints` are the robot's rows of `StepSettings.joints`.
template <typename Real> struct OwnBodies {
    const Tree<Real>& tree;
    const State<Real>& state;
    Real *q, *v;
    const Real* joints;
    int n, nv, warp;  // numbers of bodies and velocities of the robot; the thread's warp within the group
    Real dt;
    int& epoch;  // alternates the board between calls of `max`

    // f(i, kind, first coordinate, first velocity) for each body.
    template <class F> __device__ __forceinline__ void bodies(const F& f) const {
#pragma unroll 1
        for (int i = warp * LANES + threadIdx.x % LANES; i < n; i += WARPS * LANES)
            f(i, tree.kind(i), tree.q_start(i), tree.v_start(i));
    }
    __device__ __forceinline__ JointRow<Real> joint(int k) const { return {joints + k, nv}; }

    __device__ __forceinline__ Row<Real> row(int kind, int at_q, int k) const {
        const JointRow<Real> joint = this->joint(k);
        Row<Real> x = {k, {Real(-1e30), Real(1e30)}, 0, state(DRIVE, k), v[k], Mode(int(state(MODE, k))), state(QDD, k),
                       state(FEASIBLE, k)};
        if (kind == FREE) return x;  // unconstrained: it slides
        if constexpr (HAS_FRICTION) x.friction = joint(joint_row::FRICTION);
        if constexpr (HAS_LIMITS) {
            const Real max_speed = joint(joint_row::VELOCITY_LIMIT);
            x.within = {-max_speed, max_speed};
            if (has_position(kind))
                x.within =
                    velocity_bounds(q[at_q], joint(joint_row::LOWER), joint(joint_row::UPPER), max_speed, 1 / dt);
        }
        return x;
    }
    template <class F> __device__ __forceinline__ void each(const F& f) const {
        bodies([&](int, int kind, int at_q, int first) {
#pragma unroll 1
            for (int k = first; k < first + velocities(kind); ++k) {
                Row<Real> x = row(kind, at_q, k);
                f(x);
                const bool held = is_held(x.mode);
                state(MODE, k) = Real(int(x.mode)), state(FEASIBLE, k) = x.feasible;
                state(FORCE, k) = x.force(), state(HELD, k) = held,
                    state(TARGET, k) = held ? x.target(1 / dt) : Real(0);
            }
        });
    }
    __device__ __forceinline__ Maximum<Real> max(Maximum<Real> x) const {
        epoch ^= 1;
        const int lane = threadIdx.x % LANES;
        const auto of_warp = [&] {
#pragma unroll
            for (int d = 1; d < LANES; d *= 2)
                x.consider(__shfl_xor_sync(ALL, x.value, d), __shfl_xor_sync(ALL, x.number, d));
        };
        Maximum<Real>* const all = state.board + epoch * WARPS;
        of_warp();
        if (lane == 0) all[warp] = x;
        everyone(nullptr);
        for (int k = lane; k < WARPS; k += LANES) x.consider(all[k].value, all[k].number);
        of_warp();
        return x;
    }
};
