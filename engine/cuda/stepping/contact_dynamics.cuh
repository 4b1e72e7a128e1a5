// The velocity of one step under contacts. Equations: docs/contact.md (C5)–(C7), docs/contact_solver_gpu.md.
//
// The solver starts from the last step's impulses, followed by some sweeps with W only, or by Newton's steps where a
// robot has a warp. For a robot at rest that suffices, without G or its factors. The remaining solver is in functions
// that are not inlined.
#pragma once

#include "collision/lane_ground.cuh"
#include "constraints/lane_rows.cuh"
#include "constraints/newton_by_paths.cuh"
#include "constraints/warp_cooperation.cuh"
#include "stepping/joint_motion.cuh"
#include "stepping/contact_report.cuh"
#if EVEN_LIMBS
#include "stepping/limb_step.cuh"
#endif

// The factors of M̃, and v_f in FREE_V, without the rotation of free joints' frames.
template <typename Real, class Joints, class Robot, class Workspace>
__device__ __forceinline__ void begin_contacts(const Joints& joints, const Robot& robot, const Workspace& ws,
                                               const Group& group) {
    const auto& at = joints.at;
    const Real dt = joints.dt;
    for (int k = group.rank; k < NV; k += LANES) ws(Workspace::FACTOR + ROW_START[k]) = 0;
    const auto take = [&](int k, Real force) { ws(Workspace::FACTOR + ROW_START[k]) -= force; };
    if constexpr (LANE_A_BODY) {
        const auto put = [&](int k, int l, Real x) {
            if (l <= k) ws(Workspace::FACTOR + ROW_START[k] + ROW_LEVEL[l]) = x;
        };
        lane_loads<Real>(joints, ws, Workspace::W + lane_slot::POSE, robot, group, take, put);
    } else {
        const auto put = [&](int i, int c, int j, const Force<Real>& F) { enter(ws, Workspace::FACTOR, i, c, j, F); };
        bias<Real>(at, joints, robot, LimbBodies{group});
        limb_loads<Real>(at, ws.here, Workspace::W, robot, group, take, put);
    }
    for (int k = group.rank; k < NV; k += LANES) {
        const int i = max(0, k - TRUNK_NV + 1);
        if (i > 0) ws(Workspace::FACTOR + diagonal(k)) += joints.added_inertia(i, k);
        ws(Workspace::FACTOR + ROW_START[k]) += joints.smooth(i, k);
    }
    group.sync();
    if constexpr (LANE_A_BODY) {
        lane_factor_and_solve<Real>(ws, Workspace::FACTOR, Workspace::UPPER, group);
    } else {
        limb_factor_and_solve<Real>(ws, Workspace::FACTOR, group);
    }
    for (int k = group.rank; k < NV; k += LANES)
        ws(Workspace::FREE_V + k) = at(V + k) + dt * ws(Workspace::FACTOR + ROW_START[k]);
    group.sync();
    constexpr int f = Workspace::FREE_V;
    if (group.rank == 0) ws.store(f + 3, ws.vector(f + 3) + dt * cross(at.vector(V), at.vector(V + 3)));
    group.sync();
}

// The impulse of contact i in the world.
template <typename Real, class Workspace> __device__ __forceinline__ Vector<Real> in_world(const Workspace& ws, int i) {
    const Vector<Real> n = ws.vector(ws.contact(i) + contact::NORMAL), x = ws.vector(Workspace::TRIED + 3 * i);
    const Tangents<Real> t = tangents(n);
    return x.x * n + x.y * t.first + x.z * t.second;
}

// Rows of contacts with the last step's impulses: J, W and G's diagonal.
template <typename Real, class Joints, class Robot, class Workspace>
__device__ __forceinline__ void contact_rows(const Joints& joints, const Robot& robot, const Surroundings<Real>& scene,
                                             const Workspace& ws, const RowsOf& rows, int memories,
                                             const Group& group) {
    if constexpr (LANE_A_BODY) return lane_contact_rows(scene, ws, rows, memories, group);
#pragma unroll 1
    for (int i = group.rank; i < rows.contacts; i += LANES) {
        const int k = 3 * i, s = shape_of(ws, i);
        const Vector<Real> n = ws.vector(ws.contact(i) + contact::NORMAL),
            before = stored_impulse<Real>(ws, i, memories);
        const Tangents<Real> t = tangents(n);
        ws.store(Workspace::TRIED + k, {dot(n, before), dot(t.first, before), dot(t.second, before)});
        ws(Workspace::MU + i) = scene.of_shape(s, shape::FRICTION);
        jacobian<Real>(joints.at, robot, ws, i, k);
        half_rows<Real, 3>(ws, k, SHAPE_TIP[s]);
    }
}

