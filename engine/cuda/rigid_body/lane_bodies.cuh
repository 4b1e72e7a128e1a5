// The tree passes of one robot by a whole warp, a lane per body, in logarithmic time: outwards by pointer doubling
// along ancestors, inwards by doubling over subtrees, which are consecutive lanes. The first body is free, all others
// have one coordinate. engine/cuda/rigid_body/lane_bodies.py has the tables.
#pragma once

#include "rigid_body/group.cuh"
#include "rigid_body/ltdl.cuh"

constexpr int WHOLE_WARP = 32;
constexpr bool LANE_A_BODY = LANES == WHOLE_WARP;
constexpr unsigned ALL_LANES = ~0u;

FUNCTION Real of_lane(Real x, int lane) { return __shfl_sync(ALL_LANES, x, lane); }
FUNCTION Vector<Real> of_lane(Vector<Real> x, int lane) {
    return {of_lane(x.x, lane), of_lane(x.y, lane), of_lane(x.z, lane)};
}
FUNCTION Matrix<Real> of_lane(Matrix<Real> x, int lane) {
    return {of_lane(x.x, lane), of_lane(x.y, lane), of_lane(x.z, lane)};
}
FUNCTION Motion<Real> of_lane(Motion<Real> x, int lane) { return {of_lane(x.o, lane), of_lane(x.v, lane)}; }
FUNCTION Force<Real> of_lane(Force<Real> x, int lane) { return {of_lane(x.n, lane), of_lane(x.f, lane)}; }
FUNCTION Body<Real> of_lane(Body<Real> x, int lane) {
    const Vector<Real> a = {x.I.xx, x.I.xy, x.I.xz}, b = {x.I.yy, x.I.yz, x.I.zz};
    const Vector<Real> c = of_lane(a, lane), d = of_lane(b, lane);
    return {of_lane(x.m, lane), of_lane(x.h, lane), {c.x, c.y, c.z, d.x, d.y, d.z}};
}

// Poses of all bodies, interleaved over lanes, from slot `first` of a robot's workspace on, followed by the twists of
// their frames in the world.
constexpr int POSE_NUMBERS = 12, PLACED_NUMBERS = POSE_NUMBERS + 6;
template <typename Real, class Workspace>
__device__ __forceinline__ void put_pose(const Workspace& ws, int first, int i, const Matrix<Real>& R, Vector<Real> p) {
    const Vector<Real> of[4] = {R.x, R.y, R.z, p};
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        const int slot = first + 3 * r * WHOLE_WARP + i;
        ws(slot) = of[r].x, ws(slot + WHOLE_WARP) = of[r].y, ws(slot + 2 * WHOLE_WARP) = of[r].z;
    }
}
template <typename Real, class Workspace>
__device__ __forceinline__ Vector<Real> vector_of(const Workspace& ws, int slot) {
    return {ws(slot), ws(slot + WHOLE_WARP), ws(slot + 2 * WHOLE_WARP)};
}
template <typename Real, class Workspace>
__device__ __forceinline__ Pose<Real> pose_of(const Workspace& ws, int first, int i) {
    const auto row = [&](int r) { return vector_of<Real>(ws, first + 3 * r * WHOLE_WARP + i); };
    return {{row(0), row(1), row(2)}, row(3)};
}

// Pointer doubling towards the root: join(lane) combines with the lane of the parent, then with the combination found
// there, and so on.
template <class Join> __device__ __forceinline__ void lane_ascent(const Group& group, const Join& join) {
    int above = group.rank < BODIES ? parent(group.rank) : -1;
#pragma unroll 1
    for (int reach = 1; reach < TREE_LEVELS; reach *= 2) {
        const int from = max(above, 0), next = of_lane(above, from);
        join(from, above >= 0);
        above = above >= 0 ? next : -1;
    }
}
// The sum of x over each body's path from the first body.
FUNCTION Motion<Real> summed(Motion<Real> x, const Group& group) {
    lane_ascent(group, [&](int from, bool any) {
        const Motion<Real> more = of_lane(x, from);
        if (any) x = x + more;
    });
    return x;
}

// A body and its force, expressed about a common point.
template <typename Real> struct LaneLoad {
    Body<Real> body;
    Force<Real> force;
};
FUNCTION LaneLoad<Real> operator+(const LaneLoad<Real>& a, const LaneLoad<Real>& b) {
    return {a.body + b.body, a.force + b.force};
}
FUNCTION LaneLoad<Real> of_lane(const LaneLoad<Real>& x, int lane) {
    return {of_lane(x.body, lane), of_lane(x.force, lane)};
}
// The sum of x over the subtree of each lane's body, which is a range of lanes, from sums of 1, 2, 4 … lanes.
FUNCTION LaneLoad<Real> hanging(LaneLoad<Real> x, const Group& group) {
    const int v = group.rank + 5, many = group.rank == 0 ? BODIES : group.rank < BODIES ? END_OF_SUBTREE[v] - v : 0;
    LaneLoad<Real> total = {};
    int from = group.rank;
#pragma unroll 1
    for (int reach = 1; reach <= BODIES; reach *= 2) {
        const LaneLoad<Real> more = of_lane(x, from % WHOLE_WARP), next = of_lane(x, (group.rank + reach) % WHOLE_WARP);
        if (many & reach) total = total + more, from += reach;
        x = x + next;
    }
    return total;
}

