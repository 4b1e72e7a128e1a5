// The interior point method for robots with EVEN_LIMBS where Newton's steps do not converge:
// docs/contact_solver.md (S2), docs/contact_solver_gpu.md (G5) with the scaled Z for H; and the solver that calls it.
#pragma once

#include "constraints/interior_rows.cuh"
#include "constraints/limb_newton.cuh"

// Steps, at most, and Newton's steps after them.
constexpr int INTERIOR_STEPS_OF_LIMBS = 30, STEPS_AFTER = 24;
// The distance of the first iterate to the boundary, scaled; and the step length below which a step is blocked, twice
// the CPU's, since a warp waits for its slowest robot.
constexpr double INWARDS = 0.2, BLOCKED_LENGTH = 0.1;
// The residual at which it stops.
template <typename Real> constexpr double INTERIOR_TOLERANCE =
    sizeof(Real) == 8 ? RESIDUAL_TOLERANCE<Real> : ACCEPTED_RESIDUAL_SINGLE / 2;

template <typename Real> struct LimbInterior {
    static constexpr int N = LIMB_POINTS, ROWS = ROWS_OF<N>;

    LimbRows<Real, N> rows;  // scaled, b too
    Real unit[ROWS];  // scale of impulses
    InteriorContact<Real> contact[N];
    InteriorJoint<Real> joint[LIMB];
    Real z[COLUMNS];  // Zᵀ λ, an iterate of its own

    // The data of one step.
    struct Direction {
        Arrow<Real> arrow;
        LimbStep<Real, N> by;
        Real smooth, u[ROWS], dz[COLUMNS], step[ROWS];
        Vector<Real> r[N], correction[N], dw[N];
    };

    __device__ __forceinline__ Vector<Real> three(const Real (&x)[ROWS], int c) const {
        return {x[row_of(c)], x[row_of(c) + 1], x[row_of(c) + 2]};
    }
    __device__ __forceinline__ Real impulse(int r) const {
        if (r < LIMB) return joint[r].impulse;
        const Vector<Real>& x = contact[contact_of(r)].impulse;
        return axis_of(r) == 0 ? x.x : axis_of(r) == 1 ? x.y : x.z;
    }

    // The first iterate: near `from` and its u, INWARDS inside cones and bounds.
    __device__ __forceinline__ LimbInterior(const LimbRows<Real, N>& given, const LimbImpulses<Real, N>& from,
                                            const WarpGroup& group)
        : rows(given) {
        Real most = TINY<Real>;
#pragma unroll WRITTEN_OUT<N>
        for (int r = 0; r < rows.rows(); ++r) {
            const Real size = r < LIMB ? given.own[min(r, LIMB - 1)] : given.size[contact_of(r)];
            const bool acts = r < LIMB ? given.acts[min(r, LIMB - 1)] : given.touches[contact_of(r)];
            unit[r] = acts ? 1 / sqrt(size) : Real(0);
#pragma unroll
            for (int k = 0; k < LIMB; ++k) rows.R[r][k] *= unit[r];
#pragma unroll
            for (int e = 0; e < TRUNK_NV; ++e) rows.W[r][e] *= unit[r];
            rows.b[r] *= unit[r];
            most = fmax(most, fabs(rows.b[r]));
        }
        most = group.max(most);
        Real of[ROWS], u[ROWS];
#pragma unroll WRITTEN_OUT<N>
        for (int r = 0; r < rows.rows(); ++r) {
            rows.b[r] /= most;
            if (r < LIMB) {
                const bool acts = given.acts[r];
                const Real of_impulse = acts ? 1 / (unit[r] * most) : Real(0), of_velocity = unit[r] / most;
                joint[r] = InteriorJoint<Real>(given.friction[r] * of_impulse, given.low[r] * of_velocity,
                                               given.high[r] * of_velocity, acts && given.low[r] > -Real(NO_LIMIT),
                                               acts && given.high[r] < Real(NO_LIMIT));
            }
            unit[r] *= most;
            of[r] = unit[r] > 0 ? from.of[r] / unit[r] : Real(0);
        }
        sum(of, group);
#pragma unroll WRITTEN_OUT<N>
        for (int r = 0; r < rows.rows(); ++r) u[r] = rows.b[r] + in_row(rows, r, z);
#pragma unroll WRITTEN_OUT<N>
        for (int c = 0; c < rows.contacts(); ++c) {
            contact[c] = {{0, 0, 0}, {1, 0, 0}};
            if (!rows.touches[c]) continue;
            const Vector<Real> v = three(u, c);
            contact[c].impulse = project(three(of, c), rows.mu[c]);
            contact[c].w =
                project(Vector<Real>{v.x + rows.mu[c] * sqrt(v.y * v.y + v.z * v.z), v.y, v.z}, 1 / rows.mu[c]);
            contact[c].impulse.x += Real(INWARDS) / rows.mu[c], contact[c].w.x += Real(INWARDS) * rows.mu[c];
        }
#pragma unroll WRITTEN_OUT<N>
        for (int k = 0; k < LIMB; ++k) {
            if (rows.acts[k]) joint[k].start(of[k], u[k], Real(INWARDS));
        }
#pragma unroll WRITTEN_OUT<N>
        for (int r = 0; r < rows.rows(); ++r) of[r] = impulse(r);
        sum(of, group);
    }

    // z of scaled impulses.
    __device__ __forceinline__ void sum(const Real (&of)[ROWS], const WarpGroup& group) {
        spread<false>(rows, of, z);
#pragma unroll
        for (int e = LIMB; e < COLUMNS; ++e) z[e] = group.sum(z[e]);
    }

    // ν: the mean of all complementarity products.
    __device__ __forceinline__ Real mean_complementarity(const WarpGroup& group) const {
        Real total = 0, number = 0;
#pragma unroll WRITTEN_OUT<N>
        for (int c = 0; c < rows.contacts(); ++c) {
            if (rows.touches[c]) total += dot(contact[c].impulse, contact[c].w), number += 1;
        }
#pragma unroll WRITTEN_OUT<N>
        for (int k = 0; k < LIMB; ++k) {
            if (rows.acts[k]) total += joint[k].products(), number += Real(joint[k].pairs());
        }
        return group.sum(total) / fmax(group.sum(number), Real(1));
    }

    // Newton's matrix, factorised.
    __device__ __forceinline__ void begin(Direction& direction, const WarpGroup& group) const {
#pragma unroll WRITTEN_OUT<N>
        for (int r = 0; r < rows.rows(); ++r) direction.u[r] = rows.b[r] + in_row(rows, r, z);
#pragma unroll WRITTEN_OUT<N>
        for (int c = 0; c < rows.contacts(); ++c) {
            const Real mu = rows.mu[c];
            const ConeMatrix<Real> Omega = contact[c].Omega(mu, direction.smooth);
            direction.r[c] = three(direction.u, c) - contact[c].w, direction.correction[c] = {0, 0, 0};
            direction.r[c].x += contact[c].saxce(mu, direction.smooth);
            const Vector<Real> columns[3] = {Omega.n, Omega.first, Omega.second};
#pragma unroll
            for (int h = 0; h < 3; ++h) {
                const bool on = rows.touches[c];
                direction.by.Omega[c][0][h] = on ? columns[h].x : Real(0),
                    direction.by.Omega[c][1][h] = on ? columns[h].y : Real(0);
                direction.by.Omega[c][2][h] = on ? columns[h].z : Real(0);
            }
        }
#pragma unroll WRITTEN_OUT<N>
        for (int k = 0; k < LIMB; ++k) direction.by.joint_Omega[k] = rows.acts[k] ? joint[k].damping() : Real(0);
        factor_arrow<false>(rows, direction.by, direction.arrow, group);
    }

    // The step towards complementarity products of `target`. Returns the step length to the boundary.
    __device__ __forceinline__ Real direct(Direction& direction, Real target, const WarpGroup& group) {
        auto& by = direction.by;
        const auto resisted = [&](int c, int e, Vector<Real> x) {
            return by.Omega[c][e][0] * x.x + by.Omega[c][e][1] * x.y + by.Omega[c][e][2] * x.z;
        };
        Real of[ROWS];
#pragma unroll WRITTEN_OUT<N>
        for (int c = 0; c < rows.contacts(); ++c) {
            const Vector<Real> to =
                rows.touches[c] ? contact[c].s(rows.mu[c], target, direction.correction[c]) : Vector<Real>{0, 0, 0};
            by.s[row_of(c)] = to.x, by.s[row_of(c) + 1] = to.y, by.s[row_of(c) + 2] = to.z;
#pragma unroll
            for (int e = 0; e < 3; ++e) by.s[row_of(c) + e] -= resisted(c, e, direction.r[c]);
        }
#pragma unroll WRITTEN_OUT<N>
        for (int k = 0; k < LIMB; ++k) by.s[k] = rows.acts[k] ? joint[k].s(direction.u[k], target) : Real(0);
#pragma unroll WRITTEN_OUT<N>
        for (int r = 0; r < rows.rows(); ++r) of[r] = by.s[r] + impulse(r);
        Real less[TRUNK_NV];
        spread<false>(rows, of, direction.dz);
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            if (j < LIMB) direction.dz[j] -= z[j];
            else less[max(j - LIMB, 0)] = z[j];
        }
        solve_arrow(direction.arrow, direction.dz, less, group);
        Real longest = INFINITE;
#pragma unroll WRITTEN_OUT<N>
        for (int c = 0; c < rows.contacts(); ++c) {
            const int r = row_of(c);
            const Vector<Real> du = {in_row(rows, r, direction.dz), in_row(rows, r + 1, direction.dz),
                                     in_row(rows, r + 2, direction.dz)};
#pragma unroll
            for (int e = 0; e < 3; ++e) direction.step[row_of(c) + e] = by.s[row_of(c) + e] - resisted(c, e, du);
            direction.dw[c] = contact[c].dw(rows.mu[c], direction.smooth, du + direction.r[c]);
            if (rows.touches[c])
                longest = fmin(longest, contact[c].length_to_boundary(rows.mu[c], three(direction.step, c),
                                                                      direction.dw[c], direction.correction[c]));
        }
#pragma unroll WRITTEN_OUT<N>
        for (int k = 0; k < LIMB; ++k) {
            const Real du = in_row(rows, k, direction.dz);
            direction.step[k] = by.s[k] - by.joint_Omega[k] * du;
            if (rows.acts[k]) {
                joint[k].set_step(direction.u[k] + du, target);
                longest = fmin(longest, joint[k].length_to_boundary());
            }
        }
        return -group.max(-longest);
    }

    __device__ __forceinline__ void move(const Direction& direction, Real length) {
#pragma unroll WRITTEN_OUT<N>
        for (int c = 0; c < rows.contacts(); ++c) {
            if (!rows.touches[c]) continue;
            contact[c].impulse = contact[c].impulse + length * three(direction.step, c),
                contact[c].w = contact[c].w + length * direction.dw[c];
        }
#pragma unroll WRITTEN_OUT<N>
        for (int k = 0; k < LIMB; ++k) {
            if (rows.acts[k]) joint[k].impulse += length * direction.step[k], joint[k].move(length);
        }
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) z[j] += length * direction.dz[j];
    }
};

