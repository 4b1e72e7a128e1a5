// Simulation steps of long serial chains, as many as are asked for in one launch: DCA-ABA by a group of blocks for each
// chain (chains/dca.cuh), whose lanes keep the coordinates and velocities of their links from the first step to the last.
#include "constraints/chain_constraints.cuh"
#include "stepping/divergence.cuh"

constexpr bool HAS_CONSTRAINTS = HAS_LIMITS || HAS_FRICTION;

// A row of `StepSettings.joints` for the lane's joint.
template <typename Real> struct JointRow {
    const Real* first;
    int n;

    __device__ __forceinline__ Real operator()(int row) const { return first[(size_t)row * n]; }
};

// Of `steps` steps of q and v (batch, n), in place, after `done` earlier ones, those after `first` up to `last`; the
// arguments are those of robot_step.cu. `constants` (rows, CONSTANTS + 2, n), `gravity` (rows, 3) and `joint_table` (rows, 8, n)
// have one row, or one for each robot where `own_constants` or `own_joints`. The robots are those from `first_robot` on, of
// `batch`, and the wrenches on their links (n, 6, batch).
template <typename Real>
__global__ void __launch_bounds__(CHUNKS * LANES)
#if CLUSTER
    __cluster_dims__(BLOCKS, 1, 1)
