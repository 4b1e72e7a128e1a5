// Simulation steps of robots that touch nothing, a thread a robot; see advance_robot in robot_step.cuh for the
// parameters.
#include "stepping/robot_step.cuh"

template <typename Real, int THREADS, int BLOCKS, bool SHARED>
__global__ void __launch_bounds__(THREADS, BLOCKS)
advance(int batch, int steps, int first, int last, long long done, Real dt, Real* q, Real* v,
        const Real* __restrict__ tau, const Real* __restrict__ target, const Real* __restrict__ controls,
        int control_rows, Real* record_q, Real* record_v, int every, const Real* __restrict__ constants,
        const Real* __restrict__ joint_table, Real* workspace, unsigned long long* diverged, volatile int* alarm,
        long long* phases, const Real* __restrict__ wrenches, long long* frozen) {
    advance_robot<Real, THREADS, SHARED>(batch, steps, first, last, done, dt, q, v, tau, target, controls, control_rows,
                                         record_q, record_v, every, constants, joint_table, workspace, diverged, alarm,
                                         phases, wrenches, frozen, TouchesNothing{});
}
