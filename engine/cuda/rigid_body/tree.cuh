// The tree of a robot, from the preamble of engine/cuda/rigid_body/tree.py, its constants, and the layout of its slots.
#pragma once

#include "rigid_body/spatial.cuh"

// Code for ball joints is within `if constexpr (HAS_BALLS)`, so that other robots have the machine code without it.
// Loops over bodies are not unrolled: the code would outgrow the instruction cache.
#define EACH_BODY _Pragma("unroll 1")

__device__ __forceinline__ int parent(int i) { return SERIAL ? i - 1 : PARENT[i]; }
__device__ __forceinline__ int kind(int i) { return ONE_KIND >= 0 ? ONE_KIND : KIND[i]; }
__device__ __forceinline__ bool is_ball(int i) { return HAS_BALLS && kind(i) == SPHERICAL; }
// The number of velocities of a body.
__device__ __forceinline__ int dofs(int i) { return kind(i) == FREE ? 6 : is_ball(i) ? 3 : 1; }
__device__ __forceinline__ int q_start(int i) { return SCALAR ? i : Q_START[i]; }
__device__ __forceinline__ int v_start(int i) { return SCALAR ? i : V_START[i]; }
// Whether body i's joint mimics another's, whose places in q and v it shares; and its velocity and coordinate from that
// one's x.
__device__ __forceinline__ bool follows(int i) { return HAS_MIMIC && FOLLOWS[i]; }
template <typename Real> __device__ __forceinline__ Real own_rate(int i, Real x) {
    return HAS_MIMIC ? Real(FACTOR[i]) * x : x;
}
template <typename Real> __device__ __forceinline__ Real own_position(int i, Real x) {
    return HAS_MIMIC ? Real(FACTOR[i]) * x + Real(OFFSET[i]) : x;
}
// Whether the next body is a child of i: then sweeps pass results in registers.
__device__ __forceinline__ bool continues(int i) { return i + 1 < BODIES && (SERIAL || PARENT[i + 1] == i); }
// Whether i has children other than the next body, and so `BRANCH_SLOTS`.
__device__ __forceinline__ bool branches(int i) { return !SERIAL && BRANCH[i] >= 0; }
// Whether i is the last child of its parent, the first in an inward sweep.
__device__ __forceinline__ bool is_last(int i) { return SERIAL || LAST[i]; }

// The slots of a body, as numbered by tree.py. With one coordinate: sine and cosine of the angle, or the displacement;
// a wrench, later U, with 1/D on the joint's own axis; the force, later u; with `ADDITIONS`, U on that axis.
static_assert(WRENCH == JOINT + 2 && EFFORT == WRENCH + 6 && OWN_U == EFFORT + 1 && BODY_SLOTS == OWN_U + ADDITIONS);
// On a ball joint: x and y of its quaternion; a wrench, later U of the first axis; the forces about the three, later u;
// U of the two others; z and w; with `ADDITIONS`, each axis's U on itself.
static_assert(BALL_U == EFFORT + 3 && BALL_ZW == BALL_U + 12 && BALL_OWN_U == BALL_ZW + 2 &&
              BALL_SLOTS == BALL_OWN_U + 3 * ADDITIONS);
// On a free joint: position and quaternion; a wrench, later the acceleration; and six for force and q̈.
static_assert(FREE_WRENCH == JOINT + 7 && FREE_EFFORT == FREE_WRENCH + 6 && FREE_SLOTS == FREE_EFFORT + 6);
// Branch slots: the twist and acceleration passed to several children, and the inertia and wrench summed over them.
static_assert(BRANCH_SLOTS == 21 + 6);

__device__ __forceinline__ int first_slot(int i) { return SCALAR ? BODY_SLOTS * i : FIRST_SLOT[i]; }
// The slot of U of axis j of a ball joint.
__device__ __forceinline__ int axis_slot(int i, int j) {
    return first_slot(i) + (j == 0 ? WRENCH : BALL_U + 6 * (j - 1));
}
__device__ __forceinline__ int branch_slot(int i) { return BRANCH_START + BRANCH_SLOTS * BRANCH[i]; }

