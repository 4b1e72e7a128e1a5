// Inverse dynamics, forces of external wrenches and mass matrices of many robots in one launch each, a thread a robot.
//
// The texts of engine/cpu/rigid_body/rnea.py ([Y] (2a)–(2d)) and crba.py (Featherstone 2008, table 6.2), over the slots
// and sweeps of aba.cuh. A composite body is rigid: ten numbers say it.
#include "rigid_body/aba.cuh"
#include "rigid_body/thread_per_robot.cuh"

// (2c), (2d): wrenches from the tips, and τ = SᵀF.
template <typename Real, class Memory, class Given, class Robot>
__device__ __forceinline__ void forces(const Memory& at, const Given& given, const Robot& robot) {
    Force<Real> F = {};
    EACH_BODY
    for (int i = BODIES - 1; i >= 0; --i) {
        const int k = v_start(i), above = parent(i);
        const Force<Real> own = at.force(first_slot(i) + (kind(i) == FREE ? FREE_WRENCH : WRENCH));
        F = continues(i) ? F + own : own;
        if (branches(i)) F = F + at.force(branch_slot(i));
        if (kind(i) == FREE) {
            const Real six[] = {F.n.x, F.n.y, F.n.z, F.f.x, F.f.y, F.f.z};
#pragma unroll
            for (int j = 0; j < 6; ++j) given.acceleration(i, k + j, six[j]);
        } else {
            if constexpr (HAS_BALLS) {
                if (is_ball(i)) given.acceleration(i, k + 1, F.n.y), given.acceleration(i, k + 2, F.n.z);
            }
            given.acceleration(i, k, is_ball(i) ? F.n.x : kind(i) == REVOLUTE ? F.n.z : F.f.z);
        }
        if (above >= 0) {
            F = force_to_parent(pose<Real>(i, at, robot), F);
            if (above != i - 1) add_to_parent(at, i, branch_slot(above), F, [&](int slot) { return at.force(slot); });
        }
    }
}

template <typename Real, int BLOCKS, int PLACE>
__global__ void __launch_bounds__(THREADS, BLOCKS)
inverse_dynamics(const Real* __restrict__ q, const Real* __restrict__ v, const Real* __restrict__ a,
                 Real* __restrict__ out, const Real* __restrict__ constants, Real* __restrict__ workspace, int batch,
                 int width) {
    for (int first = blockIdx.x * width; first < batch; first += gridDim.x * width) {
        const RobotBlock<Real, PLACE> block(workspace, first, min(width, batch - first));
        block.load_constants(constants), block.load(q, v, a);
        __syncwarp();
        if (threadIdx.x < block.robots) {
            const auto at = block.slots();
            const auto robot = block.robot(constants);
            const Given<Real, decltype(at)> given = {at};
            bias<Real, true>(at, given, robot);
            forces<Real>(at, given, robot);
        }
        __syncwarp();
        block.store(out);
        __syncwarp();
    }
}

// A thread's robot under wrenches from outside: their forces at its joints are added to `tau`.
template <typename Real, class Memory> struct Pushed : Given<Real, Memory> {
    const Real* tau;

    __device__ __forceinline__ void acceleration(int i, int k, Real value) const { this->force(i, k) = tau[k] + value; }
};

// τ + Σ Jᵢᵀ Wᵢ, which moves a robot as τ and wrenches W on its bodies do: `out` from q (batch, NQ), tau (batch, NV) and
// wrenches (bodies, 6, batch) in the bodies' own frames.
template <typename Real, int BLOCKS, int PLACE>
__global__ void __launch_bounds__(THREADS, BLOCKS)
external_forces(const Real* __restrict__ q, const Real* __restrict__ tau, const Real* __restrict__ wrenches,
                Real* __restrict__ out, const Real* __restrict__ constants, Real* __restrict__ workspace, int batch,
                int width) {
    for (int first = blockIdx.x * width; first < batch; first += gridDim.x * width) {
        const RobotBlock<Real, PLACE> block(workspace, first, min(width, batch - first));
        block.load_constants(constants), block.load(q);
        __syncwarp();
        if (threadIdx.x < block.robots) {
            const auto at = block.slots();
            const int robot = first + threadIdx.x;
            const BodyWrenches<Real> on_bodies = {wrenches + robot, batch};
            const Pushed<Real, decltype(at)> pushed = {{at}, tau + size_t(robot) * NV};
            EACH_BODY
            for (int i = 0; i < BODIES; ++i)
                at.store(first_slot(i) + (kind(i) == FREE ? FREE_WRENCH : WRENCH), on_bodies(i));
            forces<Real>(at, pushed, block.robot(constants));
        }
        __syncwarp();
        block.store(out);
        __syncwarp();
    }
}

