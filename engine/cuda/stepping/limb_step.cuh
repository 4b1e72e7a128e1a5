// A step of a robot with EVEN_LIMBS on a plane, with all numbers in registers: of standing, walking and flying robots,
// and most falling ones. Each lane has the contact points of its limb and some of the trunk. The kind of a step depends
// on its contacts and on the solver's progress; limb_scheduling.cuh groups robots by the kind of their next step.
#pragma once

#include "collision/ground.cuh"
#include "constraints/limb_interior.cuh"
#include "stepping/joint_motion.cuh"
#include "stepping/contact_report.cuh"

// The warm start of a lane: its contact points with their impulses in the world, and the impulses of the limb's joints.
template <typename Real> struct LimbMemory {
    bool in_registers = false;  // else it is in the robot's workspace
    int point[LIMB_POINTS] = {};  // −1 for no contact
    Vector<Real> impulse[LIMB_POINTS];
    Real joints[LIMB];
};

// The ground in the trunk's frame: its normal, and the height of a point x of that frame.
template <typename Real> struct Ground {
    Vector<Real> normal, n;  // in the world, and in the trunk's frame
    Real offset;
    const Posture<Real>& now;

    __device__ __forceinline__ Ground(const Surroundings<Real>& scene, const Posture<Real>& now)
        : normal{scene.ground[0], scene.ground[1], scene.ground[2]}, n(mul_t(now.trunk.R, normal)),
          offset(scene.ground[3]), now(now) {}
    __device__ __forceinline__ Vector<Real> in_world(Vector<Real> x) const { return now.trunk.p + mul(now.trunk.R, x); }
    // Whether a point at `gap` with the twist V may act within the step.
    __device__ __forceinline__ bool may_act(Real gap, Vector<Real> x, const Motion<Real>& V, Real dt) const {
        const Real closing = -dot(n, V.v + cross(V.o, x));
        return gap <= Real(CONTACT_MARGIN) + 2 * dt * fmax(closing, Real(0));
    }
};

// The open part of a gap: `open_gap` of contact_rows.cuh.
template <typename Real> __device__ __forceinline__ Real open_part(Real gap, Vector<Real> n, Vector<Real> x) {
    if constexpr (sizeof(Real) == 8) return gap > GAP_TOLERANCE<Real> ? gap : Real(0);
    return fmax(gap - GAP_TOLERANCE<Real> * (1 + fabs(n.x * x.x) + fabs(n.y * x.y) + fabs(n.z * x.z)), Real(0));
}

// The contacts of a lane that may act within the step: all are counted, N are stored.
template <typename Real, int N> struct LimbContacts {
    int count;
    LimbContact<Real> contact[N];

    __device__ __forceinline__ void add(const LimbContact<Real>& touch) {
        if (count < N) contact[N == 1 ? 0 : count] = touch;
        ++count;
    }
};

// The lowest point of the sphere of point p, on a body at T.
template <typename Real> struct Lowest {
    Vector<Real> x, place;
    Real gap;

    __device__ __forceinline__ Lowest(const Surroundings<Real>& scene, const Ground<Real>& ground, const Pose<Real>& T,
                                      int p)
        : x(T.p + mul(T.R, scene.vector_of_point(p, point::POSITION)) - scene.of_point(p, point::RADIUS) * ground.n),
          place(ground.in_world(x)), gap(dot(ground.normal, place) - ground.offset) {}
};

// The outcome of an attempt at a step: whether this kind took it, whether the velocity is finite, and the next kind.
struct StepAttempt {
    bool taken, finite;
    StepKind next;
};

// Find the contact points of limbs, and those of the trunk, each given to the lane with the fewest. Returns whether no
// shape of the trunk has more points than are kept.
template <typename Real, int N>
__device__ __forceinline__ bool find_points(LimbContacts<Real, N>& touch, const Surroundings<Real>& scene,
                                            const Ground<Real>& ground, Real dt, const WarpGroup& group) {
    constexpr int TRUNK = SHAPE_START[1], SHAPES_OF_LIMB = SHAPE_START[1 + LIMB] - TRUNK, MASK = 32;
    static_assert(LANES <= 4, "a byte for each lane");
    touch.count = 0;
#pragma unroll
    for (int c = 0; c < N; ++c) touch.contact[c] = {-1, -1, 0, 0, 0, {0, 0, 0}, {0, 0, 0}};
    const auto add = [&](int body, int s, int p, const Lowest<Real>& there) {
        touch.add({body, p, s, there.gap, open_part(there.gap, ground.normal, there.place),
                   there.x - there.gap * ground.n, there.place - there.gap * ground.normal});
    };
#pragma unroll
    for (int k = 0; k < LIMB; ++k) {
#pragma unroll
        for (int number = SHAPE_START[1 + k]; number < SHAPE_START[2 + k]; ++number) {
            const int s = number + SHAPES_OF_LIMB * group.rank, p = int(scene.of_shape(s, shape::FIRST));
            const Lowest<Real> there(scene, ground, ground.now.body[k], p);
            if (ground.may_act(there.gap, there.x, ground.now.V_of[k], dt)) add(k, s, p, there);
        }
    }
    const Pose<Real> here = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {0, 0, 0}};
    unsigned all = group.sum(unsigned(touch.count) << 8 * group.rank);  // count of each lane
    bool few = true;
