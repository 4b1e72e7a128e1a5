// CFA: the constraint force algorithm of engine/algorithms/cfa.py, entirely on the device, by a group of threads.
//
// Each chain is refined until its residual is small or stagnates, by its own threads, without reading results on the
// host.
//
// ADDITIONS, for simulation: joints with an inertia E on their axis, and held joints. Their force along the axis is
// unknown too, a sixth number z beside the five constraint forces, scaled by s = √E (1 for a held joint): the system
// of engine/cpu/chains/constraint_system.py, see there for the equations. The residual at a held joint is ignored: it
// is the reaction.
#pragma once

#include "chains/chain.cuh"
#include "chains/tridiagonal.cuh"

// OVER is −1/s where E is so large that q̈ is better conditioned from z; PULL is the reaction of a held joint.
enum CfaField {
    TAU_DELTA = CHAIN_FIELDS, QDD, MISSING, TRIAL, LEFT, CORRECTION, TORQUES, BEFORE, SCALE, OVER, Z, PULL, REACTION,
    SYSTEM = ADDITIONS ? REACTION + 1 : SCALE
};
constexpr int NONE = -1, M = ADDITIONS ? 6 : 5;
static_assert(SYSTEM + 2 * (M * (M + 1) / 2 + M * M + M) == CFA_FIELDS, "what cfa.py makes room for");

// The acceleration across a joint required by the constraint system: of the five constrained coordinates, and of the
// joint's own in units of 1/s.
FUNCTION Numbers<Real, M> constrained(bool revolute, const Motion<Real>& a, Real s) {
    const Vector<Real> x = a.o, y = a.v;
    Numbers<Real, M> c = {x.x, x.y, revolute ? y.x : x.z, revolute ? y.y : y.x, revolute ? y.z : y.y};
    if constexpr (ADDITIONS) c[5] = s * (revolute ? x.z : y.z);
    return c;
}
FUNCTION Force<Real> joint_force(bool revolute, const Numbers<Real, M>& c, Real s, Real tau) {
    if constexpr (ADDITIONS) tau += s * c[5];
    return {{c[0], c[1], revolute ? tau : c[2]},
            {revolute ? c[2] : c[3], revolute ? c[3] : c[4], revolute ? c[4] : tau}};
}
FUNCTION Motion<Real> operator-(const Motion<Real>& a) { return {-a.o, -a.v}; }

