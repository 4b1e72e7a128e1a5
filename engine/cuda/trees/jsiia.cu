// Forward dynamics of any model in one launch: JSIIA, [Y] (6), (7), a block a robot. Bodies of one depth, and rows of M
// of one level, are processed in parallel, from the base or from the tips.
//
// Twists, wrenches and inertias are about their body's origin, along the world's axes, and origins are relative to the
// root's: two bodies are then coupled by the difference of their origins, and each entry of M is computed
// independently. M = Lᵀ D L along the paths to the root, see rigid_body/ltdl.cuh, in left-looking form:
//
//     U_ij = M_ij − Σ_k U_ki D_k⁻¹ U_kj over all k beyond i,  D_i = U_ii,  L_ij = U_ij / D_i
//
// The right-hand side is an entry too. x_i = D_i⁻¹ (U_ib − Σ_j U_ij x_j) over all j before i.
#include "rigid_body/spatial.cuh"

constexpr int WARP = 32;
// The numbers of a body: its pose; its twist and acceleration, later its composite inertia and the force at its joint.
constexpr int POSE = 0, TWIST = 12, ACCELERATION = 18, INERTIA = 12, FORCE = 22;
static_assert(FORCE + 6 == BODY_NUMBERS, "what the launch makes room for");

struct TreeBody { int kind, parent, q_start, v_start; };
// Indices in `child`; the body's depth-first number, and the last of its subtree.
struct Children { int first, last, number, end; };
struct Row { int start, level, end, own; };  // its entries; the row after its subtree; its index in v
struct Entry { int row, column; };           // −1: the right-hand side
struct Velocity { int body, axis; };  // of the tree: which of its body's six axes it is along

// The sizes of a model.
struct Sizes { int n, tree_nq, tree_nv, nq, nv, entries, depths, levels; };

// The tables of jsiia.py, the last ones for mimic joints. The integer tables begin with their offsets.
template <typename Real> struct Tables {
    // (bodies + 1, CONSTANTS), in the layout of engine/model/layout.py.
    const Real *constants, *q_factor, *q_offset, *v_factor;
    const TreeBody* bodies;
    const Children* children;
    const int *child, *by_depth, *first_of_depth;
    const Velocity* velocities;
    const Row* rows;
    const int *by_level, *first_of_level;
    const Entry* entries;
    // For row p, the velocities of the tree that are multiples of its own.
    const int *first_part, *parts, *q_index, *v_index;
    int n, tree_nv, nv, numbers, depths, levels;

    __device__ Tables(const Real* reals, const int* whole, const Sizes& sizes)
        : constants(reals), q_factor(constants + packed::CONSTANTS * (sizes.n + 1)), q_offset(q_factor + sizes.tree_nq),
          v_factor(q_offset + sizes.tree_nq), n(sizes.n), tree_nv(sizes.tree_nv), nv(sizes.nv), numbers(sizes.entries),
          depths(sizes.depths), levels(sizes.levels) {
        bodies = reinterpret_cast<const TreeBody*>(whole + whole[0]);
        children = reinterpret_cast<const Children*>(whole + whole[1]);
        child = whole + whole[2], by_depth = whole + whole[3], first_of_depth = whole + whole[4];
        velocities = reinterpret_cast<const Velocity*>(whole + whole[5]);
        rows = reinterpret_cast<const Row*>(whole + whole[6]);
        by_level = whole + whole[7], first_of_level = whole + whole[8];
        entries = reinterpret_cast<const Entry*>(whole + whole[9]);
        first_part = whole + whole[10], parts = whole + whole[11], q_index = whole + whole[12],
            v_index = whole + whole[13];
    }
};

