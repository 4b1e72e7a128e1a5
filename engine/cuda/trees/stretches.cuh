// A warp's work on a chunk of a stretch, successive bodies with known shares of their other children: the passes of
// chains/dca.cuh, a lane per velocity. A ball joint has three lanes: massless links but for the last, with axes fixed
// in that body.
#pragma once

#include "trees/bodies.cuh"

// A lane's link of a chunk, in the frame of the body before the chunk.
template <typename Real> struct OnStretch {
    int body, velocity;  // its place, and its velocity's index in v
    bool here, last;  // whether the lane has a link; whether it is the last one of its body
    Pose<Real> T;
    Motion<Real> S;
};

template <typename Real>
__device__ __forceinline__ OnStretch<Real> on_stretch(const Tree<Real>& tree, int first, int length, int lane) {
    OnStretch<Real> x = {};
    x.here = lane < length;
    const int code = tree.links[first + (x.here ? lane : 0)], which = code & 3;
    x.body = code >> 2;
    x.velocity = tree.v_start(x.body) + which;
    x.last = x.here && (tree.kind(x.body) != SPHERICAL || which == 2);
    return x;
}
// S, given T.
FUNCTION Motion<Real> axis_of(const Tree<Real>& tree, const OnStretch<Real>& x) {
    const int kind = tree.kind(x.body), which = x.velocity - tree.v_start(x.body);
    const Matrix<Real>& R = x.T.R;
    const Vector<Real> first = {R.x.x, R.y.x, R.z.x}, second = {R.x.y, R.y.y, R.z.y}, third = {R.x.z, R.y.z, R.z.z};
    const Vector<Real> axis = kind != SPHERICAL || which == 2 ? third : which == 1 ? second : first, none = {0, 0, 0};
    return kind == PRISMATIC ? Motion<Real>{none, axis} : Motion<Real>{axis, cross(x.T.p, axis)};
}

// Load the chunk's links into the warp's shared memory. Returns a' of the lane's body, as needed for the last link by
// `pass` and `articulate`.
template <typename Real>
__device__ __forceinline__ Motion<Real> gather_chunk(const Tree<Real>& tree, OnStretch<Real>& x, Link<Real>* link,
                                                     int first, int length, int lane) {
    const int which = x.velocity - tree.v_start(x.body);
    x.T = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {0, 0, 0}};
    if (x.here && which == 0) x.T = tree.template get<Pose<Real>>(POSE, x.body);
    x.T = scanned<Real>(x.T, lane, length, [](const Pose<Real>& a, const Pose<Real>& b) { return then(a, b); });
    x.S = axis_of(tree, x);
    const Real rate = x.here ? tree.v[x.velocity] : Real(0);
    const Motion<Real> joint = {rate * x.S.o, rate * x.S.v}, before = tree.twist(tree.parent(tree.links[first] >> 2));
    const auto sum = [](const Motion<Real>& a, const Motion<Real>& b) { return a + b; };
    Motion<Real> V = scanned<Real>(joint, lane, length, sum) + before;
    if (BALLS) V = from_lane<Real>(V, tree.kind(x.body) == SPHERICAL ? lane + 2 - which : lane);
    const Motion<Real> a = scanned<Real>(velocity_product(V, joint), lane, length, sum);
    if (x.here) {
        Inertia<Real> I = {};
        Force<Real> p = {};
        if (x.last) {
            const Body<Real> J = body_to_parent(x.T, tree.body(x.body));
            I = full(J), p = wrench(J, V, a);
            if constexpr (HAS_WRENCHES) p = p - force_to_parent(x.T, tree.external(x.body));
            if (tree.first_share[x.body] < tree.first_share[x.body + 1]) {
                const Share<Real> beside = shares_of(tree, x.body);
                const Inertia<Real> more = inertia_to_parent(x.T, beside.I);
                I = I + more, p = p + force_to_parent(x.T, beside.p) + times(more, a);
            }
        }
        Link<Real>& at = link[lane];
        at.J[0] = {I.A.xx, I.A.xy, I.A.xz, I.B.x.x, I.B.x.y, I.B.x.z};
        at.J[1] = {I.A.xy, I.A.yy, I.A.yz, I.B.y.x, I.B.y.y, I.B.y.z};
        at.J[2] = {I.A.xz, I.A.yz, I.A.zz, I.B.z.x, I.B.z.y, I.B.z.z};
        at.J[3] = {I.B.x.x, I.B.y.x, I.B.z.x, I.C.xx, I.C.xy, I.C.xz};
        at.J[4] = {I.B.x.y, I.B.y.y, I.B.z.y, I.C.xy, I.C.yy, I.C.yz};
        at.J[5] = {I.B.x.z, I.B.y.z, I.B.z.z, I.C.xz, I.C.yz, I.C.zz};
        at.J[6] = six(p);
        at.S = six(x.S);
        const Six<Real> JS = six(times(I, x.S));
#pragma unroll
        for (int k = 0; k < 6; ++k) at.JS[k] = JS[k];
        at.JS[6] = dot(p, x.S) - tree.tau[x.velocity];
#if ADDITIONS
        at.added_inertia = tree.added_inertia[x.velocity];
        at.target = tree.target[x.velocity], at.held = tree.held[x.velocity];
#endif
    }
    __syncwarp();
    return a;
}