// The best iterate, or the first one within `asked`, of a robot that is `searching`, from a start near the
// given impulses.
// Always in double precision: with redundant contacts Ω has a wider range than single precision resolves.
__device__ __noinline__ void interior_by_limbs(const LimbRows<double, LIMB_POINTS>& rows,
                                               LimbImpulses<double, LIMB_POINTS>& best, double asked, bool searching,
                                               WarpGroup group) {
    using Real = double;
    constexpr int N = LIMB_POINTS;
    LimbImpulses<Real, N> x;
    LimbInterior<Real> at(rows, best, group);
    Real least = INFINITE, length = 1, u[ROWS_OF<N>];
    int stuck = 0;
#pragma unroll 1
    for (int step = 0;; ++step) {
#pragma unroll WRITTEN_OUT<N>
        for (int r = 0; r < rows.rows(); ++r) x.of[r] = at.impulse(r) * at.unit[r];
        add_up(rows, x, group);
        const Real left = limb_residual(rows, x, u, group);
        if (searching && left < least) {
            least = left;
#pragma unroll 1
            for (int r = 0; r < rows.rows(); ++r) best.of[r] = x.of[r];
        }
        stuck = length < Real(BLOCKED_LENGTH) ? stuck + 1 : 0;
        searching = searching && !(least <= asked) && left < Real(INFINITE) && stuck < BLOCKED_STEPS;
        if (step == INTERIOR_STEPS_OF_LIMBS || !group.any_of_all(searching)) break;
        const Real nu = at.mean_complementarity(group);
        typename LimbInterior<Real>::Direction direction;
        direction.smooth = nu;
        at.begin(direction, group);
        Real longest = 0, target = 0;
#pragma unroll 1
        for (int pass = 0; pass < 2; ++pass) {  // predictor and corrector
            longest = at.direct(direction, target, group);
            if (pass == 1) break;
            const Real rest = 1 - fmin(longest, Real(1));  // the predictor's remainder sets the centring
            const bool blocked = rest > Real(0.9) || length < Real(SHORT);
            const Real centring =
                fmax(fmax(Real(MIN_CENTRING), rest * rest * rest), length < Real(SHORT) ? Real(0.5) : Real(0));
            target = fmin(centring, Real(1)) * nu;
#pragma unroll WRITTEN_OUT<N>
            for (int c = 0; c < rows.contacts(); ++c) {
                if (blocked) direction.correction[c] = {0, 0, 0};  // no second-order term
            }
        }
        length = fmin(Real(1), fmin(Real(MAX_FRACTION), fmax(Real(0.9), 1 - nu)) * longest);
        at.move(direction, length);
    }
}

