// The rows of a contact problem: J and W = J L⁻¹ along the paths to the root, the Delassus matrix G = W D⁻¹ Wᵀ, and the
// right-hand side. Equations: docs/contact_solver_gpu.md.
//
// A row is stored by level, from the root to the velocity at which its path begins: that of its joint, or the last one
// of the body in contact.
#pragma once

#include "constraints/interior_point.cuh"
#include "constraints/joint_constraints.cuh"
#include "rigid_body/lane_factor.cuh"
#include "rigid_body/limbs.cuh"

// Sweeps before G is formed, each much cheaper than G and a Newton step. More in single precision, where a few more
// usually suffice, and a warp waits for its slowest robot.
template <typename Real> constexpr int SWEEPS_BY_PATHS = sizeof(Real) == 8 ? 1 : 6;
// The residual that ends sweeps after a warm start within ACCEPTED_RESIDUAL; rounding prevents a smaller one.
template <typename Real> constexpr Real SWEPT = (sizeof(Real) == 8 ? 1 : 1.5) * RESIDUAL_TOLERANCE<Real>;
constexpr int UNROLLED = DEPTH <= 16 ? DEPTH : 1;  // levels of a path that are unrolled, so that a row is in registers
// Overlaps that count as none, m.
template <typename Real> constexpr Real OVERLAP_TOLERANCE =
    sizeof(Real) == 8 ? GAP_TOLERANCE<Real> : OVERLAP_TOLERANCE_SINGLE;

// The gap of contact i, or 0 where it is closed. In single precision the threshold grows with the coordinates'
// rounding, so that a robot at rest does not drop by it now and then.
template <typename Real, class Workspace> __device__ __forceinline__ Real open_gap(const Workspace& ws, int i) {
    const int c = ws.contact(i);
    const Real gap = ws(c + contact::GAP);
    Real shut = GAP_TOLERANCE<Real>;
    if constexpr (sizeof(Real) == 4) {
        const Vector<Real> n = ws.vector(c + contact::NORMAL), x = ws.vector(c + contact::PLACE);
        shut *= 1 + fabs(n.x * x.x) + fabs(n.y * x.y) + fabs(n.z * x.z);
    }
    return sizeof(Real) == 4 ? fmax(gap - shut, Real(0)) : gap > shut ? gap : Real(0);
}

// The last impulse of contact i's point in the world, or 0 if there is none among the `memories` stored ones.
template <typename Real, class Workspace>
__device__ __forceinline__ Vector<Real> stored_impulse(const Workspace& ws, int i, int memories) {
    const int c = ws.contact(i);
    const Real point = ws(c + contact::POINT);
    int m = i < memories ? i : 0;  // usually the index is unchanged
#pragma unroll 1
    for (int tried = 0; tried < memories; ++tried) {
        const int slot = kept::MEMORY + memory::NUMBERS * m;
        if (ws.kept(slot) == point) return ws.kept.vector(slot + memory::IMPULSE);
        m = m + 1 < memories ? m + 1 : 0;
    }
    return {0, 0, 0};
}

// J of contact i into its rows of W, from k on, and J v_f into B.
template <typename Real, class Memory, class Robot, class Workspace>
__device__ __forceinline__ void jacobian(const Memory& at, const Robot& robot, const Workspace& ws, int i, int k) {
    const int c = ws.contact(i);
    const Vector<Real> x = ws.vector(c + contact::INSIDE);
    Force<Real> F[3];
    Real base[3] = {};
#pragma unroll
    for (int r = 0; r < 3; ++r) {
        const Vector<Real> d = ws.vector(c + contact::FRAME + 3 * r);
        F[r] = {cross(x, d), d};
    }
#pragma unroll 1
    for (int j = SHAPE_BODY[shape_of(ws, i)];; j = parent(j)) {
        const int first = v_start(j), level = ROW_LEVEL[first] - 1;
#pragma unroll
        for (int r = 0; r < 3; ++r) {
            along_axes(j, F[r], [&](int which, Real value) {
                ws(Workspace::W + (k + r) * DEPTH + level + which) = value;
                base[r] += value * ws(Workspace::FREE_V + first + which);
            });
        }
        if (parent(j) < 0) break;
        const Pose<Real> T = pose<Real>(j, at, robot);
#pragma unroll
        for (int r = 0; r < 3; ++r) F[r] = force_to_parent(T, F[r]);
    }
#pragma unroll
    for (int r = 0; r < 3; ++r) ws(Workspace::B + k + r) = base[r];
}

