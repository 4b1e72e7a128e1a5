// Linear systems whose matrix is nonzero along paths to the root, for one robot by a whole warp: a lane has the row and
// the column of its body's velocity in registers; all lanes duplicate the six of the first body.
#pragma once

#include "rigid_body/lane_bodies.cuh"

constexpr int FREE_NV = 6;

// The largest level of a joint whose body has several children; FREE_NV if there is none.
__device__ constexpr int fork_level() {
    int found = FREE_NV;
    if constexpr (LANE_A_BODY && !SERIAL) {
        for (int i = 1; i < BODIES; ++i) {
            const int above = PARENT[i];
            if (above > 0 && above != i - 1 && FREE_NV + BODY_DEPTH[above] > found) found = FREE_NV + BODY_DEPTH[above];
        }
    }
    return found;
}
constexpr int FORK_LEVEL = fork_level();
// The most joints in the subtree of a joint above FORK_LEVEL, itself included.
__device__ constexpr int most_below_forks() {
    int most = 1;
    if constexpr (LANE_A_BODY) {
        for (int v = FREE_NV; v < NV; ++v) {
            if (ROW_LEVEL[v] > FORK_LEVEL && END_OF_SUBTREE[v] - v > most) most = END_OF_SUBTREE[v] - v;
        }
    }
    return most;
}
constexpr int UNFORKED = most_below_forks();
constexpr int ROOT_ENTRIES = LANE_A_BODY ? ROW_START[LANE_A_BODY ? FREE_NV : 0] : 1;
static_assert(ROOT_ENTRIES <= WHOLE_WARP, "a lane has one entry of the first body's rows");

// The lanes on the path from the first body to a body, as packed by lane_bodies.py. Shuffles use the lowest five bits
// of a lane index.
constexpr int PATH_LANES = DEPTH - FREE_NV, A_WORD = 6;
constexpr int PATH_WORDS = LANE_A_BODY ? sizeof LANE_PATHS / sizeof *LANE_PATHS / BODIES : 1;
static_assert(!LANE_A_BODY || A_WORD * PATH_WORDS >= PATH_LANES, "a row has as many");
struct LanePath {
    int words[PATH_WORDS];

    __device__ __forceinline__ explicit LanePath(int body) {
#pragma unroll
        for (int w = 0; w < PATH_WORDS; ++w) words[w] = LANE_PATHS[LANE_A_BODY ? body * PATH_WORDS + w : 0];
    }
    __device__ __forceinline__ int operator()(int k) const { return words[k / A_WORD] >> 5 * (k % A_WORD); }
};

// The index of the lowest set bit; arbitrary if there is none.
__device__ __forceinline__ int first_of(unsigned lanes) { return (__ffs(lanes) - 1) & WHOLE_WARP - 1; }

// A number that the compiler cannot trace to a table; otherwise it replaces comparisons by a 64-bit mask and six
// instructions.
__device__ __forceinline__ int hidden(int x) {
#ifdef __CUDA_ARCH__
    asm("" : "+r"(x));
#endif
    return x;
}

// The place of a lane's body in the tree. A lane without a body, and the first body's, own nothing.
struct LanePlace {
    bool own;
    int body, v, level, start;  // its velocity, the level of its row, and the row's first slot
    unsigned below;  // mask of the bodies below it

    __device__ __forceinline__ explicit LanePlace(const Group& group) {
        const int i = min(group.rank, BODIES - 1);
        own = group.rank > 0 && group.rank < BODIES;
        body = max(i, 1), v = body + FREE_NV - 1, level = hidden(ROW_LEVEL[v]), start = ROW_START[v];
        below = own ? ~0u >> (WHOLE_WARP + FREE_NV - 1 - END_OF_SUBTREE[v]) & ~1u << i : 0;
    }
};

// Row and column of a velocity, up to the diagonal; its right-hand side.
template <typename Real, bool SYMMETRIC> struct LaneRow {
    Real rhs, pivot, row[DEPTH], column[SYMMETRIC ? 1 : DEPTH];  // level n at index n − 1
};

