// The rows of a robot's contacts by a whole warp, a lane a row: J from the joint axes in the world, then W.
#pragma once

#include "constraints/contact_rows.cuh"

// The joint axes, in slots that Newton's steps use later: directions, points and the frame of the first body.
template <typename Real, class Room> struct Axes {
    static constexpr int FIRST = Room::LOWER, ROOT = FIRST + 6 * BODIES;
    static_assert(!LANE_A_BODY || 6 * BODIES + 9 <= FACTOR_SLOTS, "they have room there");
    const Room& room;

    // From the poses, which are in the slots of W.
    __device__ __forceinline__ Axes(const Room& room, const Group& group) : room(room) {
        if (group.rank < BODIES) {
            const Pose<Real> T = pose_of<Real>(room, Room::W + lane_slot::POSE, group.rank);
            room.store(FIRST + 6 * group.rank, axis_of(T)), room.store(FIRST + 6 * group.rank + 3, T.p);
            if (group.rank == 0) room.store(ROOT, T.R.x), room.store(ROOT + 3, T.R.y), room.store(ROOT + 6, T.R.z);
        }
        group.sync();
    }
    __device__ __forceinline__ Vector<Real> direction(int i) const { return room.vector(FIRST + 6 * i); }
    __device__ __forceinline__ Vector<Real> origin(int i) const { return room.vector(FIRST + 6 * i + 3); }
    __device__ __forceinline__ Matrix<Real> root() const {
        return {room.vector(ROOT), room.vector(ROOT + 3), room.vector(ROOT + 6)};
    }
};

// J into row k of W, for a force d at x on `body`. Returns J v_f.
template <typename Real, class Room>
__device__ __forceinline__ Real axis_row(const Axes<Real, Room>& axes, int k, int body, Vector<Real> x,
                                         Vector<Real> d) {
    const Room& room = axes.room;
    Real base = 0;
    const auto put = [&](int v, Real value) {
        room(Room::W + k * DEPTH + ROW_LEVEL[v] - 1) = value;
        base += value * room(Room::FREE_V + v);
    };
#pragma unroll 1
    for (int j = body; j > 0; j = parent(j))
        put(v_start(j), along_axis(j, axes.direction(j), axes.origin(j), x, {}, d));
    const Matrix<Real> R = axes.root();
    along_axes(0, Force<Real>{mul_t(R, cross(x - axes.origin(0), d)), mul_t(R, d)}, put);
    return base;
}

// J of contacts in the slots of W, with the last step's impulses, of which there are `memories`. All have friction, and
// the first body moves all.
template <typename Real, class Room>
__device__ __forceinline__ void lane_contact_rows(const Surroundings<Real>& scene, const Room& room, const RowsOf& rows,
                                                  int memories, const Group& group) {
    const Axes<Real, Room> axes(room, group);
#pragma unroll 1
    for (int i = group.rank; i < rows.count; i += LANES) {
        const Vector<Real> n = room.vector(room.contact(i) + contact::NORMAL),
            before = stored_impulse<Real>(room, i, memories);
        const Tangents<Real> t = tangents(n);
        room.store(Room::TRIED + 3 * i, {dot(n, before), dot(t.first, before), dot(t.second, before)});
        room(Room::MU + i) = scene.of_shape(shape_of(room, i), shape::FRICTION);
    }
#pragma unroll 1
    for (int k = group.rank; k < 3 * rows.count; k += LANES) {
        const int c = room.contact(k / 3), which = k % 3, body = SHAPE_BODY[shape_of(room, k / 3)];
        const Vector<Real> n = room.vector(c + contact::NORMAL);
        const Tangents<Real> t = tangents(n);
        const Vector<Real> d = which == 0 ? n : which == 1 ? t.first : t.second;
        room(Room::B + k) = axis_row(axes, k, body, room.vector(c + contact::PLACE), d);
    }
}

// W of all rows in place of J, zero beyond their paths, and G's diagonal. Unlike `half_rows`, no lane reads the length
// of its path, since entries beyond it contribute nothing; the lane of a velocity supplies the start of its row of L.
template <typename Real, class Room>
__device__ __forceinline__ void lane_half_rows(const Room& room, const RowsOf& rows, const Group& group) {
    const LanePlace place(group);
    const int many = rows.all();
    group.sync();
#pragma unroll 1
    for (int from = 0; from < many; from += WHOLE_WARP) {
        const int k = min(from + group.rank, many - 1), row = Room::W + k * DEPTH;
        const int tip = rows.tip(room, k), depth = hidden(ROW_LEVEL[tip]);
        const LanePath path(max(tip - FREE_NV + 1, 0));
        Real x[DEPTH], own = 0;
#pragma unroll
        for (int l = 0; l < DEPTH; ++l) x[l] = l < FREE_NV || l < depth ? room(row + l) : Real(0);
        group.sync();
#pragma unroll
        for (int l = DEPTH - 1; l >= 0; --l) {
            const int entry = Room::FACTOR + 1 + (l < FREE_NV ? ROW_START[l] : of_lane(place.start, path(l - FREE_NV)));
#pragma unroll
            for (int e = 0; e < l; ++e) x[e] -= room(entry + e) * x[l];
            own += x[l] * x[l] * room(entry + l);
        }
        if (from + group.rank < many) {
#pragma unroll
            for (int l = 0; l < DEPTH; ++l) room(row + l) = x[l];
            room(Room::OWN + k) = own;
        }
    }
}