// W of N rows from k on, in place of J, for paths that begin at `tip`, and G's diagonal.
template <typename Real, int N, class Workspace>
__device__ __forceinline__ void half_rows(const Workspace& ws, int k, int tip) {
    const int depth = ROW_LEVEL[tip];
    Real x[N][DEPTH], own[N] = {};
#pragma unroll
    for (int r = 0; r < N; ++r) {
#pragma unroll(UNROLLED)
        for (int l = 0; l < DEPTH; ++l) x[r][l] = l < depth ? ws(Workspace::W + (k + r) * DEPTH + l) : Real(0);
    }
    int v = tip;
#pragma unroll(UNROLLED)
    for (int l = DEPTH - 1; l >= 0; --l) {
        if (l >= depth) continue;
        const int row = Workspace::FACTOR + ROW_START[v] + 1;
#pragma unroll(UNROLLED)
        for (int e = 0; e < l; ++e) {
            const Real entry = ws(row + e);
#pragma unroll
            for (int r = 0; r < N; ++r) x[r][e] -= entry * x[r][l];
        }
        const Real inverse = ws(row + l);
#pragma unroll
        for (int r = 0; r < N; ++r) {
            const Real here = x[r][l];
            own[r] += here * here * inverse;
            ws(Workspace::W + (k + r) * DEPTH + l) = here;
        }
        v = ROW_PARENT[v];
    }
#pragma unroll
    for (int r = 0; r < N; ++r) ws(Workspace::OWN + k + r) = own[r];
}

// u = W x + b of row k, with x in HALF.
template <typename Real, class Workspace>
__device__ __forceinline__ Real row_velocity(const Workspace& ws, int k, int tip) {
    Real total = ws(Workspace::B + k);
#pragma unroll 4
    for (int l = 0; l < ROW_LEVEL[tip]; ++l)
        total += ws(Workspace::W + k * DEPTH + l) * ws(Workspace::HALF + PATH[tip * DEPTH + l]);
    return total;
}

// W x by a whole warp for x(v) of each velocity; put(k, value) receives each row. W is zero beyond the rows' paths.
template <typename Real, class Workspace, class X, class Put>
__device__ __forceinline__ void lane_products(const Workspace& ws, const RowsOf& rows, const X& x, const Put& put,
                                              const Group& group) {
    const LanePlace place(group);
    const Real own = x(place.v);
    Real first[FREE_NV];
#pragma unroll
    for (int n = 0; n < FREE_NV; ++n) first[n] = x(n);
    const int many = rows.all();
#pragma unroll 1
    for (int from = 0; from < many; from += WHOLE_WARP) {
        const int k = min(from + group.rank, many - 1), row = Workspace::W + k * DEPTH;
        const LanePath path(max(rows.tip(ws, k) - FREE_NV + 1, 0));
        Real total = 0;
#pragma unroll
        for (int n = 0; n < FREE_NV; ++n) total += ws(row + n) * first[n];
#pragma unroll
        for (int n = FREE_NV; n < DEPTH; ++n) total += ws(row + n) * of_lane(own, path(n - FREE_NV));
        if (from + group.rank < many) put(k, total);
    }
    group.sync();
}

