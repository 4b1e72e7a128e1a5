// The memory of a group of blocks for one robot: a tree of bodies, each at a place, and the numbers that bodies
// exchange there. dca.py has the layout of a place and the kinds of tasks.
#pragma once

#include "chains/dca.cuh"

static_assert(sizeof(Pose<double>) == 12 * 8 && sizeof(Travel<double>) == TRAVEL_NUMBERS * 8 &&
              sizeof(Inertia<double>) == INERTIA_NUMBERS * 8, "what dca.py makes room for");

// A warp's shared memory: the links of its chunk, or two elements that it joins; and scratch for the elimination.
template <typename Real> struct Workspace {
    Link<Real>* link;
    Element<Real>* element;
    Six<Real>* scratch;

    __device__ __forceinline__ Workspace(char* memory, int warp, int numbers)
        : link(reinterpret_cast<Link<Real>*>(reinterpret_cast<Real*>(memory) + size_t(warp) * numbers)),
          element(reinterpret_cast<Element<Real>*>(link)),
          scratch(reinterpret_cast<Six<Real>*>(reinterpret_cast<Real*>(link) + numbers - SCRATCH_NUMBERS)) {}
};

// Articulated chunks store poses relative to the body before the chunk, in the place of journeys, which are done by
// then.
constexpr int CHUNK_POSE = JOURNEY;

// The tables of dca.py, and the numbers of the group's robot.
template <typename Real> struct Tree {
    const Real* constants;  // (CONSTANTS, stride), by places
    const int* bodies;  // (5, stride): kind, first indices in q and v, the parent's place, the body's index
    const int *first_share, *shares;  // the shares that a place or a sum adds up: shares[first_share[i]] …
    const int* ancestors;   // (rounds, 3, stride), −1 before the base
    const int* links;  // the velocities of bodies on stretches: 4 · place + index in the body
    int stride;  // stride between the numbers of a place
    Vector<Real> gravity;
    const Real *q, *v, *tau;
    Real *qdd, *numbers;
    Element<Real>* elements;
    Map<Real>* maps;
    // The additions of steps, by velocities: to D; the acceleration of a held joint; 1 if held. And external
    // wrenches on bodies, (bodies, 6, batch), from this robot's on; null if there are none.
    const Real *added_inertia, *target, *held, *wrenches;
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
        for (int k = 0; k < int(sizeof(State) / sizeof(Real)); ++k)
            to[k * stride] = reinterpret_cast<const Real*>(&x)[k];
    }
    __device__ __forceinline__ Real constant(int i, int k) const { return constants[k * stride + i]; }
    __device__ __forceinline__ Pose<Real> home(int i) const {
        return packed_home<Real>([&](int k) { return constant(i, k); });
    }
    __device__ __forceinline__ Body<Real> body(int i) const {
        return packed_body<Real>([&](int k) { return constant(i, k); });
    }
    __device__ __forceinline__ Force<Real> external(int i) const {
        if (wrenches == nullptr) return {};
        const Real* first = wrenches + size_t(body_of(i)) * 6 * batch;
        const auto part = [&](int k) { return first[size_t(k) * batch]; };
        return {{part(0), part(1), part(2)}, {part(3), part(4), part(5)}};
    }
    // The acceleration of a place; that of the base is relative to free fall.
    __device__ __forceinline__ Motion<Real> acceleration(int i) const {
        return i < 0 ? Motion<Real>{{0, 0, 0}, -gravity} : get<Motion<Real>>(ACCELERATION, i);
    }
    // The twist of a place after all rounds of DOUBLE.
    __device__ __forceinline__ Motion<Real> twist(int i) const {
        return i < 0 ? Motion<Real>{} : get<Motion<Real>>(TWIST, i);
    }
};

// A body's share for its parent, in the body's frame: an inertia, and the force at zero acceleration.
template <typename Real> struct Share { Inertia<Real> I; Force<Real> p; };

// The shares that a place or a sum adds up, in sequence.
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
