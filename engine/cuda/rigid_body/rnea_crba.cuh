// Joint forces and the mass matrix of one robot by one thread, as in engine/cpu/rigid_body/rnea.py ([Y] (2a)–(2d)) and
// crba.py (Featherstone 2008, table 6.2), with the slots and sweeps of aba.cuh. A composite body is rigid: ten numbers.
#pragma once

#include "rigid_body/aba.cuh"

// S_jᵀ F: put(r, force) for every coordinate r of body j.
template <typename Real, class Put>
__device__ __forceinline__ void along_axes(int j, const Force<Real>& F, const Put& put) {
    if (kind(j) == FREE) {
        put(0, F.n.x), put(1, F.n.y), put(2, F.n.z), put(3, F.f.x), put(4, F.f.y), put(5, F.f.z);
    } else {
        if constexpr (HAS_BALLS) {
            if (is_ball(j)) put(1, F.n.y), put(2, F.n.z);
        }
        put(0, is_ball(j) ? F.n.x : kind(j) == REVOLUTE ? F.n.z : F.f.z);
    }
}

// [Y] (2c), (2d): wrenches from the tips, and τ = SᵀF, passed to given.acceleration(i, k, τ).
template <typename Real, class Memory, class Given, class Robot>
__device__ __forceinline__ void forces(const Memory& at, const Given& given, const Robot& robot) {
    Force<Real> F = {};
    EACH_BODY
    for (int i = BODIES - 1; i >= 0; --i) {
        const int k = v_start(i), above = parent(i);
        const Force<Real> own = at.force(first_slot(i) + (kind(i) == FREE ? FREE_WRENCH : WRENCH));
        F = continues(i) ? F + own : own;
        if (branches(i)) F = F + at.force(branch_slot(i));
        along_axes(i, F, [&](int j, Real force) { given.acceleration(i, k + j, force); });
        if (above >= 0) {
            F = force_to_parent(pose<Real>(i, at, robot), F);
            if (above != i - 1) add_to_parent(at, i, branch_slot(above), F, [&](int slot) { return at.force(slot); });
        }
    }
}

// A composite body's wrench at unit acceleration along coordinate j of its joint.
template <typename Real> __device__ __forceinline__ Force<Real> column(const Body<Real>& J, int kind, int j) {
    const int along = kind == FREE || (HAS_BALLS && kind == SPHERICAL) ? j : kind == REVOLUTE ? 2 : 5;
    const auto unit = [&](int k) { return Real(along == k); };
    return momentum(J, Motion<Real>{{unit(0), unit(1), unit(2)}, {unit(3), unit(4), unit(5)}});
}

template <typename Real, class Memory> __device__ __forceinline__ Body<Real> load_body(const Memory& at, int slot) {
    return {at(slot), at.vector(slot + 1), at.symmetric(slot + 4)};
}

// M from the tips: enter(i, c, j, F) receives F for coordinate c of body i; S_jᵀ F are its entries with body j, which
// is i or an ancestor.
template <typename Real, class Memory, class Robot, class Enter>
__device__ __forceinline__ void composite_bodies(const Memory& at, const Robot& robot, const Enter& enter) {
    Body<Real> J = {};
    EACH_BODY
    for (int i = BODIES - 1; i >= 0; --i) {
        const int above = parent(i);
        J = continues(i) ? J + robot.body(i) : robot.body(i);
        if (branches(i)) J = J + load_body<Real>(at, branch_slot(i));
        for (int c = 0; c < dofs(i); ++c) {
            Force<Real> F = column(J, kind(i), c);
            enter(i, c, i, F);
#pragma unroll 1
            for (int j = i; parent(j) >= 0;) {
                F = force_to_parent(pose<Real>(j, at, robot), F);
                j = parent(j);
                enter(i, c, j, F);
            }
        }
        if (above >= 0) {
            J = body_to_parent(pose<Real>(i, at, robot), J);
            if (above != i - 1) {
                const int slot = branch_slot(above);
                if (!is_last(i)) J = J + load_body<Real>(at, slot);
                at(slot) = J.m, at.store(slot + 1, J.h), at.store(slot + 4, J.I);
            }
        }
    }
}