#endif
        advance_chains(int first_robot, int steps, int first, int last, long long done, Real dt, Real* q, Real* v,
                       const Real* __restrict__ tau, const Real* __restrict__ goal, const Real* __restrict__ controls,
                       int control_rows, Real* record_q, Real* record_v, int every, const Real* __restrict__ constants,
                       const Real* __restrict__ gravities, int own_constants, const Real* __restrict__ joint_table,
                       int own_joints, unsigned long long* diverged, volatile int* alarm, long long* phases,
                       Meeting* meetings, Sent<Real>* outside, int n, int longest, const Real* __restrict__ wrenches,
                       int batch, bool* frozen) {
    extern __shared__ __align__(16) char memory[];
    const Chunk<Real> chunk(memory, meetings, outside, n, longest);
    const int robot = first_robot + blockIdx.x / BLOCKS, own = chunk.own();
    const bool here = chunk.here();
    const size_t at = size_t(robot) * n + own;
    constants += own_constants ? size_t(robot) * (packed::CONSTANTS + 2) * n : 0;
    gravities += own_constants ? robot * 3 : 0;
    const Vector<Real> gravity = {gravities[0], gravities[1], gravities[2]}, none = {0, 0, 0};
    const JointRow<Real> row = {joint_table + (own_joints ? size_t(robot) * 8 * n : 0) + (here ? own : 0), n};
    Real x = 0, u = 0, torque = 0, target = 0;
    if (here) x = q[at], u = v[at], torque = tau[at], target = goal[at];
    Force<Real> external = {};
    if constexpr (HAS_WRENCHES) {
        const auto part = [&](int k) { return wrenches[(size_t(own) * 6 + k) * batch + robot]; };
        if (here) external = {{part(0), part(1), part(2)}, {part(3), part(4), part(5)}};
    }
    Link<Real>& link = chunk.link[here ? chunk.lane : 0];
    Watch watch = {phases, false};
    const auto lap = [&](int which) { watch.lap(which); };
    int epoch = 0;

    // Controls and gains, clipped, less damping; implicit gains pull from where v takes q in the step.
    bool clipped = false;
    const auto smooth = [&](Real q, Real v) {
        Real drive = torque;
        if (HAS_GAINS) {
            const Real ahead = INTEGRATOR == integrator::IMPLICIT ? q + dt * v : q;
            drive += row(joint_row::KP) * (target - ahead) - row(joint_row::KD) * v;
        }
        if (HAS_EFFORT_LIMITS) {
            const Real most = row(joint_row::EFFORT_LIMIT);
            clipped = !(fabs(drive) <= most);
            drive = clip(drive, -most, most);
        }
        if (HAS_DAMPING) drive -= row(joint_row::DAMPING) * v;
        return drive;
    };
    const auto set = [&](Real extra, bool locked, Real acceleration) {
        if (here) link.extra = extra, link.locked = locked, link.target = acceleration;
    };
    // v⁺ at q, from velocity v, under the constraints of the step that began at x.
    const auto constrained = [&](const Motions<Real>& moving, Real v, Real drive, Real extra, Vector<Real> gravity,
                                 Mode& mode) {
        if constexpr (!HAS_CONSTRAINTS) {
            set(extra, false, 0);
            return v + dt * accelerations(chunk, moving, drive, gravity, lap);
        } else {
            Interval<Real> within = {Real(-1e30), Real(1e30)};
            if (HAS_LIMITS) {
                const Real lower = row(joint_row::LOWER), upper = row(joint_row::UPPER);
                within = velocity_bounds(x, lower, upper, row(joint_row::VELOCITY_LIMIT), 1 / dt);
            }
            const OneJoint<Real> joint = {within, HAS_FRICTION ? row(joint_row::FRICTION) : Real(0), drive, v};
            const auto solve = [&](Real force, bool locked, Real a) {
                set(extra, locked, a);
                lap(phase::CONSTRAINTS);
                return accelerations(chunk, moving, force, gravity, lap);
            };
            const Real next = constrained_velocity(chunk, joint, dt, n, epoch, mode, solve);
            lap(phase::CONSTRAINTS);
            return next;
        }
    };
    const auto record = [&](int step) {
        const size_t sample = (size_t(robot) * (steps / every + 1) + step / every) * n + own;
        if (here && record_q) record_q[sample] = x;
        if (here && record_v) record_v[sample] = u;
    };
    if (first == 0) record(0);
    if (threadIdx.x == 0) chunk.sent.stop = 0;
    // With FREEZES: whether the chain rests since an earlier launch, and its state before the last step that it took.
    const bool rests = FREEZES && frozen[robot];
    Real x_before = x, u_before = u;
    int still = first;  // from this step on nothing moves, where the chain rests

#pragma unroll 1
    for (int step = rests ? last : first; step < last; ++step) {
        watch.on = TIMED && robot == 0 && chunk.rank == 0 && threadIdx.x == 0 && step == steps - 1;
        watch.start();
        if (controls && here) torque = controls[(size_t(control_rows > 1 ? robot : 0) * steps + step) * n + own];
        const Motions<Real> moving = motions<HAS_WRENCHES>(chunk, constants, n, x, u, external);
        if (chunk.sent.stop != 0) break;  // a link of this chain diverged in the step before
        if constexpr (FREEZES) x_before = x, u_before = u, still = step;
        watch.lap(phase::KINEMATICS);
        Mode mode = FORWARD;
        if constexpr (INTEGRATOR != integrator::RK4) {
            const Real drive = smooth(x, u);
            Real extra = 0;  // the implicit part's share of the matrix; where the effort is clipped gains have none
            if (INTEGRATOR == integrator::IMPLICIT) {
                if (HAS_DAMPING) extra += dt * row(joint_row::DAMPING);
                if (HAS_GAINS && !clipped) extra += dt * (row(joint_row::KD) + dt * row(joint_row::KP));
            }
            u = constrained(moving, u, drive, extra, gravity, mode);
            x += dt * u;
        } else {
            set(0, false, 0);
            Real sum_q = u, sum_v = accelerations(chunk, moving, smooth(x, u), gravity, lap), stage_v = u, rate = sum_v;
#pragma unroll 1
            for (int stage = 1; stage < 4; ++stage) {
                const Real ahead = stage < 3 ? dt / 2 : dt, stage_q = x + ahead * stage_v;
                stage_v = u + ahead * rate;
                const Motions<Real> there = motions<HAS_WRENCHES>(chunk, constants, n, stage_q, stage_v, external);
                watch.lap(phase::KINEMATICS);
                rate = accelerations(chunk, there, smooth(stage_q, stage_v), gravity, lap);
                const Real weight = stage < 3 ? 2 : 1;
                sum_q += weight * stage_v, sum_v += weight * rate;
            }
            Real there = x + dt / 6 * sum_q;
            u += dt / 6 * sum_v;
            if constexpr (HAS_CONSTRAINTS) {
                const Motions<Real> resting = motions(chunk, constants, n, there, Real(0));
                u = constrained(resting, u, Real(0), Real(0), none, mode);
                const bool outside = HAS_LIMITS && !(row(joint_row::LOWER) <= there && there <= row(joint_row::UPPER));
                if (is_held(mode) || outside) there = x + dt * u;
            }
            x = there;
        }
        watch.stop();
        if (here && !(fabs(u) < Real(DIVERGED))) {
            if constexpr (!FREEZES) {
                atomicMin(diverged, (unsigned long long)(done + step + 1));
                *alarm = 1;
            }
#if CLUSTER
            for (int k = 0; k < BLOCKS; ++k) {
                Real* there;
                asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(&chunk.sent.stop), "r"(k));
                *there = 1;
            }
#else
            chunk.sent.stop = 1;
#endif
        } else if ((step + 1) % every == 0) {
            record(step + 1);
        }
    }
    if constexpr (FREEZES) {
        everyone(chunk.meeting);
        const bool stopped = chunk.sent.stop != 0;
        if (stopped) x = x_before, u = u_before;
        if (stopped || rests) {
            for (int sample = still / every + 1; sample <= last / every; ++sample) record(sample * every);
        }
        if (stopped && chunk.rank == 0 && threadIdx.x == 0) frozen[robot] = true;
    }
    if (here) q[at] = x, v[at] = u;
    everyone(chunk.meeting);  // no block ends while another may still tell it to stop
}
