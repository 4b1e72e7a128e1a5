// Newton's steps (S1) of docs/contact_solver.md for robots with EVEN_LIMBS, in the space of velocities. A contact or a
// joint row has
//
//     dλ = s − Ω du
//
// with a large Ω where it sticks, the inverse of the damping of G's diagonal in (S1), and Ω = 0 where it is open. So
// (1 + Zᵀ Ω Z) (dx, dy) = Zᵀ s, an arrow matrix: limbs are coupled by the trunk's six columns only.
#pragma once

#include "constraints/limb_impulses.cuh"

// The residual required before ROUNDS_FROM; below the tolerance in double precision, where a further step costs little.
template <typename Real> constexpr Real LIMB_TOLERANCE = (sizeof(Real) == 8 ? 0.01 : 1) * RESIDUAL_TOLERANCE<Real>;
// The least ε, smaller than elsewhere for that residual.
template <typename Real> constexpr Real MIN_EPSILON_OF_LIMBS = (sizeof(Real) == 8 ? 0.1 : 1) * MIN_EPSILON<Real>;
constexpr int TYPICAL_STEPS = 3,       // the turn by which most robots have converged
              ROUNDS_FROM = 6,         // the turn from which ACCEPTED_RESIDUAL suffices, and rounds start at the best
              INTERIOR_FROM = 26,      // the turn of the interior point method
              MAX_OVERLAP_STEPS = 16;  // steps that resolve overlaps, at most
constexpr int DAMPED_IN_ROUND = 4,   // damped steps of a round
              LEADING_IN_ROUND = 8;  // steps of a round to the next active set
constexpr double STALLED = 0.2,              // relative change below which a residual has stalled
                 OVERSHOOT = 1e-3,           // past the boundary of an active set, relative to its distance
                 MAX_LEADING_LENGTH = 1e6,   // of a leading step, relative to the whole step
                 MIN_LEADING_LENGTH = 0.05;
// The tolerance of resolved overlaps, relative to the largest; in single precision about that of one step.
template <typename Real> constexpr Real OVERLAP_RESIDUAL = sizeof(Real) == 8 ? RESIDUAL_TOLERANCE<Real> : Real(2e-3);

// Ω and s of a limb's rows.
template <typename Real, int N> struct LimbStep {
    Real Omega[N][3][3], joint_Omega[LIMB], s[ROWS_OF<N>];
};

// The LU factors of 1 + Zᵀ Ω Z: a limb's rows and columns, then the trunk's, which are equal in all lanes. The diagonal
// holds inverses of the pivots.
template <typename Real> struct Arrow {
    Real K[COLUMNS][COLUMNS];
};

// With NORMALS, tangential rows of contacts, and joint rows, are left out.
template <bool NORMALS, typename Real, int N>
__device__ __forceinline__ void factor_arrow(const LimbRows<Real, N>& rows, const LimbStep<Real, N>& by,
                                             Arrow<Real>& arrow, const WarpGroup& group) {
    constexpr int OF_CONTACT = NORMALS ? 1 : 3;
    auto& K = arrow.K;
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) K[i][j] = i == j && i < LIMB;
    }
    const auto add = [&](int r, const Real (&weighted)[COLUMNS]) {
#pragma unroll
        for (int i = 0; i < COLUMNS; ++i) {
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) K[i][j] += entry_of(rows, r, i) * weighted[j];
        }
    };
    Real weighted[COLUMNS];
#pragma unroll WRITTEN_OUT<N>
    for (int k = 0; k < OF_CONTACT * rows.contacts(); ++k) {
        const int c = k / OF_CONTACT, e = k % OF_CONTACT;
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            weighted[j] = 0;
#pragma unroll
            for (int h = 0; h < OF_CONTACT; ++h) weighted[j] += by.Omega[c][e][h] * entry_of(rows, row_of(c) + h, j);
        }
        add(row_of(c) + e, weighted);
    }
#pragma unroll WRITTEN_OUT<N>
    for (int k = 0; k < (NORMALS ? 0 : LIMB); ++k) {
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) weighted[j] = by.joint_Omega[k] * entry_of(rows, k, j);
        add(k, weighted);
    }
