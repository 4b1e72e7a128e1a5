// The report of contacts.
#pragma once

#include "collision/contact_workspace.cuh"

// A contact in the world; and its force and its place in its body's frame.
template <typename Real> struct SeenContact {
    int shape;
    Real gap, slip;
    Vector<Real> place, normal, impulse, force, inside;
};

// The contacts of the last step: their number (batch,), their links (batch, CONTACTS), the numbers of each in the
// layout of contacts.py, the residual and its maximum (batch,).
template <typename Real> struct ContactReport {
    int *number, *link;
    Real *seen, *residual, *worst;

    // Write the contact with index `at` among all robots' contacts.
    __device__ __forceinline__ void put(const Surroundings<Real>& scene, size_t at, const SeenContact<Real>& x) const {
        Real* const row = seen + at * seen::NUMBERS;
        const auto store = [&](int k, Vector<Real> y) { row[k] = y.x, row[k + 1] = y.y, row[k + 2] = y.z; };
        const auto of_shape = [&](int k) {
            return Vector<Real>{scene.of_shape(x.shape, k), scene.of_shape(x.shape, k + 1),
                                scene.of_shape(x.shape, k + 2)};
        };
        const Matrix<Real> R = {of_shape(shape::ROTATION), of_shape(shape::ROTATION + 3),
                                of_shape(shape::ROTATION + 6)};
        link[at] = int(scene.of_shape(x.shape, shape::LINK));
        store(seen::PLACE, x.place), store(seen::NORMAL, x.normal), store(seen::IMPULSE, x.impulse);
        row[seen::GAP] = x.gap, row[seen::SLIP] = x.slip;
        store(seen::WRENCH, mul_t(R, cross(x.inside - of_shape(shape::POSITION), x.force)));
        store(seen::WRENCH + 3, mul_t(R, x.force));
    }
};
