// The interior point method of docs/contact_solver.md for one contact and one joint row: their terms in Newton's
// equations (G5) and the step length to the boundary. All numbers are scaled.
#pragma once

#include "constraints/contact_law.cuh"

constexpr double NO_LIMIT = 1e9, FIRST_GUESS = 1e-4, WIDEST = 1e3, INFINITE = 1e30;
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

// Ω of dλ = c − Ω (du + r), by its columns.
template <typename Real> struct ConeMatrix {
    Vector<Real> n, first, second;
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
    __device__ __forceinline__ ConeMatrix<Real> matrix(Real mu, Real smooth) const {
        const Vector<Real> p = scaled_impulse(mu), q = scaled_w(mu);
        const Real t = sqrt(w.y * w.y + w.z * w.z + smooth * smooth), slope = t > 0 ? mu / t : Real(0);
        const Vector<Real> first = divided(q, p), second = divided(q, Vector<Real>{p.y, p.x, 0}),
                           third = divided(q, Vector<Real>{p.z, 0, p.x});
        const Vector<Real> normal = {first.x / mu / mu, first.y / mu, first.z / mu};
        return {normal, Vector<Real>{second.x / mu, second.y, second.z} + (slope * w.y) * normal,
                Vector<Real>{third.x / mu, third.y, third.z} + (slope * w.z) * normal};
    }
    // c for complementarity products `aim`.
    __device__ __forceinline__ Vector<Real> target(Real mu, Real aim, Vector<Real> correction) const {
        const Vector<Real> p = scaled_impulse(mu), q = scaled_w(mu);
        const Vector<Real> x = divided(q, Vector<Real>{aim, 0, 0} - jordan(p, q) - correction);
        return {x.x / mu, x.y, x.z};
    }
    // The step length to the boundary. `correction` becomes the second-order term.
    __device__ __forceinline__ Real reach(Real mu, Vector<Real> step, Vector<Real> dw, Vector<Real>& correction) const {
        const Vector<Real> dp = {mu * step.x, step.y, step.z}, dq = {dw.x / mu, dw.y, dw.z};
        correction = jordan(dp, dq);
        return fmin(to_boundary(scaled_impulse(mu), dp), to_boundary(scaled_w(mu), dq));
    }
    // dw for a change du + r of u.
    __device__ __forceinline__ Vector<Real> change(Real mu, Real smooth, Vector<Real> du) const {
        const Real t = sqrt(w.y * w.y + w.z * w.z + smooth * smooth);
        if (t > 0) du.x += mu * (w.y * du.y + w.z * du.z) / t;
        return du;
    }
};

// A joint row's impulse and its complementarity pairs: (f + fr, β), (f − fr, α), (below, u − lo), (above, hi − u),
// where fr is the friction impulse and u = β − α at convergence.
template <typename Real> struct InteriorJoint {
    Real impulse, x[8], dx[8], low, high;
    bool has_friction, below, above;

    __device__ __forceinline__ InteriorJoint() = default;
    // From the law f, lo, hi (no limit from NO_LIMIT on) and the scales of impulses and velocities.
    __device__ __forceinline__ InteriorJoint(Real f, Real lo, Real hi, Real of_impulse, Real of_velocity)
        : has_friction(f > 0), below(lo > -Real(NO_LIMIT)), above(hi < Real(NO_LIMIT)) {
        const Real friction = f * of_impulse;
        low = below ? lo * of_velocity : Real(0), high = above ? hi * of_velocity : Real(0);
        x[0] = x[2] = has_friction ? friction : Real(1), x[1] = x[3] = has_friction;
        x[4] = below, x[6] = above, x[5] = x[7] = 1;
        impulse = x[4] - x[6];
    }
    // The iterate near impulse `of` and velocity u, at least `inwards` inside all bounds.
    __device__ __forceinline__ void begin(Real of, Real u, Real inwards) {
        const Real friction = has_friction ? x[0] : Real(0), most = fmax(friction - inwards, Real(0.1) * friction);
        const Real rubbed = clip(of, -most, most), rest = of - rubbed;
        if (has_friction) {
            x[0] = friction + rubbed, x[2] = friction - rubbed;
            x[1] = fmax(u, Real(0)) + inwards, x[3] = fmax(-u, Real(0)) + inwards;
        }
        if (below) x[4] = fmax(rest, Real(0)) + inwards, x[5] = fmax(u - low, Real(0)) + inwards;
        if (above) x[6] = fmax(-rest, Real(0)) + inwards, x[7] = fmax(high - u, Real(0)) + inwards;
        impulse = rubbed + x[4] - x[6];
    }
    // The number of complementarity products; and their sum.
    __device__ __forceinline__ int pairs() const { return 2 * has_friction + below + above; }
    __device__ __forceinline__ Real products() const { return x[0] * x[1] + x[2] * x[3] + x[4] * x[5] + x[6] * x[7]; }
    // The damping of the friction; and of the whole row.
    __device__ __forceinline__ Real friction_damping() const {
        return has_friction ? 1 / (x[1] / x[0] + x[3] / x[2]) : Real(0);
    }
    __device__ __forceinline__ Real damping() const { return friction_damping() + x[4] / x[5] + x[6] / x[7]; }
    // c for complementarity products `aim`, at velocity u.
    __device__ __forceinline__ Real target(Real u, Real aim) const {
        const Real apart = impulse - (x[0] - x[2]) / 2 - x[4] + x[6];
        Real c = -friction_damping() * (u - aim / x[0] + aim / x[2]);
        if (below) c += (aim - x[4] * (u - low)) / x[5];
        if (above) c -= (aim + x[6] * (u - high)) / x[7];
        return c - apart;
    }
    // The pairs' steps to velocity u. Returns the step length to the boundary.
    __device__ __forceinline__ Real reach(Real u, Real aim) {
        const Real d0 = -friction_damping() * (u - aim / x[0] + aim / x[2]);
        dx[0] = d0, dx[2] = -d0;
        dx[1] = has_friction ? (aim - x[1] * d0) / x[0] - x[1] : Real(0),
            dx[3] = has_friction ? (aim + x[3] * d0) / x[2] - x[3] : Real(0);
        dx[5] = below ? u - low - x[5] : Real(0), dx[7] = above ? high - u - x[7] : Real(0);
        dx[4] = below ? (aim - x[4] * dx[5]) / x[5] - x[4] : Real(0),
            dx[6] = above ? (aim - x[6] * dx[7]) / x[7] - x[6] : Real(0);
        Real reach = INFINITE;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            if (x[k] > 0 && dx[k] < 0) reach = fmin(reach, -x[k] / dx[k]);
        }
        return reach;
    }
    __device__ __forceinline__ void move(Real length) {
#pragma unroll
        for (int k = 0; k < 8; ++k) x[k] += length * dx[k];
    }
};
