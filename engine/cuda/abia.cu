// Forward dynamics of many robots in one launch: ABIA, a thread a robot, see abia.cuh.
#include "abia.cuh"
#include "many.cuh"

template <typename Real, int BLOCKS, int PLACE>
__global__ void __launch_bounds__(THREADS, BLOCKS)
abia(const Real* __restrict__ q, const Real* __restrict__ v, const Real* __restrict__ tau, Real* __restrict__ out,
     const Real* __restrict__ constants, Real* __restrict__ workspace, int batch, int width) {
    for (int first = blockIdx.x * width; first < batch; first += gridDim.x * width) {
        const Team<Real, PLACE> team(workspace, first, min(width, batch - first));
        team.take_constants(constants), team.take(q, v, tau);
        __syncwarp();
        if (threadIdx.x < team.robots) {
            const auto at = team.slots();
            const auto robot = team.robot(constants);
            const Given<Real, decltype(at)> given = {at};
            bias<Real>(at, given, robot);
            inertia_recursion<Real>(at, given, robot);
            accelerations<Real>(at, given, robot);
        }
        __syncwarp();
        team.give(out);
        __syncwarp();
    }
}
