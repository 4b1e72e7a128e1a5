// Contacts between a robot's points and a plane by a whole warp: a lane per body for poses, a lane per
// point for gaps, a lane per shape for the selection of its points, and a lane per contact for its numbers.
#pragma once

#include "collision/ground.cuh"
#include "rigid_body/lane_bodies.cuh"

// Exchange slots of the lanes, from a slot of the workspace on: the bodies' poses and twists in the world; each point's
// place and gap.
namespace lane_slot {
constexpr int POSE = 0, OMEGA = POSE + POSE_NUMBERS * WHOLE_WARP, VELOCITY = OMEGA + 3 * WHOLE_WARP,
              POINT = POSE + PLACED_NUMBERS * WHOLE_WARP, POINT_NUMBERS = 4, NUMBERS = POINT + POINT_NUMBERS * POINTS;
static_assert(!LANE_A_BODY || NUMBERS == LANE_SLOTS, "what contacts.py makes room for");
}
constexpr double OUT_OF_REACH = 1e30;  // a gap

template <typename Real, class Workspace>
__device__ __forceinline__ Placed<Real> placed_body(const Workspace& ws, int first, int i) {
    const Pose<Real> T = pose_of<Real>(ws, first + lane_slot::POSE, i);
    return {T.R, T.p, vector_of<Real>(ws, first + lane_slot::OMEGA + i),
            vector_of<Real>(ws, first + lane_slot::VELOCITY + i)};
}

// The poses and twists of all bodies in the world.
template <typename Real, class Joints, class Robot, class Workspace>
__device__ __forceinline__ void place_bodies(const Joints& joints, const Robot& robot, const Workspace& ws, int first,
                                             const Group& group) {
    const bool own = group.rank < BODIES;
    const int i = own ? group.rank : BODIES - 1, k = v_start(i);
    const Pose<Real> T = pose<Real>(i, joints.at, robot);
    Matrix<Real> R = T.R;
    Vector<Real> p = T.p;
    lane_ascent(group, [&](int from, bool any) {
        const Matrix<Real> turn = of_lane(R, from);
        const Vector<Real> origin = of_lane(p, from);
        if (any) p = origin + mul(turn, p), R = matmul(turn, R);
    });
    // each joint's contribution to the twist, about the first body's origin
    const Vector<Real> arm = p - of_lane(p, 0);
    Motion<Real> V;
    if (i == 0) {
        V = six<Real>([&](int j) { return joints.v(i, k + j); });
        V = {mul(R, V.o), mul(R, V.v)};
    } else {
        const Vector<Real> rate = joints.v(i, k) * Vector<Real>{R.x.z, R.y.z, R.z.z};
        V = kind(i) == REVOLUTE ? Motion<Real>{rate, cross(arm, rate)} : Motion<Real>{{}, rate};
    }
    V = summed(V, group);
    group.sync();
    if (own) {
        put_pose(ws, first + lane_slot::POSE, i, R, p);
        const auto store = [&](int slot, Vector<Real> x) {
            ws(slot + i) = x.x, ws(slot + WHOLE_WARP + i) = x.y, ws(slot + 2 * WHOLE_WARP + i) = x.z;
        };
        store(first + lane_slot::OMEGA, V.o), store(first + lane_slot::VELOCITY, V.v + cross(V.o, arm));
    }
    group.sync();
}

// The selected points of a shape, at most KEPT of the `many` nearby ones from `start` on.
struct KeptPoints {
    int count, first, second, third, fourth;