// u of all rows for the current iterate, with D⁻¹ Wᵀ λ in HALF. Returns the residual.
template <typename Real, class Workspace>
__device__ __forceinline__ Real found_residual(const Workspace& ws, const RowsOf& rows, const Group& group) {
    const auto system = rows.system<Real>(ws);
    if constexpr (LANE_A_BODY) {
        const auto put = [&](int k, Real x) { system.u(k) = system.b(k) + x; };
        lane_products<Real>(ws, rows, [&](int v) { return ws(Workspace::HALF + v); }, put, group);
    } else {
#pragma unroll 1
        for (int k = group.rank; k < rows.all(); k += LANES)
            system.u(k) = row_velocity<Real>(ws, k, rows.tip(ws, k));
        group.sync();
    }
    return residual(system, group);
}
// Not inlined: a warp's step calls it in several places and is limited by instruction fetches.
template <typename Real, class Workspace>
__device__ __noinline__ Real residual_by_warp(Workspace ws, RowsOf rows, Group group) {
    ws.assume_memory();
    return found_residual<Real>(ws, rows, group);
}
template <typename Real, class Workspace>
__device__ __forceinline__ Real residual_by_paths(const Workspace& ws, const RowsOf& rows, const Group& group) {
    if constexpr (LANE_A_BODY) return residual_by_warp<Real>(ws, rows, group);
    else return found_residual<Real>(ws, rows, group);
}

// One sweep from the current impulses like `sweep`, by W only, for a robot that is `searching`; HALF = D⁻¹ Wᵀ λ is
// updated. A lane has the velocities of its levels.
template <typename Real, class Workspace>
__device__ __noinline__ void sweep_by_paths(Workspace ws, RowsOf rows, Group group, bool searching) {
    const auto system = rows.system<Real>(ws);
    const int first = 3 * system.contacts, n = searching ? rows.all() : 0;
    const auto w = [&](int k, int l) { return ws(Workspace::W + k * DEPTH + l); };
    group.sync();
#pragma unroll 1
    for (int k = 0; group.any_of_all(searching && k < first); k += 3) {
        const bool own = searching && k < first;
        const int tip = own ? rows.tip(ws, k) : 0, depth = own ? ROW_LEVEL[tip] : 0;
        Vector<Real> u = {0, 0, 0}, across = {0, 0, 0};
#pragma unroll 3
        for (int l = group.rank; l < depth; l += LANES) {
            const int v = PATH[tip * DEPTH + l];
            const Vector<Real> here = {w(k, l), w(k + 1, l), w(k + 2, l)};
            const Real inverse = ws(Workspace::FACTOR + diagonal(v));
            u = u + ws(Workspace::HALF + v) * here;
            across = across + inverse * Vector<Real>{here.x * here.y, here.x * here.z, here.y * here.z};
        }
        u = {group.sum(u.x), group.sum(u.y), group.sum(u.z)};
        across = {group.sum(across.x), group.sum(across.y), group.sum(across.z)};
        Vector<Real> z, d;
        if (own) {
            u = Vector<Real>{system.b(k), system.b(k + 1), system.b(k + 2)} + u;
            const Symmetric<Real> D = {system.own(k), across.x, across.y, system.own(k + 1), across.z,
                                       system.own(k + 2)};
            const Vector<Real> x = {system.impulse(k), system.impulse(k + 1), system.impulse(k + 2)};
            z = one_contact(D, u - mul(D, x), system.mu(k / 3)), d = z - x;
        }
        group.sync();
        if (own && group.rank == 0) system.impulse(k) = z.x, system.impulse(k + 1) = z.y, system.impulse(k + 2) = z.z;
#pragma unroll 3
        for (int l = group.rank; l < depth; l += LANES) {
            const int v = PATH[tip * DEPTH + l];
            ws(Workspace::HALF + v) +=
                ws(Workspace::FACTOR + diagonal(v)) * (w(k, l) * d.x + w(k + 1, l) * d.y + w(k + 2, l) * d.z);
        }
    }
#pragma unroll 1
    for (int k = first; group.any_of_all(k < n); ++k) {
        const bool own = k < n;
        const int tip = own ? rows.tip(ws, k) : 0, depth = own ? ROW_LEVEL[tip] : 0;
        Real u = 0;
#pragma unroll 3
        for (int l = group.rank; l < depth; l += LANES) u += w(k, l) * ws(Workspace::HALF + PATH[tip * DEPTH + l]);
        u = group.sum(u);
        const Real d = own ? joint_change(system, k, system.b(k) + u) : Real(0);
        group.sync();
        if (d == 0) continue;
        if (group.rank == 0) system.impulse(k) += d;
#pragma unroll 3
        for (int l = group.rank; l < depth; l += LANES) {
            const int v = PATH[tip * DEPTH + l];
            ws(Workspace::HALF + v) += ws(Workspace::FACTOR + diagonal(v)) * w(k, l) * d;
        }
    }
    group.sync();
}

