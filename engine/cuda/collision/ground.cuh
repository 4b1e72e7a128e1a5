// Contacts between a robot's points and a plane, as in engine/kernels/collision/ground.py.
#pragma once

#include "collision/contact_workspace.cuh"
#include "rigid_body/limbs.cuh"

// The sine of a rim's tilt below which its points are fixed.
constexpr double FLAT = 1e-3;

// Point `number` of three on a rim about `axis`: the lowest, and a third of a turn to each side. The points of a flat
// rim are fixed.
template <typename Real>
__device__ __forceinline__ Vector<Real> rim_direction(Vector<Real> axis, Vector<Real> n, int number) {
    Vector<Real> across = dot(axis, n) * axis - n;
    Real length = sqrt(dot(across, across));
    if (length < Real(FLAT)) across = tangents(axis).first, length = 1;
    const Vector<Real> e = (1 / length) * across;
    if (number == 0) return e;
    const Real turn = number == 1 ? Real(0.8660254037844386) : Real(-0.8660254037844386);
    return Real(-0.5) * e + turn * cross(axis, e);
}

// Point k in the world: the lowest point of its sphere.
template <typename Real>
__device__ __forceinline__ Vector<Real> surface_point(const Surroundings<Real>& scene, int k, int number,
                                                      const Placed<Real>& body, Vector<Real> n) {
    Vector<Real> x = body.p + mul(body.R, scene.vector_of_point(k, point::POSITION));
    if constexpr (HAS_RIMS) {
        const Real rim = scene.of_point(k, point::RIM);
        if (rim > 0) {  // in the body's frame, where a flat rim's points are fixed
            const Vector<Real> axis = scene.vector_of_point(k, point::AXIS);
            x = x + mul(body.R, rim * rim_direction(axis, mul_t(body.R, n), number % 3));
        }
    }
    return x - scene.of_point(k, point::RADIUS) * n;
}

// A contact's place on the ground's surface, the normal there, and the gap.
template <typename Real> struct Nearest {
    Vector<Real> x, n;
    Real gap;
};
template <typename Real>
__device__ __forceinline__ Nearest<Real> nearest(const Surroundings<Real>& scene, int k, int number,
                                                 const Placed<Real>& body) {
    const Vector<Real> n = {scene.ground[0], scene.ground[1], scene.ground[2]};
    const Vector<Real> x = surface_point(scene, k, number, body, n);
    const Real gap = dot(n, x) - scene.ground[3];
    return {x - gap * n, n, gap};
}

// Twice the signed area of a triangle seen along n.
template <typename Real>
__device__ __forceinline__ Real area(Vector<Real> a, Vector<Real> b, Vector<Real> c, Vector<Real> n) {
    return dot(n, cross(b - a, c - a));
}

// The gain of a further point over the `count` kept ones at place(0) and so on: distance, then area.
template <typename Real, class Place>
__device__ __forceinline__ Real worth(const Place& place, int count, Vector<Real> x, Vector<Real> n) {
    const Vector<Real> a = place(0), d = x - a;
    if (count == 1) return dot(d, d);
    const Vector<Real> b = place(1);
    const Real here = area(a, b, x, n);
    if (count == 2) return fabs(here);
    const Vector<Real> c = place(2);
    const Real turn = area(a, b, c, n) >= 0 ? Real(-1) : Real(1);  // outside the triangle: area at its widest side
    return fmax(fmax(turn * here, turn * area(b, c, x, n)), turn * area(c, a, x, n));
}

// Whether a point adds more than the best before it, beyond rounding.
template <typename Real> __device__ __forceinline__ bool adds_more(Real worth, Real best) {
    return worth > best + Real(1e-6) * fabs(best);
}

template <typename Real, class Workspace>
__device__ __forceinline__ void put_contact(const Workspace& ws, int slot, int k, int s, const Nearest<Real>& at,
                                            const Placed<Real>& body) {
    const int c = Workspace::FOUND + contact::NUMBERS * slot;
    ws(c + contact::POINT) = Real(k), ws(c + contact::SHAPE) = Real(s), ws(c + contact::GAP) = at.gap;
    ws.store(c + contact::PLACE, at.x), ws.store(c + contact::NORMAL, at.n);
    ws.store(c + contact::INSIDE, mul_t(body.R, at.x - body.p));
    const Tangents<Real> t = tangents(at.n);
    ws.store(c + contact::FRAME, mul_t(body.R, at.n));
    ws.store(c + contact::FRAME + 3, mul_t(body.R, t.first));
    ws.store(c + contact::FRAME + 6, mul_t(body.R, t.second));
}

// Whether a contact may act within the step.
template <typename Real>
__device__ __forceinline__ bool comes_near(const Nearest<Real>& at, const Placed<Real>& body, Real dt) {
    const Real descent = dt * fmax(-dot(at.n, body.velocity + cross(body.omega, at.x - body.p)), Real(0));
    return at.gap <= Real(CONTACT_MARGIN) + 2 * descent;
}

