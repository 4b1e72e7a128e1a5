// ABIA of one robot by one thread: forward dynamics by articulated-body inertias (Featherstone 1983), any tree, O(n).
// As in engine/kernels/aba.py, accelerations are relative to those of velocities and gravity:
//
//     a₀ = X a₀_parent + ad_V S q̇,   p = J a₀ − ad_Vᵀ J V
//     U = I S,  D = SᵀU,  u = τ − Sᵀp
//     I_parent += Xᵀ (I − U Uᵀ/D) X,   p_parent += Xᵀ (p + U u/D)
//     q̈ = (u − Uᵀ X a_parent)/D,   a = X a_parent + S q̈
//
// A ball joint is three such joints about x, y and z, the first two on massless bodies. No velocity is needed, or
// stored, after the first outward sweep. A kernel calls, in this order,
//
//     kinematics(at, given)
//     bias(at, given, robot)
//     inertia_recursion(at, given, robot)
//     accelerations(at, given, robot, put)
//
// where `at` are Slots, SLOTS of them, and `robot` are Constants. The kernel supplies `given`: q(i, k), v(i, k) and
// force(i, k) by the indices of a body and of its coordinate; and put(i, k, q̈, reaction), which receives the result.
// Inputs may be in slots that are written later: `kinematics` reads q before it writes a body's first slots, `bias` v
// before its wrench, and `inertia_recursion` the force before it overwrites it.
//
// If `Given` has HAS_WRENCHES, external wrenches external(i) act on the bodies and are subtracted from p.
//
// ADDITIONS, for simulation: added_inertia(i, k) is added to D; where is_held(k) holds, the acceleration is
// target_acceleration(k), and the reaction is the force required for it. A free joint has no additions.
#pragma once

#include "rigid_body/tree.cuh"

template <typename Real, class Memory, class Given>
__device__ __forceinline__ void kinematics(const Memory& at, const Given& given, int first = 0, int stride = 1) {
    EACH_BODY
    for (int i = first; i < BODIES; i += stride) {
        const int s = first_slot(i) + JOINT, k = q_start(i);
        if (kind(i) == REVOLUTE) {
            Real sine, cosine;
            sincos_of(given.q(i, k), sine, cosine);
            at(s) = sine, at(s + 1) = cosine;
        } else if (kind(i) == PRISMATIC) {
            at(s) = given.q(i, k);
        } else {
            if constexpr (HAS_BALLS) {
                if (is_ball(i)) {
#pragma unroll
                    for (int j = 0; j < 4; ++j) at(s + (j < 2 ? j : BALL_ZW - 2 + j)) = given.q(i, k + j);
                    continue;
                }
            }
#pragma unroll
            for (int j = 0; j < 7; ++j) at(s + j) = given.q(i, k + j);
        }
    }
}

// The velocities of a free joint: its twist, or its acceleration.
template <typename Real, class Read> __device__ __forceinline__ Motion<Real> six(const Read& read) {
    return {{read(0), read(1), read(2)}, {read(3), read(4), read(5)}};
}
// `six` for a joint that may be a ball joint, which has ω only.
template <typename Real, class Read> __device__ __forceinline__ Motion<Real> rates(int i, const Read& read) {
    if constexpr (HAS_BALLS) {
        if (is_ball(i)) return {{read(0), read(1), read(2)}, {0, 0, 0}};
    }
    return {{read(0), read(1), read(2)}, {read(3), read(4), read(5)}};
}

// f(i) for all bodies, outwards; and whether body i reads its parent's results from memory, since the previous body is
// not its parent.
struct AllBodies {
    template <class F> __device__ __forceinline__ void operator()(const F& f) const {
        EACH_BODY
        for (int i = 0; i < BODIES; ++i) f(i);
    }
    __device__ __forceinline__ bool reads_parent(int i) const { return parent(i) != i - 1; }
};

// [Y] (2a), (2b) and the body's term of [Y] (2c): V, a₀ and p of every body, including q̈ if ACCELERATED.
template <typename Real, bool ACCELERATED = false, class Memory, class Given, class Robot, class Bodies = AllBodies>
__device__ __forceinline__ void bias(const Memory& at, const Given& given, const Robot& robot,
                                     const Bodies& bodies = {}) {
    Motion<Real> V = {}, a = {};
    bodies([&](int i) {
        const int s = first_slot(i), k = v_start(i), above = parent(i);
        const Pose<Real> T = pose<Real>(i, at, robot);
        if (above < 0) {
            V = {};
            a = {{}, mul_t(T.R, -robot.gravity())};
        } else {
            if (bodies.reads_parent(i)) V = at.motion(branch_slot(above)), a = at.motion(branch_slot(above) + 6);
            V = motion_to_child(T, V);
            a = motion_to_child(T, a);
        }
        if (kind(i) == REVOLUTE) {
            const Real rate = given.v(i, k);
            V.o.z += rate;
            a.o.x += V.o.y * rate, a.o.y -= V.o.x * rate;
            a.v.x += V.v.y * rate, a.v.y -= V.v.x * rate;
            if constexpr (ACCELERATED) a.o.z += given.acceleration(i, k);
        } else if (kind(i) == PRISMATIC) {
            const Real rate = given.v(i, k);
            V.v.z += rate;
            a.v.x += V.o.y * rate, a.v.y -= V.o.x * rate;
            if constexpr (ACCELERATED) a.v.z += given.acceleration(i, k);
        } else {
            const Motion<Real> rate = rates<Real>(i, [&](int j) { return given.v(i, k + j); });
            V = V + rate;
            a = a + Motion<Real>{cross(V.o, rate.o), cross(V.v, rate.o) + cross(V.o, rate.v)};
            if constexpr (ACCELERATED) a = a + rates<Real>(i, [&](int j) { return given.acceleration(i, k + j); });
        }
        if (branches(i)) at.store(branch_slot(i), V), at.store(branch_slot(i) + 6, a);
        if constexpr (Given::HAS_WRENCHES) {
            at.store(s + (kind(i) == FREE ? FREE_WRENCH : WRENCH), wrench(robot.body(i), V, a) - given.external(i));
        } else {
            at.store(s + (kind(i) == FREE ? FREE_WRENCH : WRENCH), wrench(robot.body(i), V, a));
        }
    });
}

