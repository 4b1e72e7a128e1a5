// What a group of blocks knows of one robot while it works on it: a tree of bodies, each at a place of its own, and what
// bodies leave there for others. dca.py says where in a place's numbers everything stands, and what tasks there are.
#pragma once

#include "chains/dca.cuh"

static_assert(sizeof(Pose<double>) == 12 * 8 && sizeof(Travel<double>) == TRAVEL_NUMBERS * 8 &&
              sizeof(Inertia<double>) == INERTIA_NUMBERS * 8, "what dca.py makes room for");

// A warp's room in shared memory: the links of its chunk, or two elements that it joins; and what it eliminates in.
template <typename Real> struct Room {
    Link<Real>* link;
    Element<Real>* element;
    Six<Real>* scratch;

    __device__ __forceinline__ Room(char* memory, int warp, int numbers)
        : link(reinterpret_cast<Link<Real>*>(reinterpret_cast<Real*>(memory) + size_t(warp) * numbers)),
          element(reinterpret_cast<Element<Real>*>(link)),
          scratch(reinterpret_cast<Six<Real>*>(reinterpret_cast<Real*>(link) + numbers - SCRATCH_NUMBERS)) {}
};

// Where articulated chunks keep their bodies' poses, seen from the body before the chunk: journeys are over by then.
constexpr int CHUNK_POSE = JOURNEY;

// The tables of dca.py, and the numbers of the robot that the group works on.
template <typename Real> struct Tree {
    const Real* constants;  // (CONSTANTS, stride), by places
    const int* bodies;      // (5, stride): kind, where q and v start, the place of the parent, which body it is
    const int *first_share, *shares;  // whose shares a place or a sum adds up: shares[first_share[i]] …
    const int* ancestors;   // (rounds, 3, stride), −1 before the base
    const int* links;       // the velocities of bodies that lie on stretches: 4 · place + which of its body's
    int stride;             // between two numbers of a place
    Vector<Real> gravity;
    const Real *q, *v, *tau;
    Real *qdd, *numbers;
    Element<Real>* elements;
    Map<Real>* maps;
    // What steps add, by velocities: to D; the acceleration of a locked joint; 1 where it is locked. And the wrenches on
    // bodies from outside, (bodies, 6, batch), from this robot's on; nothing where none act.
    const Real *extra, *target, *locked, *wrenches;
    int batch;

    __device__ __forceinline__ int kind(int i) const { return bodies[i]; }
    __device__ __forceinline__ int q_start(int i) const { return bodies[stride + i]; }
    __device__ __forceinline__ int v_start(int i) const { return bodies[2 * stride + i]; }
    __device__ __forceinline__ int parent(int i) const { return bodies[3 * stride + i]; }

    __device__ __forceinline__ int body_of(int i) const { return bodies[4 * stride + i]; }

    template <class State> __device__ __forceinline__ State get(int field, int i) const {
        State x;
        const Real* from = numbers + size_t(field) * stride + i;
#pragma unroll
        for (int k = 0; k < int(sizeof(State) / sizeof(Real)); ++k) reinterpret_cast<Real*>(&x)[k] = from[k * stride];
        return x;
    }
    template <class State> __device__ __forceinline__ void put(int field, int i, const State& x) const {
        Real* to = numbers + size_t(field) * stride + i;
#pragma unroll
        for (int k = 0; k < int(sizeof(State) / sizeof(Real)); ++k) to[k * stride] = reinterpret_cast<const Real*>(&x)[k];
    }
    __device__ __forceinline__ Real constant(int i, int k) const { return constants[k * stride + i]; }
    __device__ __forceinline__ Vector<Real> three(int i, int k) const {
        return {constant(i, k), constant(i, k + 1), constant(i, k + 2)};
    }
    __device__ __forceinline__ Body<Real> body(int i) const {
        const Vector<Real> a = three(i, packed::INERTIA), b = three(i, packed::INERTIA + 3);
        return {constant(i, packed::MASS), three(i, packed::FIRST_MOMENT), {a.x, a.y, a.z, b.x, b.y, b.z}};
    }
    __device__ __forceinline__ Force<Real> external(int i) const {
        if (wrenches == nullptr) return {};
        const Real* first = wrenches + size_t(body_of(i)) * 6 * batch;
        const auto part = [&](int k) { return first[size_t(k) * batch]; };
        return {{part(0), part(1), part(2)}, {part(3), part(4), part(5)}};
    }
    // The acceleration of a place, against free fall that of the base.
    __device__ __forceinline__ Motion<Real> acceleration(int i) const {
        return i < 0 ? Motion<Real>{{0, 0, 0}, -gravity} : get<Motion<Real>>(ACCELERATION, i);
    }
    // The twist of a place once all rounds of DOUBLE are done.
    __device__ __forceinline__ Motion<Real> twist(int i) const {
        return i < 0 ? Motion<Real>{} : get<Motion<Real>>(TWIST, i);
    }
};

// What a body's children leave to it, seen from its frame: an inertia, and a force where it does not accelerate.
template <typename Real> struct Share { Inertia<Real> I; Force<Real> p; };

// Those of all whom a place or a sum adds up, one after the other.
template <typename Real> __device__ __forceinline__ Share<Real> shares_of(const Tree<Real>& tree, int slot) {
    Share<Real> sum = {};
    const int end = tree.first_share[slot + 1];
#pragma unroll 1
    for (int k = tree.first_share[slot]; k < end; ++k) {
        const Share<Real> x = tree.template get<Share<Real>>(SHARE, tree.shares[k]);
        sum = {sum.I + x.I, sum.p + x.p};
    }
    return sum;
}