// The range of Newton turns to run: all in one call, or in parts, each continuing where the previous one ended; and
// those with the interior point method before them.
struct Effort {
    int first, last;
};
[[maybe_unused]] __device__ constexpr Effort FIRST_TURNS = {0, ROUNDS_FROM}, TYPICAL_TURNS = {0, TYPICAL_STEPS - 1},
                                             LATER_TURNS = {TYPICAL_STEPS, ROUNDS_FROM},
                                             DAMPED_TURNS = {ROUNDS_FROM + 1, INTERIOR_FROM},
                                             ALL_TURNS = {0, INTERIOR_FROM},
                                             INTERIOR = {INTERIOR_FROM, INTERIOR_FROM + STEPS_AFTER + 1};

// Impulses that obey the law, with u of the limb and the residual, or else the best iterate, for a robot that is
// `searching`. Returns whether the law is obeyed.
template <typename Real, int N>
__device__ __forceinline__ bool find_impulses(const LimbRows<Real, N>& rows, LimbImpulses<Real, N>& x,
                                              Real (&u)[ROWS_OF<N>], Real& left, Effort effort, bool searching,
                                              const WarpGroup& group) {
    Real best[ROWS_OF<N>], least = UNKNOWN, eps = 0, before = UNKNOWN;
    bool found = false;
    left = UNKNOWN;
#pragma unroll WRITTEN_OUT<N>
    for (int r = 0; r < rows.rows(); ++r) best[r] = x.of[r];
#pragma unroll 1
    for (int turn = effort.first;; ++turn) {
        add_up(rows, x, group);
        const Real now = limb_residual(rows, x, u, group);
        const Real enough = turn < ROUNDS_FROM ? LIMB_TOLERANCE<Real> : ACCEPTED_RESIDUAL<Real>;
        if (searching) left = now, found = left <= enough;
        if (searching && left < least) {
            least = left;
#pragma unroll WRITTEN_OUT<N>
            for (int r = 0; r < rows.rows(); ++r) best[r] = x.of[r];
        }
        searching = searching && !found && turn <= effort.last;
        if (!group.any_of_all(searching)) break;
        const bool back = turn == ROUNDS_FROM || (turn == effort.last && turn >= INTERIOR_FROM);
#pragma unroll WRITTEN_OUT<N>
        for (int r = 0; r < rows.rows(); ++r) x.of[r] = searching && back ? best[r] : x.of[r];
        if constexpr (N == LIMB_POINTS) {
            if (turn == INTERIOR_FROM && effort.first == INTERIOR_FROM) {
                LimbImpulses<double, LIMB_POINTS> from;
#pragma unroll 1
                for (int r = 0; r < rows.rows(); ++r) from.of[r] = best[r];
                interior_by_limbs(widened(rows), from, INTERIOR_TOLERANCE<Real>, searching, group);
#pragma unroll 1
                for (int r = 0; r < rows.rows(); ++r) {
                    if (searching) x.of[r] = Real(from.of[r]);
                }
                continue;
            }
        }
        eps = eps_of(turn, left, eps);
        newton_step(rows, x, u, eps, searching && !back, group, leads_on(turn),
                    fabs(left - before) < Real(STALLED) * left);
        before = left;
    }
    // The best iterate, for the call that continues.
#pragma unroll WRITTEN_OUT<N>
    for (int r = 0; r < rows.rows(); ++r) x.of[r] = left < Real(UNKNOWN) ? x.of[r] : best[r];
    return found;
}
