// Inverse dynamics, forces of external wrenches and mass matrices of many robots in one launch each, a thread a robot.
#include "rigid_body/rnea_crba.cuh"
#include "rigid_body/thread_per_robot.cuh"

// Cᵀ τ: forces of mimic joints act on their leaders.
template <typename Real, class Memory> __device__ __forceinline__ void to_leaders(const Memory& at) {
    if constexpr (HAS_MIMIC) {
        EACH_BODY
        for (int i = 0; i < BODIES; ++i)
            if (follows(i)) at(result_slot(v_start(i))) += own_rate(i, Real(at(first_slot(i) + EFFORT)));
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
            to_leaders<Real>(at);
        }
        __syncwarp();
        block.store(out);
        __syncwarp();
    }
}

// A thread's robot with external wrenches: their joint forces are added to `tau`.
template <typename Real, class Memory> struct Pushed : Given<Real, Memory> {
    const Real* tau;

    __device__ __forceinline__ void acceleration(int i, int k, Real value) const {
        this->force(i, k) = follows(i) ? value : tau[k] + value;
    }
};

// τ + Σ Jᵢᵀ Wᵢ, the generalized force equivalent to τ and wrenches W on the bodies: `out` from q (batch, NQ), tau
// (batch, NV) and wrenches (bodies, 6, batch) in the bodies' own frames.
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
            to_leaders<Real>(at);
        }
        __syncwarp();
        block.store(out);
        __syncwarp();
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
        if (threadIdx.x < block.robots) {
            Real* const M = out + (first + threadIdx.x) * SIZE;
            composite_bodies<Real>(
                block.slots(), block.robot(constants), [&](int i, int c, int j, const Force<Real>& F) {
                    const int column = v_start(i) + c;
                    along_axes(j, F, [&](int r, Real value) {
                        const int row = v_start(j) + r;
                        Real &entry = M[size_t(row) * NV + column], &mirrored = M[size_t(column) * NV + row];
                        if constexpr (HAS_MIMIC) {
                            const Real share = own_rate(i, own_rate(j, value));
                            entry += share;
                            if (i != j) mirrored += share;
                        } else {
                            entry = mirrored = value;
                        }
                    });
                });
        }
        __syncwarp();
    }
}
