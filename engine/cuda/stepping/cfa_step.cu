// Simulation steps of serial chains by CFA, any number in one launch: chain_group_step.cuh over chains/cfa.cuh. The
// preamble has REFINEMENTS, the most, and the TOLERANCE that ends them.
#include "chains/cfa.cuh"

template <typename Group> struct Solver {
    using Real = typename Group::Number;

    const Real* J_inverse;

    __device__ Solver(const Group& group, const Real* numbers, bool own, char*, Real*)
        : J_inverse(numbers + (own ? (size_t)group.robot * 21 * group.shape.n : 0)) {}

    template <class Ask, class Answer, class Lap>
    __device__ __forceinline__ void accelerations(Group& group, const ChainArrays<Real>& chain, const Ask& ask,
                                                  bool bias, const Answer& answer, const Lap& lap) const {
        constexpr Real LEAST = sizeof(Real) == 8 ? Real(2.2250738585072014e-308) : Real(1.17549435e-38);
        refine(group, chain, J_inverse, ask, bias, REFINEMENTS, Real(TOLERANCE), LEAST, lap);
        lap(phase::REFINEMENT);
        each(group, [&](int i) { answer(i, group.template get<Real>(ask(i).held ? int(REACTION) : int(QDD), i)); });
    }
};

#include "stepping/chain_group_step.cuh"
