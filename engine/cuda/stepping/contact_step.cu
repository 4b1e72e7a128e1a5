// Simulation steps of robots in a scene, LANES threads a robot; see advance_robot in robot_step.cuh for the first
// parameters, and contact_workspace.cuh and contact_dynamics.cuh for the contacts and their report.
#include "stepping/robot_step.cuh"
#include "stepping/contact_dynamics.cuh"
#if EVEN_LIMBS
#include "stepping/limb_scheduling.cuh"
#endif

template <typename Real, int THREADS, int BLOCKS, bool SHARED>
__global__ void __launch_bounds__(THREADS, BLOCKS)
advance_touching(int batch, int steps, int first, int last, long long done, Real dt, Real* q, Real* v,
                 const Real* __restrict__ tau, const Real* __restrict__ target, const Real* __restrict__ controls,
                 int control_rows, Real* record_q, Real* record_v, int every, const Real* __restrict__ constants,
                 const Real* __restrict__ joint_table, Real* workspace, unsigned long long* diverged,
                 volatile int* alarm, long long* phases, const Real* __restrict__ wrenches, long long* frozen,
                 const Real* __restrict__ shapes, const Real* __restrict__ points, const Real* __restrict__ ground,
                 Real* memory, int* reported_number, int* reported_link, Real* reported_contacts,
                 Real* reported_residual, Real* reported_worst) {
    constexpr int ROBOTS = THREADS / LANES, PITCH = pitch_of(ROBOTS);
    const Surroundings<Real> scene = {shapes, points, ground};
    // Global memory of ROBOTS: the state between steps, the workspace for all contacts unless FEW are all, and that of
    // teams.
    constexpr size_t LARGE_SLOTS = FEW < CONTACTS ? WORKSPACE_SLOTS : 0, EACH = KEPT_SLOTS + LARGE_SLOTS + TEAM_SLOTS;
    extern __shared__ __align__(16) unsigned char shared[];
    const auto touch_of = [&](size_t robot, bool begins) {
        const int own = robot % ROBOTS;
        Real* const kept = memory + robot / ROBOTS * EACH * ROBOTS + begin_of_slots(own, EACH);
        Real* const all = kept + KEPT_SLOTS * PITCH;
        Real* const few = reinterpret_cast<Real*>(shared) + (SHARED ? ALL_SLOTS * ROBOTS : 0) +
            begin_of_slots(own, FEW_SLOTS);
        Real* const far = PITCH == 1 ? all + LARGE_SLOTS : all - own + LARGE_SLOTS * ROBOTS + own * TEAM_SLOTS;
        return RobotContacts<Real, PITCH>{
            scene, {{few, far, kept}, {FEW < CONTACTS ? all : few, far, kept}},
            {reported_number, reported_link, reported_contacts, reported_residual, reported_worst}, Group(), robot,
            reported_number[robot], reported_residual[robot], begins ? Real(0) : reported_worst[robot]};
    };
#if EVEN_LIMBS
    static_assert(SHARED && FEW == 0, "how limbs are seated");
    advance_by_turns<Real, ROBOTS>(Course<Real>{batch, steps, first, last, done, dt, q, v, tau, target, controls,
                                                control_rows, record_q, record_v, every, constants, joint_table,
                                                diverged, alarm, phases, wrenches, frozen}, touch_of);
#else
    const size_t robot = size_t(blockIdx.x) * ROBOTS + threadIdx.x / LANES;
    if (robot >= batch) return;
    const RobotContacts<Real, PITCH> touch = touch_of(robot, first == 0);
    advance_robot<Real, ROBOTS, SHARED>(batch, steps, first, last, done, dt, q, v, tau, target, controls, control_rows,
                                         record_q, record_v, every, constants, joint_table, workspace, diverged, alarm,
                                         phases, wrenches, frozen, touch);
#endif
}