// The contacts of shape s from slot `total` on. Returns their number. Of more than KEPT points: the deepest, the
// farthest from it, and those that widen the area most.
template <typename Real, class Workspace>
__device__ __forceinline__ int shape_contacts(const Surroundings<Real>& scene, int s, const Placed<Real>& body, Real dt,
                                              const Workspace& ws, int total) {
    const int first = int(scene.of_shape(s, shape::FIRST)), many = int(scene.of_shape(s, shape::COUNT));
    const int place = Workspace::FOUND + contact::NUMBERS * total;
    const auto comes = [&](const Nearest<Real>& at) { return comes_near(at, body, dt); };
    int kept = 0;
    if (many <= KEPT) {
#pragma unroll 1
        for (int number = 0; number < many; ++number) {
            const Nearest<Real> at = nearest<Real>(scene, first + number, number, body);
            if (comes(at)) put_contact(ws, total + kept++, first + number, s, at, body);
        }
        return kept;
    }
    Vector<Real> across = {0, 0, 1};
    const auto kept_at = [&](int c) { return ws.vector(place + contact::NUMBERS * c + contact::PLACE); };
#pragma unroll 1
    while (kept < KEPT) {
        Real best = kept == 0 ? Real(-1e30) : Real(0);
        int found = -1;
#pragma unroll 1
        for (int number = 0; number < many; ++number) {
            const Nearest<Real> at = nearest<Real>(scene, first + number, number, body);
            if (!comes(at)) continue;
            bool taken = false;
            for (int c = 0; c < kept; ++c)
                taken |= int(ws(place + contact::NUMBERS * c + contact::POINT)) == first + number;
            if (taken) continue;
            const Real worth_here = kept == 0 ? -at.gap : worth(kept_at, kept, at.x, across);
            if (adds_more(worth_here, best)) best = worth_here, found = number;
        }
        if (found < 0) break;
        const Nearest<Real> at = nearest<Real>(scene, first + found, found, body);
        put_contact(ws, total + kept, first + found, s, at, body);
        if (kept == 0) across = at.n;
        ++kept;
    }
    return kept;
}

// The number of contacts that may act within a step, from the poses of `kinematics` and the velocities of `joints`: the
// trunk's shapes by the first lane, then those of the limbs, point by point.
template <typename Real, class Joints, class Robot, class Workspace>
__device__ __forceinline__ int limb_touches(const Joints& joints, const Robot& robot, const Surroundings<Real>& scene,
                                            const Workspace& ws, const Group& group) {
    const auto& at = joints.at;
    Placed<Real> body = {};
    Motion<Real> V = {};
    int total = 0;
    const auto place = [&](int i) {
        const int k = v_start(i), above = parent(i);
        const Pose<Real> T = pose<Real>(i, at, robot);
        if (above < 0) {
            V = six<Real>([&](int j) { return joints.v(i, k + j); }), body.R = T.R, body.p = T.p;
        } else {
            if (starts(i)) {
                const int slot = branch_slot(above);
                V = at.motion(slot), body.p = at.vector(slot + 6);
                body.R = {at.vector(slot + 9), at.vector(slot + 12), at.vector(slot + 15)};
            }
            V = motion_to_child(T, V);
            body.p = body.p + mul(body.R, T.p), body.R = matmul(body.R, T.R);
            if (kind(i) == REVOLUTE) V.o.z += joints.v(i, k);
            else V.v.z += joints.v(i, k);
        }
        if (branches(i)) {
            const int slot = branch_slot(i);
            at.store(slot, V), at.store(slot + 6, body.p);
            at.store(slot + 9, body.R.x), at.store(slot + 12, body.R.y), at.store(slot + 15, body.R.z);
        }
        body.omega = mul(body.R, V.o), body.velocity = mul(body.R, V.v);
    };
    group.sync();
    if (group.rank == 0) {
        place(0);
#pragma unroll 1
        for (int s = SHAPE_START[0]; s < SHAPE_START[1]; ++s)
            total += shape_contacts(scene, s, body, joints.dt, ws, total);
    }
    group.sync();
    total = group.first(total);
#pragma unroll 1
    for (int n = 0; n < LIMB_MOST; ++n) {
        const int i = LIMB_FIRST[group.rank] + n;
        const bool own = i < LIMB_FIRST[group.rank + 1];
        if (own) place(i);
        const int end = own ? SHAPE_START[i + 1] : 0;
#pragma unroll 1
        for (int s = own ? SHAPE_START[i] : 0; group.any_of_all(s < end); ++s) {
            const int first = s < end ? int(scene.of_shape(s, shape::FIRST)) : 0;
            const int many = s < end ? int(scene.of_shape(s, shape::COUNT)) : 0;
#pragma unroll 1
            for (int number = 0; group.any_of_all(number < many); ++number) {
                Nearest<Real> there = {};
                const bool near = number < many;
                if (near) there = nearest<Real>(scene, first + number, number, body);
                const bool comes = near && comes_near(there, body, joints.dt);
                int all = 0;
                const int slot = total + group.before(comes, all);
                if (comes) put_contact(ws, slot, first + number, s, there, body);
                total += all;
            }
        }
    }
    group.sync();
    return total;
}
