// The rows of a robot's contact problem, and the velocities at which their paths in the tree begin.
#pragma once

#include "constraints/contact_law.cuh"

// The shape of contact i.
template <class Room> __device__ __forceinline__ int shape_of(const Room& room, int i) {
    return int(room(room.contact(i) + contact::SHAPE));
}

// Rows: three for each contact, then one for each joint.
struct RowsOf {
    int count, joints;

    __device__ __forceinline__ int first_joint() const { return 3 * count; }
    __device__ __forceinline__ int all() const { return first_joint() + joints; }
    // The velocity at which the path of row k begins.
    template <class Room> __device__ __forceinline__ int tip(const Room& room, int k) const {
        return k < first_joint() ? SHAPE_TIP[shape_of(room, k / 3)] : int(room(Room::JOINT_OF + k - first_joint()));
    }
    template <typename Real, class Room> __device__ __forceinline__ System<Real, Room> system(const Room& room) const {
        return {room, count, joints};
    }
};
