// What friction and limits ask of a joint, and how its mode is found: the text of engine/cpu/accelerate.py, see there
// for the law, for a thread a robot.
#pragma once

#include "abia.cuh"
#include "many.cuh"

// What the preamble of engine/cuda/simulation.py adds to that of robot.py: the integrator, what acts on the joints, and
// whether each robot has numbers of its own.
constexpr int SEMI_IMPLICIT = 0, RK4 = 1, IMPLICIT = 2;
constexpr bool ROUGH = LIMITED || RUBBED;
constexpr bool LONG = NV > 64;  // what is seldom needed has slots too, else it may lie in local memory

constexpr int LOWER = 0, UPPER = 1, VELOCITY_LIMIT = 2, EFFORT_LIMIT = 3, DAMPING = 4, FRICTION = 5, KP = 6, KD = 7;
constexpr int LAW_ROWS = 8;

// Where the state of a robot stands, behind the slots of the sweeps.
constexpr int Q = SLOTS, V = Q + NQ, TAU = V + NV, GOAL = TAU + NV, MODE = GOAL + GAINED * NV,
              Q_STAGE = MODE + ROUGH * NV, V_STAGE = Q_STAGE + (INTEGRATOR == RK4) * NQ,
              Q_SUM = V_STAGE + (INTEGRATOR == RK4) * NV, V_SUM = Q_SUM + (INTEGRATOR == RK4) * NQ,
              FEASIBLE = V_SUM + (INTEGRATOR == RK4) * NV, ALL_SLOTS = FEASIBLE + (ROUGH && LONG) * NV;
static_assert(ALL_SLOTS == SLOTS + STATE_SLOTS, "what the launch makes room for");

enum Mode { LOW, BACKWARD, STUCK, FORWARD, HIGH };
constexpr int BLOCK_PIVOTS = 8, DESCENT = 20;
// A mode stands in a slot as the bits of a whole number.
__device__ __forceinline__ void put(float& slot, Mode mode) { slot = __int_as_float(mode); }
__device__ __forceinline__ void put(double& slot, Mode mode) { slot = __hiloint2double(0, mode); }
__device__ __forceinline__ Mode mode_in(float slot) { return Mode(__float_as_int(slot)); }
__device__ __forceinline__ Mode mode_in(double slot) { return Mode(__double2loint(slot)); }

// What counts as nothing, of a velocity and of the way to a limit; what rounding may leave of a velocity and a force.
template <typename Real> constexpr Real REST = sizeof(Real) == 8 ? 1e-12 : 4e-6;
template <typename Real> constexpr Real GAP = sizeof(Real) == 8 ? 1e-12 : 1e-6;
template <typename Real> constexpr Real SLACK = sizeof(Real) == 8 ? 1e-12 : 2e-6;
template <typename Real> constexpr Real SLACK_R = sizeof(Real) == 8 ? 1e-10 : 1e-4;

__device__ __forceinline__ int q_of(int k) { return SCALAR ? k : Q_OF_V[k]; }

// The rows of `Plan.joints`, the robot innermost where each has its own.
template <typename Real> struct Law {
    const Real* first;
    int stride;

    __device__ __forceinline__ Real operator()(int row, int k) const {
        return first[OWN_LAW ? (size_t(row) * NV + k) * stride : row * NV + k];
    }
};

template <typename Real> struct Interval { Real low, high; };

template <typename Real> __device__ __forceinline__ Real clip(Real x, Real low, Real high) {
    return x < low ? low : (x > high ? high : x);  // what is no number stays none
}

// A stage of RK4 knows no friction and no limits; its correction, at the step's end, knows nothing else.
enum class Role { STEP, STAGE, CORRECTION };

