// Forward dynamics of many robots in one launch: ABIA, a thread a robot, see aba.cuh.
#include "rigid_body/aba.cuh"
#include "rigid_body/thread_per_robot.cuh"

template <typename Real, int BLOCKS, int PLACE>
__global__ void __launch_bounds__(THREADS, BLOCKS)
abia(const Real* __restrict__ q, const Real* __restrict__ v, const Real* __restrict__ tau, Real* __restrict__ out,
     const Real* __restrict__ constants, Real* __restrict__ workspace, int batch, int width) {
    for (int first = blockIdx.x * width; first < batch; first += gridDim.x * width) {
        const RobotBlock<Real, PLACE> block(workspace, first, min(width, batch - first));
        block.load_constants(constants), block.load(q, v, tau);
        __syncwarp();
        if (threadIdx.x < block.robots) {
            const auto at = block.slots();
            const auto robot = block.robot(constants);
            const Given<Real, decltype(at)> given = {at};
            bias<Real>(at, given, robot);
            inertia_recursion<Real>(at, given, robot);
            accelerations<Real>(at, given, robot, [&](int i, int k, Real qdd, Real) { given.force(i, k) = qdd; });
        }
        __syncwarp();
        block.store(out);
        __syncwarp();
    }
}
