// The passes of one robot by a whole warp, a lane a body: level by level, each lane takes from that of the body above what its own
// has of it, and inwards from those of the bodies that hang on it. The first body is free, all others have one coordinate.
// engine/cuda/rigid_body/lane_bodies.py has the tables.
#pragma once

#include "rigid_body/group.cuh"
#include "rigid_body/ltdl.cuh"

constexpr int WHOLE_WARP = 32;
constexpr bool LANE_A_BODY = LANES == WHOLE_WARP;
constexpr unsigned ALL_LANES = ~0u;

FUNCTION Real of_lane(Real x, int lane) { return __shfl_sync(ALL_LANES, x, lane); }
FUNCTION Vector<Real> of_lane(Vector<Real> x, int lane) { return {of_lane(x.x, lane), of_lane(x.y, lane), of_lane(x.z, lane)}; }
FUNCTION Matrix<Real> of_lane(Matrix<Real> x, int lane) { return {of_lane(x.x, lane), of_lane(x.y, lane), of_lane(x.z, lane)}; }
FUNCTION Motion<Real> of_lane(Motion<Real> x, int lane) { return {of_lane(x.o, lane), of_lane(x.v, lane)}; }
FUNCTION Force<Real> of_lane(Force<Real> x, int lane) { return {of_lane(x.n, lane), of_lane(x.f, lane)}; }
FUNCTION Body<Real> of_lane(Body<Real> x, int lane) {
    const Vector<Real> a = {x.I.xx, x.I.xy, x.I.xz}, b = {x.I.yy, x.I.yz, x.I.zz};
    const Vector<Real> c = of_lane(a, lane), d = of_lane(b, lane);
    return {of_lane(x.m, lane), of_lane(x.h, lane), {c.x, c.y, c.z, d.x, d.y, d.z}};
}

// Poses of all bodies, each lane's numbers beside those of the next, from slot `first` of a robot's room on.
constexpr int POSE_NUMBERS = 12;
template <typename Real, class Room>
__device__ __forceinline__ void put_pose(const Room& room, int first, int i, const Matrix<Real>& R, Vector<Real> p) {
    const Vector<Real> of[4] = {R.x, R.y, R.z, p};
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        const int slot = first + 3 * r * WHOLE_WARP + i;
        room(slot) = of[r].x, room(slot + WHOLE_WARP) = of[r].y, room(slot + 2 * WHOLE_WARP) = of[r].z;
    }
}
template <typename Real, class Room> __device__ __forceinline__ Vector<Real> vector_of(const Room& room, int slot) {
    return {room(slot), room(slot + WHOLE_WARP), room(slot + 2 * WHOLE_WARP)};
}
template <typename Real, class Room> __device__ __forceinline__ Pose<Real> pose_of(const Room& room, int first, int i) {
    const auto row = [&](int r) { return vector_of<Real>(room, first + 3 * r * WHOLE_WARP + i); };
    return {{row(0), row(1), row(2)}, row(3)};
}

// (2a)–(2d) and M: take(k, τ) for velocity k, enter(i, c, j, F) for the entries of M. Poses go into `room` from slot `poses` on.
template <typename Real, class Memory, class Given, class Room, class Robot, class Take, class Enter>
__device__ __forceinline__ void lane_loads(const Memory& at, const Given& given, const Room& room, int poses, const Robot& robot,
                                           const Group& group, const Take& take, const Enter& enter) {
    const bool own = group.rank < BODIES;
    const int i = own ? group.rank : BODIES - 1, depth = own ? BODY_DEPTH[i] : -1, above = max(parent(i), 0), k = v_start(i);
    const Pose<Real> T = pose<Real>(i, at, robot);
    group.sync();
    if (own) put_pose(room, poses, i, T.R, T.p);
    Motion<Real> V = {}, a = {};
    Real rate = 0;
    if (i == 0) V = six<Real>([&](int j) { return given.v(i, k + j); }), a.v = mul_t(T.R, -robot.gravity());
    else rate = given.v(i, k);
#pragma unroll 1
    for (int level = 1; level < TREE_LEVELS; ++level) {
        const Motion<Real> twist = of_lane(V, above), acceleration = of_lane(a, above);
        if (depth != level) continue;
        V = motion_to_child(T, twist), a = motion_to_child(T, acceleration);
        if (kind(i) == REVOLUTE) {
            V.o.z += rate;
            a.o.x += V.o.y * rate, a.o.y -= V.o.x * rate;
            a.v.x += V.v.y * rate, a.v.y -= V.v.x * rate;
        } else {
            V.v.z += rate;
            a.v.x += V.o.y * rate, a.v.y -= V.o.x * rate;
        }
    }
    Body<Real> J = robot.body(i);
    Force<Real> F = wrench(J, V, a);
    if constexpr (Given::HAS_WRENCHES) F = F - given.external(i);
#pragma unroll 1
    for (int level = TREE_LEVELS - 1; level > 0; --level) {
        const Body<Real> body = body_to_parent(T, J);
        const Force<Real> load = force_to_parent(T, F);
        for (int child = depth == level - 1 ? CHILD[i] : -1; group.any(child >= 0);) {
            const Body<Real> more = of_lane(body, max(child, 0));
            const Force<Real> press = of_lane(load, max(child, 0));
            if (child < 0) continue;
            J = J + more, F = F + press, child = SIBLING[child];
        }
    }
    group.sync();
    if (own) along_axes(i, F, [&](int j, Real force) { take(k + j, force); });
    const Body<Real> whole = of_lane(J, 0);
    if (group.rank < 6) enter(0, group.rank, 0, column(whole, FREE, group.rank));
    if (own && i > 0) {
        Force<Real> f = column(J, kind(i), 0);
        enter(i, 0, i, f);
#pragma unroll 1
        for (int j = i; j > 0;) {
            f = force_to_parent(pose_of<Real>(room, poses, j), f);
            j = parent(j);
            enter(i, 0, j, f);
        }
    }
    group.sync();
}