// The block's robot and its numbers.
template <typename Number, bool MIMIC> struct Robot {
    using Real = Number;
    const Tables<Real>& tables;
    const Real *given_q, *given_v, *tau;
    Real *numbers, *wrenches, *M, *inverse, *x;

    __device__ Robot(const Tables<Real>& tables, const Real* q, const Real* v, const Real* tau, Real* numbers)
        : tables(tables), given_q(q), given_v(v), tau(tau), numbers(numbers),
          wrenches(numbers + size_t(BODY_NUMBERS) * tables.n), M(wrenches + size_t(6) * tables.tree_nv),
          inverse(M + tables.numbers), x(inverse + tables.nv) {}

    template <class State> static __device__ __forceinline__ State read(const Real* from, int stride) {
        State x;
#pragma unroll
        for (int k = 0; k < int(sizeof(State) / sizeof(Real)); ++k) reinterpret_cast<Real*>(&x)[k] = from[k * stride];
        return x;
    }
    template <class State> static __device__ __forceinline__ void write(Real* to, int stride, const State& x) {
#pragma unroll
        for (int k = 0; k < int(sizeof(State) / sizeof(Real)); ++k)
            to[k * stride] = reinterpret_cast<const Real*>(&x)[k];
    }
    template <class State> __device__ __forceinline__ State get(int field, int i) const {
        return read<State>(numbers + size_t(field) * tables.n + i, tables.n);
    }
    template <class State> __device__ __forceinline__ void put(int field, int i, const State& x) const {
        write(numbers + size_t(field) * tables.n + i, tables.n, x);
    }
    __device__ __forceinline__ Vector<Real> origin(int i) const { return get<Vector<Real>>(POSE + 9, i); }

    // The tree's coordinates and velocities.
    __device__ __forceinline__ Real q(int k) const {
        return MIMIC ? tables.q_factor[k] * given_q[tables.q_index[k]] + tables.q_offset[k] : given_q[k];
    }
    __device__ __forceinline__ Real v(int k) const {
        return MIMIC ? tables.v_factor[k] * given_v[tables.v_index[k]] : given_v[k];
    }
    __device__ __forceinline__ Real constant(int i, int k) const { return tables.constants[packed::CONSTANTS * i + k]; }
    __device__ __forceinline__ Pose<Real> home(int i) const {
        return packed_home<Real>([&](int k) { return constant(i, k); });
    }
    __device__ __forceinline__ Body<Real> body(int i) const {
        return packed_body<Real>([&](int k) { return constant(i, k); });
    }
    __device__ __forceinline__ Vector<Real> gravity() const {
        return {constant(tables.n, 0), constant(tables.n, 1), constant(tables.n, 2)};
    }

    // Sum over the velocities of the tree that row p represents.
    template <class Term> __device__ __forceinline__ Real over_parts(int p, const Term& term) const {
        if constexpr (!MIMIC) return term(tables.rows[p].own);
        Real sum = 0;
        for (int e = tables.first_part[p]; e < tables.first_part[p + 1]; ++e) {
            const int r = tables.parts[e];
            sum += tables.v_factor[r] * term(r);
        }
        return sum;
    }
};

// Axis 0 … 5 of a body's six: an angular one, or a linear one.
template <typename Real> struct Axis { Vector<Real> along; bool turns; };
FUNCTION Axis<Real> axis_of(const Matrix<Real>& R, int which) {
    const int c = which % 3;
    return {c == 0 ? Vector<Real>{R.x.x, R.y.x, R.z.x} : c == 1 ? Vector<Real>{R.x.y, R.y.y, R.z.y}
                                                                : Vector<Real>{R.x.z, R.y.z, R.z.z}, which < 3};
}
FUNCTION Motion<Real> unit(const Axis<Real>& axis) {
    const Vector<Real> none = {0, 0, 0};
    return axis.turns ? Motion<Real>{axis.along, none} : Motion<Real>{none, axis.along};
}

// T of a body in its parent.
template <class Robot, typename Real = typename Robot::Real>
__device__ __forceinline__ Pose<Real> local_pose(const Robot& robot, int i) {
    const TreeBody body = robot.tables.bodies[i];
    return joint_pose(body.kind, robot.home(i), [&](int k) { return robot.q(body.q_start + k); });
}

