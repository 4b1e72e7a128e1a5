// Simulation steps of any tree, any number in one launch: DCA-ABA by a group of blocks for each robot, with the program
// of trees/program.cuh. Each body is integrated by the same thread in every step; q and v stay in global memory.
#include "constraints/tree_constraints.cuh"
#include "stepping/phase_timer.cuh"
#include "stepping/joint_motion.cuh"

// RK4's four stages and, with constraints, the correction at the end of the step.
constexpr int STAGES = !HAS_STAGES ? 1 : HAS_CONSTRAINTS ? 5 : 4, CORRECTION = 4;

// One robot, for the thread that integrates some of its bodies.
template <typename Real> struct Robot : OwnBodies<Real> {
    using Base = OwnBodies<Real>;
    using Base::bodies, Base::state, Base::tree, Base::q, Base::v, Base::dt, Base::joint;

    // Save and restore the state before a step.
    __device__ __forceinline__ void keep(int kind, int at_q, int first) const {
        for (int k = at_q; k < at_q + coordinates(kind); ++k) state(Q_BEFORE, k) = q[k];
        for (int k = first; k < first + velocities(kind); ++k) state(V_BEFORE, k) = v[k];
    }
    __device__ __forceinline__ void undo(int kind, int at_q, int first) const {
        for (int k = at_q; k < at_q + coordinates(kind); ++k) q[k] = state(Q_BEFORE, k);
        for (int k = first; k < first + velocities(kind); ++k) v[k] = state(V_BEFORE, k);
    }

    // The joints' forces at the start of a stage, from controls tau and setpoints (nv,), and the poses.
    __device__ __forceinline__ void begin(const Real* tau, const Real* target, int stage) const {
        bodies([&](int i, int kind, int at_q, int first) {
            if (HAS_STAGES && stage == 0) {
                for (int k = at_q; k < at_q + coordinates(kind); ++k) state(Q_STAGE, k) = q[k];
                for (int k = first; k < first + velocities(kind); ++k) state(V_STAGE, k) = v[k];
            }
#pragma unroll 1
            for (int k = first; k < first + velocities(kind); ++k) {
                JointForce<Real> acting = {};
                if (stage < CORRECTION) {
                    const Real here = HAS_GAINS && has_position(kind) ? tree.q[at_q] : Real(0);
                    acting = joint_force(joint(k), tau[k], HAS_GAINS ? target[k] : Real(0), here, tree.v[k], dt);
                }
                state(FORCE, k) = acting.force;
                if constexpr (ADDITIONS)
                    state(ADDED_INERTIA, k) = acting.added_inertia, state(TARGET, k) = 0, state(HELD, k) = 0;
                if constexpr (HAS_CONSTRAINTS) state(DRIVE, k) = acting.force;
            }
            start(tree, i);
        });
    }

    // v⁺ of a velocity after the last round.
    __device__ __forceinline__ Real next(int k) const {
        if constexpr (HAS_CONSTRAINTS) return state(FEASIBLE, k);
        else return v[k] + dt * state(QDD, k);
    }
    // The end of a semi-implicit or implicit Euler step: q⁺ = q ⊕ dt v⁺.
    __device__ __forceinline__ void move(int kind, int at_q, int first) const {
        const auto here = [&](int j) -> Real& { return v[first + j]; };
        Vector<Real> more = {};
        if (kind == FREE) more = rotation_term<Real>(here, dt);
        for (int k = first; k < first + velocities(kind); ++k) v[k] = next(k);
        if (kind == FREE) here(3) += more.x, here(4) += more.y, here(5) += more.z;
        advance_joint<Real, BALLS>(kind, [&](int j) -> Real& { return q[at_q + j]; }, here, here, dt);
    }

    // Add the rates of RK4's stage 0 to 3 to the sums, and set the next stage; after the last one the new state.
    __device__ __forceinline__ void add_stage(int kind, int at_q, int first, int stage) const {
        const Real weight = stage == 0 || stage == 3 ? 1 : 2, ahead = stage < 2 ? dt / 2 : dt;
        const auto on = [&](int sum, int next, Real begin, int k, Real rate) {
            const Real all = stage == 0 ? rate : state(sum, k) + weight * rate;
            state(sum, k) = all;
            state(next, k) = begin + (stage == 3 ? dt / 6 * all : ahead * rate);
        };
        const auto there = [&](int j) -> Real& { return state(Q_STAGE, at_q + j); };
        joint_rates<Real, BALLS>(kind, there, [&](int j) { return state(V_STAGE, first + j); },
                                 [&](int j, Real rate) { on(Q_SUM, Q_STAGE, q[at_q + j], at_q + j, rate); });
        for (int k = first; k < first + velocities(kind); ++k) {
            on(V_SUM, V_STAGE, v[k], k, state(QDD, k));
            if (stage == 3) v[k] = state(V_STAGE, k), state(V_STAGE, k) = 0;
        }
        if (stage < 3) return;
        normalise_joint<Real, BALLS>(kind, there);
        if constexpr (!HAS_CONSTRAINTS) take(kind, at_q);
    }
    __device__ __forceinline__ void take(int kind, int at_q) const {
        for (int k = at_q; k < at_q + coordinates(kind); ++k) q[k] = state(Q_STAGE, k);
    }
    // RK4's correction: v⁺ under the constraints. A joint that was held or would pass its limit moves with it.
    __device__ __forceinline__ void correct(int kind, int at_q, int first) const {
        bool held = false;
        for (int k = first; k < first + velocities(kind); ++k) {
            v[k] = next(k);
            held |= kind != FREE && is_held(Mode(int(state(MODE, k))));
        }
        if (HAS_LIMITS && has_position(kind)) {
            const Real there = state(Q_STAGE, at_q);
            held |= !(joint(first)(joint_row::LOWER) <= there && there <= joint(first)(joint_row::UPPER));
        }
        if (!held) return take(kind, at_q);
        const auto here = [&](int j) -> Real& { return v[first + j]; };
        advance_joint<Real, BALLS>(kind, [&](int j) -> Real& { return q[at_q + j]; }, here, here, dt);
    }
};

