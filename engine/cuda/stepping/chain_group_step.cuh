// Simulation steps of serial chains by groups of threads, any number in one launch. The including file defines the
// forward dynamics:
//
//    template <typename Group> struct Solver {
//        Solver(const Group& group, Real* numbers, bool own, char* shared, Real* out);
//        accelerations(group, chain, ask, bias, answer, lap)
//    };
//
// which calls answer(i, x) with q̈ of joint i, or with the reaction of a held one; other parameters as in `solve` of
// jsiia.cuh and `refine` of cfa.cuh. `numbers` is the solver's global memory, one part per robot if `own`, `shared` its
// shared memory, and `out` has room for n numbers of the chain.
#pragma once

#include "stepping/chain_step.cuh"

static_assert(sizeof(Joint<double>) <= JOINT_NUMBERS * 8 && sizeof(Joint<float>) <= JOINT_NUMBERS * 4,
              "what chain_group_stepper.py makes room for");

// A thread's part of the steps of its chains: its joints, in registers if it has one, and the interface to the solver.
template <typename Group> struct GroupChain {
    using Real = typename Group::Number;

    Group& group;
    const Solver<Group>& solver;
    const Watch& watch;
    ChainArrays<Real> chain;  // its q and v are where accelerations are evaluated
    const Real* joint_table;      // (8, n)
    const Real* wrenches;         // (n, 6, batch)
    Joint<Real>* joints;  // of threads with several joints
    Joint<Real> own = {};

    __device__ __forceinline__ Joint<Real>& joint(int i) {
        if constexpr (Group::ONE_LINK) return own;
        else return joints[size_t(blockIdx.x / Group::CLUSTER) * group.rows + group.slot(i)];
    }
    template <class F> __device__ __forceinline__ void each_link(F f) {
        ::each(group, [&](int i) { f(joint(i), i); });
    }
    template <class F> __device__ __forceinline__ void each(F f) {
        each_link([&](Joint<Real>& joint, int i) { f(joint, JointRow<Real>{joint_table + i, group.shape.n}); });
    }
    __device__ __forceinline__ void kinematics(bool pushed) {
        const auto q = const_cast<Real*>(chain.q), v = const_cast<Real*>(chain.v);
        each_link([&](Joint<Real>& joint, int i) { q[group.global(i)] = joint.q, v[group.global(i)] = joint.v; });
        group.sync();
        ::kinematics(group, chain);
        if (pushed) {
            each_link([&](Joint<Real>&, int i) {
                const auto part = [&](int k) {
                    return wrenches[(size_t(i) * 6 + k) * group.shape.batch + group.robot];
                };
                const Force<Real> w = {{part(0), part(1), part(2)}, {part(3), part(4), part(5)}};
                const auto R = group.template get<Matrix<Real>>(WORLD, i);
                group.put(B, i, group.template get<Force<Real>>(B, i) - rotated(R, w));
            });
        }
    }
    __device__ __forceinline__ void accelerations(bool falls) {
        solver.accelerations(
            group, chain,
            [&](int i) {
                const Joint<Real>& here = joint(i);
                return Asked<Real>{here.force, here.inertia, here.acceleration, here.held};
            },
            falls, [&](int i, Real x) { joint(i).answer = x; }, [&](int which) { watch.lap(which); });
    }
    template <class F> __device__ __forceinline__ Best<Real> best(F f) {
        return reduced(
            group, no_link<Real>(), [](const Best<Real>& a, const Best<Real>& b) { return better(a, b); },
            [&](int i) { return candidate(f(joint(i)), i); });
    }
    __device__ __forceinline__ bool any(bool so) const { return group.any(so); }
    __device__ __forceinline__ int links() const { return group.shape.n; }

    // The states (…, n) into row `row` of arrays, those that are given.
    __device__ __forceinline__ void store(Real* q, Real* v, size_t row) {
        each_link([&](Joint<Real>& joint, int i) {
            if (q) q[row * group.shape.n + i] = joint.x;
            if (v) v[row * group.shape.n + i] = joint.u;
        });
    }
    // The chain diverged in a step, after `done` steps of the run: it stops there, while others in its warp continue.
    __device__ __forceinline__ void stop(long long done, unsigned long long* diverged, volatile int* alarm,
                                         long long* frozen) {
        if constexpr (FREEZES) {
            each_link([](Joint<Real>& joint, int) { joint.x = joint.x_before, joint.u = joint.u_before; });
            if (group.place == 0) frozen[group.robot] = done;
        } else if (group.place == 0) {
            atomicMin(diverged, (unsigned long long)done);
            *alarm = 1;
        }
    }
};

