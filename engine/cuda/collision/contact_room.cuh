// Where the numbers of one robot's contacts stand: slots like those of the tree, the robots of a block side by side, but one after
// the other where each has a warp.
// engine/cuda/constraints/contacts.py adds to the preamble what can touch: CONTACTS at a time, of SHAPES with POINTS; JOINT_ROWS,
// the velocities on which friction or limits can act; DEPTH, the most velocities between a body and the root; and FEW, the
// contacts up to which a step works in shared memory.
//
// Matrices are sized for all rows there can be; only those of the contacts that there are, are touched.
#pragma once

#include "rigid_body/ltdl.cuh"

#if ANY_PAIRS
#include "collision/solid_tables.cuh"
#endif

// A contact: the number of its point and shape, those of pairs coming after, and its gap; in the world its place and normal; in the
// frame of the body that carries it the place, and the rows n, t₁, t₂. Where there are pairs, what of two shapes touches; where
// two bodies of a robot may, place and rows in the other one's frame as well.
namespace contact {
constexpr int POINT = 0, SHAPE = 1, GAP = 2, PLACE = 3, NORMAL = 6, INSIDE = 9, FRAME = 12, FEATURE = 21,
              OTHER_INSIDE = FEATURE + 2 * ANY_PAIRS, OTHER_FRAME = OTHER_INSIDE + 3, NUMBERS = OTHER_INSIDE + 12 * OWN_PAIRS;
}
// What is remembered of one: the number of its point, with pairs what touches, and the impulse in the world.
namespace memory {
constexpr int POINT = 0, FEATURE = 1, IMPULSE = FEATURE + 2 * ANY_PAIRS, NUMBERS = IMPULSE + 3;
}
// A shape that moves, in the world: its frame, the centre of the ball around it and that one's velocity, and the body's.
namespace placed {
constexpr int ROTATION = 0, POSITION = 9, MIDDLE = 12, VELOCITY = 15, OMEGA = 18, NUMBERS = 21;
}
// What is known of where a sphere touches a height field.
namespace near {
constexpr int NORMAL = 0, PLACE = 3, GAP = 6, NUMBERS = 7;
}

// What stays from one step to the next: the MEMORY of contacts, and that of joints.
namespace kept {
constexpr int MEMORY = 0, JOINT_MEMORY = MEMORY + memory::NUMBERS * CONTACTS, NUMBERS = JOINT_MEMORY + NV;
}

// The places of at most MOST contacts. What every step works in: the contacts; M, L and 1/D, whose right-hand side is the free
// acceleration; velocities (NV,) each; the rows W = J L⁻¹, their entries from the root on, and before there are
// any what lanes of a warp hand to each other, LANE_SLOTS; numbers for each row; those for each
// contact; the laws of joint rows and whose they are. FAR from it what a step seldom needs: G, its lower triangle; what the solver
// works in; the impulses that it has found. Without restitution b needs no second place, nor its offsets one of their own.
template <int MOST> struct Places {
    static constexpr int ROWS = (SOME_RUB ? 3 : 1) * MOST + JOINT_ROWS;  // at most: three of a contact with friction, else one
    static constexpr int LONGEST = ROWS > NV ? ROWS : NV;  // of the vectors and the matrix that the solver works in
    static constexpr int LAWS = JOINT_ROWS + MOST;         // rows of a joint's law: a contact without friction is one
    static constexpr int FOUND = 0, NEAREST = FOUND + contact::NUMBERS * MOST,
                         PLACED = NEAREST + near::NUMBERS * (MOST == CONTACTS ? SPHERE_PLACES : 0),
                         FACTOR = PLACED + placed::NUMBERS * (MOST == CONTACTS ? MOVING_SOLIDS : 0),
                         FREE_V = FACTOR + FACTOR_SLOTS, HALF = FREE_V + NV, WAY = HALF + NV, W = WAY + NV,
                         B = W + (ROWS * DEPTH > LANE_SLOTS ? ROWS * DEPTH : LANE_SLOTS), OWN = B + ROWS, TRIED = OWN + ROWS, U = TRIED + ROWS,
                         BASE = HAS_RESTITUTION ? U + ROWS : B, OFFSET = HAS_RESTITUTION ? BASE + ROWS : TRIED,
                         BEFORE = U + (HAS_RESTITUTION ? 3 : 1) * ROWS, MU = BEFORE + HAS_RESTITUTION * MOST,
                         LAW = MU + MOST, JOINT_OF = LAW + 3 * (ALL_RUB && JOINT_ROWS > MOST ? JOINT_ROWS : LAWS),
                         LOWER = JOINT_OF + JOINT_ROWS, UPPER = LOWER + (LANES == 32 ? FACTOR_SLOTS : 0),
                         RESISTANCE = UPPER + (LANES == 32 ? FACTOR_SLOTS : 0),
                         DAMPING = RESISTANCE + (LANES == 32 ? 10 * MOST : 0),
                         TARGET = DAMPING + (LANES == 32 ? JOINT_ROWS : 0), FIRST_CONTACT = TARGET + (LANES == 32 ? ROWS : 0),
                         FIRST_JOINT = FIRST_CONTACT + (LANES == 32 ? NV + 1 : 0),
                         SIZE = FIRST_JOINT + (LANES == 32 ? NV + 1 : 0);
    static constexpr int G = 0, STEP = G + ROWS * (ROWS + 1) / 2, PIVOT = STEP + LONGEST, BEST = PIVOT + LONGEST,
                         CHOSEN = BEST + ROWS, A = CHOSEN + ROWS, VECTORS = A + LONGEST * LONGEST,
                         PAIRS = VECTORS + 14 * LONGEST, FAR = PAIRS + 22 * LAWS;
};
static_assert(Places<CONTACTS>::SIZE == ROOM_SLOTS && Places<FEW>::SIZE == FEW_SLOTS && Places<CONTACTS>::FAR == FAR_SLOTS &&
              kept::NUMBERS == KEPT_SLOTS, "what contacts.py makes room for");