// A chain's constraint system at one configuration: H = (I − Γ) J⁻¹ (I − Γ)ᵀ maps joint forces to S q̈ ([Y] (10)).
// `ask(i)` is the input of joint i, an Asked<Real>.
template <typename Group, typename Real, typename Ask> struct System {
    const Group& group;
    const int* revolute;
    const Real* J_inverse;  // (21, n): A by its upper triangle, B by rows, C
    const Ask& ask;

    __device__ static Motion<Real> over_J(const Group& group, const Real* J_inverse, int i, const Force<Real>& F) {
        const auto at = [&](int k) { return J_inverse[(size_t)k * group.shape.n + i]; };
        const Symmetric<Real> A = {at(0), at(1), at(2), at(3), at(4), at(5)};
        const Matrix<Real> B = {{at(6), at(7), at(8)}, {at(9), at(10), at(11)}, {at(12), at(13), at(14)}};
        const Symmetric<Real> C = {at(15), at(16), at(17), at(18), at(19), at(20)};
        return {mul(A, F.n) + mul(B, F.f), mul_t(B, F.n) + mul(C, F.f)};
    }
    __device__ Motion<Real> over_J(int i, const Force<Real>& F) const { return over_J(group, J_inverse, i, F); }
    __device__ Real scale(int i) const {
        if constexpr (ADDITIONS) return group.template look<Real>(SCALE, i);
        return 0;
    }
    // Bᵀ H B + diag(0, k), which without ADDITIONS is Wᵀ H W, [Y] (15): H_ii = Jᵢ⁻¹ + Xᵢ Jᵢ₋₁⁻¹ Xᵢᵀ, without the second
    // term at the base; H_{i,i+1} = −Jᵢ⁻¹ Xᵢ₊₁ᵀ.
    __device__ void assemble(const Fields<M>& fields) const {
        if constexpr (ADDITIONS) {
            each(group, [&](int i) { group.put(SCALE, i, ask(i).held ? Real(1) : Real(sqrt(ask(i).inertia))); });
            group.sync();
        }
        each(group, [&](int i) {
            const bool here = revolute[i];
            const Real s = scale(i);
            const auto T = group.template get<Pose<Real>>(LOCAL, i);
#pragma unroll 1
            for (int c = 0; c < M; ++c) {
                const Force<Real> e = joint_force(here, unit(c), s, Real(0));
                Motion<Real> h = over_J(i, e);
                if (i > 0) h = h + motion_to_child(T, over_J(i - 1, force_to_parent(T, e)));
                Numbers<Real, M> column = constrained(here, h, s);
                if constexpr (ADDITIONS) {
                    const bool held = ask(i).held;
                    if (c == 5) group.put(OVER, i, !held && column[5] > 1 ? -1 / s : Real(0));
                    column[5] += c == 5 && !held;
                }
#pragma unroll
                for (int r = 0; r < M; ++r)
                    if (r >= c) group.put(fields.D + lower(r, c), i, column[r]);
            }
            if (i + 1 == group.shape.n) return;
            const auto next = group.template look<Pose<Real>>(LOCAL, i + 1);
            const Real beyond = scale(i + 1);
#pragma unroll 1
            for (int c = 0; c < M; ++c) {
                const Force<Real> e = joint_force(bool(revolute[i + 1]), unit(c), beyond, Real(0));
                const Numbers<Real, M> column = constrained(here, -over_J(i, force_to_parent(next, e)), s);
#pragma unroll
                for (int r = 0; r < M; ++r) group.put(fields.U + r * M + c, i, column[r]);
            }
        });
    }
    __device__ static Numbers<Real, M> unit(int c) {
        Numbers<Real, M> e;
#pragma unroll
        for (int r = 0; r < M; ++r) e[r] = r == c;
        return e;
    }
    // (H F)ᵢ for the joint forces in field F.
    __device__ __noinline__ static Motion<Real> H(const Group group, const Real* J_inverse, int i) {
        const auto force = group.template get<Force<Real>>(F, i);
        Force<Real> net = force;
        if (i + 1 < group.shape.n) {
            const auto T = group.template look<Pose<Real>>(LOCAL, i + 1);
            net = net - force_to_parent(T, group.template look<Force<Real>>(F, i + 1));
        }
        Motion<Real> a = over_J(group, J_inverse, i, net);
        if (i > 0) {
            const auto T = group.template get<Pose<Real>>(LOCAL, i);
            const auto before = group.template look<Force<Real>>(F, i - 1);
            a = a - motion_to_child(T, over_J(group, J_inverse, i - 1, before - force_to_parent(T, force)));
        }
        return a;
    }
    // q̈ = (M + E)⁻¹ τ_δ from field to field, 0 at held joints; the first call after `assemble` also eliminates.
    __device__ __forceinline__ void solve(const Fields<M>& fields, bool first, int tau_delta, int qdd) const {
        const auto push = [&](int i, const Numbers<Real, M>& x) {
            if constexpr (ADDITIONS) group.put(Z, i, x[5]);
            group.put(F, i, joint_force(bool(revolute[i]), x, scale(i), group.template get<Real>(tau_delta, i)));
        };
        // A F_c = −B τ_δ with B = Wᵀ H S, [Y] (15)
        each(group, [&](int i) { push(i, Numbers<Real, M>{}); });
        group.sync();
        each(group, [&](int i) {
            group.put(fields.x, i, constrained(bool(revolute[i]), -H(group, J_inverse, i), scale(i)));
        });
        group.sync();
        if (first) eliminate<M, true>(group, fields, push);
        else substitute<M>(group, fields, push);
        group.sync();
        // q̈ = Sᵀ H (S τ_δ + W F_c), [Y] (13), (14)
        each(group, [&](int i) {
            const Motion<Real> a = H(group, J_inverse, i);
            Real found = revolute[i] ? a.o.z : a.v.z;
            if constexpr (ADDITIONS) {
                const Real over = group.template get<Real>(OVER, i);
                if (over != 0) found = over * group.template get<Real>(Z, i);
                if (ask(i).held) found = 0;
            }
            group.put(qdd, i, found);
        });
    }
};