// The axis of the joint of a body.
FUNCTION Vector<Real> axis_of(const Pose<Real>& T) { return {T.R.x.z, T.R.y.z, T.R.z.z}; }

// The component, along joint j, of a force f at x with couple n; the axis has direction a through o.
FUNCTION Real along_axis(int j, Vector<Real> a, Vector<Real> o, Vector<Real> x, Vector<Real> n, Vector<Real> f) {
    return kind(j) == REVOLUTE ? dot(a, n + cross(x - o, f)) : dot(a, f);
}

// The components of a wrench F about x along the six coordinates of the first body, whose pose is `root`, passed to
// put(r, value).
template <typename Real, class Put>
__device__ __forceinline__ void along_root(const Pose<Real>& root, Vector<Real> x, const Force<Real>& F,
                                           const Put& put) {
    along_axes(0, Force<Real>{mul_t(root.R, F.n + cross(x - root.p, F.f)), mul_t(root.R, F.f)}, put);
}

// [Y] (2a)–(2d) and M: take(k, τ) for velocity k, enter(k, l, value) for the entry of M in row k and column l ≤ k. The
// poses in the world are stored in `ws` from slot `poses` on, with the twists. Bodies are expressed along the world's
// axes, and summed about the first body's origin.
template <typename Real, class Given, class Workspace, class Robot, class Take, class Enter>
__device__ __forceinline__ void lane_loads(const Given& given, const Workspace& ws, int poses, const Robot& robot,
                                           const Group& group, const Take& take, const Enter& enter) {
    const bool own = group.rank < BODIES;
    const int i = own ? group.rank : BODIES - 1, k = v_start(i);
    const Pose<Real> here = pose_of<Real>(ws, poses, i);
    const Vector<Real> axis = axis_of(here), arm = here.p - of_lane(here.p, 0);
    const bool turns = kind(i) == REVOLUTE;
    const int twists = poses + POSE_NUMBERS * WHOLE_WARP + i;
    const Motion<Real> V = {vector_of<Real>(ws, twists), vector_of<Real>(ws, twists + 3 * WHOLE_WARP)};
    // each joint's contribution to the acceleration, about the first body's origin
    Motion<Real> a = {{}, -robot.gravity()};
    if (i > 0) {
        const Vector<Real> rate = given.v(i, k) * axis, more = cross(V.o, rate);
        a = turns ? Motion<Real>{more, cross(V.v, rate) - cross(more, arm)} : Motion<Real>{{}, more};
    }
    a = summed(a, group);
    a.v = a.v + cross(a.o, arm);
    Body<Real> J = body_to_parent(Pose<Real>{here.R, {}}, robot.body(i));
    Force<Real> F = wrench(J, V, a);
    if constexpr (Given::HAS_WRENCHES) {
        const Force<Real> push = given.external(i);
        F = F - Force<Real>{mul(here.R, push.n), mul(here.R, push.f)};
    }
    const auto seen_from = [](Vector<Real> r, LaneLoad<Real> x) {
        return LaneLoad<Real>{translate(r, x.body), {x.force.n + cross(r, x.force.f), x.force.f}};
    };
    const LaneLoad<Real> carried = seen_from(-arm, hanging(seen_from(arm, {J, F}), group));
    J = carried.body, F = carried.force;
    if (own && i == 0) along_root(here, here.p, F, take);
    if (own && i > 0) take(k, dot(axis, turns ? F.n : F.f));
    const Body<Real> whole = of_lane(J, 0);
    const Pose<Real> root = pose_of<Real>(ws, poses, 0);
    if (group.rank < 6) {
        const int r = group.rank;
        const Vector<Real> unit = mul(root.R, Vector<Real>{Real(r % 3 == 0), Real(r % 3 == 1), Real(r % 3 == 2)});
        along_root(root, root.p, momentum(whole, r < 3 ? Motion<Real>{unit, {}} : Motion<Real>{{}, unit}),
                   [&](int l, Real value) { enter(r, l, value); });
    }
    if (own && i > 0) {
        const Force<Real> unit = momentum(J, turns ? Motion<Real>{axis, {}} : Motion<Real>{{}, axis});
        enter(k, k, dot(axis, turns ? unit.n : unit.f));
#pragma unroll 1
        for (int j = parent(i); j > 0; j = parent(j)) {
            const Pose<Real> there = pose_of<Real>(ws, poses, j);
            enter(k, v_start(j), along_axis(j, axis_of(there), there.p, here.p, unit.n, unit.f));
        }
        along_root(root, here.p, unit, [&](int l, Real value) { enter(k, l, value); });
    }
    group.sync();
}