#pragma unroll 1
    for (int s = 0; s < TRUNK; ++s) {
        const int first = int(scene.of_shape(s, shape::FIRST)), many = int(scene.of_shape(s, shape::COUNT));
        int of_shape = 0;
#pragma unroll 1
        for (int from = 0; from < many; from += MASK) {
            unsigned near = 0, own = 0;
#pragma unroll 1
            for (int k = group.rank; k < min(many - from, MASK); k += LANES) {
                const Lowest<Real> there(scene, ground, here, first + from + k);
                near |= unsigned(ground.may_act(there.gap, there.x, ground.now.V, dt)) << k;
            }
            near = group.sum(near);  // their bits are disjoint
            of_shape += __popc(near);
#pragma unroll 1
            for (; near != 0; near &= near - 1) {
                int least = 0;
#pragma unroll
                for (int lane = 1; lane < LANES; ++lane)
                    if ((all >> 8 * lane & 255) < (all >> 8 * least & 255)) least = lane;
                all += 1u << 8 * least;
                if (least == group.rank) own |= near & -near;
            }
#pragma unroll 1
            for (; own != 0; own &= own - 1) {
                const int p = first + from + __ffs(own) - 1;
                add(-1, s, p, Lowest<Real>(scene, ground, here, p));
            }
        }
        few = few && of_shape <= KEPT;
    }
    return few;
}

// The last impulse of `point`, from the lane that has it; 0 for a point of −1.
template <typename Real>
__device__ __forceinline__ Vector<Real> impulse_of_point(const LimbMemory<Real>& memory, int point,
                                                         const WarpGroup& group) {
    Vector<Real> found = {0, 0, 0};
#pragma unroll 1
    for (int lane = 0; lane < LANES; ++lane) {
        const int asked = group.from(point, lane);
        Vector<Real> own = {0, 0, 0};
#pragma unroll
        for (int m = 0; m < LIMB_POINTS; ++m)
            if (asked >= 0 && memory.point[m] == asked) own = memory.impulse[m];
        own = {group.sum(own.x), group.sum(own.y), group.sum(own.z)};
        if (lane == group.rank) found = own;
    }
    return found;
}

// Start from the last step's impulses, of `memories` stored contacts.
template <typename Real, int N, class Kept>
__device__ __forceinline__ void warm_start(LimbImpulses<Real, N>& x, const LimbMemory<Real>& memory,
                                           const LimbContacts<Real, N>& touch, const LimbRows<Real, N>& rows,
                                           const Frame<Real>& in_world, const Kept& kept, int memories,
                                           const WarpGroup& group) {
#pragma unroll WRITTEN_OUT<N>
    for (int c = 0; c < N; ++c) {
        const bool touches = c < touch.count, moved = touches && memory.in_registers && touch.contact[c].body < 0;
        Vector<Real> before = {0, 0, 0};
        if (group.any_of_all(moved)) before = impulse_of_point(memory, moved ? touch.contact[c].point : -1, group);
        if (!touches) {
        } else if (!memory.in_registers) {
#pragma unroll 1
            for (int m = 0; m < memories; ++m) {
                const int slot = kept::MEMORY + memory::NUMBERS * m;
                if (int(kept(slot)) == touch.contact[c].point) before = kept.vector(slot + memory::IMPULSE);
            }
        } else if (!moved) {
#pragma unroll
            for (int m = 0; m < LIMB_POINTS; ++m)
                if (memory.point[m] == touch.contact[c].point) before = memory.impulse[m];
        }
        x.of[row_of(c)] = dot(in_world.n, before);
        x.of[row_of(c) + 1] = dot(in_world.first, before), x.of[row_of(c) + 2] = dot(in_world.second, before);
    }
#pragma unroll
    for (int k = 0; k < LIMB; ++k) {
        Real& impulse = x.of[k];
        impulse = 0;
        if (JOINT_ROWS > 0 && rows.acts[k])
            impulse = memory.in_registers ? memory.joints[k] : kept(kept::JOINT_MEMORY + limb_rate(group) + k);
    }
}

