// Kinetic and potential energies of many robots, a thread each, any tree. As in engine/cpu/rigid_body/rnea.py.
#include "rigid_body/tree.cuh"

// T_i at the robot's coordinates q (NQ,).
template <typename Real, class Robot>
__device__ __forceinline__ Pose<Real> pose_at(int i, const Real* q, const Robot& robot) {
    return joint_pose(kind(i), robot.home(i), [&](int k) { return own_position(i, q[q_start(i) + k]); });
}

// S q̇ of body i.
template <typename Real> __device__ __forceinline__ Motion<Real> joint_twist(int i, const Real* v) {
    const Real* u = v + v_start(i);
    if (kind(i) == FREE) return {{u[0], u[1], u[2]}, {u[3], u[4], u[5]}};
    if (is_ball(i)) return {{u[0], u[1], u[2]}, {0, 0, 0}};
    if (kind(i) == REVOLUTE) return {{0, 0, own_rate(i, u[0])}, {0, 0, 0}};
    return {{0, 0, 0}, {0, 0, own_rate(i, u[0])}};
}

// A body's pose in the world and its twist, interleaved over robots.
template <typename Real> struct Moving {
    Pose<Real> T;
    Motion<Real> V;
};
template <typename Real> struct Movings {
    Real* first;
    int batch;

    __device__ __forceinline__ Real& at(int i, int k) const { return first[(size_t(i) * 18 + k) * batch]; }
    __device__ __forceinline__ Vector<Real> vector(int i, int k) const {
        return {at(i, k), at(i, k + 1), at(i, k + 2)};
    }
    __device__ __forceinline__ void store(int i, int k, Vector<Real> x) const {
        at(i, k) = x.x, at(i, k + 1) = x.y, at(i, k + 2) = x.z;
    }
    __device__ __forceinline__ Moving<Real> operator[](int i) const {
        return {{{vector(i, 0), vector(i, 3), vector(i, 6)}, vector(i, 9)}, {vector(i, 12), vector(i, 15)}};
    }
    __device__ __forceinline__ void store(int i, const Moving<Real>& x) const {
        store(i, 0, x.T.R.x), store(i, 3, x.T.R.y), store(i, 6, x.T.R.z), store(i, 9, x.T.p);
        store(i, 12, x.V.o), store(i, 15, x.V.v);
    }
};

// ½ Σ VᵀJV and −Σ m gᵀx of robots at q (batch, NQ), v (batch, NV) into `kinetic` and `potential` (batch,). `constants`
// are common to all robots, or have the robot index innermost; `workspace` has 18 numbers for each body of each robot,
// unless the tree is SERIAL.
template <typename Real>
__global__ void __launch_bounds__(THREADS)
energies(int batch, const Real* __restrict__ q, const Real* __restrict__ v, const Real* __restrict__ constants,
         Real* workspace, Real* __restrict__ kinetic, Real* __restrict__ potential) {
    const int robot = blockIdx.x * THREADS + threadIdx.x;
    if (robot >= batch) return;
    const Constants<Real, OWN_CONSTANTS> own = {constants + (OWN_CONSTANTS ? robot : 0), batch};
    const Movings<Real> movings = {workspace + robot, batch};
    const Vector<Real> gravity = own.gravity();
    Moving<Real> last = {};
    Real moving = 0, high = 0;
    EACH_BODY
    for (int i = 0; i < BODIES; ++i) {
        const int above = parent(i);
        const Pose<Real> T = pose_at(i, q + size_t(robot) * NQ, own);
        Moving<Real> here = {T, joint_twist(i, v + size_t(robot) * NV)};
        if (above >= 0) {
            if (above != i - 1) last = movings[above];
            here.T = {matmul(last.T.R, T.R), last.T.p + mul(last.T.R, T.p)};
            here.V = motion_to_child(T, last.V) + here.V;
        }
        if constexpr (!SERIAL) movings.store(i, here);
        const Body<Real> J = own.body(i);
        const Force<Real> H = momentum(J, here.V);
        moving += (dot(here.V.o, H.n) + dot(here.V.v, H.f)) / 2;
        high -= J.m * dot(gravity, here.T.p) + dot(gravity, mul(here.T.R, J.h));
        last = here;
    }
    kinetic[robot] = moving, potential[robot] = high;
}