// S q̇ of a body's joint.
template <class Robot, typename Real = typename Robot::Real>
__device__ __forceinline__ Motion<Real> joint_rate(const Robot& robot, const TreeBody& body, const Matrix<Real>& R) {
    const auto v = [&](int k) { return robot.v(body.v_start + k); };
    const Vector<Real> none = {0, 0, 0};
    if (body.kind == REVOLUTE) return {v(0) * axis_of(R, 2).along, none};
    if (body.kind == PRISMATIC) return {none, v(0) * axis_of(R, 2).along};
    const Vector<Real> o = mul(R, Vector<Real>{v(0), v(1), v(2)});
    return {o, body.kind == FREE ? mul(R, Vector<Real>{v(3), v(4), v(5)}) : none};
}

// [Y] (2a), (2b): a body's pose, twist and acceleration along the world's axes, from its parent's.
template <class Robot, typename Real = typename Robot::Real>
__device__ __forceinline__ void follow_parent(const Robot& robot, int i) {
    const TreeBody body = robot.tables.bodies[i];
    Pose<Real> T = robot.template get<Pose<Real>>(POSE, i);
    Motion<Real> V = {}, a = {{0, 0, 0}, -robot.gravity()};
    if (body.parent < 0) {
        T.p = {0, 0, 0};
    } else {
        const Pose<Real> P = robot.template get<Pose<Real>>(POSE, body.parent);
        const Vector<Real> r = mul(P.R, T.p);
        T = {matmul(P.R, T.R), P.p + r};
        V = robot.template get<Motion<Real>>(TWIST, body.parent);
        a = robot.template get<Motion<Real>>(ACCELERATION, body.parent);
        V.v = V.v + cross(V.o, r), a.v = a.v + cross(a.o, r);
    }
    const Motion<Real> rate = joint_rate(robot, body, T.R);
    V = V + rate;
    a = a + Motion<Real>{cross(V.o, rate.o), cross(V.v, rate.o) + cross(V.o, rate.v)};
    robot.put(POSE, i, T), robot.put(TWIST, i, V), robot.put(ACCELERATION, i, a);
}

// A body's inertia along the world's axes, and its term of [Y] (2c).
template <class Robot, typename Real = typename Robot::Real>
__device__ __forceinline__ void turn_inertia(const Robot& robot, int i) {
    const Matrix<Real> R = robot.template get<Matrix<Real>>(POSE, i);
    const Body<Real> own = robot.body(i), J = {own.m, mul(R, own.h), rotate(R, own.I)};
    const Force<Real> F = wrench(J, robot.template get<Motion<Real>>(TWIST, i),
                                 robot.template get<Motion<Real>>(ACCELERATION, i));
    robot.put(INERTIA, i, J), robot.put(FORCE, i, F);
}

// The sum over its children, about a body's origin: the composite inertia, and [Y] (2c).
template <class Robot, typename Real = typename Robot::Real>
__device__ __forceinline__ void add_children(const Robot& robot, int i) {
    const Children children = robot.tables.children[i];
    if (children.first == children.last) return;
    const Vector<Real> here = robot.origin(i);
    Body<Real> J = robot.template get<Body<Real>>(INERTIA, i);
    Force<Real> F = robot.template get<Force<Real>>(FORCE, i);
#pragma unroll 1
    for (int e = children.first; e < children.last; ++e) {
        const int child = robot.tables.child[e];
        const Vector<Real> r = robot.origin(child) - here;
        const Force<Real> f = robot.template get<Force<Real>>(FORCE, child);
        J = J + translate(r, robot.template get<Body<Real>>(INERTIA, child));
        F = F + Force<Real>{f.n + cross(r, f.f), f.f};
    }
    robot.put(INERTIA, i, J), robot.put(FORCE, i, F);
}

// The wrench of a unit acceleration along one of the tree's velocities on its composite body.
template <class Robot, typename Real = typename Robot::Real>
__device__ __forceinline__ void composite_wrench(const Robot& robot, int r) {
    const Velocity at = robot.tables.velocities[r];
    const auto axis = axis_of(robot.template get<Matrix<Real>>(POSE, at.body), at.axis);
    const Force<Real> F = momentum(robot.template get<Body<Real>>(INERTIA, at.body), unit(axis));
    Robot::write(robot.wrenches + r, robot.tables.tree_nv, F);
}