// Store v⁺ and q⁺ = q ⊕ dt v⁺ of a robot that `takes` the step, like `finish_step` of contact_dynamics.cuh. Returns
// whether v⁺ is finite.
template <typename Real, class Joints>
__device__ __forceinline__ bool integrate_limbs(const Joints& joints, Real (&trunk)[TRUNK_NV], const Real (&limb)[LIMB],
                                                Real (&displacement)[TRUNK_NV], const Real (&limb_displacement)[LIMB],
                                                bool takes, const WarpGroup& group) {
    const auto& at = joints.at;
    const Real dt = joints.dt;
    bool finite = true;
#pragma unroll
    for (int e = 0; e < TRUNK_NV; ++e) finite &= fabs(trunk[e]) < Real(DIVERGED);
#pragma unroll
    for (int k = 0; k < LIMB; ++k) finite &= fabs(limb[k]) < Real(DIVERGED);
    finite = !group.any(!finite);
    group.sync();
    if (takes && (!FREEZES || finite)) {
#pragma unroll
        for (int k = 0; k < LIMB; ++k) {
            at(V + limb_rate(group) + k) = limb[k];
            Real& q = at(Q + limb_coordinate(group) + k);
            Real velocity = limb[k] + limb_displacement[k] * joints.rate;
            if constexpr (HAS_LIMITS)  // whatever residual is left
                velocity = within_limits(velocity, q, joints.table(joint_row::LOWER, limb_rate(group) + k),
                                         joints.table(joint_row::UPPER, limb_rate(group) + k), joints.rate);
            q += dt * velocity;
        }
        if (group.rank == 0) {
            const auto v = [&](int j) -> Real& { return trunk[j]; };
            advance_joint<Real, HAS_BALLS>(FREE, numbers(at, Q), [&](int j) { return displacement[j]; }, v, dt);
#pragma unroll
            for (int e = 0; e < TRUNK_NV; ++e) at(V + e) = trunk[e];
        }
    }
    group.sync();
    return finite;
}

// Report a contact with its impulse in the world; `place`: its index among all robots' contacts.
template <typename Real, class Report, class Joints, class Robot>
__device__ __noinline__ void report_limb_contact(Report reported, Surroundings<Real> scene, Joints joints, Robot robot,
                                                 WarpGroup group, LimbContact<Real> touch, Vector<Real> world,
                                                 Real slip, size_t place) {
    const Vector<Real> n = {scene.ground[0], scene.ground[1], scene.ground[2]};
    const Posture<Real> now = posture<Real>(joints, robot, group);
    Pose<Real> T = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {0, 0, 0}};
#pragma unroll
    for (int k = 0; k < LIMB; ++k)
        if (touch.body == k) T = now.body[k];
    reported.put(scene, place, {touch.shape, touch.gap, slip, touch.place, n, world,
                                mul_t(T.R, mul_t(now.trunk.R, world)), mul_t(T.R, touch.x - T.p)});
}

// The result of a step under contacts for a lane and the trunk: velocity changes by contacts, displacements that
// resolve overlaps, the residual, and numbers for the report and the warm start.
template <typename Real, int N> struct LimbOutcome {
    bool solved, resolved;  // whether impulses, and displacements, were found
    Real trunk[TRUNK_NV], limb[LIMB], displacement[TRUNK_NV], limb_displacement[LIMB], residual;
    Vector<Real> impulse[N];  // in the world
    Real slip[N], joints[LIMB];
};

// Compute the displacements that resolve the overlaps of a robot that `overlaps`. Returns whether they were found.
template <typename Real, int N>
__device__ __forceinline__ bool resolve_overlaps(const LimbRows<Real, N>& rows, const LimbContacts<Real, N>& touch,
                                        LimbOutcome<Real, N>& out, bool overlaps, const WarpGroup& group) {
    LimbImpulses<Real, N> x;
    Real gap[N];
#pragma unroll WRITTEN_OUT<N>
    for (int c = 0; c < rows.contacts(); ++c) gap[c] = touch.contact[c].gap;
    const bool good = correct_overlap_by_limbs(rows, gap, x, overlaps, group);
    if (!overlaps) return true;
#pragma unroll
    for (int k = 0; k < LIMB; ++k) out.limb_displacement[k] = in_row(rows, k, x.sum);
#pragma unroll
    for (int e = 0; e < TRUNK_NV; ++e) out.displacement[e] = x.sum[LIMB + e];
    return good;
}

