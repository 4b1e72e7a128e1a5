// Simulation steps of serial chains by JSIIA, any number in one launch: chain_group_step.cuh over chains/jsiia.cuh.
#include "chains/jsiia.cuh"
#include "constraints/chain_constraints.cuh"

template <typename Group> struct Solver {
    using Real = typename Group::Number;

    Dense<Real> dense;
    Real* out;

    __device__ Solver(const Group& group, Real* matrices, bool, char* shared, Real* out)
        : dense{matrices + blockIdx.x / Group::CLUSTER * matrix_numbers(group.shape), reinterpret_cast<Real*>(shared)},
          out(out) {}

    template <class Ask, class Answer, class Lap>
    __device__ __forceinline__ void accelerations(Group& group, const ChainArrays<Real>& chain, const Ask& ask,
                                                  bool bias, const Answer& answer, const Lap& lap) const {
        solve(group, chain, dense, ask, bias, out, lap);
        group.sync();
        if constexpr (!HAS_CONSTRAINTS) {
            each(group, [&](int i) { answer(i, out[i]); });
        } else {
            // The reaction of a held joint: the force required by q̈, armature E included, minus the force present.
            each(group, [&](int i) { group.put(QDD, i, ask(i).held ? ask(i).target : out[i]); });
            forces(group, chain, bias, QDD, TAU_DELTA);
            each(group, [&](int i) {
                const Asked<Real> asked = ask(i);
                const Real takes = group.template get<Real>(TAU_DELTA, i) + asked.inertia * asked.target - asked.force;
                answer(i, asked.held ? takes : out[i]);
            });
        }
        lap(phase::SOLVE);
    }
};

#include "stepping/chain_group_step.cuh"
