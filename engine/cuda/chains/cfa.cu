// CFA: the constraint force algorithm of engine/algorithms/cfa.py with every step on the device, in one launch.
//
// Each chain is refined until its residual is small or falls no more, by its own threads: nothing is read on the host.
#include "chains/chain.cuh"
#include "chains/tridiagonal.cuh"

enum CfaField { TAU_DELTA = CHAIN_FIELDS, QDD, MISSING, TRIAL, LEFT, CORRECTION, TORQUES, BEFORE, SYSTEM };
constexpr int NONE = -1;
static_assert(SYSTEM + 2 * (M * (M + 1) / 2 + M * M + M) == CFA_FIELDS, "what cfa.py makes room for");

// The constraint coordinates of a joint: all but its own.
FUNCTION Numbers<Real, M> constrained(bool revolute, const Motion<Real>& a) {
    const Vector<Real> x = a.o, y = a.v;
    return {x.x, x.y, revolute ? y.x : x.z, revolute ? y.y : y.x, revolute ? y.z : y.y};
}
FUNCTION Force<Real> joint_force(bool revolute, const Numbers<Real, M>& c, Real tau) {
    return {{c[0], c[1], revolute ? tau : c[2]},
            {revolute ? c[2] : c[3], revolute ? c[3] : c[4], revolute ? c[4] : tau}};
}
FUNCTION Motion<Real> operator-(const Motion<Real>& a) { return {-a.o, -a.v}; }

