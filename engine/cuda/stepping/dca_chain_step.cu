// Simulation steps of long serial chains, any number in one launch: DCA-ABA by a group of blocks for each chain
// (chains/dca.cuh), whose lanes keep the coordinates and velocities of their links in registers during a launch.
#include "chains/dca.cuh"
#include "stepping/chain_step.cuh"

// The maximum over all lanes of the group, returned to all its threads; `epoch` alternates the slots of successive
// calls.
template <typename Real>
__device__ __forceinline__ Best<Real> best_of_chain(const Chunk<Real>& chunk, Best<Real> best, int& epoch) {
    epoch ^= 1;
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

// A chain distributed over a group's lanes, a joint each.
template <typename Real> struct DcaChain {
    const Chunk<Real>& chunk;
    const Real* constants;
    int n;
    Vector<Real> gravity;
    Force<Real> external;
    JointRow<Real> row;
    const Watch& watch;
    Joint<Real> joint = {};
    Motions<Real> moving = {};
    int epoch = 0;

    template <class F> __device__ __forceinline__ void each(F f) {
        if (chunk.here()) f(joint, row);
    }
    __device__ __forceinline__ void kinematics(bool pushed) {
        moving = pushed ? motions<HAS_WRENCHES>(chunk, constants, n, joint.q, joint.v, external)
                        : motions(chunk, constants, n, joint.q, joint.v);
    }
    __device__ __forceinline__ void accelerations(bool falls) {
        if (chunk.here()) {
            Link<Real>& link = chunk.link[chunk.lane];
            link.added_inertia = joint.inertia, link.held = joint.held, link.target = joint.acceleration;
        }
        const Vector<Real> none = {0, 0, 0};
        joint.answer = ::accelerations(chunk, moving, joint.force, falls ? gravity : none,
                                       [&](int which) { watch.lap(which); });
    }
    template <class F> __device__ __forceinline__ Best<Real> best(F f) {
        return best_of_chain(chunk, candidate(chunk.here() ? f(joint) : Real(-1e30), chunk.own()), epoch);
    }
    __device__ __forceinline__ bool any(bool so) const { return so; }
    __device__ __forceinline__ int links() const { return n; }

    // The wrench on its link, of arrays (n, 6, batch).
    __device__ __forceinline__ void push(const Real* wrenches, int batch, int robot) {
        const auto part = [&](int k) { return wrenches[(size_t(chunk.own()) * 6 + k) * batch + robot]; };
        if (chunk.here()) external = {{part(0), part(1), part(2)}, {part(3), part(4), part(5)}};
    }
    // Its joint's state into place `at` of arrays, those that are given.
    __device__ __forceinline__ void store(Real* q, Real* v, size_t at) const {
        if (chunk.here() && q) q[at] = joint.x;
        if (chunk.here() && v) v[at] = joint.u;
    }
};

// Signal to all blocks of a chain that it stops.
template <typename Real> __device__ __forceinline__ void stop(const Chunk<Real>& chunk) {
#if CLUSTER
    for (int k = 0; k < BLOCKS; ++k) {
        Real* there;
        asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(&chunk.sent.stop), "r"(k));
        *there = 1;
    }
#else
    chunk.sent.stop = 1;
#endif
}

// Steps after `first` up to `last` of a run of `steps` steps of q and v (batch, n), in place, after `done` earlier
// ones; arguments as of advance_robot in robot_step.cuh. `constants` (rows, CONSTANTS + 2, n), `gravity` (rows, 3) and
// `joint_table` (rows, 8, n) have one row, or one per robot with `own_constants` or `own_joints`. The robots are those
// from `first_robot` on, of `batch`; wrenches on their links (n, 6, batch).
template <typename Real>
__global__ void __launch_bounds__(CHUNKS * LANES)
#if CLUSTER
    __cluster_dims__(BLOCKS, 1, 1)
#endif
        advance_chains(int first_robot, int steps, int first, int last, long long done, Real dt, Real* q, Real* v,
                       const Real* __restrict__ tau, const Real* __restrict__ target, const Real* __restrict__ controls,
                       int control_rows, Real* record_q, Real* record_v, int every, const Real* __restrict__ constants,
                       const Real* __restrict__ gravities, int own_constants, const Real* __restrict__ joint_table,
                       int own_joints, unsigned long long* diverged, volatile int* alarm, long long* phases,
                       Meeting* meetings, Sent<Real>* outside, int n, int longest, const Real* __restrict__ wrenches,
                       int batch, long long* frozen) {
    extern __shared__ __align__(16) char memory[];
    const Chunk<Real> chunk(memory, meetings, outside, n, longest);
    const int robot = first_robot + blockIdx.x / BLOCKS, own = chunk.own();
    const bool here = chunk.here();
    const size_t at = size_t(robot) * n + own;
    constants += own_constants ? size_t(robot) * (packed::CONSTANTS + 2) * n : 0;
    gravities += own_constants ? robot * 3 : 0;
    const Vector<Real> gravity = {gravities[0], gravities[1], gravities[2]};
    Watch watch = {phases, false};
    const JointRow<Real> row = {joint_table + (own_joints ? size_t(robot) * joint_row::COUNT * n : 0) +
                                (here ? own : 0), n};
    DcaChain<Real> chain = {chunk, constants, n, gravity, {}, row, watch};
    Joint<Real>& joint = chain.joint;
    joint.link = own;
    if (here) joint.x = q[at], joint.u = v[at], joint.torque = tau[at], joint.target = target[at];
    if constexpr (HAS_WRENCHES) chain.push(wrenches, batch, robot);
    const auto record = [&](int step) {
        chain.store(record_q, record_v, (size_t(robot) * (steps / every + 1) + step / every) * n + own);
    };
    if (first == 0) record(0);
    if (threadIdx.x == 0) chunk.sent.stop = 0;
    const bool rests = FREEZES && frozen[robot];  // since an earlier launch
    int still = first;  // the chain rests from this step on

#pragma unroll 1
    for (int step = rests ? last : first; step < last; ++step) {
        watch.on = TIMED && robot == 0 && chunk.rank == 0 && threadIdx.x == 0 && step == steps - 1;
        watch.start();
        const size_t control = (size_t(control_rows > 1 ? robot : 0) * steps + step) * n + own;
        if (here) begin_step(joint, controls ? controls + control : nullptr);
        chain.kinematics(HAS_WRENCHES);
        if (chunk.sent.stop != 0) break;  // a link of this chain diverged in the step before
        if constexpr (FREEZES) joint.x_before = joint.x, joint.u_before = joint.u, still = step;
        watch.lap(phase::KINEMATICS);
        chain_step(chain, dt, watch);
        watch.stop();
        if (here && !(fabs(joint.u) < Real(DIVERGED))) {
            if constexpr (!FREEZES) {
                atomicMin(diverged, (unsigned long long)(done + step + 1));
                *alarm = 1;
            }
            stop(chunk);
        } else if ((step + 1) % every == 0) {
            record(step + 1);
        }
    }
    if constexpr (FREEZES) {
        everyone(chunk.meeting);
        const bool stopped = chunk.sent.stop != 0;
        if (stopped) joint.x = joint.x_before, joint.u = joint.u_before;
        if (stopped || rests) {
            for (int sample = still / every + 1; sample <= last / every; ++sample) record(sample * every);
        }
        if (stopped && chunk.rank == 0 && threadIdx.x == 0) frozen[robot] = done + still + 1;
    }
    if (here) q[at] = joint.x, v[at] = joint.u;
    everyone(chunk.meeting);  // no block exits while another may write to its shared memory
}
