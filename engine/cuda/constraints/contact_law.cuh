// The laws of contact, joint friction and joint limits at velocity level, and the residual of impulses. Equations:
// docs/contact.md (C1)–(C3). Rows as in contact_workspace.cuh: three for each of `contacts` with friction, then
// `joints`.
#pragma once

#include "collision/contact_workspace.cuh"
#include "constraints/team.cuh"
#include "constraints/active_set.cuh"

template <typename Real> constexpr Real TINY = sizeof(Real) == 8 ? 1e-300 : 1e-30;
template <typename Real> constexpr Real EPS = sizeof(Real) == 8 ? 2.220446049250313e-16 : 1.1920929e-7;
// The residual accepted where a further attempt would gain no more than rounding.
template <typename Real> constexpr Real ACCEPTED_RESIDUAL =
    sizeof(Real) == 8 ? RESIDUAL_TOLERANCE<Real> : ACCEPTED_RESIDUAL_SINGLE;
// The damping ε of Newton's steps, of which ε/r is added to G's diagonal: per unit of the residual; and where steps
// would cycle with less, the first, and the factor from step to step.
constexpr double EPSILON_PER_RESIDUAL = 0.1, FIRST_EPSILON = 0.3;
template <typename Real> constexpr Real EPSILON_FACTOR = sizeof(Real) == 8 ? 0.1 : 0.3;
constexpr double UNKNOWN = 1e30;  // a residual
// The most iterations of the search for a sliding contact's η; Newton's takes about four.
constexpr int ETA_SEARCH = 40;

// The rows of a robot's contact problem in its workspace.
template <typename Real, class Workspace> struct System {
    Workspace ws;
    int contacts, joints;

    __device__ __forceinline__ int rows() const { return 3 * contacts + joints; }
    // The symmetric G, stored by its lower triangle.
    __device__ __forceinline__ Real& G(int i, int j) const {
        return ws.far(Workspace::G + (i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i));
    }
    __device__ __forceinline__ Real& own(int k) const { return ws(Workspace::OWN + k); }  // G's diagonal
    __device__ __forceinline__ Real& b(int k) const { return ws(Workspace::B + k); }
    __device__ __forceinline__ Real mu(int i) const { return ws(Workspace::MU + i); }
    // f, lo and hi of a joint row.
    __device__ __forceinline__ Real& law(int j, int which) const { return ws(Workspace::LAW + 3 * j + which); }
    // The current iterate: impulses λ and velocities u = G λ + b.
    __device__ __forceinline__ Real& impulse(int k) const { return ws(Workspace::TRIED + k); }
    __device__ __forceinline__ Real& u(int k) const { return ws(Workspace::U + k); }
    // Both for the contact whose rows begin at k.
    __device__ __forceinline__ Vector<Real> impulses(int k) const { return ws.vector(Workspace::TRIED + k); }
    __device__ __forceinline__ Vector<Real> velocities(int k) const { return ws.vector(Workspace::U + k); }

    // The mean of G's diagonal over the three rows of a contact that begin at k.
    __device__ __forceinline__ Real size(int k) const { return (own(k) + own(k + 1) + own(k + 2)) / 3; }
};

// The projection of z = (n, t₁, t₂) onto K = {|t| ≤ μ n}.
template <typename Real> __device__ __forceinline__ Vector<Real> project(Vector<Real> z, Real mu) {
    const Real t = sqrt(z.y * z.y + z.z * z.z);
    if (t <= mu * z.x) return z;
    if (z.x + mu * t <= 0) return {0, 0, 0};
    const Real n = (z.x + mu * t) / (1 + mu * mu), along = mu * n / t;
    return {n, along * z.y, along * z.z};
}

// clamp(soft(y, g f), lo, hi).
template <typename Real> __device__ __forceinline__ Real joint_law(Real y, Real gf, Real low, Real high) {
    return clip(y > gf ? y - gf : y < -gf ? y + gf : Real(0), low, high);
}

// The linear law dλ = s − Ω du of a Newton step (S1): of a contact, and of a joint row.
template <typename Real> struct LinearContact {
    Matrix<Real> Omega;
    Vector<Real> s;
};
template <typename Real> struct LinearJoint { Real Omega, s; };

// Those of a sliding contact with impulse x and velocity u, whose friction follows the normal impulse; ε/r is added to
// the diagonal of G.
template <typename Real>
__device__ __forceinline__ LinearContact<Real> sliding(Vector<Real> x, Vector<Real> u, Real mu, Real r, Real eps) {
    const Vector<Real> z = x - r * u;
    const Real t = sqrt(z.y * z.y + z.z * z.z), a = z.y / t, b = z.z / t, disk = mu * z.x, curve = disk / t;
    const Real normal = r * reciprocal(eps), s = -normal * u.x, weight = reciprocal(1 - (1 - eps) * curve);
    const Real slip_stiffness = r * curve * weight, coupling = mu * (normal + r), mixed = -slip_stiffness * a * b;
    const Real along = disk + mu * s - (a * x.y + b * x.z), across = (b * x.y - a * x.z) * weight;
    return {{{normal, 0, 0},
             {a * coupling, slip_stiffness * b * b, mixed},
             {b * coupling, mixed, slip_stiffness * a * a}},
            {s, a * along - b * across, b * along + a * across}};
}