// Solve the law where sweeps from the warm start do not suffice, and recompute HALF. Returns the residual.
template <typename Real, class Workspace, class Team>
__device__ __noinline__ Real solve_anew(Workspace ws, RowsOf rows, Team team) {
    delassus<Real>(ws, rows, team);
    const Real left = solve_contacts(rows.system<Real>(ws), rows, true, team);
    half_impulses<Real>(ws, rows, rows.all(), Workspace::TRIED, team);
    return left;
}

// The displacement that resolves overlaps, into DISPLACEMENT: M̃⁻¹ Jᵀ π with 0 ≤ π ⟂ G_nn π + β gap ≥ 0.
template <typename Real, class Workspace, class Team>
__device__ __noinline__ void correct_overlap(Workspace ws, RowsOf rows, Team team) {
    delassus<Real>(ws, rows, team);
    const int last = rows.first_joint();
    if (team.rank == 0) {
#pragma unroll 1
        for (int i = 0; i < rows.contacts; ++i) {
            const Real gap = ws(ws.contact(i) + contact::GAP);
            const int law = Workspace::LAW + 3 * i, k = 3 * i;
            ws(Workspace::B + i) = gap < 0 ? Real(ERP) * gap : gap, ws(Workspace::TRIED + i) = 0;
            ws(law) = 0, ws(law + 1) = 0, ws(law + 2) = Real(INFINITE);
            ws(Workspace::OWN + i) = ws(Workspace::OWN + k);
            for (int j = 0; j <= i; ++j)  // in place: reads never follow writes
                ws.far(Workspace::G + i * (i + 1) / 2 + j) = ws.far(Workspace::G + k * (k + 1) / 2 + 3 * j);
        }
    }
    team.sync();
    rounds(System<Real, Workspace>{ws, 0, rows.contacts}, 2 * SOLVER_ROUNDS, Real(DAMPING_OF_ROUNDS), false, team);
    for (int k = team.rank; k < last; k += team.size) ws(Workspace::TRIED + k) = 0;
    team.sync();
    for (int i = team.rank; i < rows.contacts; i += team.size)
        ws(Workspace::TRIED + 3 * i) = ws.far(Workspace::BEST + i);
    half_impulses<Real>(ws, rows, last, Workspace::TRIED, team);
    if constexpr (LANE_A_BODY) to_velocities<Real>(ws, team);
    else if (team.rank == 0) to_velocities<Real>(ws);
}

// The slots of contacts during detection: the first FEW in the small workspace, the others in the large one.
template <typename Real, int PITCH> struct DetectedContacts {
    using Few = Workspace<Real, PITCH, FEW>;
    using All = Workspace<Real, PITCH, CONTACTS>;
    static constexpr int FOUND = All::FOUND;
    static_assert(Few::FOUND == FOUND, "as contacts.py has it");

    Few few;
    All all;

    __device__ __forceinline__ Slots<Real, PITCH> at(int slot) const {
        return FEW > 0 && slot < contact::NUMBERS * FEW ? few.here : all.here;
    }
    __device__ __forceinline__ Real& operator()(int slot) const { return at(slot)(slot); }
    __device__ __forceinline__ Vector<Real> vector(int slot) const { return at(slot).vector(slot); }
    __device__ __forceinline__ void store(int slot, Vector<Real> x) const { at(slot).store(slot, x); }
};

