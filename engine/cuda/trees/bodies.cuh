// One thread's work on one body of a tree: its pose, its twist, the ABA's step to the parent and the step back.
//
// Accelerations are relative to free fall, −g at the base, with c = ad_V S q̇ at each joint:
//
//     I = J + Σ shares,  p = −ad_Vᵀ J V + Σ shares,  U = I S,  D = SᵀU,  u = τ − Sᵀp
//     to the parent:  Xᵀ (I − U D⁻¹ Uᵀ) X,  Xᵀ (p + U D⁻¹ u + (I − U D⁻¹ Uᵀ) c)
//     q̈ = G X a_parent + g,  a = X a_parent + c + S q̈,  where G = −D⁻¹ Uᵀ and g = D⁻¹ (u − Uᵀc)
//
// ADDITIONS, for simulation: `added_inertia` is added to D, and a held joint has the acceleration `target`; its
// reaction is returned in place of q̈. A ball joint is then three joints about x, y and z, the first two on massless
// bodies; a free joint has no additions.
#pragma once

#include "trees/memory.cuh"

template <typename Real> __device__ __forceinline__ Vector<Real> vector(const Real* x) { return {x[0], x[1], x[2]}; }
// I a.
FUNCTION Force<Real> times(const Inertia<Real>& I, const Motion<Real>& a) {
    return {mul(I.A, a.o) + mul(I.B, a.v), mul_t(I.B, a.o) + mul(I.C, a.v)};
}
FUNCTION Real dot(const Force<Real>& F, const Motion<Real>& a) { return dot(F.n, a.o) + dot(F.f, a.v); }
// ad_V (S q̇).
FUNCTION Motion<Real> velocity_product(const Motion<Real>& V, const Motion<Real>& rate) {
    return {cross(V.o, rate.o), cross(V.v, rate.o) + cross(V.o, rate.v)};
}

FUNCTION Pose<Real> local_pose(const Tree<Real>& tree, int i) {
    const Real* q = tree.q + tree.q_start(i);
    return joint_pose(tree.kind(i), tree.home(i), [&](int k) { return q[k]; });
}

// S x for the entries of a body's joint in `x`.
FUNCTION Motion<Real> along_joint(const Tree<Real>& tree, int i, const Real* x) {
    const int kind = tree.kind(i);
    const Real* at = x + tree.v_start(i);
    if (kind == REVOLUTE) return {{0, 0, at[0]}, {0, 0, 0}};
    if (kind == PRISMATIC) return {{0, 0, 0}, {0, 0, at[0]}};
    return {vector(at), kind == FREE ? vector(at + 3) : Vector<Real>{0, 0, 0}};
}

// The pose of a body, and its twist relative to the parent.
FUNCTION void start(const Tree<Real>& tree, int i) {
    const Pose<Real> T = local_pose(tree, i);
    const Motion<Real> rate = along_joint(tree, i, tree.v);
    tree.put(POSE, i, T);
    tree.put(JOURNEY, i, Travel<Real>{T, rate});
    tree.put(TWIST, i, rate);
}

// Pointer doubling by fours: the travel from 4ᵏ bodies before becomes that from four times as many, or from the base,
// whose end is the twist. JOURNEY is double-buffered.
FUNCTION void double_travel(const Tree<Real>& tree, int i, int round) {
    const int from = JOURNEY + (round & 1) * TRAVEL_NUMBERS, to = JOURNEY + (~round & 1) * TRAVEL_NUMBERS;
    Travel<Real> travel = tree.template get<Travel<Real>>(from, i);
#pragma unroll 1
    for (int j = 0; j < 3; ++j) {
        const int before = tree.ancestors[(round * 3 + j) * tree.stride + i];
        if (before < 0) break;
        travel = then(tree.template get<Travel<Real>>(from, before), travel);
    }
    tree.put(to, i, travel);
    tree.put(TWIST, i, travel.V);
}

// G and g of one velocity of a joint; with ADDITIONS, for an absorbed body, U and u.
template <typename Real> struct Gain { Force<Real> G; Real g; };

FUNCTION void to_parent(const Tree<Real>& tree, int i, const Pose<Real>& T, const Inertia<Real>& I,
                        const Force<Real>& p) {
    if (tree.parent(i) < 0) return;
    tree.put(SHARE, i, Share<Real>{inertia_to_parent(T, I), force_to_parent(T, p)});
}

