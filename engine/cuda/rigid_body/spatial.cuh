// Spatial algebra in registers, with the names of engine/kernels/spatial.py.
//
// Twists and accelerations are (o, v), wrenches (n, f): the angular part first. A symmetric 6×6 [A B; Bᵀ C] is its
// three blocks. A pose (R, p) maps a body's frame to its parent's, X = Ad((R, p)⁻¹).
#pragma once

template <typename Real> struct Vector { Real x, y, z; };
template <typename Real> struct Matrix { Vector<Real> x, y, z; };  // its rows
template <typename Real> struct Symmetric { Real xx, xy, xz, yy, yz, zz; };
template <typename Real> struct Quaternion { Real x, y, z, w; };

template <typename Real> struct Motion { Vector<Real> o, v; };
template <typename Real> struct Force { Vector<Real> n, f; };
template <typename Real> struct Pose { Matrix<Real> R; Vector<Real> p; };
template <typename Real> struct Inertia { Symmetric<Real> A; Matrix<Real> B; Symmetric<Real> C; };
template <typename Real> struct Body { Real m; Vector<Real> h; Symmetric<Real> I; };  // mass, first moment, inertia

#define FUNCTION template <typename Real> __device__ __forceinline__

FUNCTION Vector<Real> operator+(Vector<Real> a, Vector<Real> b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
FUNCTION Vector<Real> operator-(Vector<Real> a, Vector<Real> b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
FUNCTION Vector<Real> operator-(Vector<Real> a) { return {-a.x, -a.y, -a.z}; }
FUNCTION Vector<Real> operator*(Real k, Vector<Real> a) { return {k * a.x, k * a.y, k * a.z}; }
FUNCTION Real dot(Vector<Real> a, Vector<Real> b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
FUNCTION Vector<Real> cross(Vector<Real> a, Vector<Real> b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

FUNCTION Motion<Real> operator+(Motion<Real> a, Motion<Real> b) { return {a.o + b.o, a.v + b.v}; }
FUNCTION Motion<Real> operator-(Motion<Real> a, Motion<Real> b) { return {a.o - b.o, a.v - b.v}; }
FUNCTION Force<Real> operator+(Force<Real> a, Force<Real> b) { return {a.n + b.n, a.f + b.f}; }
FUNCTION Force<Real> operator-(Force<Real> a, Force<Real> b) { return {a.n - b.n, a.f - b.f}; }
FUNCTION Force<Real> operator*(Real k, Force<Real> a) { return {k * a.n, k * a.f}; }

FUNCTION Symmetric<Real> operator+(Symmetric<Real> a, Symmetric<Real> b) {
    return {a.xx + b.xx, a.xy + b.xy, a.xz + b.xz, a.yy + b.yy, a.yz + b.yz, a.zz + b.zz};
}
FUNCTION Matrix<Real> operator+(Matrix<Real> a, Matrix<Real> b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
FUNCTION Inertia<Real> operator+(Inertia<Real> a, Inertia<Real> b) { return {a.A + b.A, a.B + b.B, a.C + b.C}; }

FUNCTION Matrix<Real> transpose(Matrix<Real> A) {
    return {{A.x.x, A.y.x, A.z.x}, {A.x.y, A.y.y, A.z.y}, {A.x.z, A.y.z, A.z.z}};
}
FUNCTION Matrix<Real> full(Symmetric<Real> A) {
    return {{A.xx, A.xy, A.xz}, {A.xy, A.yy, A.yz}, {A.xz, A.yz, A.zz}};
}
FUNCTION Vector<Real> mul(Matrix<Real> A, Vector<Real> x) { return {dot(A.x, x), dot(A.y, x), dot(A.z, x)}; }
FUNCTION Vector<Real> mul(Symmetric<Real> A, Vector<Real> x) { return mul(full(A), x); }
FUNCTION Vector<Real> mul_t(Matrix<Real> A, Vector<Real> x) { return mul(transpose(A), x); }
// A Bᵀ
FUNCTION Matrix<Real> matmul_t(Matrix<Real> A, Matrix<Real> B) { return {mul(B, A.x), mul(B, A.y), mul(B, A.z)}; }
FUNCTION Matrix<Real> matmul(Matrix<Real> A, Matrix<Real> B) { return matmul_t(A, transpose(B)); }

// The symmetric product A Bᵀ, given that it is symmetric.
FUNCTION Symmetric<Real> symmetric_t(Matrix<Real> A, Matrix<Real> B) {
    return {dot(A.x, B.x), dot(A.x, B.y), dot(A.x, B.z), dot(A.y, B.y), dot(A.y, B.z), dot(A.z, B.z)};
}
// R A Rᵀ
FUNCTION Symmetric<Real> rotate(Matrix<Real> R, Symmetric<Real> A) { return symmetric_t(matmul(R, full(A)), R); }

// X (o, v): a twist or acceleration in the child's frame.
FUNCTION Motion<Real> motion_to_child(const Pose<Real>& T, const Motion<Real>& a) {
    return {mul_t(T.R, a.o), mul_t(T.R, a.v + cross(a.o, T.p))};
}
// Xᵀ (n, f): a wrench in the parent's frame.
FUNCTION Force<Real> force_to_parent(const Pose<Real>& T, const Force<Real>& F) {
    const Vector<Real> f = mul(T.R, F.f);
    return {mul(T.R, F.n) + cross(T.p, f), f};
}

// A, B and C, along the parent's axes, moved to its origin, r away: Xᵀ [A B; Bᵀ C] X for a translation X.
FUNCTION Inertia<Real> translate(Vector<Real> r, Symmetric<Real> A, Matrix<Real> B, Symmetric<Real> C) {
    const Matrix<Real> E = {
        {B.x.x + r.y * C.xz - r.z * C.xy, B.x.y + r.y * C.yz - r.z * C.yy, B.x.z + r.y * C.zz - r.z * C.yz},
        {B.y.x + r.z * C.xx - r.x * C.xz, B.y.y + r.z * C.xy - r.x * C.yz, B.y.z + r.z * C.xz - r.x * C.zz},
        {B.z.x + r.x * C.xy - r.y * C.xx, B.z.y + r.x * C.yy - r.y * C.xy, B.z.z + r.x * C.yz - r.y * C.xz}};
    return {{A.xx + r.y * (B.x.z + E.x.z) - r.z * (B.x.y + E.x.y),
             A.xy + r.y * B.y.z - r.z * B.y.y + r.z * E.x.x - r.x * E.x.z,
             A.xz + r.y * B.z.z - r.z * B.z.y + r.x * E.x.y - r.y * E.x.x,
             A.yy + r.z * (B.y.x + E.y.x) - r.x * (B.y.z + E.y.z),
             A.yz + r.z * B.z.x - r.x * B.z.z + r.x * E.y.y - r.y * E.y.x,
             A.zz + r.x * (B.z.y + E.z.y) - r.y * (B.z.x + E.z.x)}, E, C};
}
// Xᵀ [A B; Bᵀ C] X: an inertia in the parent's frame.
FUNCTION Inertia<Real> inertia_to_parent(const Pose<Real>& T, const Inertia<Real>& I) {
    const Matrix<Real> B = matmul_t(matmul(T.R, I.B), T.R);
    return translate(T.p, rotate(T.R, I.A), B, rotate(T.R, I.C));
}
// `inertia_to_parent` where the third rows of A and B are zero, as for articulated inertias before a revolute joint.
FUNCTION Inertia<Real> turning_to_parent(const Pose<Real>& T, const Inertia<Real>& I) {
    const Matrix<Real> R = T.R;
    const Vector<Real> a = {I.A.xx, I.A.xy, 0}, b = {I.A.xy, I.A.yy, 0}, s = mul(R, I.B.x), t = mul(R, I.B.y);
    const auto plane = [](Vector<Real> u, Vector<Real> w) { return u.x * w.x + u.y * w.y; };
    const Vector<Real> x = {plane(R.x, a), plane(R.x, b), 0}, y = {plane(R.y, a), plane(R.y, b), 0},
                       z = {plane(R.z, a), plane(R.z, b), 0};
    const Symmetric<Real> A = {plane(x, R.x), plane(x, R.y), plane(x, R.z),
                               plane(y, R.y), plane(y, R.z), plane(z, R.z)};
    const Matrix<Real> B = {R.x.x * s + R.x.y * t, R.y.x * s + R.y.y * t, R.z.x * s + R.z.y * t};
    return translate(T.p, A, B, rotate(R, I.C));
}
// I − d U Uᵀ: the articulated-body step.
FUNCTION Inertia<Real> minus_rank_one(const Inertia<Real>& I, const Force<Real>& U, Real d) {
    const Force<Real> G = d * U;
    const Vector<Real> x = U.n, y = U.f, g = G.n, h = G.f;
    return {{I.A.xx - g.x * x.x, I.A.xy - g.x * x.y, I.A.xz - g.x * x.z, I.A.yy - g.y * x.y, I.A.yz - g.y * x.z,
             I.A.zz - g.z * x.z},
            {I.B.x - g.x * y, I.B.y - g.y * y, I.B.z - g.z * y},
            {I.C.xx - h.x * y.x, I.C.xy - h.x * y.y, I.C.xz - h.x * y.z, I.C.yy - h.y * y.y, I.C.yz - h.y * y.z,
             I.C.zz - h.z * y.z}};
}
// I + J of a rigid body.
FUNCTION Inertia<Real> operator+(const Inertia<Real>& I, const Body<Real>& J) {
    return {I.A + J.I,
            {{I.B.x.x, I.B.x.y - J.h.z, I.B.x.z + J.h.y},
             {I.B.y.x + J.h.z, I.B.y.y, I.B.y.z - J.h.x},
             {I.B.z.x - J.h.y, I.B.z.y + J.h.x, I.B.z.z}},
            {I.C.xx + J.m, I.C.xy, I.C.xz, I.C.yy + J.m, I.C.yz, I.C.zz + J.m}};
}
FUNCTION Inertia<Real> full(const Body<Real>& J) {
    const Vector<Real> h = J.h;
    return {J.I, {{0, -h.z, h.y}, {h.z, 0, -h.x}, {-h.y, h.x, 0}}, {J.m, 0, 0, J.m, 0, J.m}};
}

// J V of a rigid body.
FUNCTION Force<Real> momentum(const Body<Real>& J, const Motion<Real>& V) {
    return {mul(J.I, V.o) + cross(J.h, V.v), J.m * V.v - cross(J.h, V.o)};
}
// J a − ad_Vᵀ J V, the wrench on a moving rigid body, of [Y] (2c).
FUNCTION Force<Real> wrench(const Body<Real>& J, const Motion<Real>& V, const Motion<Real>& a) {
    const Force<Real> H = momentum(J, V), F = momentum(J, a);
    return {F.n + cross(V.o, H.n) + cross(V.v, H.f), F.f + cross(V.o, H.f)};
}
// A rigid body about a point r away from its origin.
FUNCTION Body<Real> translate(Vector<Real> r, const Body<Real>& J) {
    const Vector<Real> h = J.h, k = h + J.m * r;
    const Real x = r.x * (k.x + h.x), y = r.y * (k.y + h.y), z = r.z * (k.z + h.z);
    const Symmetric<Real>& I = J.I;
    return {J.m, k,
            {I.xx + y + z, I.xy - r.x * k.y - r.y * h.x, I.xz - r.x * k.z - r.z * h.x, I.yy + x + z,
             I.yz - r.y * k.z - r.z * h.y, I.zz + x + y}};
}
// A rigid body in the parent's frame, about its origin.
FUNCTION Body<Real> body_to_parent(const Pose<Real>& T, const Body<Real>& J) {
    return translate(T.p, Body<Real>{J.m, mul(T.R, J.h), rotate(T.R, J.I)});
}
FUNCTION Body<Real> operator+(const Body<Real>& a, const Body<Real>& b) { return {a.m + b.m, a.h + b.h, a.I + b.I}; }

// A body's inertia, and the home pose of its joint, from its constants at(k) in the layout of engine/model/layout.py.
template <typename Real, class At> __device__ __forceinline__ Body<Real> packed_body(const At& at) {
    constexpr int h = packed::FIRST_MOMENT, I = packed::INERTIA;
    return {at(packed::MASS), {at(h), at(h + 1), at(h + 2)},
            {at(I), at(I + 1), at(I + 2), at(I + 3), at(I + 4), at(I + 5)}};
}
template <typename Real, class At> __device__ __forceinline__ Pose<Real> packed_home(const At& at) {
    const auto three = [&](int k) { return Vector<Real>{at(k), at(k + 1), at(k + 2)}; };
    constexpr int R = packed::HOME_ROTATION;
    return {{three(R), three(R + 3), three(R + 6)}, three(packed::HOME_POSITION)};
}

// 1/x for x that is neither infinite nor denormal, within an ulp.
__device__ __forceinline__ float reciprocal(float x) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return fmaf(r, fmaf(-x, r, 1.0f), r);
}
__device__ __forceinline__ double reciprocal(double x) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    const double e = fma(-x, r, 1.0);
    return fma(r, fma(e, e, e), r);  // r (1 + e + e²): the error is e³
}

// 1/D of a factor, or NaN where rounding leaves a matrix that is not positive definite.
FUNCTION Real inverse_pivot(Real D) { return D > 0 ? reciprocal(D) : Real(nan("")); }

// S⁻¹ b for a symmetric positive definite 3×3, by L D Lᵀ.
FUNCTION Vector<Real> solve3(const Symmetric<Real>& S, Vector<Real> b) {
    const Real i0 = reciprocal(S.xx), l10 = S.xy * i0, l20 = S.xz * i0;
    const Real i1 = reciprocal(S.yy - l10 * S.xy), e = S.yz - l10 * S.xz, l21 = e * i1;
    const Real y1 = b.y - l10 * b.x, x2 = (b.z - l20 * b.x - l21 * y1) * reciprocal(S.zz - l20 * S.xz - l21 * e);
    const Real x1 = y1 * i1 - l21 * x2;
    return {b.x * i0 - l10 * x1 - l20 * x2, x1, x2};
}
// [A B; Bᵀ C]⁻¹ (n, f) by the Schur complement of C.
FUNCTION Motion<Real> solve6(const Inertia<Real>& I, const Force<Real>& F) {
    const Matrix<Real> K = {solve3(I.C, I.B.x), solve3(I.C, I.B.y), solve3(I.C, I.B.z)};  // B C⁻¹
    const Symmetric<Real> BK = symmetric_t(I.B, K);
    const Symmetric<Real> S = {I.A.xx - BK.xx, I.A.xy - BK.xy, I.A.xz - BK.xz,
                               I.A.yy - BK.yy, I.A.yz - BK.yz, I.A.zz - BK.zz};
    const Vector<Real> o = solve3(S, F.n - mul(K, F.f));
    return {o, solve3(I.C, F.f - mul_t(I.B, o))};
}

// R of the quaternion, which need not be normalised.
FUNCTION Matrix<Real> rotation_from_quaternion(const Quaternion<Real>& q) {
    const Real x = q.x, y = q.y, z = q.z, w = q.w, n = Real(2) / (x * x + y * y + z * z + w * w);
    return {{1 - n * (y * y + z * z), n * (x * y - w * z), n * (x * z + w * y)},
            {n * (x * y + w * z), 1 - n * (x * x + z * z), n * (y * z - w * x)},
            {n * (x * z - w * y), n * (y * z + w * x), 1 - n * (x * x + y * y)}};
}

// Sine and cosine, with the bits of engine/kernels/sines.py, which explains the steps.
__device__ __forceinline__ void sincos_of(float x, float& sine, float& cosine) {
    const float t = fmaf(x, 0.636619772f, 12582912.0f), k = t - 12582912.0f;
    const float r = fmaf(-k, -4.37113883e-8f, fmaf(-k, 1.57079637f, x)), z = r * r;
    const int turns = __float_as_int(t);
    const float s = fmaf(r * z, fmaf(z, fmaf(z, -1.9511e-4f, 8.33213e-3f), -0.16666654f), r);
    const float c = fmaf(z * z, fmaf(z, fmaf(z, 2.44312e-5f, -1.3887306e-3f), 4.16664570e-2f), fmaf(z, -0.5f, 1.0f));
    const float a = turns & 1 ? c : s, b = turns & 1 ? s : c;
    sine = turns & 2 ? -a : a;
    cosine = (turns + 1) & 2 ? -b : b;
}
__device__ __forceinline__ void sincos_of(double x, double& sine, double& cosine) {
    const double t = fma(x, 0.6366197723675814, 6755399441055744.0), k = t - 6755399441055744.0;
    const double r = fma(-k, 6.123233995736766e-17, fma(-k, 1.5707963267948966, x)), z = r * r;
    const int turns = __double2loint(t);
    double s = fma(z, 1.58969099521155010221e-10, -2.50507602534068634195e-08);
    s = fma(z, fma(z, fma(z, s, 2.75573137070700676789e-06), -1.98412698298579493134e-04), 8.33333333332248946124e-03);
    s = fma(r * z, fma(z, s, -1.66666666666666324348e-01), r);
    double c = fma(z, -1.13596475577881948265e-11, 2.08757232129817482790e-09);
    c = fma(z, fma(z, fma(z, c, -2.75573143513906633035e-07), 2.48015872894767294178e-05), -1.38888888888741095749e-03);
    c = fma(z * z, fma(z, c, 4.16666666666666019037e-02), fma(z, -0.5, 1.0));
    const double a = turns & 1 ? c : s, b = turns & 1 ? s : c;
    sine = turns & 2 ? -a : a;
    cosine = (turns + 1) & 2 ? -b : b;
}

// T of a revolute joint at this sine and cosine, of a prismatic one at x, and of any joint at its coordinates q(k).
FUNCTION Pose<Real> turned_about_z(const Pose<Real>& home, Real sine, Real cosine) {
    const auto row = [&](Vector<Real> r) {
        return Vector<Real>{cosine * r.x + sine * r.y, cosine * r.y - sine * r.x, r.z};
    };
    return {{row(home.R.x), row(home.R.y), row(home.R.z)}, home.p};
}
FUNCTION Pose<Real> shifted_along_z(const Pose<Real>& home, Real x) {
    return {home.R, home.p + x * Vector<Real>{home.R.x.z, home.R.y.z, home.R.z.z}};
}
template <typename Real, class Q>
__device__ __forceinline__ Pose<Real> joint_pose(int kind, const Pose<Real>& home, const Q& q) {
    if (kind == REVOLUTE) {
        Real sine, cosine;
        sincos_of(q(0), sine, cosine);
        return turned_about_z(home, sine, cosine);
    }
    if (kind == PRISMATIC) return shifted_along_z(home, q(0));
    const int turn = kind == FREE ? 3 : 0;
    const Quaternion<Real> rotation = {q(turn), q(turn + 1), q(turn + 2), q(turn + 3)};
    return {matmul(home.R, rotation_from_quaternion(rotation)),
            kind == FREE ? home.p + mul(home.R, Vector<Real>{q(0), q(1), q(2)}) : home.p};
}