// A chain's constraint system at one configuration: H = (I − Γ) J⁻¹ (I − Γ)ᵀ takes joint forces to S q̈ ([Y] (10)).
template <typename Group, typename Real> struct System {
    const Group& group;
    const int* revolute;
    const Real* J_inverse;  // (21, n): A by its upper triangle, B by rows, C

    __device__ Motion<Real> over_J(int i, const Force<Real>& F) const {
        const auto at = [&](int k) { return J_inverse[(size_t)k * group.shape.n + i]; };
        const Symmetric<Real> A = {at(0), at(1), at(2), at(3), at(4), at(5)};
        const Matrix<Real> B = {{at(6), at(7), at(8)}, {at(9), at(10), at(11)}, {at(12), at(13), at(14)}};
        const Symmetric<Real> C = {at(15), at(16), at(17), at(18), at(19), at(20)};
        return {mul(A, F.n) + mul(B, F.f), mul_t(B, F.n) + mul(C, F.f)};
    }
    // A = Wᵀ H W, (15): H_ii = Jᵢ⁻¹ + Xᵢ Jᵢ₋₁⁻¹ Xᵢᵀ, without the second term at the base; H_{i,i+1} = −Jᵢ⁻¹ Xᵢ₊₁ᵀ
    __device__ void assemble(const Fields<M>& fields) const {
        each(group, [&](int i) {
            const bool here = revolute[i];
            const auto T = group.template get<Pose<Real>>(LOCAL, i);
#pragma unroll 1
            for (int c = 0; c < M; ++c) {
                const Force<Real> e = joint_force(here, unit(c), Real(0));
                Motion<Real> h = over_J(i, e);
                if (i > 0) h = h + motion_to_child(T, over_J(i - 1, force_to_parent(T, e)));
                const Numbers<Real, M> column = constrained(here, h);
#pragma unroll
                for (int r = 0; r < M; ++r)
                    if (r >= c) group.put(fields.D + lower(r, c), i, column[r]);
            }
            if (i + 1 == group.shape.n) return;
            const auto next = group.template look<Pose<Real>>(LOCAL, i + 1);
#pragma unroll 1
            for (int c = 0; c < M; ++c) {
                const Force<Real> e = joint_force(bool(revolute[i + 1]), unit(c), Real(0));
                const Numbers<Real, M> column = constrained(here, -over_J(i, force_to_parent(next, e)));
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
    // (H F)ᵢ for the joint forces in field F
    __device__ __noinline__ static Motion<Real> H(const Group group, const Real* J_inverse, int i) {
        const System here{group, nullptr, J_inverse};
        const auto force = group.template get<Force<Real>>(F, i);
        Force<Real> net = force;
        if (i + 1 < group.shape.n) {
            const auto T = group.template look<Pose<Real>>(LOCAL, i + 1);
            net = net - force_to_parent(T, group.template look<Force<Real>>(F, i + 1));
        }
        Motion<Real> a = here.over_J(i, net);
        if (i > 0) {
            const auto T = group.template get<Pose<Real>>(LOCAL, i);
            const auto before = group.template look<Force<Real>>(F, i - 1);
            a = a - motion_to_child(T, here.over_J(i - 1, before - force_to_parent(T, force)));
        }
        return a;
    }
    // q̈ = M⁻¹ τ_δ from field to field; the first time with the elimination, after `assemble`.
    __device__ __forceinline__ void solve(const Fields<M>& fields, bool first, int tau_delta, int qdd) const {
        const auto push = [&](int i, const Numbers<Real, M>& F_c) {
            group.put(F, i, joint_force(bool(revolute[i]), F_c, group.template get<Real>(tau_delta, i)));
        };
        // A F_c = −B τ_δ with B = Wᵀ H S, (15)
        each(group, [&](int i) { push(i, Numbers<Real, M>{}); });
        group.sync();
        each(group, [&](int i) { group.put(fields.x, i, constrained(bool(revolute[i]), -H(group, J_inverse, i))); });
        group.sync();
        if (first) eliminate<M, true>(group, fields, push);
        else substitute<M>(group, fields, push);
        group.sync();
        // q̈ = Sᵀ H (S τ_δ + W F_c), (13), (14)
        each(group, [&](int i) {
            const Motion<Real> a = H(group, J_inverse, i);
            group.put(qdd, i, revolute[i] ? a.o.z : a.v.z);
        });
    }
};

// ‖x‖ of a field, or the least number there is, so that it can divide. The group comes and goes by value, and hands
// something over once.
template <typename Group, typename Real> __device__ __noinline__ Real norm(Group group, int x, Real least) {
    const auto square = [&](int i) {
        const double here = group.template get<Real>(x, i);
        return Sums<1>{{here * here}};
    };
    return max(Real(sqrt(sums<1>(group, square).x[0])), least);
}

// Among what links keep: the corrections d and the torques w = M d that they take, the w orthonormal.
__device__ __forceinline__ constexpr int d(int k) { return 2 * k; }
__device__ __forceinline__ constexpr int w(int k) { return 2 * k + 1; }

// f(k, i, wₖᵀx) for each link and correction, a few of them at a time.
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
// Takes on CORRECTION and its TORQUES: twice made orthogonal to those before, all shares of a pass at once. The group
// comes and goes by value, and hands something over an odd number of times.
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

template <typename Real, int BLOCKS, int LINKS>
THREAD_GROUP_KERNEL(BLOCKS)
    cfa(const Real* q, const Real* v, const Real* tau, Real* out, int batch, int n, int threads, int links, int fields,
        int kept, int shared, Real* memory, char* outside, const Real* constants, const int* revolute,
        const Real* J_inverse, int* steps, Real* residuals, int refinements, Real tolerance, Real least) {
    extern __shared__ __align__(16) char numbers[];
    __shared__ __align__(16) char inside[2 * MOST_THREADS / WARP * STATE_BYTES];
    using T = ThreadGroup<Real, BLOCKS, LINKS>;
    const ChainArrays<Real> chain = {constants, revolute, q, v, tau};
    T group({batch, n, threads, links, fields, kept, shared}, memory, numbers, inside, outside);
    const Fields<M> of_system(SYSTEM, 2 * (refinements + 1));
    const System<T, Real> system{group, revolute, J_inverse};
    const auto field = [&](int x) { return [&group, x](int i) { return group.template get<Real>(x, i); }; };
    const auto missing = [&](int x) {  // of the torques, less those in field x and into it
        each(group, [&](int i) { group.put(x, i, tau[group.global(i)] - field(x)(i)); });
    };
    for (; group.more(); group.next()) {
        kinematics(group, chain);
        // τ_δ = τ − τ_bias
        forces(group, chain, true, NONE, TAU_DELTA);
        missing(TAU_DELTA);
        group.sync();
        system.assemble(of_system);
        const Real size = norm(group, TAU_DELTA, least);
        group.epoch ^= 1;
        Real residual = 0;
        bool unfinished = group.robot < batch;
        int taken = 0;
        each(group, [&](int i) { group.put(MISSING, i, field(TAU_DELTA)(i)); });
        for (int step = 0; step <= refinements && group.any(unfinished); ++step) {
            system.solve(of_system, step == 0, MISSING, CORRECTION);
            if (step > 0) {
                forces(group, chain, false, CORRECTION, TORQUES);
                take_on(group, step, least);
                group.epoch ^= 1;
            }
            each(group, [&](int i) { group.put(TRIAL, i, field(step > 0 ? QDD : CORRECTION)(i)); });
            shares(group, step > 0 ? step + 1 : 0, MISSING, [&](int k, int i, Real share) {
                group.put(TRIAL, i, field(TRIAL)(i) + share * group.template recall<Real>(d(k), i));
            });
            forces(group, chain, true, TRIAL, LEFT);
            missing(LEFT);
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
            });
        }
        each(group, [&](int i) {
            out[group.global(i)] = field(QDD)(i);
            if (i == 0) steps[group.robot] = taken, residuals[group.robot] = residual;
        });
    }
}