// Those of a joint row with its law, impulse x and velocity u; ε g is added to the diagonal of G.
template <typename Real>
__device__ __forceinline__ LinearJoint<Real> linearise_joint(Real g, Real f, Real low, Real high, Real x, Real u,
                                                             Real eps) {
    const Real y = u - g * x, u_next = joint_law(y, g * f, low, high), stiffness = reciprocal(eps * g);
    const bool slides = fabs(y) > g * f && low < u_next && u_next < high;
    return {slides ? Real(0) : stiffness, slides ? (y > 0 ? -f : f) - x : stiffness * (u_next - u)};
}

// The residual of the law at λ and u, relative to the largest |b|; 0 only where they obey it.
template <typename Real, class Workspace, class Team>
__device__ __forceinline__ Real residual(const System<Real, Workspace>& system, const Team& team) {
    const int n = system.rows(), first = 3 * system.contacts;
    Real worst = 0, most = VELOCITY_FLOOR<Real>;
#pragma unroll 1
    for (int i = team.rank; i < system.contacts; i += team.size) {
        const int k = 3 * i;
        const Real size = system.size(k), r = 1 / size, mu = system.mu(i);
        const Vector<Real> u = {system.u(k), system.u(k + 1), system.u(k + 2)};
        const Vector<Real> x = {system.impulse(k), system.impulse(k + 1), system.impulse(k + 2)};
        const Real s = mu * sqrt(u.y * u.y + u.z * u.z);
        const Vector<Real> d = x - project(Vector<Real>{x.x - r * (u.x + s), x.y - r * u.y, x.z - r * u.z}, mu);
        const Real left = sqrt(dot(d, d)) * size;
        worst = left > worst || !(left == left) ? left : worst;
    }
#pragma unroll 1
    for (int k = first + team.rank; k < n; k += team.size) {
        const int j = k - first;
        const Real g = system.own(k), u = system.u(k);
        const Real left =
            fabs(u - joint_law(u - g * system.impulse(k), g * system.law(j, 0), system.law(j, 1), system.law(j, 2)));
        worst = left > worst || !(left == left) ? left : worst;
    }
#pragma unroll 1
    for (int k = team.rank; k < n; k += team.size) most = fmax(most, fabs(system.b(k)));
    return team.max_nonnegative(worst) / team.max_nonnegative(most);
}

// The exact λ of one contact with u = D λ + w; D by its upper triangle (nn, n1, n2, 11, 12, 22).
template <typename Real>
__device__ __forceinline__ Vector<Real> one_contact(const Symmetric<Real>& D, Vector<Real> w, Real mu) {
    if (w.x >= 0) return {0, 0, 0};
    const Real n = D.xx, p = D.xy, q = D.xz;
    const Real s11 = D.yy - p * p / n, s12 = D.yz - p * q / n, s22 = D.zz - q * q / n;
    const Real c1 = w.y - p * w.x / n, c2 = w.z - q * w.x / n;
    const Real size = sqrt(c1 * c1 + c2 * c2), floor = 8 * EPS<Real> * (D.yy + D.zz);  // keeps S regular
    Real low = 0, high = size * (n + mu * sqrt(p * p + q * q)) / (-mu * w.x), eta = 0, x = 0, y = 0, impulse = 0, t = 0;
#pragma unroll 1
    for (int k = 0; k < ETA_SEARCH; ++k) {
        const Real a11 = s11 + floor + eta, a22 = s22 + floor + eta, inverse = 1 / (a11 * a22 - s12 * s12);
        x = (s12 * c2 - a22 * c1) * inverse, y = (s12 * c1 - a11 * c2) * inverse;
        impulse = -(w.x + p * x + q * y) / n, t = sqrt(x * x + y * y);
        const Real h = mu * impulse - t;
        if ((k == 0 && h >= 0) || fabs(h) <= 4 * EPS<Real> * t) break;
        (h > 0 ? high : low) = eta;
        const Real dx = (s12 * y - a22 * x) * inverse, dy = (s12 * x - a11 * y) * inverse;  // dλ_t/dη = −(S + η)⁻¹ λ_t
        const Real rate = -(p * dx + q * dy) / n, turn = (x * dx + y * dy) / t;
        const Real slope = mu * (rate * t - impulse * turn) / (t * t);
        Real step = slope > 0 ? eta - (mu * impulse / t - 1) / slope : low - 1;
        if (!(low < step && step < high)) step = (low + high) / 2;
        if (fabs(step - eta) <= 2 * EPS<Real> * step) break;
        eta = step;
    }
    impulse = fmax(impulse, Real(0));
    if (t > mu * impulse) x = x * mu * impulse / t, y = y * mu * impulse / t;
    return {impulse, x, y};
}