// HALF ← D⁻¹ Wᵀ λ of all rows, the levels distributed over lanes.
template <typename Real, class Workspace>
__device__ __forceinline__ void half_by_levels(const Workspace& ws, const RowsOf& rows, const Group& group) {
    group.sync();
#pragma unroll 1
    for (int k = 0; k < rows.all(); ++k) {
        const Real impulse = ws(Workspace::TRIED + k);
        if (impulse == 0) continue;
        const int tip = rows.tip(ws, k);
#pragma unroll 3
        for (int l = group.rank; l < ROW_LEVEL[tip]; l += LANES)
            ws(Workspace::HALF + PATH[tip * DEPTH + l]) += ws(Workspace::W + k * DEPTH + l) * impulse;
    }
}

// HALF ← D⁻¹ Wᵀ λ of the n impulses from slot `impulses` on.
template <typename Real, class Workspace, class Team>
__device__ __noinline__ void half_impulses(Workspace ws, RowsOf rows, int n, int impulses, Team team) {
    team.sync();
#pragma unroll 1
    for (int v = team.rank; v < NV; v += team.size) {
        const int level = ROW_LEVEL[v];
        Real total = 0;
        for (int k = 0; k < n; ++k) {
            if (COMMON[v * NV + rows.tip(ws, k)] == level)
                total += ws(Workspace::W + k * DEPTH + level - 1) * ws(impulses + k);
        }
        ws(Workspace::HALF + v) = total * ws(Workspace::FACTOR + diagonal(v));
    }
    team.sync();
}

// DISPLACEMENT ← L⁻¹ HALF, from velocity `first` up to `end`.
template <typename Real, class Workspace>
__device__ __forceinline__ void to_velocities(const Workspace& ws, int first = 0, int end = NV) {
#pragma unroll 1
    for (int v = first; v < end; ++v) {
        const int row = Workspace::FACTOR + ROW_START[v];
        Real x = ws(Workspace::HALF + v);
#pragma unroll 4
        for (int e = 1; e < ROW_LEVEL[v]; ++e) x -= ws(row + e) * ws(Workspace::DISPLACEMENT + PATH[v * DEPTH + e - 1]);
        ws(Workspace::DISPLACEMENT + v) = x;
    }
}
template <typename Real, class Workspace>
__device__ __forceinline__ void to_velocities(const Workspace& ws, const Group& group) {
    group.sync();
    if constexpr (LANE_A_BODY) {
        for (int v = group.rank; v < NV; v += LANES) ws(Workspace::DISPLACEMENT + v) = ws(Workspace::HALF + v);
        group.sync();
        return lane_spread<Real>(ws, Workspace::FACTOR, Workspace::DISPLACEMENT, group);
    }
    if (group.rank == 0) to_velocities<Real>(ws, 0, TRUNK_NV);
    group.sync();
    to_velocities<Real>(ws, limb_velocity(LIMB_FIRST[group.rank]), limb_velocity(LIMB_FIRST[group.rank + 1]));
    group.sync();
}