// x ← L⁻¹ x for the joints, given the first body's six in first(n), and entry(n) of the lane's row at level n. Returns
// the lane's x times `scale`.
template <typename Real, class First, class Entry>
__device__ __forceinline__ Real lane_outwards(const LanePlace& place, Real x, Real scale, const First& first,
                                              const Entry& entry) {
#pragma unroll
    for (int n = 1; n <= FREE_NV; ++n) x -= entry(n) * first(n);
    const LanePath path(place.body);
#pragma unroll
    for (int k = 0; k < PATH_LANES - 1; ++k) {
        const int level = FREE_NV + 1 + k;
        const Real there = of_lane(scale * x, path(k));
        if (level < place.level) x -= entry(level) * there;
    }
    return scale * x;
}

// The first body's six: L by rows, whose diagonal holds the inverse of U's, and x, from the lower and upper entries of
// its rows.
template <typename Real, bool SYMMETRIC> struct RootSystem {
    Real A[FREE_NV][FREE_NV], x[FREE_NV];

    template <class Memory> __device__ __forceinline__ RootSystem(const Memory& at, int lower, int upper) {
#pragma unroll
        for (int i = 0; i < FREE_NV; ++i) {
            x[i] = at(lower + ROW_START[i]);
#pragma unroll
            for (int n = 0; n <= i; ++n) {
                A[i][n] = at(lower + ROW_START[i] + n + 1);
                if (!SYMMETRIC && n < i) A[n][i] = at(upper + ROW_START[i] + n + 1);
            }
        }
    }
    __device__ __forceinline__ void solve() {
#pragma unroll
        for (int i = FREE_NV - 1; i >= 0; --i) {
            const Real inverse = SYMMETRIC ? inverse_pivot<Real>(A[i][i]) : reciprocal(A[i][i]);
            Real column[FREE_NV];
#pragma unroll
            for (int n = 0; n < i; ++n) column[n] = SYMMETRIC ? A[i][n] : A[n][i], A[i][n] *= inverse;
            A[i][i] = inverse, x[i] *= inverse;
#pragma unroll
            for (int r = 0; r < i; ++r) {
                x[r] -= column[r] * x[i];
#pragma unroll
                for (int n = 0; n < (SYMMETRIC ? r + 1 : i); ++n) A[r][n] -= column[r] * A[i][n];
            }
        }
        spread();
    }
    // x ← L⁻¹ x.
    __device__ __forceinline__ void spread() {
#pragma unroll
        for (int i = 1; i < FREE_NV; ++i)
#pragma unroll
            for (int n = 0; n < i; ++n) x[i] -= A[i][n] * x[n];
    }
    template <class Memory> __device__ __forceinline__ void put(const Memory& at, int lower) const {
#pragma unroll
        for (int i = 0; i < FREE_NV; ++i) {
            at(lower + ROW_START[i]) = x[i];
#pragma unroll
            for (int n = 0; SYMMETRIC && n <= i; ++n) at(lower + ROW_START[i] + n + 1) = A[i][n];
        }
    }
};

// x ← L⁻¹ x, with L's rows from slot `first` on and x from slot `x` on.
template <typename Real, class Memory>
__device__ __forceinline__ void lane_spread(const Memory& at, int first, int x, const Group& group) {
    const LanePlace place(group);
    RootSystem<Real, true> root(at, first, first);
#pragma unroll
    for (int n = 0; n < FREE_NV; ++n) root.x[n] = at(x + n);
    root.spread();
    const Real found = lane_outwards<Real>(place, at(x + place.v), 1, [&](int n) { return root.x[n - 1]; },
                                           [&](int n) { return at(first + place.start + n); });
    group.sync();
    if (place.own) at(x + place.v) = found;
    if (group.rank == 0) {
#pragma unroll
        for (int n = 1; n < FREE_NV; ++n) at(x + n) = root.x[n];
    }
    group.sync();
}

// An entry of a matrix and its transpose.
template <typename Real> struct Entries {
    Real lower, upper;
};