// The ball joint's step: S = (1, 0), so D is the first block of I.
FUNCTION void absorb_ball(const Tree<Real>& tree, int i, const Pose<Real>& T, const Inertia<Real>& I,
                          const Force<Real>& p, const Motion<Real>& c, Vector<Real> torque) {
    const Matrix<Real> Bt = transpose(I.B);
    const Matrix<Real> Kt = {solve3(I.A, Bt.x), solve3(I.A, Bt.y), solve3(I.A, Bt.z)};  // (A⁻¹ B)ᵀ
    const Symmetric<Real> BK = symmetric_t(Bt, Kt);
    const Vector<Real> u = torque - p.n, k = solve3(I.A, u), g = k - c.o - mul_t(Kt, c.v);
    const auto row = [&](int j) {
        const auto one = [&](int m) { return Real(j == m ? -1 : 0); };
        const Vector<Real> K = j == 0 ? Vector<Real>{Kt.x.x, Kt.y.x, Kt.z.x}
                             : j == 1 ? Vector<Real>{Kt.x.y, Kt.y.y, Kt.z.y} : Vector<Real>{Kt.x.z, Kt.y.z, Kt.z.z};
        return Gain<Real>{{{one(0), one(1), one(2)}, -K}, j == 0 ? g.x : j == 1 ? g.y : g.z};
    };
#pragma unroll
    for (int j = 0; j < 3; ++j) tree.put(GAIN + j * 7, i, row(j));
    const Symmetric<Real> C = {I.C.xx - BK.xx, I.C.xy - BK.xy, I.C.xz - BK.xz,
                               I.C.yy - BK.yy, I.C.yz - BK.yz, I.C.zz - BK.zz};
    to_parent(tree, i, T, Inertia<Real>{{}, {}, C}, Force<Real>{torque, p.f + mul_t(I.B, k) + mul(C, c.v)});
}

// With ADDITIONS: the ABA's step over velocity j of a joint, from I and p after its axis to those before it; U = I S
// has the number `own` on that axis, and p the number `push`.
FUNCTION void absorb_axis(const Tree<Real>& tree, int i, int j, const Force<Real>& U, Real own, Real push,
                          Inertia<Real>& I, Force<Real>& p) {
    const int k = tree.v_start(i) + j;
    const Real u = tree.tau[k] - push;
    tree.put(GAIN + 7 * j, i, Gain<Real>{U, u});
    Real d = reciprocal(own + tree.added_inertia[k]), rate = d * u;
    if (tree.held[k] != 0) d = 0, rate = tree.target[k];
    I = minus_rank_one(I, U, d);
    p = p + rate * U;
}
FUNCTION void absorb_axes(const Tree<Real>& tree, int i, const Pose<Real>& T, Inertia<Real> I, Force<Real> p,
                          const Motion<Real>& c) {
    const int kind = tree.kind(i);
    const Matrix<Real> A = full(I.A), Bt = transpose(I.B);
    if (kind == PRISMATIC) {
        const Force<Real> U = {Bt.z, {I.C.xz, I.C.yz, I.C.zz}};
        absorb_axis(tree, i, 0, U, U.f.z, p.f.z, I, p);
    } else {
        const bool ball = BALLS && kind == SPHERICAL;
        absorb_axis(tree, i, ball ? 2 : 0, {A.z, I.B.z}, A.z.z, p.n.z, I, p);
        if (ball) {
            absorb_axis(tree, i, 1, {full(I.A).y, I.B.y}, I.A.yy, p.n.y, I, p);
            absorb_axis(tree, i, 0, {full(I.A).x, I.B.x}, I.A.xx, p.n.x, I, p);
        }
    }
    to_parent(tree, i, T, I, p + times(I, c));
}