// Steps after `first` up to `last` of a run of `steps` steps of q and v (batch, n), in place, after `done` earlier
// ones. The first arguments are those of any kernel of groups, the next those of advance_robot in robot_step.cuh, but
// `constants` (rows, CONSTANTS, n + 1) and `joint_table` (rows, 8, n) have one row, or one per robot with
// `own_constants` or `own_joints`. Work arrays: `places` (3, batch, n), and `joints` for threads with several.
template <typename Real, int BLOCKS, int LINKS>
THREAD_GROUP_KERNEL(BLOCKS)
    advance_groups(int batch, int n, int threads, int links, int fields, int kept, int shared, Real* memory,
                   char* outside, int steps, int first, int last, long long done, Real dt, Real* q, Real* v,
                   const Real* __restrict__ tau, const Real* __restrict__ target, const Real* __restrict__ controls,
                   int control_rows, Real* record_q, Real* record_v, int every, const Real* constants,
                   int own_constants, const int* revolute, const Real* joint_table, int own_joints,
                   unsigned long long* diverged, volatile int* alarm, long long* phases, const Real* wrenches,
                   Real* places, Joint<Real>* joints, Real* numbers, long long* frozen) {
    extern __shared__ __align__(16) char dynamic[];
    __shared__ __align__(16) char inside[2 * MAX_THREADS / WARP * STATE_BYTES];
    using Group = ThreadGroup<Real, BLOCKS, LINKS>;
    Group group({batch, n, threads, links, fields, kept, shared}, memory, dynamic, inside, outside);
    const size_t size = (size_t)batch * n;
    for (; group.more(); group.next()) {
        const int robot = group.robot;
        const ChainArrays<Real> arrays = {
            constants + (own_constants ? (size_t)robot * packed::CONSTANTS * (n + 1) : 0), revolute, places,
            places + size};
        const Solver<Group> solver(group, numbers, own_constants, dynamic + shared,
                                   places + 2 * size + group.global(0));
        const Real* table = joint_table + (own_joints ? (size_t)robot * joint_row::COUNT * n : 0);
        Watch watch = {phases, false};
        GroupChain<Group> chain = {group, solver, watch, arrays, table, wrenches, joints};
        const auto read = [&](Joint<Real>& joint, int i) {
            joint.x = q[group.global(i)], joint.u = v[group.global(i)];
        };
        chain.each_link([&](Joint<Real>& joint, int i) {
            joint = {};
            read(joint, i);
            joint.torque = tau[group.global(i)], joint.target = target[group.global(i)], joint.link = i;
        });
        const auto record = [&](int step) {
            chain.store(record_q, record_v, (size_t)robot * (steps / every + 1) + step / every);
        };
        if (first == 0) record(0);
        bool sound = robot < batch && !(FREEZES && frozen[robot]);
        int still = first;  // the chain is frozen from this step on
#pragma unroll 1
        for (int step = first; step < last && group.any(sound); ++step) {
            watch.on = TIMED && robot == 0 && group.place == 0 && step == steps - 1;
            watch.start();
            const Real* row =
                controls ? controls + ((size_t)(control_rows > 1 ? robot : 0) * steps + step) * n : nullptr;
            chain.each_link([&](Joint<Real>& joint, int i) {
                begin_step(joint, row ? row + i : nullptr);
                joint.x_before = joint.x, joint.u_before = joint.u;
            });
            chain.kinematics(HAS_WRENCHES);
            watch.lap(phase::KINEMATICS);
            chain_step(chain, dt, watch);
            watch.stop();
            const bool fast =
                chain.best([](const Joint<Real>& joint) { return Real(!(fabs(joint.u) < Real(DIVERGED))); }).value > 0;
            if (sound && fast) {
                chain.stop(done + step + 1, diverged, alarm, frozen);
                chain.store(q, v, robot);
                sound = false, still = step;
            }
            if (sound && (step + 1) % every == 0) record(step + 1);
        }
        if (sound) {
            chain.store(q, v, robot);
        } else if (FREEZES && robot < batch) {
            chain.each_link(read);
            for (int sample = still / every + 1; sample <= last / every; ++sample) record(sample * every);
        }
    }
}