// The dynamics of one robot as abia.cuh asks for them, and its joints' modes. What comes of the velocities stands where
// the sweeps keep the forces, what of the reactions where they keep `OWN_U`.
template <typename Real, int PITCH, Role ROLE> struct Problem {
    static constexpr bool LAWFUL = ROUGH && ROLE != Role::STAGE;

    Slots<Real, PITCH> at;
    Law<Real> law;
    Real dt, rate;
    mutable Real latest;
    mutable bool changed, descending;

    __device__ __forceinline__ Real q(int, int k) const { return at((ROLE == Role::STEP ? Q : Q_STAGE) + k); }
    __device__ __forceinline__ Real v(int, int k) const {
        return ROLE == Role::CORRECTION ? Real(0) : at((ROLE == Role::STEP ? V : V_STAGE) + k);
    }
    __device__ __forceinline__ Mode mode(int k) const { return mode_in(at(MODE + k)); }
    __device__ __forceinline__ Real& after(int i, int k) const {
        return at(first_slot(i) + (kind(i) == FREE ? FREE_EFFORT : EFFORT) + k - v_start(i));
    }
    __device__ __forceinline__ Real& reaction_of(int i) const { return at(first_slot(i) + OWN_U); }

    // Controls and gains, clipped, less damping.
    __device__ __forceinline__ Real smooth(int i, int k) const {
        if constexpr (ROLE == Role::CORRECTION) return 0;
        Real drive = at(TAU + k);
        if constexpr (GAINED) {
            if (kind(i) != FREE) drive += law(KP, k) * (at(GOAL + k) - q(i, q_of(k))) - law(KD, k) * v(i, k);
        }
        if constexpr (CLIPPED) drive = clip(drive, -law(EFFORT_LIMIT, k), law(EFFORT_LIMIT, k));
        if constexpr (DAMPED) drive -= law(DAMPING, k) * v(i, k);
        return drive;
    }
    __device__ __forceinline__ Real force(int i, int k) const {
        Real force = smooth(i, k);
        if constexpr (LAWFUL && RUBBED) {
            const Mode way = kind(i) == FREE ? STUCK : mode(k);
            if (way == FORWARD) force -= law(FRICTION, k);
            if (way == BACKWARD) force += law(FRICTION, k);
        }
        return force;
    }
    __device__ __forceinline__ Real extra(int k) const {
        return INTEGRATOR == IMPLICIT && DAMPED ? dt * law(DAMPING, k) : Real(0);
    }
    __device__ __forceinline__ bool locked(int k) const { return LAWFUL && mode(k) != FORWARD && mode(k) != BACKWARD; }
    __device__ __forceinline__ Real target(int k) const {
        return LAWFUL ? (held_at(mode(k), bounds(k)) - at(V + k)) * rate : Real(0);
    }
    __device__ __forceinline__ void reaction(int, Real value) const { latest = value; }
    __device__ __forceinline__ void acceleration(int i, int k, Real value) const {
        Real next = value;
        if constexpr (ROLE != Role::STAGE) next = at(V + k) + dt * value;
        if constexpr (LAWFUL) {
            if (kind(i) != FREE) next = under_law(i, k, next);
        }
        after(i, k) = next;
    }

    // lo and hi of v⁺ from the limits, with lo ≤ 0 ≤ hi.
    __device__ __forceinline__ Interval<Real> bounds(int k) const {
        if constexpr (!LIMITED) return {Real(-1e30), Real(1e30)};
        const Real here = at(Q + q_of(k)), below = law(LOWER, k) - here, above = law(UPPER, k) - here;
        const Real most = law(VELOCITY_LIMIT, k), low = (below < -GAP<Real> ? below : Real(0)) * rate,
                   high = (above > GAP<Real> ? above : Real(0)) * rate;
        return {low < -most ? -most : low, high > most ? most : high};
    }
    __device__ __forceinline__ Real held_at(Mode mode, const Interval<Real>& within) const {
        return mode == HIGH ? within.high : (mode == LOW ? within.low : Real(0));
    }
    __device__ __forceinline__ Real friction(int k) const { return RUBBED ? law(FRICTION, k) : Real(0); }

    // The mode as the step begins: held where it rests or is as fast as it may be, else sliding as it moves.
    __device__ __forceinline__ void guess(int k) const {
        const Interval<Real> within = bounds(k);
        const Real velocity = at(V + k);
        const bool rests = fabs(velocity) <= REST<Real>;
        Mode mode = velocity >= 0 ? FORWARD : BACKWARD;
        if (rests ? within.high == 0 : velocity >= within.high - REST<Real>) mode = HIGH;
        else if (rests ? within.low == 0 : velocity <= within.low + REST<Real>) mode = LOW;
        else if (rests && friction(k) > 0) mode = STUCK;
        put(at(MODE + k), mode);
    }
    // The mode that the law asks for of a held joint, given the force r that it takes.
    __device__ __forceinline__ Mode let_go(int i, int k, Mode mode, Real r, const Interval<Real>& within) const {
        const Real f = friction(k), slack = SLACK_R<Real> * (f + fabs(smooth(i, k)));
        if (mode == STUCK) return r > f + slack ? BACKWARD : (r < -f - slack ? FORWARD : mode);
        if (mode == HIGH) {
            if (r <= (within.high > 0 ? -f : f) + slack) return mode;
            return within.high > 0 ? FORWARD : BACKWARD;
        }
        if (r >= (within.low < 0 ? f : -f) - slack) return mode;
        return within.low < 0 ? BACKWARD : FORWARD;
    }
    // v⁺ of a joint, `next` where it slides; and its mode moved to the one that this result asks for.
    __device__ __forceinline__ Real under_law(int i, int k, Real next) const {
        const Interval<Real> within = bounds(k);
        const Mode before = mode(k);
        Mode then = before;
        if (before != FORWARD && before != BACKWARD) {
            next = held_at(before, within);
            if (descending) reaction_of(i) = latest;
            else then = let_go(i, k, before, latest, within);
        } else if (!descending) {
            const Real slack = SLACK<Real> * (1 + fabs(at(V + k)));
            if (next > within.high + slack) then = HIGH;
            else if (next < within.low - slack) then = LOW;
            else if (friction(k) > 0 && (before == FORWARD ? next : -next) < -slack) then = STUCK;
        }
        if (then != before) changed = true, put(at(MODE + k), then);
        return next;
    }
};