// A robot's contacts and their state between steps.
template <typename Real, int PITCH> struct RobotContacts {
    static constexpr bool ANY = true;
    using Number = Real;

    Surroundings<Real> scene;
    DetectedContacts<Real, PITCH> found;
    ContactReport<Real> reported;
    Group group;
    size_t robot;
    int number;  // contacts in the last step, with stored impulses
    Real left, worst;  // residual of the last step, and its maximum over this launch
#if EVEN_LIMBS
    LimbMemory<Real> memory;
#endif

    // The number of contacts that may act within the step.
    template <class Joints, class Robot>
    __device__ __forceinline__ int find(const Joints& joints, const Robot& own_robot) const {
        Group group = this->group;
        group.meet();
        if constexpr (LANE_A_BODY && FEW > 0)
            return lane_touches(joints, own_robot, scene, found, found.few, found.few.W, group);
        else if constexpr (LANE_A_BODY)
            return lane_touches(joints, own_robot, scene, found, found.all, found.all.W, group);
        else return limb_touches(joints, own_robot, scene, found, group);
    }
    // No contact: discard the stored impulses.
    __device__ __forceinline__ void clear() { number = 0, left = 0; }

    // A step with `count` contacts, in the workspace that fits them. Returns whether v⁺ is finite.
    template <class Joints, class Robot>
    __device__ __forceinline__ bool step(const Joints& joints, const Robot& own_robot, int count, bool reports) {
        if constexpr (FEW > 0) {
            if (count <= FEW) return step_in(found.few, joints, own_robot, count, reports);
            for (int slot = group.rank; slot < contact::NUMBERS * FEW; slot += LANES) found.all(slot) = found.few(slot);
            for (int slot = group.rank; LANE_A_BODY && slot < PLACED_NUMBERS * WHOLE_WARP; slot += LANES)
                found.all(found.all.W + slot) = found.few(found.few.W + slot);
            group.sync();
        }
        if constexpr (FEW < CONTACTS) return step_in(found.all, joints, own_robot, count, reports);
        return false;
    }

    // A step with `count` contacts. Returns whether v⁺ is finite; with FREEZES the state is unchanged if not. With
    // `reports`, write the contact report.
    template <class Workspace, class Joints, class Robot>
    __device__ __forceinline__ bool step_in(const Workspace& ws, const Joints& joints, const Robot& own_robot,
                                            int count, bool reports) {
        using Own = typename Workspace::Together;
        Group group = this->group;
        group.meet();
        const auto team = [&] {  // lanes that are active here stay so
            if constexpr (LANE_A_BODY) return group;
            else return Team(group.lanes);
        }();
        const Real dt = joints.dt;
        begin_contacts<Real>(joints, own_robot, ws, group);
        for (int v = group.rank; v < NV; v += LANES) ws(Workspace::HALF + v) = 0;
        RowsOf rows = {count, 0};
        contact_rows(joints, own_robot, scene, ws, rows, number, group);
        rows.joints = joint_rows<Real>(joints, ws, rows, number > 0, group);
        if constexpr (LANE_A_BODY) lane_half_rows<Real>(ws, rows, group);
        group.sync();
        right_side(ws, rows, dt, group);
        if constexpr (LANE_A_BODY) {
            note_rows<Real>(ws, rows, group);
            lane_half<Real>(ws, rows, group);
        } else {
            half_by_levels<Real>(ws, rows, group);
            group.sync();
            for (int v = group.rank; v < NV; v += LANES) ws(Workspace::HALF + v) *= ws(Workspace::FACTOR + diagonal(v));
            group.sync();
        }
        left = residual_by_paths<Real>(ws, rows, group);
        Real enough = left <= ACCEPTED_RESIDUAL<Real> / 2 ? SWEPT<Real> : RESIDUAL_TOLERANCE<Real>;
        bool searching = !(left <= RESIDUAL_TOLERANCE<Real>);
        if constexpr (LANE_A_BODY)
            left = solve_by_warp(ws, rows, left, group), enough = ACCEPTED_RESIDUAL<Real>, searching = false;
        for (int turn = 0; !LANE_A_BODY && turn < SWEEPS_BY_PATHS<Real> && group.any_of_all(searching); ++turn) {
            sweep_by_paths<Real>(ws, rows, group, searching);
            const Real found = residual_by_paths<Real>(ws, rows, group);
            if (searching) left = found;
            searching = searching && !(left <= RESIDUAL_TOLERANCE<Real>);
        }
        const bool solved = left <= enough;
        team.sync();
        together(ws, team, !solved, rows, [&](const Own& own, const RowsOf& theirs, int lane) {
            const Real found = solve_anew<Real>(own, theirs, team);
            if (int(threadIdx.x % 32) / LANES == lane / LANES) left = found;
        });
        store_impulses(ws, rows, reports, group);
        worst = left > worst ? left : worst;
        to_velocities<Real>(ws, group);
        for (int v = group.rank; v < NV; v += LANES) ws(Workspace::FREE_V + v) += ws(Workspace::DISPLACEMENT + v);
        bool deep = false;
#pragma unroll 1
        for (int i = group.rank; i < rows.contacts; i += LANES)
            deep |= ws(ws.contact(i) + contact::GAP) < -OVERLAP_TOLERANCE<Real>;
        const bool overlaps = group.any(deep);
        team.sync();
        together(ws, team, overlaps, rows,
                 [&](const Own& own, const RowsOf& theirs, int) { correct_overlap<Real>(own, theirs, team); });
        return finish_step(ws, joints, dt, overlaps, group);
    }

    // Store the impulses for the next step and, with `reports`, report the contacts.
    template <class Workspace>
    __device__ __forceinline__ void store_impulses(const Workspace& ws, const RowsOf& rows, bool reports,
                                                   const Group& group) {
        number = rows.contacts;
#pragma unroll 1
        for (int i = group.rank; i < rows.contacts; i += LANES) {
            const int c = ws.contact(i), slot = kept::MEMORY + memory::NUMBERS * i;
            const Vector<Real> world = in_world<Real>(ws, i);
            ws.kept(slot) = ws(c + contact::POINT);
            ws.kept.store(slot + memory::IMPULSE, world);
            if (reports) report_contact(ws, i, world);
        }
        for (int j = group.rank; j < rows.joints; j += LANES)
            ws.kept(kept::JOINT_MEMORY + int(ws(Workspace::JOINT_OF + j))) =
                ws(Workspace::TRIED + rows.first_joint() + j);
    }
    template <class Workspace>
    __device__ __forceinline__ void report_contact(const Workspace& ws, int i, Vector<Real> world) const {
        const int c = ws.contact(i), s = shape_of(ws, i), k = 3 * i;
        const Real x = ws(Workspace::U + k + 1), y = ws(Workspace::U + k + 2);
        const Vector<Real> force = ws(Workspace::TRIED + k) * ws.vector(c + contact::FRAME) +
                                   ws(Workspace::TRIED + k + 1) * ws.vector(c + contact::FRAME + 3) +
                                   ws(Workspace::TRIED + k + 2) * ws.vector(c + contact::FRAME + 6);
        reported.put(scene, robot * CONTACTS + i,
                     {s, ws(c + contact::GAP), sqrt(x * x + y * y), ws.vector(c + contact::PLACE),
                      ws.vector(c + contact::NORMAL), world, force, ws.vector(c + contact::INSIDE)});
    }

    // v⁺ into the state, and q⁺ = q ⊕ dt v⁺ plus DISPLACEMENT, which resolves overlaps; no joint moves past its
    // limit.
    template <class Workspace, class Joints>
    __device__ __forceinline__ bool finish_step(const Workspace& ws, const Joints& joints, Real dt, bool overlaps,
                                                const Group& group) const {
        const auto& at = joints.at;
        bool bounded = true;
        group.sync();
        for (int v = group.rank; v < NV; v += LANES) {
            const Real next = ws(Workspace::FREE_V + v);
            ws(Workspace::DISPLACEMENT + v) = overlaps ? next + ws(Workspace::DISPLACEMENT + v) / dt : next;
            bounded &= fabs(next) < Real(DIVERGED);
        }
        bounded = !group.any(!bounded);
        group.sync();
#pragma unroll 1
        for (int i = group.rank; i < (FREEZES && !bounded ? 0 : BODIES); i += LANES) {
            const int k = v_start(i);
            const auto v = numbers(at, V + k);
            if (HAS_LIMITS && kind(i) != FREE) {  // no joint moves past its limit, whatever residual is left
                Real& displacement = ws(Workspace::DISPLACEMENT + k);
                displacement = within_limits(displacement, at(Q + q_start(i)), joints.table(joint_row::LOWER, k),
                                             joints.table(joint_row::UPPER, k), joints.rate);
            }
            for (int j = 0; j < dofs(i); ++j) v(j) = ws(Workspace::FREE_V + k + j);
            advance_joint<Real, false>(kind(i), numbers(at, Q + q_start(i)),
                                       numbers(ws.here, Workspace::DISPLACEMENT + k),
                                       v, dt);
        }
        group.sync();
        return bounded;
    }

    // Write the results of a launch's last step, of a robot that `writes` them.
    __device__ __forceinline__ void end(bool writes = true) {
#if EVEN_LIMBS
        store_warm_start(*this, writes);
#endif
        if (!writes) return;
        reported.number[robot] = number, reported.residual[robot] = left, reported.worst[robot] = worst;
    }
};