// The chunk of `length` links from `first` on: as the element `out`; or, if all beyond it is known, as the element
// `beyond` or nothing, its joints, its share for the body before, and the map of accelerations `map`.
template <typename Real>
__device__ __forceinline__ void reduce_chunk(const Tree<Real>& tree, Link<Real>* link, int first, int length, int out,
                                             int lane) {
    OnStretch<Real> x = on_stretch(tree, first, length, lane);
    const Motion<Real> a = gather_chunk(tree, x, link, first, length, lane);
    const Pose<Real> end = from_lane<Real>(x.T, length - 1);
    reduce(link, length, end, from_lane<Real>(a, length - 1), tree.elements[out], lane);
}
template <typename Real>
__device__ __forceinline__ void articulate_chunk(const Tree<Real>& tree, Link<Real>* link, int first, int length,
                                                 int beyond, int map, int lane) {
    OnStretch<Real> x = on_stretch(tree, first, length, lane);
    const Motion<Real> a = gather_chunk(tree, x, link, first, length, lane), last = from_lane<Real>(a, length - 1);
    const Pose<Real> end = from_lane<Real>(x.T, length - 1);
    const Six<Real> row = articulate(link, length, end, last, beyond < 0 ? nullptr : tree.elements + beyond, lane);
    // the share's numbers by rows: A and C above their diagonals, B whole
    Real* share = tree.numbers + size_t(SHARE) * tree.stride + (tree.links[first] >> 2);
#pragma unroll
    for (int j = 0; j < 6; ++j) {
        const int r = lane % 3, triangle = r * (5 - r) / 2 + j % 3;
        const bool upper = j % 3 >= r;
        if (lane < 3 && j < 3 && upper) share[triangle * tree.stride] = row[j];
        if (lane < 3 && j >= 3) share[(6 + 3 * r + j - 3) * tree.stride] = row[j];
        if (lane >= 3 && lane < 6 && j >= 3 && upper) share[(15 + triangle) * tree.stride] = row[j];
        if (lane == 6) share[(INERTIA_NUMBERS + j) * tree.stride] = row[j];
    }
    pass(link, length, end, last, tree.maps[map], lane);
    if (x.here) {
        const Real* G = link[lane].G;
        const int which = x.velocity - tree.v_start(x.body);
        Real g = G[6];
#if ADDITIONS
        if (link[lane].held != 0) g += link[lane].D * link[lane].target;
#endif
        tree.put(GAIN + which * 7, x.body, Gain<Real>{{{G[0], G[1], G[2]}, {G[3], G[4], G[5]}}, g});
    }
    if (x.last) tree.put(CHUNK_POSE, x.body, x.T), tree.put(BIAS, x.body, a);
}

// q̈, or a held joint's reaction, and the accelerations of a chunk's bodies, from that of the body at place `parent`,
// which `map` carries to the chunk.
template <typename Real>
__device__ __forceinline__ void accelerate_chunk(const Tree<Real>& tree, int first, int length, int map, int parent,
                                                 int lane) {
    OnStretch<Real> x = on_stretch(tree, first, length, lane);
    Six<Real> carried = six(tree.acceleration(parent));
    if (map >= 0) apply(tree.maps[map], carried, lane);
    const Motion<Real> before = {{carried[0], carried[1], carried[2]}, {carried[3], carried[4], carried[5]}};
    Motion<Real> drive = {};
    if (x.here) {
        const Gain<Real> gain = tree.template get<Gain<Real>>(GAIN + (x.velocity - tree.v_start(x.body)) * 7, x.body);
        Real rate = dot(gain.G, before) + gain.g;
        x.T = tree.template get<Pose<Real>>(CHUNK_POSE, x.body);
        const Motion<Real> S = axis_of(tree, x);
        tree.qdd[x.velocity] = rate;
#if ADDITIONS
        if (tree.held[x.velocity] != 0) rate = tree.target[x.velocity];  // the result is the reaction
#endif
        drive = {rate * S.o, rate * S.v};
    }
    drive = scanned<Real>(drive, lane, length, [](const Motion<Real>& a, const Motion<Real>& b) { return a + b; });
    if (x.last) {
        const Motion<Real> a = before + drive + tree.template get<Motion<Real>>(BIAS, x.body);
        tree.put(ACCELERATION, x.body, motion_to_child(x.T, a));
    }
}