// ‖x‖ of a field, at least the smallest positive number, so that it can divide. The group is passed by value; one
// reduction.
template <typename Group, typename Real> __device__ __noinline__ Real norm(Group group, int x, Real least) {
    const auto square = [&](int i) {
        const double here = group.template get<Real>(x, i);
        return Sums<1>{{here * here}};
    };
    return max(Real(sqrt(sums<1>(group, square).x[0])), least);
}

// Kept fields of each link: the corrections d and their torques w = M d, with orthonormal w.
__device__ __forceinline__ constexpr int d(int k) { return 2 * k; }
__device__ __forceinline__ constexpr int w(int k) { return 2 * k + 1; }

// f(k, i, wₖᵀx) for each link and correction, a few at a time.
template <typename Group, typename F> __device__ __forceinline__ void shares(Group& group, int count, int x, F f) {
    using Real = typename Group::Number;
    constexpr int FEW = 4;
    for (int k = 0; k < count; k += FEW) {
        const Sums<FEW> share = sums<FEW>(group, [&](int i) {
            Sums<FEW> s{};
            const double here = group.template get<Real>(x, i);
#pragma unroll
            for (int m = 0; m < FEW; ++m)
                if (k + m < count) s.x[m] = here * double(group.template recall<Real>(w(k + m), i));
            return s;
        });
        each(group, [&](int i) {
#pragma unroll
            for (int m = 0; m < FEW; ++m)
                if (k + m < count) f(k + m, i, Real(share.x[m]));
        });
    }
}
// Add CORRECTION and its TORQUES to the basis: orthogonalised twice, all coefficients of a pass at once. The group is
// passed by value; an odd number of reductions.
template <typename Group, typename Real> __device__ __noinline__ void take_on(Group group, int count, Real least) {
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
        each(group, [&](int i) { group.put(BEFORE, i, group.template get<Real>(TORQUES, i)); });
        shares(group, count, BEFORE, [&](int k, int i, Real share) {
            const Real d_before = group.template recall<Real>(d(k), i), w_before = group.template recall<Real>(w(k), i);
            group.put(CORRECTION, i, group.template get<Real>(CORRECTION, i) - share * d_before);
            group.put(TORQUES, i, group.template get<Real>(TORQUES, i) - share * w_before);
        });
    }
    const Real scale = 1 / norm(group, TORQUES, least);
    each(group, [&](int i) {
        group.keep(d(count), i, scale * group.template get<Real>(CORRECTION, i));
        group.keep(w(count), i, scale * group.template get<Real>(TORQUES, i));
    });
}


// The number of refinements, and ‖τ − ID(q̈)‖ / ‖τ_δ‖ of the result, which is in field QDD; reactions of held joints
// are in field REACTION.
template <typename Real> struct Refined {
    int steps;
    Real residual;
};

// The accelerations to try after so many refinements, into field TRIAL.
template <typename Real, typename Group, typename Ask>
__device__ __forceinline__ void put_trial(Group& group, const Ask& ask, int step) {
    each(group, [&](int i) {
        Real trial = group.template get<Real>(step > 0 ? QDD : CORRECTION, i);
        if constexpr (ADDITIONS) trial = ask(i).held ? ask(i).target : trial;
        group.put(TRIAL, i, trial);
    });
    shares(group, step > 0 ? step + 1 : 0, MISSING, [&](int k, int i, Real share) {
        group.put(TRIAL, i, group.template get<Real>(TRIAL, i) + share * group.template recall<Real>(d(k), i));
    });
}

