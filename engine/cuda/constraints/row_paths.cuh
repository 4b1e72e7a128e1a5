// The rows of a robot's contact problem, and the velocities at which their paths in the tree begin.
#pragma once

#include "constraints/contact_law.cuh"

// The shape of contact i.
template <class Room> __device__ __forceinline__ int shape_of(const Room& room, int i) {
    return int(room(room.contact(i) + contact::SHAPE));
}

// Rows: three for each contact with friction, one for each other contact, then one for each joint.
struct RowsOf {
    int count, rubbing, joints;

    __device__ __forceinline__ int frictional() const { return !SOME_RUB ? 0 : ALL_RUB ? count : rubbing; }
    __device__ __forceinline__ bool rubs(int i) const { return SOME_RUB && (ALL_RUB || i < rubbing); }
    __device__ __forceinline__ int first(int i) const { return rubs(i) ? 3 * i : 2 * frictional() + i; }
    __device__ __forceinline__ int first_joint() const { return 2 * frictional() + count; }
    __device__ __forceinline__ int all() const { return first_joint() + joints; }
    __device__ __forceinline__ int contact(int k) const { return k < 3 * frictional() ? k / 3 : k - 2 * frictional(); }
    // The velocity at which the path of row k begins.
    template <class Room> __device__ __forceinline__ int tip(const Room& room, int k) const {
        return k < first_joint() ? SHAPE_TIP[shape_of(room, contact(k))] : int(room(Room::JOINT_OF + k - first_joint()));
    }
    template <typename Real, class Room> __device__ __forceinline__ System<Real, Room> system(const Room& room) const {
        return {room, frictional(), count - frictional() + joints};
    }
};
