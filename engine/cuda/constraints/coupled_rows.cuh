// J of contacts whose rows are not on the path of one body: with mimic joints, whose velocities are those of others,
// and between two bodies of a robot. Its entries are on one path of the rows of M, see joint_space.py.
#pragma once

#include "constraints/row_paths.cuh"
#include "rigid_body/ltdl.cuh"

// Add to the rows of W from k on the motion of body j's joint along the N wrenches F.
template <typename Real, int N, class Room>
__device__ __forceinline__ void add_joint(const Room& room, const Force<Real> (&F)[N], int j, int k) {
    const int first = v_start(j);
#pragma unroll
    for (int r = 0; r < N; ++r) {
        along_axes(j, F[r], [&](int which, Real value) {
            room(Room::W + (k + r) * DEPTH + ROW_LEVEL[first + which] - 1) += own_rate(j, value);
        });
    }
}

// The parent of body j, to which the wrenches on j are transformed.
template <typename Real, int N, class Memory, class Robot>
__device__ __forceinline__ int climb(const Memory& at, const Robot& robot, Force<Real> (&F)[N], int j) {
    if (parent(j) >= 0) {
        const Pose<Real> T = pose<Real>(j, at, robot);
#pragma unroll
        for (int r = 0; r < N; ++r) F[r] = force_to_parent(T, F[r]);
    }
    return parent(j);
}

// J of contact i into its N rows of W, from k on; J v_f into BASE, and the normal velocity before the step into BEFORE.
// Returns whether any velocity moves it along its normal.
template <typename Real, int N, class Memory, class Robot, class Room>
__device__ __forceinline__ bool coupled_jacobian(const Memory& at, const Robot& robot, const Room& room, int i, int k) {
    const int c = room.contact(i), s = shape_of(room, i), tip = SHAPE_TIP[s];
    const Vector<Real> x = room.vector(c + contact::INSIDE);
    Force<Real> F[N];
#pragma unroll
    for (int r = 0; r < N; ++r) {
        const Vector<Real> d = room.vector(c + contact::FRAME + 3 * r);
        F[r] = {cross(x, d), d};
        for (int l = 0; l < ROW_LEVEL[tip]; ++l) room(Room::W + (k + r) * DEPTH + l) = 0;
    }
    int one = SHAPE_BODY[s], other = -1;
    if constexpr (OWN_PAIRS) {
        other = SHAPE_OTHER[s];
        Force<Real> against[N];
#pragma unroll
        for (int r = 0; r < N; ++r) {
            const Vector<Real> d = -room.vector(c + contact::OTHER_FRAME + 3 * r);
            against[r] = {cross(room.vector(c + contact::OTHER_INSIDE), d), d};
        }
#pragma unroll 1
        while (one != other) {  // common ancestors do not move them relative to each other
            if (one > other) add_joint(room, F, one, k), one = climb(at, robot, F, one);
            else add_joint(room, against, other, k), other = climb(at, robot, against, other);
        }
    } else {
#pragma unroll 1
        while (one >= 0) add_joint(room, F, one, k), one = climb(at, robot, F, one);
    }
    Real most = 0;
#pragma unroll
    for (int r = 0; r < N; ++r) {
        Real base = 0, before = 0;
        int l = ROW_LEVEL[tip] - 1;
#pragma unroll 1
        for (int v = tip; v >= 0; v = ROW_PARENT[v], --l) {
            const Real value = room(Room::W + (k + r) * DEPTH + l);
            base += value * room(Room::FREE_V + v);
            if (HAS_RESTITUTION && r == 0) before += value * at(V + v);
            if (MAY_HOLD && r == 0) most = fmax(most, fabs(value));
        }
        room(Room::BASE + k + r) = base;
        if (HAS_RESTITUTION && r == 0) room(Room::BEFORE + i) = before;
    }
    return !MAY_HOLD || most > Real(HELD);
}