// Accelerations of the chain whose poses are in the group's fields; with `bias` under its velocities and gravity.
template <typename Group, typename Real, typename Ask, typename Lap>
__device__ __forceinline__ Refined<Real> refine(Group& group, const ChainArrays<Real>& chain, const Real* J_inverse,
                                                const Ask& ask, bool bias, int refinements, Real tolerance, Real least,
                                                const Lap& lap) {
    const Fields<M> of_system(SYSTEM, 2 * (refinements + 1));
    const System<Group, Real, Ask> system{group, chain.revolute, J_inverse, ask};
    const auto field = [&](int x) { return [&group, x](int i) { return group.template get<Real>(x, i); }; };
    const auto missing = [&](int x, int a) {  // residual torques of field x, in place; E contributes for a
        each(group, [&](int i) {
            Real left = ask(i).force - field(x)(i);
            if constexpr (ADDITIONS) {
                left -= ask(i).inertia * field(a)(i);
                if (ask(i).held) group.put(PULL, i, left), left = 0;
            }
            group.put(x, i, left);
        });
    };
    const auto keep_pull = [&](int i) {
        if constexpr (ADDITIONS) group.put(REACTION, i, -field(PULL)(i));
    };
    // τ_δ = τ − τ_bias, less the torques of prescribed accelerations
    if constexpr (ADDITIONS) each(group, [&](int i) { group.put(QDD, i, ask(i).held ? ask(i).target : Real(0)); });
    forces(group, chain, bias, ADDITIONS ? int(QDD) : NONE, TAU_DELTA);
    missing(TAU_DELTA, QDD);
    group.sync();
    lap(phase::BIAS);
    system.assemble(of_system);
    const Real size = norm(group, TAU_DELTA, least);
    group.epoch ^= 1;
    lap(phase::ASSEMBLY);
    Real residual = 0;
    bool unfinished = group.robot < group.shape.batch;
    int taken = 0;
    each(group, [&](int i) { group.put(MISSING, i, field(TAU_DELTA)(i)); });
    for (int step = 0; step <= refinements && group.any(unfinished); ++step) {
        system.solve(of_system, step == 0, MISSING, CORRECTION);
        if (step == 0) lap(phase::ELIMINATION);
        if (step > 0) {
            forces(group, chain, false, CORRECTION, TORQUES);
            if constexpr (ADDITIONS) {
                each(group, [&](int i) {
                    const Real own = ask(i).inertia * field(CORRECTION)(i);
                    group.put(TORQUES, i, ask(i).held ? Real(0) : field(TORQUES)(i) + own);
                });
            }
            take_on(group, step, least);
            group.epoch ^= 1;
        }
        put_trial<Real>(group, ask, step);
        forces(group, chain, bias, TRIAL, LEFT), missing(LEFT, TRIAL);
        const Real now = norm(group, LEFT, least) / size;
        group.epoch ^= 1;
        const bool better = step == 0 || (unfinished && now < residual);
        taken += unfinished && step > 0;
        unfinished = unfinished && better && now > tolerance;
        if (step == 0 && group.any(unfinished)) {
            each(group, [&](int i) { group.put(TORQUES, i, field(TAU_DELTA)(i) - field(LEFT)(i)); });
            take_on(group, step, least);
            group.epoch ^= 1;
        }
        if (!better) continue;
        residual = now;
        each(group, [&](int i) {
            group.put(QDD, i, field(TRIAL)(i));
            group.put(MISSING, i, field(LEFT)(i));
            keep_pull(i);
        });
    }
    return {taken, residual};
}