// The velocity of a descent, which is feasible throughout.
template <typename Real, int PITCH> struct Feasible {
    Real* first;

    __device__ __forceinline__ Real& operator()(int k) const { return first[k * (LONG ? PITCH : 1)]; }
};

// Begin there: the last one tried, brought into its bounds, and the modes it has.
template <typename Real, class Problem, class Feasible>
__device__ __noinline__ void enter(Problem problem, Feasible feasible) {
#pragma unroll 1
    for (int i = 0; i < BODIES; ++i) {
        const int k = v_start(i);
        if (kind(i) == FREE) {
            for (int j = 0; j < 6; ++j) feasible(k + j) = problem.after(i, k + j);
            continue;
        }
        const Interval<Real> within = problem.bounds(k);
        const Real next = clip(problem.after(i, k), within.low, within.high);
        Mode mode = next >= 0 ? FORWARD : BACKWARD;
        if (next == within.high) mode = HIGH;
        else if (next == within.low) mode = LOW;
        else if (next == 0 && problem.friction(k) > 0) mode = STUCK;
        put(problem.at(MODE + k), mode);
        feasible(k) = next;
    }
}

// Let go of the held joint that pulls the most; answers whether there was one.
template <typename Real, class Problem> __device__ __forceinline__ bool release(const Problem& problem) {
    Real worst = 0;
    int which = -1;
    Mode mode_of_worst = STUCK;
#pragma unroll 1
    for (int i = 0; i < BODIES; ++i) {
        const int k = v_start(i);
        if (kind(i) == FREE || !problem.locked(k)) continue;
        const Interval<Real> within = problem.bounds(k);
        const Real f = problem.friction(k), r = problem.reaction_of(i);
        const Mode mode = problem.mode(k), next = problem.let_go(i, k, mode, r, within);
        if (next != mode && within.low < within.high) {
            const Real pull = mode == STUCK ? fabs(r) - f : fabs(r - ((mode == LOW) == (within.low < 0) ? f : -f));
            if (pull > worst || which < 0) worst = pull, which = k, mode_of_worst = next;
        }
    }
    if (which >= 0) put(problem.at(MODE + which), mode_of_worst);
    return which >= 0;
}

// One step towards the least of the law's energy; answers whether there is still to go.
template <typename Real, class Problem, class Feasible>
__device__ __noinline__ bool descend(Problem problem, Feasible feasible) {
    Real share = 1, edge = 0;
    int blocking = -1;
    Mode mode = STUCK;
#pragma unroll 1
    for (int i = 0; i < BODIES; ++i) {
        const int k = v_start(i);
        if (kind(i) == FREE || problem.locked(k)) continue;
        const Interval<Real> within = problem.bounds(k);
        const bool rubs = problem.friction(k) > 0, forward = problem.mode(k) == FORWARD;
        const Real low = rubs && forward ? Real(0) : within.low, high = rubs && !forward ? Real(0) : within.high;
        const Real here = feasible(k), there = problem.after(i, k), slack = SLACK<Real> * (1 + fabs(here));
        if (there > high + slack && share * (there - here) > high - here) {
            share = (high > here ? high - here : Real(0)) / (there - here);
            blocking = k, edge = high, mode = high == within.high ? HIGH : STUCK;
        } else if (there < low - slack && share * (there - here) < low - here) {
            share = (low < here ? low - here : Real(0)) / (there - here);
            blocking = k, edge = low, mode = low == within.low ? LOW : STUCK;
        }
    }
#pragma unroll 1
    for (int i = 0; i < BODIES; ++i) {
        const int k = v_start(i);
        for (int j = 0; j < (kind(i) == FREE ? 6 : 1); ++j) {
            feasible(k + j) += share * (problem.after(i, k + j) - feasible(k + j));
        }
    }
    if (blocking < 0) return release<Real>(problem);
    feasible(blocking) = edge;
    put(problem.at(MODE + blocking), mode);
    return true;
}

// What the descent found, as what came of the velocities.
template <class Problem, class Feasible> __device__ __noinline__ void accept(Problem problem, Feasible feasible) {
#pragma unroll 1
    for (int i = 0; i < BODIES; ++i) {
        const int k = v_start(i);
        for (int j = 0; j < (kind(i) == FREE ? 6 : 1); ++j) problem.after(i, k + j) = feasible(k + j);
    }
}