// A step with at most N contacts per lane, of a robot that `takes` it.
template <typename Real, int N, class Touch, class Joints>
__device__ __forceinline__ LimbOutcome<Real, N> contact_step_by_limbs(
    const Touch& robot, const LimbContacts<Real, N>& touch, const Posture<Real>& now, const Motions<Real>& to,
    const Joints& joints, Effort effort, bool overlaps, bool takes, const WarpGroup& group) {
    const Vector<Real> normal = {robot.scene.ground[0], robot.scene.ground[1], robot.scene.ground[2]};
    const Tangents<Real> t = tangents(normal);
    const Frame<Real> frame = {mul_t(now.trunk.R, normal), mul_t(now.trunk.R, t.first), mul_t(now.trunk.R, t.second)};
    LimbRows<Real, N> rows;
    LimbImpulses<Real, N> x;
    LimbOutcome<Real, N> out = {};
    out.resolved = true;
    rows.many = touch.count;
#pragma unroll WRITTEN_OUT<N>
    for (int c = 0; c < rows.contacts(); ++c)
        rows.touches[c] = c < touch.count, rows.mu[c] = robot.scene.of_shape(touch.contact[c].shape, shape::FRICTION);
    limb_rows(rows, touch.contact, frame, now, to, joints.dt);
    joint_laws(rows, joints, group);
    warm_start(x, robot.memory, touch, rows, {normal, t.first, t.second}, robot.found.all.kept, robot.number, group);
    Real u[ROWS_OF<N>];
    out.solved = find_impulses(rows, x, u, out.residual, effort, takes, group);
    const bool corrects = overlaps && out.solved;
    if (group.any_of_all(corrects)) out.resolved = resolve_overlaps(rows, touch, out, corrects, group);
#pragma unroll
    for (int c = 0; c < N; ++c) {
        const int r = row_of(c);
        if (c >= rows.contacts()) continue;
        out.impulse[c] = x.of[r] * normal + x.of[r + 1] * t.first + x.of[r + 2] * t.second;
        out.slip[c] = sqrt(u[r + 1] * u[r + 1] + u[r + 2] * u[r + 2]);
    }
#pragma unroll
    for (int k = 0; k < LIMB; ++k) out.joints[k] = x.of[k], out.limb[k] = u[k];
#pragma unroll
    for (int e = 0; e < TRUNK_NV; ++e) out.trunk[e] = x.sum[LIMB + e];
    return out;
}

// The index of `point`'s contact among a robot's contacts, in the order of points.
template <typename Real>
__device__ __forceinline__ int contact_index(const LimbMemory<Real>& memory, int point, const WarpGroup& group) {
    int before = 0;
#pragma unroll
    for (int c = 0; c < LIMB_POINTS; ++c) {
#pragma unroll
        for (int lane = 0; lane < LANES; ++lane) {
            const int other = group.from(memory.point[c], lane);
            before += other >= 0 && other < point;
        }
    }
    return before;
}

// Report all contacts of the step of a robot that `reports`.
template <class Touch, class Joints, class Robot, typename Real, int N>
__device__ __forceinline__ void report_limb_contacts(const Touch& touch, const Joints& joints, const Robot& robot,
                                                     const LimbContacts<Real, N>& contacts,
                                                     const LimbOutcome<Real, N>& out, bool reports,
                                                     const WarpGroup& group) {
#pragma unroll
    for (int c = 0; c < N; ++c) {
        const int place = contact_index(touch.memory, contacts.contact[c].point, group);
        if (reports && c < contacts.count)
            report_limb_contact<Real>(touch.reported, touch.scene, joints, robot, group, contacts.contact[c],
                                      out.impulse[c], out.slip[c], touch.robot * CONTACTS + place);
    }
}

// Store the best impulses of a robot that `takes` the step, as the warm start of the next step or of this step by
// another kind.
template <class Touch, typename Real, int N>
__device__ __forceinline__ void store_impulses(Touch& touch, const LimbContacts<Real, N>& contacts,
                                               const LimbOutcome<Real, N>& out, bool takes, const WarpGroup& group) {
    auto& memory = touch.memory;
    const int number = int(group.sum(contacts.count));
    if (!takes) return;
    touch.number = number;
    memory.in_registers = true;
#pragma unroll
    for (int c = 0; c < LIMB_POINTS; ++c) {
        memory.point[c] = c < N ? contacts.contact[min(c, N - 1)].point : -1;
        memory.impulse[c] = c < N ? out.impulse[min(c, N - 1)] : Vector<Real>{0, 0, 0};
    }
#pragma unroll
    for (int k = 0; k < LIMB; ++k) memory.joints[k] = out.joints[k];
}