// Steps after `first` up to `last` of a run of `steps` steps of q (batch, nq) and v (batch, nv), in place, after `done`
// earlier ones; arguments as of advance_robot in robot_step.cuh. `constants` (rows, CONSTANTS, stride), `gravities`
// (rows, 3) and `joint_table` (rows, 8, nv) have one row, or one per robot with `own_constants` or `own_joints`. The
// tables from `tree_bodies` on are those of trees/dca.cu; `begins` (2, WARPS) are the first steps of each warp in
// `program`, for the twists and for the contraction, after which `inward` rounds propagate all joints' inertias. Each
// group has `workspace_numbers` of workspace and `state_numbers` for its State, whose fields have `width`.
template <typename Real>
__global__ void __launch_bounds__(CHUNKS * LANES)
#if CLUSTER
    __cluster_dims__(BLOCKS, 1, 1)
#endif
        advance_trees(int steps, int first, int last, long long done, Real dt, Real* q, Real* v,
                      const Real* __restrict__ tau, const Real* __restrict__ target, const Real* __restrict__ controls,
                      int control_rows, Real* record_q, Real* record_v, int every, const Real* __restrict__ constants,
                      const Real* __restrict__ gravities, int own_constants, const Real* __restrict__ joint_table,
                      int own_joints, unsigned long long* diverged, volatile int* alarm, long long* phases,
                      const int* __restrict__ tree_bodies, const int* __restrict__ first_share,
                      const int* __restrict__ shares, const int* __restrict__ ancestors, const int* __restrict__ links,
                      const int4* __restrict__ program, const int* __restrict__ begins, Real* workspace,
                      long long workspace_numbers, Real* states, long long state_numbers, int width, int stride,
                      int elements, int warp_numbers, int n, int nq, int nv, int doublings, int inward,
                      const Real* __restrict__ wrenches, int batch, long long* frozen) {
    extern __shared__ __align__(16) char memory[];
    const int lane = threadIdx.x % LANES, group = blockIdx.x / BLOCKS;
    const int warp = threadIdx.x / LANES * BLOCKS + blockIdx.x % BLOCKS;
    const Workspace<Real> ws(memory, threadIdx.x / LANES, warp_numbers);
    const State<Real> state(states + group * state_numbers, width);
    Real* const numbers = workspace + group * workspace_numbers;
    Element<Real>* const first_element = reinterpret_cast<Element<Real>*>(numbers + size_t(FIELDS) * stride);
    int epoch = 0;
#pragma unroll 1
    for (int robot = group; robot < batch; robot += gridDim.x / BLOCKS) {
        Real *const x = q + size_t(robot) * nq, *const u = v + size_t(robot) * nv;
        const Real* const falls = gravities + (own_constants ? robot * 3 : 0);
        const Vector<Real> gravity = {falls[0], falls[1], falls[2]}, none = {0, 0, 0};
        const Real* const external = HAS_WRENCHES ? wrenches + robot : nullptr;
        Tree<Real> tree = {
            constants + (own_constants ? size_t(robot) * packed::CONSTANTS * stride : 0), tree_bodies, first_share,
            shares, ancestors, links, stride, gravity, HAS_STAGES ? state.field(Q_STAGE) : x,
            HAS_STAGES ? state.field(V_STAGE) : u, state.field(FORCE), state.field(QDD), numbers, first_element,
            reinterpret_cast<Map<Real>*>(first_element + elements), state.field(ADDED_INERTIA), state.field(TARGET),
            state.field(HELD), external, batch};
        const Robot<Real> own = {
            {tree, state, x, u, joint_table + (own_joints ? size_t(robot) * joint_row::COUNT * nv : 0), n, nv, warp, dt,
             epoch}};
        const auto record = [&](int step, int kind, int at_q, int at_v) {
            const size_t sample = size_t(robot) * (steps / every + 1) + step / every;
            if (record_q)
                for (int k = at_q; k < at_q + coordinates(kind); ++k) record_q[sample * nq + k] = x[k];
            if (record_v)
                for (int k = at_v; k < at_v + velocities(kind); ++k) record_v[sample * nv + k] = u[k];
        };
        if (first == 0) own.bodies([&](int, int kind, int at_q, int at_v) { record(0, kind, at_q, at_v); });
        if (warp == 0 && lane == 0) *state.stop = 0;
        Watch watch = {phases, false};
        const bool rests = FREEZES && frozen[robot];
        bool stopped = false;
        int step = rests ? last : first;
#pragma unroll 1
        for (; step < last; ++step) {
            watch.on = TIMED && robot == 0 && warp == 0 && lane == 0 && step == steps - 1;
            watch.start();
            const Real* efforts = tau + size_t(robot) * nv;
            if (controls) efforts = controls + (size_t(control_rows > 1 ? robot : 0) * steps + step) * nv;
#pragma unroll 1
            for (int stage = 0; stage < STAGES; ++stage) {
                const bool constrained = HAS_CONSTRAINTS && stage == STAGES - 1;
                if (stage == CORRECTION) tree.gravity = none, tree.wrenches = nullptr;
                else tree.gravity = gravity, tree.wrenches = external;
                own.begin(efforts, target + size_t(robot) * nv, stage);
                if constexpr (HAS_CONSTRAINTS) {
                    if (constrained) initial_active_set<Real>(own);
                }
                everyone(nullptr);
                stopped = *static_cast<volatile int*>(state.stop) != 0;  // a body diverged in the step before
                if (stopped) break;
                watch.lap(phase::KINEMATICS);
                const auto solve = [&](int round) {
                    if (round > 0) watch.lap(phase::CONSTRAINTS);
                    if (round > BLOCK_PIVOTS) everyone(nullptr);  // a descent changes modes after its last barrier
                    int met = round > 0 ? doublings : 0;
                    carry_out_program(tree, ws, program, begins[round > 0 ? WARPS + warp : warp], lane, [&] {
                        ++met;
                        watch.lap(met <= doublings            ? phase::KINEMATICS
                                  : met <= doublings + inward ? phase::INERTIA_RECURSION
                                                              : phase::ACCELERATION);
                    });
                    watch.lap(phase::ACCELERATION);
                };
                if constexpr (HAS_CONSTRAINTS) solve_constrained(own, dt, constrained ? nv : 0, solve);
                else solve(0);
                own.bodies([&](int, int kind, int at_q, int at_v) {
                    if (FREEZES && stage == 0) own.keep(kind, at_q, at_v);
                    if constexpr (!HAS_STAGES) own.move(kind, at_q, at_v);
                    else if (stage < CORRECTION) own.add_stage(kind, at_q, at_v, stage);
                    else if constexpr (HAS_CONSTRAINTS) own.correct(kind, at_q, at_v);
                    if (stage < STAGES - 1) return;
                    bool bounded = true;
                    for (int k = at_v; k < at_v + velocities(kind); ++k) bounded &= fabs(u[k]) < Real(DIVERGED);
                    if (!bounded) {
                        *state.stop = 1;
                        if constexpr (!FREEZES) {
                            atomicMin(diverged, (unsigned long long)(done + step + 1));
                            *alarm = 1;
                        }
                    } else if ((step + 1) % every == 0) {
                        record(step + 1, kind, at_q, at_v);
                    }
                });
            }
            if (stopped) break;
            watch.stop();
        }
        everyone(nullptr);
        if constexpr (FREEZES) {
            stopped = *static_cast<volatile int*>(state.stop) != 0;
            const int still = rests ? first : step - 1;  // nothing moves from this step on
            if (stopped || rests) {
                own.bodies([&](int, int kind, int at_q, int at_v) {
                    if (stopped) own.undo(kind, at_q, at_v);
                    for (int k = still / every + 1; k <= last / every; ++k) record(k * every, kind, at_q, at_v);
                });
            }
            if (stopped && warp == 0 && lane == 0) frozen[robot] = done + still + 1;
            everyone(nullptr);  // all threads read the flag before the next robot resets it
        }
    }
}
