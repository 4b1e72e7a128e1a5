// Contacts of a robot's shapes with obstacles and with each other: a broad phase over pairs, then their contacts, as in
// engine/kernels/collision/shape_contacts.py.
#pragma once

#include "collision/pairs.cuh"

template <typename Real> __device__ __forceinline__ Vector<Real> rounded(Place x) { return {Real(x.x), Real(x.y), Real(x.z)}; }
template <typename Real> __device__ __forceinline__ Matrix<Real> rounded(const Turn& R) {
    return {rounded<Real>(R.x), rounded<Real>(R.y), rounded<Real>(R.z)};
}
template <typename Real> __device__ __forceinline__ Place widened(Vector<Real> x) { return {x.x, x.y, x.z}; }

// The frames and velocities of body i's shapes.
template <typename Real, class Room>
__device__ __noinline__ void place_solids(Surroundings<Real> scene, int i, Placed<Real> body, Room room) {
#pragma unroll 1
    for (int s = SOLID_START[i]; s < SOLID_START[i + 1]; ++s) {
        const int at = Room::PLACED + placed::NUMBERS * s;
        const Matrix<Real> R = matmul(body.R, rounded<Real>(scene.solids.rotation(s)));
        const Vector<Real> arm = mul(body.R, rounded<Real>(scene.solids.middle(s)));
        room.store(at, R.x), room.store(at + 3, R.y), room.store(at + 6, R.z);
        room.store(at + placed::POSITION, body.p + mul(body.R, rounded<Real>(scene.solids.position(s))));
        room.store(at + placed::MIDDLE, body.p + arm);
        room.store(at + placed::VELOCITY, body.velocity + cross(body.omega, arm));
        room.store(at + placed::OMEGA, body.omega);
    }
}

// The bounding sphere of a shape: centre, velocity, and radius.
template <typename Real> struct Ball {
    Vector<Real> middle, velocity, omega;
    Real radius;

    // The largest velocity of the shape relative to its centre; and the velocity at x.
    __device__ __forceinline__ Real reach() const { return sqrt(dot(omega, omega)) * radius; }
    __device__ __forceinline__ Vector<Real> at(Vector<Real> x) const { return velocity + cross(omega, x - middle); }
};
template <typename Real, class Room>
__device__ __forceinline__ Ball<Real> ball(const Surroundings<Real>& scene, const Room& room, int s) {
    const int at = Room::PLACED + placed::NUMBERS * s;
    const Real radius = scene.solids.bound(s);
    if (s >= MOVING_SOLIDS) return {rounded<Real>(scene.solids.middle(s)), {}, {}, radius};
    return {room.vector(at + placed::MIDDLE), room.vector(at + placed::VELOCITY), room.vector(at + placed::OMEGA), radius};
}

// The frame of a shape in the world.
struct PlacedSolid {
    Turn R;
    Place p;
};
template <typename Real, class Room>
__device__ __forceinline__ PlacedSolid placed_solid(const Surroundings<Real>& scene, const Room& room, int s) {
    const int at = Room::PLACED + placed::NUMBERS * s;
    if (s >= MOVING_SOLIDS) return {scene.solids.rotation(s), scene.solids.position(s)};
    return {{widened(room.vector(at)), widened(room.vector(at + 3)), widened(room.vector(at + 6))},
            widened(room.vector(at + placed::POSITION))};
}

// A contact's place and rows in the frame of shape s's body, into slots of the workspace.
template <typename Real, class Room>
__device__ __forceinline__ void put_inside(const Surroundings<Real>& scene, const Room& room, int s, Place x, Place n, int inside,
                                           int frame) {
    const PlacedSolid solid = placed_solid(scene, room, s);
    const Turn inner = scene.solids.rotation(s), R = matmul_t(inner, solid.R);
    const Tangents<Real> t = tangents(rounded<Real>(n));
    room.store(inside, rounded<Real>(mul(R, x - solid.p) + scene.solids.position(s)));
    room.store(frame, rounded<Real>(mul(R, n)));
    room.store(frame + 3, rounded<Real>(mul(R, widened(t.first)))), room.store(frame + 6, rounded<Real>(mul(R, widened(t.second))));
}

// Append the contacts of pair k, whose bounding spheres are near, after `total` others. Returns the new total.
template <typename Real, class Room>
__device__ __noinline__ int pair_in_contact(Surroundings<Real> scene, int k, Real reach, Real dt, Room room, int total) {
    const Solids& solids = scene.solids;
    const int one = solids.whole(solid_at::ONE, k), other = solids.whole(solid_at::OTHER, k);
    const bool turned = solids.whole(solid_at::TURNED, k);
    const int first = turned ? other : one, second = turned ? one : other;
    const PlacedSolid a = placed_solid(scene, room, first), b = placed_solid(scene, room, second);
    const Ball<Real> ours = ball(scene, room, one), theirs = ball(scene, room, other);
    const Real twice = turned ? -2 * dt : 2 * dt;
    const Place turn = widened(twice * (ours.omega - theirs.omega));
    const Place drift = widened(twice * (ours.at(rounded<Real>(b.p)) - theirs.at(rounded<Real>(b.p))));
    const Couple pair = {solids, {first, second}, {a.R, b.R}, a.p - b.p, b.p, turn, drift, double(reach), scene.work};
    Found found;
    pair_contacts(pair, found);
#pragma unroll 1
    for (int j = 0; j < min(found.count, solids.whole(solid_at::MOST, k)); ++j) {
        const Place n = turned ? -found.normal[j] : found.normal[j];
        const Vector<Real> x = rounded<Real>(found.at[j]), normal = rounded<Real>(n);
        const Real gap = found.gap[j], closing = -dot(normal, ours.at(x) - theirs.at(x));
        if (!(gap <= Real(NEAR) + 2 * dt * fmax(closing, Real(0)))) continue;
        const int c = Room::FOUND + contact::NUMBERS * total++;
        room(c + contact::POINT) = Real(POINTS + k), room(c + contact::SHAPE) = Real(SHAPES + k), room(c + contact::GAP) = gap;
        room(c + contact::FEATURE) = Real(found.feature[j]), room(c + contact::FEATURE + 1) = Real(found.edge[j]);
        room.store(c + contact::PLACE, x), room.store(c + contact::NORMAL, normal);
        put_inside(scene, room, one, found.at[j], n, c + contact::INSIDE, c + contact::FRAME);
        if (OWN_PAIRS && other < MOVING_SOLIDS)
            put_inside(scene, room, other, found.at[j], n, c + contact::OTHER_INSIDE, c + contact::OTHER_FRAME);
    }
    return total;
}

// Append the contacts of all near pairs after `total` others. Returns the new total.
template <typename Real, class Room>
__device__ __forceinline__ int pairs_in_contact(const Surroundings<Real>& scene, Real dt, const Room& room, int total) {
#pragma unroll 1
    for (int k = 0; k < PAIRS; ++k) {
        const Ball<Real> a = ball(scene, room, scene.solids.whole(solid_at::ONE, k));
        const Ball<Real> b = ball(scene, room, scene.solids.whole(solid_at::OTHER, k));
        const Vector<Real> apart = a.middle - b.middle, speed = a.velocity - b.velocity;
        const Real reach = Real(NEAR) + 2 * dt * (sqrt(dot(speed, speed)) + a.reach() + b.reach());
        const Real limit = a.radius + b.radius + reach;
        if (dot(apart, apart) <= limit * limit) total = pair_in_contact(scene, k, reach, dt, room, total);
    }
    return total;
}