// The solver's iterations for each kind of step, and the kind that follows if they fail.
__device__ __forceinline__ Effort effort_of(StepKind kind, StepKind own) {
    return kind == ONE_CONTACT ? FIRST_TURNS : kind == TWO_CONTACTS ? TYPICAL_TURNS
           : kind == TWO_CONTACTS_CONTINUED ? LATER_TURNS : kind == INTERIOR_POINT ? INTERIOR
           : own == MANY_CONTACTS ? ALL_TURNS : DAMPED_TURNS;
}
__device__ __forceinline__ StepKind next_kind(StepKind kind) {
    return kind == TWO_CONTACTS ? TWO_CONTACTS_CONTINUED : kind == MANY_CONTACTS ? INTERIOR_POINT
           : kind == INTERIOR_POINT ? GENERAL : MANY_CONTACTS;
}

// A step of a robot that is `stepping` with at most N contacts per lane, if it is of this kind. `refused`: another kind
// did not take it. All lanes of the warp make the call, and compute the same; only robots that take the step store it.
template <int N, class Touch, class Joints, class Robot>
__device__ __forceinline__ StepAttempt step_by_limbs(Touch& touch, const Joints& joints, const Robot& robot,
                                                     StepKind kind, bool refused, bool reports, bool stepping) {
    using Real = typename Touch::Number;
    const WarpGroup group;
    group.sync();
    const Posture<Real> now = posture<Real>(joints, robot, group);
    LimbContacts<Real, N> contacts;
    const bool few = find_points(contacts, touch.scene, Ground<Real>(touch.scene, now), joints.dt, group);
    const bool beyond = group.any(!few || contacts.count > LIMB_POINTS);
    const bool several = group.any(contacts.count > 1), many = group.any(contacts.count > 2);
    const StepKind own = many ? MANY_CONTACTS : several ? TWO_CONTACTS : ONE_CONTACT;
    const bool fits = kind < MANY_CONTACTS ? own == min(kind, TWO_CONTACTS) : own >= MANY_CONTACTS || refused;
    const bool takes = stepping && !beyond && fits;
    if (!group.any_of_all(takes)) return {false, true, beyond ? GENERAL : own};
    const Motions<Real> to = free_motions(now, joints, robot, group);
    bool overlaps = false;
#pragma unroll
    for (int c = 0; c < N; ++c) overlaps |= contacts.contact[c].gap < -OVERLAP_TOLERANCE<Real>;
    overlaps = group.any(overlaps);
    LimbOutcome<Real, N> out =
        contact_step_by_limbs(touch, contacts, now, to, joints, effort_of(kind, own), overlaps, takes, group);
    store_impulses(touch, contacts, out, takes, group);
    const bool taken = takes && out.solved && out.resolved;
    if (group.any_of_all(taken && reports))
        report_limb_contacts(touch, joints, robot, contacts, out, taken && reports, group);
    if (taken) {
        touch.left = touch.number > 0 ? out.residual : Real(0);
        touch.worst = touch.left > touch.worst ? touch.left : touch.worst;
    }
    backward(to.a, out.trunk), backward(to.a, out.displacement);
#pragma unroll
    for (int e = 0; e < TRUNK_NV; ++e)
        out.trunk[e] += to.trunk[e], out.displacement[e] = out.trunk[e] + out.displacement[e] * joints.rate;
    const bool finite =
        integrate_limbs(joints, out.trunk, out.limb, out.displacement, out.limb_displacement, taken, group);
    if (taken) return {true, finite, own};
    return {false, true, !takes ? beyond ? GENERAL : own : out.resolved ? next_kind(kind) : GENERAL};
}

// Store the warm start in the workspace of a robot that `stores` it, from which all other kinds of steps load it.
template <class Touch> __device__ __forceinline__ void store_warm_start(Touch& touch, bool stores) {
    const WarpGroup group;
    auto& memory = touch.memory;
    const auto& kept = touch.found.all.kept;
    stores = stores && memory.in_registers;
    if (group.any_of_all(stores)) {
#pragma unroll
        for (int c = 0; c < LIMB_POINTS; ++c) {
            const int slot = kept::MEMORY + memory::NUMBERS * contact_index(memory, memory.point[c], group);
            if (!stores || memory.point[c] < 0) continue;
            kept(slot) = memory.point[c], kept.store(slot + memory::IMPULSE, memory.impulse[c]);
        }
#pragma unroll
        for (int k = 0; k < LIMB; ++k)
            if (stores) kept(kept::JOINT_MEMORY + limb_rate(group) + k) = memory.joints[k];
    }
    memory.in_registers = false;
    group.sync();
}