// The first body's rows and columns, less the contributions of all joints. given(level, n) is their initial value.
template <typename Real, bool SYMMETRIC, class Memory, class Given>
__device__ __forceinline__ void lane_roots(const Memory& at, int lower, int upper, const Given& given,
                                           const Group& group) {
    const int e = min(group.rank, ROOT_ENTRIES - 1);
    int level = 1;
#pragma unroll
    for (int t = 1; t < FREE_NV; ++t) level += e >= ROW_START[t];
    const int n = e - ROW_START[level - 1];
    Entries<Real> x = given(level, n);
#pragma unroll
    for (int k = FREE_NV; k < NV; ++k) {
        const int row = lower + ROW_START[k], column = upper + ROW_START[k];
        x.lower -= at(column + level) * at(row + n);
        if constexpr (!SYMMETRIC) x.upper -= at(column + n) * at(row + level);
    }
    if (group.rank == e) {
        at(lower + e) = x.lower;
        if constexpr (!SYMMETRIC) at(upper + e) = x.upper;
    }
    group.sync();
}

// Solve A x = b, with A nonzero along paths to the root, by A = U L without pivoting, from the tips, level by level:
// finished rows are stored from slot `lower` on, b's entry first, and columns from `upper` on, from where rows above
// read their updates. fill(place, row) gives a lane's row and column, root(level, n) entry n of the first body's, with
// b as entry 0. x replaces b, and for symmetric A the result includes L with unit diagonal, in whose place the inverse
// of U's is stored.
template <typename Real, bool SYMMETRIC, class Memory, class Fill, class Root>
__device__ __forceinline__ void lane_solve(const Memory& at, int lower, int upper, const Fill& fill, const Root& root,
                                           const Group& group) {
    const LanePlace place(group);
    LaneRow<Real, SYMMETRIC> x;
    fill(place, x);
    Real inverse = 1;
#pragma unroll 1
    for (int level = DEPTH; level > FREE_NV; --level) {
        const bool now = place.own && place.level == level;
        if (now) {
            inverse = SYMMETRIC ? inverse_pivot<Real>(x.pivot) : reciprocal(x.pivot);
            at(lower + place.start) = inverse * x.rhs, at(lower + place.start + level) = inverse;
#pragma unroll
            for (int n = 1; n < DEPTH; ++n) {
                if (n >= level) break;
                at(lower + place.start + n) = inverse * x.row[n - 1];
                at(upper + place.start + n) = SYMMETRIC ? x.row[n - 1] : x.column[n - 1];
            }
        }
        group.sync();
        unsigned left = place.below & group.those(now);
        int bound = level - 1;  // the largest level of the receiving rows
        const int most = group.max_int(__popc(left));
#pragma unroll 1
        for (int number = 0; number < most; ++number) {
            const int from = of_lane(place.start, first_of(left));
            if (left) {
                const Real u = at(upper + from + place.level), l = at(lower + from + place.level);
                x.rhs -= u * at(lower + from), x.pivot -= u * l;
#pragma unroll
                for (int n = 1; n < DEPTH - 1; ++n) {
                    if (n % 4 == 1 && n >= bound) break;  // further entries are harmless
                    x.row[n - 1] -= u * at(lower + from + n);
                    if constexpr (!SYMMETRIC) x.column[n - 1] -= at(upper + from + n) * l;
                }
            }
            left &= left - 1, bound = min(bound, FORK_LEVEL);
        }
    }
    lane_roots<Real, SYMMETRIC>(at, lower, upper, root, group);
    RootSystem<Real, SYMMETRIC> first(at, lower, upper);
    first.solve();
    const Real found = lane_outwards(place, x.rhs, inverse, [&](int n) { return first.x[n - 1]; },
                                     [&](int n) { return x.row[n - 1]; });
    group.sync();
    if (place.own) at(lower + place.start) = found;
    if (group.rank == 0) first.put(at, lower);
    group.sync();
}

// Solve for a symmetric matrix stored in the place of L, with b.
template <typename Real, class Memory>
__device__ __forceinline__ void lane_factor_and_solve(const Memory& at, int lower, int upper, const Group& group) {
    const auto fill = [&](const LanePlace& place, LaneRow<Real, true>& x) {
        x.rhs = at(lower + place.start), x.pivot = at(lower + place.start + place.level);
#pragma unroll
        for (int n = 1; n < DEPTH; ++n) x.row[n - 1] = at(lower + place.start + n);
    };
    const auto given = [&](int level, int n) { return Entries<Real>{at(lower + ROW_START[level - 1] + n), 0}; };
    lane_solve<Real, true>(at, lower, upper, fill, given, group);
}