// The entry of M of two of the tree's velocities, with i on the body of j or beyond it; with mimic joints, any two.
template <typename Real, bool MIMIC>
__device__ __forceinline__ Real entry(const Robot<Real, MIMIC>& robot, int i, int j) {
    const auto& tables = robot.tables;
    Velocity at_i = tables.velocities[i], at_j = tables.velocities[j];
    if constexpr (MIMIC) {
        if (tables.children[at_i.body].number < tables.children[at_j.body].number) {
            const Velocity other = at_i;
            at_i = at_j, at_j = other, i = j;
        }
        if (tables.children[at_i.body].number >= tables.children[at_j.body].end) return 0;
    }
    const Force<Real> F = robot.template read<Force<Real>>(robot.wrenches + i, tables.tree_nv);
    const auto axis = axis_of(robot.template get<Matrix<Real>>(POSE, at_j.body), at_j.axis);
    const Vector<Real> r = robot.origin(at_i.body) - robot.origin(at_j.body);
    return dot(axis.along, axis.turns ? F.n + cross(r, F.f) : F.f);
}

// One entry of CᵀMC, or of the right-hand side Cᵀ(τ − τ_bias).
template <typename Real, bool MIMIC>
__device__ __forceinline__ Real assembled(const Robot<Real, MIMIC>& robot, const Entry& at) {
    if (at.column < 0) {
        return robot.tau[robot.tables.rows[at.row].own] - robot.over_parts(at.row, [&](int r) {
            const Velocity at = robot.tables.velocities[r];
            const auto axis = axis_of(robot.template get<Matrix<Real>>(POSE, at.body), at.axis);
            const Force<Real> F = robot.template get<Force<Real>>(FORCE, at.body);
            return dot(axis.along, axis.turns ? F.n : F.f);
        });
    }
    return robot.over_parts(at.row, [&](int i) {
        return robot.over_parts(at.column, [&](int j) { return entry(robot, i, j); });
    });
}

// The sum of x over `lanes` lanes, a power of two.
template <typename Real> __device__ __forceinline__ Real sum_over(int lanes, Real x) {
    const unsigned first = threadIdx.x % WARP & ~(lanes - 1), mask = (lanes == WARP ? ~0u : (1u << lanes) - 1) << first;
    for (int d = lanes / 2; d > 0; d /= 2) x += __shfl_xor_sync(mask, x, d);
    return x;
}

// U and 1/D of the rows of one level, after all beyond them; where entries are few, several lanes share a sum.
template <class Robot> __device__ __forceinline__ void eliminate(const Robot& robot, int level) {
    using Real = typename Robot::Real;
    const auto& tables = robot.tables;
    const int begin = tables.rows[tables.by_level[tables.first_of_level[level - 1]]].start;
    const int rows = tables.first_of_level[level] - tables.first_of_level[level - 1], count = rows * (level + 1);
    int lanes = 1;
    while (lanes < WARP && 2 * lanes * count <= int(blockDim.x)) lanes *= 2;
    const int lane = threadIdx.x % lanes;
    for (int e = begin + threadIdx.x / lanes; e < begin + count; e += blockDim.x / lanes) {
        const int i = tables.entries[e].row;
        const Row row = tables.rows[i];
        const int column = e - row.start;
        Real sum = 0;
#pragma unroll 4
        for (int k = i + 1 + lane; k < row.end; k += lanes) {
            const Real* const other = robot.M + tables.rows[k].start;
            sum += other[level] * robot.inverse[k] * other[column];
        }
        sum = sum_over(lanes, sum);
        if (lane == 0) {
            const Real left = robot.M[e] - sum;
            robot.M[e] = left;
            if (column == level) robot.inverse[i] = inverse_pivot(left);
        }
    }
}