#pragma unroll
    for (int k = 0; k < COLUMNS; ++k) {
        if (k == LIMB) {  // the remainder is the trunk's
#pragma unroll
            for (int i = LIMB; i < COLUMNS; ++i) {
#pragma unroll
                for (int j = LIMB; j < COLUMNS; ++j) K[i][j] = group.sum(K[i][j]) + Real(i == j);
            }
        }
        const Real inverse = reciprocal(K[k][k]);
        K[k][k] = inverse;
#pragma unroll
        for (int i = k + 1; i < COLUMNS; ++i) {
            K[i][k] *= inverse;
#pragma unroll
            for (int j = k + 1; j < COLUMNS; ++j) K[i][j] -= K[i][k] * K[k][j];
        }
    }
}

// x ← K⁻¹ x, where the trunk's right-hand side is the sum of all limbs' shares minus `less`.
template <typename Real>
__device__ __forceinline__ void solve_arrow(const Arrow<Real>& arrow, Real (&x)[COLUMNS], const Real (&less)[TRUNK_NV],
                                            const WarpGroup& group) {
    const auto& K = arrow.K;
#pragma unroll
    for (int k = 0; k < COLUMNS; ++k) {
        if (k >= LIMB) {
            Real share = 0;  // contribution of the limb's own rows
#pragma unroll
            for (int j = 0; j < LIMB; ++j) share += K[k][j] * x[j];
            x[k] = group.sum(x[k] - share) - less[max(k - LIMB, 0)];
        }
#pragma unroll
        for (int j = k < LIMB ? 0 : LIMB; j < k; ++j) x[k] -= K[k][j] * x[j];
    }
#pragma unroll
    for (int k = COLUMNS - 1; k >= 0; --k) {
#pragma unroll
        for (int j = k + 1; j < COLUMNS; ++j) x[k] -= K[k][j] * x[j];
        x[k] *= K[k][k];
    }
}

// Ω and s of contact c: open, sticking or sliding by z = λ − r u.
template <typename Real, int N>
__device__ __forceinline__ void linearise_contact(const LimbRows<Real, N>& rows, const LimbImpulses<Real, N>& x,
                                                 const Real (&u)[ROWS_OF<N>], Real eps, int c,
                                                 LimbStep<Real, N>& by) {
    const int k = row_of(c);
    const Real r = reciprocal(rows.size[c]), stiffness = r * reciprocal(eps), mu = rows.mu[c];
    const Vector<Real> x_of_c = {x.of[k], x.of[k + 1], x.of[k + 2]}, u_of_c = {u[k], u[k + 1], u[k + 2]};
    const Vector<Real> z = x_of_c - r * u_of_c;
    const Real t = sqrt(z.y * z.y + z.z * z.z);
    const bool open = !rows.touches[c] || z.x <= 0, slides = !open && t > mu * z.x;
    auto& Omega = by.Omega[c];
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        by.s[k + i] = open ? -x.of[k + i] : -stiffness * u[k + i];
#pragma unroll
        for (int j = 0; j < 3; ++j) Omega[i][j] = i == j && !open ? stiffness : Real(0);
    }
    if (!slides) return;
    const LinearContact<Real> linear = sliding(x_of_c, u_of_c, mu, r, eps);  // its first row is that of a sticking one
    by.s[k + 1] = linear.s.y, by.s[k + 2] = linear.s.z;
    Omega[1][0] = linear.Omega.y.x, Omega[1][1] = linear.Omega.y.y, Omega[1][2] = linear.Omega.y.z;
    Omega[2][0] = linear.Omega.z.x, Omega[2][1] = linear.Omega.z.y, Omega[2][2] = linear.Omega.z.z;
}

