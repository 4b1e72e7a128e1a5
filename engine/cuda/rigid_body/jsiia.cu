// Forward dynamics of many robots in one launch: JSIIA, [Y] (6), (7), a thread a robot, any tree, mimic joints too.
#include "rigid_body/ltdl.cuh"
#include "rigid_body/thread_per_robot.cuh"

// A thread's slots; the bias is subtracted from the forces, which are the right-hand side.
template <typename Real, class Memory> struct GivenForces : Given<Real, Memory> {
    __device__ __forceinline__ void acceleration(int i, int k, Real bias) const {
        this->at(result_slot(k)) -= own_rate(i, bias);
    }
};

template <typename Real, int BLOCKS, int PLACE>
__global__ void __launch_bounds__(THREADS, BLOCKS)
jsiia(const Real* __restrict__ q, const Real* __restrict__ v, const Real* __restrict__ tau, Real* __restrict__ out,
      const Real* __restrict__ constants, Real* __restrict__ workspace, int batch, int width) {
    for (int first = blockIdx.x * width; first < batch; first += gridDim.x * width) {
        const RobotBlock<Real, PLACE> block(workspace, first, min(width, batch - first));
        block.load_constants(constants), block.load(q, v), block.load_forces(tau);
        __syncwarp();
        if (threadIdx.x < block.robots) {
            const auto at = block.slots();
            const auto robot = block.robot(constants);
            const GivenForces<Real, decltype(at)> given = {{at}};
            bias<Real>(at, given, robot);
            forces<Real>(at, given, robot);
            assemble<Real>(at, MATRIX, robot);
            factor_and_solve<Real>(at, MATRIX);
        }
        __syncwarp();
        block.store(out);
        __syncwarp();
    }
}