// x of the rows of one level, after all before them, a warp per row.
template <class Robot>
__device__ __forceinline__ void substitute(const Robot& robot, int level, typename Robot::Real* out) {
    using Real = typename Robot::Real;
    const auto& tables = robot.tables;
    const int last = tables.first_of_level[level], lane = threadIdx.x % WARP;
    for (int p = tables.first_of_level[level - 1] + threadIdx.x / WARP; p < last; p += blockDim.x / WARP) {
        const int i = tables.by_level[p];
        const Row row = tables.rows[i];
        Real sum = 0;
        for (int e = row.start + 1 + lane; e < row.start + level; e += WARP)
            sum += robot.M[e] * robot.x[tables.entries[e].column];
        sum = sum_over(WARP, sum);
        if (lane == 0) out[row.own] = robot.x[i] = (robot.M[row.start] - sum) * robot.inverse[i];
    }
}

// f(i) for all i < n, distributed over the threads of the block, then a barrier.
template <class Work> __device__ __forceinline__ void each(int n, const Work& work) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) work(i);
    __syncthreads();
}

// Copy `count` numbers from global to shared memory, all loads issued at once.
template <typename Number> __device__ __forceinline__ void bring(Number* to, const Number* from, int count) {
#pragma unroll 8
    for (int e = threadIdx.x; e < count; e += blockDim.x) to[e] = from[e];
}

// q̈ (batch, nv) from q (batch, nq), v and τ (batch, nv). A robot's numbers, `count` of them, are in shared memory, or
// if they do not fit in `workspace`, per block; the tables, with their counts of reals and integers, are in shared
// memory if STAGED.
template <typename Real, bool MIMIC, bool STAGED>
__global__ void __launch_bounds__(MAX_THREADS)
tree_jsiia(const Real* __restrict__ q, const Real* __restrict__ v, const Real* __restrict__ tau, Real* __restrict__ out,
           const Real* __restrict__ reals, const int* __restrict__ whole, int count_reals, int count_whole, int n,
           int tree_nq, int tree_nv, int nq, int nv, int entries, int depths, int levels, int batch, Real* workspace,
           long long count) {
    extern __shared__ __align__(16) unsigned char memory[];
    const Sizes sizes = {n, tree_nq, tree_nv, nq, nv, entries, depths, levels};
    Real* const own = workspace ? workspace + blockIdx.x * count : reinterpret_cast<Real*>(memory);
    if constexpr (STAGED) {
        Real* const near_reals = reinterpret_cast<Real*>(memory) + count;
        int* const near_whole = reinterpret_cast<int*>(near_reals + count_reals);
        bring(near_whole, whole, count_whole), bring(near_reals, reals, count_reals);
        __syncthreads();
        reals = near_reals, whole = near_whole;
    }
    const Tables<Real> tables(reals, whole, sizes);
#pragma unroll 1
    for (int number = blockIdx.x; number < batch; number += gridDim.x) {
        const size_t at = size_t(number) * nv;
        const Robot<Real, MIMIC> robot(tables, q + size_t(number) * nq, v + at, tau + at, own);
        each(n, [&](int i) { robot.put(POSE, i, local_pose(robot, i)); });
#pragma unroll 1
        for (int d = 0; d < depths; ++d) {
            const int first = tables.first_of_depth[d];
            each(tables.first_of_depth[d + 1] - first, [&](int k) {
                follow_parent(robot, tables.by_depth[first + k]);
            });
        }
        each(n, [&](int i) { turn_inertia(robot, i); });
#pragma unroll 1
        for (int d = depths - 2; d >= 0; --d) {
            const int first = tables.first_of_depth[d];
            each(tables.first_of_depth[d + 1] - first, [&](int k) { add_children(robot, tables.by_depth[first + k]); });
        }
        each(tree_nv, [&](int r) { composite_wrench(robot, r); });
        each(entries, [&](int e) { robot.M[e] = assembled(robot, tables.entries[e]); });
#pragma unroll 1
        for (int level = levels; level > 0; --level) {
            eliminate(robot, level);
            __syncthreads();
        }
#pragma unroll 1
        for (int level = 1; level <= levels; ++level) {
            substitute(robot, level, out + at);
            __syncthreads();
        }
    }
}
