// The workspace layout of one robot's contacts: slots like those of the tree, interleaved over the robots of a block,
// or contiguous where each robot has a warp.
//
// engine/cuda/constraints/contacts.py adds to the preamble: CONTACTS, the most at a time, of SHAPES with POINTS;
// JOINT_ROWS, the velocities with friction or limits; DEPTH, the most velocities between a body and the root; FEW, the
// contacts up to which a step works in shared memory; and the layouts of a contact, its memory, a shape and a point.
//
// Matrices are sized for all possible rows; only the existing ones are used.
#pragma once

#include "rigid_body/ltdl.cuh"

// State kept between steps: the warm starts of contacts (MEMORY) and of joints.
namespace kept {
constexpr int MEMORY = 0, JOINT_MEMORY = MEMORY + memory::NUMBERS * CONTACTS, NUMBERS = JOINT_MEMORY + NV;
}

// The first slot of each array in the workspace of at most MOST contacts.
template <int MOST> struct Places {
    static constexpr int ROWS = 3 * MOST + JOINT_ROWS;
    static constexpr int LONGEST = ROWS > NV ? ROWS : NV;  // the solver's vectors and matrix
    static constexpr int LAWS = JOINT_ROWS + MOST;  // rows with a joint's law, which overlaps also have
    // In shared memory where it fits:
    static constexpr int FOUND = 0,  // contacts
                         FACTOR = FOUND + contact::NUMBERS * MOST,  // M, then L and 1/D
                         FREE_V = FACTOR + FACTOR_SLOTS,  // v_f
                         HALF = FREE_V + NV, DISPLACEMENT = HALF + NV,  // D⁻¹ Wᵀ λ, and L⁻¹ of it
                         W = DISPLACEMENT + NV,  // J L⁻¹ by level; before it exists, exchange slots of a warp's lanes
                         B = W + (ROWS * DEPTH > LANE_SLOTS ? ROWS * DEPTH : LANE_SLOTS),
                         OWN = B + ROWS,  // G's diagonal
                         TRIED = OWN + ROWS, U = TRIED + ROWS,  // the current iterate: impulses, velocities
                         MU = U + ROWS, LAW = MU + MOST,
                         JOINT_OF = LAW + 3 * (JOINT_ROWS > MOST ? JOINT_ROWS : LAWS),  // velocities of joint rows
                         // for a warp per robot: LU factors, Ω and s of the rows, ranges of rows for each velocity
                         LOWER = JOINT_OF + JOINT_ROWS, UPPER = LOWER + (LANES == 32 ? FACTOR_SLOTS : 0),
                         OMEGA = UPPER + (LANES == 32 ? FACTOR_SLOTS : 0),
                         JOINT_OMEGA = OMEGA + (LANES == 32 ? 9 * MOST : 0),
                         S = JOINT_OMEGA + (LANES == 32 ? JOINT_ROWS : 0),
                         FIRST_CONTACT = S + (LANES == 32 ? ROWS : 0),
                         FIRST_JOINT = FIRST_CONTACT + (LANES == 32 ? NV + 1 : 0),
                         SIZE = FIRST_JOINT + (LANES == 32 ? NV + 1 : 0);
    // FAR, in global memory: the solver's arrays.
    static constexpr int G = 0,  // its lower triangle
                         STEP = G + ROWS * (ROWS + 1) / 2, PIVOT = STEP + LONGEST,
                         BEST = PIVOT + LONGEST, CHOSEN = BEST + ROWS,  // best iterates of an attempt, and of all
                         A = CHOSEN + ROWS,  // the matrix of the linear system
                         VECTORS = A + LONGEST * LONGEST,  // of the interior point method, as are PAIRS
                         PAIRS = VECTORS + 14 * LONGEST,
                         FAR = PAIRS + 21 * LAWS;
};
static_assert(Places<CONTACTS>::SIZE == WORKSPACE_SLOTS && Places<FEW>::SIZE == FEW_SLOTS &&
              Places<CONTACTS>::FAR == FAR_SLOTS && kept::NUMBERS == KEPT_SLOTS, "what contacts.py makes room for");

// A robot's workspace for at most MOST contacts, in its memories; FAR numbers are contiguous. A team has TEAM_SLOTS,
// for one robot at a time.
constexpr int TEAM_SLOTS = WORKSPACE_SLOTS + FAR_SLOTS;
template <typename Real, int PITCH, int MOST> struct Workspace : Places<MOST> {
    using Together = Workspace<Real, 1, MOST>;  // for a team

    Slots<Real, PITCH> here, kept;
    Slots<Real, 1> far;

    __device__ __forceinline__ Workspace(Real* here, Real* far, Real* kept) : here{here}, kept{kept}, far{far} {}
    __device__ __forceinline__ Real& operator()(int slot) const { return here(slot); }
    __device__ __forceinline__ Vector<Real> vector(int slot) const { return here.vector(slot); }
    __device__ __forceinline__ void store(int slot, Vector<Real> x) const { here.store(slot, x); }
    // Show the compiler which memory the workspace is in, for a robot with a warp of its own: in functions that are not
    // inlined, generic addresses cost more instructions.
    __device__ __forceinline__ void assume_memory() const {
#ifdef __CUDA_ARCH__
        if constexpr (MOST <= FEW) __builtin_assume(__isShared(here.first));
        else __builtin_assume(__isGlobal(here.first));
        __builtin_assume(__isGlobal(far.first));
#endif
    }
    // The first slot of contact i.
    __device__ __forceinline__ static int contact(int i) { return Places<MOST>::FOUND + contact::NUMBERS * i; }
};

// The tables of shapes (SHAPES, shape::NUMBERS) and points (POINTS, point::NUMBERS), and the ground, a plane: its
// normal and offset.
template <typename Real> struct Surroundings {
    const Real *shapes, *points, *ground;

    __device__ __forceinline__ Real of_shape(int s, int k) const { return shapes[s * shape::NUMBERS + k]; }
    __device__ __forceinline__ Real of_point(int p, int k) const { return points[p * point::NUMBERS + k]; }
    __device__ __forceinline__ Vector<Real> vector_of_point(int p, int k) const {
        return {of_point(p, k), of_point(p, k + 1), of_point(p, k + 2)};
    }
};

// The pose of a body in the world, and its twist there.
template <typename Real> struct Placed {
    Matrix<Real> R;
    Vector<Real> p, omega, velocity;
};

// Two unit vectors t₁, t₂ with n × t₁ = t₂, a function of n only.
template <typename Real> struct Tangents { Vector<Real> first, second; };
template <typename Real> __device__ __forceinline__ Tangents<Real> tangents(Vector<Real> n) {
    const Vector<Real> e = fabs(n.x) > Real(0.9) ? Vector<Real>{0, 1, 0} : Vector<Real>{1, 0, 0};
    const Vector<Real> t = e - dot(n, e) * n, first = (1 / sqrt(dot(t, t))) * t;
    return {first, cross(n, first)};
}
