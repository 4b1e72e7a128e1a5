// Hybrid ABIA, [Y] (8), with articulated inertias from the CPU: the kernels between its scans.
#include "chains/chain.cuh"

enum HybridField { TAU_DELTA = CHAIN_FIELDS };
constexpr int NONE = -1;

// τ_δ = τ − τ_bias (batch, n), by inverse dynamics with q̈ = 0.
template <typename Real, int BLOCKS, int LINKS>
THREAD_GROUP_KERNEL(BLOCKS)
    torques_left(const Real* q, const Real* v, const Real* tau, int batch, int n, int threads, int links, int fields,
                 int kept, int shared, Real* memory, char* outside, const Real* constants, const int* revolute,
                 Real* tau_delta) {
    extern __shared__ __align__(16) char numbers[];
    __shared__ __align__(16) char inside[2 * MAX_THREADS / WARP * STATE_BYTES];
    const ChainArrays<Real> chain = {constants, revolute, q, v, tau};
    ThreadGroup<Real, BLOCKS, LINKS> group({batch, n, threads, links, fields, kept, shared}, memory, numbers, inside,
                                           outside);
    for (; group.more(); group.next()) {
        kinematics(group, chain);
        forces(group, chain, true, NONE, TAU_DELTA);
        each(group, [&](int i) {
            const size_t at = group.global(i);
            tau_delta[at] = tau[at] - group.template get<Real>(TAU_DELTA, i);
        });
    }
}

template <typename Real> struct Link {
    Pose<Real> T;
    Force<Real> gain;  // U/D
};
// A link's U = Ĵ S (batch, n, 6) and q.
FUNCTION Link<Real> link(const ChainArrays<Real>& chain, const Real* U, int n, size_t at) {
    const int i = at % n;
    const Real* u = U + at * 6;
    const Real D = u[chain.revolute[i] ? 2 : 5];
    return {local_pose(chain, n, i, chain.q[at]), reciprocal(D) * Force<Real>{{u[0], u[1], u[2]}, {u[3], u[4], u[5]}}};
}
FUNCTION void store(Real* to, Vector<Real> a, Vector<Real> b) {
    to[0] = a.x, to[1] = a.y, to[2] = a.z, to[3] = b.x, to[4] = b.y, to[5] = b.z;
}

// Ψ = (1 − S Uᵀ/D) X (batch, n, 6, 6), and Π τ_δ: the wrench Xᵀ U τ_δ/D of the next joint on each link (batch, n, 6).
template <typename Real>
__global__ void __launch_bounds__(MAX_THREADS)
    prepare(const Real* q, const Real* constants, const int* revolute, int batch, int n, const Real* U,
            const Real* tau_delta, Real* Psi, Real* push) {
    const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= (size_t)batch * n) return;
    const ChainArrays<Real> chain = {constants, revolute, q};
    const int i = at % n;
    const Link<Real> here = link(chain, U, n, at);
    const Matrix<Real> R = here.T.R;
    const Vector<Real> p = here.T.p, none = {0, 0, 0};
    const Force<Real> g = force_to_parent(here.T, here.gain);  // Xᵀ U/D: subtracted from X in the joint's row of Ψ
    const auto row = [&](int r, Vector<Real> o, Vector<Real> v) {
        if (r == (chain.revolute[i] ? 2 : 5)) o = o - g.n, v = v - g.f;
        store(Psi + at * 36 + r * 6, o, v);
    };
    const Matrix<Real> t = transpose(R);
    row(0, t.x, none), row(1, t.y, none), row(2, t.z, none);
    row(3, cross(p, t.x), t.x), row(4, cross(p, t.y), t.y), row(5, cross(p, t.z), t.z);
    const Force<Real> shove = tau_delta[at] * g;
    if (i > 0) store(push + (at - 1) * 6, shove.n, shove.f);
    if (i + 1 == n) store(push + at * 6, none, none);
}

// S ν (batch, n, 6) with ν = (τ_δ − Sᵀz)/D.
template <typename Real>
__global__ void __launch_bounds__(MAX_THREADS)
    divide(const int* revolute, int batch, int n, const Real* U, const Real* tau_delta, const Real* z, Real* drive) {
    const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= (size_t)batch * n) return;
    const int axis = revolute[at % n] ? 2 : 5;
    const Real nu = (tau_delta[at] - z[at * 6 + axis]) * reciprocal(U[at * 6 + axis]);
    for (int k = 0; k < 6; ++k) drive[at * 6 + k] = k == axis ? nu : Real(0);
}

// q̈ = ν − (U/D)ᵀ X a_before
template <typename Real>
__global__ void __launch_bounds__(MAX_THREADS)
    finish(const Real* q, Real* out, const Real* constants, const int* revolute, int batch, int n, const Real* U,
           const Real* drive, const Real* a) {
    const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= (size_t)batch * n) return;
    const int i = at % n;
    Real qdd = drive[at * 6 + (revolute[i] ? 2 : 5)];
    if (i > 0) {
        const ChainArrays<Real> chain = {constants, revolute, q};
        const Link<Real> here = link(chain, U, n, at);
        const Force<Real> g = force_to_parent(here.T, here.gain);
        const Real* b = a + (at - 1) * 6;
        qdd -= dot(g.n, Vector<Real>{b[0], b[1], b[2]}) + dot(g.f, Vector<Real>{b[3], b[4], b[5]});
    }
    out[at] = qdd;
}