// The fraction of a step by `change` at which a sticking joint or contact begins to slide, or a contact opens, which
// changes the active set. INFINITE if none does.
template <typename Real, int N>
__device__ __forceinline__ Real to_the_next_set(const LimbRows<Real, N>& rows, const LimbStep<Real, N>& by,
                                                const LimbImpulses<Real, N>& x, const Real (&change)[ROWS_OF<N>],
                                                const WarpGroup& group) {
    Real fraction = INFINITE;
#pragma unroll WRITTEN_OUT<N>
    for (int c = 0; c < rows.contacts(); ++c) {
        const int k = row_of(c);
        const bool open = by.Omega[c][0][0] == 0,
            sticks = !open && by.Omega[c][1][0] == 0 && by.Omega[c][1][2] == 0;
        const Real mu = rows.mu[c], n = x.of[k], dn = change[k];
        if (!open && dn < 0) fraction = fmin(fraction, -n / dn);
        const Vector<Real> t = {0, x.of[k + 1], x.of[k + 2]}, dt = {0, change[k + 1], change[k + 2]};
        const Real a = dot(dt, dt) - mu * mu * dn * dn, h = dot(t, dt) - mu * mu * n * dn,
            e = dot(t, t) - mu * mu * n * n;
        const Real root = sqrt(fmax(h * h - a * e, Real(0)));
        if (sticks && e <= 0 && (a > 0 || (h > 0 && h * h > a * e)))
            fraction = fmin(fraction, h > 0 ? -e / (h + root) : (root - h) / a);
    }
#pragma unroll WRITTEN_OUT<N>
    for (int k = 0; k < LIMB; ++k) {
        const Real d = change[k], f = rows.friction[k];
        if (by.joint_Omega[k] > 0 && f > 0 && d != 0 && fabs(x.of[k]) <= f)
            fraction = fmin(fraction, ((d > 0 ? f : -f) - x.of[k]) / d);
    }
    return -group.max(-fraction);
}

// The length of a step: 1, or where it `leads` just past the next active set, at `fraction`. If the last residual has
// `stalled`, the step extends beyond 1 to the next set, since impulses then grow in the null space.
template <typename Real> __device__ __forceinline__ Real step_length(Real fraction, bool leads, bool stalled) {
    if (!leads || (fraction >= 1 && !(stalled && fraction < Real(MAX_LEADING_LENGTH)))) return 1;
    return fmax(fraction * Real(1 + OVERSHOOT), Real(MIN_LEADING_LENGTH));
}

// λ grows by s − Ω du where the robot is `searching`; x.sum is not updated.
template <bool NORMALS, typename Real, int N>
__device__ __forceinline__ void take_step(const LimbRows<Real, N>& rows, const LimbStep<Real, N>& by,
                                          LimbImpulses<Real, N>& x, bool searching, const WarpGroup& group,
                                          bool leads = false, bool stalled = false) {
    Arrow<Real> arrow;
    Real d[COLUMNS];
    const Real none[TRUNK_NV] = {};
    factor_arrow<NORMALS>(rows, by, arrow, group);
    spread<NORMALS>(rows, by.s, d);
    solve_arrow(arrow, d, none, group);
    Real du[ROWS_OF<N>];
#pragma unroll WRITTEN_OUT<N>
    for (int r = 0; r < rows.rows(); ++r) du[r] = in_row(rows, r, d);
    Real change[ROWS_OF<N>], length = 1;
#pragma unroll WRITTEN_OUT<N>
    for (int c = 0; c < rows.contacts(); ++c) {
        const int r = row_of(c);
#pragma unroll
        for (int e = 0; e < (NORMALS ? 1 : 3); ++e) {
            change[r + e] = by.s[r + e];
#pragma unroll
            for (int h = 0; h < (NORMALS ? 1 : 3); ++h) change[r + e] -= by.Omega[c][e][h] * du[r + h];
        }
    }
#pragma unroll WRITTEN_OUT<N>
    for (int k = 0; k < (NORMALS ? 0 : LIMB); ++k) change[k] = by.s[k] - by.joint_Omega[k] * du[k];
    if constexpr (!NORMALS && N > 1) {
        if (group.any_of_all(leads)) length = step_length(to_the_next_set(rows, by, x, change, group), leads, stalled);
    }
    if (searching) {
#pragma unroll WRITTEN_OUT<N>
        for (int r = NORMALS ? LIMB : 0; r < rows.rows(); r += NORMALS ? 3 : 1) x.of[r] += length * change[r];
    }
}