// x ← L⁻¹ x, the rows of L standing from slot `first` on: x(v) is that of velocity v.
template <typename Real, class Memory, class X>
__device__ __forceinline__ void lane_spread(const Memory& at, int first, const X& x, const Group& group) {
#pragma unroll 1
    for (int e = 1; e < DEPTH; ++e) {
        group.sync();
#pragma unroll
        for (int n = 0; n < (NV + WHOLE_WARP - 1) / WHOLE_WARP; ++n) {
            const int v = group.rank + n * WHOLE_WARP;
            if (v < NV && ROW_LEVEL[v] > e) x(v) -= at(first + ROW_START[v] + e) * x(PATH[v * DEPTH + e - 1]);
        }
    }
    group.sync();
}

// L and 1/D in the place of M, and M⁻¹ b in that of b, as `factor_and_solve` has them: the rows of one level at a time, from the
// tips; an entry of a row is less by what the rows of velocities that hang on it take. Until all is done, entries are those of D L.
// Entry n of the row of velocity i at `level` is given(i, level, n), b's being number nought.
template <typename Real, class Memory, class Given>
__device__ __forceinline__ void lane_factor_and_solve(const Memory& at, int first, const Given& given, const Group& group) {
    // An entry less what the rows from `from` up to `end` take from it.
    const auto less = [&](Real total, int level, int n, int from, int end) {
#pragma unroll 4
        for (int k = from; k < end; ++k) {
            const int row = first + ROW_START[k];
            total -= at(row + level) * at(row + ROW_LEVEL[k]) * at(row + n);
        }
        return total;
    };
    constexpr int FREE_NV = 6;
#pragma unroll 1
    for (int level = DEPTH; level > FREE_NV; --level) {
        const int start = LEVEL_FIRST[level], count = (LEVEL_FIRST[level + 1] - start) * (level + 1);
#pragma unroll 1
        for (int e = group.rank; e < count; e += WHOLE_WARP) {
            const int i = BY_LEVEL[start + e / (level + 1)], n = e % (level + 1);
            const Real total = less(given(i, level, n), level, n, i + 1, END_OF_SUBTREE[i]);
            at(first + ROW_START[i] + n) = n < level ? total : inverse_pivot<Real>(total);
        }
        group.sync();
    }
    // The rows of the first body, whose numbers stand one after the other: what all others take from them, then what they do.
#pragma unroll 1
    for (int e = group.rank; e < ROW_START[FREE_NV]; e += WHOLE_WARP) {
        int level = 1;
#pragma unroll
        for (int t = 1; t < FREE_NV; ++t) level += e >= ROW_START[t];
        const int n = e - ROW_START[level - 1];
        at(first + e) = less(given(level - 1, level, n), level, n, FREE_NV, NV);
    }
#pragma unroll 1
    for (int level = FREE_NV; level > 0; --level) {
        group.sync();
        const int n = group.rank;
        if (n > level) continue;
        const int entry = first + ROW_START[level - 1] + n;
        const Real total = less(at(entry), level, n, level, FREE_NV);
        at(entry) = n < level ? total : inverse_pivot<Real>(total);
    }
    group.sync();
#pragma unroll 1
    for (int v = group.rank; v < NV; v += WHOLE_WARP) {
        const int row = first + ROW_START[v];
        const Real inverse = at(row + ROW_LEVEL[v]);
        at(row) *= inverse;
#pragma unroll 4
        for (int e = 1; e < ROW_LEVEL[v]; ++e) at(row + e) *= inverse;
    }
    lane_spread<Real>(at, first, [&](int v) -> Real& { return at(first + ROW_START[v]); }, group);
}
