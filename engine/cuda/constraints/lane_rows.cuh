// The rows of a robot's contacts by a whole warp, a lane a row: J from the joint axes in the world, then W.
#pragma once

#include "constraints/contact_rows.cuh"

// The joint axes, in slots that Newton's steps use later: directions, points and the frame of the first body.
template <typename Real, class Workspace> struct Axes {
    static constexpr int FIRST = Workspace::LOWER, ROOT = FIRST + 6 * BODIES;
    static_assert(!LANE_A_BODY || 6 * BODIES + 9 <= FACTOR_SLOTS, "they have ws there");
    const Workspace& ws;

    // From the poses, which are in the slots of W.
    __device__ __forceinline__ Axes(const Workspace& ws, const Group& group) : ws(ws) {
        if (group.rank < BODIES) {
            const Pose<Real> T = pose_of<Real>(ws, Workspace::W + lane_slot::POSE, group.rank);
            ws.store(FIRST + 6 * group.rank, axis_of(T)), ws.store(FIRST + 6 * group.rank + 3, T.p);
            if (group.rank == 0) ws.store(ROOT, T.R.x), ws.store(ROOT + 3, T.R.y), ws.store(ROOT + 6, T.R.z);
        }
        group.sync();
    }
    __device__ __forceinline__ Vector<Real> direction(int i) const { return ws.vector(FIRST + 6 * i); }
    __device__ __forceinline__ Vector<Real> origin(int i) const { return ws.vector(FIRST + 6 * i + 3); }
    __device__ __forceinline__ Matrix<Real> root() const {
        return {ws.vector(ROOT), ws.vector(ROOT + 3), ws.vector(ROOT + 6)};
    }
};

// J into row k of W, for a force d at x on `body`. Returns J v_f.
template <typename Real, class Workspace>
__device__ __forceinline__ Real axis_row(const Axes<Real, Workspace>& axes, int k, int body, Vector<Real> x,
                                         Vector<Real> d) {
    const Workspace& ws = axes.ws;
    Real base = 0;
    const auto put = [&](int v, Real value) {
        ws(Workspace::W + k * DEPTH + ROW_LEVEL[v] - 1) = value;
        base += value * ws(Workspace::FREE_V + v);
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
template <typename Real, class Workspace>
__device__ __forceinline__ void lane_contact_rows(const Surroundings<Real>& scene, const Workspace& ws,
                                                  const RowsOf& rows, int memories, const Group& group) {
    const Axes<Real, Workspace> axes(ws, group);
#pragma unroll 1
    for (int i = group.rank; i < rows.contacts; i += LANES) {
        const Vector<Real> n = ws.vector(ws.contact(i) + contact::NORMAL),
            before = stored_impulse<Real>(ws, i, memories);
        const Tangents<Real> t = tangents(n);
        ws.store(Workspace::TRIED + 3 * i, {dot(n, before), dot(t.first, before), dot(t.second, before)});
        ws(Workspace::MU + i) = scene.of_shape(shape_of(ws, i), shape::FRICTION);
    }
#pragma unroll 1
    for (int k = group.rank; k < 3 * rows.contacts; k += LANES) {
        const int c = ws.contact(k / 3), which = k % 3, body = SHAPE_BODY[shape_of(ws, k / 3)];
        const Vector<Real> n = ws.vector(c + contact::NORMAL);
        const Tangents<Real> t = tangents(n);
        const Vector<Real> d = which == 0 ? n : which == 1 ? t.first : t.second;
        ws(Workspace::B + k) = axis_row(axes, k, body, ws.vector(c + contact::PLACE), d);
    }
}

// W of all rows in place of J, zero beyond their paths, and G's diagonal. Unlike `half_rows`, no lane reads the length
// of its path, since entries beyond it contribute nothing; the lane of a velocity supplies the start of its row of L.
template <typename Real, class Workspace>
__device__ __forceinline__ void lane_half_rows(const Workspace& ws, const RowsOf& rows, const Group& group) {
    const LanePlace place(group);
    const int many = rows.all();
    group.sync();
#pragma unroll 1
    for (int from = 0; from < many; from += WHOLE_WARP) {
        const int k = min(from + group.rank, many - 1), row = Workspace::W + k * DEPTH;
        const int tip = rows.tip(ws, k), depth = hidden(ROW_LEVEL[tip]);
        const LanePath path(max(tip - FREE_NV + 1, 0));
        Real x[DEPTH], own = 0;
#pragma unroll
        for (int l = 0; l < DEPTH; ++l) x[l] = l < FREE_NV || l < depth ? ws(row + l) : Real(0);
        group.sync();
#pragma unroll
        for (int l = DEPTH - 1; l >= 0; --l) {
            const int entry =
                Workspace::FACTOR + 1 + (l < FREE_NV ? ROW_START[l] : of_lane(place.start, path(l - FREE_NV)));
#pragma unroll
            for (int e = 0; e < l; ++e) x[e] -= ws(entry + e) * x[l];
            own += x[l] * x[l] * ws(entry + l);
        }
        if (from + group.rank < many) {
#pragma unroll
            for (int l = 0; l < DEPTH; ++l) ws(row + l) = x[l];
            ws(Workspace::OWN + k) = own;
        }
    }
}
