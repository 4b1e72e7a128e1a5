// The base of all algorithms on serial chains: poses, velocities and the inverse dynamics [Y] (2a)–(2d), by scans.
//
// Twists and wrenches are at their link's origin, along the world's axes. Xᵢ is then a shift by rᵢ − rᵢ₋₁, and every
// bi-diagonal system of the Xᵢ is a sum of shifted vectors; only the poses need products of matrices. Origins enter as
// differences only, so no digits are lost far from the base.
#pragma once

#include "rigid_body/spatial.cuh"
#include "chains/thread_group.cuh"

template <typename Real> struct ChainArrays {
    const Real* constants;  // (CONSTANTS, n + 1), the transpose of `Packed.constants`
    const int* revolute;    // (n,), 0 for prismatic joints
    const Real* q;  // (batch, n), as are the others
    const Real* v;
    const Real* tau;
};

// thread_group.py defines CHAIN_FIELDS, the first fields of a link.
enum ChainField { LOCAL = 0, WORLD = 12, C = 24, B = 30, F = 36 };
static_assert(F + 6 == CHAIN_FIELDS, "what the launchers make room for");

template <typename Real> struct Moving { Vector<Real> r; Motion<Real> a; };   // a twist at r
template <typename Real> struct Pushed { Vector<Real> r; Force<Real> F; };    // a wrench at r

// The input of a joint: the force whose acceleration is wanted, with an added inertia; for a held joint the output is
// the force that gives it the acceleration `target`, less `force`.
template <typename Real> struct Asked {
    Real force, inertia, target;
    bool held;
};

FUNCTION Vector<Real> axis(const Matrix<Real>& R) { return {R.x.z, R.y.z, R.z.z}; }
FUNCTION Motion<Real> along(bool revolute, Vector<Real> x) {
    const Vector<Real> none = {0, 0, 0};
    return revolute ? Motion<Real>{x, none} : Motion<Real>{none, x};
}
FUNCTION Force<Real> rotated(const Matrix<Real>& R, const Force<Real>& F) { return {mul(R, F.n), mul(R, F.f)}; }
FUNCTION Motion<Real> rotated_back(const Matrix<Real>& R, const Motion<Real>& a) {
    return {mul_t(R, a.o), mul_t(R, a.v)};
}

FUNCTION Body<Real> body(const ChainArrays<Real>& chain, int n, int i) {
    return packed_body<Real>([&](int k) { return chain.constants[(size_t)k * (n + 1) + i]; });
}
FUNCTION Vector<Real> gravity(const ChainArrays<Real>& chain, int n) {
    return {chain.constants[n], chain.constants[2 * n + 1], chain.constants[3 * n + 2]};
}
// Tᵢ: the home pose, then a rotation about z or a shift along it.
FUNCTION Pose<Real> local_pose(const ChainArrays<Real>& chain, int n, int i, Real q) {
    const auto at = [&](int k) { return chain.constants[(size_t)k * (n + 1) + i]; };
    const Pose<Real> home = packed_home<Real>(at);
    if (!chain.revolute[i]) return shifted_along_z(home, q);
    Real s, c;
    sincos_of(q, s, c);
    return turned_about_z(home, s, c);
}

// (I − Γ) x = b for twists: b = load(i, z), and store(i, R, x).
template <typename Group, typename Load, typename Store>
__device__ __forceinline__ void motions(Group& group, Load load, Store store) {
    using Real = typename Group::Number;
    using State = Moving<Real>;
    scan<false>(
        group,
        [](const State& x, const State& y) {
            return State{y.r, {x.a.o + y.a.o, x.a.v + y.a.v + cross(x.a.o, y.r - x.r)}};
        },
        [&](int i) {
            const Pose<Real> T = group.template get<Pose<Real>>(WORLD, i);
            return State{T.p, load(i, axis(T.R))};
        },
        [&](int i, const State& x) { store(i, group.template get<Matrix<Real>>(WORLD, i), x.a); });
}

// LOCAL and WORLD poses, and the velocity terms: accelerations C and forces B.
template <typename Group, typename Real> __device__ __noinline__ void kinematics(Group group, ChainArrays<Real> chain) {
    const int n = group.shape.n;
    scan<false>(
        group,
        [](const Pose<Real>& a, const Pose<Real>& b) { return Pose<Real>{matmul(a.R, b.R), a.p + mul(a.R, b.p)}; },
        [&](int i) {
            const Pose<Real> T = local_pose(chain, n, i, chain.q[group.global(i)]);
            group.put(LOCAL, i, T);
            return T;
        },
        [&](int i, const Pose<Real>& T) { group.put(WORLD, i, T); });
    // [Y] (2a)  (I − Γ) V = S q̇
    motions(
        group,
        [&](int i, const Vector<Real>& z) { return along(chain.revolute[i], chain.v[group.global(i)] * z); },
        [&](int i, const Matrix<Real>& R, const Motion<Real>& V) {
            const Motion<Real> Sv = along(chain.revolute[i], chain.v[group.global(i)] * axis(R));
            // [Y] (2b)'s last term
            group.put(C, i, Motion<Real>{cross(V.o, Sv.o), cross(V.v, Sv.o) + cross(V.o, Sv.v)});
            // [Y] (2c)'s last term
            const Motion<Real> here = rotated_back(R, V);
            const Force<Real> H = momentum(body(chain, n, i), here);
            const Force<Real> b = {cross(here.o, H.n) + cross(here.v, H.f), cross(here.o, H.f)};
            group.put(B, i, rotated(R, b));
        });
}

// The torques of the accelerations in field a, or of none if a < 0, into field `torques`: with `bias` those of
// [Y] (2b)–(2d), else M q̈ only. The group is passed by value, since two scans restore its epoch.
template <typename Group, typename Real>
__device__ __noinline__ void forces(Group group, ChainArrays<Real> chain, bool bias, int a, int torques) {
    const int n = group.shape.n;
    motions(
        group,
        [&](int i, const Vector<Real>& z) {
            const Real qdd = a < 0 ? Real(0) : group.template get<Real>(a, i);
            Motion<Real> drive = along(chain.revolute[i], qdd * z);
            if (bias) {
                drive = drive + group.template get<Motion<Real>>(C, i);
                if (i == 0) drive.v = drive.v - gravity(chain, n);
            }
            return drive;
        },
        [&](int i, const Matrix<Real>& R, const Motion<Real>& A) {
            Force<Real> push = rotated(R, momentum(body(chain, n, i), rotated_back(R, A)));
            if (bias) push = push + group.template get<Force<Real>>(B, i);
            group.put(F, i, push);
        });
    using State = Pushed<Real>;
    // [Y] (2c)  (I − Γ)ᵀ F = J V̇ + b, [Y] (2d)  τ = SᵀF
    scan<true>(
        group,
        [](const State& x, const State& y) {
            return State{y.r, {x.F.n + y.F.n + cross(x.r - y.r, x.F.f), x.F.f + y.F.f}};
        },
        [&](int i) {
            const Vector<Real> r = group.template get<Pose<Real>>(WORLD, i).p;
            return State{r, group.template get<Force<Real>>(F, i)};
        },
        [&](int i, const State& x) {
            const Vector<Real> z = axis(group.template get<Matrix<Real>>(WORLD, i));
            group.put(torques, i, dot(z, chain.revolute[i] ? x.F.n : x.F.f));
        });
}