    __device__ __forceinline__ void add(int number) {
        if (count == 0) first = number;
        else if (count == 1) second = number;
        else if (count == 2) third = number;
        else fourth = number;
        ++count;
    }
    __device__ __forceinline__ int operator()(int n) const {
        return n == 0 ? first : n == 1 ? second : n == 2 ? third : fourth;
    }
    __device__ __forceinline__ bool has(int number) const {
        return (count > 0 && first == number) || (count > 1 && second == number) || (count > 2 && third == number);
    }
};
template <typename Real, class Workspace>
__device__ __forceinline__ KeptPoints kept_points(const Surroundings<Real>& scene, const Workspace& ws, int slots,
                                                  int start, int many) {
    static_assert(KEPT == 4, "as many as KeptPoints has");
    KeptPoints kept = {};
    const Vector<Real> n = {scene.ground[0], scene.ground[1], scene.ground[2]};
    const auto gap = [&](int number) { return ws(slots + lane_slot::POINT_NUMBERS * (start + number) + 3); };
    const auto place = [&](int number) { return ws.vector(slots + lane_slot::POINT_NUMBERS * (start + number)); };
    if (many <= KEPT) {
        for (int number = 0; number < many; ++number) {
            if (gap(number) < Real(OUT_OF_REACH)) kept.add(number);
        }
        return kept;
    }
#pragma unroll 1
    while (kept.count < KEPT) {
        Real best = kept.count == 0 ? Real(-OUT_OF_REACH) : Real(0);
        int found = -1;
#pragma unroll 1
        for (int number = 0; number < many; ++number) {
            if (!(gap(number) < Real(OUT_OF_REACH)) || kept.has(number)) continue;
            const Real here =
                kept.count == 0 ? -gap(number)
                                : worth([&](int c) { return place(kept(c)); }, kept.count, place(number), n);
            if (adds_more(here, best)) best = here, found = number;
        }
        if (found < 0) break;
        kept.add(found);
    }
    return kept;
}

// The number of contacts that may act within a step; the contacts are stored in `found`. The exchange slots are in
// `ws`, from `first` on.
template <typename Real, class Joints, class Robot, class Found, class Workspace>
__device__ __forceinline__ int lane_touches(const Joints& joints, const Robot& robot, const Surroundings<Real>& scene,
                                            const Found& found, const Workspace& ws, int first, const Group& group) {
    place_bodies<Real>(joints, robot, ws, first, group);
    const int points = first + lane_slot::POINT;
    bool any = false;
#pragma unroll 1
    for (int k = group.rank; k < POINTS; k += WHOLE_WARP) {
        const int s = POINT_SHAPE[k], slot = points + lane_slot::POINT_NUMBERS * k;
        const Placed<Real> body = placed_body<Real>(ws, first, SHAPE_BODY[s]);
        const Nearest<Real> there = nearest<Real>(scene, k, k - int(scene.of_shape(s, shape::FIRST)), body);
        const bool near = comes_near(there, body, joints.dt);
        ws.store(slot, there.x), ws(slot + 3) = near ? there.gap : Real(OUT_OF_REACH);
        any |= near;
    }
    if (!group.any(any)) return 0;
    group.sync();
    int total = 0;
#pragma unroll 1
    for (int from = 0; from < SHAPES; from += WHOLE_WARP) {
        const int s = min(from + group.rank, SHAPES - 1), start = int(scene.of_shape(s, shape::FIRST));
        const int many = from + group.rank < SHAPES ? int(scene.of_shape(s, shape::COUNT)) : 0;
        const KeptPoints kept = kept_points(scene, ws, points, start, many);
        int before = 0, all = 0;
#pragma unroll
        for (int n = 0; n < KEPT; ++n) {
            int those = 0;
            before += group.before(n < kept.count, those), all += those;
        }
#pragma unroll 1
        for (int n = 0; n < kept.count; ++n) {
            const int c = contact::NUMBERS * (total + before + n);
            found(c + contact::POINT) = Real(start + kept(n)), found(c + contact::SHAPE) = Real(s);
        }
        total += all;
    }
    group.sync();
    const Vector<Real> n = {scene.ground[0], scene.ground[1], scene.ground[2]};
#pragma unroll 1
    for (int c = group.rank; c < total; c += WHOLE_WARP) {
        const int k = int(found(contact::NUMBERS * c + contact::POINT)),
            s = int(found(contact::NUMBERS * c + contact::SHAPE));
        const int slot = points + lane_slot::POINT_NUMBERS * k;
        put_contact(found, c, k, s, Nearest<Real>{ws.vector(slot), n, ws(slot + 3)},
                    placed_body<Real>(ws, first, SHAPE_BODY[s]));
    }
    group.sync();
    return total;
}