// A robot's room for at most MOST contacts, each of the memories by itself; what is far from others lies side by side. A team has
// TEAM_SLOTS for all of a robot's numbers, in which one works at a time.
constexpr int TEAM_SLOTS = ROOM_SLOTS + FAR_SLOTS;
template <typename Real, int PITCH, int MOST> struct Room : Places<MOST> {
    using Together = Room<Real, 1, MOST>;  // in which a team works

    Slots<Real, PITCH> here, kept;
    Slots<Real, 1> far;

    __device__ __forceinline__ Room(Real* here, Real* far, Real* kept) : here{here}, kept{kept}, far{far} {}
    __device__ __forceinline__ Real& operator()(int slot) const { return here(slot); }
    __device__ __forceinline__ Vector<Real> vector(int slot) const { return here.vector(slot); }
    __device__ __forceinline__ void store(int slot, Vector<Real> x) const { here.store(slot, x); }
    // Tells the compiler which memory a room of a robot with a warp of its own is in: in functions that are not written into the
    // step it takes more instructions to read what may be anywhere.
    __device__ __forceinline__ void tell_memory() const {
#ifdef __CUDA_ARCH__
        if constexpr (MOST <= FEW) __builtin_assume(__isShared(here.first));
        else __builtin_assume(__isGlobal(here.first));
        __builtin_assume(__isGlobal(far.first));
#endif
    }
    // Where the numbers of contact i begin.
    __device__ __forceinline__ static int contact(int i) { return Places<MOST>::FOUND + contact::NUMBERS * i; }
};

// A table of shapes and of their points, as contacts.py packs them.
namespace shape {
constexpr int FIRST = 0, COUNT = 1, LINK = 2, FRICTION = 3, RESTITUTION = 4, ROTATION = 5, POSITION = 14, RADIUS = 17,
              NUMBERS = 18;
}
namespace point {
constexpr int POSITION = 0, RADIUS = 3, AXIS = 4, RIM = 7, NUMBERS = 8;
}

// What can touch what: shapes (SHAPES, shape::NUMBERS), points (POINTS, point::NUMBERS); of a plane the normal and the offset,
// of a height field x and y of its first corner, the cell, the counts of rows and columns, and the heights.
template <typename Real> struct Surroundings {
    const Real *shapes, *points, *ground;
#if ANY_PAIRS
    Solids solids;
    Work work;
#endif

    __device__ __forceinline__ Real of_shape(int s, int k) const { return shapes[s * shape::NUMBERS + k]; }
    __device__ __forceinline__ Real of_point(int p, int k) const { return points[p * point::NUMBERS + k]; }
    __device__ __forceinline__ Vector<Real> vector_of_point(int p, int k) const {
        return {of_point(p, k), of_point(p, k + 1), of_point(p, k + 2)};
    }
};

// A body in the world, and the twist of its frame there.
template <typename Real> struct Placed {
    Matrix<Real> R;
    Vector<Real> p, omega, velocity;
};

// Two unit vectors t₁, t₂ with n × t₁ = t₂, the same ones for the same n.
template <typename Real> struct Tangents { Vector<Real> first, second; };
template <typename Real> __device__ __forceinline__ Tangents<Real> tangents(Vector<Real> n) {
    const Vector<Real> e = fabs(n.x) > Real(0.9) ? Vector<Real>{0, 1, 0} : Vector<Real>{1, 0, 0};
    const Vector<Real> t = e - dot(n, e) * n, first = (1 / sqrt(dot(t, t))) * t;
    return {first, cross(n, first)};
}
