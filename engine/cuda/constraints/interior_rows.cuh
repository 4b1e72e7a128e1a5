// The interior point method of docs/contact_solver.md for one contact and one joint row: their terms in Newton's
// equations (G5) and the step length to the boundary. All numbers are scaled.
#pragma once

#include "constraints/contact_law.cuh"

constexpr double INFINITE = 1e30;
// The least σ. A predictor's remainder sets it; on the CPU it follows the last step's length, and is larger.
constexpr double MIN_CENTRING = 1e-4;
template <typename Real> constexpr int INTERIOR_STEPS = sizeof(Real) == 8 ? 40 : 20;

// The Jordan product x ∘ y of the second-order cone.
template <typename Real> __device__ __forceinline__ Vector<Real> jordan(Vector<Real> x, Vector<Real> y) {
    return {dot(x, y), x.x * y.y + y.x * x.y, x.x * y.z + y.x * x.z};
}

// The x with y ∘ x = z, for y inside the cone.
template <typename Real> __device__ __forceinline__ Vector<Real> divided(Vector<Real> y, Vector<Real> z) {
    const Real t = sqrt(y.y * y.y + y.z * y.z), x = (y.x * z.x - y.y * z.y - y.z * z.z) / ((y.x - t) * (y.x + t));
    return {x, (z.y - x * y.y) / y.x, (z.z - x * y.z) / y.x};
}

// The largest a with x + a d in the cone x₀ ≥ |x₁,₂|.
template <typename Real> __device__ __forceinline__ Real to_boundary(Vector<Real> x, Vector<Real> d) {
    const Real a = d.x * d.x - d.y * d.y - d.z * d.z, b = x.x * d.x - x.y * d.y - x.z * d.z;
    const Real c = fmax(x.x * x.x - x.y * x.y - x.z * x.z, Real(0)), discriminant = b * b - a * c;
    Real best = INFINITE;
    if (discriminant >= 0) {
        const Real root = sqrt(discriminant), s = -(b + (b >= 0 ? root : -root));  // both roots without cancellation
        if (a != 0 && s / a > 0) best = s / a;
        if (s != 0 && c / s > 0) best = fmin(best, c / s);
    }
    return d.x < 0 ? fmin(best, -x.x / d.x) : best;
}

// Ω of dλ = s − Ω (du + r), by its columns.
template <typename Real> struct ConeMatrix {
    Vector<Real> n, first, second;

    __device__ __forceinline__ Vector<Real> times(Vector<Real> x) const {
        return x.x * n + (x.y * first + x.z * second);
    }
};

// A contact's impulse λ and w, both inside their cones; w converges to u + μ |u_t| n. |w_t| is smoothed to √(|w_t|² +
// smooth²) − smooth.
template <typename Real> struct InteriorContact {
    Vector<Real> impulse, w;

    __device__ __forceinline__ Vector<Real> scaled_impulse(Real mu) const {
        return {mu * impulse.x, impulse.y, impulse.z};
    }
    __device__ __forceinline__ Vector<Real> scaled_w(Real mu) const { return {w.x / mu, w.y, w.z}; }
    // De Saxcé's term in r.
    __device__ __forceinline__ Real saxce(Real mu, Real smooth) const {
        const Real square = w.y * w.y + w.z * w.z, t = sqrt(square + smooth * smooth);
        return t > 0 ? mu * square / (t + smooth) : Real(0);
    }
    __device__ __forceinline__ ConeMatrix<Real> Omega(Real mu, Real smooth) const {
        const Vector<Real> p = scaled_impulse(mu), q = scaled_w(mu);
        const Real t = sqrt(w.y * w.y + w.z * w.z + smooth * smooth), slope = t > 0 ? mu / t : Real(0);
        const Vector<Real> first = divided(q, p), second = divided(q, Vector<Real>{p.y, p.x, 0}),
                           third = divided(q, Vector<Real>{p.z, 0, p.x});
        const Vector<Real> normal = {first.x / mu / mu, first.y / mu, first.z / mu};
        return {normal, Vector<Real>{second.x / mu, second.y, second.z} + (slope * w.y) * normal,
                Vector<Real>{third.x / mu, third.y, third.z} + (slope * w.z) * normal};
    }
    // s for complementarity products of `target`, without −Ω r.
    __device__ __forceinline__ Vector<Real> s(Real mu, Real target, Vector<Real> correction) const {
        const Vector<Real> p = scaled_impulse(mu), q = scaled_w(mu);
        const Vector<Real> x = divided(q, Vector<Real>{target, 0, 0} - jordan(p, q) - correction);
        return {x.x / mu, x.y, x.z};
    }
    // dw for a change du + r of u.
    __device__ __forceinline__ Vector<Real> dw(Real mu, Real smooth, Vector<Real> du) const {
        const Real t = sqrt(w.y * w.y + w.z * w.z + smooth * smooth);
        if (t > 0) du.x += mu * (w.y * du.y + w.z * du.z) / t;
        return du;
    }
    // The step length to the boundary, with the second-order term as `correction`: falling quadrupeds take a fifth
    // longer where a function of its own computes that first.
    __device__ __forceinline__ Real length_to_boundary(Real mu, Vector<Real> step, Vector<Real> dw,
                                                       Vector<Real>& correction) const {
        const Vector<Real> dp = {mu * step.x, step.y, step.z}, dq = {dw.x / mu, dw.y, dw.z};
        correction = jordan(dp, dq);
        return fmin(to_boundary(scaled_impulse(mu), dp), to_boundary(scaled_w(mu), dq));
    }
};

