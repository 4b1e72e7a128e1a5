// The rows of a robot's contact problem, and the velocities at which their paths in the tree begin.
#pragma once

#include "constraints/contact_law.cuh"

// The shape of contact i.
template <class Workspace> __device__ __forceinline__ int shape_of(const Workspace& ws, int i) {
    return int(ws(ws.contact(i) + contact::SHAPE));
}

// Rows: three for each contact, then one for each joint.
struct RowsOf {
    int contacts, joints;

    __device__ __forceinline__ int first_joint() const { return 3 * contacts; }
    __device__ __forceinline__ int all() const { return first_joint() + joints; }
    // The velocity at which the path of row k begins.
    template <class Workspace> __device__ __forceinline__ int tip(const Workspace& ws, int k) const {
        return k < first_joint() ? SHAPE_TIP[shape_of(ws, k / 3)] : int(ws(Workspace::JOINT_OF + k - first_joint()));
    }
    template <typename Real, class Workspace>
    __device__ __forceinline__ System<Real, Workspace> system(const Workspace& ws) const {
        return {ws, contacts, joints};
    }
};