// The numbers of one robot, interleaved over the threads of a block with `PITCH`.
template <typename Real, int PITCH> struct Slots {
    Real* first;

    __device__ __forceinline__ Real& operator()(int slot) const { return first[slot * PITCH]; }
    __device__ __forceinline__ Vector<Real> vector(int s) const { return {(*this)(s), (*this)(s + 1), (*this)(s + 2)}; }
    __device__ __forceinline__ void store(int s, Vector<Real> x) const {
        (*this)(s) = x.x, (*this)(s + 1) = x.y, (*this)(s + 2) = x.z;
    }
    __device__ __forceinline__ Motion<Real> motion(int s) const { return {vector(s), vector(s + 3)}; }
    __device__ __forceinline__ Force<Real> force(int s) const { return {vector(s), vector(s + 3)}; }
    __device__ __forceinline__ void store(int s, const Motion<Real>& x) const { store(s, x.o), store(s + 3, x.v); }
    __device__ __forceinline__ void store(int s, const Force<Real>& x) const { store(s, x.n), store(s + 3, x.f); }
    __device__ __forceinline__ Symmetric<Real> symmetric(int s) const {
        return {(*this)(s), (*this)(s + 1), (*this)(s + 2), (*this)(s + 3), (*this)(s + 4), (*this)(s + 5)};
    }
    __device__ __forceinline__ void store(int s, const Symmetric<Real>& x) const {
        store(s, Vector<Real>{x.xx, x.xy, x.xz}), store(s + 3, Vector<Real>{x.yy, x.yz, x.zz});
    }
    __device__ __forceinline__ Inertia<Real> inertia(int s) const {
        return {symmetric(s), {vector(s + 6), vector(s + 9), vector(s + 12)}, symmetric(s + 15)};
    }
    __device__ __forceinline__ void store(int s, const Inertia<Real>& x) const {
        store(s, x.A), store(s + 6, x.B.x), store(s + 9, x.B.y), store(s + 12, x.B.z), store(s + 15, x.C);
    }
};

// The robot's constants, (n + 1, CONSTANTS) in the layout of engine/model/layout.py; robot index innermost where each
// robot has its own, `stride` apart.
template <typename Real, bool OWN> struct Constants {
    const Real* first;
    int stride;

    __device__ __forceinline__ Real operator()(int i, int k) const {
        constexpr int WIDTH = packed::CONSTANTS;
        return first[OWN ? ((long long)WIDTH * i + k) * stride : WIDTH * i + k];
    }
    __device__ __forceinline__ Pose<Real> home(int i) const {
        return packed_home<Real>([&](int k) { return (*this)(i, k); });
    }
    __device__ __forceinline__ Body<Real> body(int i) const {
        return packed_body<Real>([&](int k) { return (*this)(i, k); });
    }
    __device__ __forceinline__ Vector<Real> gravity() const {
        return {(*this)(BODIES, 0), (*this)(BODIES, 1), (*this)(BODIES, 2)};
    }
};

// The external wrenches on one robot's bodies, of (bodies, 6, batch); `first` is the robot's first number.
template <typename Real> struct BodyWrenches {
    const Real* first;
    int batch;

    __device__ __forceinline__ Force<Real> operator()(int i) const {
        const auto at = [&](int k) { return first[(size_t(i) * 6 + k) * batch]; };
        return {{at(0), at(1), at(2)}, {at(3), at(4), at(5)}};
    }
};

// T_i from the results of `kinematics`.
template <typename Real, class Memory, class Robot>
__device__ __forceinline__ Pose<Real> pose(int i, const Memory& at, const Robot& robot) {
    const Pose<Real> home = robot.home(i);
    const int s = first_slot(i) + JOINT;
    if (kind(i) == REVOLUTE) return turned_about_z(home, at(s), at(s + 1));
    if (kind(i) == PRISMATIC) return shifted_along_z(home, at(s));
    if constexpr (HAS_BALLS) {
        if (is_ball(i)) {
            const Quaternion<Real> turn = {at(s), at(s + 1), at(s + BALL_ZW), at(s + BALL_ZW + 1)};
            return {matmul(home.R, rotation_from_quaternion(turn)), home.p};
        }
    }
    const Quaternion<Real> turn = {at(s + 3), at(s + 4), at(s + 5), at(s + 6)};
    return {matmul(home.R, rotation_from_quaternion(turn)), home.p + mul(home.R, at.vector(s))};
}
