// Where the numbers of one robot's contacts stand, in memory of its own: slots like those of the tree, the threads of a
// block side by side. engine/cuda/constraints/contacts.py adds to the preamble what can touch: CONTACTS at a time, of SHAPES with POINTS; JOINT_ROWS,
// the velocities on which friction or limits can act; DEPTH, the most velocities between a body and the root.
//
// The matrices are sized for all rows there can be; only those of the contacts that there are, are touched.
#pragma once

#include "rigid_body/ltdl.cuh"

#if ANY_PAIRS
#include "collision/solid_tables.cuh"
#endif

constexpr int ROWS = (SOME_RUB ? 3 : 1) * CONTACTS + JOINT_ROWS;  // at most: three of a contact with friction, else one
constexpr int LONGEST = ROWS > NV ? ROWS : NV;  // of the vectors and the matrix that the solver works in
constexpr int LAWS = JOINT_ROWS + CONTACTS;  // rows of a joint's law: a contact without friction is one

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

// The room. From one step to the next the MEMORY of contacts and that of joints stay. Then the contacts; M, L and 1/D, whose right-hand side is the free acceleration; velocities (NV,) each; the rows
// W = J L⁻¹, their entries from the root on; numbers for each row; those for each contact; the laws of joint rows and whose
// they are; G, its lower triangle; what the solver works in.
namespace room_at {
constexpr int MEMORY = 0, JOINT_MEMORY = MEMORY + memory::NUMBERS * CONTACTS, FOUND = JOINT_MEMORY + NV,
              NEAREST = FOUND + contact::NUMBERS * CONTACTS, FACTOR = NEAREST + near::NUMBERS * SPHERE_PLACES,
              FREE_V = FACTOR + FACTOR_SLOTS, HALF = FREE_V + NV, WAY = HALF + NV, W = WAY + NV,
              BASE = W + ROWS * DEPTH, B = BASE + ROWS, OFFSET = B + ROWS, OWN = OFFSET + ROWS, IMPULSE = OWN + ROWS,
              TRIED = IMPULSE + ROWS, U = TRIED + ROWS, BEST = U + ROWS, BEFORE = BEST + ROWS, MU = BEFORE + CONTACTS,
              LAW = MU + CONTACTS, JOINT_OF = LAW + 3 * LAWS, G = JOINT_OF + JOINT_ROWS,
              STEP = G + ROWS * (ROWS + 1) / 2, PIVOT = STEP + LONGEST, A = PIVOT + LONGEST, VECTORS = A + LONGEST * LONGEST,
              PAIRS = VECTORS + 14 * LONGEST, PLACED = PAIRS + 22 * LAWS, SIZE = PLACED + placed::NUMBERS * MOVING_SOLIDS;
}
static_assert(room_at::SIZE == ROOM_SLOTS, "what contacts.py makes room for");

// A table of shapes and of their points, as contacts.py packs them.
namespace shape {
constexpr int FIRST = 0, COUNT = 1, LINK = 2, FRICTION = 3, RESTITUTION = 4, ROTATION = 5, POSITION = 14, NUMBERS = 17;
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
