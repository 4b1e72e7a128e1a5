// What all algorithms on serial chains need first: poses, velocities and the inverse dynamics (2a)–(2d), by scans.
//
// Twists and wrenches stand at their link's own origin but are turned as the world is. So turned, Xᵢ is a shift by
// rᵢ − rᵢ₋₁ and every bi-diagonal system of the Xᵢ is a sum of shifted vectors; only the poses need a product of
// matrices. Origins cancel in differences only, so no digits are lost far from the base.
#pragma once

#include "spatial.cuh"
#include "team.cuh"

template <typename Real> struct ChainArrays {
    const Real* constants;  // (22, n + 1), the transpose of `Packed.constants`
    const int* revolute;    // (n,), 0 for prismatic joints
    const Real* q;          // (batch, n), and so the others
    const Real* v;
    const Real* tau;
};

enum ChainField { LOCAL = 0, WORLD = 12, C = 24, B = 30, F = 36, CHAIN_FIELDS = 42 };

template <typename Real> struct Moving { Vector<Real> r; Motion<Real> a; };   // a twist at r
template <typename Real> struct Pushed { Vector<Real> r; Force<Real> F; };    // a wrench at r

FUNCTION Vector<Real> axis(const Matrix<Real>& R) { return {R.x.z, R.y.z, R.z.z}; }
FUNCTION Motion<Real> along(bool revolute, Vector<Real> x) {
    const Vector<Real> none = {0, 0, 0};
    return revolute ? Motion<Real>{x, none} : Motion<Real>{none, x};
}
FUNCTION Force<Real> turned(const Matrix<Real>& R, const Force<Real>& F) { return {mul(R, F.n), mul(R, F.f)}; }
FUNCTION Motion<Real> turned_back(const Matrix<Real>& R, const Motion<Real>& a) {
    return {mul_t(R, a.o), mul_t(R, a.v)};
}

FUNCTION Body<Real> body(const ChainArrays<Real>& chain, int n, int i) {
    const Real* x = chain.constants + (size_t)12 * (n + 1) + i;
    const auto at = [&](int k) { return x[(size_t)k * (n + 1)]; };
    return {at(0), {at(1), at(2), at(3)}, {at(4), at(5), at(6), at(7), at(8), at(9)}};
}
FUNCTION Vector<Real> gravity(const ChainArrays<Real>& chain, int n) {
    return {chain.constants[n], chain.constants[2 * n + 1], chain.constants[3 * n + 2]};
}
// Tᵢ: the home pose followed by a turn about z or a shift along it.
FUNCTION Pose<Real> local_pose(const ChainArrays<Real>& chain, int n, int i, Real q) {
    const auto at = [&](int k) { return chain.constants[(size_t)k * (n + 1) + i]; };
    const Matrix<Real> R = {{at(0), at(1), at(2)}, {at(3), at(4), at(5)}, {at(6), at(7), at(8)}};
    const Vector<Real> p = {at(9), at(10), at(11)};
    if (!chain.revolute[i]) return {R, p + q * axis(R)};
    Real s, c;
    sincos_of(q, s, c);
    const auto row = [&](Vector<Real> r) { return Vector<Real>{c * r.x + s * r.y, c * r.y - s * r.x, r.z}; };
    return {{row(R.x), row(R.y), row(R.z)}, p};
}

// (I − Γ) x = b for twists: b = load(i, z), and store(i, R, x).
template <typename Team, typename Load, typename Store>
__device__ __forceinline__ void motions(Team& team, Load load, Store store) {
    using Real = typename Team::Number;
    using State = Moving<Real>;
    scan<false>(
        team,
        [](const State& x, const State& y) {
            return State{y.r, {x.a.o + y.a.o, x.a.v + y.a.v + cross(x.a.o, y.r - x.r)}};
        },
        [&](int i) {
            const Pose<Real> T = team.template get<Pose<Real>>(WORLD, i);
            return State{T.p, load(i, axis(T.R))};
        },
        [&](int i, const State& x) { store(i, team.template get<Matrix<Real>>(WORLD, i), x.a); });
}

// LOCAL, WORLD, and what the velocities bring about: accelerations C and forces B.
template <typename Team, typename Real> __device__ __noinline__ void kinematics(Team team, ChainArrays<Real> chain) {
    const int n = team.shape.n;
    scan<false>(
        team,
        [](const Pose<Real>& a, const Pose<Real>& b) { return Pose<Real>{matmul(a.R, b.R), a.p + mul(a.R, b.p)}; },
        [&](int i) {
            const Pose<Real> T = local_pose(chain, n, i, chain.q[team.global(i)]);
            team.put(LOCAL, i, T);
            return T;
        },
        [&](int i, const Pose<Real>& T) { team.put(WORLD, i, T); });
    // (2a)  (I − Γ) V = S q̇
    motions(
        team,
        [&](int i, const Vector<Real>& z) { return along(chain.revolute[i], chain.v[team.global(i)] * z); },
        [&](int i, const Matrix<Real>& R, const Motion<Real>& V) {
            const Motion<Real> Sv = along(chain.revolute[i], chain.v[team.global(i)] * axis(R));
            // (2b)'s last term
            team.put(C, i, Motion<Real>{cross(V.o, Sv.o), cross(V.v, Sv.o) + cross(V.o, Sv.v)});
            // (2c)'s last term
            const Motion<Real> here = turned_back(R, V);
            const Force<Real> H = momentum(body(chain, n, i), here);
            const Force<Real> b = {cross(here.o, H.n) + cross(here.v, H.f), cross(here.o, H.f)};
            team.put(B, i, turned(R, b));
        });
}

// The torques of the accelerations in field a, or of none where a < 0, into field `torques`: with `bias` those of
// (2b)–(2d), without it M q̈ alone. A team comes and goes by value, since two scans leave its turn as it was.
template <typename Team, typename Real>
__device__ __noinline__ void forces(Team team, ChainArrays<Real> chain, bool bias, int a, int torques) {
    const int n = team.shape.n;
    motions(
        team,
        [&](int i, const Vector<Real>& z) {
            const Real qdd = a < 0 ? Real(0) : team.template get<Real>(a, i);
            Motion<Real> drive = along(chain.revolute[i], qdd * z);
            if (bias) {
                drive = drive + team.template get<Motion<Real>>(C, i);
                if (i == 0) drive.v = drive.v - gravity(chain, n);
            }
            return drive;
        },
        [&](int i, const Matrix<Real>& R, const Motion<Real>& A) {
            Force<Real> push = turned(R, momentum(body(chain, n, i), turned_back(R, A)));
            if (bias) push = push + team.template get<Force<Real>>(B, i);
            team.put(F, i, push);
        });
    using State = Pushed<Real>;
    // (2c)  (I − Γ)ᵀ F = J V̇ + b, (2d)  τ = SᵀF
    scan<true>(
        team,
        [](const State& x, const State& y) {
            return State{y.r, {x.F.n + y.F.n + cross(x.r - y.r, x.F.f), x.F.f + y.F.f}};
        },
        [&](int i) {
            const Vector<Real> r = team.template get<Pose<Real>>(WORLD, i).p;
            return State{r, team.template get<Force<Real>>(F, i)};
        },
        [&](int i, const State& x) {
            const Vector<Real> z = axis(team.template get<Matrix<Real>>(WORLD, i));
            team.put(torques, i, dot(z, chain.revolute[i] ? x.F.n : x.F.f));
        });
}