// S_jᵀ F for body j into M[·, column] and its mirror.
template <typename Real> __device__ __forceinline__ void enter(Real* M, int j, int column, const Force<Real>& F) {
    const int row = v_start(j);
    const auto set = [&](int r, Real value) { M[size_t(r) * NV + column] = M[size_t(column) * NV + r] = value; };
    if (kind(j) == FREE) {
        set(row, F.n.x), set(row + 1, F.n.y), set(row + 2, F.n.z);
        set(row + 3, F.f.x), set(row + 4, F.f.y), set(row + 5, F.f.z);
    } else {
        if constexpr (HAS_BALLS) {
            if (is_ball(j)) set(row + 1, F.n.y), set(row + 2, F.n.z);
        }
        set(row, is_ball(j) ? F.n.x : kind(j) == REVOLUTE ? F.n.z : F.f.z);
    }
}

// A composite body's wrench at unit acceleration along coordinate j of its joint.
template <typename Real> __device__ __forceinline__ Force<Real> column(const Body<Real>& J, int kind, int j) {
    const int along = kind == FREE || (HAS_BALLS && kind == SPHERICAL) ? j : kind == REVOLUTE ? 2 : 5;
    const auto unit = [&](int k) { return Real(along == k); };
    return momentum(J, Motion<Real>{{unit(0), unit(1), unit(2)}, {unit(3), unit(4), unit(5)}});
}

template <typename Real, class Memory> __device__ __forceinline__ Body<Real> load_body(const Memory& at, int slot) {
    return {at(slot), at.vector(slot + 1), at.symmetric(slot + 4)};
}

template <typename Real, class Memory, class Robot>
__device__ __forceinline__ void composite_bodies(const Memory& at, const Robot& robot, Real* M) {
    Body<Real> J = {};
    EACH_BODY
    for (int i = BODIES - 1; i >= 0; --i) {
        const int start = v_start(i), above = parent(i);
        J = continues(i) ? J + robot.body(i) : robot.body(i);
        if (branches(i)) J = J + load_body<Real>(at, branch_slot(i));
        for (int c = 0; c < (kind(i) == FREE ? 6 : is_ball(i) ? 3 : 1); ++c) {
            Force<Real> F = column(J, kind(i), c);
            enter(M, i, start + c, F);
#pragma unroll 1
            for (int j = i; parent(j) >= 0;) {
                F = force_to_parent(pose<Real>(j, at, robot), F);
                j = parent(j);
                enter(M, j, start + c, F);
            }
        }
        if (above >= 0) {
            J = body_to_parent(pose<Real>(i, at, robot), J);
            if (above != i - 1) {
                const int slot = branch_slot(above);
                if (!is_last(i)) J = J + load_body<Real>(at, slot);
                at(slot) = J.m, at.store(slot + 1, J.h), at.store(slot + 4, J.I);
            }
        }
    }
}

template <typename Real, int BLOCKS, int PLACE>
__global__ void __launch_bounds__(THREADS, BLOCKS)
mass_matrix(const Real* __restrict__ q, Real* __restrict__ out, const Real* __restrict__ constants,
            Real* __restrict__ workspace, int batch, int width) {
    constexpr size_t SIZE = size_t(NV) * NV;
    for (int first = blockIdx.x * width; first < batch; first += gridDim.x * width) {
        const RobotBlock<Real, PLACE> block(workspace, first, min(width, batch - first));
        block.load_constants(constants), block.load(q);
        for (size_t e = threadIdx.x; e < block.robots * SIZE; e += THREADS) out[first * SIZE + e] = 0;
        __syncwarp();
        if (threadIdx.x < block.robots)
            composite_bodies(block.slots(), block.robot(constants), out + (first + threadIdx.x) * SIZE);
        __syncwarp();
    }
}