// The lower triangle of G.
template <typename Real, class Workspace, class Team>
__device__ __noinline__ void delassus(Workspace ws, RowsOf rows, Team team) {
    const int n = rows.all();
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        const int from = rows.tip(ws, k), depth = ROW_LEVEL[from];
        Real x[DEPTH];
        int v = from;
#pragma unroll(UNROLLED)
        for (int l = DEPTH - 1; l >= 0; --l) {
            x[l] = 0;
            if (l >= depth) continue;
            x[l] = ws(Workspace::W + k * DEPTH + l) * ws(Workspace::FACTOR + diagonal(v));
            v = ROW_PARENT[v];
        }
#pragma unroll 1
        for (int m = team.rank; m <= k; m += team.size) {
            const int shared = COMMON[from * NV + rows.tip(ws, m)];
            Real total = 0;
#pragma unroll(UNROLLED)
            for (int l = 0; l < DEPTH; ++l) {
                if (l < shared) total += x[l] * ws(Workspace::W + m * DEPTH + l);
            }
            ws.far(Workspace::G + k * (k + 1) / 2 + m) = m < k ? total : ws(Workspace::OWN + k);
        }
    }
    team.sync();
}

// The candidate row of the joint at velocity v: it acts if it has friction or may reach a limit in the step.
// `put_joint_row` stores it as number `found`.
template <typename Real, class Joints> struct ActingJoint {
    Interval<Real> within;
    Real friction, after;

    __device__ __forceinline__ ActingJoint(const Joints& joints, Real after, int v)
        : within(joints.bounds(v)), friction(joints.friction(v)), after(after) {}
    __device__ __forceinline__ bool acts() const {
        return friction > 0 || after < within.low + Real(LIMIT_MARGIN) || after > within.high - Real(LIMIT_MARGIN);
    }
};
template <typename Real, class Joints, class Workspace>
__device__ __forceinline__ void put_joint_row(const Joints& joints, const Workspace& ws, const RowsOf& rows, int found,
                                              int v, const ActingJoint<Real, Joints>& row, Real before) {
    const int k = rows.first_joint() + found, law = Workspace::LAW + 3 * found;
    const int level = ROW_LEVEL[v] - 1;
    ws(law) = row.friction * joints.dt;
    ws(law + 1) = row.within.low * joints.dt < -GAP_TOLERANCE<Real> ? row.within.low : Real(0);
    ws(law + 2) = row.within.high * joints.dt > GAP_TOLERANCE<Real> ? row.within.high : Real(0);
    ws(Workspace::JOINT_OF + found) = Real(v);
    ws(Workspace::B + k) = row.after, ws(Workspace::TRIED + k) = before;
#pragma unroll 4
    for (int l = 0; l <= level; ++l) ws(Workspace::W + k * DEPTH + l) = l == level;
    if constexpr (!LANE_A_BODY) half_rows<Real, 1>(ws, k, v);  // a warp does all rows at once
}

// Rows of joints with friction or near a limit, after those of contacts. Returns their number.
template <typename Real, class Joints, class Workspace>
__device__ __forceinline__ int joint_rows(const Joints& joints, const Workspace& ws, const RowsOf& rows, bool warm,
                                          const Group& group) {
    int found = 0;
    const auto before = [&](int v) {
        const Real impulse = warm ? ws.kept(kept::JOINT_MEMORY + v) : Real(0);
        ws.kept(kept::JOINT_MEMORY + v) = 0;
        return impulse;
    };
    if constexpr (JOINT_ROWS > 0) {
#pragma unroll 1
        for (int first = TRUNK_NV; first < NV; first += LANES) {
            const int v = min(first + group.rank, NV - 1);
            const bool own = first + group.rank < NV;
            const ActingJoint<Real, Joints> row(joints, ws(Workspace::FREE_V + v), v);
            const Real impulse = own ? before(v) : Real(0);
            int all = 0;
            const bool acts = own && row.acts();
            const int place = found + group.before(acts, all);
            if (acts) put_joint_row(joints, ws, rows, place, v, row, impulse);
            found += all;
        }
    }
    return found;
}

// b = J v_f + c of contacts, from J v_f, with c for the gaps.
template <typename Real, class Workspace>
__device__ __forceinline__ void right_side(const Workspace& ws, const RowsOf& rows, Real dt, const Group& group) {
#pragma unroll 1
    for (int i = group.rank; i < rows.contacts; i += LANES) ws(Workspace::B + 3 * i) += open_gap<Real>(ws, i) / dt;
}