// A joint row's impulse and its complementarity pairs x: (f + fr, β), (f − fr, α), (below, u − lo), (above, hi − u),
// where fr is the friction impulse and u = β − α at convergence.
template <typename Real> struct InteriorJoint {
    enum { UP, BETA, DOWN, ALPHA, BELOW, TO_LOWER, ABOVE, TO_UPPER, NUMBERS };

    Real impulse, x[NUMBERS], step[NUMBERS], low, high;
    bool has_friction, has_lower, has_upper;

    __device__ __forceinline__ InteriorJoint() = default;
    // From the law f, lo, hi, and which of the limits there are.
    __device__ __forceinline__ InteriorJoint(Real f, Real lo, Real hi, bool has_lower, bool has_upper)
        : low(has_lower ? lo : Real(0)), high(has_upper ? hi : Real(0)), has_friction(f > 0), has_lower(has_lower),
          has_upper(has_upper) {
        x[UP] = x[DOWN] = has_friction ? f : Real(1), x[BETA] = x[ALPHA] = has_friction;
        x[BELOW] = has_lower, x[ABOVE] = has_upper, x[TO_LOWER] = x[TO_UPPER] = 1;
        impulse = x[BELOW] - x[ABOVE];
    }
    // The iterate near impulse `given` and velocity u, at least `inwards` inside all bounds.
    __device__ __forceinline__ void start(Real given, Real u, Real inwards) {
        const Real f = has_friction ? x[UP] : Real(0), bound = fmax(f - inwards, Real(0.1) * f);
        const Real friction = clip(given, -bound, bound), rest = given - friction;
        if (has_friction) {
            x[UP] = f + friction, x[DOWN] = f - friction;
            x[BETA] = fmax(u, Real(0)) + inwards, x[ALPHA] = fmax(-u, Real(0)) + inwards;
        }
        if (has_lower) x[BELOW] = fmax(rest, Real(0)) + inwards, x[TO_LOWER] = fmax(u - low, Real(0)) + inwards;
        if (has_upper) x[ABOVE] = fmax(-rest, Real(0)) + inwards, x[TO_UPPER] = fmax(high - u, Real(0)) + inwards;
        impulse = friction + x[BELOW] - x[ABOVE];
    }
    // The number of complementarity products; and their sum.
    __device__ __forceinline__ int pairs() const { return 2 * has_friction + has_lower + has_upper; }
    __device__ __forceinline__ Real products() const {
        return x[UP] * x[BETA] + x[DOWN] * x[ALPHA] + x[BELOW] * x[TO_LOWER] + x[ABOVE] * x[TO_UPPER];
    }
    // The damping of the friction; and of the whole row.
    __device__ __forceinline__ Real friction_damping() const {
        return has_friction ? 1 / (x[BETA] / x[UP] + x[ALPHA] / x[DOWN]) : Real(0);
    }
    __device__ __forceinline__ Real damping() const {
        return friction_damping() + x[BELOW] / x[TO_LOWER] + x[ABOVE] / x[TO_UPPER];
    }
    // s for complementarity products of `target`, at velocity u.
    __device__ __forceinline__ Real s(Real u, Real target) const {
        const Real mismatch = impulse - (x[UP] - x[DOWN]) / 2 - x[BELOW] + x[ABOVE];
        Real s = -friction_damping() * (u - target / x[UP] + target / x[DOWN]);
        if (has_lower) s += (target - x[BELOW] * (u - low)) / x[TO_LOWER];
        if (has_upper) s -= (target + x[ABOVE] * (u - high)) / x[TO_UPPER];
        return s - mismatch;
    }
    // The pairs' steps to velocity u.
    __device__ __forceinline__ void set_step(Real u, Real target) {
        const Real d0 = -friction_damping() * (u - target / x[UP] + target / x[DOWN]);
        step[UP] = d0, step[DOWN] = -d0;
        step[BETA] = has_friction ? (target - x[BETA] * d0) / x[UP] - x[BETA] : Real(0),
            step[ALPHA] = has_friction ? (target + x[ALPHA] * d0) / x[DOWN] - x[ALPHA] : Real(0);
        step[TO_LOWER] = has_lower ? u - low - x[TO_LOWER] : Real(0);
        step[TO_UPPER] = has_upper ? high - u - x[TO_UPPER] : Real(0);
        step[BELOW] = has_lower ? (target - x[BELOW] * step[TO_LOWER]) / x[TO_LOWER] - x[BELOW] : Real(0),
            step[ABOVE] = has_upper ? (target - x[ABOVE] * step[TO_UPPER]) / x[TO_UPPER] - x[ABOVE] : Real(0);
    }
    __device__ __forceinline__ Real length_to_boundary() const {
        Real longest = INFINITE;
#pragma unroll
        for (int k = 0; k < NUMBERS; ++k) {
            if (x[k] > 0 && step[k] < 0) longest = fmin(longest, -x[k] / step[k]);
        }
        return longest;
    }
    __device__ __forceinline__ void move(Real length) {
#pragma unroll
        for (int k = 0; k < NUMBERS; ++k) x[k] += length * step[k];
    }
};