// From ROUNDS_FROM on steps go in rounds of damped steps and of leading steps, which stop at the next active set.
__device__ __forceinline__ int turn_of_round(int turn) {
    return (turn - ROUNDS_FROM - 1) % (DAMPED_IN_ROUND + LEADING_IN_ROUND);
}
__device__ __forceinline__ bool leads_on(int turn) {
    return turn > ROUNDS_FROM && turn_of_round(turn) >= DAMPED_IN_ROUND;
}

// The damping ε in step `turn`, at residual `left`; `before` is the last step's damping.
template <typename Real> __device__ __forceinline__ Real eps_of(int turn, Real left, Real before) {
    if (turn > ROUNDS_FROM) {
        if (turn_of_round(turn) == 0) return Real(FIRST_EPSILON);
        return leads_on(turn) ? MIN_EPSILON_OF_LIMBS<Real>
                              : fmax(MIN_EPSILON_OF_LIMBS<Real>, EPSILON_FACTOR<Real> * before);
    }
    return fmax(MIN_EPSILON_OF_LIMBS<Real>, fmin(Real(EPSILON_PER_RESIDUAL) * left, Real(1)));
}

// A Newton step of a robot that is `searching`, with damping ε.
template <typename Real, int N>
__device__ __forceinline__ void newton_step(const LimbRows<Real, N>& rows, LimbImpulses<Real, N>& x,
                                            const Real (&u)[ROWS_OF<N>], Real eps, bool searching,
                                            const WarpGroup& group, bool leads = false, bool stalled = false) {
    LimbStep<Real, N> by;
#pragma unroll WRITTEN_OUT<N>
    for (int c = 0; c < rows.contacts(); ++c) linearise_contact(rows, x, u, eps, c, by);
#pragma unroll WRITTEN_OUT<N>
    for (int k = 0; k < LIMB; ++k) {
        const auto [Omega, s] =
            linearise_joint(rows.own[k], rows.friction[k], rows.low[k], rows.high[k], x.of[k], u[k], eps);
        by.joint_Omega[k] = rows.acts[k] ? Omega : Real(0), by.s[k] = rows.acts[k] ? s : Real(0);
    }
    take_step<false>(rows, by, x, searching, group, leads, stalled);
}

// Resolve overlaps: 0 ≤ π ⟂ G_nn π + β gap ≥ 0, with π in the slots of the normal impulses. Returns whether the
// solution was found, for a robot that `asks`.
template <typename Real, int N>
__device__ __forceinline__ bool correct_overlap_by_limbs(const LimbRows<Real, N>& rows, const Real (&gap)[N],
                                              LimbImpulses<Real, N>& x, bool asks, const WarpGroup& group) {
    Real b[N], most = TINY<Real>;
#pragma unroll WRITTEN_OUT<N>
    for (int r = 0; r < rows.rows(); ++r) x.of[r] = 0;
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) x.sum[j] = 0;
#pragma unroll WRITTEN_OUT<N>
    for (int c = 0; c < rows.contacts(); ++c) {
        b[c] = !rows.touches[c] ? Real(0) : gap[c] < 0 ? Real(ERP) * gap[c] : gap[c];
        most = fmax(most, fabs(b[c]));
    }
    most = group.max(most);
    bool searching = asks;
#pragma unroll 1
    for (int turn = 0; turn < MAX_OVERLAP_STEPS; ++turn) {
        LimbStep<Real, N> by;
        Real left = 0;
#pragma unroll WRITTEN_OUT<N>
        for (int c = 0; c < rows.contacts(); ++c) {
            const Real u = b[c] + in_row(rows, row_of(c), x.sum), r = reciprocal(rows.size[c]), here = x.of[row_of(c)];
            const bool open = !rows.touches[c] || here - r * u <= 0;
            const Real stiffness = r * reciprocal(MIN_EPSILON_OF_LIMBS<Real>),
                off = open ? here * rows.size[c] : fabs(u);
            by.Omega[c][0][0] = open ? Real(0) : stiffness, by.s[row_of(c)] = open ? -here : -stiffness * u;
            if (rows.touches[c]) left = off > left || !(off == off) ? off : left;
        }
        left = group.max(left);
        searching = searching && !(left <= OVERLAP_RESIDUAL<Real> * most);
        if (!group.any_of_all(searching)) break;
        take_step<true>(rows, by, x, searching, group);
        add_up(rows, x, group);
    }
    return !searching;
}