// Add to the branch slots of a body the contribution of a child.
template <class Memory, class Quantity, class Read>
__device__ __forceinline__ void add_to_parent(const Memory& at, int i, int slot, const Quantity& x, const Read& read) {
    at.store(slot, is_last(i) ? x : read(slot) + x);
}

// I and p to a parent that is not processed next.
template <typename Real, class Memory>
__device__ __forceinline__ void leave_to_parent(const Memory& at, int i, const Inertia<Real>& I, const Force<Real>& p) {
    const int above = parent(i);
    if (above >= 0 && above != i - 1) {
        add_to_parent(at, i, branch_slot(above), I, [&](int slot) { return at.inertia(slot); });
        add_to_parent(at, i, branch_slot(above) + 21, p, [&](int slot) { return at.force(slot); });
    }
}

// Number j of a vector; loops over j are unrolled.
template <typename Real> __device__ __forceinline__ Real& part(Vector<Real>& x, int j) {
    return j == 0 ? x.x : j == 1 ? x.y : x.z;
}

// The recursion over the axes of a ball joint, last axis first: from I and p of its body to those before the joint.
template <typename Real, class Memory, class Given>
__device__ __forceinline__ void pass_ball(const Memory& at, const Given& given, int i, Inertia<Real>& I,
                                          Force<Real>& p) {
#pragma unroll
    for (int j = 2; j >= 0; --j) {
        const int s = first_slot(i), k = v_start(i) + j;
        const Matrix<Real> A = full(I.A);
        const Force<Real> U =
            j == 0 ? Force<Real>{A.x, I.B.x} : j == 1 ? Force<Real>{A.y, I.B.y} : Force<Real>{A.z, I.B.z};
        Force<Real> kept = U;
        const Real own_U = part(kept.n, j), u = given.force(i, k) - part(p.n, j);
        Real D = own_U;
        if constexpr (ADDITIONS) D += given.added_inertia(i, k);
        Real inverse = reciprocal(D), ud = u * inverse;
        part(kept.n, j) = inverse;
        at.store(axis_slot(i, j), kept);
        at(s + EFFORT + j) = u;
        if constexpr (ADDITIONS) {
            at(s + BALL_OWN_U + j) = own_U;
            if (given.is_held(k)) inverse = 0, ud = given.target_acceleration(k);
        }
        I = minus_rank_one(I, U, inverse);
        p = p + ud * U;
    }
}

// q̈ and the reactions about the axes of a ball joint, first axis first; a goes from the parent's to the body's.
template <typename Real, class Memory, class Given, class Put>
__device__ __forceinline__ void accelerate_ball(const Memory& at, const Given& given, int i, Motion<Real>& a,
                                                const Put& put) {
#pragma unroll
    for (int j = 0; j < 3; ++j) {
        const int s = first_slot(i), k = v_start(i) + j;
        Force<Real> U = at.force(axis_slot(i, j));
        const Real inverse = part(U.n, j), u = at(s + EFFORT + j), along = part(a.o, j);
        part(U.n, j) = 0;
        const Real others = dot(U.n, a.o) + dot(U.f, a.v);
        Real q, reaction = 0;
        if constexpr (ADDITIONS) {
            const Real own_U = at(s + BALL_OWN_U + j), Ua = others + own_U * along;
            q = given.is_held(k) ? given.target_acceleration(k) : (u - Ua) * inverse;
            reaction = Ua + (own_U + given.added_inertia(i, k)) * q - u;
        } else {
            q = (u - others) * inverse - along;
        }
        put(i, k, q, reaction);
        part(a.o, j) = along + q;
    }
}