// The ABA's step from body i to its parent, after all its children.
FUNCTION void absorb(const Tree<Real>& tree, int i) {
    const int kind = tree.kind(i);
    const Pose<Real> T = tree.template get<Pose<Real>>(POSE, i);
    const Motion<Real> V = tree.twist(i), rate = along_joint(tree, i, tree.v), c = velocity_product(V, rate);
    const Body<Real> J = tree.body(i);
    const Real* effort = tree.tau + tree.v_start(i);
    const Share<Real> beyond = shares_of(tree, i);
    const Inertia<Real> I = beyond.I + J;
    Force<Real> p = beyond.p + wrench(J, V, Motion<Real>{});
    if constexpr (HAS_WRENCHES) p = p - tree.external(i);
    tree.put(BIAS, i, c);
    // A free body's acceleration is set by its own force, whatever its parent's; the force acts on the parent.
    if (kind == FREE) {
        const Force<Real> force = {vector(effort), vector(effort + 3)};
        tree.put(ACCELERATION, i, solve6(I, force - p));
        to_parent(tree, i, T, Inertia<Real>{}, force);
    } else if (ADDITIONS) {
        absorb_axes(tree, i, T, I, p, c);
    } else if (kind == SPHERICAL) {
        absorb_ball(tree, i, T, I, p, c, vector(effort));
    } else {
        const bool turns = kind == REVOLUTE;
        const Force<Real> U = turns ? Force<Real>{{I.A.xz, I.A.yz, I.A.zz}, I.B.z}
                                    : Force<Real>{{I.B.x.z, I.B.y.z, I.B.z.z}, {I.C.xz, I.C.yz, I.C.zz}};
        const Real d = reciprocal(turns ? U.n.z : U.f.z), u = effort[0] - (turns ? p.n.z : p.f.z);
        tree.put(GAIN, i, Gain<Real>{-d * U, d * (u - dot(U, c))});
        const Inertia<Real> rest = minus_rank_one(I, U, d);
        to_parent(tree, i, T, rest, p + (d * u) * U + times(rest, c));
    }
}

// With ADDITIONS: q̈, or the reaction, of velocity j of a joint along `axis`, 0 to 5, and the acceleration a after it.
FUNCTION void accelerate_axis(const Tree<Real>& tree, int i, int j, int axis, Motion<Real>& a) {
    const int k = tree.v_start(i) + j, of_three = axis % 3;
    const Gain<Real> gain = tree.template get<Gain<Real>>(GAIN + 7 * j, i);
    const Vector<Real> U = axis < 3 ? gain.G.n : gain.G.f;
    Vector<Real>& moved = axis < 3 ? a.o : a.v;
    const Real own = of_three == 0 ? U.x : of_three == 1 ? U.y : U.z;
    const Real D = own + tree.added_inertia[k], left = gain.g - dot(gain.G, a);
    const bool held = tree.held[k] != 0;
    const Real rate = held ? tree.target[k] : left * reciprocal(D);
    tree.qdd[k] = held ? D * rate - left : rate;
    (of_three == 0 ? moved.x : of_three == 1 ? moved.y : moved.z) += rate;
}
FUNCTION void accelerate_axes(const Tree<Real>& tree, int i, Motion<Real>& a) {
    const int kind = tree.kind(i);
    if (BALLS && kind == SPHERICAL) {
        accelerate_axis(tree, i, 0, 0, a);
        accelerate_axis(tree, i, 1, 1, a);
        accelerate_axis(tree, i, 2, 2, a);
    } else if (kind == PRISMATIC) {
        accelerate_axis(tree, i, 0, 5, a);
    } else {
        accelerate_axis(tree, i, 0, 2, a);
    }
}

// q̈ and the acceleration of body i from its parent's.
FUNCTION void accelerate(const Tree<Real>& tree, int i) {
    const int kind = tree.kind(i);
    const Motion<Real> carried =
        motion_to_child(tree.template get<Pose<Real>>(POSE, i), tree.acceleration(tree.parent(i)));
    Motion<Real> a = carried + tree.template get<Motion<Real>>(BIAS, i);
    Real* qdd = tree.qdd + tree.v_start(i);
    if (kind == FREE) {
        const Motion<Real> free = tree.acceleration(i) - a;
        qdd[0] = free.o.x, qdd[1] = free.o.y, qdd[2] = free.o.z, qdd[3] = free.v.x, qdd[4] = free.v.y,
            qdd[5] = free.v.z;
        return;
    }
    const auto rate = [&](int j) {
        const Gain<Real> gain = tree.template get<Gain<Real>>(GAIN + j * 7, i);
        return qdd[j] = dot(gain.G, carried) + gain.g;
    };
    if constexpr (ADDITIONS) {
        accelerate_axes(tree, i, a);
    } else if (kind == SPHERICAL) {
        const Real x = rate(0), y = rate(1), z = rate(2);
        a.o = a.o + Vector<Real>{x, y, z};
    } else if (kind == REVOLUTE) {
        a.o.z += rate(0);
    } else {
        a.v.z += rate(0);
    }
    tree.put(ACCELERATION, i, a);
}