// I and p from the tips; U, 1/D and u of every joint.
template <typename Real, class Memory, class Given, class Robot>
__device__ __forceinline__ void inertia_recursion(const Memory& at, const Given& given, const Robot& robot) {
    Inertia<Real> I = {};
    Force<Real> p = {};
    EACH_BODY
    for (int i = BODIES - 1; i >= 0; --i) {
        const int s = first_slot(i), k = v_start(i), above = parent(i);
        const Force<Real> own = at.force(s + (kind(i) == FREE ? FREE_WRENCH : WRENCH));
        I = continues(i) ? I + robot.body(i) : full(robot.body(i));
        p = continues(i) ? p + own : own;
        if (branches(i)) {
            I = I + at.inertia(branch_slot(i));
            p = p + at.force(branch_slot(i) + 21);
        }
        const Pose<Real> T = pose<Real>(i, at, robot);
        if constexpr (HAS_BALLS) {
            if (is_ball(i)) {
                pass_ball(at, given, i, I, p);
                I = inertia_to_parent(T, I);
                p = force_to_parent(T, p);
                leave_to_parent(at, i, I, p);
                continue;
            }
        }
        // A free body's acceleration is set by its own force, whatever its parent's; the force acts on the parent.
        if (kind(i) == FREE) {
            const Motion<Real> f = six<Real>([&](int j) { return given.force(i, k + j); });
            const Force<Real> force = {f.o, f.v};
            at.store(s + FREE_WRENCH, solve6(I, force - p));
            I = {};
            p = force_to_parent(T, force);
        } else {
            const bool turns = kind(i) == REVOLUTE;
            const Force<Real> U = turns ? Force<Real>{{I.A.xz, I.A.yz, I.A.zz}, I.B.z}
                                        : Force<Real>{{I.B.x.z, I.B.y.z, I.B.z.z}, {I.C.xz, I.C.yz, I.C.zz}};
            const Real own_U = turns ? U.n.z : U.f.z, u = given.force(i, k) - (turns ? p.n.z : p.f.z);
            Real D = own_U;
            if constexpr (ADDITIONS) D += given.added_inertia(i, k);
            Real inverse = reciprocal(D), ud = u * inverse;
            at.store(s + WRENCH, Vector<Real>{U.n.x, U.n.y, turns ? inverse : U.n.z});
            at.store(s + WRENCH + 3, Vector<Real>{U.f.x, U.f.y, turns ? U.f.z : inverse});
            at(s + EFFORT) = u;
            if constexpr (ADDITIONS) {
                at(s + OWN_U) = own_U;
                if (given.is_held(k)) inverse = 0, ud = given.target_acceleration(k);
            }
            if (above >= 0) {
                I = minus_rank_one(I, U, inverse);
                p = force_to_parent(T, p + ud * U);
                I = turns && !ADDITIONS ? turning_to_parent(T, I) : inertia_to_parent(T, I);
            }
        }
        leave_to_parent(at, i, I, p);
    }
}

// q̈ of every joint, and the reactions of held ones, from the base, passed to `put`.
template <typename Real, class Memory, class Given, class Robot, class Put>
__device__ __forceinline__ void accelerations(const Memory& at, const Given& given, const Robot& robot,
                                              const Put& put) {
    Motion<Real> a = {};
    EACH_BODY
    for (int i = 0; i < BODIES; ++i) {
        const int s = first_slot(i), k = v_start(i), above = parent(i);
        if (above < 0) {
            a = {};
        } else {
            if (above != i - 1) a = at.motion(branch_slot(above));
            a = motion_to_child(pose<Real>(i, at, robot), a);
        }
        if constexpr (HAS_BALLS) {
            if (is_ball(i)) {
                accelerate_ball(at, given, i, a, put);
                if (branches(i)) at.store(branch_slot(i), a);
                continue;
            }
        }
        if (kind(i) == FREE) {
            const Motion<Real> body = at.motion(s + FREE_WRENCH), q = body - a;
            const Real six[] = {q.o.x, q.o.y, q.o.z, q.v.x, q.v.y, q.v.z};
#pragma unroll
            for (int j = 0; j < 6; ++j) put(i, k + j, six[j], Real(0));
            a = body;
        } else {
            const bool turns = kind(i) == REVOLUTE;
            const Force<Real> U = at.force(s + WRENCH);
            const Real inverse = turns ? U.n.z : U.f.z, u = at(s + EFFORT), along = turns ? a.o.z : a.v.z;
            const Real others = (U.n.x * a.o.x + U.n.y * a.o.y) +
                                (U.f.x * a.v.x + U.f.y * a.v.y + (turns ? U.f.z * a.v.z : U.n.z * a.o.z));
            Real q, reaction = 0;
            if constexpr (ADDITIONS) {
                const Real own_U = at(s + OWN_U), Ua = others + own_U * along;
                q = given.is_held(k) ? given.target_acceleration(k) : (u - Ua) * inverse;
                reaction = Ua + (own_U + given.added_inertia(i, k)) * q - u;
            } else {
                q = (u - others) * inverse - along;
            }
            put(i, k, q, reaction);
            a = {{a.o.x, a.o.y, turns ? along + q : a.o.z}, {a.v.x, a.v.y, turns ? a.v.z : along + q}};
        }
        if (branches(i)) at.store(branch_slot(i), a);
    }
}
